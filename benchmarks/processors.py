"""What is equal on all processors, and how far the rest differs: every kind of result under every setting.

    python benchmarks/processors.py --keep FILE    all settings, resumed, and docs/results/processors.md
    python benchmarks/processors.py one            this process's results as JSON

A setting makes libraries take the instructions of an older processor, or another number of threads. Each is a
process of its own with an empty cache.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nsl_bench.core import registry
from nsl_bench.core.shift import STANDARD, named_shifts, resolve
from nsl_bench.data.content import content_hash
from nsl_bench.data.splits import make_source, make_split
from nsl_bench.perception import trained_networks
from nsl_bench.perception.predict import image_digests
from nsl_bench.perception.trained_networks import figures
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan

PAGE = Path(__file__).parents[1] / "docs" / "results" / "processors.md"

_NO_ONEDNN = "PROCESSORS_NO_ONEDNN"

_OLDEST = {
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    "NUMBA_CPU_NAME": "generic",
    "OPENBLAS_CORETYPE": "Nehalem",
    "OPENCV_CPU_DISABLE": "AVX,AVX2,AVX512-SKX,FP16",
    _NO_ONEDNN: "1",
}

SETTINGS: Mapping[str, Mapping[str, str]] = {
    "as it is": {},
    "all libraries: SSE4.1": _OLDEST,
    "4 threads": {"OMP_NUM_THREADS": "4"},
    "oneDNN: SSE4.1": {"ONEDNN_MAX_CPU_ISA": "SSE41"},
    "oneDNN: AVX2": {"ONEDNN_MAX_CPU_ISA": "AVX2"},
    "oneDNN: AVX-512": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"},
    "without oneDNN": {_NO_ONEDNN: "1"},
    "torch: no vectors": {"ATEN_CPU_CAPABILITY": "default"},
    "torch: AVX2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "torch: AVX-512": {"ATEN_CPU_CAPABILITY": "avx512"},
    "2 threads": {"OMP_NUM_THREADS": "2"},
}

SHIPPED = (
    ("follow_suit", "softmax"),
    ("follow_suit", "edl_gen"),
    ("sudoku_4x4", "softmax"),
    ("sudoku_9x9", "edl_gen"),
    ("crop_yield", "softmax"),
    ("indoor_scene", "softmax"),
)

TRAINED = ("softmax:epochs=8", "edl_gen:epochs=20")

ON_SHIPPED = ("random_forest", "ffnsl", "fcn:epochs=20", "cnn_lstm")
"""Learners that are given the confidences of shipped weights."""

ON_IMAGES = ("slot_cnn:epochs=20", "vit:epochs=5")
"""Learners that train convolutions themselves."""

ON_SEQUENCES = ("ntoc:epochs=3",)

METRICS = ("hypothesis_accuracy", "framework_accuracy", "brier_score")


def _digest(*parts: object) -> str:
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:16]


def data_sets() -> Iterator[tuple[str, str]]:
    """A content hash of a few examples of each task, over all its named shifts."""
    for name in registry.names("benchmark"):
        task = registry.create("benchmark", name)
        source, hashes = make_source(task), []
        for short in (STANDARD, *sorted(named_shifts(task, source))):
            split = make_split(task, source, "train", "8", percent=0 if short == STANDARD else 50)
            digests = image_digests(split, source, resolve(short, task, source))
            hashes.append(content_hash(split, task, digests))
        yield f"data of {name}", _digest(*hashes)


def shipped() -> Iterator[tuple[str, str]]:
    """A digest of the confidences that shipped weights have in a few images."""
    for task, network in SHIPPED:
        benchmark = registry.create("benchmark", task)
        source = make_source(benchmark)
        made = trained_networks.trained(network, benchmark, source, device="cpu", progress=False)
        images = source.render("b", np.arange(min(64, len(source.labels("b")))))
        yield f"confidences of {network} on {task}", _digest(made.predict_proba(images).tobytes().hex())


def trained() -> Iterator[tuple[str, dict[str, Any]]]:
    """Networks that are trained here: weights, accuracy and confidence."""
    task = registry.create("benchmark", "sudoku_4x4")
    source = make_source(task)
    for spec in TRAINED:
        network = trained_networks.train_network(spec, task, source, device="cpu")
        found = figures(network, source)
        numbers = {"accuracy": found.accuracy, "mean confidence": found.confidence}
        yield f"{spec} trained", {"same": network.fingerprint(), **numbers}


def learners() -> Iterator[tuple[str, dict[str, Any]]]:
    """Runs of learners: labels and rules, and metrics."""
    bench = Bench("cpu")
    for task, specs in (("sudoku_4x4", (*ON_SHIPPED, *ON_IMAGES)), ("addition", ON_SEQUENCES)):
        for spec in specs:
            (job,) = plan(task, [spec])
            outcome = bench.run(job)
            if outcome.predictions is None:
                raise SystemExit(f"{spec}: {outcome.record.status}: {outcome.record.message}")
            numbers = {name: v for name, v in outcome.record.metrics.items() if name in METRICS}
            same = _digest(outcome.record.hypothesis, sorted(numbers.items()))
            yield f"{spec} on {task}", {"same": same, **numbers}


def here() -> dict[str, dict[str, Any]]:
    """All results of this process."""
    import torch

    torch.backends.mkldnn.enabled = _NO_ONEDNN not in os.environ  # type: ignore[assignment]
    found: dict[str, dict[str, Any]] = {}
    for name, digest in (*data_sets(), *shipped()):
        found[name] = {"same": digest}
    found.update(trained())
    found.update(learners())
    return found


def under(setting: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The results of a process under a setting."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", **setting, "NSL_BENCH_CACHE": cache}
        command = [sys.executable, __file__, "one"]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> pd.DataFrame:
    """A row for each result: under how many settings it is equal, and the range of its numbers."""
    rows = []
    for name, first in found["as it is"].items():
        values = [results[name] for results in found.values()]
        other = [setting for setting in found if found[setting][name]["same"] != first["same"]]
        spread = {}
        for number in first:
            if number != "same":
                numbers = [value[number] for value in values]
                spread[number] = f"{min(numbers):.3f} to {max(numbers):.3f}"
        equal = f"{len(values) - len(other)} of {len(values)}"
        told = "; ".join(f"{key.replace('_', ' ')} {value}" for key, value in spread.items())
        rows.append({"result": f"`{name}`" if spread else name, "equal under": equal, "numbers": told})
    return pd.DataFrame(rows)


def page(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """The page of results."""
    made = table(found)
    exact = made[made["numbers"] == ""]
    everywhere = bool((exact["equal under"] == f"{len(found)} of {len(found)}").all())
    rest = made[made["numbers"] != ""]
    widest = max(
        max(results[name][metric] for results in found.values())
        - min(results[name][metric] for results in found.values())
        for name, first in found["as it is"].items()
        for metric in first
        if metric in METRICS
    )
    told = "are equal everywhere" if everywhere else "are not equal everywhere"
    settings = ", ".join(f"*{name}*" for name in found)
    missing = ", ".join(f"*{name}*" for name in SETTINGS if name not in found)
    left = f"\nNot measured yet: {missing}.\n" if missing else ""
    return f"""# Results on other processors

You get the same data on every processor; do you get the same results?

**Data and shipped confidences {told}; scores differ by at most {widest:.3f}.**

Made by `python benchmarks/processors.py`.

It runs everything under several settings on one machine. What is trained with torch in float32 differs.
Settings make libraries use an older processor's instructions, or another number of threads by default.
Measured: {settings}.
{left}
## Data and confidences

{exact.drop(columns="numbers").to_markdown(index=False)}

## Trained networks and learners

Equal are weights (networks), or rules and metrics (learners). Numbers are the least and the greatest.

{rest.to_markdown(index=False)}
"""


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["all", "one"], default="all")
    parser.add_argument("--keep", type=Path, help="JSON file of finished settings, from which it goes on")
    options = parser.parse_args()
    if options.what == "one":
        print(json.dumps(here()))
        return
    kept: Path | None = options.keep
    found = json.loads(kept.read_text()) if kept is not None and kept.is_file() else {}
    for name, setting in SETTINGS.items():
        if name not in found:
            found[name] = under(setting)
            print(name, file=sys.stderr)
            if kept is not None:
                kept.write_text(json.dumps(found))
        known = {name: found[name] for name in SETTINGS if name in found}
        PAGE.write_text(page(known), encoding="utf-8")


if __name__ == "__main__":
    main()
