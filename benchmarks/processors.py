"""What is equal on all processors, and how far the rest differs: every kind of result under every setting.

    python benchmarks/processors.py --keep FILE    all settings, resumed, and docs/results/processors.md
    python benchmarks/processors.py --page         the page from its tables
    python benchmarks/processors.py one            this process's results as JSON

A setting makes libraries take the instructions of an older processor, or another number of threads. Each is a
process of its own with an empty cache.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pictures
from pages import DOCS, Top, kept, kept_table, markdown, page, points

from nsl_bench.core import registry
from nsl_bench.core.shift import STANDARD, named_shifts, resolve
from nsl_bench.data.content import content_hash
from nsl_bench.data.splits import make_source, make_split
from nsl_bench.perception import trained_networks
from nsl_bench.perception.predict import image_digests
from nsl_bench.perception.trained_networks import figures
from nsl_bench.run.bench import Bench
from nsl_bench.run.plan import plan

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


def rows(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[dict[str, str]]:
    """A row for each result: under how many settings it is equal, and the range of its numbers."""
    for name, first in found["as it is"].items():
        values = [results[name] for results in found.values()]
        equal = sum(value["same"] == first["same"] for value in values)
        ranges = [
            f"{number.replace('_', ' ')} {min(v[number] for v in values):.3f} to "
            f"{max(v[number] for v in values):.3f}"
            for number in first
            if number != "same"
        ]
        yield {"result": name, "equal": str(equal), "of": str(len(values)), "numbers": "; ".join(ranges)}


def write(docs: Path) -> Path:
    """Write the page and its picture from its tables."""
    found = kept_table(docs, "processors", "results")
    exact = found[found["numbers"] == ""]
    everywhere = bool((exact["equal"] == exact["of"]).all())
    spans = []
    for name, numbers in zip(found["result"], found["numbers"], strict=True):
        for metric, least, most in re.findall(r"([a-z ]+) ([\d.]+) to ([\d.]+)", numbers):
            if metric.strip().replace(" ", "_") in METRICS:
                spans.append((float(most) - float(least), name, metric.strip(), f"{least} to {most}"))
    differ = [
        {"learner": name, "metric": metric, "least and greatest": ends, "width": points(width).strip("+")}
        for width, name, metric, ends in sorted(spans, reverse=True)
        if width
    ]
    trained_here = found[found["numbers"] != ""]
    counts = trained_here["equal"].astype(int)
    drawn = found.assign(
        panel="", row=found["result"], series="", mean=found["equal"].astype(float), error=0.0
    )
    names = ", ".join(f"*{name}*" for name in kept_table(docs, "processors", "settings")["setting"])
    told = "equal everywhere" if everywhere else "not equal everywhere"
    return page(
        docs,
        "processors",
        Top(
            "Results on other processors",
            "You get the same data on every processor; do you get the same results?",
            f"Data and shipped confidences are {told}; scores differ by at most "
            f"{points(max(spans)[0]).strip('+')}.",
            "python benchmarks/processors.py --page",
            "For each result, the number of settings under which it is equal",
        ),
        pictures.dots(
            drawn, docs / "processors" / "equal.png", "settings under which it is equal", columns=1
        ),
        f"Weights, rules and scores of what is trained are equal under {counts.min()} to {counts.max()} of "
        f"{trained_here['of'].iloc[0]} settings. These scores differ:\n\n{markdown(differ)}",
        "Everything runs under several settings on one machine, each in its own process. A setting makes "
        "libraries use an older processor's instructions, or another number of threads. What is trained with "
        f"torch in float32 differs. Measured: {names}.\n\n"
        "Learners train on one thread, from a seed: a second run on a machine gives the same, and so does "
        "another number of threads. Instructions round differently, above all in oneDNN's convolutions, and "
        "a training ends as with another seed. Each train split has its own training. So the spread over "
        "train splits, and with it the board's intervals, holds this difference.",
        {
            "results": "under how many settings each result is equal, and the range of its numbers",
            "settings": "what was measured",
        },
        first="Where results differ",
        again="python benchmarks/processors.py --keep FILE",
    )


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["all", "one"], default="all")
    parser.add_argument("--keep", type=Path, help="JSON file of finished settings, from which it goes on")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--docs", type=Path, default=DOCS)
    parser.add_argument("--page", action="store_true", help="write the page from its tables")
    options = parser.parse_args()
    if options.what == "one":
        print(json.dumps(here()))
        return
    kept_file: Path | None = options.keep
    found = json.loads(kept_file.read_text()) if kept_file is not None and kept_file.is_file() else {}
    for name in [] if options.page else options.settings:
        if name not in found:
            found[name] = under(SETTINGS[name])
            print(name, file=sys.stderr)
            if kept_file is not None:
                kept_file.write_text(json.dumps(found))
        known = {name: found[name] for name in SETTINGS if name in found}
        kept(options.docs, "processors", "results", list(rows(known)))
        kept(options.docs, "processors", "settings", [{"setting": name} for name in known])
    write(options.docs)


if __name__ == "__main__":
    main()
