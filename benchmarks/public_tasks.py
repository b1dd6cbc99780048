"""Solves task files of public repositories, and makes a table of what became of each.

    python benchmarks/public_tasks.py REPOSITORIES --out table.csv [--fastlas FastLAS] [--time-limit 10]

REPOSITORIES is a folder with clones of `REPOSITORIES` below, each as OWNER/NAME; one that is missing is
cloned from GitHub, at the commit that is stated. KIND:PATH in its place solves other files: KIND is
``fastlas`` or ``ilasp``, the dialect of the `.las` files at PATH (a file, or a folder with files at any
depth), or ``popper``, where PATH is a folder of Popper's tasks, which are rewritten.

A proven answer is solved again with ``--verify``. FastLAS's rules on the same file, found right after, are
scored by nsl-bench's coverage check; a score below the bound shows a false answer. The table has a row per
file. Files that it holds already are skipped, so that the same command resumes. At the end the table is
counted, in Markdown; without REPOSITORIES this is all that is done.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import clingo
from clingo import ast

from nsl_bench.core.budget import Budget, Expired
from nsl_bench.core.errors import UserError
from nsl_bench.logic.las.bias.hypothesis import parse_rules, with_type_guards
from nsl_bench.logic.las.semantics.coverage import score
from nsl_bench.logic.las.task import LasTask

REPOSITORIES = (
    ("spike-imperial/FastLAS", "a84004ae089799d9c6a7ab95e0df38f57477f9d7", "FastLAS2/testing", "fastlas"),
    ("dasaro/fastlas_manual", "0f7dc28636c441cdd783341d5aabe7cda1a23ae4", "examples", "fastlas"),
    ("robyBorelli/lasco", "22231558e06ec48f81049c0bbfac54e4a897fa89", "examples", "ilasp"),
    ("robyBorelli/lasco", "22231558e06ec48f81049c0bbfac54e4a897fa89", "aaai26/table1_instances", "ilasp"),
    (
        "dasaro/ArgLAS",
        "8950300bb537eeaab1eff5bcf821070bf9758f2d",
        "analysis/grd_prf_lab/p2_prf_alt/tasks",
        "ilasp",
    ),
    ("danm11694/ILASP_robotics", "b0526f3b39e74e6735f95281e41b99aa6d0754f8", "task_reasoning", "ilasp"),
    ("rAIson-Lab/ilasp-roadkill", "ce0920215b2ce2c622967e6414070be158b1f499", "", "ilasp"),
    ("logic-and-learning-lab/Popper", "a4f3eb1690237bdfc491f8c9a8d2477aa3b419c1", "examples", "popper"),
)
"""Repository, commit, folder of task files and their kind, in the order of the table."""
_GRACE = 30.0
"""Seconds beyond the limit after which a process is killed, which counts as a failure."""
_SECONDS_FOR_VERIFYING = 30.0


@dataclass
class Row:
    """What became of one file; scores and seconds are empty where there are none."""

    group: str
    file: str
    outcome: str = ""
    score: str = ""
    bound: str = ""
    cpu: str = ""
    verified: str = ""
    reason: str = ""
    fastlas: str = ""
    fastlas_cpu: str = ""
    false: str = ""


def popper_task(folder: Path) -> str:
    """A task of Popper in ILASP's syntax; examples of noisy tasks have the penalty 1, others must be covered.

    Popper's own constraints on rules are left out.

    Raises:
        UserError: the background is no ASP program, or the task needs predicate invention.
    """
    bias = _facts(folder / "bias.pl")
    if ("enable_pi", 0) in bias:
        raise UserError("predicate invention without meta-rules")
    lines = (folder / "bk.pl").read_text(encoding="utf-8").splitlines()
    background = "\n".join(line for line in lines if not line.startswith(":-"))
    try:
        ast.parse_string(background, lambda _: None, logger=lambda code, words: None)
    except RuntimeError as error:
        raise UserError("the background is Prolog that is no ASP (lists, is/2 or constraints)") from error
    types = {str(a[0]): [str(t) for t in a[1].arguments] for a in bias.get(("type", 2), [])}

    def atom(name: str, arity: int) -> str:
        places = ",".join(f"var({kind})" for kind in types.get(name, ["any"] * arity))
        return f"{name}({places})" if places else name

    heads = [(str(a[0]), a[1].number) for a in bias[("head_pred", 2)]]
    bodies = [(str(a[0]), a[1].number) for a in bias[("body_pred", 2)]]
    bodies += heads if ("enable_recursion", 0) in bias else []
    limit = {name: bias.get((name, 1), [[clingo.Number(n)]])[0][0].number for name, n in _POPPER_DEFAULTS}
    text = [background, *(f"#modeh({atom(*head)})." for head in heads)]
    text += [f"#modeb({limit['max_body']}, {atom(*body)}, (positive))." for body in bodies]
    text += [f"#maxv({limit['max_vars']}).", f"#max_body({limit['max_body']})."]
    penalty = "@1" if folder.name.startswith("noisy") else ""
    examples = (folder / "exs.pl").read_text(encoding="utf-8")
    for i, (kind, found) in enumerate(re.findall(r"^\s*(pos|neg)\((.*)\)\.", examples, re.MULTILINE)):
        wanted, unwanted = (found, "") if kind == "pos" else ("", found)
        text.append(f"#pos(e{i}{penalty}, {{{wanted}}}, {{{unwanted}}}).")
    return "\n".join(text)


_POPPER_DEFAULTS = (("max_vars", 6), ("max_body", 10))


def _facts(path: Path) -> dict[tuple[str, int], list[list[clingo.Symbol]]]:
    """Arguments of what an ASP program derives, by signature."""
    control = clingo.Control(["--warn=none"], logger=lambda code, words: None)
    control.add("base", [], re.sub(r"^:-.*?\.\s*$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S))
    control.ground([("base", [])])
    found: dict[tuple[str, int], list[list[clingo.Symbol]]] = {}
    for each in control.symbolic_atoms:
        symbol = each.symbol
        found.setdefault((symbol.name, len(symbol.arguments)), []).append(symbol.arguments)
    return found


def measured(command: list[str], limit: float, folder: Path) -> tuple[int | None, str, str, float]:
    """Exit code (None if killed), output, errors, and CPU seconds of a command and what it started."""
    before = os.times()
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            output, errors = process.communicate(timeout=limit)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            output, errors = process.communicate()
            code = None
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return code, output, errors, cpu


def ours(path: Path, kind: str, dialect: str, limit: float, row: Row, scratch: Path) -> None:
    """Fill in what nsl-bench answers."""
    learn = [sys.executable, "-m", "nsl_bench", "learn", str(path), "--json", "--dialect", dialect]
    learn += ["--no-constraints"] if kind == "popper" else []
    code, output, errors, cpu = measured([*learn, "--time-limit", str(limit)], limit + _GRACE, scratch)
    row.cpu = f"{cpu:.2f}"
    if not output.strip():
        last = errors.strip().splitlines()[-1] if errors.strip() else "no output"
        row.outcome = "failed" if code is None or "Traceback" in errors else "refused"
        row.reason = last.replace(f"{path}", path.name).removeprefix("nsl-bench: ")
        return
    answer = json.loads(output)
    row.score, row.bound = ("" if answer[name] is None else str(answer[name]) for name in ("score", "bound"))
    row.reason = answer["message"].replace(f"{path}", path.name)
    row.outcome = {"optimal": "proven", "unsatisfiable": "no solution"}.get(answer["status"], "best so far")
    if row.outcome == "best so far":
        row.outcome = "none so far" if answer["score"] is None else row.outcome
        return
    code, output, errors, _ = measured(
        [*learn, "--verify", "--time-limit", str(_SECONDS_FOR_VERIFYING)],
        _SECONDS_FOR_VERIFYING + _GRACE,
        scratch,
    )
    again = json.loads(output) if output.strip() else {"verified": None, "unverified": errors[-200:]}
    row.verified = again["verified"] or ""
    if again.get("status") not in (answer["status"], None) or again.get("score") != answer["score"]:
        row.false = f"--verify: {again.get('status')}, {again.get('score')}: {again.get('message')}"


def beside(binary: str, path: Path, task: LasTask, limit: float, row: Row, scratch: Path) -> None:
    """Fill in what FastLAS answers on the same file, with the score of its rules by our own check."""
    best: int | None = None
    row.fastlas = "refused"
    for mode in ("--opl", "--nopl"):
        command = [binary, mode, "--threads", "1", str(path)]
        code, output, errors, cpu = measured(command, limit, scratch)
        if best is not None and code != 0:
            continue
        if code is None:
            row.fastlas, row.fastlas_cpu = f"none in {limit:.0f} s", f"{cpu:.1f}"
        elif code == 0 and (output.strip() or not errors.strip()):
            found = rescored(task, output)
            if isinstance(found, int) and (best is None or found < best):
                best = found
            if best is None or best == found:
                row.fastlas, row.fastlas_cpu = str(found), f"{cpu:.1f}"
    if best is not None and (row.outcome == "no solution" or (row.bound and best < int(row.bound))):
        row.false = f"FastLAS's rules have the score {best}"


def rescored(task: LasTask, output: str) -> int | str:
    """The score of the best hypothesis that FastLAS printed, by our own check, or what is wrong with it.

    It prints two hypotheses where a file has #predict, each followed by statistics in JSON.
    """
    best: int | str = ""
    for answer in re.split(r"^% Optimal hypothesis.*$", output, flags=re.MULTILINE):
        text = re.sub(r"^\{\s*$.*?^\}\s*$", "", answer, flags=re.MULTILINE | re.DOTALL)
        text = re.sub(r"^\s*%.*$", "", text, flags=re.MULTILINE)
        if "UNSATISFIABLE" in text:
            best = best or "unsatisfiable"
            continue
        if "% Optimal" in output and not text.strip():
            continue
        try:
            rules = tuple(with_type_guards(task, rule) for rule in parse_rules(text, "FastLAS's answer"))
            found = score(task, rules, Budget.of(_SECONDS_FOR_VERIFYING, None))
        except (UserError, RuntimeError, Expired) as error:
            best = best or f"rules not scored: {error}"[:150]
            continue
        if found.broken:
            best = best or f"leaves {found.broken[0]} uncovered"
        elif not isinstance(best, int) or found.total < best:
            best = found.total
    return best


def files(kind: str, path: Path, kept: Path) -> Iterator[tuple[Path, str]]:
    """The task files at a path, each with its name in the table; those of Popper are written to a folder."""
    if kind != "popper":
        for file in [path] if path.is_file() else sorted(path.rglob("*.las")):
            yield file, file.name if path.is_file() else str(file.relative_to(path))
        return
    for folder in sorted(each.parent for each in path.rglob("exs.pl")):
        file = kept / f"{folder.name}.las"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(popper_task(folder), encoding="utf-8")
        except UserError as reason:
            file.write_text(f"% {reason}", encoding="utf-8")
        yield file, folder.name


def solved(path: Path, row: Row, kind: str, options: argparse.Namespace, scratch: Path) -> None:
    """Fill in the row of a file."""
    started = path.read_text(encoding="utf-8", errors="replace")
    if kind == "popper" and started.startswith("% ") and "\n" not in started:
        row.outcome, row.reason = "not rewritten", started[2:]
        return
    dialect = "fastlas" if kind == "fastlas" and "ilasp" not in path.name else "ilasp"
    ours(path, kind, dialect, options.time_limit, row, scratch)
    if options.fastlas and dialect == "fastlas":
        try:
            task = LasTask.read(path, dialect="fastlas")
        except UserError:
            return
        beside(options.fastlas, path, task, options.fastlas_limit, row, scratch)


def shown(path: Path) -> str:
    """A table in Markdown: counts by group and outcome, reasons, and totals beside FastLAS."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    outcomes = ("proven", "no solution", "best so far", "none so far", "refused", "failed", "not rewritten")
    lines = [
        f"| tasks | files | {' | '.join(outcomes)} | verified | false |",
        "|---" * (len(outcomes) + 4) + "|",
    ]
    groups = dict.fromkeys(row["group"] for row in rows)
    for group in (*groups, "all"):
        own = [row for row in rows if group in (row["group"], "all")]
        cells = [sum(row["outcome"] == outcome for row in own) for outcome in outcomes]
        cells += [sum(bool(row[name]) for row in own) for name in ("verified", "false")]
        lines.append(f"| {group} | {len(own)} | {' | '.join(map(str, cells))} |")
    lines += ["", "| why a file is not solved | files |", "|---|---:|"]
    reasons: Counter[str] = Counter()
    for row in rows:
        if row["outcome"] in ("refused", "failed", "not rewritten"):
            reason = re.sub(r"^[\w-]+\.las(, line \d+, column \d+)?:? ?", "", row["reason"])
            reasons[re.sub(r"than the .*", "than allowed", reason)] += 1
    lines += [f"| {reason} | {count} |" for reason, count in reasons.most_common()]
    both = [row for row in rows if row["fastlas"].isdigit() and row["outcome"] == "proven"]
    equal = sum(row["fastlas"] == row["score"] for row in both)
    totals = [sum(float(row[name]) for row in both) for name in ("cpu", "fastlas_cpu")]
    lines += ["", f"{len(both)} files with rules of both programs, {equal} with the same score: "
              f"{totals[0]:.0f} s and {totals[1]:.0f} s of CPU time."]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("paths", nargs="*", metavar="REPOSITORIES | KIND:PATH")
    parser.add_argument("--out", type=Path, required=True, help="the table, as CSV")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each file")
    parser.add_argument("--fastlas", help="FastLAS's binary")
    parser.add_argument("--fastlas-limit", type=float, default=60.0, help="seconds that FastLAS may take")
    parser.add_argument("--keep", type=Path, help="a folder for the rewritten tasks")
    options = parser.parse_args()
    if options.paths:
        table(options)
    print(shown(options.out))


def groups(path: str) -> Iterator[tuple[str, str, Path]]:
    """Kind, name in the table and place of the task files that an argument names.

    Raises:
        UserError: a clone is at another commit.
    """
    kind, colon, place = path.partition(":")
    if colon:
        yield kind, place.strip("/"), Path(place)
        return
    for name, commit, folder, kind in REPOSITORIES:
        clone = Path(path) / name
        if not clone.exists():
            subprocess.run(["git", "clone", "--quiet", f"https://github.com/{name}", clone], check=True)
            subprocess.run(["git", "-C", clone, "checkout", "--quiet", commit], check=True)
        command = ["git", "-C", clone, "rev-parse", "HEAD"]
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        if found != commit:
            raise UserError(f"{clone} is at commit {found}; check out {commit}.")
        yield kind, f"{name}, {folder}".removesuffix(", "), clone / folder


def table(options: argparse.Namespace) -> None:
    """Adds the rows of all files to a table."""
    names = [each.name for each in fields(Row)]
    old: list[Mapping[str, str]] = []
    if options.out.exists():
        with options.out.open(encoding="utf-8", newline="") as stream:
            old = list(csv.DictReader(stream))
    done = {(row["group"], row["file"]) for row in old}
    with (
        tempfile.TemporaryDirectory() as folder,
        options.out.open("a", encoding="utf-8", newline="") as stream,
    ):
        scratch = Path(folder)
        writer = csv.DictWriter(stream, names)
        if not old:
            writer.writeheader()
        for each in options.paths:
            for kind, group, path in groups(each):
                for file, name in files(kind, path, options.keep or scratch):
                    row = Row(group, name)
                    if (row.group, row.file) in done:
                        continue
                    started = time.monotonic()
                    solved(file.resolve(), row, kind, options, scratch)
                    writer.writerow(asdict(row))
                    stream.flush()
                    words = (row.outcome, row.score, row.verified, row.cpu, row.reason[:90], row.false)
                    seconds = f"[{time.monotonic() - started:.0f} s]"
                    print(f"{name}:", *filter(None, words), seconds, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
