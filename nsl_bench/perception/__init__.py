"""Networks that map images to concepts: their training, their weights, and their cached predictions.

Imports `core` and `data`. Begin with `network` (what a network is) and `trained_networks` (where one comes
from).
"""
