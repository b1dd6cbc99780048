"""What random learning tasks are made of: predicates, terms, background knowledge, biases, given rules.

Texts name predicates by role (`{a}`), which stands for the role's own name or for another one.
"""

# Programs stand on one line each, however long.
# ruff: noqa: E501
_TYPES = {
    **dict.fromkeys(("a", "b", "h", "d", "big", "g", "g2", "w1", "n", "over"), "n"),
    **dict.fromkeys(("l", "m"), "m"),
    **dict.fromkeys(("e", "k", "next", "path", "gt", "lt", "above", "le"), "nn"),
    **{"c": "nm", "d2": "nm", "o": "mn", "i": "mn", "t": "nnn", "mid": "nnn"},
    **dict.fromkeys(("r", "s", "p", "q", "many", "lots", "w", "u", "v", "z", "known"), ""),
}
ROLES: dict[str, tuple[str, tuple[str, ...]]] = {
    role: (f"{{{role}}}" + f"({','.join(['{{}}'] * len(types))})" * bool(types), tuple(types))
    for role, types in _TYPES.items()
} | {
    "x": ("{x}(f({{}}))", ("n",)),
    "y": ("{y}(g({{}},1),{{}})", ("n", "m")),
    "lab": ('{lab}({{}},"a. b")', ("n",)),
    "nz": ("-{z}", ()),
    "nh": ("-{h}({{}})", ("n",)),
    "a2": ("{a}({{}},{{}})", ("n", "n")),
    "h0": ("{h}", ()),
}
"""Each role's atom, with the types of its arguments."""

STATED = ("a", "b", "l", "e", "c", "d2", "o", "t", "x", "y", "r", "s")
"""The roles that contexts may state."""

BACKGROUND: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "derived": ("{d}({X}) :- {a}({X}), not {b}({X}).", ("d",), ("d",)),
    "arithmetic": (
        "{big}({X}) :- {n}({X}), {X} * 2 > 3. {next}({X},{Y}) :- {n}({X}), {n}({Y}), {Y} = {X} + 1.",
        ("big", "next"),
        (),
    ),
    "greater": ("{gt}({X},{Y}) :- {n}({X}), {n}({Y}), {X} > {Y}.", ("gt", "gt"), ()),
    "less": ("{lt}({X},{Y}) :- {n}({X}), {n}({Y}), {X} < {Y}.", ("lt", "lt"), ()),
    "le": ("{le}({X},{Y}) :- {n}({X}), {n}({Y}), {X} <= {Y}.", ("le", "le"), ()),
    "mid": (
        "{mid}({X},{Y},{Z}) :- {n}({X}), {n}({Y}), {n}({Z}), {Y} <= {X}, {X} <= {Z}.",
        ("mid", "mid"),
        (),
    ),
    "above": (
        "{above}({X},{Y}) :- {e}({X},{Z}), {n}({Y}), {Z} > {Y}. {over}({Y}) :- {a}({X}), {n}({Y}), {X} > {Y}.",
        ("above", "over"),
        (),
    ),
    "path": (
        "{path}({X},{Y}) :- {e}({X},{Y}). {path}({X},{Z}) :- {path}({X},{Y}), {e}({Y},{Z}).",
        ("path",),
        ("path",),
    ),
    "count": ("{lots} :- 2 <= #count {{ {X} : {a}({X}) }}.", ("lots",), ()),
    "sum": ("{lots} :- #sum {{ {X},1 : {a}({X}); {Y},2 : {b}({Y}) }} > 2.", ("lots",), ()),
    "every": ("{lots} :- {a}({X}) : {n}({X}).", ("lots",), ()),
    "const": ("#const lim = 2. {big}({X}) :- {n}({X}), {X} < lim.", ("big",), ()),
    "strings": ('{lab}({X},"a. b") :- {a}({X}).', ("lab",), ()),
    "arities": ("{a}({X},{X}) :- {a}({X}), {b}({X}). {h} :- {r}.", ("a2", "h0"), ("h0",)),
    "feeding": ("{g}({X}) :- {h}({X}), not {b}({X}).", ("g",), ("g",)),
    "feeding_negated": ("{g}({X}) :- {n}({X}), not {h}({X}).", ("g",), ("g",)),
    "feeding_chain": ("{g}({X}) :- {h}({X}). {g2}({X}) :- {g}({X}), not {p}.", ("g2",), ("g2",)),
    "feeding_join": ("{z} :- {h}({X}), {e}({X},{Y}), not {h}({Y}).", (), ("z",)),
    "derives_head": ("{h}({X}) :- {a}({X}), {b}({X}).", (), ("h",)),
    "constraint": (":- {h}({v1}), {h}({v2}).", (), ()),
    "constraint_props": (":- {p}, {q}, {r}.", (), ()),
    "context_constraint": (":- {p}, not {a}({v1}).", (), ()),
    "aggregate": ("{many} :- 2 <= #count {{ {X} : {h}({X}) }}.", (), ("many",)),
    "classical": ("-{z} :- {p}. {z} :- {q}.", (), ("z", "nz")),
    "classical_head": ("-{h}({X}) :- {b}({X}).", (), ("nh", "h")),
    "inclusion": ("inclusion({p}) :- {r}. exclusion({h}({v1})) :- {a}({v1}).", (), ()),
    "choice": ("{{ {w} }}.", ("w",), ("w",)),
    "bounded_choice": ("1 {{ {w1}({X}) : {n}({X}) }} 1.", ("w1",), ("w1",)),
    "choice_on_context": ("{{ {w1}({X}) : {a}({X}) }} 1 :- not {r}.", ("w1",), ("w1",)),
    "choice_on_learned": ("{{ {w} }} :- {p}.", ("w",), ("w",)),
    "even_loop": ("{u} :- not {v}. {v} :- not {u}.", ("u", "v"), ("u",)),
    "odd_loop": ("{z} :- {p}, not {z}.", (), ()),
    "loop_on_learned": ("{u} :- not {v}, {p}. {v} :- not {u}.", ("u", "v"), ("u",)),
    "disjunction": ("{u} ; {v} :- {r}.", ("u", "v"), ("v",)),
    "choice_aggregate": (
        "{{ {w1}({X}) : {n}({X}) }}. {z} :- #sum {{ 1,{X} : {w1}({X}) }} = 1.",
        ("w1",),
        ("z",),
    ),
}
"""Pieces of background knowledge: text, the roles that bodies may use, the roles that examples may ask for."""

COMPARED = ("gt", "lt", "le", "mid", "above", "over")
"""The roles whose last arguments are mostly constants."""

OPEN = {
    *("choice", "bounded_choice", "choice_on_context", "choice_on_learned", "even_loop", "odd_loop"),
    *("loop_on_learned", "disjunction", "choice_aggregate"),
}
"""Pieces that give several answer sets, or none."""

FEEDING = ("feeding", "feeding_negated", "feeding_chain", "feeding_join")

OPTIONS = ["positive", "positive", "negative", "anti_reflexive", "symmetric", "positive, anti_reflexive"]
"""Options of ILASP's mode declarations."""

HOSTILE_NAMES = [
    *("_bad", "_ex", "_act", "_ok", "_in", "_relax", "_pay", "_c_p", "_n_p", "_c_h", "_c_penalty"),
    *("_holds", "_says", "_differ", "_value", "_key", "nsl__rule", "nsl__context", "nsl__var_n"),
    *("nsl__const_n", "in_head", "in_body", "penalty", "invert", "neg", "binop", "head", "body", "cov"),
    *("in", "e1", "_e", "v_a_r_v1", "rc", "uc", "v1", "f", "u0_p", "_c__c_p", "p'", "cell", "_x1"),
    *("nsl__x", "bad", "act", "ok", "ex", "active", "holds", "covered", "example", "copy", "rule", "_rule"),
    *("_copy"),
]
"""Predicates as the learner's own encodings may call theirs."""

PLAIN_VARIABLES = ("X", "Y", "Z")
HOSTILE_VARIABLES = [
    *(("E", "X0", "A"), ("E__", "E", "X1"), ("V1", "V2", "V3"), ("_E", "_X", "_A"), ("X0", "X1", "X2")),
    *(("K", "C", "N"), ("V2", "V1", "V0"), ("X'", "Y'", "E'")),
]
"""Variables as the learner's own encodings may call theirs."""

VALUES = [
    ["x", "y", "z", "xx", "zz"],
    ["-1", "0", "1", "-10", "2"],
    ["-2", "x", '"x"'],
    ['"a b"', '"p(1)"', '"x. y"', '"V1"', '"{}"'],
    ['"a,b"', '"a"', '"b:-c"', '"%"', '"a\\\\b"'],
    ["f(1)", "f(x)", "f(f(1))"],
    ["(1,2)", "(2,1)", "(1,)"],
    ["_e", "e", "v1"],
    ["v_a_r_v1", "v_a_r_v2", "v1"],
    ["neg", "binop", "head", "body"],
    ["neg(1)", "neg(x)", "x"],
    ["a", "p", "h"],
    ["g(a,1)", "g(1,a)", "a"],
    ["10", "9", "2", "-2", "100"],
    ["#inf", "1", "#sup", "2", "x"],
    ["p(1)", "h(1)", "1"],
    ['""', '"1"', "1", '"2"', '"3"'],
    ['"a\\"b"', '"\\""', "1", "2"],
    ["f(f(f(f(1))))", "f(f(f(f(f(x)))))", "f(1)", "1", "2"],
    ['"V1"', '"X"', '"A"', "a", "b"],
]
"""Terms of one type."""

META = [
    "#modeh({g}(var({n}))).",
    "#predicate(target, {h}/1).",
    "#predicate(invented, {g}/1).",
    "P(X) :- Q(X), identity(P, Q).",
    "P(X) :- {n}(X), not Q(X), inverse(P, Q).",
    "#modem(2, identity(target/1, invented/1)).",
    "#modem(1, inverse(target/1, invented/1)).",
]

_EACH = '#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").'
BIASES = [
    _EACH,
    _EACH,
    '#bias("penalty(1, head(X)) :- in_head(X).").\n#bias("penalty(1, body(X)) :- in_body(X).").',
    '#bias("penalty(2, head). penalty(1, body(X)) :- in_body(X). penalty(2, neg(X)) :- in_body(neg(X)).").',
    '#bias("penalty(1, head). penalty(3, r) :- in_body({r}). penalty(1, a(X)) :- in_body({a}(X)).").',
    '#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X). :- in_body({r}), in_body({s}).").',
    '#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X). :- in_head({h}(_)), not in_body({a}(_)).").',
    '#bias("penalty(5,head) :- in_head({p}).").\n#bias("penalty(1,body(X)) :- in_body(X).").',
    '#bias("penalty(1,head).").\n#bias("penalty(3,body({a}({v1}))) :- in_body({a}({v1})).").',
    '#bias("penalty(2, head). penalty(0, body(X)) :- in_body(X).").',
    '#bias("penalty(0, head). penalty(1, X) :- in_body(X).").',
    '#bias("penalty(2, head(X)) :- in_head({h}(X)). penalty(1, e(X,Y)) :- in_body({e}(X,Y)).").',
    '#bias("penalty(1, X) :- in_body(X).").\n#bias("penalty(2, X) :- in_head(X).").',
    "",
]
"""Biases that mostly price literal by literal."""

FINAL = [
    '#bias("penalty(1, head). penalty(1, X) :- in_body(X). intermediate(naf) :- in_body(neg(_)).").\n'
    '#bias("intermediate(none) :- not intermediate(naf).").\n#final_bias("penalty(2, X) :- intermediate(X).").',
    '#bias("penalty(1, head). intermediate(h) :- in_head({h}(_)). intermediate(p) :- in_head({p}).").\n'
    '#final_bias("penalty(3, both) :- intermediate(h), intermediate(p). penalty(2, x) :- not intermediate(_).").',
    '#bias("intermediate(a(r)) :- in_body({r}). intermediate(1) :- in_body(X), in_head(_).").\n'
    '#final_bias("penalty(4, no) :- not intermediate(a(r)). penalty(1..2, X) :- intermediate(X).").',
    '#bias("penalty(2, X) :- in_head(X). intermediate(x) :- not in_body(_).").\n'
    '#final_bias("penalty(N, n) :- N = #count {{ X : intermediate(X) }}. penalty(1, one) :- not intermediate(x).").',
]
"""Scores of whole hypotheses."""

ILASP_BIASES = [
    '#bias(":- body({r}).").',
    '#bias(":- body(naf({r})).").',
    '#bias(":- head({p}), body({s}).").',
    '#bias(":- head({h}(X)), not body({a}(X)).").',
    '#bias(":- body({a}(X)), body(naf({b}(X))).").',
    '#bias("u(X) :- body({e}(X,_)). u(X) :- head({h}(X)). :- body({a}(X)), not u(X).").',
    '#bias(":- not head(_), body({r}).").',
    '#bias(":- not head(_).").',
    '#bias(":- head(_), body(naf(_)).").',
    '#bias("\n:- #count {{ X : body(X) }} > 1. % at most one\n").',
    '#bias("o(V,1) :- body({a}(V)). o(V,2) :- body({b}(V)). o(V,3) :- head({h}(V)). :- o(V,X), #false : o(V,Y), X != Y.").',
    '#bias("penalty(2, X) :- body(X). penalty(1, X) :- head(X).").',
    '#bias(":- in_body(neg({r})), head({p}).").',
    "",
]
"""What ILASP's users say of rules, in its own words."""

TIED = [
    f'{_EACH}\n#bias("{more}").'
    for more in (
        ":- in_body({gt}(V,_)), not in_body({e}(_,V)).",
        ":- in_body({gt}(V,_)), not in_body({a}(V)). :- in_body({lt}(V,_)), not in_body({a}(V)).",
        ":- in_body({gt}(V,X)), in_body({gt}(V,Y)), X != Y.",
        ":- in_body({gt}(V,X)), in_body({lt}(V,Y)), X >= Y.",
        ":- in_body(neg({gt}(V,_))), not in_body({a}(V)), not in_body({c}(V,_)).",
        ":- in_body({lt}(_,2)).",
        "t(V) :- in_body({a}(V)). t(V) :- in_body({e}(V,_)). :- in_body({lt}(V,_)), not t(V).",
        ":- in_body({gt}(_,1)), not in_body({lt}(_,3)).",
        ":- in_body({gt}(V,X)), in_body({gt}(W,Y)), (V,X) != (W,Y).",
        ":- in_body({gt}(V,X)), in_body({gt}(W,Y)), X != Y.",
        ":- in_body({gt}(V,_)), in_body({lt}(V,_)).",
        ":- in_body({lt}(V,_)), not in_body({gt}(V,_)).",
        ":- in_body({e}(_,V)), not in_body({gt}(V,_)), not in_body({lt}(V,_)).",
        ":- not in_body({gt}(_,_)), in_body({a}(_)).",
        ":- #count {{ X : in_body(X) }} > 2. :- #count {{ X,V : in_body({lt}(V,X)) }} > 1.",
        ":- #count {{ X : in_body({gt}(_,X)) }} > 1. :- #count {{ X : in_body(X) }} < 2.",
        "has :- in_body({gt}(_,_)). has :- in_body({le}(_,_)). :- not has, in_head({h}(_)).",
        ":- in_body({le}(V,X)), in_body({gt}(V,X)). :- in_body({mid}(_,X,X)).",
        ":- in_head({h}(V)), in_body(neg({lt}(V,2))), not in_body({gt}(V,1)).",
    )
]
"""Biases whose constraints join literals that compare with constants."""

PRICED = [
    '#bias("u(1) :- not in_body({r}). u(2) :- not in_body({a}(_)). u(3).").\n'
    '#bias("penalty(12/N, seen) :- N = #count {{ X : u(X) }}.").',
    '#bias("penalty(1, head). penalty(2, X) :- in_body(X). invert(12).").',
    '#bias("penalty(4, short) :- #count {{ X : in_body(X) }} < 2. penalty(1, head).").',
    '#bias("penalty(1, X) :- in_body(X). :- not penalty(1, _).").',
    '#bias("penalty(2, head). penalty(1, X) :- in_body(X), not in_body({r}). :- in_head({p}), in_body({s}).").',
    '#bias(":- in_body({r}) : in_body({a}(_)).").\n#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").',
    '#bias(":- in_body({s}) : in_body({r}).").\n#bias("penalty(1, head). penalty(1, body(X)) :- in_body(X).").',
    '#bias(":- in_head({p}), not in_body(X) : in_body(X).").\n#bias("penalty(1, head).").',
    '#bias("penalty(3, c) :- in_body({r}) : in_body({s}).").\n#bias("penalty(1, body(X)) :- in_body(X).").',
    '#bias("penalty(5,head) :- in_head({p}). penalty(1,body(X)) :- in_body(X).").',
    '#bias("penalty(1,head(X)) :- in_head(X). penalty(4,body(X)) :- in_body(X), in_head({h}(_)).").',
    '#bias("penalty(2, j(X)) :- in_body({a}(X)), in_body({b}(X)). penalty(1, X) :- in_body(X).").',
    '#bias("penalty(2, j(X)) :- in_head({h}(X)), in_body({a}(X)). penalty(1, head).").',
    '#bias("penalty(1, same) :- in_body({a}(_)). penalty(1, same) :- in_body({b}(_)). penalty(1, head).").',
    '#bias("penalty(1, same) :- in_body({a}(_)). penalty(2, same) :- in_body({r}).").',
    '#bias("penalty(N, long) :- N = #count {{ X : in_body(X) }}. penalty(1, head).").',
    '#bias("penalty(N*N, long) :- N = #count {{ X : in_body(X) }}. penalty(1, head).").',
    '#bias("price({a}, 2). penalty(W, X) :- in_body({a}(X)), price({a}, W). penalty(1, head).").',
    '#bias("penalty(3, none) :- not in_body(_). penalty(1, head).").',
    '#bias("used :- in_body({a}(_)). penalty(2, no) :- not used. penalty(1, head). penalty(1, b(X)) :- in_body(X).").',
    '#bias("penalty(1..2, both). penalty(1, X) :- in_body(X).").',
    '#bias("penalty(1, (x;y)). penalty(1, X) :- in_body(X).").',
    '#bias("penalty(1+1, head). penalty(2-1, body(X)) :- in_body(X).").',
    '#bias("penalty(1, head). penalty(2, cmp) :- in_body(binop(\\"!=\\",_,_)).").',
    '#bias("penalty(1, head). :- in_body(binop(_,X,Y)), not in_body({e}(X,Y)).").',
    '#bias("penalty(1, X) :- in_body(neg(X)). penalty(1, head).").',
    '#bias("penalty(1, head). :- in_body(neg(X)), not in_body({r}).").',
    '#bias("penalty(1, head). :- in_head({h}(X)), not in_body({a}(X)), not in_body({e}(X,_)).").',
    '#bias("invert(6) :- in_body({r}). penalty(1, head). penalty(1, X) :- in_body(X).").',
    '#bias("invert(7). penalty(1, head). penalty(2, X) :- in_body(X). :- in_body({s}).").',
    '#bias("penalty(1, head). :- #count {{ X : in_body(X) }} != 2.").',
    '#bias("penalty(1, head). :- #count {{ X : in_body(X) }} > 1.").',
    '#bias("penalty(4, few) :- #sum {{ 1,X : in_body(X) }} <= 1. penalty(1, head).").',
    '#bias("penalty(1, head) :- in_head({h}({v1})). penalty(2, head) :- in_head({h}({v2})).").',
    '#bias(":- in_head({h}({v1})). penalty(1, X) :- in_body(X).").',
    '#bias("_bad(0). _ex(1). penalty(1, head). penalty(1, X) :- in_body(X), not _bad(1).").',
    '#bias("penalty(1, head). _c_penalty(1,5,x). penalty(1, X) :- in_body(X).").',
    '#bias("penalty(1, X) :- in_body(v_a_r_v1). penalty(1, head).").',
    '#bias("penalty(1, X) :- in_body(X), X != v_a_r_v1. penalty(1, head).").',
    '#bias("penalty(2, E) :- in_body(E), E != {r}. penalty(1, E__) :- in_head(E__).").',
    '#bias("-ok :- in_body({r}). ok :- in_body({s}). penalty(1, head). penalty(1, X) :- in_body(X).").',
    '#bias(":- in_body({r}).").',
    '#bias("penalty(3, need) :- in_head({p}), not in_body({r}). penalty(1, b(X)) :- in_body(X).").',
    '#bias("ok :- in_body({r}). ok :- in_body({a}(_)). :- not ok. penalty(1, b(X)) :- in_body(X).").',
    '#bias("penalty(0, none).").',
    '#bias("penalty(9, X) :- in_body(X), in_head(X).").',
    '#bias("penalty(6 / N, X) :- N = #count {{ Y : in_body(Y) }}, N > 0, in_head(X). penalty(6, e) :- not in_body(_).").',
    '#bias("penalty(3-N, n) :- N = #count {{ Y : in_body(Y) }}, N < 3.").',
]
"""Scores of whole rules, where a longer body may well be the cheaper one."""

GIVEN = [
    *("{p} :- {r}.", "{p} :- not {r}, {s}.", "{q}.", "{q} :- {a}({X}), not {b}({X}).", "{p} :- {h}({v1})."),
    *("{h}({X}) :- {n}({X}), {a}({X}).", "{h}({v1}) :- not {s}.", "{h}({v2}) :- {b}({v2}).", ":- {p}, {r}."),
    *("{q} :- {e}({X},{Y}), {X} < {Y}.", "{q} :- {p}.", "{p}.", "{h}({X}) :- {a}({X})."),
    *("{q} :- 2 <= #count {{ {X} : {a}({X}) }}.", "{p} :- #count {{ {X} : {h}({X}), not {b}({X}) }} = 1."),
    *("{q} :- {b}({X}) : {a}({X}).", "{p} :- {h}({X}) : {a}({X}); {r}.", "{p} :- not not {s}."),
    *("{p} :- {r}, 1 {{ {a}({X}) ; {b}({X}) }} 1.", ":- {p}, #count {{ {X} : {h}({X}) }} > 1."),
    *("{{ {q} }} :- {s}.", "{p} ; {q} :- {r}.", "1 {{ {h}({X}) : {a}({X}) }} 1 :- {r}."),
]
"""Rules given whole."""
