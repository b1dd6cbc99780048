from pathlib import Path

from nsl_bench.testing import EntrantTests


class TestDeepProbLogTimed(EntrantTests):
    folder = Path(__file__).parent
    tasks = ("crop_yield",)
