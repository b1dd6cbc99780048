"""Tasks on which a solver once called a wrong score optimal, refused what is right, or never ended."""

from __future__ import annotations

import pytest
from las.agreement import least_score, plainly, scored

from nsl_bench.core.errors import UserError
from nsl_bench.logic.las.solver import solve
from nsl_bench.logic.las.task import LasTask, Tier

_TASKS = r"""
== issue_cost_by_constant: 0
#modeh(accept). #modeh(reject). #bias("penalty(5,head) :- in_head(accept).").
#bias("penalty(1,body(X)) :- in_body(X)."). #pos(e1@9, {reject}, {}, {}).
== issue_bias_condition: 2
#modeh(p). #modeb(q). #modeb(r). #bias(":- in_body(r) : in_body(q)."). #bias("penalty(1, head).").
#bias("penalty(1, body(X)) :- in_body(X)."). #pos(e1@9, {p}, {}, {q. r.}).
== issue_name_bad: 1
_bad(0). { w }. #modeh(p). #modeb(r). #bias("penalty(1, head)."). #pos(e1@9, {p}, {}, {}).
== bias_equal_variables: 8
n(1..2). #modeh(p). #modeb(e(var(n),var(n))). #maxv(2). #max_body(1). #bias("penalty(1, head).").
#bias("penalty(1, b(X,Y)) :- in_body(e(X,Y))."). #bias("penalty(9, d(X)) :- in_body(e(X,X)).").
#pos(x@8, {p}, {}, {e(1,1).}). #pos(y@8, {}, {p}, {e(1,2).}).
== bias_reason_underscore_variable: 4
n(1..2). #modeh(p). #modeb(a(var(n))). #modeb(f(var(n))). #maxv(1). #bias("penalty(2, _X) :- in_body(_X).").
#bias("penalty(2, f(X)) :- in_body(a(X))."). #pos(x@5, {p}, {}, {a(1). f(1).}). #pos(y@9, {}, {p}, {a(1).}).
#pos(z@9, {}, {p}, {f(1).}).
== inclusion_ilasp: 1
{ w }. inclusion(zz). #modeh(p). #modeb(1, r, (positive)). #pos(x@5, {p}, {}, {r.}).
== inclusion_const_named: 1
#const k = 2. n(1..2). #modeh(h(var(n))). #modeb(a(var(n))). #bias("penalty(1, head).").
#pos(x@5, {h(k)}, {h(1)}, {a(k).}).
== const_in_mode: 1
#const k = 3. n(1..3). #modeh(p). #modeb(a(k)). #bias("penalty(1, head)."). #pos(x@9, {p}, {}, {a(3).}).
#pos(y@9, {}, {p}, {a(2).}).
== const_of_constant: 1
#const k = 3. n(1..3). #constant(m, k). #modeh(h(const(m))). #bias("penalty(1, head).").
#pos(x@9, {h(3)}, {}, {}).
== name_with_prime: 1
n(1..2). { w }. #modeh(h). #modeb(p'(var(n))). #bias("penalty(1, head)."). #pos(x@5, {h}, {}, {p'(1).}).
#pos(y@5, {}, {h}, {}).
== literal_of_nine_variables: 1
n(1..2). #modeh(p). #modeb(t(var(n),var(n),var(n),var(n),var(n),var(n),var(n),var(n),var(n))). #maxv(1).
#bias("penalty(1, head)."). #pos(x@5, {p}, {}, {t(1,1,1,1,1,1,1,1,1).}).
#pos(y@5, {}, {p}, {t(1,1,1,1,1,1,1,1,2).}).
== name_nsl_context: 1
#modeh(p). #modeb(r). #bias("penalty(1, head)."). #pos(x@5, {p}, {}, {r :- not s.}).
#pos(y@5, {}, {p}, {nsl__context(0). nsl__context(1).}).
== name_nsl_rule: 5
nsl__rule(0). #modeh(q). 1 ~ p :- r. #pos(x@5, {p}, {}, {r.}). #pos(y@9, {}, {p}, {r. s.}).
== name_c_p: 1
_c_p(0). { w }. #modeh(p). #bias("penalty(1, head)."). #pos(x@5, {p}, {}, {}).
== name_ok: 5
_ok(0). { w }. #modeh(p). #bias("penalty(1, head)."). #pos(x@5, {p}, {p}, {}).
== name_pay: 4
_pay(0). { w }. #modeh(p). #bias("penalty(4, head)."). #neg(x@9, {w}, {p}, {}).
== name_holds: 4
inclusion(p). _holds(0,p). { w }. #modeh(p). #bias("penalty(4, head)."). #pos(x@9, {}, {}, {}).
== variable_E__: 1
n(1..2). { w }. d(E,E__) :- a(E), n(E__), w. #modeh(h(var(n))). #modeb(d(var(n),var(n))). #maxv(2).
#max_body(1). #bias("penalty(1, head)."). #pos(x@9, {h(1)}, {h(2)}, {a(1).}).
== name_in_bias_bad: 2
#modeh(p). #modeh(q). #bias("_bad(0). penalty(1, a) :- in_body(X), X != r. penalty(1, head).").
#pos(x@9, {p}, {}, {}). #pos(x@9, {q}, {}, {}).
== name_in_bias_c_penalty: 2
#modeh(p). #modeh(q). #bias("_c_penalty(1,5,x). penalty(1, a) :- in_body(X), X != r. penalty(1, head).").
#pos(x@9, {p}, {}, {}). #pos(x@9, {q}, {}, {}).
== name_type_c: 10
_c_n(0,7). n(1). { n(2) }. #modeh(h(const(n))). #bias("penalty(1, head)."). #pos(x@9, {h(7)}, {}, {}).
#pos(x@9, {h(1)}, {}, {}).
== symmetric_literal_priced: 1
n(1..2). #modeh(k(var(n),var(n))). #modeb(e(var(n),var(n))). #maxv(2). #max_body(2).
#bias("penalty(3-N, n) :- N = #count { Y : in_body(Y) }, N < 3.").
#pos(x@9, {k(1,2),k(2,1)}, {}, {e(1,2). e(2,1).}). #pos(y@9, {}, {k(1,2),k(2,1)}, {}).
== mode_with_arithmetic: 1
n(1..2). #modeh(p). #modeb(a(1+1)). #bias("penalty(1, head)."). #pos(x@9, {p}, {}, {a(2).}).
#pos(y@9, {}, {p}, {a(1).}).
== mode_head_with_arithmetic: 1
n(1..2). #modeh(h(1+1)). #modeb(a(2)). #bias("penalty(1, head)."). #pos(x@9, {h(2)}, {}, {a(2).}).
#pos(y@9, {}, {h(2)}, {a(1).}).
== constant_nested_deep: 1
{ w }. n(f(f(f(f(1))))). n(1). #modeh(h(const(n))). #modeb(a(const(n))). #max_body(1).
#bias("penalty(1, head)."). #pos(x@9, {h(f(f(f(f(1)))))}, {h(1)}, {a(f(f(f(f(1))))).}).
#pos(x@9, {}, {h(f(f(f(f(1)))))}, {}).
== constant_string_escape: 1
{ w }. n("a\\b"). n(1). n("\""). #modeh(h(const(n))). #modeb(a(const(n))). #max_body(1).
#bias("penalty(1, head)."). #pos(x@9, {h("\"")}, {h(1)}, {a("a\\b").}). #pos(x@9, {}, {h("\"")}, {}).
== given_rules_with_strings: 5
n(1..2). #modeh(q). 2 ~ p :- a("A"). 5 ~ p :- a("B"). #bias("penalty(1, head).").
#pos(x@9, {p}, {}, {a("B").}). #pos(x@9, {}, {p}, {a("A").}).
== undefined_fact: 1
n(1..2). #modeh(p). #modeb(a(var(n))). #max_body(1). #bias("penalty(1, head).").
#pos(x@9, {p}, {}, {a(1). b(x+1).}). #pos(y@9, {}, {p}, {a(x+1).}).
== undefined_fact_division: 1
n(1..2). #modeh(p). #modeb(a(var(n))). #max_body(1). #bias("penalty(1, head).").
#pos(x@9, {p}, {}, {a(1). b(1/0).}).
== given_rule_with_aggregate: 2
n(1..2). 2 ~ p :- 2 <= #count { X : h(X) }. 1 ~ q :- h(X) : a(X); r. #modeh(h(var(n))). #maxv(1).
#bias("penalty(0, head)."). #pos(x@9, {p}, {}, {r.}). #pos(y@9, {h(1)}, {q}, {a(1).}).
== given_rule_with_choice: 2
2 ~ { p } :- not not r. #modeh(q). #pos(x@9, {p}, {q}, {r.}). #pos(y@9, {}, {p}, {r.}).
#pos(z@9, {}, {p}, {}).
== negated_comparison: 1
n(1..2). m(1..2). #modeh(i(var(m),var(n))). #modeb(not const(n) != var(n)). #bias("penalty(1, head).").
#pos(x@9, {i(1,2)}, {i(2,1)}, {}).
== negated_comparison_priced: 3
n(1..2). #modeh(i(var(n))). #modeb(not const(n) != var(n)). #max_body(1).
#bias("penalty(1, head). penalty(2, X) :- in_body(neg(X)).").
#bias("penalty(5, binop(O,L,R)) :- in_body(binop(O,L,R))."). #pos(x@9, {i(2)}, {i(1)}, {}).
== arities_of_one_name: 0
n(1..2). h :- r. #modeh(h(var(n))). #pos(x@1, {}, {}, {}). #pos(y, {}, {h(1)}, {r.}).
== anti_reflexive_constants: 10
n(1..2). #modeh(p). #modeb(2, e(const(n),const(n)), (positive, anti_reflexive)). #maxv(1).
#pos(x@9, {p}, {}, {e(1,1).}). #pos(y@9, {}, {p}, {e(1,2).}). #pos(z@5, {p}, {}, {e(2,2).}).
"""
FAULTS: dict[str, tuple[int, str]] = {}
for _task in _TASKS.split("\n== ")[1:]:
    _title, _, _text = _task.partition("\n")
    FAULTS[_title.split(":")[0]] = int(_title.split(":")[1]), _text
"""The optimum of each task, and its text."""


@pytest.mark.parametrize("tier", ["A", "C", "D"])
@pytest.mark.parametrize("name", FAULTS)
def test_the_optimum_is_found(name: str, tier: Tier) -> None:
    want, text = FAULTS[name]
    task = LasTask.parse(text, dialect="ilasp" if "positive" in text or "#modem" in text else "fastlas")
    found = solve(task, first_tier=tier, time_limit=20)
    assert (found.status, found.score, found.bound) == ("optimal", want, want)
    cost, penalties, whole = scored(plainly(task), found.hypothesis)
    assert (cost, whole, cost + penalties) == (found.cost, True, want)


@pytest.mark.parametrize("tier", ["A", "C", "D"])
@pytest.mark.parametrize("mode", ["#modeh(k(var(n),const(n))).", "#modeh(p). #modeb(var(n) < const(n))."])
def test_a_type_without_constants_is_refused_by_every_tier(mode: str, tier: Tier) -> None:
    task = LasTask.parse(f"n(2..1). {mode} #pos(x@1, {{}}, {{}}).", dialect="fastlas")
    with pytest.raises(UserError, match=r"The type 'n' of const\(n\) has no constant"):
        solve(task, first_tier=tier)


@pytest.mark.parametrize("name", FAULTS)
def test_the_check_knows_the_optimum(name: str) -> None:
    want, text = FAULTS[name]
    assert least_score(text, "ilasp" if "positive" in text or "#modem" in text else "fastlas") == want
