"""A neurosymbolic decision tree: its answers, its rules, and its picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from nsl_bench.learners.papers.neuid3.questions import Data, Path, Question


@dataclass(eq=False)
class Node:
    """A node of a tree, and all below it.

    Attributes:
        share: P(positive | path), estimated on the train examples.
        reach: sum of P(path | example) over the train examples.
        gain: information gain of the question, in bits.
        yes, no: what follows; None for a leaf.
    """

    share: float
    reach: float
    question: Question | None = None
    gain: float = 0.0
    yes: Node | None = None
    no: Node | None = None


def answer(root: Node, data: Data) -> Any:
    """float64 tensor [n]: P(positive | example), the sum over leaves of ``share * P(leaf | example)``."""
    import torch

    rows = torch.arange(data.n)

    def below(node: Node, path: Path) -> Any:
        if node.question is None or node.yes is None or node.no is None:
            return torch.full((data.n,), node.share, dtype=torch.float64)
        holds = node.question.given(data, rows, path).double()
        yes, no = (
            below(child, (*path, (node.question, side)))
            for child, side in ((node.yes, True), (node.no, False))
        )
        return holds * yes + (1 - holds) * no

    return below(root, ())


def nodes(root: Node) -> Iterator[Node]:
    """All nodes that ask something, from the root on."""
    if root.question is not None and root.yes is not None and root.no is not None:
        yield root
        yield from nodes(root.yes)
        yield from nodes(root.no)


def branches(root: Node, path: Path = ()) -> Iterator[tuple[Node, Path]]:
    """Each leaf with its path."""
    if root.question is None or root.yes is None or root.no is None:
        yield root, path
        return
    yield from branches(root.yes, (*path, (root.question, True)))
    yield from branches(root.no, (*path, (root.question, False)))


def rules_of(root: Node, label: str) -> list[str]:
    """One rule for each leaf, with its probability and the share of the train examples that reach it."""
    rules = []
    for leaf, path in branches(root):
        tests = " and ".join(
            question.words if holds else f"not ({question.words})" for question, holds in path
        )
        reached = leaf.reach / max(root.reach, 1e-12)
        conclusion = f"{label} with probability {leaf.share:.3f}"
        rules.append(f"{conclusion} if {tests} (reached by {reached:.1%})" if tests else conclusion)
    return rules


def draw(roots: dict[str, Node], path: FilePath) -> None:
    """Draw trees by the label that they find, one below the other, into a file."""
    from matplotlib.figure import Figure

    leaves = max(sum(1 for _ in branches(root)) for root in roots.values())
    depth = max(max(len(at) for _, at in branches(root)) for root in roots.values())
    figure = Figure((2 + 2.2 * leaves, (1.5 + 1.3 * depth) * len(roots)), layout="constrained")
    for k, (label, root) in enumerate(roots.items()):
        axis = figure.add_subplot(len(roots), 1, k + 1)
        axis.set_axis_off()
        axis.set_title(label)
        _place(axis, root, 0, iter(range(leaves)), root.reach)
        axis.margins(0.12, 0.15)
    figure.savefig(path)


def _place(axis: Any, node: Node, depth: int, free: Iterator[int], total: float) -> tuple[float, float]:
    """Draw a node and what is below it; returns where it is."""
    box = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": "0.4"}
    if node.question is None or node.yes is None or node.no is None:
        x = float(next(free))
        text = f"{node.share:.2f}\n{node.reach / max(total, 1e-12):.0%} of examples"
        box["facecolor"] = "#d9ead3" if node.share >= 0.5 else "#f4cccc"
    else:
        below = [_place(axis, child, depth + 1, free, total) for child in (node.yes, node.no)]
        x = (below[0][0] + below[1][0]) / 2
        text = f"{node.question.words}\ngain {node.gain:.2f} bits"
        for (cx, cy), word in zip(below, ("yes", "no"), strict=True):
            axis.plot([x, cx], [-depth, cy], color="0.6", zorder=0)
            axis.text((x + cx) / 2, (cy - depth) / 2, word, fontsize=8, color="0.3", ha="center")
    axis.text(x, -depth, text, ha="center", va="center", fontsize=9, bbox=box)
    axis.plot([x], [-depth], alpha=0)
    return x, float(-depth)
