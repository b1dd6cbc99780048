"""The language bias: what rules cost, and which rules the hypothesis space holds."""
