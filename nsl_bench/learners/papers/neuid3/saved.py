"""Files of trained tests, which other trees reuse: safetensors, so that reading one runs no code."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.learners.papers.neuid3.networks import Networks
from nsl_bench.learners.papers.neuid3.questions import Question, Trained
from nsl_bench.learners.papers.neuid3.tests import FEATURES, NeuralTest
from nsl_bench.learners.papers.neuid3.tree import Node, nodes

_VERSION = 2
_HEADER = "neuid3"
_NAME = re.compile(r"[a-z]\w*", re.ASCII)
_MOST_VALUES = 256
_CHANNELS = (1, 3)


def save_tests(path: Path, roots: Sequence[Node], slots: Sequence[str]) -> None:
    """Write the neural tests of trees; of several with one name that nearest to the root."""
    from safetensors.torch import save

    distinct: dict[str, Trained] = {}
    for root in roots:
        for node in nodes(root):
            if isinstance(node.question, Trained):
                distinct.setdefault(node.question.name, node.question)
    if not distinct:
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
        }
        for trained in distinct.values()
    ]
    tensors = {
        f"{trained.name}/{name}": weight.detach().clone().contiguous()
        for trained in distinct.values()
        for name, weight in trained.networks.weights.items()
    }
    header = {_HEADER: json.dumps({"version": _VERSION, "tests": tests})}
    try:
        path.write_bytes(save(tensors, metadata=header))
    except OSError as error:
        raise UserError(f"neuid3: {path} cannot be written ({error.strerror}).") from error


def load_tests(path: Path, slots: Sequence[str]) -> list[Question]:
    """Read trained tests for a task with these slots."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise UserError(f"neuid3: the file {path} of trained tests does not exist.")
    try:
        with safe_open(str(path), framework="pt") as file:
            header = json.loads((file.metadata() or {})[_HEADER])
            if header["version"] != _VERSION:
                raise ValueError(f"version {header['version']} instead of {_VERSION}")
            tests = [_test(one, slots) for one in header["tests"]]
            if len({test.name for test, _ in tests}) < len(tests):
                raise ValueError("two tests of one name")
            return [Trained(_networks(test, channels, file)) for test, channels in tests]
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else error
        raise UserError(f"neuid3: {path} is not a file of trained tests ({reason}).") from error


def _test(entry: dict[str, Any], slots: Sequence[str]) -> tuple[NeuralTest, int]:
    """A test, and the number of channels of its images."""
    name, values, channels = entry["name"], entry["values"], entry["channels"]
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError("the name of a test must be a name of a predicate")
    if len(entry["slots"]) != 2:
        raise ValueError(f"{name} must have two slots")
    missing = [slot for slot in entry["slots"] if slot not in slots]
    if missing:
        raise NotApplicable(
            f"neuid3: the trained test {name} looks at '{missing[0]}', which this task lacks; its slots are "
            f"{', '.join(slots)}."
        )
    if type(values) is not int or not 1 <= values <= _MOST_VALUES or channels not in _CHANNELS:
        raise ValueError(f"{name} has {values} values and {channels} channels")
    relation = None if entry["relation"] is None else np.array(entry["relation"], np.float32)
    if relation is None and values != FEATURES:
        raise ValueError(f"{name} has {values} values instead of {FEATURES}")
    if relation is not None and (relation.shape != (values, values) or not np.isin(relation, (0, 1)).all()):
        raise ValueError(f"{name} must have a relation of {values} x {values} zeros and ones")
    first, second = (list(slots).index(slot) for slot in entry["slots"])
    test = NeuralTest(name, (first, second), values, relation, bool(entry["shared"]), str(entry["words"]))
    return test, int(channels)


def _networks(test: NeuralTest, channels: int, file: Any) -> Networks:
    """The networks of a test with the weights of a file."""
    import torch

    networks = Networks([test], channels)
    for name, weight in networks.weights.items():
        given = file.get_slice(f"{test.name}/{name}")
        if tuple(given.get_shape()) != tuple(weight.shape) or given.get_dtype() != "F32":
            raise ValueError(f"{test.name}: {name} has the wrong shape or type")
        read = given[:]
        if not torch.isfinite(read).all():
            raise ValueError(f"{test.name}: {name} must be finite")
        networks.weights[name] = read
    return networks
