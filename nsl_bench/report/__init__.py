"""Results as tables, intervals and curves.

Imports `core` and the records of `run`. Begin with `table` and `curves`.
"""
