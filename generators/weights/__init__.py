"""Weights of networks trained on the embedded image sources, made by ``nsl-bench train``."""

from pathlib import Path

__all__ = ["folder"]


def folder() -> Path:
    """The folder of the weights files and their index."""
    return Path(__file__).parent
