"""``nsl-bench check``: try a learner on tiny tasks."""

from __future__ import annotations

from typing import Any

import click

from nsl_bench.cli import Command
from nsl_bench.cli.run import limit_options, limits_of
from nsl_bench.errors import UserError

__all__ = ["command"]


@click.command(
    cls=Command,
    examples=[
        "nsl-bench check my.py:MyLearner",
        'nsl-bench check --learner-command "python my.py"',
        "nsl-bench check random_forest:trees=10",
    ],
)
@click.argument("learner", required=False)
@click.option("--learner-command", "text", help="A command in place of LEARNER, or TRACK=COMMAND.")
@limit_options
def command(learner: str | None, text: str | None, **options: Any) -> int:
    """Run LEARNER on tiny mock tasks of each kind and say what is missing or wrong.

    Exits with 1 if something must be mended.
    """
    from nsl_bench.isolation.limits import Limits
    from nsl_bench.learners.command import spec_of
    from nsl_bench.run.check import check

    if (learner is None) == (text is None):
        raise UserError("Name one learner to check: my.py:MyLearner, or --learner-command COMMAND.")
    spec = learner if text is None else spec_of(text)
    assert spec is not None
    wrong = 0
    for finding in check(spec, limits_of(options, []) or Limits()):
        click.echo(f"{'wrong' if finding.wrong else 'note'}: {finding.where}: {finding.sentence}")
        wrong += finding.wrong
    click.echo("All is well." if not wrong else f"{wrong} thing(s) to mend.")
    return 1 if wrong else 0
