"""What the project writes and strangers send, changed at random, and what the program says to it.

`materials` makes one small folder of each kind; `edits` draws changes of bytes, values and types; `answer`
does what the program does with the folder and gives its exit code and its words.
"""

import json
import random
import re
import shutil
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock
from hypothesis import strategies as st

ROOT = Path(__file__).parents[1]


def contest(name: str, benchmark: str = "sudoku_4x4", **more: Any) -> str:
    values = {"name": name, "benchmark": benchmark, "version": "1.0.0", "source": "sklearn_digits"}
    values |= {"shifts": ["rotate90"], "percents": [0, 100], "repeats": 2, **more}
    return "[[contest]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


BOARD = contest("grids")
RECIPE, PLAN, TASK = (
    (ROOT / "tests" / "samples" / name).read_text(encoding="utf-8")
    for name in ("recipe.toml", "plan.toml", "task.las")
)

VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 1.0, 0.5, 1e308, 10**30, -(2**63), 101, 99999999),
    *("", "1", "x", "standard", "\x00", "\x1b[2J", "\u202e", "a" * 3000, "../../etc/passwd", "follow_suit"),
    *("2026-01-01", "sudoku:block_rows=9", "[" * 300),
    *([], [[]], [1, 2], ["a"], [None], [True], {}, {"a": 1}, {"name": "x"}),
]
RAW = [
    *("NaN", "Infinity", "1e999", "-0", "9" * 5000, "[" * 5000, '"\\ud800"', "tru", "'"),
    *("0x" + "f" * 5000, "1979-05-27"),
]
BYTES = [
    *(b"", b"\x00", b"\xff", b"\n", b"{", b"}", b"[" * 200, b'"', b"\xff\xfe", b"\\u0000", b" ", b","),
    b"9" * 30,
]

Edit = tuple[str, float, float, int]
"""How, where (a share of the file), how far (a share), and with which value."""


def edits() -> st.SearchStrategy[list[Edit]]:
    """One to three changes of a file, anywhere in it alike."""
    kinds = [*["flip"] * 2, "put", "cut", "double", "end", *["value"] * 3, "key", "raw", "column"]
    edit = st.builds(_edit, st.sampled_from(kinds), st.integers(0, 2**24 - 1))
    return st.lists(edit, min_size=1, max_size=3)


def _edit(how: str, seed: int) -> Edit:
    # Shares drawn by hypothesis itself would mostly be 0, or nearly.
    drawn = random.Random(seed)
    return how, drawn.random(), drawn.random(), drawn.randrange(2**16)


def materials(top: Path) -> None:
    from nsl_bench.data.generate import generate
    from nsl_bench.data.recipe import Recipe
    from nsl_bench.run.bench import Bench
    from nsl_bench.run.plan import plan
    from nsl_bench.run.store import Store
    from nsl_bench.run.sweep import sweep

    (top / "board.toml").write_text(BOARD)
    shutil.copytree(ROOT / "leaderboard/submissions/ffnsl-on-true-concepts", top / "submission")
    (top / "submission/scores.jsonl.zst").unlink()
    store = Store(top / "results")
    sweep(plan("sudoku_4x4", ["majority", "ffnsl"], repeats=[1, 2], track="symbolic"), store, Bench("cpu"))
    shutil.copytree(top / "results", top / "compacted")
    Store(top / "compacted").compact()
    recipe = Recipe(
        "sudoku_4x4", train=3, test=2, repeats=1, images="used", shifts=("rotate90",), percents=(50,)
    )
    generate(recipe, top / "data")
    for name, text in (("recipe.toml", RECIPE), ("plan.toml", PLAN), ("task.las", TASK)):
        folder = top / name.partition(".")[0]
        folder.mkdir()
        (folder / name).write_text(text)


def files_of(folder: Path) -> list[Path]:
    """The files of a material, those that people read first."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    return sorted(found, key=lambda path: path.suffix == ".parquet")


def change(path: Path, edit: Edit) -> None:
    """Change a file, if it can be changed in this way."""
    how, where, far, number = edit
    if path.suffix == ".zst" and how in ("value", "key", "raw"):
        from packed import pack, unpacked

        try:
            text = _change_json(unpacked(path).encode(), how, where, number)
        except (OSError, ValueError):
            return
        return pack(path, text.decode(errors="replace"))
    data = bytearray(path.read_bytes())
    place = int(where * len(data))
    span = 1 + int(far * min(64, len(data)))
    if how == "flip" and data:
        data[place] ^= 1 << number % 8
    elif how == "put":
        data[place:place] = BYTES[number % len(BYTES)]
    elif how == "cut":
        del data[place : place + span]
    elif how == "double":
        data[place:place] = data[place : place + 10 * span]
    elif how == "end":
        del data[place:]
    elif path.suffix == ".parquet":
        if how == "column":
            _change_column(path, where, number)
        return
    elif path.suffix in (".json", ".jsonl"):
        data = bytearray(_change_json(bytes(data), how, where, number))
    else:
        data = bytearray(_change_word(data.decode(errors="replace"), where, number).encode(errors="replace"))
    path.write_bytes(data)


def _change_json(data: bytes, how: str, where: float, number: int) -> bytes:
    """One value, or the name of one, in a line or in the whole file."""
    lines = data.split(b"\n")
    whole = len([line for line in lines if line.strip().startswith(b"{")]) < 2
    k = 0 if whole else int(where * len(lines))
    try:
        values = json.loads(data if whole else lines[k])
    except (ValueError, RecursionError):
        return data
    places = list(_places(values))
    if not places:
        return data
    holder, key = places[int(where * 7919 * len(places)) % len(places)]
    if how == "key" and isinstance(holder, dict):
        holder[str(VALUES[number % len(VALUES)])[:40]] = holder.pop(key)
    else:
        holder[key] = "@@" if how == "raw" else VALUES[number % len(VALUES)]
    text = json.dumps(values, indent=2 if whole else None).replace('"@@"', RAW[number % len(RAW)]).encode()
    if whole:
        return text + b"\n"
    lines[k] = text
    return b"\n".join(lines)


def _places(values: Any) -> Iterator[tuple[Any, Any]]:
    keys = (
        values.keys() if isinstance(values, dict) else range(len(values)) if isinstance(values, list) else ()
    )
    for key in list(keys):
        yield values, key
        yield from _places(values[key])


def _change_word(text: str, where: float, number: int) -> str:
    words = list(re.finditer(r'"[^"\n]*"|[\w.]+|\[[^\]\n]*\]|\{[^}\n]*\}', text))
    if not words:
        return text
    found = words[int(where * len(words))]
    choices = [*(json.dumps(value) for value in VALUES), *RAW, *(word[0] for word in words)]
    return text[: found.start()] + choices[number % len(choices)] + text[found.end() :]


def _change_column(path: Path, where: float, number: int) -> None:
    """A column of another type, with other values, twice, or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError):
        return
    if not table.num_columns:
        return
    k = int(where * table.num_columns)
    name, n = table.column_names[k], len(table)
    others: list[Callable[[], pa.Table]] = [
        lambda: table.drop_columns([name]),
        lambda: table.append_column(name, table[name]),
        lambda: table.set_column(k, name, pa.nulls(n)),
        lambda: table.set_column(k, name, pa.array([number] * n)),
        lambda: table.set_column(k, name, pa.array([str(number)] * n)),
        lambda: table.set_column(k, name, pa.array([[number]] * n)),
        lambda: table.set_column(k, name, pa.array([float("nan")] * n)),
        lambda: table.slice(0, n // 2),
        lambda: table.slice(0, 0),
        lambda: pa.concat_tables([table, table]),
        lambda: table.rename_columns([f"{c}_" if c == name else c for c in table.column_names]),
        lambda: table.replace_schema_metadata({"pandas": "[", "huggingface": "{"}),
        lambda: table.take(pa.array(range(n - 1, -1, -1), pa.int64())),
    ]
    pq.write_table(others[number % len(others)](), path)


def resign(folder: Path) -> None:
    """Put the files' hashes into the manifest of a submission, as a cheat would."""
    from nsl_bench.leaderboard.submission import MANIFEST, digest

    try:
        values = json.loads((folder / MANIFEST).read_bytes())
        values["files"] = {
            name: digest(folder / name) for name in values["files"] if (folder / name).is_file()
        }
        (folder / MANIFEST).write_text(json.dumps(values))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass


def damaged(data: bytes, seed: int) -> bytes:
    """A file with one to three bytes changed, anywhere in it or in its last quarter.

    A parquet file lists its contents at its end, which in a small file is most of it.
    """
    drawn = random.Random(seed)
    found = bytearray(data)
    first = 0 if drawn.random() < 0.7 else 3 * len(found) // 4
    for _ in range(drawn.randint(1, 3)):
        found[drawn.randrange(first, len(found))] = drawn.randrange(256)
    return bytes(found)


def prepare(top: str, shared: str) -> dict[str, Any]:
    """Make the materials, or copy those of another process, and give what the program says to each."""
    with FileLock(f"{shared}.lock"):
        if not Path(shared, "made").is_file():
            Path(shared).mkdir()
            materials(Path(shared))
            Path(shared, "made").touch()
    shutil.copytree(shared, top, dirs_exist_ok=True)
    found = {}
    for kind, commands in COMMANDS.items():
        folder = shutil.copytree(Path(top, kind), Path(top, "plain", kind))
        found[kind] = _answer(commands, str(folder), f"{top}/board.toml")
    return found


def answer(top: str, kind: str, folder: str, which: int) -> dict[str, Any]:
    """What `said` gives of a material, and its scores; `which` of the commands is given besides the first."""
    first, *others = COMMANDS[kind]
    commands = [first, *others[which % len(others) :][:1]] if others else [first]
    return _answer(commands, folder, f"{top}/board.toml")


def _answer(commands: Sequence[Sequence[str]], folder: str, board: str) -> dict[str, Any]:
    found = said(commands, folder, board)
    from packed import unpacked

    scores = Path(f"{folder}.scores")
    return {**found, "scores": unpacked(scores) if scores.is_file() else ""}


def said(commands: Sequence[Sequence[str]], folder: str = "", board: str = "") -> dict[str, Any]:
    """Commands in this process, up to the first that fails.

    Returns:
        ``code``, ``said`` (what each prints, and its sentence if there is one), and ``trace``, which is empty
        unless the program ends in a traceback.
    """
    from click.testing import CliRunner

    from nsl_bench.cli import main
    from nsl_bench.core.errors import UserError

    texts, code = [], 0
    for words in commands:
        command = [word.format(folder=folder, board=board) for word in words]
        result = CliRunner().invoke(main, command, standalone_mode=False)
        error = result.exception
        texts.append(result.output)
        if isinstance(error, UserError) or hasattr(error, "format_message"):
            code = 2
            texts.append(f"nsl-bench: {error}")
            if error is not None and getattr(error, "__notes__", None):
                return {"code": 70, "said": texts, "trace": "\n".join(error.__notes__)}
        elif error is not None:
            lines = traceback.format_exception(error)
            return {"code": 70, "said": texts, "trace": "".join(lines)[-4000:]}
        else:
            code = max(code, int(result.return_value or 0))
    return {"code": code, "said": texts, "trace": ""}


_STORE = [
    ["report", "{folder}", "--no-curves", "--format", "csv"],
    ["report", "{folder}", "--no-curves", "--holds", "row"],
    [
        *("submit", "{folder}", "--learner", "ffnsl", "--name", "x", "--licence", "MIT"),
        *("--board", "{board}", "--out", "{folder}.submission"),
    ],
    ["store", "compact", "{folder}"],
    [
        *("run", "sudoku_4x4", "--track", "symbolic", "--learner", "majority", "--repeats", "1"),
        *("--isolation", "none", "--jobs", "1", "--out", "{folder}"),
    ],
]
SCORE = ["score-submission", "{folder}", "--board", "{board}", "--scores", "{folder}.scores"]
GENERATE = ["generate", "--recipe", "{folder}/recipe.toml", "--out", "{folder}/out"]
COMMANDS: dict[str, list[list[str]]] = {
    "submission": [[*SCORE, "--time-limit", "60", "--memory-limit", "1G"]],
    "results": _STORE,
    "compacted": _STORE,
    "data": [["verify", "{folder}"]],
    "recipe": [[*GENERATE, "--train", "2", "--test", "1"]],
    "plan": [["plan", "{folder}/plan.toml"]],
    "task": [["learn", "{folder}/task.las", "--time-limit", "5", "--memory-limit", "900"]],
}
