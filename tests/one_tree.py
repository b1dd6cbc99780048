"""The package as it is installed: `generators` and `leaderboard` lie beside `nsl_bench` in a checkout.

``python tests/one_tree.py FOLDER`` makes a folder of links that type checkers and import linters can read.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def link_tree(folder: Path) -> Path:
    """Make ``folder/nsl_bench``, whose entries are links into the checkout, in an empty or new folder."""
    package = folder / "nsl_bench"
    package.mkdir(parents=True)
    for entry in [*(ROOT / "nsl_bench").iterdir(), ROOT / "generators", ROOT / "leaderboard"]:
        (package / entry.name).symlink_to(entry)
    (folder / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    return package


if __name__ == "__main__":
    link_tree(Path(sys.argv[1]))
