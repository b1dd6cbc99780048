"""``nsl-bench predict``: labels with probabilities for images or probability vectors."""

from __future__ import annotations

import json
from pathlib import Path

import click

from nsl_bench.cli import Command
from nsl_bench.errors import UserError

__all__ = ["command"]

_MEBIBYTE = 2**20


def _pairs(ctx: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, _, value = map(str.strip, text.partition("="))
        if not name or not value:
            raise UserError(f"--metadata: found '{text}', expected NAME=VALUE, e.g. location=5.")
        if name in found:
            raise UserError(f"--metadata: {name} is given twice, as {found[name]} and as {value}.")
        found[name] = value
    return found


@click.command(
    cls=Command,
    examples=[
        "nsl-bench predict learned.lp follow_suit --probabilities vectors.csv",
        "nsl-bench predict learned.lp follow_suit --images tricks/    # tricks/1/player_1.png ...",
        "nsl-bench predict learned.lp crop_yield --images leaves/ --metadata location=5 --json",
    ],
)
@click.argument("hypothesis", type=click.Path(path_type=Path))
@click.argument("benchmark")
@click.option("--probabilities", type=click.Path(path_type=Path), help="CSV: example, slot, concepts.")
@click.option("--images", type=click.Path(path_type=Path), help="Folder: EXAMPLE/SLOT.png.")
@click.option("--metadata", multiple=True, callback=_pairs, help="NAME=VALUE of all examples; repeatable.")
@click.option("--source", help="Image source that the network was trained on; the embedded one by default.")
@click.option("--network", default="softmax", show_default=True, help="Perception network.")
@click.option("--engine", default="auto", show_default=True, help="auto, exact, sampling or problog.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON an example.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds for grounding the rules (60 by default), and as many for inference (any by default).",
)
@click.option("--memory-limit", type=click.IntRange(min=1), help="Megabytes for grounding and inference.")
def command(
    hypothesis: Path,
    benchmark: str,
    probabilities: Path | None,
    images: Path | None,
    metadata: dict[str, str],
    source: str | None,
    network: str,
    engine: str,
    as_json: bool,
    time_limit: float | None,
    memory_limit: int | None,
) -> None:
    """Print the labels that the rules in the file HYPOTHESIS give examples of BENCHMARK.

    Probabilities are those of the worlds in which exactly that label is derived, over everything that the
    images may show; what is missing to 1 has no label, or several.
    """
    from nsl_bench.guarded.call import Allowance, prepare

    prepare()
    from nsl_bench import registry
    from nsl_bench.asp.text import read_text
    from nsl_bench.data.splits import make_source
    from nsl_bench.guarded.rules import doubt, inferred
    from nsl_bench.inference.examples import from_folder, from_table
    from nsl_bench.inference.query import Query
    from nsl_bench.perception.trained_networks import trained
    from nsl_bench.run.metrics import most_probable

    if (probabilities is None) == (images is None):
        raise UserError("Give either --probabilities (a CSV file) or --images (a folder).")
    task = registry.create("benchmark", benchmark)
    query = Query.of(task, [read_text(hypothesis)])
    if note := doubt(query):
        click.echo(f"Note: {note}", err=True)
    if probabilities is not None:
        examples = from_table(task, probabilities, metadata)
    else:
        assert images is not None
        pool = make_source(task, source)
        seen = trained(network, task, pool)
        examples = from_folder(task, images, pool.shape, seen, metadata)
    memory = None if memory_limit is None else memory_limit * _MEBIBYTE
    answer = inferred(
        engine,
        query,
        examples.probabilities,
        examples.facts,
        what=str(hypothesis),
        allowance=Allowance(time_limit, memory),
        grounding=time_limit,
    )
    best = [None if k < 0 else task.labels.names[k] for k in most_probable(answer.probabilities).tolist()]
    rows = [
        {
            "example": name,
            "label": best[i],
            "probabilities": dict(zip(task.labels.names, answer.probabilities[i].tolist(), strict=True)),
            "invalid": float(answer.invalid[i]),
            "engine": answer.engines[i],
            "interval_width": float(answer.width[i]),
            "std_err": float(answer.std_err[i].max(initial=0.0)),
        }
        for i, name in enumerate(examples.names)
    ]
    if as_json:
        for row in rows:
            click.echo(json.dumps(row))
        return
    from tabulate import tabulate

    shown = [
        {
            "example": row["example"],
            "label": row["label"] or "none",
            **{name: f"{answer.probabilities[i, k]:.4f}" for k, name in enumerate(task.labels.names)},
            "no label or several": f"{answer.invalid[i]:.4f}",
            "by": quality(
                answer.engines[i], float(answer.width[i]), float(answer.std_err[i].max(initial=0.0))
            ),
        }
        for i, row in enumerate(rows)
    ]
    click.echo(tabulate(shown, headers="keys", disable_numparse=True))


def quality(engine: str, width: float, std_err: float) -> str:
    """How good a probability is, in words."""
    if std_err > 0:
        return f"sampling, ± {std_err:.1e}"
    return engine if width < 1e-9 else f"{engine}, width {width:.1e}"
