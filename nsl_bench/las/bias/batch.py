"""What very many rules cost that a language bias prices as a whole: its program evaluated bit by bit.

`#bias` is grounded once over all heads and literals that rules may hold, as choices; then each ground
rule is an AND, and each atom an OR, of bit vectors with one bit for each rule to be priced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from clingo import Control, Observer, SymbolType, parse_term

from nsl_bench.asp.ground_program import Undecided
from nsl_bench.errors import UserError
from nsl_bench.las.bias.costs import negative, reified
from nsl_bench.las.bits import Bits, pack, unpack
from nsl_bench.las.task import LanguageBias

__all__ = ["FORBIDDEN", "Pricing"]

FORBIDDEN = -1
"""The cost of a rule that a constraint of the bias forbids."""

_Rule = tuple[int, int | None, tuple[tuple[int, int], ...]]
"""A ground rule: head (0: a constraint), lower bound (None: all of the body), weighted body literals."""


@dataclass
class _Rules(Observer):
    """The ground rules that clingo reports."""

    rules: list[_Rule] = field(default_factory=list)
    open: bool = False

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        if choice and not body:
            return
        self.open |= choice or len(head) > 1
        self.rules.append((head[0] if head else 0, None, tuple((literal, 1) for literal in body)))

    def weight_rule(
        self, choice: bool, head: Sequence[int], lower_bound: int, body: Sequence[tuple[int, int]]
    ) -> None:
        self.open |= choice or len(head) > 1
        self.rules.append((head[0] if head else 0, lower_bound, tuple(body)))


class Pricing:
    """A language bias over some heads and body literals.

    Args:
        bias: its ``penalties`` are evaluated.
        heads: atoms as text.
        literals: body literals as text, e.g. ``"not row(V1,V2)"``.

    Raises:
        Undecided: the program has a choice or a cycle.
        UserError: it is no program, or a penalty is negative.
    """

    def __init__(self, bias: LanguageBias, heads: Sequence[str], literals: Sequence[str]) -> None:
        facts = [f"in_head({reified(head)})" for head in heads]
        facts += [f"in_body({reified(literal)})" for literal in literals]
        messages: list[str] = []
        control = Control(["--warn=none"], logger=lambda _, message: messages.append(message))
        observer = _Rules()
        control.register_observer(observer)
        control.add("\n".join([*(bias.penalties or ()), *(f"{{ {fact} }}." for fact in facts)]))
        try:
            control.ground()
        except RuntimeError:
            detail = " ".join(messages[0].split()) if messages else "not a program"
            raise UserError(f"#bias cannot be evaluated: {detail}.") from None
        atoms = [control.symbolic_atoms[parse_term(fact)] for fact in facts]
        numbers = [0 if atom is None else atom.literal for atom in atoms]
        self._heads, self._literals = numbers[: len(heads)], numbers[len(heads) :]
        self._rules = observer.rules
        last = {head: i for i, (head, _, _) in enumerate(self._rules)}
        late = any(last.get(abs(x), -1) >= i for i, (_, _, body) in enumerate(self._rules) for x, _ in body)
        if observer.open or late:
            raise Undecided("#bias has a choice or a cycle")
        self._penalties: list[tuple[int, int]] = []
        for atom in control.symbolic_atoms.by_signature("penalty", 2):
            weight = atom.symbol.arguments[0]
            if weight.type != SymbolType.Number or weight.number < 0:
                raise UserError(negative(atom.symbol))
            self._penalties.append((atom.literal, weight.number))
        self._inverts = [
            (atom.literal, atom.symbol.arguments[0].number)
            for atom in control.symbolic_atoms.by_signature("invert", 1)
        ]
        if len(self._inverts) > 1:
            raise UserError("#bias derives more than one invert(number); a rule's cost has one at most.")

    def costs(self, head: int, bodies: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """int64 [rules]: what rules with one head (its index) cost, or `FORBIDDEN`.

        Args:
            head: index into the heads.
            bodies: bool [literals, rules]: what each rule's body holds.
        """
        n = bodies.shape[1]
        full = pack(np.ones(n, np.bool_))
        values: dict[int, Bits] = {self._heads[head]: full}
        for literal, held in zip(self._literals, pack(bodies), strict=True):
            values[literal] = held | values[literal] if literal in values else held
        counts: dict[tuple[tuple[int, int], ...], npt.NDArray[np.int64]] = {}
        nothing = np.zeros_like(full)

        def value(literal: int) -> Bits:
            found = values.get(abs(literal), nothing)
            return found if literal > 0 else full & ~found

        for derived, lower, body in self._rules:
            if lower is None:
                if len(body) == 1:
                    holds = value(body[0][0])
                else:
                    holds = full.copy()
                    for literal, _ in body:
                        holds &= value(literal)
            else:
                count = counts.get(body)
                if count is None:
                    count = counts[body] = np.zeros(n, np.int64)
                    for literal, weight in body:
                        count += weight * unpack(value(literal), n)
                holds = pack(count >= lower)
            known = values.get(derived)
            if known is None:
                values[derived] = holds.copy()
            else:
                np.bitwise_or(known, holds, out=known)
        total = np.zeros(n, np.int64)
        for literal, weight in self._penalties:
            total += weight * unpack(value(literal), n)
        forbidden = unpack(values.get(0, nothing), n)
        for literal, whole in self._inverts:
            inverted = unpack(value(literal), n)
            forbidden = forbidden | (inverted & (total == 0))
            total = np.where(inverted, whole // np.maximum(total, 1), total)
        return np.where(forbidden, FORBIDDEN, total)
