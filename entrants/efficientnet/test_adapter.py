from pathlib import Path

from nsl_bench.testing import EntrantTests


class TestBackbone(EntrantTests):
    folder = Path(__file__).parent
    tasks = ("crop_yield",)
