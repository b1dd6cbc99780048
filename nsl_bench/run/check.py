"""Try a learner on small tasks and describe what is missing or wrong, before a real run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from nsl_bench.core import registry
from nsl_bench.core.errors import NotApplicable, UserError, counted
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import Floats, Hypothesis, Ints16
from nsl_bench.learners.base import (
    About,
    Unanswered,
    hypothesis_of,
    labels_of,
    probabilities_of,
    takes_validation,
    track_of,
)
from nsl_bench.learners.command import is_command
from nsl_bench.learners.view import View
from nsl_bench.run.bench import Bench, check_true_rule
from nsl_bench.run.mock_tasks import MOCKS, mock_views
from nsl_bench.run.plan import plan
from nsl_bench.sandbox.command import CommandLearner
from nsl_bench.sandbox.host import IsolatedLearner
from nsl_bench.sandbox.limits import Failure, Limits

_LINES = 50
"""How many of the first, and of the last, lines that a learner prints are shown."""


@dataclass(frozen=True)
class Finding:
    """A finding of `check`."""

    wrong: bool
    where: str
    sentence: str


_Views = tuple[View, View | None, Mapping[str, View]]
"""A train view, a validation view, and a test view for each evaluation."""


@dataclass(frozen=True)
class _Trial:
    """What a learner answered on one task."""

    probabilities: dict[str, Floats]
    labels: dict[str, Ints16]
    hypothesis: Hypothesis | None


def check(spec: str, limits: Limits, benchmarks: Sequence[str] = ()) -> Iterator[Finding]:
    """Try a learner on real tasks, or on each mock task if none is named, twice with the same seed.

    Args:
        limits: resource limits. After a timeout the remaining tasks are skipped.
        benchmarks: real tasks, run with their smallest train split and standard images.

    Yields:
        Problems, notes, what the learner printed, and what works.
    """
    for name in benchmarks:
        registry.create("benchmark", name)
    bench = Bench(limits=limits)
    tasks: dict[str, Callable[[Track], _Views]] = {
        name: cache(partial(_real_views, name, spec, bench)) for name in benchmarks
    } or {one.name: partial(mock_views, one) for one in MOCKS}
    sentences: set[str] = set()  # what is wrong with a learner itself is said once, not for every task
    shown: set[tuple[str, ...]] = set()
    for name, views in tasks.items():
        printed: list[str] = []
        late = False
        try:
            first = _try(spec, limits, views, printed)
            second = _try(spec, limits, views, printed)
        except Failure as failure:
            result = [Finding(failure.status != "not_applicable", name, _report(failure, shown))]
            late = failure.status == "timeout"
            lines = failure.output
        except NotApplicable as error:
            result = [Finding(False, name, f"not applicable: {error}")]
            lines = ""
        except UserError as error:
            result = [Finding(True, name, str(error))]
            lines = ""
        else:
            result = list(_compared(first, second, name))
            lines = ""
        # A failure comes with the last lines that were printed.
        if printed and printed[0].strip() and not (lines and printed[0].strip().endswith(lines.strip())):
            yield Finding(False, name, _abridged(printed[0]))
        yield from (one for one in result if not one.wrong or one.sentence not in sentences)
        sentences |= {one.sentence for one in result}
        if late:
            if name != list(tasks)[-1]:
                yield Finding(False, name, "The learner was not tried on the remaining tasks.")
            return


def _real_views(name: str, spec: str, bench: Bench, track: Track) -> _Views:
    """The views of a real task, as its runs show them to a learner of a track."""
    (job,) = plan(name, [spec], describe=lambda learner: About(track, ""))
    material = bench.material(job)
    check_true_rule(material)
    validation = None if material.validation is None else material.view(material.validation())
    return material.view(material.train), validation, material.tests()


def _report(failure: Failure, shown: set[tuple[str, ...]]) -> str:
    """How a learner failed, with a traceback unless one of the same lines of code is among those shown."""
    lines = failure.output.splitlines()
    frames = tuple(line for line in lines if line.lstrip().startswith('File "'))
    if frames and frames in shown:
        lines = []
    shown.add(frames)
    return "\n    ".join([f"{failure.status.replace('_', ' ')}: {failure}", *lines])


def _abridged(printed: str) -> str:
    """What a learner printed, the middle of it left out where it is long."""
    lines = printed.strip("\n").splitlines()
    if len(lines) > 2 * _LINES:
        left_out = f"[{len(lines) - 2 * _LINES} lines left out]"
        lines = [*lines[:_LINES], left_out, *lines[-_LINES:]]
    return "\n    ".join(["the learner printed:", *lines])


def _try(spec: str, limits: Limits, views_of: Callable[[Track], _Views], printed: list[str]) -> _Trial:
    """Fit a learner and ask it; what it prints is added to `printed`, whatever comes of it."""
    learner: Any = CommandLearner(spec, 0, limits) if is_command(spec) else IsolatedLearner(spec, 0, limits)
    started = learner
    try:
        train, validation, views = views_of(track_of(learner))
        more = {} if validation is None or not takes_validation(learner) else {"validation": validation}
        fitted = learner.fit(train, **more)
        learner = learner if fitted is None else fitted
        probabilities, labels = {}, {}
        for name, view in views.items():
            try:
                probabilities[name] = probabilities_of(learner, view)
            except Unanswered:
                continue
            labels[name] = labels_of(learner, view, probabilities[name])
        hypothesis = hypothesis_of(learner)
        if hypothesis is not None and hypothesis.language == "asp":
            _parsed(hypothesis)
        return _Trial(probabilities, labels, hypothesis)
    finally:
        printed.append(started.log())
        learner.close()


def _parsed(hypothesis: Hypothesis) -> None:
    from nsl_bench.logic.guarded.rules import one_by_one

    for i, rule in enumerate(hypothesis.rules, 1):
        one_by_one(rule, f"rule {i} of the learner ('{rule[:60]}')")


def _compared(first: _Trial, second: _Trial, where: str) -> Iterator[Finding]:
    for name, values in first.probabilities.items():
        sums = values.sum(axis=1)
        short = (sums < 1 - 1e-3) & (sums > 1e-9)
        if short.any() and first.hypothesis is None:
            yield Finding(
                True,
                where,
                f"{name} evaluation: the probabilities of {int(short.sum())} of {len(sums)} examples sum to "
                f"less than 1, e.g. {sums[int(short.argmax())]:.3g}; each row must sum to 1, or be all zeros "
                "to abstain.",
            )
        if not np.array_equal(values, second.probabilities[name]):
            differ = int((values != second.probabilities[name]).any(axis=1).sum())
            yield Finding(
                True,
                where,
                f"{name} evaluation: a second run with the same seed differs for {differ} of "
                f"{len(values)} examples; take `seed` in the constructor and use it for all randomness.",
            )
        if np.ptp(values, axis=0).max(initial=0) == 0:
            yield Finding(False, where, f"{name} evaluation: every example gets the same answer.")
        empty = int((values.max(axis=1) <= 0).sum())
        if empty:
            yield Finding(False, where, f"{name} evaluation: abstains on {empty} of {len(values)} examples.")
    if first.hypothesis != second.hypothesis:
        yield Finding(True, where, "A second run with the same seed learns different rules.")
    rules = "no rules" if first.hypothesis is None else counted(len(first.hypothesis.rules), "rule")
    yield Finding(False, where, f"answered in {' and '.join(first.probabilities)} evaluation, {rules}.")
