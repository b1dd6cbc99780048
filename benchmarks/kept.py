"""Runs of long studies that the repository keeps, so that a clone makes their pages without repeating them.

docs/results/runs/NAME is a results folder with records only: no predictions, no logs. A study starts from it
and does what is missing.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from nsl_bench.run.record import Record
from nsl_bench.run.store import Store

__all__ = ["keep", "say", "take"]


def say(record: Record) -> None:
    """A failed run, to standard error."""
    print(record.job, record.message, file=sys.stderr)


def take(kept: Path, store: Store) -> None:
    """Copy the kept records that a results folder lacks into it."""
    if not kept.is_dir():
        return
    there = store.statuses()
    for key, record in Store(kept, must_exist=True).latest().items():
        if key not in there:
            store.add(record)


def keep(store: Store, keys: Collection[str], kept: Path) -> int:
    """Add the records of some runs to the kept ones, without branches of trees, which no page reads.

    Args:
        store: the results folder of a study.
        keys: of the runs.
        kept: folder of the kept records.

    Returns:
        The number of added records.
    """
    folder = Store(kept)
    there = folder.statuses()
    new = [record for key, record in store.latest().items() if key in keys and key not in there]
    whole = Store(kept.with_name(f".{kept.name}"))  # in one file, which packs better than several
    for record in (*folder.latest().values(), *new):
        is_tree = record.hypothesis is not None and record.hypothesis.language == "tree"
        whole.add(replace(record, hypothesis=None) if is_tree else record)
    whole.compact()
    for path in whole.folder.glob("records-*.parquet"):
        _pack(path)
    for name in (whole.records_file, *whole.folder.glob(".*.lock")):
        name.unlink(missing_ok=True)
    shutil.rmtree(kept)
    whole.folder.rename(kept)
    return len(new)


def _pack(path: Path) -> None:
    """Write a parquet file as small as it gets: the records alone, in one page."""
    whole = {"row_group_size": 1 << 20, "data_page_size": 1 << 26, "dictionary_pagesize_limit": 1 << 26}
    pq.write_table(
        pq.read_table(path, columns=["record"]), path, compression="brotli", compression_level=11, **whole
    )
