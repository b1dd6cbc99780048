"""Task files of other repositories: benchmarks/public_tasks.py."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.logic.las import LasTask, solve

BIAS = """max_vars(3). max_body(2).
head_pred(gp,2). body_pred(par,2). type(gp,(p,p)). type(par,(p,p)).
:- clause(C), #count{V : var_type(C,V,p)} > 3.
"""
BACKGROUND = ":- discontiguous par/2.\npar(a,b). par(b,c). par(a,d).\n"
EXAMPLES = "pos(gp(a,c)).\nneg(gp(a,b)).\nneg(gp(a,d)).\n"


def popper(folder: Path, background: str = BACKGROUND) -> Path:
    folder.mkdir()
    for name, text in (("bias.pl", BIAS), ("bk.pl", background), ("exs.pl", EXAMPLES)):
        (folder / name).write_text(text)
    return folder


def test_a_task_of_popper_is_rewritten(script: Callable[[str], ModuleType], tmp_path: Path) -> None:
    task = LasTask.parse(
        script("public_tasks").popper_task(popper(tmp_path / "kin")), dialect="ilasp", constraints=False
    )
    solution = solve(task)
    assert (solution.status, solution.hypothesis) == ("optimal", ("gp(V1,V2) :- par(V1,V3), par(V3,V2).",))
    lists = popper(tmp_path / "lists", "head([H|_],H).\n")
    with pytest.raises(UserError, match="Prolog that is no ASP"):
        script("public_tasks").popper_task(lists)


def test_fastlas_rules_are_scored_again(script: Callable[[str], ModuleType]) -> None:
    text = '#modeh(p). #modeb(q). #bias("penalty(1, in_head(X)) :- in_head(X)."). #pos(a, {p}, {}, {q.}). '
    task = LasTask.parse(text + "#pos(b@5, {}, {p}, {}).", dialect="fastlas")
    rescored = script("public_tasks").rescored
    assert rescored(task, "p.\n") == 6
    assert rescored(task, '% Optimal hypothesis\np :- q.\n{\n"Length": 1\n}\n% Optimal hypothesis\np.\n') == 1
    assert rescored(task, "UNSATISFIABLE") == "unsatisfiable"
    assert rescored(task, "") == "leaves a uncovered"


def test_each_file_has_a_row(
    script: Callable[[str], ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    popper(tmp_path / "kin")
    (tmp_path / "bad.las").write_text("#modeh(p)")
    out = tmp_path / "table.csv"
    words = ["public_tasks", f"popper:{tmp_path}", f"ilasp:{tmp_path}", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", words)
    script("public_tasks").main()
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert [(row["file"], row["outcome"], row["verified"]) for row in rows] == [
        ("kin", "proven", "optimality"),
        ("bad.las", "refused", ""),
    ]
    shown = capsys.readouterr().out
    assert "| all | 2 | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 1 | 0 |" in shown
    assert "the statement that starts here has no full stop. | 1 |" in shown
    script("public_tasks").main()  # resumes: both files have their row
    assert list(csv.DictReader(out.open(encoding="utf-8"))) == rows
