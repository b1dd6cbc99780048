"""``nsl-bench generate``: a benchmark's examples as a folder of parquet files and rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from nsl_bench import __version__, cache, registry
from nsl_bench.cli import Command
from nsl_bench.errors import UserError

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "nsl-bench generate sudoku_4x4 --out sudoku/",
        "nsl-bench generate follow_suit --shift noir --percent 60 --repeats 1 --out tricks/",
        "nsl-bench generate sudoku_9x9 --source mnist:data/,download=true --workers 2 --out grids/",
    ],
)
@click.argument("benchmark")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Folder to make; must not hold files."
)
@click.option("--size", default="small", show_default=True, help="Train size.")
@click.option(
    "--repeats", default=5, show_default=True, type=click.IntRange(1), help="Independent train sets."
)
@click.option("--shift", default="standard", show_default=True, help="Short name or spec of a shift.")
@click.option("--percent", type=float, help="Share of shifted examples; 100 if a shift is named.")
@click.option("--source", help="Image source; the embedded one by default.")
@click.option("--seed", default=0, show_default=True, help="Another seed gives other examples.")
@click.option(
    "--workers", default=1, show_default=True, type=click.IntRange(1), help="Processes that render."
)
def command(
    benchmark: str,
    out: Path,
    size: str,
    repeats: int,
    shift: str,
    percent: float | None,
    source: str | None,
    seed: int,
    workers: int,
) -> None:
    """Write BENCHMARK's train sets and test set with their images, knowledge and a manifest.

    `manifest.json` is written last: a folder without it is not whole.
    """
    import nsl_bench
    from nsl_bench.data.content import dataset_hash

    task = registry.create("benchmark", benchmark)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"--out: {out} is there already; name a folder that is new or empty.")
    options: dict[str, Any] = {
        "size": size,
        "shift": shift,
        "percent": percent,
        "source": source,
        "seed": seed,
        "workers": workers,
    }
    parts: dict[str, dict[str, Any]] = {"test": {"split": "test", "repeat": 1}}
    parts |= {f"train_{r}": {"split": "train", "repeat": r} for r in range(1, repeats + 1)}
    first = nsl_bench.load(benchmark, **options, **parts["test"])
    try:
        (out / "data").mkdir(parents=True)
        (out / "rules").mkdir()
        for name in ("background", "bias", "true_rule"):
            (out / "rules" / f"{name}.lp").write_text(getattr(task, name), encoding="utf-8")
    except OSError as error:
        raise UserError(f"--out: {out} cannot be made: {error.strerror}.") from error
    hashes = {}
    for name, which in parts.items():
        examples = first if name == "test" else nsl_bench.load(benchmark, **options, **which)
        with cache.replacing(out / "data" / f"{name}.parquet") as temporary:
            examples.to_parquet(str(temporary))
        hashes[name] = {"rows": len(examples), "content_hash": dataset_hash(examples)}
        click.echo(f"{name}: {len(examples)} examples, {hashes[name]['content_hash']}")
    manifest = {
        "benchmark": task.name,
        "benchmark_version": task.version,
        "nsl_bench": __version__,
        "options": {key: value for key, value in options.items() if key != "workers"},
        "licence": first.info.license,
        "citation": first.info.citation,
        "splits": hashes,
    }
    with cache.replacing(out / "manifest.json") as temporary:
        temporary.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
