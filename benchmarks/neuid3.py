"""NeuID3 beside its paper's tables 2, 3, 5 and 6, as Markdown in docs/results/.

    python benchmarks/neuid3.py eleusis reuse tint
    python benchmarks/neuid3.py eleusis --source emnist:FOLDER,letters=drawn
    NSL_BENCH_UCI=FOLDER python benchmarks/neuid3.py uci speed --source mnist:FOLDER

``eleusis``   tables 3 and 5: eight concepts, four classes of tests, and the baselines
``ranks``     table 3: a network of 44 million weights on eight ranks; `--ranks 5 6 7 9 10` for other numbers
``uci``       table 2: bits (symbolic track) and images of them
``reuse``     table 6: hidden_order with the trained tests of suit_order and rank_order
``tint``      the next suit, with and without the suits' colours, and other ways of training
``choose``    hidden_modulo with neural facts: size, weight decay, moved images; validation examples judge,
              a table in docs/results/runs
``speed``     CPU seconds of learning beside the paper's times

Whole studies, resumable, on one core:

    python benchmarks/neuid3.py eleusis --repeats 7                                # 400 CPU min
    python benchmarks/neuid3.py eleusis --repeats 7 --tint ranks --starts 3        # 1,100 CPU min
    python benchmarks/neuid3.py eleusis --repeats 7 --source emnist:FOLDER         # 400 CPU min
    python benchmarks/neuid3.py ranks --repeats 7                                  # 1,300 CPU min
    python benchmarks/neuid3.py choose --repeats 3                                 # 30 CPU min
    ... uci --repeats 10 --source mnist:FOLDER --images all                       # 800 CPU min

`--tint ranks` shows suits without tint, ``emnist:FOLDER`` has EMNIST's letters.

Results are kept in results/neuid3, their records in docs/results/runs, too; a second call does only what is
missing, and tables have all that is there. `--page` writes pages from their tables. Eleusis on real images
has a page of its own, `*_mnist`. `--size` and `--epochs` make a small try, which needs folders of its own
(`--results`, `--docs`).
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pictures
from kept import keep, say, take
from nsl_bench.generators.tasks.eleusis import CONCEPTS
from nsl_bench.generators.tasks.uci_sets import SETS
from pages import INTERVALS, Top, before, kept, kept_table, lead, listed, losses, mean_of, page, points

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics.predictions import f1_scores
from nsl_bench.data.splits import make_source, make_split, symbolic_split
from nsl_bench.learners.papers.neuid3 import induction, networks
from nsl_bench.learners.papers.neuid3.learner import NeuID3
from nsl_bench.learners.view import View
from nsl_bench.report.published.equivalence import Mean
from nsl_bench.report.published.papers import paper as published_paper
from nsl_bench.report.published.papers import table as published_table
from nsl_bench.run.bench import Bench
from nsl_bench.run.job import Job
from nsl_bench.run.plan import plan
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep
from nsl_bench.run.true_rule import is_true_rule

TESTS = {"nf": "neural_facts", "union": "optimal_union", "optimal": "optimal", "bad": "bad"}
"""Classes of tests, and their names in the published table."""

OTHER_NAMES = {
    ours.partition(",")[0]: theirs for theirs, ours in published_paper("neuid3").names["dataset"].items()
}
"""Concepts and tables that the paper calls otherwise."""

CLASSES = {"violated": "positive", "fulfilled": "negative"}
"""The paper's class for each label: its positive class is the one in which the formula is false."""

UNSTATED = 7
"""Repeats of a published number without any: as many as the paper's other tables on Eleusis have."""

LEAVES = (
    "A node is a leaf where its best test does not lower the log-loss of the validation examples. We chose "
    "this rule after we had seen test results of `hidden_order`."
)
"""What whoever reads about Eleusis must know."""

SEEDS, FOLDS = 7, 10
"""Train splits of Eleusis and folds of a table in the paper; a page shows as many at least if they ran."""

OF_MNIST = "emnist:FOLDER,letters=drawn"
OF_EMNIST = "emnist:FOLDER"
"""Image sources of Eleusis with MNIST's digits: drawn letters do without EMNIST, which has no package."""

Rows = Sequence[Mapping[str, Any]]

_COLUMNS = ("key", "learner", "benchmark", "repeat", "learning_cpu_time")

WIDE = "benchmarks/wide_slots.py:WideSlotCNN"
"""The neural baseline in the paper's size."""

RANKS, OTHER_RANKS = 8, (5, 6, 7, 9, 10)
"""Numbers of ranks: that of the paper's main text, and others."""

ON_IMAGES = ("congressional", "credit", "hepatitis", "iris", "wine", "zoo")
"""Tables that are learned as images if no others are asked for: small ones."""

RULES = {
    "bits" if "one_hot" in one.where["input"] else "images": one
    for one in published_paper("neuid3").rules
    if one.where.get("table") == "2"
}
"""How `nsl-bench reproduce` runs the rows of table 2, by what learners see."""


@dataclass(frozen=True)
class Study:
    """What is run, and where results and pages go.

    Attributes:
        repeats: train splits.
        size: of train sets of Eleusis.
        epochs: passes of neuid3; the neural baseline has two and a half times as many.
        concepts: of Eleusis.
        sets: tables of UCI.
        source: image source; None for the embedded one of Eleusis.
        results: folder of results.
        docs: folder of pages.
        tint: of images of Eleusis, an option of the task.
        starts: first weights of each test.
        ranks: highest ranks of `ranks` that are learned now.
        images: tables that are learned as images, too.
    """

    repeats: int
    size: str
    epochs: int
    concepts: tuple[str, ...]
    sets: tuple[str, ...]
    source: str | None
    results: Path
    docs: Path
    tint: str = "cards"
    starts: int = 1
    ranks: tuple[int, ...] = (RANKS,)
    images: tuple[str, ...] = ON_IMAGES

    @property
    def last(self) -> str:
        """What the names of pages on Eleusis end with."""
        letters = "_emnist" if self.source and "letters=drawn" not in self.source else "_mnist"
        parts = [letters if self.source else "", "_white_suits" if self.tint == "ranks" else ""]
        return "".join([*parts, f"_{self.starts}_starts" if self.starts > 1 else ""])

    def asked(self, name: str) -> str:
        """The options of the command that makes a page."""
        if name in ("uci", "speed"):
            return " --source mnist:FOLDER"
        if name != "eleusis":
            return ""
        source = OF_EMNIST if "_emnist" in self.last else OF_MNIST
        parts = [
            f" --source {source}" if self.source else "",
            f" --tint {self.tint}" if self.tint != "cards" else "",
        ]
        return "".join([*parts, f" --starts {self.starts}" if self.starts > 1 else ""])

    def task(self, concept: str, **options: object) -> str:
        """The task of a concept of Eleusis."""
        given = {"concept": concept, **({"tint": self.tint} if self.tint != "cards" else {}), **options}
        return f"eleusis:{','.join(f'{key}={value}' for key, value in given.items())}"

    def run(self, name: str, jobs: Sequence[Job], shown: Sequence[Job]) -> pd.DataFrame:
        """Do the runs of a study that are missing.

        Args:
            name: of the study.
            jobs: its runs.
            shown: all that the page can show.

        Returns:
            The runs that there are of those to show.
        """
        store, kept = Store(self.results / name), self.docs / "runs" / f"neuid3_{name}"
        take(kept, store)
        sweep(jobs, store, Bench(), say)
        keys = {job.key() for job in shown}
        keep(store, keys, kept)
        runs = store.frame()
        return runs[runs["key"].isin(keys)] if len(runs) else pd.DataFrame(columns=_COLUMNS)

    def neuid3(self, tests: str, **options: object) -> str:
        """Spec of a tree."""
        given = {"tests": tests, "epochs": self.epochs, **options}
        given |= {"starts": self.starts} if self.starts > 1 else {}
        return f"neuid3:{','.join(f'{key}={value}' for key, value in given.items())}"


def told(values: Sequence[float] | pd.Series) -> str:
    """Mean and standard deviation, as in the paper's tables."""
    found = np.asarray(values, np.float64)
    spread = f" ± {found.std(ddof=1):.3f}" if len(found) > 1 else ""
    return f"{found.mean():.3f}{spread}" if len(found) else ""


def published(table: int, dataset: str, **where: str) -> Mean | None:
    """A number of the paper; None if it has none."""
    rows = published_table("neuid3")
    rows = rows[
        (rows["table"].astype(str) == str(table)) & (rows["dataset"] == OTHER_NAMES.get(dataset, dataset))
    ]
    for column, value in where.items():
        rows = rows[rows[column].fillna("") == value]
    if not len(rows):
        return None
    mean, std, n = (float(rows[column].iloc[0]) for column in ("mean", "std", "n_repeats"))
    repeats = UNSTATED if np.isnan(n) else int(n)
    return Mean(mean, std / repeats**0.5, repeats)


def beside(name: str, values: Sequence[float] | pd.Series, theirs: Mean | None) -> dict[str, str]:
    """Columns of a table: our number, and the paper's."""
    paper = "" if theirs is None else f"{theirs.value:.3f} ± {theirs.std_err * theirs.repeats**0.5:.3f}"
    return {name: told(values), f"{name}, paper": paper}


def verdict(records: Mapping[str, Record], runs: pd.DataFrame) -> str:
    """How many of some trees are equivalent to the true rule, read with a perceiver's names."""
    same, read = 0, 0
    for key, spec in zip(runs["key"], runs["benchmark"], strict=True):
        hypothesis = records[key].hypothesis
        if hypothesis is None or hypothesis.language != "asp":
            continue
        read += 1
        try:
            same += is_true_rule(hypothesis.rules, registry.create("benchmark", spec))
        except UserError:
            read -= 1
    return f"{same} of {read}" if read else "rules are not ASP"


def eleusis(study: Study) -> Rows:
    """Tables 3 to 5."""
    trees = {name: study.neuid3(name, named="true") for name in TESTS}
    others = {"slot_cnn": f"slot_cnn:epochs={5 * study.epochs // 2}", "ffnsl": "ffnsl", "cart": "cart"}

    def jobs(concept: str, repeats: int) -> list[Job]:
        return plan(
            study.task(concept),
            [*trees.values(), *others.values()],
            repeats=range(1, repeats + 1),
            sizes=(study.size,),
            sources=study.source,
        )

    frames, rows = {}, []
    for concept in CONCEPTS:
        asked = jobs(concept, study.repeats) if concept in study.concepts else []
        frames[concept] = study.run("eleusis", asked, jobs(concept, max(study.repeats, SEEDS)))
    records = Store(study.results / "eleusis").latest()
    for concept, runs in frames.items():
        classes = counted(concept)
        tested = min(examples for _, examples in classes)
        for name, spec in {**trees, **others}.items():
            mine = runs[runs["learner"] == registry.canonical(spec)]
            if not len(mine):
                continue
            row: dict[str, object] = {
                "concept": concept,
                "learner": f"neuid3, {name}" if name in trees else name,
                "runs": len(mine),
                "tested": tested,
            }
            for label, (theirs, _) in zip(CLASSES, classes, strict=True):
                known = {"class": theirs, "metric": "f1"}
                paper = None
                if name in trees:
                    paper = published(5, concept, tests=TESTS[name], **known)
                elif name == "slot_cnn":
                    paper = published(3, concept, method="neural_baseline", **known)
                row |= beside(f"F1 {label}", mine[f"f1_{label}"], paper)
            row["accuracy"] = told(mine["framework_accuracy"])
            row["rules equivalent"] = verdict(records, mine) if name != "slot_cnn" else ""
            rows.append(row)
    return rows


def ranks(study: Study) -> Rows:
    """Table 3: scores on eight ranks, and those on other numbers of ranks together."""
    learners = {"neuid3, nf": study.neuid3("nf"), "slot_cnn": f"slot_cnn:epochs={5 * study.epochs // 2}"}
    large = {"network of 44 million weights": f"{WIDE}:epochs={5 * study.epochs // 2}"}

    def jobs(concept: str, numbers: Sequence[int], repeats: int) -> list[Job]:
        return [
            job
            for n in numbers
            for job in plan(
                study.task(concept, ranks=n),
                [*learners.values(), *(large.values() if n == RANKS else ())],
                repeats=range(1, repeats + 1),
                sizes=(study.size,),
                sources=study.source,
            )
        ]

    rows = []
    for concept, numbers in itertools.product(study.concepts, ((RANKS,), OTHER_RANKS)):
        asked = jobs(concept, [n for n in numbers if n in study.ranks], study.repeats)
        runs = study.run("ranks", asked, jobs(concept, numbers, max(study.repeats, SEEDS)))
        tested = min(examples for _, examples in counted(concept))
        for name, spec in {**learners, **large}.items():
            mine = runs[runs["learner"] == registry.canonical(spec)]
            row: dict[str, object] = {
                "concept": concept,
                "ranks": ", ".join(map(str, numbers)),
                "learner": name,
                "runs": len(mine),
                "tested": tested,
            }
            for label, theirs in CLASSES.items():
                method = "ndt" if name == "neuid3, nf" else "neural_baseline"
                paper = published(3, concept, method=method, metric="f1", **{"class": theirs})
                row |= beside(f"F1 {label}", mine[f"f1_{label}"], paper)
            rows += [row | {"CPU min": told(mine["learning_cpu_time"] / 60)}] if len(mine) else []
    return rows


def counted(concept: str) -> list[tuple[str, int]]:
    """The paper's name of each class, and its test examples."""
    benchmark = registry.create("benchmark", f"eleusis:concept={concept}")
    labels = symbolic_split(benchmark, "test").labels
    names = benchmark.labels.names
    return [(theirs, int((labels == names.index(label)).sum())) for label, theirs in CLASSES.items()]


def uci_task(name: str) -> str:
    """The task of a table, with as many bits as the paper's."""
    rule, theirs = RULES["bits"], OTHER_NAMES.get(name, name)
    return rule.benchmark.format(dataset=rule.names["dataset"].get(theirs, theirs))


def uci(study: Study) -> Rows:
    """Table 2 as `nsl-bench reproduce` runs it, and other trees on its bits."""
    tried = {"bits": {"ndt, 4 deep": "neuid3:tests=facts", "cart": "tuned:cart"}, "images": {}}
    inputs = {"bits": "one_hot", "images": "mnist"}
    rows = []
    for name, (kind, rule) in itertools.product(SETS, RULES.items()):
        if published(2, name, method="ndt", input=inputs[kind], metric="accuracy") is None:
            continue
        task, learners = uci_task(name), {**rule.names["method"], **tried[kind]}
        how: dict[str, Any] = {"track": "symbolic"} if kind == "bits" else {"sources": study.source}
        try:
            examples = registry.create("benchmark", task).test_size
        except UserError as error:
            print(error, file=sys.stderr)
            continue
        shown = plan(task, [*learners.values()], repeats=range(1, FOLDS + 1), **how)
        asked = [job for job in shown if job.repeat <= study.repeats]
        wanted = name in study.sets and (kind == "bits" or name in study.images)
        runs = study.run("uci", asked if wanted else [], shown)
        whole = runs.groupby("repeat")["learner"].nunique() == len(learners)
        runs = runs[runs["repeat"].isin(whole.index[whole])]
        if not len(runs):
            continue
        folds = runs["repeat"].nunique()
        row: dict[str, object] = {"set": name, "input": kind, "runs": folds, "tested": examples * folds}
        for method, spec in learners.items():
            mine = runs[runs["learner"] == registry.canonical(spec)][rule.metric]
            theirs = "" if method == "default" else inputs[kind]
            paper = published(2, name, method=method, input=theirs, metric="accuracy")
            numbers = beside(method, mine, paper)
            row |= {method: numbers[method]} if method in tried[kind] else numbers
        rows.append(row)
    return rows


PARTS = ("train", "validation", "test")


def digits(source: str | None) -> str:
    """What images of digits are, in words."""
    return "scikit-learn's digits" if source is None else "MNIST's digits"


def seen(task: str, part: str, repeat: int, study: Study, kind: type[View] = View) -> View:
    """A part as `label_only` learners see it."""
    benchmark = registry.create("benchmark", task)
    source = make_source(benchmark, study.source)
    split = make_split(benchmark, source, part, study.size, repeat)  # type: ignore[arg-type]
    return kind(split, benchmark, "label_only", source=source, labelled=part != "test")


def truth(task: str, study: Study) -> npt.NDArray[np.int64]:
    """Labels of the test part."""
    benchmark = registry.create("benchmark", task)
    return make_split(benchmark, make_source(benchmark, study.source), "test").labels.astype(np.int64)


def f1_of(tree: NeuID3, parts: Sequence[View], labels: npt.NDArray[np.int64]) -> tuple[float, float]:
    """F1 of both classes on the test part, after learning from the others; `parts` are as in `PARTS`."""
    train, validation, test = parts
    said = tree.fit(train, validation).predict_proba(test).argmax(axis=1)
    violated, fulfilled = f1_scores(said, labels, 2)
    return float(violated), float(fulfilled)


def reuse(study: Study) -> Rows:
    """Table 6."""
    found: dict[str, list[tuple[float, float]]] = {}
    for repeat in range(1, study.repeats + 1):
        files = {}
        for concept in ("suit_order", "rank_order"):
            task = f"eleusis:concept={concept}"
            tree = NeuID3("optimal", epochs=study.epochs, seed=repeat)
            tree.fit(seen(task, "train", repeat, study), seen(task, "validation", repeat, study))
            files[concept] = study.results / "reuse" / f"{concept}_{repeat}.tests"
            files[concept].parent.mkdir(parents=True, exist_ok=True)
            tree.save(files[concept])
        task = "eleusis:concept=hidden_order"
        parts = [seen(task, part, repeat, study) for part in PARTS]
        labels = truth(task, study)
        for frozen in itertools.product((False, True), repeat=2):
            used = [str(file) for file, keep in zip(files.values(), frozen, strict=True) if keep]
            tree = NeuID3("optimal", epochs=study.epochs, seed=repeat, reuse="+".join(used) or None)
            suit, rank = ("trained" if keep else "untrained" for keep in frozen)
            words = f"rank_order {rank}; suit_order {suit}"
            found.setdefault(words, []).append(f1_of(tree, parts, labels))
    theirs = {words: published(6, "hidden_order", tests=words, metric="f1") for words in found}
    tested = counted("hidden_order")[1][1]
    return [
        {"tests": words, "runs": len(scores), "tested": tested, "F1 violated": told([v for v, _ in scores])}
        | beside("F1 fulfilled", [f for _, f in scores], theirs[words])
        for words, scores in found.items()
    ]


class Grey(View):
    """Examples whose images have lost their tint."""

    @property
    def images(self) -> Any:
        return [
            [image if image is None else np.repeat(image.max(2, keepdims=True), 3, axis=2) for image in slots]
            for slots in super().images
        ]


def tint(study: Study) -> Rows:
    """Does the suits' colour keep trees from learning which suit is the next?"""
    ways: dict[str, tuple[type[View], dict[str, Any]]] = {
        "as in the study": (View, {}),
        "images without tint": (Grey, {}),
        "minibatches of 8": (View, {"batch": 8}),
        f"{5 * study.epochs} epochs": (View, {"epochs": 5 * study.epochs}),
    }
    asked = [("increase_suits", way) for way in ways] + [("hidden_modulo", way) for way in [*ways][:2]]
    rows = []
    for (concept, way), tests in itertools.product(asked, ("optimal", "nf")):
        kind, options = ways[way]
        task = f"eleusis:concept={concept}"
        labels = truth(task, study)
        found = []
        for repeat in range(1, study.repeats + 1):
            parts = [seen(task, part, repeat, study, kind) for part in PARTS]
            tree = NeuID3(tests, seed=repeat, **{"epochs": study.epochs, **options})
            found.append(f1_of(tree, parts, labels)[1])
        theirs = published(5, concept, tests=TESTS[tests], metric="f1", **{"class": "negative"})
        rows.append(
            {
                "concept": concept,
                "tests": tests,
                "training": way,
                "runs": len(found),
                "tested": int(labels.sum()),
                **beside("F1 fulfilled", found, theirs),
                "of each split": ", ".join(f"{value:.2f}" for value in found),
            }
        )
    return rows


class Tried(networks.Networks):
    """Networks whose weights decay and whose train images are moved, for `choose`.

    Attributes:
        decay: share of a weight that a step takes away, for a learning rate of 1.
        moved: pixels by which images are moved at most, anew in each pass.
    """

    decay, moved = 0.0, 0

    def _learn(self, train: Any, rows: Any, importance: Any, parts: Any, optimiser: Any) -> None:
        import torch

        if self.moved:
            images = train.images.clone()
            for slot in images.flatten(0, 1):
                down, right = torch.randint(-self.moved, self.moved + 1, (2,)).tolist()
                slot.copy_(slot.roll((down, right), (1, 2)))
            train = replace(train, images=images)
        super()._learn(train, rows, importance, parts, optimiser)
        with torch.no_grad():
            for weight in self.weights.values():
                weight.mul_((1 - self.decay) ** len(parts))


def choose(study: Study) -> None:
    """Keep what neural facts say of validation examples of hidden_modulo; no test example is seen.

    The weights of the best epoch stay in any case, so that more epochs are an early stop, too.
    """
    usual = dict(networks._FAN_IN), networks._shapes
    ways: dict[str, dict[str, Any]] = {
        "as it is": {},
        "weight decay 0.1": {"decay": 1e-4},
        "weight decay 1": {"decay": 1e-3},
        "images moved by 2": {"moved": 2},
        "twice as wide": {"width": 2},
        "half as wide": {"width": 0.5},
        f"{3 * study.epochs} epochs": {"epochs": 3 * study.epochs},
        "5 starts": {"starts": 5},
    }
    path = study.docs / "runs" / "neuid3_choose.csv"
    rows = pd.read_csv(path).to_dict("records") if path.is_file() else []
    done = {(row["training"], row["tint"], row["runs"]) for row in rows}
    induction.Networks = Tried  # type: ignore[misc]
    for (way, options), tint in itertools.product(ways.items(), ("cards", "ranks")):
        if (way, tint, study.repeats) in done:
            continue
        how = {"epochs": study.epochs, **options}
        wide = how.pop("width", 1)
        Tried.decay, Tried.moved = how.pop("decay", 0.0), how.pop("moved", 0)
        networks._FAN_IN |= {name: n if name == "conv1" else int(wide * n) for name, n in usual[0].items()}
        networks._shapes = partial(_wider, usual[1], wide)
        task, scores, losses_found = f"eleusis:concept=hidden_modulo,tint={tint}", [], []
        clock = time.process_time()
        for repeat in range(1, study.repeats + 1):
            train, validation = (seen(task, part, repeat, study) for part in PARTS[:2])
            said = NeuID3("nf", seed=repeat, **how).fit(train, validation).predict_proba(validation)
            scores.append(float(f1_scores(said.argmax(axis=1), validation.labels, 2)[1]))
            right = said[np.arange(len(said)), validation.labels]
            losses_found.append(float(-np.log(np.maximum(right, 1e-12)).mean()))
        row: dict[str, Any] = {"training": way, "tint": tint, "runs": study.repeats}
        row |= {"validation F1 fulfilled": told(scores), "validation loss": told(losses_found)}
        row["CPU min"] = f"{(time.process_time() - clock) / 60 / study.repeats:.2f}"
        rows.append(row)
        kept(study.docs, "runs", "neuid3_choose", rows)
        print(row, flush=True)


def _wider(usual: Any, wide: float, channels: int, outputs: int) -> dict[str, tuple[int, ...]]:
    """Shapes of weights of a network with so many times the channels and units."""
    ends = {"conv1": (1, channels), "linear3": (0, outputs), "bias3": (0, outputs)}
    result = {}
    for name, shape in usual(channels, outputs).items():
        kernel = shape[2:] if name in ("conv1", "conv2") else ()
        units = [int(wide * n) for n in shape[: len(shape) - len(kernel)]]
        if name in ends:
            place, kept_as = ends[name]
            units[-1 if name != "conv1" else place] = kept_as
        result[name] = (*units, *kernel)
    return result


def speed(study: Study) -> Rows:
    """CPU seconds of learning beside the paper's seconds of training."""
    rows = []
    tables = RULES["images"].names["method"]
    concepts = {"neural_baseline": f"slot_cnn:epochs={5 * study.epochs // 2}", "ndt": study.neuid3("nf")}
    asked = [
        (name, uci_task(name), "uci", tables) for name in ("wine", "dermatology") if name in study.images
    ]
    for place, task, kept_in, learners in [
        *asked,
        ("any hidden concept", "eleusis:concept=rank_order", "speed", concepts),
    ]:
        most = FOLDS if kept_in == "uci" else SEEDS
        source = study.source if kept_in == "uci" else None
        shown = plan(task, [*learners.values()], repeats=range(1, most + 1), sources=source)
        asked_now = [job for job in shown if job.repeat <= study.repeats]
        runs = study.run(kept_in, asked_now, shown)
        for method, spec in learners.items():
            mine = runs[runs["learner"] == registry.canonical(spec)]["learning_cpu_time"]
            known = published_table("neuid3")
            known = known[(known["table"] == "prose") & (known["method"] == method)]
            theirs = known[known["dataset"] == place]["mean"].astype(float)
            words = "tree" if method == "ndt" else "network"
            row = {"task": task, "learner": words, "runs": len(mine), "CPU (s)": told(mine)}
            rows += [{**row, "paper (s)": " to ".join(f"{one:,.0f}" for one in theirs)}] if len(mine) else []
    return rows


STUDIES = {"eleusis": eleusis, "ranks": ranks, "uci": uci, "reuse": reuse, "tint": tint, "speed": speed}


ABOUT = tomllib.loads(Path(__file__).with_name("neuid3.toml").read_text("utf-8"))
"""What the page of each study says and draws."""


def leads(name: str, rows: Rows) -> list[dict[str, Any]]:
    """The leads of trees over others and over those of the paper; of `eleusis`, trees of neural facts."""
    found, places = [], ABOUT[name]["places"]
    by_place = {tuple(row[place] for place in places): row for row in rows}
    for row, own in itertools.product(rows, ABOUT[name]["scores"]):
        others = {"the paper": row[f"{own}, paper"]}
        if name == "eleusis":
            if row["learner"] != "neuid3, nf":
                continue
            others |= {
                who: by_place.get((row["concept"], who), {}).get(own, "") for who in ("slot_cnn", "ffnsl")
            }
        elif name == "uci":
            others["mlp"] = row["mlp"]
        runs, tested = int(row["runs"]), float(row["tested"])
        overlap = 1 / (runs - 1) if name == "uci" else 0.0
        about = {place: row[place] for place in places if place != "learner"} | {"score": own}
        for other, cell in others.items():
            if cell and row[own] and runs > 1:  # one run tells nothing of its spread
                told = lead(row[own], cell, runs, tested, deviations=True, overlap=overlap)
                found.append({**about, "other": other, "lead": told})
    return found


def answer(name: str, rows: Rows, ahead: Sequence[Mapping[str, Any]]) -> str:
    """The answer of a page, from its table."""
    if name == "speed":
        tree = next(row for row in rows if row["learner"] == "tree")
        task, mine = tree["task"].partition("=")[2].partition(",")[0], mean_of(tree["CPU (s)"])[0]
        return f"A tree on {task} takes {mine:.0f} CPU s, in the paper {tree['paper (s)']} s."
    if name == "ranks":
        by = {(row["concept"], row["learner"], row["ranks"]): row["F1 fulfilled"] for row in rows}
        wide = [
            mean_of(by[c, "neuid3, nf", ranks])[0] > mean_of(cell)[0]
            for (c, who, ranks), cell in by.items()
            if who == "network of 44 million weights"
        ]
        return f"Trees of neural facts beat the large network on {sum(wide)} of {len(wide)} concepts."
    if name == "reuse":
        first, *_, last = [mean_of(row["F1 fulfilled"])[0] for row in rows]
        return f"Tests trained in both trees raise F1 by {points(last - first).lstrip('+')}."
    if name == "tint":
        mine = [row for row in rows if (row["concept"], row["tests"]) == ("increase_suits", "nf")]
        tinted, without, *_ = [row["F1 fulfilled"].split()[0] for row in mine]
        return f"Neural facts have an F1 of {without} without tint, {tinted} with it."
    by = "input" if name == "uci" else "concept"
    sums = pd.DataFrame([{**one, "lead": one["lead"][0]} for one in ahead]).groupby(
        ["other", by, ABOUT[name]["places"][0]]
    )
    means = sums["lead"].sum()
    if name == "uci":
        kinds = [kind for kind in ("bits", "images") if kind in means["mlp"]]
        below = {kind: means["mlp"][kind] < 0 for kind in kinds}
        told = [f"{one.sum()} of {len(one)} on {kind}" for kind, one in below.items()]
        return f"Trees are below the MLP: {', '.join(told)}."
    network, ffnsl = ((means[who] > 0).sum() for who in ("slot_cnn", "ffnsl"))
    return f"They beat the network on {network}, FFNSL on {ffnsl} of {len(means['ffnsl'])} concepts."


def slower(rows: Rows) -> str:
    """What trees cost against networks, from the rows of `speed`; nothing of other studies."""
    seconds = {(row.get("task"), row.get("learner")): mean_of(row.get("CPU (s)", ""))[0] for row in rows}
    factors = {task: one / seconds[task, "network"] for (task, who), one in seconds.items() if who == "tree"}
    told = [f"{factor:.1f} times as long as a network on `{task}`" for task, factor in factors.items()]
    return f"A tree takes {listed(told)}." if told else ""


def write(study: Study, name: str) -> Path:
    """Write a page and its picture from its table."""
    about, last = ABOUT[name], study.last if name == "eleusis" else ""
    tables = {"results": "all numbers, with the paper's where it has them"}
    own, panel, places = f"neuid3_{name}{last}", about.get("panel", ""), about["places"]
    rows = kept_table(study.docs, own, "results").to_dict("records")
    drawn = [
        {"panel": row.get(panel, ""), "series": series}
        | {"row": ", ".join(row[place] for place in places if place != panel)}
        | dict(zip(("mean", "error"), mean_of(row.get(column, "")), strict=True))
        for row in rows
        for series, column in about["series"].items()
    ]
    ahead = leads(name, rows) if about["scores"] else []
    words = {"size": study.size, "epochs": study.epochs, "digits": digits(study.source), "leaves": LEAVES}
    words["letters"] = "EMNIST's letters" if "_emnist" in last else "drawn letters"
    return page(
        study.docs,
        own,
        Top(
            about["title"].format(**words),
            about["question"],
            answer(name, rows, ahead),
            f"python benchmarks/neuid3.py {name}{study.asked(name)} --page",
            f"{about['x']} by {listed(places)}: {listed([*about['series']])}",
        ),
        pictures.dots(
            pd.DataFrame(drawn).dropna(subset=["mean"]),
            study.docs / own / "results.png",
            about["x"],
            columns=about.get("columns", 2),
        ),
        losses(ahead, "The tree") if ahead else slower(rows),
        about["method"].strip().format(**words) + (f"{before(study.docs, own)} {INTERVALS}" if ahead else ""),
        tables,
        first="Where trees lose",
    )


def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("studies", nargs="+", choices=[*STUDIES, "choose"])
    parser.add_argument("--repeats", type=int, default=3, help="train splits; 10 for all folds of uci")
    parser.add_argument("--size", default="small", help="train examples of Eleusis")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--concepts", nargs="+", default=[*CONCEPTS], choices=CONCEPTS)
    parser.add_argument("--sets", nargs="+", default=[*SETS], choices=SETS)
    parser.add_argument("--source", help="image source")
    parser.add_argument("--tint", default="cards", choices=("cards", "ranks"), help="of images of Eleusis")
    parser.add_argument("--starts", type=int, default=1, help="first weights of each test on Eleusis")
    parser.add_argument("--ranks", nargs="+", type=int, default=[RANKS], help="of the study ranks")
    parser.add_argument(
        "--images", nargs="+", default=[*ON_IMAGES], help="tables that are learned as images now, or all"
    )
    parser.add_argument("--page", action="store_true", help="write the pages from their tables")
    parser.add_argument("--results", type=Path, default=Path("results/neuid3"))
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    given = vars(parser.parse_args())
    studies, from_tables = given.pop("studies"), given.pop("page")
    given["images"] = [*SETS] if given["images"] == ["all"] else given["images"]
    study = Study(**{name: tuple(one) if isinstance(one, list) else one for name, one in given.items()})
    for name in studies:
        if name == "choose":
            choose(study)
            continue
        if not from_tables:
            if name in ("uci", "speed") and study.source is None:
                parser.error(f"{name}: the paper's images are MNIST's; add{study.asked(name)}")
            last = study.last if name == "eleusis" else ""
            kept(study.docs, f"neuid3_{name}{last}", "results", STUDIES[name](study))
        write(study, name)


if __name__ == "__main__":
    main()
