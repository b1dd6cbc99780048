"""NTOC and the baselines on addition and Hanoi beside table 1 of the paper, a page of docs/results for each.

    python benchmarks/ntoc.py --only circuit
    python benchmarks/ntoc.py --only search
    python benchmarks/ntoc.py --only redrawn --variant published --mnist FOLDER --repeats 1
    python benchmarks/ntoc.py --only choose --mnist FOLDER
    python benchmarks/ntoc.py --repeats 10
    python benchmarks/ntoc.py --mnist FOLDER --repeats 10
    python benchmarks/ntoc.py --settings addition_5 hanoi_1 --learners ntoc lstm --repeats 2

`--only circuit` trains the table circuit alone on simulated digits, of which 90 % are right, and needs no
image; `--only search` lets the rule search shape it. `--only choose` compares options of the recurrent
networks, which the paper does not publish, on validation sequences. `--only redrawn` trains NTOC on the
Tower of Hanoi as the published code does: every pass shows the same windows in other digits and images
(`--variant`: besides, its train sets, or 32-bit convolutions).
Results are kept in results/ntoc, their records in docs/results/runs/ntoc, too; a second call does only what
is missing, and pages show all that is there. `--size`, `--test` and `--epochs` make a small try, which needs
folders of its own (`--results`, `--docs`). A sequence counts as right if all its steps are.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from kept import keep, take
from nsl_bench.generators.tasks.addition import Addition, sums
from nsl_bench.generators.tasks.hanoi import PEGS, Hanoi, compared
from nsl_bench.leaderboard.equivalence import Mean, compare_means
from nsl_bench.leaderboard.published import table as published_table

from nsl_bench import registry
from nsl_bench.data.splits import make_source, make_split
from nsl_bench.learners import perceivers
from nsl_bench.learners.ntoc.circuit import TableCircuit, Traces, literals
from nsl_bench.learners.ntoc.learner import NTOC
from nsl_bench.learners.ntoc.search import SearchedCircuit, facts_of, search_epochs
from nsl_bench.learners.view import View
from nsl_bench.run.evaluate import Bench
from nsl_bench.run.job import Job, plan
from nsl_bench.run.store import Store
from nsl_bench.run.sweep import sweep
from nsl_bench.sequences import grid
from nsl_bench.types import BLANK, FewLabels, Part, Split

MOST_REPEATS = 10
"""Train splits of the paper's table."""

MARGIN = 3.0
"""Percentage points within which two means count as equal."""


@dataclass(frozen=True)
class Setting:
    """A column of the paper's table.

    Attributes:
        task: that learners are trained on, with large train sets.
        tests: members of its family that they are tested on; results are averaged over them.
        published: setting in the table of published numbers.
        test: number of test sequences of each test task.
    """

    task: str
    tests: tuple[str, ...]
    published: str
    test: int


def _addition(preset: str, images: str, last: str = "") -> dict[str, Setting]:
    """A setting for each test task of a preset."""
    return {
        f"addition_{n}{last}": Setting("addition", (test,), f"length_3_to_{n}_{images}_images", 6000)
        for n, test in zip((5, 10, 20), Addition.test_presets[preset], strict=True)
    }


def _with(spec: str, option: str) -> str:
    """A spec with one more option."""
    return f"{spec}{',' if ':' in spec else ':'}{option}"


SETTINGS: Mapping[str, Setting] = {
    **_addition("longer", "test"),
    **_addition("longer-seen-images", "train", "_seen"),
    "hanoi_1": Setting("hanoi", Hanoi.test_presets["more-disks"], "disks_5_to_7_or_9", 3000),
    "hanoi_2": Setting("hanoi", Hanoi.test_presets["longer"], "sequence_length_3_to_5", 3000),
    "hanoi_3": Setting("hanoi", Hanoi.test_presets["more-disks-longer"], "disks_and_sequence_length", 3000),
}
"""The paper's settings; ``seen`` tests show images of the train sequences."""

TITLES = {"addition": "addition", "hanoi": "the Tower of Hanoi"}

NOTES = {
    "addition": " Settings with `seen` test on images of the train sequences.",
    "hanoi": " After we had seen test results, we changed the rate at which the perceivers of LSTM and DNC "
    "learn (LSTM 31, 29 and 20 % before) to that of their pre-training, and gave NTOC the pseudocount of the "
    "published code.",
}

LEARNERS: Mapping[str, tuple[str, str]] = {
    "ntoc": ("ntoc", "ntoc"),
    "ntoc_search": ("ntoc:search=true", "ntoc"),
    "lstm": ("lstm:perceiver=own,learning_rate=0.003", "lstm"),
    "dnc": ("dnc:perceiver=own,learning_rate=0.003", "dnc"),
    "cnn_transformer": ("cnn_transformer", ""),
    "true_rule": ("true_rule", "deepproblog_given_rules"),
    "ffnsl": ("ffnsl", ""),
}
"""Specs of learners, and their names in the paper's table; DeepProbLog there was given the rules.

The learning rates of LSTM and DNC are the better of `--only choose` on addition with MNIST's digits.
"""

VARIANTS = {
    "redrawn": "5 disks, drawn anew",
    "published": "3 and 5 disks, drawn anew, pre-training without two empty pegs",
    "float32": "5 disks, drawn anew, 32-bit convolutions",
}
"""What `--only redrawn` can change besides."""

ROWS = {"lstm": ",epochs=30", "dnc": ",epochs=30"}
"""Options on the Tower of Hanoi besides: as many passes as NTOC makes there."""

RATES = ((1e-3, 1e-3), (3e-3, 3e-3), (1e-3, 1e-4), (3e-3, 1e-4))
"""Learning rates of a recurrent network and of its perceiver that `--only choose` compares."""


@dataclass(frozen=True)
class Study:
    """What is run, and where results and the page go.

    Attributes:
        repeats: train splits.
        size: of train sets; None for the paper's.
        test: number of test sequences; None for the settings'.
        epochs: of learners that have epochs; None for their defaults.
        mnist: folder of MNIST; None for scikit-learn's digits.
        results: folder of results.
        docs: folder of pages.
        page: whether to write the page from what is there.
    """

    repeats: int
    size: str | None
    test: int | None
    epochs: int | None
    mnist: Path | None
    results: Path
    docs: Path
    page: bool = False

    def spec(self, learner: str, task: str) -> str:
        """A learner's spec on a task, with the number of epochs that is asked for."""
        spec = LEARNERS[learner][0]
        if self.epochs is None and task == "hanoi":
            return spec + ROWS.get(learner, "")
        if self.epochs is None or learner in ("true_rule", "ffnsl"):
            return spec
        return _with(spec, f"epochs={self.epochs}")

    @property
    def redrawn(self) -> Path:
        """The file with what `redrawn` found."""
        return self.docs / "runs" / "ntoc_redrawn.csv"

    @property
    def source(self) -> str | None:
        """The image source; None for the tasks' default."""
        return None if self.mnist is None else f"mnist_train:{self.mnist}"

    def tests(self, setting: Setting) -> list[str]:
        """The specs of a setting's test tasks."""
        return [_with(one, f"test={self.test or setting.test}") for one in setting.tests]

    def test_sizes(self, setting: Setting) -> list[int]:
        """The number of test sequences of each of a setting's test tasks."""
        return [registry.create("benchmark", one).test_size for one in self.tests(setting)]

    @property
    def kept(self) -> Path:
        """The folder of the records that the repository keeps."""
        return self.docs / "runs" / "ntoc"

    def jobs(self, settings: Sequence[str], learners: Sequence[str], repeats: int) -> list[Job]:
        """The runs of some settings of a task, ordered by train split; a learner is trained once for all."""
        task = SETTINGS[settings[0]].task
        return [
            job
            for repeat in range(1, repeats + 1)
            for job in plan(
                task,
                [self.spec(learner, task) for learner in learners],
                repeats=(repeat,),
                sizes=(self.size or "large",),
                source=self.source,
                test_tasks=[one for name in settings for one in self.tests(SETTINGS[name])],
            )
        ]

    def runs(self, task: str, settings: Sequence[str], learners: Sequence[str]) -> dict[str, pd.DataFrame]:
        """The runs that there are of each setting of a task; what is asked for and missing is done now."""
        store = Store(self.results)
        take(self.kept, store)
        if not self.page:
            jobs = self.jobs(settings, learners, self.repeats)
            sweep(jobs, store, Bench(), lambda record: print(record.job, record.message, file=sys.stderr))
        every = [name for name, setting in SETTINGS.items() if setting.task == task]
        jobs = self.jobs(every, [*LEARNERS], max(self.repeats, MOST_REPEATS))
        keep(store, {job.key() for job in jobs}, self.kept)
        found = store.frame()
        result = {}
        for name in every:
            tests = {registry.create("benchmark", one).spec for one in self.tests(SETTINGS[name])}
            keys = {job.key() for job in jobs if job.test_task in tests}
            result[name] = found[found["key"].isin(keys)] if len(found) else found
        return result


def percents(mine: pd.DataFrame) -> Any:
    """float64 [train splits]: sequence accuracies in percent, means over test tasks."""
    return 100 * mine.groupby("repeat")["sequence_accuracy"].mean().to_numpy(np.float64)


def row(study: Study, name: str, learner: str, mine: pd.DataFrame) -> dict[str, object]:
    """A row of the page: measured and published sequence accuracy, and whether they are equivalent."""
    rows = published_table("ntoc")
    rows = rows[(rows["setting"] == SETTINGS[name].published) & (rows["method"] == LEARNERS[learner][1])]
    rows = rows.dropna(subset=["mean"])
    values = percents(mine)
    failed = int((mine.groupby("repeat")["status"].agg(set) != {"ok"}).sum())
    runs = f"{len(values)} ({failed} failed)" if failed else str(len(values))
    told: dict[str, object] = {"setting": name, "learner": learner, "runs": runs}
    told["sequence accuracy (%)"] = _spread(values)
    if not len(rows):
        return {**told, "paper (%)": "", "verdict": "not in the paper", **_more(mine)}
    mean, std, n = (float(rows[column].iloc[0]) for column in ("mean", "std", "n_repeats"))
    told["paper (%)"] = f"{mean:.2f} ± {std:.2f}"
    if len(values) < 2 and learner != "true_rule":
        return {**told, "verdict": "too few runs", **_more(mine)}
    shared = _sampling_error(float(values.mean()), sum(study.test_sizes(SETTINGS[name])))
    found = compare_means(Mean.of(values.tolist()), Mean(mean, std / n**0.5, int(n)), MARGIN, shared)
    return {**told, "verdict": f"{found.word} ({found.difference:+.1f})", **_more(mine)}


def _sampling_error(percent: float, sequences: int) -> float:
    """Standard error, in points, from the sampling of test sequences, which all runs share, on both sides."""
    share = percent / 100
    return float(100 * np.sqrt(2 * share * (1 - share) / sequences))


def _more(mine: pd.DataFrame) -> dict[str, object]:
    """What tells perception from rules, and what learning costs."""
    columns = {
        "step accuracy (%)": "framework_accuracy",
        "effective image accuracy (%)": "effective_image_accuracy",
        "on true concepts (%)": "hypothesis_sequence_accuracy",
    }
    told: dict[str, object] = {
        words: _spread(100 * mine[column].dropna().to_numpy(np.float64)) if column in mine else ""
        for words, column in columns.items()
    }
    told["learning (CPU min)"] = f"{mine['learning_cpu_time'].mean() / 60:.1f}"
    return told


def _spread(values: Sequence[float] | Any) -> str:
    if not len(values):
        return ""
    deviation = f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{deviation}"


def study_pages(study: Study, settings: Sequence[str], learners: Sequence[str]) -> None:
    """Run the study and write a page for each task of the settings."""
    for task in dict.fromkeys(SETTINGS[name].task for name in settings):
        mine = [name for name in settings if SETTINGS[name].task == task]
        write_page(study, task, study.runs(task, mine, learners))


def write_page(study: Study, task: str, runs: Mapping[str, pd.DataFrame]) -> None:
    """Write the page of a task."""
    rows, ahead = [], []
    for name, found in runs.items():
        means: dict[str, float] = {}
        for learner in LEARNERS:
            spec = registry.canonical(study.spec(learner, task))
            mine = found[found["learner"] == spec] if len(found) else found
            if len(mine):
                rows.append(row(study, name, learner, mine))
                means[learner] = float(percents(mine).mean())
        ahead += _ahead_of_ffnsl(name, means)
    if not rows:
        print(f"No runs on {task}: its page stays as it is.", file=sys.stderr)
        return
    images = "MNIST" if study.mnist else "scikit-learn's digits, where the paper has MNIST"
    page = [
        f"# NTOC on {TITLES[task]}",
        "\n".join(ahead) or "FFNSL has not run yet.",
        "Made by `python benchmarks/ntoc.py`. Published numbers are those of table 1 of the NTOC paper (AAAI "
        f"2023), means and standard deviations over 10 runs. Images are {images}.{NOTES[task]} Runs that are "
        "missing are not counted.",
        f"*Equivalent* means within {MARGIN:g} points by two one-sided tests at 5 % with enough power, "
        "*different* by Welch's test; otherwise the question is *open*. Errors cover train splits and, on "
        "both sides, the sampling of test sequences. A failed run counts as the majority class. The paper's "
        "upper bound, DeepProbLog with given rules, stands beside `true_rule`, which learns nothing: one run "
        "is enough. `true_rule` and `ffnsl` see through a network that was trained on many labelled images, "
        "the others start from 100 or 500.",
        pd.DataFrame(rows).to_markdown(index=False),
        *(_redrawn_words(study) if task == "hanoi" else []),
    ]
    path = study.docs / f"ntoc_{task}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(page) + "\n", encoding="utf-8")
    print(path)


def _ahead_of_ffnsl(name: str, means: Mapping[str, float]) -> list[str]:
    """A line of a list: the learners with a higher mean than FFNSL in a setting."""
    if "ffnsl" not in means:
        return []
    better = sorted((m, learner) for learner, m in means.items() if m > means["ffnsl"])[::-1]
    words = ", ".join(f"{learner} ({m:.1f})" for m, learner in better) or "none"
    return [f"* {name}: ahead of FFNSL ({means['ffnsl']:.1f} %): {words}."]


def _redrawn_words(study: Study) -> list[str]:
    """What `--only redrawn` found, if it ran."""
    if not study.redrawn.is_file():
        return []
    found = pd.read_csv(study.redrawn)
    rows = []
    for variant, words in VARIANTS.items():
        mine = found[found["variant"] == variant]
        for setting, runs in mine.groupby("setting"):
            percent = 100 * runs.groupby("repeat")[["sequences", "sequences seen"]].mean()
            rows.append(
                {
                    "train sets": words,
                    "setting": setting,
                    "test tasks": ", ".join(dict.fromkeys(runs["test"])),
                    "runs": len(percent),
                    "sequence accuracy (%)": _spread(percent["sequences"]),
                    "on train images (%)": _spread(percent["sequences seen"]),
                }
            )
    return [
        "## Digits drawn anew in every pass",
        "The code that the NTOC authors published draws digits and images of the Tower of Hanoi anew "
        "whenever a sample is read: in pre-training (500 samples, 200 passes) and in training (1,000 "
        "windows, 30 passes). The settings above keep 500 samples and 1,000 windows, as the paper says. "
        "`python benchmarks/ntoc.py --only redrawn --variant NAME` trains NTOC as the code does. It also "
        "draws test images from the train images, which the last column shows. Where it still differs from "
        "the paper, the reason is not known: neither the published train sets, nor 32-bit convolutions, nor "
        "train images explain it.",
        pd.DataFrame(rows).to_markdown(index=False),
    ]


def choose(study: Study, settings: Sequence[str], learners: Sequence[str], epochs: int = 10) -> None:
    """Print the validation accuracy of the recurrent networks' options, on the first train split."""
    rows = []
    tasks = dict.fromkeys(SETTINGS[name].task for name in settings)
    recurrent = [learner for learner in learners if learner in ("lstm", "dnc")]
    for task, learner, (rate, perceiver) in itertools.product(tasks, recurrent, RATES):
        clock = time.process_time()
        benchmark = registry.create("benchmark", task)
        source = make_source(benchmark, study.source)
        size = study.size or "large"
        held_out = make_split(benchmark, source, "validation", size, 1)
        train, validation = (
            View(split, benchmark, "few_labels", source=source, labelled=split is not held_out)
            for split in (make_split(benchmark, source, "train", size, 1), held_out)
        )
        options = f"epochs={study.epochs or epochs},learning_rate={rate:g},perceiver_rate={perceiver:g}"
        made = registry.create("learner", f"{learner}:perceiver=own,{options}", seed=1)
        right = made.fit(train).predict_proba(validation).argmax(axis=1) == held_out.labels
        whole = right.reshape(held_out.n_sequences, -1).all(axis=1)
        rows.append({"task": task, "learner": learner, "options": options, "sequence accuracy": whole.mean()})
        rows[-1]["CPU min"] = (time.process_time() - clock) / 60
        print(rows[-1], flush=True)
    print(pd.DataFrame(rows).to_markdown(index=False))


class ManyComparisons(Hanoi):
    """The Tower of Hanoi with as many samples for pre-training as 200 passes show if all are drawn anew."""

    samples = 100_000


class AsPublished(ManyComparisons):
    """The Tower of Hanoi as the published code draws train sets by default.

    In half of the samples for pre-training a peg is empty, never two. Windows are those of towers of 3 and
    of 5 disks, as many of each as it has states.
    """

    _FEW = 3

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        """Windows of both towers; a tower of 3 disks has blank slots above them."""
        whole = super().generate(part, size, repeat, rng, exclude)
        if part != "train":
            return whole
        few = Hanoi(self._FEW, self.window).generate(part, size, repeat, rng)
        states = [2**disks - 1 for disks in (self._FEW, self.disks)]
        of_few = rng.random(whole.n_sequences)[whole.sequences] < states[0] / sum(states)
        concepts = np.full((len(few), PEGS, self.disks), BLANK, np.int16)
        concepts[:, :, : self._FEW] = few.concepts.reshape(len(few), PEGS, self._FEW)
        return replace(
            whole,
            concepts=np.where(of_few[:, None], concepts.reshape(len(few), -1), whole.concepts),
            labels=np.where(of_few, few.labels, whole.labels),
            metadata={
                name: np.where(of_few, few.metadata[name], own) for name, own in whole.metadata.items()
            },
        )

    def few_labels(self, rng: np.random.Generator) -> FewLabels:
        """Three disks on the pegs, or two of them and an empty peg."""
        drawn = rng.permuted(np.tile(np.arange(9, dtype=np.int16), (self.samples, 1)), axis=1)[:, :PEGS]
        empty = rng.integers(0, PEGS, self.samples)
        rows = np.flatnonzero(rng.random(self.samples) < 0.5)
        drawn[rows, empty[rows]] = BLANK
        return compared(drawn)


class Redrawn(NTOC):
    """NTOC to which every pass shows the same windows in other digits and other images of them.

    The train set holds the windows of all passes. What its first sequences are is kept.
    """

    def __init__(self, sequences: int, passes: int, seed: int) -> None:
        super().__init__(epochs=passes, pretraining=1, seed=seed)
        self._n = sequences

    def _sequences(self, train: View) -> Any:
        import torch

        rows = grid(train.steps)
        before = np.asarray(train.metadata["previous"])
        blank = np.array([[image is None for image in images] for images in train.images])
        windows = [(*train.labels[r].tolist(), *before[r].tolist(), blank[r].tobytes()) for r in rows]
        alike: dict[tuple[Any, ...], list[int]] = {}
        for number, window in enumerate(windows):
            alike.setdefault(window, []).append(number)
        rng = np.random.default_rng(self.seed)
        drawn = [rng.choice(alike[window], self.epochs) for window in windows[: self._n]]
        return torch.as_tensor(rows[np.stack(drawn, axis=1)])


def redrawn(study: Study, settings: Sequence[str], variant: str, passes: int = 30) -> None:
    """Print the sequence accuracy of NTOC on the Tower of Hanoi with digits that are drawn anew."""
    if variant == "float32":
        perceivers.is_fast_in_bfloat16 = lambda _: False  # type: ignore[assignment]
    before = pd.read_csv(study.redrawn) if study.redrawn.is_file() else pd.DataFrame({"variant": []})
    before, rows = before[before["variant"] != variant], []
    for repeat in range(1, study.repeats + 1):
        clock = time.process_time()
        task = AsPublished() if variant == "published" else ManyComparisons()
        n = int(study.size or Hanoi.sizes["large"])
        source = make_source(task, study.source)
        train = View(
            make_split(task, source, "train", str(n * passes), repeat), task, "few_labels", source=source
        )
        learner = Redrawn(n, study.epochs or passes, repeat).fit(train)
        spent = (time.process_time() - clock) / 60
        for name in settings:
            for spec in study.tests(SETTINGS[name]):
                tested = registry.create("benchmark", spec)
                found: dict[str, object] = {"variant": variant, "setting": name, "test": spec}
                found["repeat"] = repeat
                for images, part, last in (("", "test", repeat), (" seen", "train", study.repeats + repeat)):
                    split = make_split(tested, source, part, str(tested.test_size), last)
                    view = View(split, tested, "few_labels", source=source, labelled=False)
                    right = learner.predict_proba(view).argmax(axis=1) == split.labels
                    found[f"steps{images}"] = right.mean()
                    found[f"sequences{images}"] = right.reshape(split.n_sequences, -1).all(axis=1).mean()
                rows.append({**found, "CPU min": spent})
                print(rows[-1], flush=True)
                study.redrawn.parent.mkdir(parents=True, exist_ok=True)
                pd.concat([before, pd.DataFrame(rows)]).to_csv(study.redrawn, index=False)
    print(pd.DataFrame(rows).to_markdown(index=False))


def simulated(n: int, steps: int, right: float, seed: int) -> tuple[Any, Any]:
    """Probabilities [n, steps, 2, 10] of digits of which a share is right, and labels [n, steps]."""
    import torch

    rng = np.random.default_rng(seed)
    digits = rng.integers(0, 10, (n, steps, 2))
    wrong = rng.random(digits.shape) >= right
    shown = np.where(wrong, (digits + rng.integers(1, 10, digits.shape)) % 10, digits)
    probabilities = np.full((*digits.shape, 10), (1 - right) / 9)
    np.put_along_axis(probabilities, shown[..., None], right, axis=-1)
    return torch.as_tensor(probabilities).float(), torch.as_tensor(sums(digits)).long()


def circuit(epochs: int, n: int = 10_000, right: float = 0.9, rounds: int = 0) -> None:
    """Train the circuit alone, searched if there are rounds; print how long it takes to find the rule."""
    import torch

    torch.set_num_threads(1)
    seen, labels = simulated(n, 3, right, 0)
    table = (SearchedCircuit if rounds else TableCircuit)((10, 10), 10, 2)
    traces = Traces(torch.arange(2 * n).reshape(n, 2), 2, 0.01, 0)
    worlds = _worlds(table, seen)
    order = torch.Generator().manual_seed(0)
    clock = time.perf_counter()
    for epoch in range(1, epochs + 1):
        if isinstance(table, SearchedCircuit) and epoch - 1 in search_epochs(epochs, rounds):
            start = torch.tensor([1.0, 0.0]).expand(n, 1, 2)
            memory = literals(torch.cat([start, traces.state["value"]], dim=1))
            ends = (memory.flatten(0, 1), torch.cat([memory[:, 1:], 0 * memory[:, :1]], dim=1).flatten(0, 1))
            found = table.search(facts_of(worlds.flatten(0, 1), ends[0], labels.flatten(), ends[1]))
            print(f"{found.count} of {found.allowed.size} worlds after {found.splits} splits", flush=True)
        for rows in torch.split(torch.randperm(n, generator=order), 256):
            latent = traces.take(rows)
            first = torch.tensor([1.0, 0.0]).expand(len(rows), 1, 2)
            memory = literals(torch.cat([first, latent], dim=1))
            went = torch.cat([memory[:, 1:], torch.zeros_like(memory[:, :1])], dim=1)
            passed = table.explain(
                worlds[rows].flatten(0, 1),
                memory.flatten(0, 1),
                labels[rows].flatten(),
                went.flatten(0, 1),
                flow=True,
            )
            (passed.symbols - passed.joint).mean().backward()
            traces.move(rows, latent.grad)
            table.learn(passed.flow, 0.02)
        if epoch % 5 == 0:
            print(f"{epoch} epochs, {time.perf_counter() - clock:.1f} s: {_judged(table)}", flush=True)


def _worlds(table: TableCircuit, seen: Any) -> Any:
    """Tensor [n, steps, worlds]."""
    symbols = [literals(seen[:, :, slot].flatten(0, 1)) for slot in range(2)]
    return table.worlds_of(symbols).reshape(*seen.shape[:2], -1)


def _judged(table: TableCircuit) -> str:
    """Wrong entries, and sequence accuracy on true digits."""
    import torch

    best = table.theta.flatten(2).argmax(dim=2)
    total = torch.tensor([[a + b + c for c in (0, 1)] for a in range(10) for b in range(10)])
    words = [f"{int((best != total % 10 * 2 + total // 10).sum())} of 200 entries wrong"]
    for steps in (3, 5, 20):
        seen, labels = simulated(1000, steps, 1.0, 1)
        said = table.run(_worlds(table, seen), torch.tensor([1.0, 0.0]).expand(1000, 2)).argmax(dim=2)
        words.append(f"L={steps} {float((said == labels).all(dim=1).float().mean()):.3f}")
    return ", ".join(words)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", choices=["circuit", "search", "choose", "redrawn"], help="one part; see above"
    )
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, help="all unless given")
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=[*LEARNERS])
    parser.add_argument("--variant", choices=VARIANTS, default="redrawn", help="of --only redrawn")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--size", help="train sequences, the paper's unless given")
    parser.add_argument("--test", type=int, help="test sequences")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--mnist", type=Path, help="folder of MNIST")
    parser.add_argument("--page", action="store_true", help="write the page from what is there")
    parser.add_argument("--results", type=Path, default=Path("results/ntoc"))
    parser.add_argument("--docs", type=Path, default=Path("docs/results"))
    given = vars(parser.parse_args())
    only, settings, learners, variant = (
        given.pop(name) for name in ("only", "settings", "learners", "variant")
    )
    study = Study(**given)
    if only in ("circuit", "search"):
        circuit(study.epochs or 40, rounds=3 if only == "search" else 0)
    elif only == "choose":
        choose(study, settings or [*SETTINGS], learners)
    elif only == "redrawn":
        hanoi = [name for name in settings or SETTINGS if SETTINGS[name].task == "hanoi"]
        redrawn(study, hanoi, variant)
    else:
        study_pages(study, settings or [*SETTINGS], learners)


if __name__ == "__main__":
    main()
