"""The table circuit: a sum over all worlds of what an example shows, remembers, answers and passes on.

A world is one value of every symbol of a step. The circuit has a product for each world and each value of
the memory that comes in, and below it a weight for each answer and each value of the memory that goes out.
It is the logic circuit of Liu et al. (AAAI 2023), section 4, in the form of their published code: fully
expanded, so that a pass is one log-sum-exp over a table.

As an answer set program it has a fact for each entry, and the memory as a recursion over steps. An entry
``entry(3,9,1,3,1)`` says: where the symbols of a step are 3 and 9 and the memory that comes in is 1, the
answer is label 3 and the memory that goes out is 1.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsl_bench.core.types import Floats
from nsl_bench.learners.view import View

CLIP = 1e-6
"""Probabilities are kept this far from 0 and 1."""

_LEAST = 1e-37
"""What a probability is at least before its logarithm is taken."""

_PSEUDOCOUNT = 0.1
"""What a product's flow counts at least, spread evenly: `full_batch_em` of the published code for Hanoi."""


def literals(probabilities: Any) -> Any:
    """Log-probability of each value of a symbol, [..., values]: ``p_c * prod over i != c of (1 - p_i)``."""
    p = probabilities.clamp(CLIP, 1 - CLIP)
    no = (-p).log1p()
    return p.log() + no.sum(dim=-1, keepdim=True) - no


def ends(first: Any, latent: Any) -> tuple[Any, Any]:
    """Tensors [sequences * steps, memory]: `literals` of the memory that enters and leaves each step.

    Args:
        first: [sequences, memory], what is remembered before the first step.
        latent: [sequences, steps - 1, memory], what is between two steps.
    """
    import torch

    memory = literals(torch.cat([first[:, None], latent], dim=1))
    free = torch.zeros_like(memory[:, :1])  # nothing follows the last step, so anything may go out of it
    return memory.flatten(0, 1), torch.cat([memory[:, 1:], free], dim=1).flatten(0, 1)


@dataclass(frozen=True)
class Pass:
    """One pass of evidence through the circuit.

    Attributes:
        joint: tensor [n], log-probability of symbols, memory and answer together.
        symbols: tensor [n], log-probability of the symbols and of the memory that comes in.
        unanswered: tensor [n], log-probability of all but the answer.
        flow: tensor [worlds, memory in, answers, memory out]: share of each weight in `joint`, summed over
            the examples; None if it was not asked for.
    """

    joint: Any
    symbols: Any
    unanswered: Any
    flow: Any


class TableCircuit:
    """Weights ``P(answer, memory out | world, memory in)`` below a uniform sum over worlds.

    The memory that comes in is part of a product. With one distribution over both ends of the memory for each
    world, in place of that, the latent values of all sequences fall together and nothing is learned.

    Args:
        values: number of values of each symbol of a step, e.g. ``(10, 10)`` for two digits.
        seed: seed of the first weights, which are nearly uniform.
        apart: whether answer and memory out are independent, given world and memory in. The first weights are
            then uniform: what is told of the memory before the first step breaks the symmetry.

    Attributes:
        theta: float64 tensor [worlds, memory in, answers, memory out], normalised over the last two.
    """

    def __init__(
        self, values: tuple[int, ...], answers: int, memory: int, seed: int = 0, *, apart: bool = False
    ) -> None:
        import torch

        self.values, self.answers, self.memory, self.apart = values, answers, memory, apart
        self.worlds = math.prod(values)
        draw = torch.Generator().manual_seed(seed)
        shape = (self.worlds, memory, answers, memory)
        noise = torch.rand(shape, generator=draw, dtype=torch.float64)
        self.theta = self._normalised(torch.ones_like(noise) if apart else 1 + 0.1 * noise)

    def state_dict(self) -> dict[str, Any]:
        """The weights, for a checkpoint."""
        return {"theta": self.theta}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take the weights of a checkpoint."""
        self.theta = state["theta"]

    @staticmethod
    def _normalised(weights: Any) -> Any:
        return weights / weights.sum(dim=(2, 3), keepdim=True).clamp_min(_LEAST)

    @classmethod
    def _product(cls, theta: Any) -> Any:
        """The product of a table's marginals of answer and of memory out."""
        return cls._normalised(theta.sum(dim=3, keepdim=True) * theta.sum(dim=2, keepdim=True))

    def worlds_of(self, symbols: list[Any]) -> Any:
        """Tensor [n, worlds]: log-probability of each world, from `literals` [n, values] of each symbol."""
        result = symbols[0]
        for one in symbols[1:]:
            result = (result[:, :, None] + one[:, None, :]).flatten(1)
        return result

    def explain(self, worlds: Any, came: Any, answer: Any, went: Any, *, flow: bool = False) -> Pass:
        """How well symbols, memory and answer fit the weights.

        Args:
            worlds: tensor [n, worlds], of `worlds_of`.
            came: tensor [n, memory], `literals` of the memory that comes in.
            answer: int64 tensor [n].
            went: tensor [n, memory], `literals` of the memory that goes out.
        """
        import torch

        table = self.theta.to(worlds.dtype).flatten(1)
        tops = [one.detach().amax(dim=1, keepdim=True) for one in (worlds, came, went)]
        world, entered, left = (
            (one - top).exp() for one, top in zip((worlds, came, went), tops, strict=True)
        )
        answered = torch.nn.functional.one_hot(answer, self.answers).to(worlds.dtype)
        evidence = (entered[:, :, None, None] * answered[:, None, :, None] * left[:, None, None, :]).flatten(
            1
        )
        total = ((evidence @ table.T) * world).sum(dim=1).clamp_min(_LEAST)
        joint = total.log() + sum(tops).squeeze(1)
        symbols = torch.logsumexp(worlds, dim=1) + torch.logsumexp(came, dim=1)
        unanswered = symbols
        if self.apart:
            goes = (entered[:, :, None] * left[:, None, :]).flatten(1)
            rest = self.theta.to(worlds.dtype).sum(dim=2).flatten(1)
            unanswered = ((goes @ rest.T) * world).sum(dim=1).clamp_min(_LEAST).log() + sum(tops).squeeze(1)
        result = None
        if flow:
            with torch.no_grad():
                result = (table * ((world / total[:, None]).T @ evidence)).reshape(self.theta.shape)
        return Pass(joint, symbols, unanswered, result)

    def learn(self, flow: Any, rate: float) -> None:
        """One step of expectation maximisation: ``theta <- (1 - rate) theta + rate * normalised flow``.

        A product that no example reached keeps its weights. Where answer and memory out are independent, each
        product has a pseudocount: what few examples reach stays near uniform, so that a symbol which is seen
        wrongly now and then explains no answer.
        """
        import torch

        flow = flow.to(self.theta.dtype)
        if self.apart:
            flow = flow + _PSEUDOCOUNT / (self.answers * self.memory)
        reached = flow.sum(dim=(2, 3), keepdim=True) > 0
        target = torch.where(reached, self._normalised(flow), self.theta)
        self.theta = (1 - rate) * self.theta + rate * target
        if self.apart:  # marginals of a mixture are the mixture of marginals
            self.theta = self._product(self.theta)

    def answer(self, worlds: Any, came: Any) -> tuple[Any, Any]:
        """What follows for one step.

        Args:
            worlds: tensor [n, worlds], of `worlds_of`.
            came: tensor [n, memory], distribution of the memory that comes in.

        Returns:
            Distributions of the answer [n, answers] and of the memory that goes out [n, memory]; if they are
            independent in each world, the memory is the most likely one.
        """
        import torch

        posterior = (worlds - torch.logsumexp(worlds, dim=1, keepdim=True)).exp().to(self.theta.dtype)
        joint = torch.einsum("nw,ni,wiyo->nyo", posterior, came.to(self.theta.dtype), self.theta)
        joint = joint / joint.sum(dim=(1, 2), keepdim=True).clamp_min(_LEAST)
        answer, memory = joint.sum(dim=2), joint.sum(dim=1)
        if self.apart:
            memory = torch.nn.functional.one_hot(memory.argmax(dim=1), self.memory).to(memory.dtype)
        return answer, memory

    def run(self, worlds: Any, first: Any) -> Any:
        """The answers of whole sequences, tensor [n, steps, answers], the memory passed on.

        Args:
            worlds: tensor [n, steps, worlds].
            first: tensor [n, memory], distribution of the memory before the first step.
        """
        import torch

        answers = []
        memory = first
        for step in range(worlds.shape[1]):
            answer, memory = self.answer(worlds[:, step], memory)
            answers.append(answer)
        return torch.stack(answers, dim=1)


class Traces:
    """What train sequences remember between their steps: free probabilities, followed by Adam.

    Args:
        shared: int64 [sequences, steps - 1]: the number of each memory; those with one number are one.
        seed: seed of the first probabilities, which are nearly one half; None: they are one half.

    Attributes:
        state: the tensors that training changes, by name.
    """

    def __init__(self, shared: Any, memory: int, rate: float, seed: int | None) -> None:
        import torch

        self.shared, self.rate = shared, rate
        n = int(shared.max()) + 1 if shared.numel() else 0
        shape = (n, memory)
        start = torch.full(shape, 0.5)
        if seed is not None:
            draw = torch.Generator().manual_seed(seed)
            start += 0.01 * (torch.rand(shape, generator=draw) - 0.5)
        self.state = {
            "value": start,
            "mean": torch.zeros(shape),
            "square": torch.zeros(shape),
            "times": torch.zeros(n),
        }

    def state_dict(self) -> dict[str, Any]:
        """The probabilities and what Adam keeps of them, for a checkpoint."""
        return self.state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take what a checkpoint has."""
        self.state = dict(state)

    def take(self, rows: Any) -> Any:
        """Tensor [m, steps - 1, memory] of these sequences, which collects a gradient."""
        return self.state["value"][self.shared[rows]].requires_grad_()

    def move(self, rows: Any, gradient: Any) -> None:
        """Steps of Adam for these sequences, against the gradient; probabilities stay in their bounds.

        A memory that several sequences share takes a step for each.
        """
        numbers, gradients = self.shared[rows].flatten(), gradient.flatten(0, 1)
        turn = _turns(numbers)
        for k in range(int(turn.max()) + 1):
            mine = turn == k
            self._step(numbers[mine], gradients[mine])

    def _step(self, rows: Any, gradient: Any) -> None:
        """One step of Adam for different memories."""
        first, second, state = 0.9, 0.999, self.state
        state["times"][rows] += 1
        state["mean"][rows] = first * state["mean"][rows] + (1 - first) * gradient
        state["square"][rows] = second * state["square"][rows] + (1 - second) * gradient**2
        times = state["times"][rows][:, None]
        mean = state["mean"][rows] / (1 - first**times)
        square = state["square"][rows] / (1 - second**times)
        moved = state["value"][rows] - self.rate * mean / (square.sqrt() + 1e-8)
        state["value"][rows] = moved.clamp(CLIP, 1 - CLIP)


def _turns(numbers: Any) -> Any:
    """int64 [m]: how often each number has been there before."""
    import torch

    order = numbers.argsort(stable=True)
    ordered = numbers[order]
    places = torch.arange(len(numbers))
    starts = torch.cat([torch.ones(1, dtype=torch.bool), ordered[1:] != ordered[:-1]])
    turns = torch.empty_like(places)
    turns[order] = places - torch.where(starts, places, 0).cummax(dim=0).values
    return turns


LEAST = 0.5
"""Weight that the likeliest answer and memory of a product must have to become an entry."""


def program(theta: Floats, values: tuple[int, ...], view: View) -> tuple[str, ...]:
    """The rules of a circuit.

    Args:
        theta: float64 [worlds, memory in, answers, memory out], `TableCircuit.theta`.
        values: number of values of each symbol.
    """
    rules = list(_entries(theta, values))
    sequential = view.sequential
    step = "T" if sequential else "1"
    for number, symbol in enumerate(view.symbols):
        rules += [f"symbol({step},{number},{value}) :- {said}." for value, said in enumerate(symbol)]
    memory = view.memory
    rules += [f"memory(T,{value}) :- {said}." for value, said in enumerate(memory)] or ["memory(1,0)."]
    names = [f"X{k}" for k in range(len(values))]
    symbols_of_step = ", ".join(f"symbol(T,{k},{name})" for k, name in enumerate(names))
    body = f"{symbols_of_step}, memory(T,M)"
    key = ",".join(names)
    rules.append(f"answer(T,Y) :- {body}, entry({key},M,Y,N).")
    if sequential:
        rules.append(f"memory(T+1,N) :- {body}, entry({key},M,Y,N).")
    for label, atom in enumerate(view.label_space.atoms):
        if atom is not None:
            rules.append(f"{_at(atom) if sequential else atom} :- answer({step},{label}).")
    return tuple(rules)


def _entries(theta: Floats, values: tuple[int, ...]) -> list[str]:
    """A fact for each product whose weights have become nearly certain."""
    worlds, memory, answers, out = theta.shape
    flat = theta.reshape(worlds, memory, answers * out)
    best, weight = flat.argmax(axis=2), flat.max(axis=2)
    result = []
    for world, came in zip(*np.nonzero(weight >= LEAST), strict=True):
        answer, went = divmod(int(best[world, came]), out)
        symbols: tuple[Any, ...] = np.unravel_index(int(world), values)
        arguments = ",".join(str(int(value)) for value in (*symbols, came, answer, went))
        result.append(f"entry({arguments}).")
    return result


def _at(atom: str) -> str:
    """An atom with the variable ``T`` as its step."""
    name, bracket, arguments = atom.partition("(")
    return f"{name}(T,{arguments}" if bracket else f"{name}(T)"
