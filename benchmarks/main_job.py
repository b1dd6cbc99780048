"""The main job: FFNSL and baselines on the three tasks, on embedded images, at 0, 50 and 90 % shift.

    python benchmarks/main_job.py --out results/bench

It is `nsl-bench bench`; `make bench` calls it. It resumes: a second call does only what is missing and prints
the table again.
"""

from __future__ import annotations

import sys

from nsl_bench.cli import run

if __name__ == "__main__":
    run(["bench", *sys.argv[1:]])
