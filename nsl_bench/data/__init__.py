"""Examples with images: splits, shifted test sets, data sets on disk and on the Hub, and reading them again.

Imports `core`, and finds tasks, sources and shifts by name. Begin with `splits` (which example has which
image) and `load` (a data set as a user gets it).
"""
