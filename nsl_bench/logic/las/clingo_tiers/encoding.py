"""A learning task as one optimisation on clingo: choose rules, cover examples, pay for the rest.

Each rule k of the space is a choice ``chosen(k)``; every example i has a replica of the program
(`nsl_bench.logic.asp.replicas`) in which ``covered(i)`` says that it is covered. Because positive examples
are brave, one answer set of the whole is a hypothesis with a witness for each covered example, and weak
constraints make the cheapest one best. What must hold only does so while ``relaxed`` is false, so that
clingo can say which of it cannot hold together. The control is multi-shot: examples are grounded in chunks,
so that time and memory can be watched between them, and more of them, or of anything else, can follow. In a
chunk, each rule is grounded once for all examples, as clingo prepares a rule for longer than it grounds it.
"""

import time
from collections.abc import Callable, Iterable, Sequence

from clingo import Function, Model, Number, SolveHandle, SolveResult, Symbol

from nsl_bench.core.budget import Budget, Expired
from nsl_bench.core.errors import UserError
from nsl_bench.logic.asp.ground_program import GroundProgram
from nsl_bench.logic.asp.parsing import QuietControl
from nsl_bench.logic.asp.replicas import Replicas, replicate
from nsl_bench.logic.las.bias.hypothesis import final_lines
from nsl_bench.logic.las.bias.space import SpaceRule
from nsl_bench.logic.las.clingo_tiers.demands import Demand, Problem
from nsl_bench.logic.las.language_bias import LARGEST
from nsl_bench.logic.las.semantics.coverage import Content

_FIRST_CHUNK = 8
_MANY_RULES = 1_000
_CHUNK_SECONDS = 0.5
_CHUNK_CALLS = 2
"""How much longer than the shortest call a chunk may take, where that is longer than `_CHUNK_SECONDS`."""
_POLL = 0.05


class Encoding:
    """The program of a problem over some rules, on one clingo control.

    Args:
        rules: the rules to choose from.
        observer: is told the ground rules.
        prices: weights that are paid where ``paid(i)`` is chosen, a weight each.

    Attributes:
        control: the control.
        names: the names of the encoding's own predicates.
        numbers: the number of each example that has been grounded.
        total: the sum of all weights that have been grounded.
    """

    def __init__(
        self,
        problem: Problem,
        rules: Sequence[SpaceRule],
        observer: GroundProgram | None = None,
        prices: Sequence[int] = (),
    ) -> None:
        self._problem = problem
        self._replicas: Replicas = replicate(
            problem.background,
            problem.contexts,
            rules,
            asked=problem.asked,
            derived_sets=problem.derived_sets,
            restricted=True,
        )
        self.rules = rules
        self.names = self._replicas.names
        self.control = QuietControl(["--opt-strategy=usc,stratify", "--stats"])
        self._limit = GroundProgram(keep=False)
        self.control.register_observer(self._limit)  # type: ignore[arg-type]
        if observer is not None:
            self.control.register_observer(observer)  # type: ignore[arg-type]
        self.numbers: dict[Content, int] = {}
        self.total = sum(rule.cost for rule in rules)
        self._replica: dict[tuple[str, ...], int] = {}
        self._soft: list[tuple[Symbol, bool, int]] = []
        self._prices = prices
        self._prepared = False
        self._chunk = _FIRST_CHUNK if len(rules) < _MANY_RULES else 1
        self._chunks = 0
        self._least_seconds = float("inf")

    @property
    def deterministic(self) -> bool:
        """Whether every hypothesis has at most one answer set with each context."""
        return self._replicas.deterministic

    @property
    def size(self) -> int:
        """Number of ground rules."""
        return self._limit.seen

    def literal(self, name: str, *numbers: int) -> int | None:
        """The program literal of the encoding's atom `name(numbers)`; None if it can never hold."""
        atom = self.control.symbolic_atoms[self._symbol(name, *numbers)]
        return None if atom is None else int(atom.literal)

    def covered(self, demand: Demand) -> int | None:
        """The program literal that says that a grounded demand is covered; None if it can never be."""
        return self.literal("covered", self.numbers[demand.content])

    def is_grounded(self, demand: Demand) -> bool:
        """Whether a demand's example has been grounded."""
        return demand.content in self.numbers

    def _symbol(self, name: str, *numbers: int) -> Symbol:
        return Function(self.names(name), [Number(i) for i in numbers])

    def ground(self, wanted: Iterable[Demand], budget: Budget) -> bool:
        """Ground some examples; False if time or memory ran out before all were there.

        A demand for *no* answer set is only exact if the program is `deterministic`.

        Args:
            wanted: demands; those whose example is grounded already are passed over.
        """
        if not self._prepared and not self._prepare(budget):
            return False
        pending = [demand for demand in wanted if not self.is_grounded(demand)]
        while pending:
            budget.pause()
            if budget.expired() or budget.full():
                return False
            chunk, pending = pending[: self._chunk], pending[self._chunk :]
            parts: list[tuple[str, Sequence[Symbol]]] = []
            for demand in chunk:
                number = self.numbers[demand.content] = len(self.numbers)
                part = f"example{number}"
                self.control.add(part, [], self._example(number, demand))
                parts.append((part, []))
            started = time.monotonic()
            if not self._ground([*parts, ("replicas", [Number(self._chunks)])], budget):
                return False
            self._chunks += 1
            self._next_chunk(len(chunk), max(time.monotonic() - started, 1e-3))
        return True

    def _next_chunk(self, size: int, seconds: float) -> None:
        """Set the size of the next chunk, after one of some size took so long.

        Time and memory are watched between rules, Ctrl-C between calls, so calls are kept short.
        """
        self._least_seconds = min(self._least_seconds, seconds)
        allowed = max(_CHUNK_SECONDS, _CHUNK_CALLS * self._least_seconds)
        self._chunk = max(1, min(2 * self._chunk, int(size * allowed / seconds)))

    def _prepare(self, budget: Budget) -> bool:
        """Ground what all examples share; False if time or memory ran out."""
        replicas, rules, chosen = self._replicas, self.rules, self.names("chosen")
        number = self.names.variable("number")
        lines = [replicas.shared, f"{{ {self.names('relaxed')} }}.", "#show."]
        lines.append(f"#show {number} : {chosen}({number}).")
        if rules:
            lines.append(f"{{ {chosen}(0..{len(rules) - 1}) }}.")
        for k, rule in enumerate(rules):
            lines += self._weak(f"{chosen}({k})", rule.cost, f"r({k})")
        lines += self._within_cost(chosen)
        final = f"{self.names('final')}_"
        if self._problem.bias.final:
            lines += final_lines(self._problem.bias, [rule.marks for rule in rules], chosen, final)
        for i, price in enumerate(self._prices):
            paid = f"{self.names('paid')}({i})"
            lines += [f"{{ {paid} }}.", *self._weak(paid, price, f"p({i})")]
            self._take_note("paid", i, True, price)
        self.control.add("base", [], "\n".join(lines))
        # `in_chunk` keeps the rules of a chunk from the examples of earlier ones
        chunk, example = self.names("c"), replicas.any_example
        here = self._in_chunk(chunk, example)
        replicated = [replicas.rule(rule, number=example, condition=here) for rule in replicas.local]
        replicated += replicas.asking(example, here)
        for k, rule in enumerate(rules):
            if k % _MANY_RULES == 0 and budget.expired():
                return False
            replicated.append(replicas.learned(rule, number=example, condition=f"{here}, {chosen}({k})"))
        self.control.add("replicas", [chunk], "\n".join(replicated))
        self._prepared = self._ground([("base", [])], budget)
        for atom in self.control.symbolic_atoms.by_signature(f"{final}penalty", 2):
            weight = max(0, atom.symbol.arguments[0].number)
            self._soft.append((atom.symbol, True, weight))
            self.total += weight
        return self._prepared

    def _within_cost(self, chosen: str) -> list[str]:
        """Constraints that keep a hypothesis within the cost limit."""
        most = self._problem.max_cost
        if most is None:
            return []
        lines = [f":- {chosen}({k})." for k, rule in enumerate(self.rules) if rule.cost > most]
        costs = [(rule.cost, k) for k, rule in enumerate(self.rules) if 0 < rule.cost <= most]
        total = sum(cost for cost, _ in costs)
        if total > LARGEST:
            raise UserError(
                f"{self._problem.name}: #max_penalty with costs that add up to {total}, more than {LARGEST}, "
                "is not supported; scale them down."
            )
        if total > most:
            parts = "; ".join(f"{cost},{k} : {chosen}({k})" for cost, k in costs)
            lines.append(f":- #sum {{ {parts} }} > {most}.")
        return lines

    def _in_chunk(self, chunk: int | str, example: int | str) -> str:
        """The atom that says that an example belongs to a chunk."""
        return f"{self.names('in_chunk')}({chunk},{example})"

    def _ground(self, parts: Sequence[tuple[str, Sequence[Symbol]]], budget: Budget) -> bool:
        """Ground; False if time or memory ran out, and the control is spent then."""

        def look() -> None:
            budget.pause()
            budget.check()

        try:
            self._limit.ground(self.control, look, parts)
        except Expired:
            return False
        return True

    def _example(self, number: int, demand: Demand) -> str:
        inclusions, exclusions, context = demand.content
        covered, relaxed = self._replicas.covers(number), self.names("relaxed")
        # examples with one context have the same answer set, if there is only one
        own = self._replica.setdefault(context, number) if self.deterministic else number
        lines = [self._replicas.covered(number, inclusions, exclusions, own)]
        if own == number:
            lines += [
                f"{self._replicas.example(number)}.",
                f"{self._in_chunk(self._chunks, number)}.",
                self._replicas.frame(str(number)),
                self._replicas.context(number, context),
            ]
        if demand.required:
            lines.append(f":- not {covered}, not {relaxed}.")
        if demand.penalty:
            lines += self._weak(f"not {covered}", demand.penalty, f"c({number})")
            self._take_note("covered", number, False, demand.penalty)
        if self.deterministic:
            if demand.forbidden:
                lines.append(f":- {covered}, not {relaxed}.")
            if demand.price:
                lines += self._weak(covered, demand.price, f"u({number})")
                self._take_note("covered", number, True, demand.price)
        return "\n".join(lines)

    def _weak(self, literal: str, weight: int, name: str) -> list[str]:
        """The weak constraints by which a literal costs a weight, one for each part that clingo can hold."""
        if weight <= LARGEST:
            return [f":~ {literal}. [{weight},{name}]"] if weight else []
        lines: list[str] = []
        while weight > 0:
            part = f"{self.names('part')}({name},{len(lines)})"
            lines.append(
                f"{{ {part} }}. :- {literal}, not {part}. :~ {part}. [{min(weight, LARGEST)},{part}]"
            )
            weight -= LARGEST
        return lines

    def _take_note(self, name: str, number: int, holds: bool, weight: int) -> None:
        """Take note of a weight that is paid where an atom holds, or does not."""
        self._soft.append((self._symbol(name, number), holds, weight))
        self.total += weight

    def cost(self, model: Model, chosen: Iterable[int]) -> int:
        """The cost of a model; clingo reports only its last 32 bits.

        Args:
            model: a model of the grounded encoding.
            chosen: the rules that it chooses, indices into `rules`.
        """
        if self.total <= LARGEST:
            return sum(model.cost)
        paid = sum(weight for symbol, holds, weight in self._soft if model.contains(symbol) == holds)
        return paid + sum(self.rules[k].cost for k in chosen)

    def search(
        self,
        assumptions: Sequence[int],
        budget: Budget,
        keep: Callable[[Model], None] | None = None,
        enough: Callable[[], bool] = lambda: False,
    ) -> tuple[SolveResult, list[int]]:
        """Solve until clingo is done or time or memory run out.

        Args:
            assumptions: program literals.
            keep: is told each model, in a thread of clingo's.
            enough: is asked now and then whether to end the search.

        Returns:
            Clingo's result, and the assumptions in the core where it is unsatisfiable.
        """
        try:
            with self.control.solve(list(assumptions), on_model=keep, async_=True) as handle:
                _wait(handle, budget, enough)
                result = handle.get()
                core = handle.core() if result.unsatisfiable else []
        except RuntimeError as error:
            if "too large" not in str(error):
                raise
            raise UserError(
                f"{self._problem.name}: costs and penalties are too large for clingo, which adds them "
                f"up to at most {LARGEST} (their total is {self.total}). Scale them down."
            ) from None
        return result, core


def _wait(handle: SolveHandle, budget: Budget, enough: Callable[[], bool]) -> None:
    """Wait until clingo has searched, or end its search when `budget` is used up."""
    while not handle.wait(_POLL):
        budget.pause()
        if budget.expired() or budget.full() or enough():
            handle.cancel()
            return
