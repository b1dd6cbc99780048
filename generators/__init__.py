"""The first-party benchmarks, image sources and shifts; installed as ``nsl_bench.generators``."""
