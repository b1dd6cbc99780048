"""What is kept of a run: its job, how it ended, every number, and where and with what it was made.

The form has a version (`SCHEMA`) and is published as JSON Schema, `record.schema.json` beside this module
(``nsl-bench store schema`` prints it). Records of every earlier version are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from nsl_bench.run.job import Job
from nsl_bench.types import Hypothesis

__all__ = ["SCHEMA", "SCHEMA_FILE", "STATUSES", "Record", "Status"]

SCHEMA = 2
"""Version of the records' form."""

SCHEMA_FILE = Path(__file__).with_name("record.schema.json")
"""The form as JSON Schema."""

Status = Literal["ok", "crashed", "timeout", "out_of_memory", "invalid_output", "failed"]
"""How a run ended.

``"ok"``; or the learner raised or died (``crashed``), used up its time (``timeout``) or memory
(``out_of_memory``), or answered with what is no answer (``invalid_output``). ``"failed"`` is any failure in
records of version 1, and now one that is not the learner's own.
"""

STATUSES: tuple[str, ...] = get_args(Status)


@dataclass(frozen=True)
class Record:
    """The result of one run.

    Attributes:
        job: what was run.
        status: how it ended.
        metrics: every number by name (`nsl_bench.run.metrics.METRICS`).
        hypothesis: what was learned, if it can be read as rules.
        content_hash: of the train and the test set.
        versions: of nsl-bench, Python and the libraries that matter.
        environment: machine, number of cores, fingerprint of the network's weights, and how the
            learner was kept apart (``isolation``).
        started: UTC, ISO 8601.
        seconds: of the whole run, perception included.
        message: what went wrong, or is worth knowing.
        output: the last lines that the learner printed, if it did not end well.
        timed_out: whether the time limit ended the learning and its best hypothesis so far was used.
        inference: how the label probabilities of learned rules were inferred: the engine, how many examples
            were answered exactly, by an interval or by sampling, the widest interval, the largest standard
            error. Empty where a learner's own probabilities count.
        perception: for ``"train"`` and ``"test"`` how often the network saw each concept (``concepts``), and
            its confidences in ten bins of 0..1 (``confidence``).
        key: of the run; that of the job unless an older version recorded it under another one.
    """

    job: Job
    status: Status
    metrics: Mapping[str, float] = field(default_factory=dict)
    hypothesis: Hypothesis | None = None
    content_hash: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    started: str = ""
    seconds: float = 0.0
    message: str = ""
    output: str = ""
    timed_out: bool = False
    inference: Mapping[str, Any] = field(default_factory=dict)
    perception: Mapping[str, Any] = field(default_factory=dict)
    key: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.key:
            object.__setattr__(self, "key", self.job.key())

    def to_json(self) -> str:
        """One line."""
        return json.dumps({"schema": SCHEMA, "key": self.key, **asdict(self)}, allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> Record:
        """The record of a line, of this or an earlier version.

        Raises:
            ValueError: the line is no record.
        """
        return cls.from_dict(json.loads(line))

    @classmethod
    def from_dict(cls, values: Any) -> Record:
        """The record of a line's JSON; what a later version added is ignored.

        Raises:
            ValueError: it is no record.
        """
        try:
            rules = values["hypothesis"]
            hypothesis = None if rules is None else Hypothesis(**{**rules, "rules": tuple(rules["rules"])})
            names = {f.name for f in fields(cls)} - {"job", "hypothesis"}
            rest = {name: value for name, value in values.items() if name in names}
            return cls(Job.from_dict(values["job"]), hypothesis=hypothesis, **rest)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no record: {error}") from error
