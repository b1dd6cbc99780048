"""``python -m nsl_bench`` is ``nsl-bench``."""

from nsl_bench.cli import run

if __name__ == "__main__":
    run()
