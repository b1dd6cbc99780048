"""Tries rules on some examples, many at once: which examples' demands hold bravely with each of them.

One clingo control has grounded what no hypothesis changes. Each batch of rules gets replicas of its own, and
one choice says which rule is tried.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence

from clingo import Function, Model, Number, Symbol

from nsl_bench.core.budget import Budget
from nsl_bench.logic.asp.atoms import read_atom
from nsl_bench.logic.asp.ground_program import GroundProgram
from nsl_bench.logic.asp.parsing import QuietControl
from nsl_bench.logic.asp.program import Signature
from nsl_bench.logic.asp.replicas import replicate
from nsl_bench.logic.las.bias.space import SpaceRule
from nsl_bench.logic.las.clingo_tiers.demands import Demand, Problem

_BATCH = 500
_SMALL_BATCH = 25
"""Rules that are grounded together; fewer where each takes a search, which goes through all of them."""
_MOST = 20_000
_GROWTH = 4
"""Ground rules, and for how many times the first ones, that a control may have before a new one is made."""
_POLL = 0.05


class Trial:
    """Tries rules on the demands of a window.

    Args:
        problem: the problem.
        window: the demands.
        space: rules in which each predicate occurs that a tried rule may have.
        budget: when to stop.

    Attributes:
        is_fast: a hypothesis has one answer set, so that no search is needed for it.
        atoms: single atoms that demands of the window ask for, if they must be met, as further demands; only
            where a hypothesis has one answer set, for then each of them alone is a step towards the whole.

    Raises:
        Expired: time or memory ran out.
    """

    def __init__(
        self, problem: Problem, window: Sequence[Demand], space: Sequence[SpaceRule], budget: Budget
    ) -> None:
        self._budget = budget
        self._space = space
        self._replicas: dict[tuple[str, ...], int] = {}
        self._model: Sequence[Symbol] = ()
        self._program = replicate(
            problem.background,
            dict.fromkeys(demand.content[2] for demand in window),
            space,
            asked=dict.fromkeys(a for demand in window for part in demand.content[:2] for a in part),
            derived_sets=problem.derived_sets,
            restricted=True,
        )
        self.is_fast = self._program.deterministic
        self.atoms = _atoms(window) if self.is_fast else []
        self._window = [*window, *self.atoms]
        options = [] if self.is_fast else ["--enum-mode=brave", "--heuristic=Domain"]
        self._options = ["--models=0", *options]
        self._begin()

    def _begin(self) -> None:
        """Make a control, for a later batch takes the longer the more were before."""
        self._control = QuietControl(self._options)
        self._watching = GroundProgram(keep=False)
        self._control.register_observer(self._watching)  # type: ignore[arg-type]
        self._control.add("base", [], f"{self._program.shared}\n#show.")
        self._watching.ground(self._control, self._budget.check)
        self._most = _MOST + _GROWTH * self._watching.seen
        self._batches = 0

    @property
    def dependent(self) -> frozenset[Signature]:
        """The predicates that differ between contexts."""
        return self._program.dependent

    @property
    def adds_up(self) -> bool:
        """Whether a rule changes the same single atoms with any others, and demands are made of these."""
        heads = [atom for rule in self._space if rule.head is not None and (atom := read_atom(rule.head))]
        feeding = any(atom.signature not in self._program.unread for atom in heads)
        several = [d for d in self._window if len(d.content[0]) + len(d.content[1]) > 1]
        return self.is_fast and not feeding and all(demand.required for demand in several)

    @property
    def literals(self) -> list[list[tuple[str, str, bool]]]:
        """Of each demand and atom: what it asks for, as replica, atom and whether it must hold."""
        result = []
        for inclusions, exclusions, context in (demand.content for demand in self._window):
            replica = str(self._replicas[context])
            wanted = [*((atom, True) for atom in inclusions), *((atom, False) for atom in exclusions)]
            result.append([(replica, atom, holds) for atom, holds in wanted])
        return result

    def facts(
        self, shared: dict[Signature, list[tuple[str, ...]]]
    ) -> tuple[dict[Signature, list[tuple[str, ...]]], frozenset[int]]:
        """The atoms with no rule learned, the replica as first argument; and the demands that hold.

        Args:
            shared: those that depend on no example, by predicate; they are added if there are none yet.
        """
        (alone,) = self.holds((), ())
        own: dict[Signature, list[tuple[str, ...]]] = defaultdict(list)
        dependent = {self._program.predicate(name): (name, n) for name, n in self._program.dependent}
        complete = bool(shared)
        for symbol in self._model:
            signature = dependent.get(symbol.name)
            if signature is None and complete:
                continue
            arguments = _arguments(symbol)
            if signature is not None:
                own[signature].append(arguments)
            else:
                shared.setdefault((symbol.name, len(arguments)), []).append(arguments)
        return shared | own, alone

    def holds(self, base: Sequence[SpaceRule], rules: Sequence[SpaceRule]) -> list[frozenset[int]]:
        """Numbers of demands and atoms that hold bravely with a base alone, then with each rule besides."""
        size = _BATCH if self.is_fast else _SMALL_BATCH
        batches = [rules[start : start + size] for start in range(0, len(rules), size)] or [()]
        alone, *result = self._hold(base, batches[0])
        for batch in batches[1:]:
            result += self._hold(base, batch)[1:]
        return [alone, *result]

    def _hold(self, base: Sequence[SpaceRule], rules: Sequence[SpaceRule]) -> list[frozenset[int]]:
        # after an enumeration of brave consequences, clingo finds nothing in what is grounded later
        if self._watching.seen > self._most or (self._batches and not self.is_fast):
            self._begin()
        number = Number(self._batches)
        tried = Function(self._program.names("tried"), [number])
        part = f"batch{number}"
        self._control.add(part, [], self._text(base, rules, str(tried)))
        self._watching.ground(self._control, self._budget.check, [(part, [])])
        self._batches += 1
        result: dict[int, frozenset[int]] = {}

        def keep(model: Model) -> None:
            numbers = [symbol.number for symbol in model.symbols(shown=True)]
            self._model = [] if rules else model.symbols(atoms=True)
            result[-min(0, *numbers)] = frozenset([each - 1 for each in numbers if each > 0])

        chosen = [Function(self._program.names("chosen"), [number, Number(k)]) for k in range(len(rules) + 1)]
        self._control.assign_external(tried, True)
        for assumed in [None] if self.is_fast else chosen:
            self._solve(assumed, keep)
        self._control.release_external(tried)
        return [result.get(k, frozenset()) for k in range(len(rules) + 1)]

    def _solve(self, assumed: Symbol | None, keep: Callable[[Model], None]) -> None:
        assumptions = [] if assumed is None else [(assumed, True)]
        with self._control.solve(assumptions, on_model=keep, async_=True) as handle:
            while not handle.wait(_POLL):
                self._budget.check()

    def _text(self, base: Sequence[SpaceRule], rules: Sequence[SpaceRule], tried: str) -> str:
        """The program of a batch; what it shows is k + 1 for demand k, and -k where rule k is tried."""
        program, example, batch = self._program, self._program.any_example, self._batches
        first = batch * len(self._window)
        here, chosen = f"{program.names('in_chunk')}({batch},{example})", f"{program.names('chosen')}({batch}"
        lines = [
            f"#external {tried}. 1 {{ {chosen},0..{len(rules)}) }} 1 :- {tried}.",
            f"#show -{example} : {chosen},{example}).",
            f"#show {example}-{first - 1} : {program.covers(example)}, {example} >= {first}, {tried}.",
        ]
        replicas = self._replicas = {}
        for i, demand in enumerate(self._window, first):
            inclusions, exclusions, context = demand.content
            # examples with one context have the same answer set, if there is only one
            own = replicas.setdefault(context, i) if program.deterministic else i
            lines.append(program.covered(i, inclusions, exclusions, own))
            if own == i:
                lines += [f"{program.example(i)}.", f"{program.names('in_chunk')}({batch},{i})."]
                lines += [program.frame(str(i)), program.context(i, context)]
        lines += [program.rule(rule, number=example, condition=here) for rule in program.local]
        lines += program.asking(example, here)
        lines += [program.learned(rule, number=example, condition=here) for rule in base]
        for k, rule in enumerate(rules, 1):
            lines.append(program.learned(rule, number=example, condition=f"{here}, {chosen},{k})"))
        if not program.deterministic:
            lines.append(f"#heuristic {program.covers(example)} : {here}. [1,true]")
        return "\n".join(lines)


def _arguments(symbol: Symbol) -> tuple[str, ...]:
    text = str(symbol)
    if text.count("(") > 1 or '"' in text:
        return tuple(map(str, symbol.arguments))
    return tuple(text[len(symbol.name) + 1 : -1].split(",")) if text[-1] == ")" else ()


def _atoms(window: Sequence[Demand]) -> list[Demand]:
    """A demand for each atom of demands that ask for several and must be met."""
    result: list[Demand] = []
    for demand in window:
        inclusions, exclusions, context = demand.content
        if demand.required and len(inclusions) + len(exclusions) > 1:
            result += [Demand(((atom,), (), context), required=True) for atom in inclusions]
            result += [Demand(((), (atom,), context), required=True) for atom in exclusions]
    return result
