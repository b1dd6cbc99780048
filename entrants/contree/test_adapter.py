from pathlib import Path

from nsl_bench.testing import EntrantTests


class TestContree(EntrantTests):
    folder = Path(__file__).parent
    exact = True
