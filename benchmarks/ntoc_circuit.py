"""NTOC's table circuit alone, on simulated digits of which 90 % are right: when it finds the rule.

    python benchmarks/ntoc_circuit.py
    python benchmarks/ntoc_circuit.py --search

No image is seen. `--search` lets the rule search shape the circuit, in three rounds.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from nsl_bench.generators.tasks.addition import sums

from nsl_bench.learners.papers.ntoc.circuit import TableCircuit, Traces, ends, literals
from nsl_bench.learners.papers.ntoc.search import SearchedCircuit, facts_of, search_epochs

ROUNDS = 3
"""Searches of `--search`."""


def simulated(n: int, steps: int, right: float, seed: int) -> tuple[Any, Any]:
    """Probabilities [n, steps, 2, 10] of digits of which a share is right, and labels [n, steps]."""
    import torch

    rng = np.random.default_rng(seed)
    digits = rng.integers(0, 10, (n, steps, 2))
    wrong = rng.random(digits.shape) >= right
    shown = np.where(wrong, (digits + rng.integers(1, 10, digits.shape)) % 10, digits)
    probabilities = np.full((*digits.shape, 10), (1 - right) / 9)
    np.put_along_axis(probabilities, shown[..., None], right, axis=-1)
    return torch.as_tensor(probabilities).float(), torch.as_tensor(sums(digits)).long()


def circuit(epochs: int, n: int = 10_000, right: float = 0.9, rounds: int = 0) -> None:
    """Train the circuit alone, searched if there are rounds; print how long it takes to find the rule."""
    import torch

    torch.set_num_threads(1)
    seen, labels = simulated(n, 3, right, 0)
    table = (SearchedCircuit if rounds else TableCircuit)((10, 10), 10, 2)
    traces = Traces(torch.arange(2 * n).reshape(n, 2), 2, 0.01, 0)
    worlds = _worlds(table, seen)
    first = torch.tensor([1.0, 0.0]).expand(n, 2)
    order = torch.Generator().manual_seed(0)
    clock = time.perf_counter()
    for epoch in range(1, epochs + 1):
        if isinstance(table, SearchedCircuit) and epoch - 1 in search_epochs(epochs, rounds):
            came, went = ends(first, traces.take(torch.arange(n)).detach())
            found = table.search(facts_of(worlds.flatten(0, 1), came, labels.flatten(), went))
            print(f"{found.count} of {found.allowed.size} worlds after {found.splits} splits", flush=True)
        for rows in torch.split(torch.randperm(n, generator=order), 256):
            latent = traces.take(rows)
            came, went = ends(first[rows], latent)
            passed = table.explain(worlds[rows].flatten(0, 1), came, labels[rows].flatten(), went, flow=True)
            (passed.symbols - passed.joint).mean().backward()
            traces.move(rows, latent.grad)
            table.learn(passed.flow, 0.02)
        if epoch % 5 == 0:
            print(f"{epoch} epochs, {time.perf_counter() - clock:.1f} s: {_judged(table)}", flush=True)


def _worlds(table: TableCircuit, seen: Any) -> Any:
    """Tensor [n, steps, worlds]."""
    symbols = [literals(seen[:, :, slot].flatten(0, 1)) for slot in range(2)]
    return table.worlds_of(symbols).reshape(*seen.shape[:2], -1)


def _judged(table: TableCircuit) -> str:
    """Wrong entries, and sequence accuracy on true digits."""
    import torch

    best = table.theta.flatten(2).argmax(dim=2)
    total = torch.tensor([[a + b + c for c in (0, 1)] for a in range(10) for b in range(10)])
    words = [f"{int((best != total % 10 * 2 + total // 10).sum())} of 200 entries wrong"]
    for steps in (3, 5, 20):
        seen, labels = simulated(1000, steps, 1.0, 1)
        said = table.run(_worlds(table, seen), torch.tensor([1.0, 0.0]).expand(1000, 2)).argmax(dim=2)
        words.append(f"L={steps} {float((said == labels).all(dim=1).float().mean()):.3f}")
    return ", ".join(words)


def main() -> None:
    """Train the circuit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--search", action="store_true", help="let the rule search shape it")
    parser.add_argument("--epochs", type=int, default=40)
    options = parser.parse_args()
    circuit(options.epochs, rounds=ROUNDS if options.search else 0)


if __name__ == "__main__":
    main()
