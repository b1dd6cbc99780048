"""Tiers A and B, second half: rule bodies in order of cost, one candidate for each set of cells."""
