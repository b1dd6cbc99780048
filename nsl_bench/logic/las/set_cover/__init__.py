"""Choosing rules: weighted partial set cover, reduced, split and solved to a proven optimum."""
