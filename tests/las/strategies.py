"""Small random learning tasks of every tier, as text.

A task is made from a `random.Random`, so that its flavour and a number name it. Predicates, variables and
terms are drawn from what strangers write: names that the learner's own encodings use, nested terms, strings,
tuples, negative numbers. `shrunk` makes a task that shows a fault small.
"""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import clingo
from las.vocabulary import (
    BACKGROUND,
    BIASES,
    COMPARED,
    FEEDING,
    FINAL,
    GIVEN,
    HOSTILE_NAMES,
    HOSTILE_VARIABLES,
    ILASP_BIASES,
    META,
    OPEN,
    OPTIONS,
    PLAIN_VARIABLES,
    PRICED,
    ROLES,
    STATED,
    TIED,
    VALUES,
)


@dataclass(frozen=True)
class Flavour:
    """What tasks may hold.

    Pairs are the least and the most; a number is the share of tasks, or of what the comment names.
    """

    pieces: tuple[str, ...] = ("derived", "arithmetic", "constraint", "constraint_props", "count", "path")
    examples: tuple[int, int] = (1, 6)
    contexts: tuple[int, int] = (0, 4)
    modes: tuple[int, int] = (1, 3)
    variables: tuple[int, int] = (0, 2)
    body: tuple[int, int] = (0, 2)
    share: int = 12  # ground facts that contexts are drawn from, at most
    recursive: bool = False  # bodies may use learned predicates
    negative: bool = False
    ilasp: float = 0.0
    biases: tuple[str, ...] = tuple(BIASES)  # the `#bias` statements to choose from
    given: float = 0.0
    meta: float = 0.0
    names: float = 0.15  # with names that the learner's own encodings use
    terms: float = 0.2  # with terms other than small numbers
    leaf: float = 0.3  # of predicates with arguments of a second type
    target: float = 0.5  # whose examples follow a hidden hypothesis
    odd: float = 0.15  # of contexts with a statement that is no plain fact
    replacement: float = 0.1
    local: float = 0.05  # of types whose members differ from context to context
    roles: tuple[str, ...] = ("a", "b", "e", "c", "r", "s", "x")
    heads: tuple[str, ...] = ()
    told: float = 0.2  # of tasks in ILASP's dialect with `#bias`
    bounded: float = 0.0
    numbers: tuple[int, int] | None = None  # that the first type has
    thresholds: float = 0.0  # of places in body modes that are `num_var(type)`


COMPARISONS = ("above", "greater", "le", "less", "mid")
CLOSED = tuple(sorted(set(BACKGROUND) - OPEN - set(COMPARISONS)))
ALL = tuple(sorted(set(BACKGROUND) - set(COMPARISONS)))
FED = ("derived", "classical_head", "constraint", "aggregate", "classical", "derives_head", *FEEDING)
# fmt: off
FLAVOURS = {
    "observational": Flavour(),
    "many_contexts": Flavour(examples=(65, 110), contexts=(1, 7), modes=(1, 4), target=0.9, body=(1, 3)),
    "wide_bodies": Flavour(examples=(2, 12), variables=(4, 5), body=(2, 4), modes=(1, 2),
        roles=("e", "c", "d2", "o", "r", "a", "b", "t"), contexts=(2, 9), target=0.8, names=0.05,
        terms=0.05),
    "leaf_types": Flavour(examples=(2, 12), contexts=(1, 6), variables=(2, 5), body=(1, 3),
        roles=("c", "d2", "l", "o", "a", "y"), leaf=1.0, target=0.8, modes=(2, 3)),
    "local_types": Flavour(examples=(2, 12), contexts=(1, 5), variables=(1, 3), body=(1, 3), local=0.7,
        target=0.8, modes=(1, 3)),
    "large": Flavour(examples=(200, 200), contexts=(0, 7), modes=(2, 4), variables=(0, 3), body=(1, 3),
        target=1.0, odd=0.02),
    "priced": Flavour(biases=tuple(PRICED), variables=(0, 2), body=(1, 3), modes=(1, 4), replacement=0.02),
    "names": Flavour(pieces=ALL, names=1.0, recursive=True, given=0.1, ilasp=0.2),
    "names_closed": Flavour(pieces=(*FED, "count", "path", "arithmetic"), names=1.0, given=0.1, ilasp=0.2),
    "terms": Flavour(terms=1.0, names=0.3, variables=(1, 2), roles=("a", "e", "c", "x", "y", "r"),
        ilasp=0.2),
    "terms_open": Flavour(pieces=ALL, terms=1.0, names=0.2, recursive=True,
        roles=("a", "e", "c", "x", "y", "r")),
    "feeding": Flavour(pieces=FED),
    "feeding_many": Flavour(pieces=FED, examples=(65, 90), contexts=(1, 6), target=0.8, body=(1, 2)),
    "ilasp": Flavour(ilasp=1.0, meta=0.5, body=(0, 3)),
    "ilasp_meta": Flavour(ilasp=1.0, body=(0, 3), modes=(1, 3), biases=tuple(ILASP_BIASES), told=0.9),
    "constraints": Flavour(ilasp=1.0, negative=True, body=(1, 2), modes=(1, 2),
        biases=tuple(ILASP_BIASES), told=0.3, bounded=0.2),
    "constraints_open": Flavour(pieces=ALL, ilasp=1.0, negative=True, recursive=True, modes=(1, 2),
        variables=(0, 1), body=(0, 2)),
    "bounded": Flavour(ilasp=0.3, pieces=FED, bounded=1.0, modes=(1, 3), body=(1, 2)),
    "final": Flavour(pieces=FED, biases=tuple(FINAL), modes=(1, 3), body=(0, 2), variables=(0, 1)),
    "classical": Flavour(pieces=("derived", "classical", "classical_head", "constraint"), ilasp=0.5,
        negative=True, roles=("a", "b", "r", "s", "nz", "nh", "h", "z"),
        heads=("p", "h", "nh", "z", "nz"), modes=(1, 3)),
    "given": Flavour(pieces=FED, given=1.0),
    "given_many": Flavour(pieces=("derived", "feeding", "count"), given=1.0, examples=(65, 80), target=0.5),
    "replacement": Flavour(replacement=1.0, body=(1, 3), modes=(1, 3), variables=(1, 3), target=0.7),
    "thresholds": Flavour(pieces=(*COMPARISONS, "derived", "constraint"), examples=(3, 10),
        contexts=(1, 4), roles=("a", "e", "c", "o", "b", "x"), body=(1, 4), numbers=(3, 6),
        thresholds=0.5, ilasp=0.2, terms=0.05, target=0.8, replacement=0.0),
    "thresholds_priced": Flavour(pieces=("greater", "less", "above"), examples=(2, 8),
        roles=("a", "e", "c", "o"), body=(1, 3), numbers=(3, 5), thresholds=0.3, biases=tuple(PRICED),
        terms=0.0, replacement=0.0),
    "thresholds_tied": Flavour(pieces=("greater", "less", "le", "mid"), examples=(2, 8), contexts=(1, 3),
        roles=("a", "e", "c"), modes=(2, 4), variables=(1, 3), body=(1, 3), numbers=(3, 5),
        biases=tuple(TIED), told=1.0, ilasp=0.3, terms=0.0, names=0.0, target=0.8, replacement=0.0),
    "thresholds_negated": Flavour(pieces=("greater", "less", "le", "above"), examples=(2, 8),
        contexts=(1, 3), roles=("a", "e", "c"), modes=(2, 4), variables=(1, 2), body=(1, 3),
        numbers=(4, 7), biases=tuple(TIED), told=0.5, ilasp=1.0, terms=0.0, names=0.0, target=0.8),
    "thresholds_many": Flavour(pieces=COMPARISONS, examples=(65, 90), contexts=(1, 5),
        roles=("a", "e", "c"), body=(1, 3), numbers=(4, 7), thresholds=0.3, terms=0.0, target=1.0,
        replacement=0.0),
    "thresholds_open": Flavour(
        pieces=("greater", "less", "above", "choice", "even_loop", "derives_head", "feeding"),
        recursive=True, roles=("a", "e", "c", "o"), numbers=(3, 4), thresholds=0.4, ilasp=0.2, terms=0.0,
        replacement=0.0),
    "recursive": Flavour(pieces=CLOSED, recursive=True, given=0.1),
    "open": Flavour(pieces=ALL, recursive=True, given=0.1, ilasp=0.2),
    "open_priced": Flavour(pieces=ALL, recursive=True, biases=tuple(PRICED), ilasp=0.1),
    "cautious_closed": Flavour(pieces=CLOSED, negative=True, modes=(1, 2)),
    "cautious": Flavour(pieces=ALL, negative=True, recursive=True, modes=(1, 2), variables=(0, 1),
        body=(0, 1)),
    "cautious_many": Flavour(negative=True, examples=(40, 90), contexts=(1, 6), target=0.8),
    "cautious_names": Flavour(pieces=ALL, negative=True, recursive=True, modes=(1, 2), variables=(0, 1),
        body=(0, 1), names=1.0, terms=0.5),
}
# fmt: on
"""The kinds of tasks, each of which some tier or some part of the reading is most about."""


def task_text(flavour: str, number: int) -> str:
    """The text of task `number` of a flavour."""
    return _Maker(FLAVOURS[flavour], random.Random(f"{flavour} {number}")).text()


class _Maker:
    """Draws one task."""

    def __init__(self, flavour: Flavour, rng: random.Random) -> None:
        self.flavour = flavour
        self.rng = rng
        self.ilasp = self._chance(flavour.ilasp)
        self.names = {role: role for role in ROLES}
        hostile = self._chance(flavour.names)
        if hostile:
            for role in rng.sample(sorted(ROLES), rng.randint(1, 5)):
                self.names[role] = rng.choice(HOSTILE_NAMES)
            if len(set(self.names.values())) < len(self.names):
                self.names = _distinct(self.names)
        variables = rng.choice(HOSTILE_VARIABLES) if hostile else PLAIN_VARIABLES
        self.names |= dict(zip(("X", "Y", "Z"), variables, strict=True))
        self.numeric = not self._chance(flavour.terms)
        least, most = 2, 2 if flavour.recursive or flavour.negative or flavour.variables[1] > 3 else 3
        self.values = {
            "n": self._values(rng.randint(*(flavour.numbers or (least, most))), self.numeric),
            "m": self._values(rng.randint(2, 3), self._chance(0.5)),
        }
        self.local = [kind for kind in "nm" if self._chance(flavour.local)]
        for kind in self.local:
            self.values[kind] = self._values(rng.randint(4, 5), self.numeric)
        self.names |= {"v1": self.values["n"][0], "v2": self.values["n"][1]}
        usable = [p for p in flavour.pieces if self.numeric or p not in ("arithmetic", "sum", "const")]
        if flavour.negative:
            usable = [p for p in usable if p != "disjunction"]
        self.pieces = rng.sample(usable, min(len(usable), rng.randint(0, 2)))
        known = list(flavour.roles)
        self.roles = rng.sample(known, min(len(known), rng.randint(2, 4)))
        self.heads = self._heads()
        large = flavour.examples[1] > 20
        self.odd = flavour.odd if not large else rng.choice([0.0, 0.0, flavour.odd])

    def text(self) -> str:
        """The task."""
        background = self._background()
        modes, literals = self._body_modes()
        rng, flavour = self.rng, self.flavour
        lines = [*background, *(f"#modeh({head})." for head, _ in self.heads), *modes]
        given = self._given()
        lines += given
        if self.ilasp and self._chance(flavour.meta):
            lines += [self._named(text) for text in META]
        elif self.ilasp:
            lines.append("#predicate(target, unused/0).")
        if not self._chance(0.1):
            lines.append(f"#maxv({rng.randint(*flavour.variables)}).")
        if not self._chance(0.05) or flavour.variables[1] > 2 or flavour.body[1] > 2:
            lines.append(f"#max_body({rng.randint(*flavour.body)}).")
        if self._chance(flavour.bounded):
            lines.append(f"#max_penalty({rng.randint(0, 6)}).")
        if not self.ilasp or self._chance(flavour.told):
            quoted = {
                role: name.replace("\\", "\\\\").replace('"', '\\"') for role, name in self.names.items()
            }
            lines.append(rng.choice(flavour.biases).format_map(quoted))
        if self._chance(flavour.replacement):
            lines.append("#ground_without_replacement.")
        rng.shuffle(lines)
        return "\n".join([*lines, *self._examples(background, literals)]).replace("\n\n", "\n")

    # Terms, names, chances

    def _chance(self, share: float) -> bool:
        return self.rng.random() < share

    def _named(self, text: str) -> str:
        return text.format_map(self.names)

    def _values(self, size: int, numeric: bool) -> list[str]:
        if numeric:
            return [str(i + 1) for i in range(size)]
        menu = self.rng.choice(VALUES)
        return self.rng.sample(menu, min(size, len(menu)))

    def _fact(self, role: str) -> str:
        return self._named(ROLES[role][0]).format(*(self.rng.choice(self.values[t]) for t in ROLES[role][1]))

    def _facts(self, role: str) -> list[str]:
        shape, types = self._named(ROLES[role][0]), ROLES[role][1]
        return [shape.format(*values) for values in itertools.product(*(self.values[t] for t in types))]

    # Modes

    def _placed(self, role: str, const: float = 0.2, bounded: float = 0.0) -> str:
        shape, types = self._named(ROLES[role][0]), ROLES[role][1]
        places = []
        for place, kind in enumerate(types):
            compared = role in COMPARED and place >= min(1, len(types) - 1)
            form = "const" if self._chance(0.9 if compared else const) else "var"
            if bounded and kind == "n" and self._chance(bounded):
                form = "num_var"
            places.append(f"{form}({self.names[kind]})")
            if self._chance(0.03):
                places[-1] = self.rng.choice(self.values[kind])
            if "const" in self.pieces and kind == "n" and self._chance(0.1):
                places[-1] = "lim"
            if self.numeric and self._chance(0.01):
                places[-1] = "1+1"
        return shape.format(*places)

    def _heads(self) -> list[tuple[str, str]]:
        """Head modes, each with its role."""
        menu = ["p", "q", "h", "h", "k"] if self.flavour.variables[1] < 4 else ["p", "h", "q"]
        if self.flavour.heads:
            menu = list(self.flavour.heads)
        elif self.flavour.leaf and self._chance(self.flavour.leaf):
            menu.append("i")
        fewest = int(not (self.ilasp and self.flavour.negative and self._chance(0.3)))
        roles = self.rng.sample(menu, self.rng.randint(fewest, 2))
        found = {self._placed(role): role for role in roles}
        return list(found.items())

    def _body_modes(self) -> tuple[list[str], list[tuple[str, str]]]:
        """Statements, and (mode, role) of their literals."""
        rng = self.rng
        menu = [role for role in self.roles for _ in range(2)]
        menu += [role for piece in self.pieces for role in BACKGROUND[piece][1]]
        if self.flavour.recursive:
            menu += [role for _, role in self.heads]
        count = rng.randint(*self.flavour.modes)
        if self._chance(0.03):
            count = 0
        lines: dict[str, None] = {}
        literals = []
        for _ in range(count):
            if self._chance(0.12):
                literal = self._comparison()
            else:
                role = rng.choice(menu)
                bounded = 0.0 if role in COMPARED else self.flavour.thresholds
                literal = self._placed(role, bounded=bounded)
                if self._chance(0.3) and "num_var(" not in literal:
                    literal = f"not {literal}"
                literals.append((literal, role))
            recall = (
                f"{rng.randint(int(rng.random() < 0.95), 2)}, "
                if self._chance(0.5 if self.ilasp else 0.1)
                else ""
            )
            plain = not literal.startswith("not ") and "(" in literal and "num_var(" not in literal
            option = ""
            if self.ilasp and plain and self._chance(0.5) and literals and literals[-1][0] == literal:
                option = f", ({rng.choice(OPTIONS)})"
                if "_" in option and literal.count("var(") + literal.count("const(") != 2:
                    option = ", (positive)"
            lines[f"#modeb({recall}{literal}{option})."] = None
        return list(lines), literals

    def _comparison(self) -> str:
        rng = self.rng
        kind = rng.choice(["n", "n", "m"])
        operator = rng.choice(["!=", "!=", "<", "=", "<=", ">", ">="])
        sides = [f"var({self.names[kind]})", f"var({self.names[kind]})"]
        if self._chance(0.3):
            sides[rng.randint(0, 1)] = rng.choice(
                [f"const({self.names[kind]})", rng.choice(self.values[kind])]
            )
        sign = "not " if self._chance(0.1) else ""
        if self._chance(0.2) and not sign:
            return f"{operator}({sides[0]},{sides[1]})"
        return f"{sign}{sides[0]} {operator} {sides[1]}"

    def _given(self) -> list[str]:
        if not self._chance(self.flavour.given):
            return []
        count = self.rng.randint(1, 5)
        return [f"{self.rng.randint(0, 3)} ~ {self._named(rule)}" for rule in self.rng.sample(GIVEN, count)]

    # Background

    def _background(self) -> list[str]:
        lines = [self._type("n"), self._type("m")]
        known = ", ".join(self._facts(role)[0] for role in STATED)
        lines.append(f"{self.names['known']} :- {known}.")
        lines += [self._named(BACKGROUND[piece][0]) for piece in self.pieces]
        lines += [f"{fact}." for fact in self._odd_names()]
        if self._chance(0.05):
            lines.append("% a comment, with a full stop. And :- more")
        return lines

    def _type(self, kind: str) -> str:
        name, values = self.names[kind], self.values[kind]
        way = self.rng.random()
        if kind in self.local:
            return f"% {name} is a matter of contexts"
        if (self.ilasp and way < 0.2) or way < 0.02:
            return "\n".join(f"#constant({name}, {value})." for value in values)
        if all(value.isdigit() for value in values) and way < 0.6:
            return f"{name}({values[0]}..{values[-1]})."
        if way < 0.75:
            return f"{name}({';'.join(values)})."
        return " ".join(f"{name}({value})." for value in values)

    def _odd_names(self) -> Iterator[str]:
        """Facts of the background with names like the encodings' own that nothing else mentions."""
        if not self._chance(self.flavour.names):
            return
        used = set(self.names.values())
        for name in self.rng.sample(HOSTILE_NAMES, self.rng.randint(0, 3)):
            if name not in used:
                arity = self.rng.randint(0, 3)
                inner = ",".join(self.rng.choice(["0", "1", "2", self.values["n"][0]]) for _ in range(arity))
                yield f"{name}({inner})" if arity else name

    # Examples

    def _examples(self, background: Sequence[str], literals: Sequence[tuple[str, str]]) -> list[str]:
        rng, flavour = self.rng, self.flavour
        pool = [fact for role in self.roles for fact in self._facts(role)]
        pool += self._facts("a") if self.pieces else []
        pool = rng.sample(sorted(set(pool)), min(flavour.share, len(set(pool))))
        target = self._target(literals) if self._chance(flavour.target) else None
        atoms = [atom for _, role in self.heads for atom in self._facts(role)]
        more = [atom for piece in self.pieces for role in BACKGROUND[piece][2] for atom in self._facts(role)]
        more += [self._fact("h"), self._named("{p}")]
        if "const" in self.pieces:
            more += [self._named("{h}(lim)")] * 3
        noise = rng.choice([0.0, 0.1, 0.3])
        lines: list[str] = []
        said: dict[str, frozenset[str]] = {}
        for number in range(rng.randint(*flavour.examples)):
            context = self._context(pool)
            signed = {
                atom: self._chance(0.5) for atom in rng.sample(atoms, min(len(atoms), rng.randint(1, 2)))
            }
            if target is not None:
                key = " ".join(f"{s}." for s in context)
                if key not in said:
                    said[key] = _consequences("\n".join([*background, *target, key]))
                signed = {atom: (atom in said[key]) ^ self._chance(noise) for atom in signed}
            if self._chance(0.25):
                signed[rng.choice(more)] = self._chance(0.5)
            lines.append(self._example(number, context, signed))
            if self._chance(0.03):
                lines.append(self._example(number, rng.sample(context, len(context)), signed))
        return lines

    def _context(self, pool: Sequence[str]) -> list[str]:
        rng = self.rng
        least, most = self.flavour.contexts
        context = rng.sample(list(pool), min(len(pool), rng.randint(least, most)))
        for kind in self.local:
            members = rng.sample(self.values[kind], rng.randint(1, 3))
            context += [f"{self.names[kind]}({value})" for value in members]
            used = [fact for fact in pool if rng.random() < 0.5 and any(value in fact for value in members)]
            context += [fact for fact in used if fact not in context][:3]
        if self._chance(self.odd):
            n, values = self.names, self.values["n"]
            options = [
                *(
                    "{b}({X}) :- {a}({X})",
                    "{r} :- not {s}",
                    "{s} :- {a}({v1}), not {b}({v1})",
                    "{a}({v1};{v2})",
                ),
                *("{n}(extra)", "{h}({v1})", "{p}", ":- {b}({v2}), not {r}", "{a}({X}) :- {n}({X})"),
            ]
            if self.numeric:
                options += ["{a}(1..2)", "{a}(1+1)", "{b}({X}+1) :- {a}({X})", "{n}(0)", "{a}(-1)"]
                options += ["{b}(x+1)", "{b}(1/0)", "{a}(2-1)", "{h}(1+1)"]
            if "const" in self.pieces:
                options += ["{a}(lim)", "{h}(lim)"] * 3
            if OPEN & set(self.flavour.pieces):
                options += ["{{ {r} }}", "1 {{ {a}({v1}); {b}({v1}) }} 1", "{r} :- not {s}. {s} :- not {r}"]
            if "classical" in self.flavour.pieces:
                options += ["-{a}({v1})", "-{p}", "-{h}({v2})"]
            if not self.ilasp:
                options += ["inclusion({p})", "exclusion({h}({v1})) :- {r}"]
            context.append(rng.choice(options).format_map(n))
            del values
        return context

    def _example(self, number: int, context: Sequence[str], signed: dict[str, bool]) -> str:
        rng = self.rng
        large = self.flavour.examples[1] > 20
        penalty = rng.choice(
            ["@1", "@2", "@3", "@5", "@10"]
            if large
            else ["", "@0", "@1", "@1", "@2", "@2", "@3", "@5", "@8", "@13"]
        )
        if large and self._chance(0.002):
            penalty = ""
        kind = "neg" if self.flavour.negative and self._chance(0.5) else "pos"
        name = rng.choice([f"e{number}", f"e{number}", f"eg(e{number})", "same"])
        included = ", ".join(atom for atom, sign in signed.items() if sign)
        excluded = ", ".join(atom for atom, sign in signed.items() if not sign)
        if kind == "neg" and self._chance(0.7):
            included, excluded = excluded, included
        if not penalty and self._chance(0.1):
            return f"#{kind}({{{included}}}, {{{excluded}}}, {{{_joined(context)}}})."
        return f"#{kind}({name}{penalty}, {{{included}}}, {{{excluded}}}, {{{_joined(context)}}})."

    def _target(self, literals: Sequence[tuple[str, str]]) -> list[str]:
        """A hidden hypothesis of one or two rules."""
        rng = self.rng
        rules = []
        for _ in range(rng.randint(1, 2)):
            mode, _ = rng.choice(self.heads or [("", "")])
            body = [literal for literal, _ in rng.choices(literals, k=rng.randint(1, 2))] if literals else []
            used: dict[str, None] = {}
            filled = [self._filled(text, used) for text in (mode, *body)]
            guards = [f"{self.names[v[0].lower()]}({v})" for v in used]
            parts = [*filled[1:], *guards]
            if parts or filled[0]:
                rules.append(f"{filled[0]} :- {', '.join(parts)}." if parts else f"{filled[0]}.")
        return rules

    def _filled(self, mode: str, used: dict[str, None]) -> str:
        bounds = []
        while (place := f"num_var({self.names['n']})") in mode:
            name = f"T{len(used)}_{len(bounds)}_{self.rng.randint(0, 999)}"
            mode = mode.replace(place, name, 1)
            bounds.append(f", {name} {self.rng.choice(['>=', '<='])} {self.rng.choice(self.values['n'])}")
        for kind in ("n", "m"):
            for form in ("var", "const"):
                place = f"{form}({self.names[kind]})"
                while place in mode:
                    value = self.rng.choice(self.values[kind])
                    if form == "var":
                        value = f"{kind.upper()}{self.rng.randint(1, 2)}"
                        used[value] = None
                    mode = mode.replace(place, value, 1)
        return mode + "".join(bounds)


def _joined(context: Sequence[str]) -> str:
    return " ".join(f"{statement}." for statement in context)


def _distinct(names: dict[str, str]) -> dict[str, str]:
    """The names where no two roles share one: the later ones keep their own."""
    seen: set[str] = set()
    found = {}
    for role, name in names.items():
        found[role] = name if name not in seen and (name == role or name not in names) else role
        seen.add(found[role])
    return found


def _consequences(program: str) -> frozenset[str]:
    """The atoms of one answer set of a program, as text; none if there is none."""
    rules = "\n".join(line for line in program.split("\n") if not line.startswith("#constant"))
    control = clingo.Control(["--warn=none"], logger=lambda *_: None)
    try:
        control.add(rules)
        control.ground()
    except RuntimeError:
        return frozenset()
    with control.solve(yield_=True) as handle:
        for model in handle:
            return frozenset(map(str, model.symbols(atoms=True)))
    return frozenset()


def shrunk(text: str, fails: Callable[[str], bool]) -> str:
    """A text of fewer lines that fails too."""
    lines = text.split("\n")
    for line in lines[::-1]:
        shorter = [each for each in lines if each != line]
        if fails("\n".join(shorter)):
            lines = shorter
    return "\n".join(lines)
