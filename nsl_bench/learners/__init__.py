"""Learners: what a learner is and what it sees, FFNSL, baselines, tuning; `papers` has the papers' methods.

Imports `core`, `data`, `perception` and `logic`. Begin with `base` (the protocol), `view` (what a learner
sees) and `ffnsl`.
"""
