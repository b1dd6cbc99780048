"""Data sets of other packages: what docs/make-your-own.md shows works; versions supersede each other."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

from packages import installed

from nsl_bench.data.manifest import Manifest

PAGE = (Path(__file__).parents[2] / "docs" / "make-your-own.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def commands() -> list[list[str]]:
    """The words of each command of the page but those that ask the Hub."""
    text = "\n".join(blocks("console")).replace("\\\n", " ")
    lines = [shlex.split(line.removeprefix("$ nsl-bench ")) for line in text.splitlines()]
    local = {"--dry-run", "public/grids", "model/"}
    return [words for words in lines if words and (words[0] != "publish" or local & set(words))]


ALL = """
import shlex, sys
from click.testing import CliRunner
from nsl_bench.cli import main
for line in sys.stdin.read().splitlines():
    result = CliRunner().invoke(main, shlex.split(line))
    if result.exit_code:
        raise SystemExit(f"{line}: {result.output} {result.exception!r}")
"""


def test_every_command_works(tmp_path: Path) -> None:
    """With the recipe and the page's package, installed."""
    recipe, *entry_points = blocks("toml")
    use, shift, task = blocks("python")
    texts = {"recipe.toml": recipe, "use.py": use, "my_shift.py": shift, "my_task.py": task}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    env = installed(tmp_path, tomllib.loads("\n".join(entry_points))["project"]["entry-points"])
    lines = "\n".join(shlex.join(line) for line in commands())
    how = {"cwd": tmp_path, "env": env, "capture_output": True, "text": True, "timeout": 600}
    done = subprocess.run([sys.executable, "-c", ALL], input=lines, **how)
    assert done.returncode == 0, done.stderr
    assert Manifest.read(tmp_path / "grids") == Manifest.read(tmp_path / "again")
    tricks = Manifest.read(tmp_path / "tricks")
    assert tricks.configs["noir"]["train_2"].rows == 100 and len(tricks.concepts) == 26
    assert set(tricks.configs["noir"]["train"].percents) == {"50", "90"}
    assert Manifest.read(tmp_path / "negative").shifts == {"negative": "negative"}
    assert Manifest.read(tmp_path / "public" / "grids") == Manifest.read(tmp_path / "grids")
    assert list((tmp_path / "model" / ".eval_results").glob("sudoku_4x4-small-pretrained-softmax.yaml"))
    assert (tmp_path / "sheet.png").is_file() and (tmp_path / "grids.png").is_file()
    done = subprocess.run([sys.executable, "use.py"], **how)
    assert done.returncode == 0, done.stderr


# A corrected data set is a new version; the old one can still be made.

OTHER_PACKAGE = """
import numpy as np
from nsl_bench.generators.tasks.follow_suit import FollowSuit


class Tricks(FollowSuit):
    version = "2.0.0"

    def __init__(self):
        super().__init__()
        self.name = "tricks"


class OldTricks(Tricks):
    version = "1.0.0"
    superseded_by = "tricks 2.0.0"
"""


CODE = """
from pathlib import Path
from nsl_bench.core import registry
from nsl_bench import UserError
from nsl_bench.data.generate import generate
from nsl_bench.data.manifest import Manifest
from nsl_bench.data.recipe import Recipe

small = {"train": 2, "test": 2, "repeats": 1, "shifts": ("noir",), "images": "used"}
source = "drawn_decks:images_per_card=4,image_height=34,image_width=22"
for name in ("tricks", "tricks@1.0.0", "tricks@2.0.0"):
    made = generate(Recipe(name, source=source, **small), Path(name))
    print(made.tag, made.superseded_by)
card = Path("tricks@1.0.0/README.md").read_text()
assert "superseded by tricks 2.0.0" in card
again = generate(Recipe.read(Path("tricks@1.0.0/manifest.json")), Path("again"))
assert again == Manifest.read(Path("tricks@1.0.0")) and again.version == "1.0.0"
try:
    registry.create("benchmark", "tricks@3.0.0")
except UserError as error:
    print(error)
"""


def test_an_old_version_is_made_and_says_what_supersedes_it(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(OTHER_PACKAGE)
    points = {"tricks": "other:Tricks", "tricks@1.0.0": "other:OldTricks"}
    env = installed(tmp_path, {"nsl_bench.benchmarks": points})
    words = [sys.executable, "-c", CODE]
    done = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "v2.0.0 None",
        "v1.0.0 tricks 2.0.0",
        "v2.0.0 None",
        "The benchmark 'tricks' has no version 3.0.0; there is 1.0.0 and 2.0.0.",
    ]
