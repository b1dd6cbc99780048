"""Forward dynamic programming over residual programs, with a certified interval."""
