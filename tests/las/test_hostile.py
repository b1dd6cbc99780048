"""Task files that mean harm, or that a mistake made: one sentence and an exit code, within the limits.

Each file goes through ``nsl-bench learn`` as a user would call it. What clingo does to the process that
grounds it, it does to a child process; the process of the tests would not survive it.
"""

import os
import resource
import socket
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from nsl_bench.cli import run
from nsl_bench.logic.guarded import learning

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the child process needs a POSIX system")

TASK = """
n(1..3). #modeh(p(var(n))). #modeb(r(var(n))). #modeb(not r(var(n))).
#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").
#pos(one@5, {p(1)}, {p(2)}, {r(1).}).
#pos(two@5, {p(2)}, {p(1)}, {r(2).}).
"""
"""What the rest of a file is where only one part of it is hostile."""

DIGITS = "9" * 5000
OVERFLOW = "-2147483648 / -1"

ARITHMETIC, ENDLESS = (
    {
        name: TASK + text.replace("DIGITS", DIGITS).replace("OVERFLOW", OVERFLOW)
        for name, text in parts.items()
    }
    for parts in tomllib.loads(Path(__file__).with_name("hostile.toml").read_text()).values()
)

TEXTS = {
    "empty": "",
    "a_comment": "% nothing",
    "an_open_comment": TASK + "%* and so on",
    "an_open_string": TASK + 's("and so on',
    "an_open_example": TASK + "#pos(x, {p(1)}, {",
    "closed_too_often": TASK + "#pos(x, {p(1)}}, {}, {}).",
    "five_arguments": TASK + "#pos(x, {p(1)}, {}, {}, {}).",
    "a_nul": TASK + "s(1).\0 s(2).",
    "no_ascii": TASK + "é(1). s(„x“).",
    "brackets": TASK + "s(" + "f(" * 10_000 + "1" + ")" * 10_001 + ".",
    "braces": TASK + "#pos(x, " + "{" * 10_000 + "}" * 10_000 + ", {}, {}).",
    "signs": TASK + f"s({'-' * 10_000}1).",
    "negations": TASK + f"s :- {'not ' * 10_000} n(1).",
    "literals": TASK + f"s :- {', '.join(['n(1)'] * 20_000)}.",
    "a_long_name": TASK + f"{'s' * 1_000_000}(1).",
    "a_long_string": TASK + f's("{"x" * 1_000_000}").',
    "a_script": TASK + "#script (python) import os; os.abort() #end.",
    "an_include": TASK + '#include "/etc/passwd".',
    "an_external": TASK + "#external s(1..100000000).",
    "a_weak_constraint": TASK + ":~ p(1). [2147483647@2147483647]",
    "an_optimisation": TASK + "#minimize { 2147483647,X : p(X) }.",
    "own_names": TASK + "_in(0). _bad(0). _ok(0). _c_p(0). __example(0). _pay(0).",
    "a_contradiction": TASK + "a. -a.",
    "a_constraint": TASK + ":- n(1).",
    "no_answer_set": TASK + "s :- not s.",
    "hard_examples_that_clash": TASK + "#pos(x, {p(3)}, {}, {}). #pos(y, {}, {p(3)}, {}).",
}

QUICK = sorted(ARITHMETIC) + sorted(TEXTS)


def ends(words: list[object], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """The exit code, output and errors of a command, which ends as each should."""
    started = time.monotonic()
    with pytest.raises(SystemExit) as left:
        run([str(word) for word in words])
    shown = capsys.readouterr()
    assert left.value.code in (0, 1, 2), (left.value.code, shown.err)
    assert "Traceback" not in shown.err + shown.out
    sentences = [line for line in shown.err.splitlines() if not line.startswith("Note: ")]
    assert len(sentences) <= (4 if shown.out == "unsatisfiable\n" else 1), shown.err  # there, with reasons
    if left.value.code == 2 and not shown.out:
        assert sentences[0].startswith("nsl-bench: ") and sentences[0].endswith("."), sentences
        assert len(sentences[0]) < 1000
    assert time.monotonic() - started < 20
    return left.value.code, shown.out, shown.err


@pytest.fixture(autouse=True)
def little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not heed its time limit is ended soon."""
    monkeypatch.setattr(learning, "_GRACE", 1.0)


@pytest.fixture
def learn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str], tuple[int, str, str]]:
    """Learns from a text."""

    def learned(text: str) -> tuple[int, str, str]:
        path = tmp_path / "task.las"
        path.write_text(text, encoding="utf-8")
        return ends(["learn", path, "--time-limit", 2, "--memory-limit", 1000], capsys)

    return learned


@pytest.mark.parametrize("name", QUICK)
def test_what_ends_soon(name: str, learn: Callable[[str], tuple[int, str, str]]) -> None:
    code = learn({**ARITHMETIC, **TEXTS}[name])[0]
    assert code == 2 or not name.startswith("number_"), "clingo cannot hold it"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ("terms", "a_join_that_gives_nothing") else pytest.mark.slow)
        for name in sorted(ENDLESS)
    ],
)
def test_endless_grounding(name: str, learn: Callable[[str], tuple[int, str, str]]) -> None:
    learn(ENDLESS[name])


def fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def link(path: Path, target: str) -> Path:
    path.symlink_to(target)
    return path


def bound_socket(path: Path) -> Path:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's name is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)
    return path


def sparse(path: Path) -> Path:
    with path.open("wb") as file:
        file.truncate(3 << 30)
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def words(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "a_pipe": fifo,
    "a_link_to_an_endless_device": lambda path: link(path, "/dev/zero"),
    "a_link_to_a_random_device": lambda path: link(path, "/dev/urandom"),
    "an_endless_device": lambda path: Path("/dev/zero"),
    "an_empty_device": lambda path: Path("/dev/null"),
    "a_terminal": lambda path: Path("/dev/tty"),
    "a_folder": folder,
    "a_link_to_a_folder": lambda path: link(path, "/"),
    "a_socket": bound_socket,
    "3_gigabytes": sparse,
    "nothing": lambda path: path,
    "a_dangling_link": lambda path: link(path, "nowhere"),
    "a_link_to_itself": lambda path: link(path, path.name),
    "a_long_name": lambda path: path.with_name("x" * 300),
    "latin_1": lambda path: words(path, TASK.encode() + b"\xe9(1)."),
    "utf_16": lambda path: words(path, TASK.encode("utf-16")),
    "random_bytes": lambda path: words(path, bytes(range(256)) * 100),
}


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("command", ["learn", "equivalent", "predict"])
def test_files_that_are_none(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = FILES[name](tmp_path / "given.las")
    rest = {
        "learn": [path, "--time-limit", 2],
        "equivalent": [path, path, "--inputs", path, "--atom", "p", "--time-limit", 2],
        "predict": [path, "follow_suit", "--probabilities", path],
    }
    code, output, _ = ends([command, *rest[command]], capsys)
    assert (code, output) == (2, "")


@pytest.fixture(scope="module", autouse=True)
def peak() -> int:
    """Memory in KiB that the tests before took of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_nothing_is_left_behind(peak: int) -> None:
    """The children that were ended are gone, not zombies, and what they held was never held here."""
    import psutil

    states = [child.status() for child in psutil.Process().children(recursive=True)]
    assert psutil.STATUS_ZOMBIE not in states
    assert sys.platform != "linux" or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 1 << 20
