"""Exact label probabilities: truth tables and decision diagrams."""
