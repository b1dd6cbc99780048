"""The first studies, each beside the FFNSL paper's numbers, as Markdown in docs/results/.

    python benchmarks/studies.py mnist drawn decks --shared ../shared

``mnist``     the Softmax CNN on real MNIST, and learners on `sudoku_9x9` with it
``drawn``     the drawn decks: the network on each deck, and learners on `follow_suit`
``decks``     the same with real decks

Results are kept in results/studies; a second call does only what is missing. Without `--shared` (real
images) only ``drawn`` can run. `make results` runs all three; the paper's own grid is `nsl-bench reproduce`.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from nsl_bench.leaderboard.published import ffnsl2023

from nsl_bench import registry
from nsl_bench.data.splits import make_source
from nsl_bench.perception.trained_networks import accuracy, trained
from nsl_bench.report.curves import draw
from nsl_bench.report.tables import summarise
from nsl_bench.run.evaluate import Bench
from nsl_bench.run.job import Job, plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep
from nsl_bench.shift import resolve
from nsl_bench.types import PoolPart

REPEATS = range(1, 6)


@dataclass(frozen=True)
class Place:
    """Where a study reads and writes."""

    shared: Path | None
    results: Path
    docs: Path

    def real(self, *parts: str) -> Path:
        """A path in the folder of real data, relative where that is possible."""
        if self.shared is None or not self.shared.is_dir():
            sys.exit(f"studies.py: --shared: {self.shared} does not exist; give the folder of real data.")
        return self.shared.joinpath(*parts)

    def run(self, name: str, jobs: Sequence[Job]) -> pd.DataFrame:
        """The runs of a study, those that are missing done now."""
        store = Store(self.results / name)
        sweep(
            jobs,
            store,
            Bench(workers=os.cpu_count() or 1),
            lambda record: print(record.job, record.message, file=sys.stderr),
        )
        wanted = {job.key() for job in jobs}
        runs = store.frame()
        return runs[runs["key"].isin(wanted)]

    def write(self, name: str, title: str, *pieces: str) -> None:
        """A page of the documentation."""
        self.docs.mkdir(parents=True, exist_ok=True)
        command = f"python benchmarks/studies.py {shlex.quote(name)}"
        page = [f"# {title}", f"Made by `{command}`.", *pieces]
        (self.docs / f"{name}.md").write_text("\n\n".join(page) + "\n", encoding="utf-8")
        print(f"{self.docs / name}.md")


def number(mean: float, error: float = float("nan"), digits: int = 3) -> str:
    """A mean with its standard error."""
    return f"{mean:.{digits}f}" if pd.isna(error) else f"{mean:.{digits}f} ± {error:.{digits}f}"


def table(rows: Sequence[dict[str, object]]) -> str:
    """Rows as Markdown."""
    return str(
        pd.DataFrame(rows).fillna("").to_markdown(index=False, tablefmt="github", disable_numparse=True)
    )


def compare(
    runs: pd.DataFrame, published: pd.DataFrame | None, shift_of: dict[str, str], metrics: Sequence[str]
) -> str:
    """Ours and the paper's mean and standard error, a row a learner and percentage."""
    ours = summarise(runs, [*metrics, "equivalent"])
    rows = []
    for (size, shift, percent, learner), group in ours.groupby(
        ["size", "shift", "percent", "learner"], sort=True
    ):
        values = group.set_index(group["metric"].astype(str))
        row: dict[str, object] = {
            "train": size,
            "shift": shift,
            "shifted (%)": f"{percent:g}",
            "learner": learner,
            "repeats": int(group["n"].max()),
        }
        for metric in metrics:
            if metric in values.index:
                digits = {"atoms": 1, "learning_time": 2}.get(metric, 3)
                row[metric.replace("_", " ")] = number(
                    values["mean"][metric], values["std_err"][metric], digits
                )
            if published is not None and metric != "learning_time":
                name = "standard" if percent == 0 else shift_of.get(str(shift), "")
                known = published[
                    (published["learner"] == learner)
                    & (published["shift"] == name)
                    & (published["percent"] == percent)
                    & (published["metric"] == metric)
                    & (published["size"] == size)
                ]
                if metric in ("hypothesis_accuracy", "framework_accuracy"):
                    row[f"paper: {metric.replace('_', ' ')}"] = (
                        number(known["mean"].iloc[0], known["std_err"].iloc[0]) if len(known) else ""
                    )
        if "equivalent" in values.index:
            row["equivalent to the true rule"] = f"{values['mean']['equivalent']:.0%}"
        rows.append(row)
    return table(rows)


def network_table(benchmark: str, source: str | None, parts: Sequence[PoolPart] = ("b",)) -> str:
    """The accuracy of the Softmax CNN on held-out images, standard and under each shift."""
    task = registry.create("benchmark", benchmark)
    images = make_source(task, source)
    network = trained("softmax", task, images)
    shifts = {"standard": None, **{name: resolve(name, task, images) for name in named(task, images)}}
    rows = []
    for name, shift in shifts.items():
        row: dict[str, object] = {"images": name}
        for part in parts:
            row[f"accuracy, pool {part.upper()}"] = number(accuracy(network, images, shift, part))
        rows.append(row)
    return table(rows)


def named(task: object, images: object) -> list[str]:
    """The short names of all shifts of a task on a source."""
    return [*task.named_shifts, *images.named_shifts]  # type: ignore[attr-defined]


def mnist(place: Place) -> None:
    """Real MNIST."""
    source = f"mnist:{place.real('data', 'mnist')}"
    accuracies = network_table("sudoku_9x9", source, ("a", "b"))
    runs = place.run(
        "mnist",
        plan(
            "sudoku_9x9",
            ["ffnsl", "random_forest", "cnn_lstm"],
            source=source,
            shifts=["rotate90"],
            percents=[0, 50, 90],
            repeats=REPEATS,
        ),
    )
    own = ffnsl2023("sudoku_9x9")
    own = own[(own["penalties"] != "constant") & (own["network"] == "softmax")]
    metrics = ["hypothesis_accuracy", "framework_accuracy", "brier_score", "atoms", "learning_time"]
    place.write(
        "mnist",
        "Sudoku 9x9 on real MNIST",
        "Accuracy of the Softmax CNN on held-out test images. It was trained on MNIST's train images of the "
        "digits 1 to 9:",
        accuracies,
        "Learners on generated grids, 320 in each train split. The paper's numbers are for other grids and "
        "images:",
        compare(runs, own, {"rotate90": "rotate90"}, metrics),
    )


def _cards(place: Place, name: str, title: str, source: str | None, shifts: Sequence[str], text: str) -> None:
    accuracies = network_table("follow_suit", source)
    runs = place.run(
        name,
        plan(
            "follow_suit",
            ["ffnsl", "random_forest", "fcn"],
            source=source,
            shifts=shifts,
            percents=[0, 20, 40, 60, 80, 90, 100],
            repeats=REPEATS,
        ),
    )
    metrics = ["hypothesis_accuracy", "framework_accuracy", "brier_score", "atoms", "learning_time"]
    draw(runs, place.results / name / "curves", metrics)
    place.write(name, title, text, accuracies, compare(runs, None, {}, metrics))


def drawn(place: Place) -> None:
    """The drawn decks."""
    text = (
        "Accuracy of the shipped Softmax CNN on held-out images (pool B) of each drawn deck, and learners "
        "with 104 tricks in each train split:"
    )
    shifts = ["noir", "comic", "adversarial_noir"]
    _cards(place, "drawn", "Follow Suit on drawn decks", None, shifts, text)


def decks(place: Place) -> None:
    """Real decks."""
    source = f"decks:{place.real('data', 'decks')},standard=vector_byron"
    text = (
        "`vector_byron` is the standard deck. Accuracy of the Softmax CNN, trained on its augmented images "
        "only, on held-out images (pool B) of every deck, and learners with 104 tricks in each train split:"
    )
    shifts = ["kde_oxygen", "ais_neoclassical_4_color"]
    _cards(place, "decks", "Follow Suit on real decks", source, shifts, text)


STUDIES: dict[str, Callable[[Place], None]] = {
    "mnist": mnist,
    "drawn": drawn,
    "decks": decks,
}


def main() -> None:
    """Run the studies that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("study", nargs="+", choices=STUDIES)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--results", type=Path, default=Path("results/studies"))
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    for name in options.study:
        STUDIES[name](Place(options.shared, options.results, options.docs))


if __name__ == "__main__":
    main()
