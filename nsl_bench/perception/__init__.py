"""Perception: networks that map images to concepts, their training, and their cached predictions."""
