from pathlib import Path

from nsl_bench.testing import EntrantTests


class TestXhail(EntrantTests):
    folder = Path(__file__).parent
    exact = True
