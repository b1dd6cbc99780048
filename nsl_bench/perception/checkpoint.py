"""Checkpoints: the state of a training after each epoch, in a safetensors file.

A checkpoint has everything that the next epoch depends on: parameters, buffers, the optimisers' state, and
the state of both random generators. A resumed training therefore ends with the same weights as one that was
never interrupted.
"""

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench.core import cache


class Checkpoint:
    """A file with the state of a training, rewritten after every epoch.

    Args:
        path: the file; None to keep no state.
        identity: identifies the training; the file of another training is ignored.
    """

    def __init__(self, path: Path | None, identity: str) -> None:
        self.path = path
        self.identity = identity

    def write(self, epoch: int, parts: Mapping[str, Any], order: np.random.Generator) -> None:
        """Save the state after an epoch.

        Args:
            parts: modules and optimisers by name; each has a `state_dict`.
        """
        if self.path is None:
            return
        import torch
        from safetensors.torch import save

        tensors: dict[str, Any] = {}
        state = {name: part.state_dict() for name, part in parts.items()}
        generators = {"torch": torch.get_rng_state()}
        if torch.cuda.is_available():
            generators |= {f"cuda{i}": s for i, s in enumerate(torch.cuda.get_rng_state_all())}
        header = {
            "identity": self.identity,
            "epoch": epoch,
            "order": order.bit_generator.state,
            "state": _flatten({"parts": state, "generators": generators}, "", tensors),
        }
        header["digest"] = _digest(header, tensors)
        data = save(tensors, metadata={"nsl_bench_training": json.dumps(header)})
        with cache.replacing(self.path) as temporary:
            temporary.write_bytes(data)

    def read(self, parts: Mapping[str, Any], order: np.random.Generator) -> int:
        """Restore the state from the file; returns the epochs done, 0 if no file fits or is whole."""
        if self.path is None or not self.path.is_file():
            return 0
        import torch
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(str(self.path), framework="pt") as file:
                header = json.loads((file.metadata() or {}).get("nsl_bench_training", "{}"))
                if header.get("identity") != self.identity:
                    return 0
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if header.pop("digest", None) != _digest(header, tensors):
                return 0
        except (SafetensorError, OSError, ValueError, AttributeError):
            return 0
        state = _restore(header["state"], tensors)
        for name, part in parts.items():
            part.load_state_dict(state["parts"][name])
        torch.set_rng_state(state["generators"]["torch"])
        with contextlib.suppress(KeyError):
            for i in range(torch.cuda.device_count()):
                torch.cuda.set_rng_state(state["generators"][f"cuda{i}"], i)
        order.bit_generator.state = header["order"]
        return int(header["epoch"])

    def remove(self) -> None:
        """Delete the file once the training has finished."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _digest(header: Mapping[str, Any], tensors: Mapping[str, Any]) -> str:
    """Hash of everything in a file, by which damage is seen."""
    import torch

    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _flatten(value: Any, name: str, tensors: dict[str, Any]) -> Any:
    """A JSON value for nested dicts, lists and tensors; the tensors go to `tensors`."""
    import torch

    if isinstance(value, torch.Tensor):
        # Two names may share one storage, which safetensors refuses; a copy is simple and costs little.
        tensors[name] = value.detach().to("cpu", copy=True).contiguous()
        return {"tensor": name}
    if isinstance(value, Mapping):
        return {"map": [[key, _flatten(v, f"{name}/{key}", tensors)] for key, v in value.items()]}
    if isinstance(value, list | tuple):
        return {"list": [_flatten(v, f"{name}/{i}", tensors) for i, v in enumerate(value)]}
    return {"value": value}


def _restore(value: Mapping[str, Any], tensors: Mapping[str, Any]) -> Any:
    (kind, content), *_ = value.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "map":
        return {key: _restore(v, tensors) for key, v in content}
    if kind == "list":
        return [_restore(v, tensors) for v in content]
    return content
