"""Graphs of dependencies: strongly connected components, and what depends on what."""

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def strong_components(graph: Mapping[Node, Iterable[Node]]) -> dict[Node, int]:
    """The number of each node's strongly connected component.

    Tarjan: "Depth-first search and linear graph algorithms", 1972, with a stack in place of recursion.

    Args:
        graph: each node with its successors; a successor need not have an entry.

    Returns:
        Nodes come component by component, and each component after those that it leads to.
    """
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


def dependents(users: Mapping[Node, Iterable[Node]], given: Iterable[Node]) -> frozenset[Node]:
    """The nodes in `given` and all that can be reached from them.

    Args:
        users: each node with those that depend on it.
        given: where to start.
    """
    result: set[Node] = set()
    left = list(given)
    while left:
        node = left.pop()
        if node not in result:
            result.add(node)
            left += users.get(node, ())
    return frozenset(result)
