"""Results: the runs of one or several results folders as tables, figures and comparisons."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nsl_bench.core.errors import UserError, counted, unknown
from nsl_bench.core.metrics import METRICS

if TYPE_CHECKING:
    import pandas as pd

    from nsl_bench.report.typeset import Laid
    from nsl_bench.run.job import Job
    from nsl_bench.run.record import Record

Format = Literal["markdown", "csv", "latex", "html"]
PictureFormat = Literal["png", "svg", "pdf"]

_FILTERS = (
    *("benchmark", "test_task", "learner", "network", "track", "shift"),
    *("share", "repeat", "size", "source", "status"),
)
_COLUMN_OF = {"share": "percent"}


class Results:
    """Runs of one or several results folders.

    Folders are read once; call `refresh` to read them again.

    Args:
        folders: results folders, as written by `nsl_bench.evaluate` and `nsl-bench run`. If a run is in
            several, the last folder counts.
        names: display name of each learner's spec in tables and figures.

    Raises:
        UserError: a folder is not a results folder.
    """

    def __init__(self, *folders: str | Path, names: Mapping[str, str] | None = None) -> None:
        from nsl_bench.run.store import Store

        if not folders:
            raise UserError("No results folder given; name at least one.")
        self.stores = tuple(Store(Path(folder), must_exist=True) for folder in folders)
        self.names = dict(names or {})
        self._where: dict[str, frozenset[Any]] = {}
        self._kept_alive: Any = None

    @property
    def folder(self) -> Path:
        """The first folder, where figures are written by default."""
        return self.stores[0].folder

    def refresh(self) -> Results:
        """Read the folders again on next use, to include new runs; returns itself."""
        for name in ("frame", "_latest", "_records"):
            self.__dict__.pop(name, None)
        return self

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per run: job fields, ``key``, ``status``, ``results`` (the folder), and all metrics.

        ``shift`` and ``percent`` name the run's curve and its position on it.
        """
        import pandas as pd

        pieces = [
            store.frame(records.values()).assign(results=str(store.folder))
            for store, records in zip(self.stores, self._records, strict=True)
        ]
        result = pd.concat([piece for piece in pieces if len(piece)] or pieces[:1], ignore_index=True)
        if result.empty:
            return result
        result = result.drop_duplicates("key", keep="last", ignore_index=True)
        return self._of_filters(result)

    def _of_filters(self, runs: pd.DataFrame) -> pd.DataFrame:
        """The runs that pass all filters."""
        for name, values in self._where.items():
            runs = runs[runs[_COLUMN_OF.get(name, name)].isin(values)]
        return runs.reset_index(drop=True)

    @cached_property
    def _records(self) -> tuple[dict[str, Record], ...]:
        """The last record of each key, by folder."""
        return tuple(store.latest() for store in self.stores)

    @property
    def _all(self) -> dict[str, Record]:
        return {key: record for records in self._records for key, record in records.items()}

    @cached_property
    def _latest(self) -> dict[str, Record]:
        kept = set(self.frame["key"]) if len(self.frame) else set()
        return {key: record for key, record in self._all.items() if key in kept}

    def latest(self) -> dict[str, Record]:
        """The record of each run by key: what was learned, its environment, its message."""
        return self._latest

    def predictions(self, key: str) -> pd.DataFrame:
        """Predictions of a run: ``evaluation``, ``example``, ``label``, ``predicted``, label probabilities.

        Raises:
            UserError: the run does not exist, or its predictions were not stored.
        """
        from nsl_bench.run.store import NoPredictions

        for store in reversed(self.stores):
            try:
                return store.predictions(key)
            except NoPredictions:
                continue
        raise NoPredictions(f"The run {key} in {self.folder} has no predictions.")

    def rules(self, key: str) -> tuple[str, ...]:
        """The rules that a run learned; empty if it learned none.

        Raises:
            UserError: no run or several runs have a key with this beginning.
        """
        learned = self.record(key).hypothesis
        return () if learned is None else learned.rules

    def record(self, key: str) -> Record:
        """The record of a run, by its key or the key's first characters.

        Raises:
            UserError: no run or several runs have a key with this beginning.
        """
        result = [record for name, record in self.latest().items() if name.startswith(key)]
        if len(result) != 1:
            what = "no run" if not result else f"{len(result)} runs"
            fix = (
                "; `nsl-bench report --runs` lists the keys" if not result else "; give more characters of it"
            )
            raise UserError(f"The key '{key}' matches {what} in {self.folder}{fix}.")
        return result[0]

    def keep(self, keys: frozenset[str], alive: Any = None) -> None:
        """Keep only some runs.

        Args:
            keys: keys of the runs to keep.
            alive: object to keep alive with the results, such as their temporary folder.
        """
        self._where["key"] = keys
        self._kept_alive = alive
        self.refresh()

    def where(self, **values: Any) -> Results:
        """Select the runs of some benchmarks, learners, shifts and so on.

        Args:
            values: one value or several for any of benchmark, test_task, learner, network, track, shift,
                share, repeat, size, source, status. Learners are called by their spec or by their display
                name.

        Raises:
            UserError: an unknown name, or a value that no run has.
        """
        from nsl_bench.core.errors import did_you_mean

        result = Results(*(store.folder for store in self.stores), names=self.names)
        result._where, result._kept_alive = dict(self._where), self._kept_alive
        result._records = self._records
        for name, value in values.items():
            if name not in _FILTERS:
                raise unknown("filter", name, _FILTERS)
            several = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
            if name == "learner":
                spec_of = {title: spec for spec, title in self.names.items()}
                several = [spec_of.get(one, one) for one in several]
            column = _COLUMN_OF.get(name, name)
            values_there = set(self.frame[column]) if len(self.frame) else set()
            for one in several:
                if one in values_there:
                    continue
                if isinstance(one, str):
                    near = did_you_mean(one, map(str, values_there))
                    raise UserError(f"No run has the {name} '{one}'.{near}")
                there = ", ".join(f"{other:g}" for other in sorted(values_there))
                raise UserError(f"No run has the {name} {one:g}; these runs have {there}.")
            result._where[name] = frozenset(several) & result._where.get(name, frozenset(several))
        result.frame = result._of_filters(self.frame)
        return result

    def over(self, dial: str) -> Results:
        """These runs with curves, tables and figures over a dial of their annotation, e.g. wrong_labels.

        Raises:
            UserError: an unknown dial.
        """
        from nsl_bench.report.tables import over

        result = self.where()
        result.frame = over(self.frame, dial) if len(self) else self.frame
        return result

    def summary(self, metrics: Sequence[str] | None = None) -> pd.DataFrame:
        """Mean and standard error over train splits, one row per setting, learner, shift, share and metric.

        Args:
            metrics: metric names (`nsl_bench.core.metrics.METRICS`); those of the protocol by default.

        Raises:
            UserError: an unknown metric.
        """
        from nsl_bench.report.tables import summarise

        return summarise(self.named(metrics), self._metrics(metrics))

    def named(self, metrics: Sequence[str] | None = None) -> pd.DataFrame:
        """`frame` with learners' display names and with missing metrics computed from stored predictions.

        Args:
            metrics: metrics to compute from stored predictions.
        """
        from nsl_bench.report.completed import completed

        runs = completed(self, self._metrics(metrics))
        if self.names and len(runs):
            from nsl_bench.report.curves import SPECS

            runs = runs.assign(learner=runs["learner"].replace(self.names))
            runs.attrs[SPECS] = {name: spec for spec, name in self.names.items()}
        return runs

    def _metrics(self, metrics: Sequence[str] | None) -> tuple[str, ...]:
        from nsl_bench.report.completed import expanded
        from nsl_bench.report.tables import DEFAULT_METRICS

        for name in metrics or ():
            if name not in METRICS:
                raise unknown("metric", name, METRICS)
        return expanded(self.frame, metrics or DEFAULT_METRICS)

    def table(
        self,
        metrics: Sequence[str] | None = None,
        format: Format = "markdown",
        layout: Literal["long", "wide"] = "long",
    ) -> str:
        """Tables of mean and standard error over train splits, one for each task, as text.

        Failed runs have a mark and a note; where means are of other numbers of runs, these stand beside them.

        Args:
            metrics: metric names; those of the protocol by default.
            format: text format; ``"csv"`` gives numbers, one row a mean. LaTeX needs booktabs and graphicx.
            layout: ``"long"``: one row per learner, shift and share, one column per metric. ``"wide"``: one
                row per learner, one column per share, or per test task if there are several. Bold means are
                better than all others of their column by paired differences.

        Raises:
            UserError: an unknown metric, or metrics of which no run has a value.
        """
        from nsl_bench.report.comparing import supported
        from nsl_bench.report.escaping import csv_text
        from nsl_bench.report.tables import summarise, tables
        from nsl_bench.report.typeset import written

        runs, shown = self.named(metrics), self._metrics(metrics)
        done = runs[runs["status"] == "ok"] if len(runs) else runs
        if metrics and len(done) and not any(done[name].notna().any() for name in shown if name in done):
            raise UserError(f"No run has a value of {' or '.join(metrics)}; name another metric.")
        if format == "csv":
            return csv_text(summarise(runs, shown))
        if runs.empty:
            return f"No finished runs.{self._left_in_words()}\n"
        bold = partial(supported, results=self)
        return written(tables(runs, shown, layout, bold, self._left_in_words()), format)

    def against(self, learner: str, metrics: Sequence[str] | None = None, format: Format = "markdown") -> str:
        """Tables of paired differences of every other learner to one, one for each task, as text.

        Args:
            learner: spec or display name.
            metrics: by default framework accuracy, or hypothesis accuracy where there are no images.
            format: text format.

        Raises:
            UserError: an unknown metric or learner, or no runs that can be paired.
        """
        from nsl_bench.report.comparing import against, against_tables

        runs, name = self.named(metrics or ()), self.names.get(learner, learner)
        if name not in set(runs["learner"]):
            raise unknown("learner in these results", learner, set(runs["learner"]))
        table = against(runs, self, name, self._metrics(metrics) if metrics else ())
        return _text(table, partial(against_tables, reference=name), format)

    def confusion(self, format: Format = "markdown") -> str:
        """How often each label was predicted for each true label, one table for each task, as text.

        Raises:
            UserError: no run has predictions.
        """
        from nsl_bench.report.predictions import confusion, confusion_tables

        return _text(confusion(self, self.named(())), confusion_tables, format)

    def write_predictions(self, path: str | Path) -> int:
        """Write every stored prediction as CSV, with the concepts that the network saw; returns their number.

        Raises:
            UserError: no run has predictions, or the file cannot be written.
        """
        from nsl_bench.report.predictions import write_predictions

        return write_predictions(self, self.named(()), Path(path))

    @property
    def left(self) -> list[Job]:
        """The runs of unfinished sweeps that are still to be done."""
        found = {key: job for store in self.stores for key, job in store.left(self._all.values()).items()}
        wanted = {name: values for name, values in self._where.items() if name != "status"}
        return [
            job
            for key, job in found.items()
            for place in [{"key": key, "share": job.percent}]
            if all(place.get(name, getattr(job, name, "")) in values for name, values in wanted.items())
        ]

    def notes(self) -> list[str]:
        """What is to be known of these runs: what failed, was cut short, left out, or is still to be done."""
        from nsl_bench.report.tables import notes_on

        left = self._left_in_words()
        return [*(notes_on(self.named(())) if len(self) else []), *([left] if left else [])]

    def _left_in_words(self) -> str:
        jobs = self.left
        each = ", ".join(f"{name} {n}" for name, n in Counter(job.learner for job in jobs).items())
        done = f"{len(jobs)} of {len(jobs) + len(self)} runs are still to be done ({each})"
        return f"Incomplete: {done}; the command that began them resumes." if jobs else ""

    def curves(
        self,
        folder: str | Path | None = None,
        metrics: Sequence[str] | None = None,
        format: PictureFormat = "png",
    ) -> list[Path]:
        """Draw the metrics over the share of shifted examples and over test tasks.

        Args:
            folder: folder for the figures; ``curves`` in the results folder by default.
            metrics: metric names; those of the protocol by default.
            format: file format of the figures.

        Returns:
            The files written.

        Raises:
            UserError: an unknown metric.
        """
        from nsl_bench.report.curves import draw
        from nsl_bench.report.structure import draw_structure

        runs, chosen = self.named(metrics), self._metrics(metrics)
        place = self.folder / "curves" if folder is None else Path(folder)
        return [
            *draw(runs, place, chosen, format=format),
            *draw_structure(runs, place, chosen, format=format),
        ]

    def figure(
        self,
        path: str | Path,
        metrics: Sequence[str] | None = None,
        *,
        width: float = 6.75,
        font_size: float = 9.0,
    ) -> Path:
        """Draw one figure for a paper: curves of all tasks side by side, in LaTeX's fonts.

        Select learners and tasks with `where`.

        Args:
            path: file to write, ``.pdf``, ``.svg`` or ``.png``.
            metrics: framework accuracy by default, or hypothesis accuracy where there are no images.
            width: width in inches.
            font_size: size of the text in points.

        Raises:
            UserError: an unknown metric, another ending, or no runs at several shares.
        """
        from nsl_bench.report.curves import draw_figure

        if not metrics:
            images = self.frame.get("framework_accuracy")
            metrics = [
                "hypothesis_accuracy" if images is None or images.isna().all() else "framework_accuracy"
            ]
        runs, shown = self.named(metrics), self._metrics(metrics)
        return draw_figure(runs, Path(path), shown, width=width, font_size=font_size)

    def intervals(self) -> pd.DataFrame:
        """95 % intervals of accuracy over train splits, seeds, and test examples or images.

        Raises:
            UserError: no run has predictions.
        """
        from nsl_bench.report.intervals import intervals

        return intervals(self)

    def compare(self, first: str, second: str, metric: str | None = None) -> pd.DataFrame:
        """Paired differences between two learners of these results (`nsl_bench.compare`)."""
        return compare(self.where(learner=first), self.where(learner=second), metric=metric)

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        if not len(self):
            return f"<Results: no runs in {self.folder}>"
        runs = self.frame
        failed = int((~runs["status"].isin(["ok", "not_applicable"])).sum())
        parts = [counted(len(runs), "run"), *([f"{failed} failed"] if failed else [])]
        learners = ", ".join(self.names.get(name, name) for name in runs["learner"].unique())
        return f"<Results: {', '.join(parts)}; {', '.join(runs['benchmark'].unique())}; {learners}>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self).strip('<>'))}</p>{self.table(format='html') if len(self) else ''}"


def _text(table: pd.DataFrame, tables: Callable[[pd.DataFrame], list[Laid]], format: Format) -> str:
    """Numbers as CSV, or as tables for people."""
    from nsl_bench.report.escaping import csv_text
    from nsl_bench.report.typeset import written

    return csv_text(table) if format == "csv" else written(tables(table), format)


def results(*folders: str | Path, names: Mapping[str, str] | None = None) -> Results:
    """Read the runs of one or several results folders.

    Args:
        folders: results folders, as written by `nsl_bench.evaluate` and `nsl-bench run`.
        names: display name of each learner's spec in tables and figures.

    Raises:
        UserError: a folder is not a results folder.
    """
    return Results(*folders, names=names)


def compare(
    first: Results, second: Results, *, metric: str | None = None, level: float = 0.95
) -> pd.DataFrame:
    """Compare two learners by paired differences, with confidence intervals.

    Runs on the same data form pairs: same task, images, train split, shift and shares. Effects common to a
    pair, such as an easy train split, cancel.

    Args:
        first, second: runs of one learner each, with one network each.
        metric: framework accuracy by default, or hypothesis accuracy where there are no images.
        level: confidence level of the intervals.

    Returns:
        One row per setting, shift and share: ``first``, ``second`` (means), ``difference`` (first minus
        second), ``low``, ``high`` (over train splits and, where predictions are kept, test examples),
        ``p_value`` (two-sided, corrected by Holm's method over the rows), ``n`` (pairs). NaN where there is
        one pair or nothing varies.

    Raises:
        UserError: several learners or networks on one side, an unknown metric, or no pairs.
    """
    from nsl_bench.report.intervals import paired

    frames = []
    for word, side in (("first", first), ("second", second)):
        lines = len(side.frame[["learner", "network"]].drop_duplicates()) if len(side) else 0
        if lines != 1:
            raise UserError(
                f"compare: each side must have results of one learner with one network; {word} has "
                f"{lines}. Use results.where(learner=..., network=...)."
            )
        frames.append(side.named(() if metric is None else (metric,)))
    if metric is None:
        images = all(
            "framework_accuracy" in frame and frame["framework_accuracy"].notna().any() for frame in frames
        )
        metric = "framework_accuracy" if images else "hypothesis_accuracy"
    elif metric not in METRICS:
        raise unknown("metric", metric, METRICS)
    return paired(list(zip(frames, (first, second), strict=True)), metric, level)
