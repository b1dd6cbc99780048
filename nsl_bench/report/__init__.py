"""Results as tables, intervals and curves, and beside what papers published (`published`).

Imports `core` and the records of `run`. Begin with `tables` and `curves`.
"""
