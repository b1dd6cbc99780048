"""Learning task files: reading and writing FastLAS's and ILASP's syntax."""
