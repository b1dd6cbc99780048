"""Small tasks, on most of which a solver once called a wrong score optimal or refused what is right."""

import pytest
from las.agreement import least_score, plainly, proven, scored

from nsl_bench.core.errors import UserError
from nsl_bench.logic.las.bias.hypothesis import hypothesis_cost
from nsl_bench.logic.las.solver import solve
from nsl_bench.logic.las.task import LasTask, Tier

COSTS = '#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").'
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
== no_penalties: 0
#pos(a, {p}, {}, {q.}). #pos(b, {}, {p}). #modeh(p). #modeb(q).
== empty_body: 1
#pos(a@5, {p}, {}). #modeh(p). #modeb(q). q :- r. {r} :- s. COSTS
== constraint_of_the_background: 6
#pos(a@9, {p}, {}, {x.}). #pos(b@5, {q}, {}, {x.}). :- p, q. #modeh(p). #modeh(q). #modeb(x). COSTS
== inclusion_of_the_background: 1
inclusion(p(X)) :- goal(X). #pos(a@9, {}, {}, {goal(1). q(1).}). t(1..2). #maxv(1). #modeh(p(var(t))).
#modeb(q(var(t))). COSTS
== price_of_a_predicate: 3
#pos(a@9, {p}, {}, {q. r.}). #pos(b@9, {}, {p}, {}). #modeh(p). #modeb(q). #modeb(r).
#bias("penalty(1, head). penalty(4, q) :- in_body(q). penalty(2, r) :- in_body(r).").
== price_of_a_longer_body: 3
#modeh(p). #modeb(q). #modeb(r). COSTS #pos(e1@9, {p}, {}, {q. r.}).
#bias("fine :- in_body(r). :- in_body(q), not fine. :- not in_body(q).").
== price_shared: 3
#modeh(p). #modeb(a(var(n))). #modeb(b(var(n))). #maxv(1). n(1..2). #bias("penalty(3, any) :- in_body(_).").
#pos(e1@9, {p}, {}, {a(1). b(1).}). #pos(e2@9, {}, {p}, {a(1). b(2).}).
== price_of_mirrored_literals: 2
t(1..2). #modeh(h(var(t),var(t))). #modeb(e(var(t),var(t))). #maxv(2). #max_body(1).
#bias("penalty(1,head). penalty(9,x) :- in_head(h(X,Y)), in_body(e(X,Y)). penalty(1,y) :- in_body(e(_,_)).").
#pos(z@50,{h(1,2)},{},{e(1,2). e(2,1).}). #pos(y@50,{},{h(1,2)},{}).
== inequalities: 3
n(1..2). #modeh(p). #modeb(a(var(n))). #modeb(var(n) != var(n)). #maxv(2). #max_body(2).
#ground_without_replacement. COSTS #pos(e1@9, {p}, {}, {a(1). a(2).}). #pos(e2@9, {}, {p}, {a(1).}).
== inequalities_unstated: 3
i(1..2). n(1..2). #modeh(p). #modeb(q(var(i), var(n))). #maxv(3). #max_body(2).
#ground_without_replacement. COSTS #pos(a@50, {p}, {}, {q(1,1). q(2,1).}). #pos(b@50, {}, {p}, {q(1,1).}).
== closed_parts_without_replacement: 3
g(1..3). l(1..3). #modeh(h(var(g))). #modeb(b(var(g),var(g))). #modeb(f(var(l))). #maxv(3). #max_body(2).
COSTS #ground_without_replacement. #pos(e1@50,{h(1)},{},{b(1,1). f(1).}).
#pos(e3@50,{},{h(1),h(2)},{b(1,2).}). #pos(e2@50,{h(1)},{h(2)},{b(1,2). b(3,3). f(2).}).
== symmetric_star: 4
l(1..3). #constant(u,1). #constant(u,2). #modeh(h(var(u))). #modeb(s(var(u))). #modeb(p(var(u),var(l))).
#modeb(not q(var(u),var(l))). #maxv(3). #max_body(3). COSTS
#pos(e1@50,{h(1)},{h(2)},{p(1,1). p(2,2). q(1,1). q(2,2). s(1).}).
#pos(e2@50,{h(2)},{h(1)},{p(1,1). p(2,2). q(1,1). q(2,2). s(2).}).
#pos(e3@50,{},{h(1),h(2)},{p(1,1). p(2,2). q(1,1). q(1,2). q(2,1). q(2,2). s(1). s(2).}).
#pos(e4@50,{},{h(1),h(2)},{p(1,1). p(2,2). q(1,1). q(2,2).}).
#pos(e5@50,{},{h(1),h(2)},{q(1,1). q(2,2). s(1). s(2).}).
== guard_or_literal: 3
n(1..3). m(2). #modeh(h(var(n))). #modeb(m(var(n))). #modeb(b(var(m))).
#bias("penalty(1, head). penalty(2, body(X)) :- in_body(X)."). #pos(e1@9, {h(2)}, {h(1)}, {b(2).}).
== guard_that_never_holds: 9
t(X) :- z(X). #modeh(p). #modeb(q(var(t))). #maxv(1). COSTS #pos(e@9,{p},{},{q(1).}). #pos(f@9,{},{p},{}).
== type_without_predicate: 2
bad :- h(X), r(X). r(1..2). #constant(u,5). #modeh(h(var(u))). #modeb(a(var(u))). #maxv(1). COSTS
#pos(e@9,{bad},{},{a(1).}).
== const_in_head_mode: 2
#const n=2. #modeh(p(n)). #modeb(q). COSTS #pos(a@9,{p(2)},{},{q.}). #pos(b@9,{},{p(n)},{}).
== names_of_contexts: 2
nsl__context(0). nsl_context(0). #modeh(p). #modeb(q). COSTS #pos(a@9,{p},{},{q :- r. r.}).
#pos(b@9,{},{p},{r.}).
== names_of_rules: 1
nsl__rule(7). nsl_rule(7). g :- nsl_rule(7), h. #modeh(h). #modeb(q). #pos(a@9,{g},{},{q.}). 1 ~ h :- q, q.
COSTS
== rule_that_denies_itself: 4
o :- p, not o. #modeh(q). #modeb(r). COSTS #pos(e@3,{q},{},{p. r.}). #pos(f@4,{q},{},{r.}).
== literals_of_the_head_s_variable: 4
n(1..4). #modeh(h(var(n))). #modeb(a(var(n))). #modeb(b(var(n))). #modeb(not c(var(n))). #maxv(1). COSTS
#pos(x@9,{h(1)},{h(2),h(3),h(4)},{a(1). b(1). a(2). b(3). a(4). b(4). c(4).}).
== literals_of_two_variables: 3
n(1..3). #modeh(h(var(n),var(n))). #modeb(e(var(n),var(n))). #modeb(a(var(n))). #modeb(not b(var(n))).
#maxv(2). #max_body(3). COSTS #pos(x@9,{h(1,2)},{h(1,3),h(2,3),h(3,1)},{e(1,2). e(1,3). e(2,3). a(1). b(3).
a(3). e(3,1). b(3).}). #pos(y@9,{h(2,3)},{h(2,1),h(1,2)},{e(2,3). e(2,1). e(1,2). a(2). b(1).}).
== price_of_pairs_with_recalls: 11
#constant(k, 1). #constant(k, 2). #modeh(p). #modeb(1, q(const(k)), (positive)). #modeb(1, r, (positive)).
#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X). penalty(2, both) :- in_body(q(_)), in_body(r).").
#pos(a@9, {p}, {}, {q(1). q(2). r.}). #pos(b@9, {}, {p}, {q(1). r.}). #pos(c@9, {}, {p}, {q(2).}).
#pos(d@9, {p}, {}, {r.}).
== arrow_in_a_string: 2
#modeh(p). #modeb(a(":-")). COSTS #pos(a@9,{p},{},{a(":-").}). #pos(b@9,{},{p},{}).
"""
FAULTS: dict[str, tuple[int, str]] = {}
for _task in _TASKS.split("\n== ")[1:]:
    _title, _, _text = _task.partition("\n")
    FAULTS[_title.split(":")[0]] = int(_title.split(":")[1]), _text.replace("COSTS", COSTS)
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
    assert hypothesis_cost(task, found.hypothesis) == cost


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


@pytest.mark.parametrize("literal", ["q", "q(var(t))"])
def test_truth_that_changes_only_from_one_word_of_contexts_to_the_next(literal: str) -> None:
    fact = "q(1)." if "(" in literal else "q."
    examples = [
        f"#pos(e{i}@9, {'{p}, {}' if i < 64 else '{}, {p}'}, {{i({i}). {fact if i < 64 else ''}}})."
        for i in range(128)
    ]
    text = f"t(1..3). #modeh(p). #modeb({literal}). #maxv(1). {COSTS}"
    assert proven("\n".join([text, *examples])) == 2


@pytest.mark.parametrize(
    "text",
    [
        "g(0) :- h. g(X+1) :- g(X), s(X). s(0..3000). #modeh(h). #modeb(q). #pos(e@9,{g(3001)},{},{q.}).",
        f"t(1). #modeh(p({','.join(['var(t)'] * 17)})). #maxv(1). #pos(e@9,{{p({'1,' * 16}1)}},{{}},{{}}).",
    ],
)
def test_long_chains_and_many_places(text: str) -> None:
    assert proven(text + COSTS) == 1


def test_a_rule_may_cost_more_than_any_weight() -> None:
    costs = '#bias("penalty(2000000000, x(N)) :- in_head(p), N = 1..1000.").'
    solution = solve(LasTask.parse("#modeh(p). #modeb(q). #pos(a,{p},{},{q.})." + costs))
    assert solution.status != "unsatisfiable"
