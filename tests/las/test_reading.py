"""Task files as users of FastLAS and ILASP write them: read as these systems do, or refused in words."""

import functools
import re
from pathlib import Path

import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.program import Program
from nsl_bench.logic.las.language_bias import Dialect, ModeBody
from nsl_bench.logic.las.semantics.verification.plain import read_plain
from nsl_bench.logic.las.semantics.verification.solving import Unverifiable
from nsl_bench.logic.las.solver import solve
from nsl_bench.logic.las.syntax import reader
from nsl_bench.logic.las.task import LasTask, Solution

COSTS = '#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").\n'
PQ = "#modeh(p). #modeb(q, (positive)). #modeb(r, (positive)).\n"
OPEN = "{p; q}. #modeb(p, (positive)). #modeb(q, (positive)). #neg(n, {q}, {}). #pos(a, {p}, {}).\n"
SILENT = "#modeh(p). #modeb(1, q). #pos(a, {p}, {}, {q.}). #neg(b, {p}, {}).\n"
AB = "#pos(a, {p}, {}, {q.}). #pos(b, {}, {p}).\n"


def answer(text: str, dialect: Dialect | None = None, *, constraints: bool = True) -> Solution:
    """The answer, and what the check by the definition says of it."""
    found = solve(LasTask.parse(text, dialect=dialect, constraints=constraints), verify=True)
    assert found.verified == "optimality", found
    return found


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("con1", 1),
        ("ilaspbias", None),
        ("multibias", 2),
        ("numvar_min", 3),
        ("dialect_guess", "tells FastLAS's dialect"),
    ],
)
def test_the_files_that_were_read_wrongly(name: str, want: object, shared: Path) -> None:
    path = shared / "oracles" / "reading" / f"{name}.las"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    if isinstance(want, str):
        with pytest.raises(UserError, match=want):
            solve(LasTask.read(path))
        assert answer(path.read_text(), "ilasp").score == 2
        assert answer(path.read_text(), "fastlas").status == "unsatisfiable"
    else:
        assert answer(path.read_text()).score == want


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (OPEN, (":- q.",)),
        (OPEN + "#modeh(s).", (":- q.",)),
        (PQ + AB + '#bias(":- body(q), not body(r).").', None),
        (PQ + AB + '#bias(":- body(naf(q)).").', ("p :- q.",)),
        ("#modeh(p). #modeb(q)." + AB.replace("{q.}", "{}").replace("(b, {}, {p})", "(b, {}, {p}, {q.})")
         + '#bias(":- body(naf(q)).").', None),
        ("#modeh(p). #modeb(q). #bias('\npenalty(1, head).\npenalty(2, \"x\") :- in_body(X).')." + AB,
         ("p :- q.",)),
        ("#modeh(p). #modeh(s). #modeb(q)." + AB + COSTS + '#bias("intermediate(X) :- in_head(X).").'
         '#final_bias("penalty(1, X) :- intermediate(X). penalty(5, s) :- not intermediate(s).").',
         ("s.", "p :- q.")),
        (PQ + AB + "#max_penalty(1).", None),
        (PQ + AB + "#max_penalty(2).", ("p :- q.",)),
        ("#modeh(-p). #modeb(-q, (positive)). #pos(a, {-p}, {p}, {-q.}). #pos(b, {}, {-p}).", ("-p :- -q.",)),
        ("#modeh(p). #modeb(none(var(t))). #modeb(q). t(1)." + COSTS + AB, ("p :- q.",)),
    ],
)  # fmt: skip
def test_what_users_write_is_read(text: str, rules: tuple[str, ...] | None) -> None:
    found = answer(text)
    assert (found.hypothesis if found.score is not None else None) == rules


def test_constraints_can_be_left_out() -> None:
    text = OPEN + "#modeh(s)."
    assert answer(text, constraints=False).status == "unsatisfiable"
    task = LasTask.parse(text, constraints=False)
    assert not task.bias.constraints and task.stated[2] is False
    assert "No '#modeh' declares" in solve(LasTask.parse(OPEN, constraints=False)).message


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("#modeha(p(var(t))).", "'#modeha' declares heads of choice rules"),
        ("#modeo(p).", "bodies of weak constraints"),
        ("#modec(p).", "conditions of literals"),
        ("#weight(1).", "weights of weak constraints"),
        ("#maxp(2).", "priorities of weak constraints"),
        ("#brave_ordering(o, a, b).", "orders examples by weak constraints"),
        ('#inject("a.").', "encoding of another system"),
        ("#disallow_multiple_head_variables.", "forbid such heads in #bias"),
        ("#modeh(p(var(t),var(t)), (symmetric)).", r"option '\(symmetric\)' is not supported in '#modeh'"),
        ('#bias("allow_disjunction.").', "lets ILASP learn disjunctions"),
        ('#bias("{ body(q) }. head(p).").', "builds rules"),
        ('#bias(":- constraint.").', "asks for constraint/0.*--no-constraints leaves out constraints"),
        ('#bias(":- body(X), naf(X).").', r"asks for naf/1.*'body\(naf\(A\)\)'"),
        ('#bias(":- q.").', r"asks for q/0.*A body literal is 'body\(q\)'"),
        ("#modeb(w(1..2), (positive)).", "stands for several terms; declare a mode for each"),
        ("#modeh(w(f(1;2), var(t))).", "stands for several terms"),
        ("#modeh(p, (non_recursive)).", r"option '\(non_recursive\)' is not supported in '#modeh'"),
        ("#pos(c, {}, {}, {w(1.5).}).", "whole; multiply values such as 1.5 by 10"),
        ('#bias(":- body(q(var__(1))), body(q(var__(2))).").', "not name them by var__"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_said_precisely(statement: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        LasTask.parse(PQ + AB + statement)
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("bias", "note"),
    [
        ("penalty(1, body(X)) :- body(X).", "asks for body/1, which nothing derives.*'in_body'"),
        ("penalty(1, X) :- in_bodu(X).", "asks for in_bodu/1.*Did you mean 'in_body'"),
        ("penalty(1, X) :- in_body(naf(X)).", r"in_body\(naf/1\), which no mode declares.*'neg\(A\)'"),
        ("penalty(5, x) :- in_head(q).", r"in_head\(q/0\), which no mode declares"),
        ("penality(1, X) :- in_body(X).", "derives penality/2, .* read nowhere.*Did you mean 'penalty'"),
        ("penalty(X) :- in_body(X).", r"derives penalty/1, .*Did you mean 'penalty\(W,X\)'"),
        ('"). #final_bias("penalty(1, X) :- intermediate(X).', "final_bias asks for intermediate/1"),
    ],
)
def test_what_never_holds_in_a_bias_is_said(bias: str, note: str) -> None:
    task = LasTask.parse(f'#modeh(p). #modeb(q). #bias("penalty(1, head). {bias}").' + AB)
    (said,) = task.warnings
    assert re.search(note, said)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("#modhe(p).", "'#modeh'?"),
        ("#mode(p).", "'#modem', '#modeh' or '#modeb'?"),
        ('#modeb(q, (positive)). #bias(":- boddy(q).").', "'body'?"),
    ],
)
def test_suggestions_are_words_of_the_dialect(statement: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        LasTask.parse(statement)
    assert str(caught.value).endswith(f"Did you mean {said}")


def test_a_bias_in_the_words_of_neither_tells_no_dialect() -> None:
    text = SILENT + '#bias(":- something.").'
    assert LasTask.parse(text).bias.doubt
    with pytest.raises(Unverifiable, match="FastLAS's dialect from ILASP's"):
        read_plain(text, None)


def test_places_of_thresholds_without_whole_numbers_are_said() -> None:
    found = solve(
        LasTask.parse(f'#modeh(p). #modeb(w(num_var(t))). {COSTS} #pos(a@5, {{p}}, {{}}, {{w("1.5").}}).')
    )
    assert "'w(num_var(t))' gets no threshold" in found.message


def test_a_predicate_that_nothing_derives_is_noted() -> None:
    found = solve(
        LasTask.parse("t(1). nine(1). #modeh(p). #modeb(none(var(t)))." + COSTS + "#pos(b, {}, {p}).")
    )
    assert (found.status, found.score) == ("optimal", 0)
    assert "Nothing derives none/1" in found.message


def test_the_dialect_is_not_guessed_where_it_matters() -> None:
    with pytest.raises(UserError) as caught:
        solve(LasTask.parse(SILENT))
    for what in ("charges 1", "under 'not'", "ignores recalls", "at most 3", "constraints", "--dialect"):
        assert what in str(caught.value)
    for dialect in ("ilasp", "fastlas"):
        assert LasTask.parse(f"% dialect: {dialect}\n{SILENT}").bias.dialect == dialect
        task = LasTask.parse(SILENT, dialect=dialect)  # type: ignore[arg-type]
        assert LasTask.parse(task.to_las()) == task
    assert LasTask.parse(LasTask.parse(SILENT).to_las()).bias.doubt
    told: dict[str, Dialect] = {
        COSTS: "fastlas", "#ground_without_replacement.": "fastlas", "inclusion(p) :- q.": "fastlas",
        "#modeb(r, (positive)).": "ilasp", "#constant(t, 1).": "ilasp", '#bias(":- body(q).").': "ilasp",
        "1 ~ s :- q.": "ilasp", "#max_penalty(9).": "ilasp", "#predicate(target, s/0).": "ilasp",
    }  # fmt: skip
    for statement, dialect in told.items():
        text = SILENT + statement
        assert LasTask.parse(text).bias.dialect == read_plain(text, None).dialect == dialect
    assert LasTask.parse("1 ~ p :- q. #pos(a, {p}, {}, {q.}).").bias.heads == ()
    with pytest.raises(Unverifiable, match="FastLAS's dialect from ILASP's"):
        read_plain(SILENT, None)


def test_the_check_contradicts_a_reader_that_errs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five faults of the first reader, each of which the second does not share."""
    negated = "#modeh(p). #modeb(not q). #pos(a, {p}, {}). #pos(b, {}, {p}, {q.})." + COSTS
    priced = "#modeh(p). #modeb(q)." + AB + COSTS
    faults = [
        (PQ + AB + '#bias(":- body(q).").', "in_own_words", lambda program: Program()),
        (OPEN + "#modeh(s).", "LanguageBias", lambda own, **rest: own(**{**rest, "constraints": False})),
        (negated, "parse_mode_body", lambda own, *rest: ModeBody(own(*rest).literal)),
        (priced, "quoted_program", lambda text: "penalty(0, x)."),
        (priced.replace("#pos(a,", "#pos(a@9,"), "unique_ids", lambda examples: (examples[:1] * 2, ())),
    ]
    for text, name, fault in faults:
        right = answer(text)
        with monkeypatch.context() as patch:
            own = getattr(reader, name)
            takes = fault.__code__.co_varnames[0] == "own"
            patch.setattr(reader, name, functools.partial(fault, own) if takes else fault)
            wrong = solve(LasTask.parse(text), verify=True)
        assert wrong.verified is None or (wrong.status, wrong.score) != (right.status, right.score), name
        assert "The check by the definition finds" in wrong.message, (name, wrong)
