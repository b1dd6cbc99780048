"""Runs: from a plan over learners, shares and repeats to scored records in a folder.

Imports all rooms below, and the sandbox. Begin with `plan` (which runs there are), `bench` (what a run does)
and `sweep` (all of them, in processes).
"""
