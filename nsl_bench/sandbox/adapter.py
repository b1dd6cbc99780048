"""Start the sandboxed process of a learner that has an interpreter of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from nsl_bench.learners.environments import Entrant
from nsl_bench.sandbox.building import built
from nsl_bench.sandbox.limits import Limits
from nsl_bench.sandbox.process import Process

__all__ = ["adapter_process"]

_SCRIPT = Path(__file__).with_name("foreign.py")


def adapter_process(entrant: Entrant, limits: Limits, seed: int) -> tuple[Process, Mapping[str, str]]:
    """Start the process of an adapter, in an environment that is made first if there is none.

    Args:
        entrant: the learner.
        limits: resource limits. It may also read its folder and its environment.
        seed: seed of Python's and numpy's global random generators.

    Returns:
        The process, which serves the requests of any learner's process; the versions of Python and of
        everything in its environment.

    Raises:
        Failure: the environment cannot be made, or the process cannot be started.
    """
    environment = built(entrant)
    limits = replace(limits, read=(*limits.read, *environment.readable))
    words = [str(environment.python), "-P", "-s", "-u", str(_SCRIPT)]
    process = Process(limits, code=[entrant.folder], seed=seed, interpreter=words)
    return process, environment.versions
