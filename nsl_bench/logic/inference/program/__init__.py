"""A query's rules: parsed, sliced, unfolded and grounded once for all examples."""
