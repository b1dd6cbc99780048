"""Inference: what a hypothesis says about examples."""
