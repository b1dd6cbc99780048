"""The adapters to ILASP and FastLAS: recorded sessions, and the programs themselves where installed."""

import os
import stat
import sys
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from nsl_bench.core.budget import Budget
from nsl_bench.core.errors import UserError
from nsl_bench.logic.las.adapters import programs as adapters
from nsl_bench.logic.las.adapters.programs import PROGRAMS, describe, fastlas, ilasp
from nsl_bench.logic.las.task import LasTask
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan

TASK = """
cell(1..3).
#constant(kind, x). #constant(kind, y).
#modeh(on(var(cell))). #modeb(lit(var(cell), const(kind))).
#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").
#pos(eg(one)@10, {on(1)}, {on(2)}, {lit(1,x). lit(2,y).}).
#pos(eg(two)@4, {on(3)}, {}, {lit(2,x).}).
"""
ILASP_TASK = """
n(1..2).
#modeh(p(var(n))). #modeb(1, a(var(n)), (positive)).
#pos(one@10, {p(1)}, {p(2)}, {a(1).}).
"""


def fake(folder: Path, name: str, body: str) -> Path:
    """An executable that replays a recorded session."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport pathlib, subprocess, sys, time\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path


def replay(output: str, keep: Path | None = None) -> str:
    """A session that prints `output` and keeps the task that it was given."""
    copy = f"pathlib.Path({str(keep)!r}).write_text(pathlib.Path(sys.argv[-1]).read_text())" if keep else ""
    return f"{copy}\nprint({output!r})"


def test_fastlas_is_written_run_read_and_scored_again(tmp_path: Path) -> None:
    kept = tmp_path / "kept.las"
    program = fake(tmp_path, "FastLAS", replay("on(V0) :- lit(V0,x).", kept))
    found = fastlas(LasTask.parse(TASK), executable=program)
    assert found.hypothesis == ("on(V0) :- lit(V0,x), cell(V0).",)
    assert (found.score, found.cost, found.status) == (6, 2, "feasible")
    assert found.uncovered == (("two", 4),)
    written = kept.read_text()
    assert "#constant" not in written
    assert "kind__constant(x)." in written
    assert "#pos(e0@10, " in written


def test_types_made_up_for_fastlas_are_not_in_the_answer(tmp_path: Path) -> None:
    kept = tmp_path / "kept.las"
    task = LasTask.parse(
        TASK.replace("cell(1..3).", "#constant(cell, 1). #constant(cell, 2). #constant(cell, 3).")
    )
    program = fake(tmp_path, "FastLAS", replay("on(V0) :- lit(V0,x), cell__constant(V0).", kept))
    assert fastlas(task, executable=program).hypothesis == ("on(V0) :- lit(V0,x).",)
    written = kept.read_text()
    assert "var(cell__constant)" in written
    assert "cell__constant(2)." in written


def test_ilasp_is_written_run_read_and_scored_again(tmp_path: Path) -> None:
    output = "p(V1) :- a(V1).\n\n%%%%%%%%%%\n%% Pre-processing : 0.002s\n%% Total : 0.02s\n%%%%%%%%%%"
    found = ilasp(LasTask.parse(ILASP_TASK), executable=fake(tmp_path, "ILASP", replay(output)))
    assert found.hypothesis == ("p(V1) :- a(V1), n(V1).",)
    assert (found.score, found.cost) == (2, 2)


def test_an_answer_that_breaks_a_hard_example_is_no_solution(tmp_path: Path) -> None:
    task = LasTask.parse(TASK.replace("@10", ""))
    found = fastlas(task, executable=fake(tmp_path, "FastLAS", replay("")))
    assert found.score is None
    assert "must be covered" in found.message


def test_a_slow_program_is_killed_with_its_children(tmp_path: Path) -> None:
    child = tmp_path / "child"
    code = f"import time, pathlib; time.sleep(3); pathlib.Path({str(child)!r}).touch()"
    body = f"subprocess.Popen([sys.executable, '-c', {code!r}])\ntime.sleep(60)"
    started = time.monotonic()
    found = fastlas(LasTask.parse(TASK), executable=fake(tmp_path, "FastLAS", body), time_limit=0.5)
    assert time.monotonic() - started < 30
    assert (found.score, found.status, found.hypothesis) == (None, "feasible", ())
    assert "stopped before it answered" in found.message
    time.sleep(3.5)
    assert not child.exists()


def test_a_run_whose_program_has_no_answer_in_time_is_a_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counted as a run that had learned the empty hypothesis."""
    monkeypatch.setenv("NSL_BENCH_FASTLAS", str(fake(tmp_path, "FastLAS", "time.sleep(60)")))
    (job,) = plan("sudoku_4x4", ["ffnsl:rule_learner=fastlas,time_limit=1"], track="symbolic")
    record = Bench("cpu").run(job).record
    assert record.status == "timeout", record.message
    assert record.message == "fit: ffnsl: no hypothesis. FastLAS was stopped before it answered."
    assert record.hypothesis is None


def test_no_two_processes_use_the_same_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their names hold the process id, which can be the same in two namespaces."""
    monkeypatch.setitem(
        PROGRAMS, "fastlas", replace(PROGRAMS["fastlas"], writes=(str(tmp_path),), files="tmp_{}_*")
    )
    body = f"import os; pathlib.Path(f'{tmp_path}/tmp_{{os.getpid()}}_1').touch(); print(os.getpid())"
    program = fake(tmp_path, "FastLAS", body)

    def started() -> int:
        with adapters._started([str(program)], str(tmp_path), PROGRAMS["fastlas"]) as process:
            assert int(process.communicate()[0]) == process.pid
        return process.pid

    first = started()
    assert not list(tmp_path.glob("tmp_*"))
    ahead = range(first + 1, first + 60)
    for process in ahead:
        (tmp_path / f"tmp_{process}_1").touch()
    with adapters._locks(PROGRAMS["fastlas"]) as locks:
        for process in ahead:  # as if they ran elsewhere
            adapters._claim(replace(PROGRAMS["fastlas"], files="none_{}"), locks, process)
        assert started() not in ahead
        assert len(list(tmp_path.glob("tmp_*"))) == len(ahead)
        adapters._claim(PROGRAMS["fastlas"], locks, first + 1)  # what a dead process left
        assert len(list(tmp_path.glob("tmp_*"))) == len(ahead) - 1
        monkeypatch.setattr(adapters, "_STARTS", 3)
        monkeypatch.setattr(adapters, "_claim", Mock(side_effect=BlockingIOError))
        with pytest.raises(UserError, match="FastLAS was not started: 3 process ids are in use by others"):
            started()


def test_a_folder_that_fastlas_needs_and_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = replace(PROGRAMS["fastlas"], writes=(str(tmp_path / "none"),))
    monkeypatch.setitem(PROGRAMS, "fastlas", missing)
    with pytest.raises(UserError, match=f"FastLAS needs {tmp_path}/none, where .*cannot be written: No such"):
        fastlas(LasTask.parse(TASK), executable=fake(tmp_path, "FastLAS", replay("")))


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("print('no such option', file=sys.stderr); sys.exit(3)", "failed with code 3: no such option"),
        ("print('Unknown token', file=sys.stderr)", "Unknown token"),
        ("print('on(V0 :-')", "The answer of FastLAS, line 1.* syntax error"),
    ],
)
def test_a_failure_is_told_in_a_sentence(tmp_path: Path, body: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        fastlas(LasTask.parse(TASK), executable=fake(tmp_path, "FastLAS", body))


def test_what_a_program_cannot_express_is_refused(tmp_path: Path) -> None:
    program = fake(tmp_path, "FastLAS", replay(""))
    with pytest.raises(UserError, match="limit on the body"):
        fastlas(LasTask.parse(ILASP_TASK), executable=program)
    with pytest.raises(UserError, match="literals"):
        ilasp(LasTask.parse(TASK.replace("penalty(1, body", "penalty(2, body")), executable=program)


def test_a_missing_program_says_where_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for program in PROGRAMS.values():
        monkeypatch.delenv(program.variable, raising=False)
    assert all("not found" in line for line in describe())
    with pytest.raises(UserError, match="install it from"):
        fastlas(LasTask.parse(TASK))


def test_doctor_gives_path_and_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, "FastLAS", "print('FastLAS version 2.1.0 (release).')")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("NSL_BENCH_FASTLAS", raising=False)
    line = next(line for line in describe() if line.startswith("fastlas"))
    assert f"{tmp_path / 'FastLAS'} 2.1.0" in line


def test_the_programs_are_registered() -> None:
    from nsl_bench.core import registry

    assert registry.factory("rule_learner", "fastlas") is adapters.fastlas
    assert registry.factory("rule_learner", "ilasp") is adapters.ilasp


def test_an_answer_of_another_program_is_of_no_tier(tmp_path: Path) -> None:
    program = fake(tmp_path, "FastLAS", replay("on(V0) :- lit(V0,x)."))
    found = fastlas(LasTask.parse(TASK), executable=program)
    assert (found.tier, found.tiers, found.solver) == (None, (), "fastlas")
    assert found.statistics["seconds"] > 0
    found = ilasp(LasTask.parse(ILASP_TASK), executable=fake(tmp_path, "ILASP", replay("UNSATISFIABLE")))
    assert (found.tier, found.solver, found.status) == (None, "ilasp", "unsatisfiable")
    assert "which is not checked" in found.message


def test_scoring_an_answer_heeds_a_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "with_grace", lambda self, seconds: Budget.of(0.0, None))
    program = fake(tmp_path, "FastLAS", replay("on(V0) :- lit(V0,x)."))
    found = fastlas(LasTask.parse(TASK), executable=program)
    assert (found.status, found.score) == ("feasible", None)
    assert found.hypothesis == ("on(V0) :- lit(V0,x), cell(V0).",)
    assert "could not be scored: time ran out" in found.message


def test_what_feeds_what_decides_how_fastlas_is_called(tmp_path: Path) -> None:
    kept = tmp_path / "arguments"
    body = f"pathlib.Path({str(kept)!r}).write_text(' '.join(sys.argv))\nprint('')"
    for more, mode in (("", "--opl"), (":- on(1).", "--opl"), ("z :- on(1).", "--nopl")):
        fastlas(LasTask.parse(TASK + more), executable=fake(tmp_path, "FastLAS", body))
        assert mode in kept.read_text()
