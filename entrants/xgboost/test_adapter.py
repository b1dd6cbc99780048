from pathlib import Path

from nsl_bench.testing import EntrantTests


class TestXgboost(EntrantTests):
    folder = Path(__file__).parent
