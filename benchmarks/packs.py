"""Packs of predictions as a data set of their own: what networks see in every image of every task.

    nice -n 5 python benchmarks/packs.py --out packs/

A folder for each task and network has ``predictions.parquet``: for each image of pools A and B, standard and
under each of the task's shifts, its hash and the probability of each class. So it serves every share of
shifted examples and every train split: ``nsl-bench run TASK --network predictions:packs/TASK-NETWORK ...``. A
folder that is there is kept; the same command again does what is missing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import nsl_bench
from nsl_bench.core import cache, registry
from nsl_bench.core.shift import STANDARD, named_shifts, resolve
from nsl_bench.core.types import PoolPart
from nsl_bench.data.splits import make_source
from nsl_bench.perception.predict import predict
from nsl_bench.perception.trained_networks import trained

NETWORKS = ("softmax", "edl_gen")
PARTS: tuple[PoolPart, ...] = ("a", "b")
CARD = """\
---
license: mit
configs:
{configs}
---
# Predictions of nsl-bench

What networks see in the images of nsl-bench's tasks: one row for each image of pools A (train sets) and B
(test sets), standard and under each shift. `hash` stands for the pixels, and each class has its probability.
Use a folder as `--network predictions:FOLDER`, which needs neither training nor torch.
"""


def pack(folder: Path, name: str, spec: str) -> None:
    """Write the predictions of a network on a task's embedded images."""
    task = registry.create("benchmark", name)
    source = make_source(task)
    network = trained(spec, task, source)
    tables, known = [], set[str]()
    for part in PARTS:
        for shift in (STANDARD, *named_shifts(task, source)):
            rows = np.arange(len(source.labels(part)))
            values, digests = predict(network, source, part, resolve(shift, task, source), rows)
            hashes = [digest.tobytes().hex() for digest in digests]
            new = [k for k, text in enumerate(hashes) if text not in known]
            known.update(hashes)
            where = {"pool": [part] * len(new), "image": rows[new], "shift": [shift] * len(new)}
            classes = dict(zip(network.concepts, values[new].T, strict=True))
            tables.append(pa.table({"hash": [hashes[k] for k in new], **where, **classes}))
    folder.mkdir(parents=True, exist_ok=True)
    with cache.replacing(folder / "predictions.parquet") as temporary:
        pq.write_table(pa.concat_tables(tables), temporary, compression="zstd")


def main() -> None:
    """Make what is missing, and the card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("packs"))
    parser.add_argument("--task", action="append", help="default: every task with images")
    parser.add_argument("--network", action="append", help=f"default: {', '.join(NETWORKS)}")
    given = parser.parse_args()
    for task in given.task or [one.name for one in nsl_bench.list_tasks() if one.slots]:
        for network in given.network or NETWORKS:
            folder = given.out / f"{task}-{network}".replace(":", "_")
            if not (folder / "predictions.parquet").is_file():
                try:
                    pack(folder, task, network)
                    print(f"{folder}: written", flush=True)
                except nsl_bench.UserError as error:
                    print(f"{folder}: {error}", file=sys.stderr)
    names = sorted(path.parent.name for path in given.out.glob("*/predictions.parquet"))
    configs = "\n".join(f"- config_name: {one}\n  data_files: {one}/predictions.parquet" for one in names)
    (given.out / "README.md").write_text(CARD.format(configs=configs), encoding="utf-8")


if __name__ == "__main__":
    main()
