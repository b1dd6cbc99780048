"""A learner's code is found without running it, and its hash follows every file of it."""

import importlib.util
import os
import py_compile
import runpy
from pathlib import Path

import numba.core
import pytest

from nsl_bench.core import cache, registry
from nsl_bench.core.code_files import code_files, code_key, comes_with_us, modules_used
from nsl_bench.core.imported import from_code
from nsl_bench.learners.base import version_of

FILES = {
    "mine.py": "import helpers.more\nclass Mine:\n    def fit(self, train):\n        from beside import f\n",
    "beside.py": "import numpy, mine\n",
    "helpers/more.py": "from . import most\nfrom .. import nothing\n",
    "helpers/most.py": "1 +\n",
    "other.py": "raise SystemExit\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_libraries_that_code_uses_are_found_inside_functions_too(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("import pandas.api\n")
    (tmp_path / "mine.py").write_text(
        "import json, beside\n"
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import scipy\n"
        "class Mine:\n    def fit(self, train):\n"
        "        from sklearn.tree import DecisionTreeClassifier\n        import nsl_bench.core.types\n"
    )
    assert set(modules_used(f"{tmp_path / 'mine.py'}:Mine")) == {"sklearn.tree", "pandas.api"}
    assert modules_used("random_forest") == ()


def test_what_a_file_imports_from_beside_it_counts(folder: Path) -> None:
    spec = f"{folder}/mine.py:Mine:alpha=2"
    found = [file.relative_to(folder.resolve()).as_posix() for file in code_files(spec)]
    assert found == ["mine.py", "beside.py", "helpers/more.py", "helpers/most.py"]
    for name in FILES:
        before = code_key(spec)
        (folder / name).write_text(FILES[name] + "# changed\n")
        assert (code_key(spec) == before) == (name == "other.py")


def test_a_file_alone_has_the_hash_that_it_always_had(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import numpy\nclass Mine:\n    version = '2'\n")
    made = registry.create("learner", f"{file}:Mine")
    assert version_of(made, f"{file}:Mine") == f"2+{cache.content_key(file)}"


def test_modules_of_the_working_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert code_key("mine:Mine") == code_key("mine.py:Mine") != ""
    assert [file.name for file in code_files("helpers.more:Mine")] == ["more.py", "most.py"]
    assert code_files("nowhere:Mine") == () and code_files("nowhere.py:Mine") == ()


def test_what_comes_with_us_has_versions_and_others_hashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed learner of somebody else is another one once its package is edited."""
    package = tmp_path / "its_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "theirs.py").write_text("import numpy\nfrom its_package.more import f\n")
    (package / "more.py").write_text("import another\n")
    (tmp_path / "another.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    point = registry.EntryPoint("theirs", "its_package.theirs:Theirs", "nsl_bench.learners")
    found = {**registry._found("learner"), "theirs": point}
    monkeypatch.setattr(registry, "_found", lambda kind: found)
    assert [file.name for file in code_files("theirs:alpha=2")] == ["theirs.py", "__init__.py", "more.py"]
    before = code_key("theirs")
    (package / "more.py").write_text("import another\n1\n")
    assert code_key("theirs") != before
    assert comes_with_us("tuned:random_forest,trials=3") and not code_files("tuned:random_forest,trials=3")
    assert not comes_with_us("tuned:theirs") and not comes_with_us("tuned:learner=theirs")
    assert code_files("tuned:theirs") == ()  # the version of `tuned` has the hash of the other


def test_a_file_of_rules_is_part_of_the_version(tmp_path: Path) -> None:
    file = tmp_path / "rules.lp"
    versions = []
    for text in ("larger.", "larger :- digit(left,2).", "larger."):
        file.write_text(text)
        versions.append(version_of(registry.create("learner", f"rules:{file}"), f"rules:{file}"))
    assert versions[0] == versions[2] != versions[1] and versions[0].startswith("1+")


def test_a_compiled_form_beside_a_learner_is_not_executed(tmp_path: Path) -> None:
    """Of the file itself and of a module beside it: `__pycache__` may hold anything."""
    (tmp_path / "beside.py").write_text("NAME = 'source'\n")
    (tmp_path / "poisoned.py").write_text("import beside\nclass Mine:\n    name = 'source', beside.NAME\n")
    for name in ("beside", "poisoned"):
        source = tmp_path / f"{name}.py"
        foreign = tmp_path / "foreign.py"
        foreign.write_text(source.read_text().replace("'source'", "'cached'"))
        os.utime(foreign, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))
        py_compile.compile(str(foreign), cfile=importlib.util.cache_from_source(str(source)))
    assert from_code(f"{tmp_path}/poisoned.py:Mine").name == ("source", "source")


CACHED = """
from nsl_bench.core.compiling import numba
@numba.njit(cache=True)
def double(x):
    return 2 * x
print(double(21))
print(sum(double.stats.cache_hits.values()))
"""


def test_a_damaged_cache_of_compiled_functions_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    (tmp_path / "mine.py").write_text(CACHED)

    def run() -> str:
        runpy.run_path(str(tmp_path / "mine.py"))
        return capsys.readouterr().out

    assert run() == "42\n0\n" and run() == "42\n1\n"
    for ending in ("nbi", "nbc"):
        for file in tmp_path.rglob(f"*.{ending}"):
            whole = file.read_bytes()
            file.write_bytes(whole[: len(whole) // 2] + bytes(8) + whole[len(whole) // 2 + 8 :])
        assert run() == "42\n0\n" and run() == "42\n1\n", ending
