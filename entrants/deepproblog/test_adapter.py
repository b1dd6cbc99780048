from pathlib import Path

from nsl_bench.testing import EntrantTests


class TestDeepProbLog(EntrantTests):
    folder = Path(__file__).parent
    tasks = ("crop_yield",)
