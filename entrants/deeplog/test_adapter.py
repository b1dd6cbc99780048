from pathlib import Path

from nsl_bench.testing import EntrantTests


class TestDeepLog(EntrantTests):
    folder = Path(__file__).parent
    tasks = ("crop_yield",)
