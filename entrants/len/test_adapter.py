from pathlib import Path

from nsl_bench.testing import EntrantTests


class TestLen(EntrantTests):
    folder = Path(__file__).parent
