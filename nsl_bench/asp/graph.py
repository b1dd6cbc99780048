"""Graphs of dependencies between predicates."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

__all__ = ["strong_components"]

Node = TypeVar("Node", bound=Hashable)


def strong_components(graph: Mapping[Node, Iterable[Node]]) -> dict[Node, int]:
    """The number of each node's strongly connected component (Tarjan's algorithm, without recursion)."""
    order: dict[Node, int] = {}
    low: dict[Node, int] = {}
    component: dict[Node, int] = {}
    stack: list[Node] = []
    for root in list(graph):
        if root in order:
            continue
        order[root] = low[root] = len(order)
        stack.append(root)
        work = [(root, iter(graph[root]))]
        while work:
            node, successors = work[-1]
            for successor in successors:
                if successor not in order:
                    order[successor] = low[successor] = len(order)
                    stack.append(successor)
                    work.append((successor, iter(graph.get(successor, ()))))
                    break
                if successor not in component:
                    low[node] = min(low[node], order[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    while True:
                        member = stack.pop()
                        component[member] = order[node]
                        if member == node:
                            break
    return component
