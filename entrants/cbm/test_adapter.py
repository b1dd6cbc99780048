from pathlib import Path

from nsl_bench.testing import EntrantTests


class TestCbm(EntrantTests):
    folder = Path(__file__).parent
    tasks = ("crop_yield",)
