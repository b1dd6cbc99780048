"""``nsl-bench check``: try a learner on small tasks."""

from __future__ import annotations

from typing import Annotated, Any

import click

from nsl_bench.cli import problems_found
from nsl_bench.cli.declared import declared
from nsl_bench.cli.running import limit_options_within, limits_of
from nsl_bench.core.errors import UserError

_SECONDS = 60.0
"""Default time limit: a learner that hangs is to be found out soon."""


@declared(
    examples=[
        "nsl-bench check my.py:MyLearner",
        "nsl-bench check my.py:MyLearner:alpha=2 --benchmark follow_suit",
        'nsl-bench check --learner-command "python my.py"',
        "nsl-bench check random_forest:trees=10",
    ]
)
@limit_options_within(_SECONDS)
def command(
    learner: str | None = None,
    *,
    text: Annotated[
        str | None,
        "--learner-command",
        "Check this command instead of LEARNER. Write TRACK=COMMAND if its track is not pretrained.",
    ] = None,
    benchmarks: Annotated[
        tuple[str, ...],
        "--benchmark",
        "Also try the learner on this task, with the small train set and unshifted images. Repeatable.",
    ] = (),
    **options: Any,
) -> int:
    """Test LEARNER on tiny mock tasks, and on each --benchmark, and list the problems found.

    Whatever the learner prints is shown. The check ends at the first time limit reached. Exit code 1 if there
    is a problem.
    """
    from nsl_bench.learners.command import spec_of
    from nsl_bench.run.check import check
    from nsl_bench.sandbox.limits import Limits

    if (learner is None) == (text is None):
        raise UserError("Name one learner to check: my.py:MyLearner, or --learner-command COMMAND.")
    spec = learner if text is None else spec_of(text)
    assert spec is not None
    wrong = 0
    for finding in check(spec, limits_of(options) or Limits(time=_SECONDS), benchmarks):
        click.echo(f"{'wrong' if finding.wrong else 'note'}: {finding.where}: {finding.sentence}")
        wrong += finding.wrong
    click.echo(problems_found(wrong))
    return 1 if wrong else 0
