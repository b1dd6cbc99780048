"""``nsl-bench learn`` and ``nsl-bench equivalent``, as functions and as processes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from nsl_bench.cli.rules import equivalent, learn
from nsl_bench.core.errors import UserError
from nsl_bench.logic.guarded import learning
from nsl_bench.logic.las import Solution

TASK = """
#modeh(p). #modeh(q). #modeb(r). #modeb(not r).
#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").
#pos(one@5, {p}, {q}, {r.}).
#pos(two@5, {q}, {p}, {}).
#pos(three@1, {p}, {}, {}).
"""
INPUTS = "{ r }."


@pytest.fixture
def task(tmp_path: Path) -> Path:
    path = tmp_path / "task.las"
    path.write_text(TASK)
    return path


def hard(folder: Path) -> Path:
    """A task of tier C that takes minutes: a recursive predicate on many random graphs."""
    lines = ["node(1..6).", "#modeh(path(var(node),var(node))). #modeh(far(var(node),var(node)))."]
    for mode in ("edge", "path", "far", "red", "blue"):
        lines.append(f"#modeb(1, {mode}(var(node),var(node)), (positive)).")
    lines.append("#maxv(3).")
    for i in range(40):
        colours = ("edge", "red", "blue")
        edges = [f"{colours[k % 3]}({(i * 7 + k * 5) % 6 + 1},{(i * 3 + k * k) % 6 + 1})" for k in range(12)]
        target = f"far({i % 6 + 1},{(i * i) % 6 + 1})"
        asked = f"{{{target}}}, {{}}" if i % 2 else f"{{path(1,{i % 6 + 1})}}, {{{target}}}"
        lines.append(f"#pos(e{i}@{i % 9 + 3}, {asked}, {{{' '.join(e + '.' for e in edges)}}}).")
    path = folder / "hard.las"
    path.write_text("\n".join(lines))
    return path


def ran(task: Path, *words: str) -> str:
    return CliRunner().invoke(learn, [str(task), *words], catch_exceptions=False).stdout


def test_json_is_one_object(task: Path) -> None:
    answer = json.loads(ran(task, "--json"))
    assert (answer["status"], answer["score"], answer["bound"]) == ("optimal", 5, 5)
    assert sorted(answer["hypothesis"]) == ["p :- r.", "q :- not r."]
    assert answer["seconds"] >= 0
    assert answer["uncovered"] == {"three": 1}
    assert (answer["tier"], answer["tiers"], answer["solver"]) == ("A", ["A"], "exact")
    assert (answer["dialect"], answer["verified"], answer["unverified"]) == ("fastlas", "score", "")


def test_rules_are_printed_with_a_line_on_the_score(task: Path) -> None:
    *rules, last = ran(task).splitlines()
    assert sorted(rules) == ["p :- r.", "q :- not r."]
    assert last.startswith("% score 5 (optimal)")


def test_explain_says_what_each_rule_covers(task: Path) -> None:
    said = ran(task, "--explain")
    assert "covers 1: one" in said and "three (1)" in said
    rules = json.loads(ran(task, "--explain", "--json"))["rules"]
    assert {tuple(rule["covers"]) for rule in rules} == {("one",), ("two",)}


def test_unsatisfiable_is_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "clash.las"
    path.write_text("% dialect: fastlas\n#modeh(p). #pos(yes, {p}, {}, {}). #pos(no, {}, {p}, {}).")
    result = CliRunner().invoke(learn, [str(path), "--json"], standalone_mode=False, catch_exceptions=False)
    answer = json.loads(result.stdout)
    assert (answer["status"], answer["score"], answer["hypothesis"]) == ("unsatisfiable", None, [])
    assert answer["message"]
    assert result.return_value == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("#modeh(p).\n#pos(x, {p}, {}, {a( .}).", "line 2, column"),
        ("#modeh(p).\n#modeb(zz).\n#pos(x, {p}, {}, {}).", "tells FastLAS's dialect from ILASP's"),
        ("#modeh(p).\n#modeb(a(var(m))).\na(1).\n#pos(x, {p}, {}, {}).", "line 2, column 1.*type 'm'"),
        ("#modeh(p).\n#modeb(a(const(m))).\na(1).\n#pos(x, {p}, {}, {}).", "line 2, column 1.*type 'm'"),
        ("#constant(m, 1).\n#modeh(p(var(m))).\n#pos(x, {p(1)}, {}, {}).", "line 2, .*cannot be made safe"),
        ("p.", "modes such as .* this one has neither"),
        ("#script (python)\n#end.", "line 1, column 1.*not supported"),
        ('#include "x".', "line 1, column 1.*not supported"),
        ("#modeh(p).\n#pos(x@y, {p}, {}, {}).", "line 2, column 1.*penalty must be an integer; got 'y'"),
        ("#modeh(p).\n#pos(x@-3, {p}, {}, {}).", "line 2, column 1.*got -3"),
        ("#modeh(p).\n#pos(x, {p}, {}, {a. q(X).}).", "line 2, column 22.*'q.X.' has a variable"),
        ('#modeh(p).\n#bias("penalty(-1, uni).").\n#pos(x, {p}, {}, {}).', "line 2, column 1.*at least 0"),
    ],
)
def test_bad_input_is_one_sentence_with_its_place(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "bad.las"
    path.write_text(text)
    with pytest.raises(UserError, match=sentence) as caught:
        ran(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("items.csv", b"weight,colour\n1.5,red\n2.0,blue\n", "items.csv: --label must name the column"),
        ("items.dat", b"weight\tcolour\n1\tred\n", "it is a table"),
        ("notes.txt", b"Dear all,\nplease learn.\n", "notes.txt is not a task file: it has no statements"),
        ("task.json", b'{"a": 1}\n', "not a task file"),
        ("image.las", b"\x89PNG\r\n", "must be UTF-8 text"),
        ("empty.las", b"", "this one has neither"),
    ],
)
def test_a_file_that_is_no_task_is_told_apart(
    tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        ran(path)
    with pytest.raises(UserError, match="is a folder"):
        ran(tmp_path)


def test_unknown_learners_and_files_are_told(task: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Did you mean 'fastlas'"):
        ran(task, "--rule-learner", "fastlass")
    with pytest.raises(UserError, match=r"The file .* does not exist"):
        ran(tmp_path / "none.las")


@pytest.mark.parametrize(
    ("solution", "code"),
    [
        (Solution("feasible", None, 0), 2),
        (Solution("unsatisfiable", None, 0), 2),
        (Solution("feasible", 3, 0), 0),
        (Solution("feasible", None, 0, ("p.",)), 0),
    ],
)
def test_the_exit_code_says_whether_there_is_a_hypothesis(
    task: Path, monkeypatch: pytest.MonkeyPatch, solution: Solution, code: int
) -> None:
    monkeypatch.setattr(learning, "solve_isolated", lambda *_, **__: learning.Learned(vars(solution), 0.1))
    assert CliRunner().invoke(learn, [str(task)], standalone_mode=False).return_value == code


def test_a_time_limit_gives_the_best_so_far(tmp_path: Path) -> None:
    answer = json.loads(ran(hard(tmp_path), "--json", "--time-limit", "2"))
    assert answer["status"] == "feasible" and answer["bound"] <= answer["score"]


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("moment", ["tier B", "tier C"])
def test_ctrl_c_prints_the_best_so_far(tmp_path: Path, moment: str) -> None:
    code = "from nsl_bench.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "learn", str(hard(tmp_path)), "--json", "--progress"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        while moment not in (line := process.stderr.readline()):
            assert line, "it ended by itself"
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    answer = json.loads(output)
    assert answer["status"] == "feasible" and answer["bound"] <= answer["score"]


def test_equivalent_hypotheses(task: Path, tmp_path: Path) -> None:
    first, second, other = (tmp_path / name for name in ("first.lp", "second.lp", "other.lp"))
    first.write_text("p :- r. q :- not r.")
    second.write_text("q :- not p. p :- r, r.")
    other.write_text("p :- r. q.")
    result = CliRunner().invoke(equivalent, [str(first), str(second), "--task", str(task)])
    assert (result.exit_code, result.stdout) == (0, "equivalent\n")
    result = CliRunner().invoke(equivalent, [str(first), str(other), "--task", str(task)])
    assert result.exit_code == 1
    assert result.stdout == "not equivalent\nr.\nfirst: p\nsecond: p, q\n"
    inputs = tmp_path / "inputs.lp"
    inputs.write_text(INPUTS)
    result = CliRunner().invoke(
        equivalent, [str(first), str(other), "--inputs", str(inputs), "--atom", "p", "--atom", "p/0"]
    )
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("p :- ", "syntax error"),
        ("#script (lua) #end.", "not supported"),
        ("p :- not p.", "cycle through negation"),
    ],
)
def test_bad_hypotheses_are_told(task: Path, tmp_path: Path, text: str, sentence: str) -> None:
    bad, good = tmp_path / "bad.lp", tmp_path / "good.lp"
    bad.write_text(text)
    good.write_text("p :- r.")
    with pytest.raises(UserError, match=sentence):
        CliRunner().invoke(equivalent, [str(bad), str(good), "--task", str(task)], catch_exceptions=False)
    folder = str(tmp_path)
    with pytest.raises(UserError, match="is a folder"):
        CliRunner().invoke(equivalent, [folder, str(good), "--task", str(task)], catch_exceptions=False)
    with pytest.raises(UserError, match="Give --benchmark, --task"):
        CliRunner().invoke(equivalent, [str(good), str(good)], catch_exceptions=False)


def test_the_dialect_is_named_and_can_be_set(tmp_path: Path) -> None:
    path = tmp_path / "task.las"
    path.write_text("#modeh(p). #modeb(q). #maxv(0). #pos(x@9, {p}, {}, {q.}). #pos(y@9, {}, {p}, {}).")
    for dialect, score, name in (("fastlas", 0, "FastLAS"), ("ilasp", 2, "ILASP")):
        said = ran(path, "--dialect", dialect)
        assert f"% score {score} (optimal)" in said and f"{name}'s dialect" in said
    assert json.loads(ran(path, "--dialect", "ilasp", "--json"))["dialect"] == "ilasp"
    assert CliRunner().invoke(learn, [str(path), "--dialect", "prolog"]).exit_code == 2


def test_verify_says_what_was_verified(task: Path, tmp_path: Path) -> None:
    assert ran(task, "--verify").splitlines()[-1] == "% verified: score and optimality"
    assert json.loads(ran(task, "--verify", "--json"))["verified"] == "optimality"
    large = tmp_path / "large.las"
    large.write_text(TASK + " ".join(f"#modeb(b{i})." for i in range(12)))
    last = ran(large, "--verify").splitlines()[-1]
    assert last == "% verified: score only: the hypothesis space has more than 2,000 rules"
    clash = tmp_path / "clash.las"
    clash.write_text("% dialect: ilasp\n#modeh(p). #pos(yes, {p}, {}, {}). #pos(no, {}, {p}, {}).")
    assert ran(clash, "--verify").splitlines() == ["unsatisfiable", "% verified: unsatisfiable"]


def test_equivalence_by_a_benchmark(tmp_path: Path) -> None:
    true, other = tmp_path / "true.lp", tmp_path / "other.lp"
    true.write_text(
        "winner(X) :- player(X), not p1(X). p1(A) :- suit(1,B), suit(A,C), B != C. "
        "p1(A) :- rank_higher(B,A), suit(1,C), suit(B,C)."
    )
    other.write_text("winner(1).")
    result = CliRunner().invoke(equivalent, [str(true), str(true), "--benchmark", "follow_suit"])
    assert (result.exit_code, result.stdout) == (0, "equivalent\n")
    result = CliRunner().invoke(equivalent, [str(true), str(other), "--benchmark", "follow_suit"])
    assert result.exit_code == 1 and "first: winner(" in result.stdout
    result = CliRunner().invoke(equivalent, [str(other), str(other), "--benchmark", "follow_suit"])
    assert (result.exit_code, result.stdout) == (0, "equivalent\n")
    for arguments, sentence in (
        (["--benchmark", "follow_suitt"], "Did you mean 'follow_suit'"),
        (["--benchmark", "follow_suit", "--task", "x.las"], "cannot be used together"),
        (["--benchmark", "follow_suit", "--atom", "winer(1)"], "Did you mean 'winner/1'"),
    ):
        with pytest.raises(UserError, match=sentence):
            CliRunner().invoke(equivalent, [str(true), str(other), *arguments], catch_exceptions=False)


def test_what_cannot_occur_is_no_equivalence(task: Path, tmp_path: Path) -> None:
    rules, inputs, none = tmp_path / "rules.lp", tmp_path / "inputs.lp", tmp_path / "none.lp"
    rules.write_text("p :- r.")
    inputs.write_text(INPUTS)
    none.write_text("% nothing is possible\n")
    files = [str(rules), str(rules)]
    for arguments, sentence in (
        (["--inputs", str(inputs), "--atom", "pp"], "No rule derives 'pp'.*Did you mean 'p'"),
        (["--inputs", str(none), "--atom", "p"], "must have facts or choices"),
        (["--task", str(task), "--atom", "pq"], "No rule derives 'pq'"),
    ):
        with pytest.raises(UserError, match=sentence):
            CliRunner().invoke(equivalent, [*files, *arguments], catch_exceptions=False)
    result = CliRunner().invoke(equivalent, [*files, "--task", str(task), "--atom", "q"])
    assert (result.exit_code, result.stdout) == (0, "equivalent\n")
