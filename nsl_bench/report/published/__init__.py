"""What papers published, and how closely runs here reproduce it: numbers, margins, tests, badges, reasons.

Imports what `report` may, and the learners whose runs a reason does again. Begin with `papers` (the numbers)
and `reproduce` (the runs of a paper and their comparison).
"""
