"""Tiers A and B, first half: grounding once for all contexts, atoms and literals as bit tables."""
