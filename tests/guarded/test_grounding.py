"""Hypotheses that mean harm, or that a mistake made: a sentence and an exit code, and the harness goes on.

What clingo does to the process that grounds them, it does to a child process; the process of the tests,
which stands for the harness, would not survive it.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from guarded_calls import create_with_patches

from nsl_bench.cli import rules as comparing
from nsl_bench.cli import run
from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Hypothesis, Predictions, WeightedExample
from nsl_bench.learners import task_folders
from nsl_bench.learners.base import hypothesis_of
from nsl_bench.learners.rules import Rules
from nsl_bench.logic.guarded import rules as asked
from nsl_bench.report.analysis import holds
from nsl_bench.run import true_rule
from nsl_bench.run.error_analysis import analyse_errors
from nsl_bench.run.mock_tasks import Patches
from nsl_bench.run.store import Store
from nsl_bench.testing.toy import patches, view

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the child process needs a POSIX system")

OVERFLOW = "-2147483648 / -1"
RANKS = "T = #sum { V**5*P,P,R,S : card(P,R,S), rank_value(R,V) }, T > 10"
"""Over all possible tricks it has more values than anybody can write down."""

ENDLESS = {
    "a_sum": f"winner(1) :- {RANKS}.",
    "terms": "p(a). p(f(X)) :- p(X). winner(1) :- p(X).",
    "numbers": "p(0). p(X+1) :- p(X). winner(1) :- p(7).",
    "tuples": "p((1,1)). p((X,X)) :- p(X). winner(1) :- p(_).",
    "a_range": "p(1..2000000000). winner(1) :- p(2).",
    "a_join": "m(1..5000). winner(1) :- m(A), m(B), m(C), A+B+C = -1.",
    "a_count": "winner(X) :- X = #count { Y : Y = 1..100000000 }.",
    "a_minimum": "winner(X) :- X = #min { Y : Y = 1..1000000000 }.",
    "many_cards": "winner(1) :- card(1,A,B), p(C,D). p(X,Y) :- X = 1..100000, Y = 1..100000.",
    "a_constraint": ":- m(A), m(B), m(C), A+B+C = -1. m(1..5000). winner(1).",
    "terms_of_cards": "p(P) :- card(P,_,_). p(f(X)) :- p(X). winner(1) :- p(1).",
    "strings": 'p("a"). p((X,"b")) :- p(X). winner(1) :- p("c").',
}

CRASHES = {
    "an_overflow": f"winner({OVERFLOW}).",
    "an_overflow_of_a_variable": "m(-2147483647-1). winner(X/(-1)) :- m(X).",
    "a_remainder": "m(-2147483647-1). winner(X\\(-1)) :- m(X).",
    "a_product": "winner(P) :- card(P,R,S), N = P, N*65536*65536 = 0.",
    "a_constant": f"#const k = {OVERFLOW}. winner(k).",
    "a_constraint": f"winner(1). :- X = {OVERFLOW}, X > 0.",
    "an_aggregate": f"winner(1) :- #count {{ X : X = {OVERFLOW} }} > 0.",
    "a_condition": f"winner(1) :- card(P,_,_) : P = {OVERFLOW}.",
    "an_interval": f"winner(1) :- X = 1..{OVERFLOW}.",
}

REFUSED = {
    "a_syntax_error": "winner(",
    "no_text": "\0",
    "no_ascii": "gewinner(ä).",
    "an_open_comment": "%* winner(1).",
    "an_open_string": 'winner("1).',
    "an_unsafe_variable": "winner(X) :- not card(X,_,_).",
    "a_script": "#script (python) import os; os.abort() #end.",
    "a_cycle": "winner(X) :- card(X,_,_), not winner(X).",
    "a_choice": "{ winner(1) }.",
    "a_large_choice": "{ winner(1..100000000) }.",
    "a_disjunction": "winner(1) ; winner(2).",
    "a_negated_atom": "-winner(1). winner(1).",
    "a_weak_constraint": "winner(1). :~ winner(1). [1]",
    "brackets": f"winner({'f(' * 10_000}1{')' * 10_000}).",
    "signs": f"winner({'-' * 10_000}1).",
    "literals": f"winner(1) :- {', '.join(['card(1,_,_)'] * 20_000)}.",
}

COMPARED = {"a_negated_atom"}
"""What two hypotheses may hold."""

ANSWERED = {
    "nothing": "",
    "a_comment": "% winner(1).",
    "a_quotient_by_0": "winner(X/0) :- card(X,_,_).",
    "a_remainder_by_0": "winner(1\\0).",
    "a_power": "winner(10**1000000000). winner(N) :- card(N,_,_), N**2000000000 > 3.",
    "a_power_of_0": "winner(0**(-1)).",
    "own_names": "winner(1) :- __example(0). _says(0,1). _c_winner(0,1). _differ. __pick(0,0) :- winner(1).",
    "a_long_name": f"winner({'a' * 100_000}).",
    "a_long_string": f'winner("{"a" * 100_000}").',
    "a_wrong_arity": "winner(1,2).",
    "supremum": "winner(#sup). winner(#inf).",
}

SLOW = set(ENDLESS) - {"a_sum", "a_join"}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of follow_suit: its true rule, inputs and background, and one trick as a table."""
    folder = tmp_path_factory.mktemp("given")
    task = registry.create("benchmark", "follow_suit")
    for name, text in (("true", task.true_rule), ("inputs", task.inputs), ("background", task.background)):
        (folder / f"{name}.lp").write_text(text)
    concepts = task.concept_space.concepts
    lines = [",".join(["example", "slot", *concepts])]
    for k, slot in enumerate(task.slots):
        lines.append(",".join(["1", slot, *("1" if i == 3 * k else "0" for i in range(len(concepts)))]))
    (folder / "trick.csv").write_text("\n".join(lines))
    return folder


@pytest.fixture(autouse=True)
def little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a minute here."""
    monkeypatch.setattr(asked, "GROUNDING_SECONDS", 1.0)
    monkeypatch.setattr(comparing, "_GRACE", 0.5)


Ends = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ends(tmp_path: Path, given: Path, capsys: pytest.CaptureFixture[str]) -> Ends:
    """The exit code, output and errors of a command on a hypothesis; it ends as each should."""

    def ended(command: str, text: str) -> tuple[int, str, str]:
        path = tmp_path / "hypothesis.lp"
        path.write_text(text, encoding="utf-8")
        words: dict[str, list[object]] = {
            "predict": [path, "follow_suit", "--probabilities", given / "trick.csv"],
            "equivalent": [path, given / "true.lp", "--atom", "winner/1"],
        }
        words["predict"] += ["--time-limit", 1, "--memory-limit", 1000]
        words["equivalent"] += ["--inputs", given / "inputs.lp", "--background", given / "background.lp"]
        words["equivalent"] += ["--time-limit", 5 if text in ANSWERED.values() else 1]
        started = time.monotonic()
        with pytest.raises(SystemExit) as left:
            run([command, *map(str, words[command])])
        assert time.monotonic() - started < 20
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err + shown.out
        sentences = [line for line in shown.err.splitlines() if not line.startswith("Note: ")]
        assert left.value.code in (0, 1, 2), shown.err
        if left.value.code == 2:
            assert len(sentences) == 1 and not shown.out
            assert sentences[0].startswith("nsl-bench: ") and sentences[0].endswith(".")
            assert len(sentences[0]) < 1000
        else:
            assert not sentences
        return left.value.code, shown.out, shown.err

    return ended


@pytest.mark.parametrize("command", ["predict", "equivalent"])
class TestCommands:
    """What a user sees."""

    @pytest.mark.parametrize(
        "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in sorted(ENDLESS)]
    )
    def test_endless_grounding(self, name: str, command: str, ends: Ends) -> None:
        code, _, errors = ends(command, ENDLESS[name])
        ended = ("takes longer than the 1 s allowed", "of memory allowed", "comparison is undecided")
        assert code == 2 and any(words in errors for words in ended)

    @pytest.mark.parametrize("name", sorted(CRASHES))
    def test_crashes(self, name: str, command: str, ends: Ends) -> None:
        code, _, errors = ends(command, CRASHES[name])
        refused = command == "equivalent" and "#const" in CRASHES[name]
        assert code == 2 and ("is not a rule" if refused else "crashed clingo (SIGFPE)") in errors

    @pytest.mark.parametrize("name", sorted(REFUSED))
    def test_what_is_refused(self, name: str, command: str, ends: Ends) -> None:
        compared = command == "equivalent" and name in COMPARED
        assert ends(command, REFUSED[name])[0] == (1 if compared else 2)

    @pytest.mark.parametrize("name", sorted(ANSWERED))
    def test_what_is_answered(self, name: str, command: str, ends: Ends) -> None:
        ends(command, ANSWERED[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a_sum", "an_overflow", "a_product", "brackets"])
def test_explain(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hypothesis.lp"
    path.write_text({**ENDLESS, **CRASHES, **REFUSED}[name])
    with pytest.raises(SystemExit) as left:
        run(["explain", "test-0", "--benchmark", "follow_suit", "--hypothesis", str(path)])
    assert left.value.code == 2 and len(capsys.readouterr().err.splitlines()) == 1


SUM = "differ :- T = #sum { 2**N*K,P,N : patch(P,X), K = 1..9, N = 1..30 }, T > 10."
"""Ends over one example, not over all that patches may show."""


class TestRuns:
    """A run goes on without what cannot be known of its rules."""

    @pytest.fixture(autouse=True)
    def _patches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(registry, "create", create_with_patches)
        monkeypatch.setattr(true_rule, "GROUNDING_SECONDS", 1.0)
        monkeypatch.setattr(true_rule, "_EQUIVALENCE_SECONDS", 1.0)

    @pytest.mark.parametrize(
        ("rule", "sentence"), [(SUM, "takes longer than"), (f"differ :- X = {OVERFLOW}.", "crashed clingo")]
    )
    def test_crisp_answers_stay(self, rule: str, sentence: str) -> None:
        split = patches("test")
        own = np.eye(2)[np.zeros(len(split), int)]
        answers = {name: (np.zeros(len(split), np.int16), own) for name in ("framework", "hypothesis")}
        seen = Predictions.certain(split.concepts, 3)
        for _ in range(2):  # what ended once is not tried again
            started = time.monotonic()
            told = analyse_errors(Patches(), split, seen, Hypothesis((rule,), 1), answers)
            assert told.inference["engine"] == "crisp" and sentence in told.inference["reason"]
            assert told.probabilities is own
        assert time.monotonic() - started < 1

    def test_equivalence_is_left_open(self) -> None:
        for rule, sentence in (
            (f"differ :- X = {OVERFLOW}.", "crashed clingo"),
            ("m(1..5000). differ :- m(A), m(B), m(C), A+B+C = -1.", "takes longer than the 3 s allowed"),
        ):
            for benchmark in (Patches(), Patches()):
                started = time.monotonic()
                with pytest.raises(UserError, match=sentence):
                    true_rule.is_true_rule((rule,), benchmark)
            assert time.monotonic() - started < 0.5

    def test_atoms_are_counted_there(self) -> None:
        class Learner:
            rules = ("differ :- patch(left,X), shelf(N), N != 7 - 5.",)

        class Dear(Patches):
            bias = Patches.bias + ' #bias("penalty(1, b) :- in_body(patch(_,_)), X = (-2147483647-1) / -1.").'

        assert hypothesis_of(Learner(), Patches()) is not None
        with pytest.raises(
            UserError, match=r"^Counting the atoms of the rules of the learner Learner crashed"
        ):
            hypothesis_of(Learner(), Dear())

    def test_rules_are_read_there(self) -> None:
        assert holds(["a :- b(1), not c.", "d."], "c") and holds(["a :- b.", "d."], "d")
        assert not holds(["a :- "], "a")

    def test_examples_are_judged_there(self) -> None:
        example = WeightedExample("a", 1, ("differ",), (), (f"patch(left,{OVERFLOW})",))
        with pytest.raises(UserError, match="the examples that the learner generated crashed clingo"):
            true_rule.example_quality([example], Patches())

    def test_constants_count(self, tmp_path: Path) -> None:
        path = tmp_path / "hypothesis.lp"
        path.write_text("#const k = 2. differ :- shelf(k).")
        assert task_folders.read_rules(path) == ["#const k = 2.", "differ :- shelf(k)."]
        learner = Rules(path).fit(view(patches()))
        test = patches("test")
        assert (learner.predict(view(test)) == (test.metadata["shelf"] == 2)).all()


@pytest.mark.slow
def test_a_sweep_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rules that end on each trick, but not over all that tricks may show, cost a run only numbers."""
    monkeypatch.setattr(true_rule, "GROUNDING_SECONDS", 1.0)
    monkeypatch.setattr(true_rule, "_EQUIVALENCE_SECONDS", 0.5)
    path = tmp_path / "hypothesis.lp"
    path.write_text(ENDLESS["a_sum"])
    words = ["run", "follow_suit", "--learner", f"rules:{path}", "--percents", "0", "--repeats", "1"]
    with pytest.raises(SystemExit) as left:
        run([*words, "--jobs", "1", "--allow", f"read={path}", "--out", str(tmp_path / "results")])
    assert left.value.code == 0, capsys.readouterr().err
    (record,) = Store(tmp_path / "results").latest().values()
    assert record.status == "ok" and "equivalent" not in record.metrics
    assert record.inference["engine"] == "crisp" and "takes longer than" in record.inference["reason"]
