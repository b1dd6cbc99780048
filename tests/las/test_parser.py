"""Reading and writing learning tasks."""

from pathlib import Path

import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import WeightedExample
from nsl_bench.logic.las import LasTask
from nsl_bench.logic.las.language_bias import Compound, ModeAtom, ModeComparison, Placeholder

ILASP = (Path(__file__).parents[1] / "samples" / "dialects.las").read_text(encoding="utf-8")


def test_reads_all_parts() -> None:
    task = LasTask.parse(ILASP)
    a, b, c = task.examples
    assert a == WeightedExample(
        "a", 3, ("won(1)",), ("won(2)", "won(3)"), ("card(1,k,h)", 'card(2,"10, 1",s)')
    )
    assert (b.id, b.penalty, b.context) == ("b", None, ())
    assert not c.positive
    assert c.context == ("q(1..3)", "r(X) :- q(X), not s(X)")
    bias = task.bias
    assert bias.dialect == "ilasp"
    assert bias.body_limit == 3
    assert bias.max_variables == 2
    assert bias.heads[0].atom == ModeAtom("p1", (Placeholder("var", "player"),))
    assert bias.bodies[0].literal == ModeComparison(
        "!=", Placeholder("var", "suit"), Placeholder("var", "suit")
    )
    held = bias.bodies[2].literal
    assert isinstance(held, ModeAtom)
    assert held.arguments == (Compound("f", (Placeholder("var", "player"), "3")),)
    assert bias.bodies[2].negated
    assert bias.constants == (("rank", "k"), ("rank", '"10, 1"'))
    assert bias.rules[0].cost == 4
    assert {(rule.cost, rule.rule) for rule in bias.instances} == {
        (2, "won(X) :- p1(X)."),
        (3, "won(X) :- player(X), not p1(X)."),
    }


def test_round_trip() -> None:
    task = LasTask.parse(ILASP)
    assert LasTask.parse(task.to_las()) == task


def test_oracles_round_trip(shared: Path) -> None:
    for path in sorted((shared / "oracles" / "las").glob("*.las")):
        task = LasTask.read(path)
        assert LasTask.parse(task.to_las(), path.name) == task


def test_dialects() -> None:
    fastlas = LasTask.parse("#pos(e, {p}, {}). #modeh(p). #modeb(1, q(var(t))).", dialect="fastlas").bias
    assert fastlas.dialect == "fastlas"
    assert fastlas.body_limit is None
    assert [mode.negated for mode in fastlas.literals] == [False]
    assert fastlas.literals[0].recall is None
    ilasp = LasTask.parse("#pos(e, {p}, {}). #modeh(p). #modeb(1, q(var(t))). #modeb(r, (positive)).").bias
    assert [mode.negated for mode in ilasp.literals] == [False, True, False]
    assert ilasp.literals[0].recall == 1
    signs = LasTask.parse("#pos(e, {p}, {}). #modeh(p). #modeb(q, (negative)). #modeb(r, (positive)).").bias
    assert [mode.negated for mode in signs.literals] == [True, False]


def test_hard_examples_and_prefix_comparison() -> None:
    task = LasTask.parse("#pos(e@0, {p}, {}). #modeh(p). #modeb(!=(var(t), var(t))).", dialect="fastlas")
    assert task.examples[0].penalty is None
    assert isinstance(task.bias.bodies[0].literal, ModeComparison)


def test_repeated_ids() -> None:
    task = LasTask.parse(
        "#pos(e@1, {p}, {}). #pos(e@2, {p}, {}). #pos(e_2@2, {p}, {}). #modeh(p).", dialect="fastlas"
    )
    assert len({example.id for example in task.examples}) == 3
    assert task.examples[2].id == "e_2"
    assert "1 examples repeat" in task.warnings[0]


def test_build_takes_examples_as_values() -> None:
    example = WeightedExample("one", 5, ("p",), (), ("q(1)", 'r("a. b")'))
    task = LasTask.build([example], "s(1..3).", "#modeh(p). #modeb(q(var(s))).")
    assert task.examples == (example,)
    assert task.background == "s(1..3)."
    assert LasTask.parse(task.to_las(), task.name) == task


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a :- b", "line 1, column 1: the statement that starts here has no full stop"),
        ("a.\nb(X :- c.", "line 2, column 2: '(' is never closed"),
        ("a.\n b c.", "line 2, column 4: syntax error"),
        ("a.\n b :- c ≠ d.", "line 2, column 9: the character '≠' (U+2260) is not allowed"),
        ("#pos(e, {a}, {}, {b(ö)}).", "line 1, column 21"),
        ("a.\0 #modeh(b).", "line 1, column 3: the character '\\x00' (U+0000)"),
        (f"a({'f(' * 9000}1{')' * 9000}).", "is too long"),
        ("#pos(e, {a}, {}, {b. c d.}).", "line 1, column 24: syntax error"),
        ("#pos(e, {a}, {}, {b. c}).", "'c' has no full stop"),
        ("#pos(e@x, {a}, {}).", "penalty must be an integer; got 'x'"),
        ("#pos({a}).", "an example must have the form"),
        ("#pos(e, {a(}, {}).", "line 1"),
        ("#pos(e, {a},\n {b(X)}, {}).", "line 2, column 3: Inclusions and exclusions must be"),
        ("#modeb(1, suit(X)).", "'X' is a variable"),
        ("#modeh(not p).", "cannot be the head"),
        ("#modeb(p, (pozitive)).", "option 'pozitive' is not known"),
        ("#mdeh(p).", "Did you mean '#modeh'?"),
        ("#constant(a).", "must have the form '#constant(type, value).'"),
        ("a.\n#constant(a, 3)b\n#bias(c).", "line 2, column 5: syntax error"),
        ("#constant(b, 1) :- p(2).", "line 1, column 1: '1) :- p(2' is not one value in '#constant'."),
        ("#maxv(x).", "must have the form"),
        ("a(1..2).\n b(X,Y) :- a(X), not a(Y).", "line 2, column 2: 'b(X,Y) :- a(X); not a(Y).' cannot be"),
        ("a(1).\nval = Y.", "line 2, column 1: '#false :- not val = Y.' cannot be grounded: no positive"),
        ("a(1..2).\n{ b(X) }.", "binds X (unsafe)"),
        ("#pos(e, {a}, {}, {b. c(X) :- not d(X,Y).}).", "column 22: 'c(X) :- not d(X,Y).' cannot be"),
        ("#const k = 1.\n#const k = 2.", "cannot be grounded: redefinition of constant"),
        ("#const k = m.\n#const m = k.", "cannot be grounded: cyclic constant definition"),
        ('#bias("penalty(1 :-").', "syntax error"),
        ("P(X) :- Q(X).", "a meta-rule must have an atom"),
        ("#script (python)\nprint(1)\n#end.", "#script is not supported"),
        ('\n #include "x".', "line 2, column 2: #include is not supported"),
        ('p("a\n").', "line 1, column 3: this string is not closed"),
    ],
)
def test_errors_say_where(text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        LasTask.parse(text)
    assert message in str(error.value)
    assert str(error.value).startswith("task.las")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        LasTask.read(tmp_path / "none.las")
    (tmp_path / "binary.las").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="UTF-8"):
        LasTask.read(tmp_path / "binary.las")
