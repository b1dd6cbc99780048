"""The first-party shifts, one module each; ImageNet-C's corruptions share two."""
