"""The studies of `crop_yield` and `indoor_scene`, beside the FFNSL paper's numbers, as Markdown.

    python benchmarks/crops_and_rooms.py crop_yield indoor_scene --shared ../shared

Each page has the networks' accuracy, calibration error and confidence on held-out images, standard and
shifted; then FFNSL with each network's penalties and with constant ones, a random forest and a fully
connected network at 0 to 100 % shift. Results are kept in results/studies; a second call does only what is
missing. Networks without shipped weights are trained first.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from studies import Place, number, table

from nsl_bench import registry
from nsl_bench.data.splits import make_source
from nsl_bench.perception.library import trained
from nsl_bench.perception.predict import predict
from nsl_bench.report.tables import summarise
from nsl_bench.run.job import Job, plan
from nsl_bench.run.metrics import accuracy, calibration_error, most_probable
from nsl_bench.shift import resolve

CONSTANT = "ffnsl:penalty=constant"
PERCENTS = (0, 50, 80, 90, 95, 100)
BINS = (0, 0.25, 0.5, 0.75, 0.9, 0.95, 1)
HELD_OUT = 1400


@dataclass(frozen=True)
class Study:
    """What a page compares.

    Attributes:
        title: of the page.
        shift: short name.
        percents: shares of shifted examples.
        repeats: train sets.
        learners: those that use the Softmax CNN.
        text: what the page begins with.
    """

    title: str
    shift: str
    percents: tuple[int, ...]
    repeats: int
    learners: tuple[str, ...]
    text: str


STUDIES = {
    "crop_yield": Study(
        "Crop Yield on drawn leaves",
        "hue",
        PERCENTS,
        5,
        ("ffnsl", CONSTANT, "random_forest", "fcn"),
        "114 train examples, three for each crop on average; 1,000 test examples; mean and standard error of "
        "five repeats. The hidden table of yields is the package's own: the paper's is not public, so its "
        "numbers compare in kind only.",
    ),
    "indoor_scene": Study(
        "Indoor Scene on drawn rooms",
        "blur_hue_rotate",
        (0, 20, 40, 50, 80, 90, 95, 100),
        1,
        ("ffnsl", CONSTANT, "random_forest", "fcn"),
        "1,340 train and 1,340 test examples, 20 of each scene; one repeat, as in the paper, "
        "whose network is SASR on photographs.",
    ),
}


def histogram(confidence: np.ndarray) -> str:
    """The shares of the paper's bins of confidence, in per cent."""
    counts, _ = np.histogram(confidence, BINS)
    return " / ".join(f"{100 * n / len(confidence):.0f}" for n in counts)


def networks_table(name: str, study: Study, networks: Sequence[str]) -> str:
    """What each network shows on held-out images (pool B), standard and shifted."""
    task = registry.create("benchmark", name)
    source = make_source(task)
    labels = source.labels("b")
    rows = np.unique(np.linspace(0, len(labels) - 1, min(HELD_OUT, len(labels))).astype(np.int64))
    lines = []
    for spec in networks:
        network = trained(spec, task, source)
        for shown in ("standard", study.shift):
            seen, _ = predict(network, source, "b", resolve(shown, task, source), rows)
            seen = seen.astype(np.float64)
            truth = labels[rows].astype(np.int64)
            lines.append(
                {
                    "network": spec,
                    "images": shown,
                    "accuracy": number(accuracy(most_probable(seen), truth)),
                    "calibration error": number(calibration_error(seen, truth)),
                    "confidence 0-.25 / -.5 / -.75 / -.9 / -.95 / -1 (%)": histogram(seen.max(axis=1)),
                }
            )
    return table(lines)


def jobs_of(name: str, study: Study, networks: Sequence[str]) -> list[Job]:
    """All runs of a page: every learner with Softmax, FFNSL with the other networks too."""
    jobs: list[Job] = []
    for spec in networks:
        jobs += plan(
            name,
            study.learners if spec == "softmax" else ("ffnsl", CONSTANT),
            shifts=[study.shift],
            percents=study.percents,
            repeats=range(1, study.repeats + 1),
            network=spec,
        )
    return jobs


def learners_table(runs: pd.DataFrame) -> str:
    """A row a learner and network, a column a percentage, for each measure."""
    pieces = []
    measures = {
        "hypothesis_accuracy": ("Hypothesis accuracy", 3),
        "framework_accuracy": ("Framework accuracy", 3),
        "atoms": ("Atoms", 1),
        "learning_time": ("Learning time (s)", 2),
    }
    for metric, (title, digits) in measures.items():
        lines = []
        for (network, learner), group in runs.groupby(["network", "learner"], sort=False):
            means = summarise(group, [metric])
            line: dict[str, object] = {"learner": learner, "network": network}
            for row in means.sort_values("percent").itertuples():
                line[f"{row.percent:g} %"] = number(row.mean, row.std_err, digits)
            lines.append(line)
        pieces.append(f"## {title}\n\n{table(lines)}")
    return "\n\n".join(pieces)


def published(place: Place, name: str) -> str:
    """What the paper says of a task."""
    prose = pd.read_csv(place.real("paper", "ffnsl_prose.csv"))
    own = prose[prose["task"] == name].drop(columns="task").fillna("")
    return f"## The paper\n\n{own.to_markdown(index=False, tablefmt='github', disable_numparse=True)}"


def page(place: Place, name: str, networks: Sequence[str]) -> None:
    """Do what is missing and write a task's page."""
    study = STUDIES[name]
    jobs = jobs_of(name, study, networks)
    runs = place.run(name, jobs)
    pieces = [
        study.text,
        "## Networks\n\nHeld-out images (pool B).\n\n" + networks_table(name, study, networks),
        learners_table(runs),
        published(place, name),
    ]
    place.docs.mkdir(parents=True, exist_ok=True)
    made = f"Made by `python benchmarks/crops_and_rooms.py {name}`."
    text = "\n\n".join([f"# {study.title}", made, *pieces]) + "\n"
    (place.docs / f"{name}.md").write_text(text, encoding="utf-8")
    print(place.docs / f"{name}.md")


def main() -> None:
    """Make the pages that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("task", nargs="+", choices=STUDIES)
    parser.add_argument("--networks", default="softmax", help="with commas, e.g. softmax,edl_gen")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--results", type=Path, default=Path("results/studies"))
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    for name in options.task:
        page(Place(options.shared, options.results, options.docs), name, options.networks.split(","))


if __name__ == "__main__":
    main()
