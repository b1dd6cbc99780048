"""The entrants' package of a sealed round: a folder for each run, as `nsl-bench export` writes it.

Test examples have neither labels nor true concepts. Their order follows the secret seed, and their names are
their positions in it. Files depend on the values of their columns only. `part_digest` hashes the content,
labels of train examples and pixels, independently of the file format.
"""

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import BLANK, Split
from nsl_bench.data.content import canonical_row, image_digest, pixels
from nsl_bench.data.rows import SEQUENCE_COLUMNS, known_columns
from nsl_bench.data.splits import make_source
from nsl_bench.learners.base import About
from nsl_bench.perception.predict import image_digests
from nsl_bench.run.bench import Bench
from nsl_bench.run.exchange import export
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.sandbox.sealing import DataSeed

from ..contests import Cell, Contest
from .model import Grid, Place, Round, place_seed

ROUND_FILE = "round.json"
"""The round's public file, as it lies in what entrants get."""

ENTRANT = "mine"
"""What the folders call the learner."""


def places_of(contest: Contest, track: str = "pretrained") -> list[Cell]:
    """The shifts and shares of a contest, each once, as their first runs."""
    return [cell for cell in contest.cells_of(track) if cell.repeat == 1]


def jobs_at(
    contest: Contest,
    cell: Cell,
    commitment: str,
    learner: str,
    network: str,
    describe: Callable[[str], About],
    *,
    symbolic: bool = False,
) -> list[Job]:
    """The runs of a learner at a place of a contest, one a repeat."""
    return plan(
        contest.task,
        [learner],
        **contest.shift_pair(cell).lists(),
        repeats=range(1, contest.repeats + 1),
        sizes=[contest.size],
        sources=contest.source,
        networks=network,
        track="symbolic" if symbolic else "own",
        seed=contest.seed,
        sealed=commitment,
        describe=describe,
        test_tasks=[contest.test_task],
    )


def write_contest(
    contest: Contest, out: Path, round_name: str, seed: DataSeed, bench: Bench, network: str
) -> Grid:
    """Write the folders of a contest.

    Args:
        bench: makes the data; its seed is set to that of each place in turn.
        network: whose probabilities are handed out.

    Returns:
        The contest as the round's public file has it.
    """
    places = []
    fingerprint = ""
    for cell in places_of(contest):
        place = DataSeed(place_seed(seed.secret, round_name, contest.name, cell), seed.file)
        jobs = jobs_at(contest, cell, place.commitment, ENTRANT, network, _entrant("pretrained"))
        fingerprint = jobs[0].source_fingerprint
        bench.data_seed = place
        for _ in export(jobs, out, bench, images=True):
            pass
        places.append(_place(cell, jobs, bench, place.commitment))
    values = {f.name: getattr(contest, f.name) for f in fields(Contest)}
    return Grid(**values, network=network, source_fingerprint=fingerprint, places=tuple(places))


def made_again(grid: Grid, round_: Round) -> Iterator[Place]:
    """The places of a contest, made again from the seed of a revealed round."""
    bench = Bench()
    for cell in places_of(grid):
        place = DataSeed(place_seed(round_.secret, round_.name, grid.name, cell), Path("-"))
        jobs = jobs_at(grid, cell, place.commitment, ENTRANT, grid.network, _entrant("end_to_end"))
        bench.data_seed = place
        yield _place(cell, jobs, bench, place.commitment)


def identity_here(grid: Grid) -> tuple[str, str]:
    """The version of a contest's task here, and the fingerprint of its images."""
    task: Benchmark = registry.create("benchmark", grid.task)
    return task.version, make_source(task, grid.source).fingerprint()


def _entrant(track: Track) -> Callable[[str], About]:
    return lambda learner: About(track, "")


def _place(cell: Cell, jobs: Sequence[Job], bench: Bench, commitment: str) -> Place:
    """A place with the hashes of what is handed out for its runs, one a repeat."""
    materials = [bench.material(job) for job in jobs]
    names, source = materials[0].benchmark.labels.names, materials[0].resolved.train.source
    digests: dict[str, str] = {}  # most tasks have one test set for all runs
    hashes: dict[str, list[str]] = {"test": [], "train": [], "validation": []}
    for material in materials:
        test = material.test
        if test.content_hash not in digests:
            images = material.resolved.test.source
            digests[test.content_hash] = part_digest(test.split, images, test.shift)
        hashes["test"].append(digests[test.content_hash])
        assert material.validation is not None  # only folders of splits have none
        for name, data in (("train", material.train), ("validation", material.validation())):
            hashes[name].append(part_digest(data.split, source, data.shift, names))
    examples = len(materials[0].test.split)
    by_part = {name: tuple(each) for name, each in hashes.items()}
    return Place(cell.shift, cell.percent, commitment, examples, **by_part)


def part_digest(
    split: Split, source: ImageSource, shift: Shift | None, names: Sequence[str] | None = None
) -> str:
    """SHA-256 of what is handed out of a part: meta-data and pixels of its examples, in their order.

    Meta-data include the sequence and the step of rows that are steps of sequences.

    Args:
        names: of the labels, which are handed out, too; None: they are not.
    """
    labels = None if names is None else [names[k] for k in split.labels.tolist()]
    columns = {name: column.tolist() for name, column in known_columns(split).items()}
    rows = image_digests(split, source, shift)
    images = (
        [row[k].tobytes().hex() if there else None for k, there in enumerate(full)]
        for row, full in zip(rows, (split.images != BLANK).tolist(), strict=True)
    )
    return _digest(labels, columns, images)


def folder_digests(folder: Path) -> dict[str, str]:
    """The hash of each part in a folder that entrants were handed."""
    return {part: folder_digest(folder / f"{part}.parquet") for part in ("train", "validation", "test")}


def folder_digest(path: Path) -> str:
    """The same of a parquet file that entrants were handed."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from PIL import Image

    @cache
    def picture(data: bytes | None) -> str | None:
        return None if data is None else image_digest(pixels(Image.open(io.BytesIO(data)))).hex()

    try:
        table = pq.read_table(path)
        labels = table["label"].to_pylist() if "label" in table.column_names else None
        names = [n for n in table.column_names if n.startswith("meta_") or n in SEQUENCE_COLUMNS]
        columns = {name.removeprefix("meta_"): table[name].to_pylist() for name in names}
        return _digest(labels, columns, (map(picture, slots.as_py()) for slots in table["images"]))
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise UserError(
            f"{path} was changed after it was handed out: {type(error).__name__}: {error}."
        ) from error


def _digest(
    labels: Sequence[str] | None, columns: Mapping[str, Sequence[Any]], images: Iterable[Iterable[str | None]]
) -> str:
    total = hashlib.sha256()
    for i, slots in enumerate(images):
        row_images = list(slots)
        metadata = {name: column[i] for name, column in columns.items()}
        row = canonical_row([], "" if labels is None else labels[i], metadata, False, row_images)
        total.update(row + b"\n")
    return total.hexdigest()
