"""The Python interface: one module for each question that `nsl_bench` and the commands answer.

Imports all rooms but the command line. Begin with `evaluation` (score a learner) and `results` (compare
them).
"""
