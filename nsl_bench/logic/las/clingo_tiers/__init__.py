"""Tiers C and D: the hypothesis space written down, searched by clingo."""
