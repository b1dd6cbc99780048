"""What hypotheses mean: coverage, equivalence, explanation."""
