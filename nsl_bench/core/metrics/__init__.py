"""Metrics: what a run is measured by. `METRICS` has all of them, those of other packages among them.

A package adds a metric by an entry point in the group ``nsl_bench.metrics`` that is a `Metric`, or several in
a tuple. Runs, reports, the scoring of submissions and the board then have it.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points

from nsl_bench.core.declared import quoted
from nsl_bench.core.errors import UserError
from nsl_bench.core.metrics.metric import Answers, Metric, compute

__all__ = ["GROUP", "METRICS", "Answers", "Metric", "compute"]

GROUP = "nsl_bench.metrics"
"""Entry-point group."""

_OWN = "standard"
"""The entry point of the package's own metrics, which tables show first."""


class _Metrics(Mapping[str, Metric]):
    """Every metric by name, in the order in which tables show them; found when first asked for.

    A family such as ``f1`` is listed once; its members (``f1_valid``) are found by name.
    """

    def __init__(self) -> None:
        self._added = set[str]()

    @cached_property
    def _by_name(self) -> dict[str, Metric]:
        points = sorted(entry_points(group=GROUP), key=lambda point: (point.name != _OWN, point.name))
        result: dict[str, Metric] = {}
        for point in points:
            for metric in _metrics_of(point):
                if metric.name in result:
                    raise UserError(f"Two metrics are named '{metric.name}'; one of them is {point.value}.")
                result[metric.name] = metric
        return result

    def add(self, metric: Metric) -> None:
        """Add a metric in this process, in place of an earlier one that was added with its name."""
        if metric.name in self._by_name and metric.name not in self._added:
            raise UserError(f"A metric of an installed package is named '{metric.name}'; take another name.")
        self._added.add(metric.name)
        self._by_name[metric.name] = metric

    def __getitem__(self, name: str) -> Metric:
        if name in self._by_name:
            return self._by_name[name]
        for family, metric in self._by_name.items():
            label = name.removeprefix(f"{family}_")
            if metric.per_label is not None and label not in ("", name):
                return metric.of_label(label)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


def _metrics_of(point: EntryPoint) -> tuple[Metric, ...]:
    try:
        loaded = point.load()
    except Exception as error:  # another package's code may raise anything
        why = f"{type(error).__name__}: {error}"
        raise UserError(f"The metric {point.value} cannot be imported: {why}.") from error
    several = (loaded,) if isinstance(loaded, Metric) else loaded
    if not isinstance(several, tuple | list) or not all(isinstance(one, Metric) for one in several):
        got = quoted(loaded)
        raise UserError(f"The metric {point.value} must be a Metric or a tuple of metrics; got {got}.")
    return tuple(several)


METRICS = _Metrics()
"""Every metric by name, in the order in which tables show them."""
