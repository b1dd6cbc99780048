"""The first-party tasks, image sources, shifts and weights; installed as ``nsl_bench.generators``.

Imports `core` only. Begin with `tasks.follow_suit` (a whole task) and `sources.cards` (its images).
"""
