"""The ProbLog package as an engine: the reference for the others."""
