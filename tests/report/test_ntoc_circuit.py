"""The table circuit alone on simulated digits: benchmarks/ntoc_circuit.py."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest


@pytest.mark.parametrize("rounds", [0, 2])
def test_the_circuit_finds_the_rule(
    script: Callable[[str], ModuleType], rounds: int, capsys: pytest.CaptureFixture[str]
) -> None:
    script("ntoc_circuit").circuit(20, n=4000, rounds=rounds)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("20 epochs, ")
    assert "0 of 200 entries wrong" in lines[-1]
    assert sum("worlds after" in line for line in lines) == rounds
