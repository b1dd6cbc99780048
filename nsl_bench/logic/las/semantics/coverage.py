"""The examples that a hypothesis covers, decided by clingo from the definition.

A positive example is covered if some answer set of background, hypothesis and its context holds its
inclusions and none of its exclusions; a negative one if no answer set does (Law, Russo, Broda: "The
complexity and generality of learning answer set programs", 2018). This check is independent of how a
hypothesis was found, and scores solvers and adapters. Many examples share one grounding (see
`nsl_bench.logic.asp.replicas`); large tasks are divided into chunks.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from clingo import Model

from nsl_bench.core.budget import Budget
from nsl_bench.core.types import WeightedExample
from nsl_bench.logic.asp.atoms import read_atom
from nsl_bench.logic.asp.parsing import grounded
from nsl_bench.logic.asp.program import Program, parse, statement, union
from nsl_bench.logic.asp.replicas import Replicas, replicate
from nsl_bench.logic.las.bias.hypothesis import hypothesis_cost
from nsl_bench.logic.las.task import LasTask, Solution

_POLL = 0.05
_CHUNK = 20_000
"""Context statements that are grounded together, which bounds the memory."""

Content = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
Item = TypeVar("Item")

_NAMING = {"inclusion", "exclusion"}
"""Predicates whose argument is an atom in FastLAS's dialect."""


@dataclass(frozen=True)
class Score:
    """The score of a hypothesis on a task.

    Attributes:
        cost: cost of the hypothesis.
        penalties: sum of the penalties of uncovered examples.
        covered: whether each example of the task is covered.
        broken: ids of uncovered examples that must be covered; if there are any, the hypothesis is not a
            solution.
    """

    cost: int
    penalties: int
    covered: tuple[bool, ...]
    broken: tuple[str, ...]

    @property
    def total(self) -> int:
        """Cost and penalties."""
        return self.cost + self.penalties


def score(task: LasTask, hypothesis: Sequence[str], budget: Budget | None = None) -> Score:
    """Score a hypothesis.

    Args:
        task: the task.
        hypothesis: the rules, with full stops and type guards.
        budget: limits on time and memory; None for none.

    Raises:
        Expired: time or memory ran out.
        UserError: a rule does not parse, is refused (`#script`) or forbidden by the bias.
    """
    result = covered(task, hypothesis, budget=budget)
    open_examples = [e for e, ok in zip(task.examples, result, strict=True) if not ok]
    return Score(
        cost=hypothesis_cost(task, hypothesis),
        penalties=sum(e.penalty for e in open_examples if e.penalty is not None),
        covered=tuple(result),
        broken=tuple(e.id for e in open_examples if e.penalty is None),
    )


def covered(
    task: LasTask,
    hypothesis: Sequence[str],
    examples: Sequence[WeightedExample] = (),
    budget: Budget | None = None,
) -> list[bool]:
    """Whether the hypothesis covers each example of the task (or each of `examples`).

    Args:
        task: the learning task.
        hypothesis: rules in ASP.
        examples: the examples to check; all of the task if empty.
        budget: when to stop; None for no limit.

    Raises:
        Expired: time or memory ran out; never without a `budget`.
        UserError: a rule does not parse or is refused.
    """
    examples = examples or task.examples
    distinct: dict[Content, int] = {}
    for example in examples:
        distinct.setdefault(content(example), len(distinct))
    rules = union(parse(text, "the hypothesis") for text in hypothesis)
    program = replicate(
        union([_read(task, rules, distinct), rules]),
        (context for _, _, context in distinct),
        asked=dict.fromkeys(a for one, other, _ in distinct for a in (*one, *other)),
        derived_sets=task.bias.dialect == "fastlas",
    )
    bravely: dict[Content, bool] = {}
    for chunk in chunks(list(distinct), [context for _, _, context in distinct]):
        bravely.update(zip(chunk, _bravely(program, chunk, budget), strict=True))
    return [bravely[content(example)] == example.positive for example in examples]


def _read(task: LasTask, rules: Program, contents: Iterable[Content]) -> Program:
    """The background, without what no example, rule or constraint depends on.

    That is left out where it has one answer set whatever the rest has (Lifschitz, Turner: "Splitting a logic
    program", 1994), and where no name of an atom is derived.
    """
    program = task.program
    if not program.stratified:
        return program
    goals = set(rules.signatures)
    for inclusions, exclusions, context in contents:
        for text in {*inclusions, *exclusions, *context}:
            atom = read_atom(text)
            goals |= statement(text).signatures if atom is None else {atom.signature}
    naming = _NAMING & {name for name, _ in program.derived | goals}
    return program if naming else program.slice(goals)


def content(example: WeightedExample) -> Content:
    """What an example asks: examples that agree in it are covered alike."""
    return example.inclusions, example.exclusions, example.context


def chunks(items: Sequence[Item], contexts: Sequence[Sequence[str]]) -> Iterator[Sequence[Item]]:
    """The items in groups whose contexts, one for each item, are small enough to be grounded together."""
    start, size = 0, 0
    for i, context in enumerate(contexts):
        if i > start and size + len(context) > _CHUNK:
            yield items[start:i]
            start, size = i, 0
        size += len(context) + 1
    if items:
        yield items[start:]


def _bravely(program: Replicas, contents: Sequence[Content], budget: Budget | None) -> list[bool]:
    """Whether each replica has an answer set that holds its inclusions and none of its exclusions."""
    options = [] if program.deterministic else ["--enum-mode=brave", "--heuristic=Domain"]
    budget = budget or Budget()
    budget.check()
    name, any_example = program.names("covered"), program.any_example
    lines = [joint_program(program, dict(enumerate(contents))), f"#show {name}/1."]
    lines.append(f"#heuristic {program.covers(any_example)} : {program.example(any_example)}. [1,true]")
    control = grounded(
        "The program", text="\n".join(lines), arguments=["--models=0", *options], check=budget.check
    )
    last: list[frozenset[int]] = [frozenset()]

    def keep(model: Model) -> None:
        last[0] = frozenset(symbol.arguments[0].number for symbol in model.symbols(shown=True))

    with control.solve(on_model=keep, async_=True) as handle:
        while not handle.wait(_POLL):
            budget.check()
    return [i in last[0] for i in range(len(contents))]


def joint_program(program: Replicas, contents: Mapping[int, Content]) -> str:
    """The replicas of the given examples as one program; `Replicas.covers` says that one is covered.

    Args:
        program: replicas of the background and the hypothesis.
        contents: what each example asks for, by its number.
    """
    lines = [program.shared, program.common, program.frame()]
    replicas: dict[tuple[str, ...], int] = {}
    for i, (inclusions, exclusions, context) in contents.items():
        # examples with one context have the same answer set, if there is only one
        own = replicas.setdefault(context, i) if program.deterministic else i
        if own == i:
            lines += [f"{program.example(i)}.", program.context(i, context)]
        lines.append(program.covered(i, inclusions, exclusions, own))
    return "\n".join(lines)


_SHOWN = 12


@dataclass(frozen=True)
class RuleExplanation:
    """The explanation of one rule.

    Attributes:
        rule: the rule.
        cost: its cost.
        covers: ids of the examples that are covered because of it.
        spoils: ids of the examples that are uncovered because of it.
    """

    rule: str
    cost: int
    covers: tuple[str, ...]
    spoils: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """The explanation of a hypothesis.

    Attributes:
        rules: explanations of the rules, in the hypothesis's order.
        unaided: ids of the examples that stay covered if any single rule is left out.
        uncovered: ids of uncovered examples with their penalties; None if the example must be covered.
    """

    rules: tuple[RuleExplanation, ...]
    unaided: tuple[str, ...]
    uncovered: tuple[tuple[str, int | None], ...]

    def __str__(self) -> str:
        lines = []
        for each in self.rules:
            lines.append(f"{each.rule}  % cost {each.cost}")
            lines.append(f"  covers {_counted(each.covers)}")
            if each.spoils:
                lines.append(f"  spoils {_counted(each.spoils)}")
        lines.append(f"covered without need of any one rule: {_counted(self.unaided)}")
        total = sum(penalty or 0 for _, penalty in self.uncovered)
        uncovered = [
            f"{name} ({'must be' if penalty is None else penalty})" for name, penalty in self.uncovered
        ]
        lines.append(f"uncovered, at a price of {total}: {_counted(uncovered)}")
        return "\n".join(lines)


def explain(task: LasTask, hypothesis: Sequence[str] | Solution, budget: Budget | None = None) -> Explanation:
    """Explain a hypothesis by leaving out one rule at a time.

    A rule *covers* an example if the hypothesis covers the example and would not without the rule. It
    *spoils* an example if the hypothesis does not cover the example and would without the rule. An example
    that several rules cover, or that is covered without any rule, depends on none of them.

    Args:
        task: the task.
        hypothesis: rules with full stops, or a solution of the task.
        budget: limits on time and memory; None for none.

    Raises:
        Expired: the budget is used up.
        UserError: a rule does not parse.
    """
    rules = tuple(hypothesis.hypothesis if isinstance(hypothesis, Solution) else hypothesis)
    complete = covered(task, rules, budget=budget)
    needed = [False] * len(task.examples)
    result = []
    for i, rule in enumerate(rules):
        without = covered(task, rules[:i] + rules[i + 1 :], budget=budget)
        covers, spoils = [], []
        for j, example in enumerate(task.examples):
            if complete[j] and not without[j]:
                covers.append(example.id)
                needed[j] = True
            elif without[j] and not complete[j]:
                spoils.append(example.id)
        result.append(RuleExplanation(rule, hypothesis_cost(task, [rule]), tuple(covers), tuple(spoils)))
    pairs = list(zip(task.examples, complete, needed, strict=True))
    return Explanation(
        tuple(result),
        tuple(e.id for e, ok, need in pairs if ok and not need),
        tuple((e.id, e.penalty) for e, ok, _ in pairs if not ok),
    )


def _counted(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > _SHOWN else ""
    return f"{len(names)}{': ' if names else ''}{', '.join(names[:_SHOWN])}{more}"
