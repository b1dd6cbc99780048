"""The language bias: costs of rules, and the rules of the hypothesis space."""
