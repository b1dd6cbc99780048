"""The first-party tasks, image sources, shifts and weights; installed as ``nsl_bench.generators``."""
