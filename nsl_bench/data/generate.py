"""Generating a data set: a folder that is a Hugging Face repository, made shard by shard.

The folder is built beside its place, as ``NAME.part``, and renamed when it is whole. What is there when
generating stops is kept: the same recipe goes on at the first file that is missing. Pixels and rows do not
depend on the number of processes.
"""

import contextlib
import csv
import hashlib
import io
import json
import shutil
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nsl_bench import __version__
from nsl_bench.core import cache
from nsl_bench.core.annotation import Annotation
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError, counted, refusing
from nsl_bench.core.shift import STANDARD, Shift, short_name
from nsl_bench.core.types import BLANK, PoolPart, Split, UInts8
from nsl_bench.core.workers import spread, usable_cores
from nsl_bench.data.card import distinct_images, reuse, write_card, write_croissant, write_evaluation
from nsl_bench.data.content import DIGEST_BYTES, canonical_rows, encode, render
from nsl_bench.data.manifest import Manifest, SplitEntry, file_entry, partial
from nsl_bench.data.recipe import IMAGES, SYMBOLIC, Plan, Recipe, split_name, without_folders
from nsl_bench.data.rows import (
    example_features,
    image_ids,
    known_columns,
    metadata_types,
    pool_features,
    pool_row,
    row_mark,
)
from nsl_bench.data.shards import BYTES_KEY, STATE, Examples, Pool, Shard, Shared, pool_split, ranges, write
from nsl_bench.data.splits import make_split, task_of_split

_SAMPLE = 8
"""Images of each kind that are made to know how long all of them take."""

_WORTH = 4.0
"""Seconds of work for which another process is started."""

_SECONDS_A_LINE = 10.0
"""How often is said how far it is, where no bar can be seen."""

_COLUMNS = ("concepts", "labels", "images", "ranks", "sequences", "steps")
_POOL_PARTS: tuple[PoolPart, ...] = ("network", "a", "b")


def generate(
    recipe: Recipe, out: Path, *, workers: int | None = 1, say: Callable[[str], None] | None = None
) -> Manifest:
    """Make a data set in a folder of its own.

    Args:
        out: the folder; new or empty.
        workers: processes; None: one for each core, as far as the work is worth their start. The data set
            does not depend on it.
        say: told what will be made before it is made, and now and then how far it is if there is no terminal.
    """
    out = out.resolve()
    _check_free(out)
    plan = Plan.of(recipe)
    work = partial(out)
    with refusing(f"--out: {work} cannot be created"):
        (work / STATE).mkdir(parents=True, exist_ok=True)
    with cache.lock(work / STATE / "work"):
        _check_free(out)  # another process may have finished it meanwhile
        _same_plan(work / STATE / "plan.json", plan)
        try:
            shared = prepare(plan, work)
        except UserError:
            if not _files(work):
                shutil.rmtree(work)
            raise
        if say is not None or workers is None:
            seconds, sentence = _expected(shared)
            workers = workers or max(1, min(usable_cores(), round(seconds / _WORTH)))
            if say is not None:
                minutes = max(0.1, seconds / workers / 60)
                processes = counted(workers, "process", "processes")
                say(f"{plan.task.name}: {sentence}; about {minutes:.1f} minutes with {processes}.")
        # The pool first: the examples' images are taken from its files.
        write_files(shared, [(IMAGES, split) for split in shared.pools], workers, say)
        write_files(shared, list(shared.tables), workers, say)
        manifest = _finish(plan, shared)
        with refusing(f"--out: {work} cannot be renamed to {out}"):
            work.replace(out)
        shutil.rmtree(out / STATE)
    return manifest


def _check_free(out: Path) -> None:
    with refusing(f"--out: {out} cannot be read"):
        taken = out.exists() and (not out.is_dir() or any(out.iterdir()))
    if taken:
        raise UserError(f"--out: {out} already exists; name a folder that is new or empty.")


def _files(work: Path) -> bool:
    """Whether there are files of the data set itself."""
    return work.is_dir() and any(path.name != STATE for path in work.iterdir())


def _same_plan(path: Path, plan: Plan) -> None:
    """Write the plan of the data set, or check that an interrupted one had the same plan."""
    identity = json.loads(json.dumps({"nsl_bench": __version__, **plan.identity()}))
    folder = path.parent.parent
    if not path.exists():
        if _files(folder):
            raise UserError(
                f"{folder} contains files that do not belong to an unfinished data set; remove them."
            )
        with cache.replacing(path) as temporary:
            temporary.write_text(json.dumps(identity), encoding="utf-8")
        return
    try:
        begun = dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{path} is damaged ({error}); remove {folder} and start again.") from error
    if begun != identity:
        changed = [key for key in identity if begun.get(key) != identity[key]]
        if changed == ["recipe"]:
            old, new = begun["recipe"], identity["recipe"]
            changed = [f"{key} {old.get(key)!r}, not {new[key]!r}" for key in new if old.get(key) != new[key]]
        raise UserError(
            f"{folder} contains a different unfinished data set ({'; '.join(changed)}); finish or remove it."
        )


def prepare(plan: Plan, work: Path) -> Shared:
    """All that the files are made from; examples are kept in the folder `work` from an earlier start."""
    splits = {name: _examples(plan, work, name) for name in plan.splits}
    shape = plan.source.shape
    pools: dict[str, Pool] = {}
    configs: Mapping[str, Shift | None] = {STANDARD: None, **plan.shifts}
    for config, shift in configs.items():
        for part in _POOL_PARTS:
            if part == "network" and (shift is not None or plan.recipe.images == "used"):
                continue
            indices = np.arange(len(plan.source.labels(part)), dtype=np.int64)
            if plan.recipe.images == "used":
                images_of = [split.images.reshape(-1) for split in splits.values() if split.pool == part]
                used = np.unique(np.concatenate(images_of)).astype(np.int64) if images_of else indices[:0]
                indices = used[used != BLANK]
            name = pool_split(config, part)
            pools[name] = Pool(name, part, shift, indices, ranges(len(indices), 1, shape))
    tables: dict[tuple[str, str], Examples] = {}
    for split, examples in splits.items():
        shown_a_row = float((examples.images != BLANK).sum() / len(examples))
        standard = pool_split(STANDARD, examples.pool)
        shifted = {config: pool_split(config, examples.pool) for config in plan.shifts}
        own = {"standard_images": standard}
        for config in (SYMBOLIC, *configs):
            references = dict(own)
            if config == SYMBOLIC:
                references |= {f"{name}_images": pool for name, pool in shifted.items()}
            elif config != STANDARD:
                references["shifted_images"] = shifted[config]
            features = example_features(
                plan.task.labels.names,
                plan.task.concept_space.concepts,
                metadata_types(known_columns(examples)),
                list(references),
                images=config != SYMBOLIC,
            )
            bounds = ranges(len(examples), 0 if config == SYMBOLIC else shown_a_row, shape)
            pool = None if config == SYMBOLIC else shifted.get(config, standard)
            tables[config, split] = Examples(config, split, pool, references, features.arrow_schema, bounds)
    schema = pool_features(plan.task.concept_space.concepts).arrow_schema
    return Shared(work, plan.source, schema, pools, splits, tables, plan.recipe.images == "all")


def _examples(plan: Plan, work: Path, name: str) -> Split:
    part, repeat = plan.splits[name]
    path = work / STATE / f"{name}.npz"
    with contextlib.suppress(OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # made again
        with np.load(path) as npz:
            metadata = {key.removeprefix("meta_"): npz[key] for key in npz.files if key.startswith("meta_")}
            columns = {key: npz[key] for key in _COLUMNS}
        return Split(part, plan.task.concept_space, metadata=metadata, **columns)
    folder = None if plan.recipe.splits is None else Path(plan.recipe.splits)
    annotation = Annotation.parse(plan.recipe.annotation)
    asked: dict[str, Any] = {"seed": plan.recipe.seed, "annotation": annotation}
    split = make_split(plan.task, plan.source, part, plan.size, repeat, splits=folder, **asked)
    columns = {key: getattr(split, key) for key in _COLUMNS}
    metadata = {f"meta_{key}": column for key, column in split.metadata.items()}
    with cache.replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **columns, **metadata)
    return split


def _expected(shared: Shared) -> tuple[float, str]:
    """Seconds of one process, and what is made in words, as far as a few images of each kind tell."""
    seconds, sizes = 0.0, {}
    for name, pool in shared.pools.items():
        few = pool.indices[:: max(1, len(pool.indices) // _SAMPLE)][:_SAMPLE]
        for _ in range(2):  # what the images are made of is drawn the first time
            start = time.perf_counter()
            files = [encode(image)[0] for image in render(shared.source, pool.shift, pool.part, few)]
            each = (time.perf_counter() - start) / max(1, len(few))
        seconds += each * len(pool.indices)
        sizes[name] = sum(map(len, files)) / max(1, len(few))
    pools = sum(sizes[name] * len(pool.indices) for name, pool in shared.pools.items())
    shown = sum(
        sizes[table.pool] * distinct_images(shared.splits[table.split])
        for table in shared.tables.values()
        if table.pool is not None
    )
    rows = sum(len(shared.splits[split]) for _, split in shared.tables)
    images = sum(len(pool.indices) for pool in shared.pools.values())
    at_the_end = shown + pools * shared.pooled
    sentence = f"{rows:,} rows with {images:,} images, about {_gigabytes(at_the_end)}"
    if not shared.pooled:
        sentence += f" ({_gigabytes(shown + pools)} while it is made)"
    return seconds, sentence


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e9:.4f} GB"


def write_files(
    shared: Shared, splits: Sequence[tuple[str, str]], workers: int, say: Callable[[str], None] | None = None
) -> None:
    """Write the files of some splits, each named by its configuration and its name."""
    from tqdm import tqdm

    jobs = [shard for key in splits for shard in shared.shards(*key)]
    unit = "image" if splits and splits[0][0] == IMAGES else "example"
    total, done, last = sum(shard.rows[1] - shard.rows[0] for shard in jobs), 0, time.monotonic()
    lines = say is not None and not sys.stderr.isatty()
    with tqdm(total=total, unit=unit, unit_scale=True, disable=True if say is None or lines else None) as bar:
        for shard, _ in zip(jobs, spread(write, shared, jobs, workers), strict=True):
            bar.set_postfix_str(shard.path, refresh=False)
            bar.update(shard.rows[1] - shard.rows[0])
            done += shard.rows[1] - shard.rows[0]
            if lines and say is not None and time.monotonic() - last >= _SECONDS_A_LINE:
                say(f"{done:,} of {total:,} {unit}s written.")
                last = time.monotonic()


def _finish(plan: Plan, shared: Shared) -> Manifest:
    """Rules, marks, card, Croissant and, last, the manifest."""
    work = shared.folder
    rules = {name: getattr(plan.task, name) for name in ("background", "bias")}
    numbers = [repeat for part, repeat in plan.splits.values() if part == "test"]
    for k in numbers:  # train sets may have true rules of their own, as they have test sets
        true_rule = task_of_split(plan.task, k, plan.recipe.seed).true_rule
        rules |= {split_name("true_rule", k): true_rule} if true_rule else {}
    for name, text in rules.items():
        _text(work / "rules" / f"{name}.lp", text)
    _text(work / "rules" / "facts.csv", _facts(plan.task, shared.splits))
    digests = {split: _digests(shared, split) for split in shared.pools}
    configs: dict[str, dict[str, SplitEntry]] = {}
    for split in shared.pools if shared.pooled else ():
        configs.setdefault(IMAGES, {})[split] = _pool_entry(plan, shared, split, digests[split])
    for (config, split), table in shared.tables.items():
        configs.setdefault(config, {})[split] = _examples_entry(plan, shared, table, digests)
    order = [STANDARD, *plan.shifts, SYMBOLIC, *([IMAGES] if shared.pooled else [])]
    data = [
        path for config in order for entry in configs[config].values() for path in (*entry.files, entry.marks)
    ]
    texts = [*(f"rules/{name}.lp" for name in rules), "rules/facts.csv"]
    names = {config: short_name(shift, plan.task, plan.source) for config, shift in plan.shifts.items()}
    manifest = Manifest(
        benchmark=plan.task.name,
        version=plan.task.version,
        superseded_by=plan.task.superseded_by,
        description=plan.task.description,
        generator=f"nsl-bench {__version__}",
        recipe=plan.recipe.public().to_dict(),
        source={
            "name": plan.source.name,
            "version": plan.source.version,
            "licence": plan.source.licence,
            "citation": plan.source.citation,
            "fingerprint": plan.source.fingerprint(),
        },
        shifts={config: without_folders(shift.spec) for config, shift in plan.shifts.items()},
        names={config: without_folders(name) for config, name in names.items()},
        labels=plan.task.labels.names,
        concepts=plan.task.concept_space.concepts,
        metadata=tuple(known_columns(shared.splits["test"])),
        steps=_steps(shared.splits),
        rounding="half_up" if plan.recipe.splits is None else "floor",
        configs={config: configs[config] for config in order},
        files={path: file_entry(work / path) for path in [*data, *texts]},
    )
    schemas = {IMAGES: shared.pool_schema}
    schemas |= {config: table.schema for (config, _), table in shared.tables.items()}
    reuse_of = {name: reuse(split) for name, split in shared.splits.items()}
    write_card(manifest, schemas, work, reuse_of, plan.task.about)
    write_croissant(manifest, schemas, work, plan.task.about)
    write_evaluation(manifest, work)
    files = {path: file_entry(work / path) for path in ("README.md", "croissant.json", "eval.yaml")}
    manifest = replace(manifest, files={**files, **manifest.files})
    manifest.write(work)
    return manifest


def _steps(splits: Mapping[str, Split]) -> int:
    """Rows of each sequence: one length, so that a share of rows is a share of sequences."""
    lengths = {int(n) for split in splits.values() for n in np.bincount(split.sequences)}
    if len(lengths) > 1:
        raise UserError(
            f"Sequences of a data set must have one length; got {min(lengths)} and {max(lengths)} steps."
        )
    return lengths.pop()


def _facts(task: Benchmark, splits: Mapping[str, Split]) -> str:
    """CSV: the facts that stand for a concept in a slot, and for meta-data as they occur."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("input", "value", "facts"))
    rows = [
        (name, concept, task.facts(slot, concept))
        for slot, name in enumerate(task.slots)
        for concept in task.concept_space.concepts
    ]
    names = list(task.metadata)
    columns = [
        [value for split in splits.values() for value in split.metadata[name].tolist()] for name in names
    ]
    for values in sorted(set(zip(*columns, strict=True))):
        facts = task.metadata_facts(dict(zip(names, values, strict=True)))
        rows.append((", ".join(names), ", ".join(map(str, values)), facts))
    writer.writerows((where, value, " ".join(f"{fact}." for fact in facts)) for where, value, facts in rows)
    return text.getvalue()


def _text(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with cache.replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _digests(shared: Shared, split: str) -> UInts8:
    """uint8 [images of the source's part, 16]: digests of the images of a split of the pool, else zeros."""
    import pyarrow.parquet as pq

    pool = shared.pools[split]
    result = np.zeros((len(shared.source.labels(pool.part)), DIGEST_BYTES), np.uint8)
    hexes = [
        digest
        for shard in shared.shards(IMAGES, split)
        for digest in pq.read_table(shared.folder / shard.path, columns=["digest"])["digest"].to_pylist()
    ]
    if hexes:
        joined = np.frombuffer(bytes.fromhex("".join(hexes)), np.uint8)
        result[pool.indices] = joined.reshape(-1, DIGEST_BYTES)
    return result


def _entry(
    shared: Shared, config: str, split: str, rows: Iterator[bytes], others: Iterator[Sequence[Any]]
) -> SplitEntry:
    total, marks = hashlib.sha256(), []
    for row, other in zip(rows, others, strict=True):
        total.update(row + b"\n")
        marks.append(row_mark(row, *other))
    path = f"marks/{config}-{split}.txt"
    _text(shared.folder / path, "".join(f"{mark}\n" for mark in marks))
    shards = shared.shards(config, split)
    return SplitEntry(
        rows=len(marks),
        content_hash=total.hexdigest(),
        marks=path,
        files=tuple(shard.path for shard in shards),
        bytes=sum(_bytes(shared.folder, shard) for shard in shards),
    )


def _bytes(folder: Path, shard: Shard) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(folder / shard.path).metadata[BYTES_KEY])


def _pool_entry(plan: Plan, shared: Shared, split: str, digests: UInts8) -> SplitEntry:
    pool = shared.pools[split]
    names = plan.task.concept_space.concepts
    labels = plan.source.labels(pool.part)[pool.indices].tolist()
    rows = (
        pool_row(names[label], digests[i].tobytes().hex())
        for label, i in zip(labels, pool.indices.tolist(), strict=True)
    )
    others = ((name,) for name in image_ids(split, pool.indices.tolist()))
    return _entry(shared, IMAGES, split, rows, others)


def _examples_entry(plan: Plan, shared: Shared, table: Examples, digests: Mapping[str, UInts8]) -> SplitEntry:
    labels = plan.task.labels.names
    examples = shared.splits[table.split]
    images = np.where(examples.images == BLANK, 0, examples.images)
    standard = digests[pool_split(STANDARD, examples.pool)]

    def rows(percent: float) -> Iterator[bytes]:
        part = examples.shift(percent, floor=plan.recipe.splits is not None)
        if table.pool is None:
            return canonical_rows(part, labels)
        shifted = digests[table.pool]
        marks = np.where(part.shifted[:, None, None], shifted[images], standard[images])
        return canonical_rows(part, labels, marks)

    whole = 100.0 if table.config in plan.shifts else 0.0
    entry = _entry(shared, table.config, table.split, rows(whole), _others(examples, table))
    percents = {}
    if table.config in plan.shifts:
        for percent in plan.recipe.percents:
            total = hashlib.sha256(b"".join(row + b"\n" for row in rows(percent)))
            percents[f"{percent:g}"] = total.hexdigest()
    return replace(entry, percents=percents)


def _others(examples: Split, table: Examples) -> Iterator[Sequence[Any]]:
    """What a row's mark covers beside the content: id, rank and references."""
    for name, rank, images in zip(
        examples.ids(), examples.ranks.tolist(), examples.images.tolist(), strict=True
    ):
        references = [
            [None if k == BLANK else f"{split}-{k}" for k in images] for split in table.references.values()
        ]
        yield (name, rank, *references)
