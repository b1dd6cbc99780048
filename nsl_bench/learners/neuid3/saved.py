"""Files of trained tests, which other trees reuse."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nsl_bench.errors import UserError
from nsl_bench.learners.neuid3.networks import Networks
from nsl_bench.learners.neuid3.questions import Question, Trained
from nsl_bench.learners.neuid3.tests import NeuralTest
from nsl_bench.learners.neuid3.tree import Node, nodes

__all__ = ["load_tests", "save_tests"]

_VERSION = 1


def save_tests(path: Path, roots: Sequence[Node], slots: Sequence[str]) -> None:
    """Write the neural tests of trees; of several with one name that nearest to the root.

    Raises:
        UserError: no neural tests, or the file cannot be written.
    """
    import torch

    found: dict[str, Trained] = {}
    for root in roots:
        for node in nodes(root):
            if isinstance(node.question, Trained):
                found.setdefault(node.question.name, node.question)
    if not found:
        raise UserError("neuid3: the tree has no trained tests to save.")
    tests = [
        {
            "name": trained.name,
            "slots": [slots[slot] for slot in trained.test.slots],
            "values": trained.test.values,
            "relation": None if trained.test.relation is None else trained.test.relation.tolist(),
            "shared": trained.test.shared,
            "words": trained.test.words,
            "channels": trained.networks.channels,
            "weights": {name: weight.detach().clone() for name, weight in trained.networks.weights.items()},
        }
        for trained in found.values()
    ]
    try:
        torch.save({"neuid3": _VERSION, "tests": tests}, path)
    except (OSError, RuntimeError) as error:
        raise UserError(f"neuid3: {path} cannot be written ({error}).") from error


def load_tests(path: Path, slots: Sequence[str]) -> list[Question]:
    """Read trained tests for a task with these slots.

    Raises:
        UserError: a missing or damaged file, or slots that the task lacks.
    """
    import torch

    if not path.is_file():
        raise UserError(f"neuid3: the file {path} of trained tests does not exist.")
    try:
        kept = torch.load(path, weights_only=True)
        if kept["neuid3"] != _VERSION:
            raise ValueError(f"version {kept['neuid3']}")
        return [_test(one, slots) for one in kept["tests"]]
    except UserError:
        raise
    except (
        RuntimeError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        EOFError,
        OSError,
        pickle.UnpicklingError,
    ) as error:
        raise UserError(f"neuid3: {path} is not a file of trained tests ({error}).") from error


def _test(kept: dict[str, Any], slots: Sequence[str]) -> Trained:
    import numpy as np

    missing = [slot for slot in kept["slots"] if slot not in slots]
    if missing:
        raise UserError(
            f"neuid3: the trained test {kept['name']} looks at '{missing[0]}', which this task lacks; "
            f"its slots are {', '.join(slots)}."
        )
    relation = None if kept["relation"] is None else np.array(kept["relation"], np.float32)
    first, second = (slots.index(slot) for slot in kept["slots"])
    test = NeuralTest(
        kept["name"], (first, second), int(kept["values"]), relation, bool(kept["shared"]), str(kept["words"])
    )
    networks = Networks([replace(test)], int(kept["channels"]))
    for name, weight in networks.weights.items():
        if kept["weights"][name].shape != weight.shape:
            raise ValueError(f"{name} has the wrong shape")
        networks.weights[name] = kept["weights"][name]
    return Trained(networks)
