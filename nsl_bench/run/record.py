"""Records of runs: the job, its status, all metrics, versions and environment.

The form has a version (`SCHEMA`) and is published as JSON Schema, `record.schema.json` beside this module
(``nsl-bench store schema`` prints it): it is what `published_schema` makes of the class `Record`.
"""

import contextlib
import json
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache as memoise
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Self

from nsl_bench import __version__
from nsl_bench.core.declared import Is, Written, from_json, json_schema
from nsl_bench.core.types import Hypothesis, Status
from nsl_bench.run.job import Job
from nsl_bench.sandbox.limits import Limits

SCHEMA = 1
"""Version of the records' form."""
SCHEMA_FILE = Path(__file__).with_name("record.schema.json")
"""The form as JSON Schema."""
_KEY = "^[0-9a-f]{20}$"


def _counts_concepts(seen: Mapping[str, Any]) -> bool:
    return all(isinstance(part.get("concepts"), dict) for part in seen.values())


@dataclass(frozen=True)
class Record(Written):
    """The result of one run.

    Attributes:
        job: the job.
        status: how the run ended.
        metrics: all metrics by name (`nsl_bench.core.metrics.METRICS`).
        hypothesis: the learned rules, if the learner gives rules.
        content_hash: content hashes of the train and the test set.
        versions: versions of nsl-bench, Python and relevant libraries.
        environment: machine, processor and its instruction sets, number of cores, variables that choose
            libraries' instructions and threads, fingerprint of the network's weights, and the learner's
            sandbox (``isolation``).
        started: start time in UTC, ISO 8601.
        seconds: duration of the whole run, including perception.
        message: the error, or a note.
        output: the last lines that the learner printed, if it failed.
        timed_out: whether the time limit ended the learning and the best hypothesis found so far was used.
        inference: inference of the rules' label probabilities: the engine, the numbers of exact, bounded and
            sampled examples, the widest interval, and the largest standard error. Empty if the learner's own
            probabilities were used.
        perception: for ``"train"`` and ``"test"``, counts of the network's predicted concepts (``concepts``),
            and of its confidences in the FFNSL paper's six bins (``confidence``).
        tuning: for a tuned learner, the number of ``trials`` and of those that ``failed``, the ``chosen``
            options and their ``validation_accuracy``.
        shares_fit_of: key of the run of the same sweep whose fit this run tests on another test set; the
            learning times are that run's. Empty if this run had a fit of its own.
        key: key of the run, that of the job.
        schema: version of the record's format.
    """

    job: Job
    status: Status
    metrics: Mapping[str, float] = field(default_factory=dict)
    hypothesis: Hypothesis | None = None
    content_hash: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    started: str = ""
    seconds: Annotated[float, Is("a number of seconds, 0 or more", least=0)] = 0.0
    message: str = ""
    output: str = ""
    timed_out: bool = False
    inference: Mapping[str, Any] = field(default_factory=dict)
    perception: Annotated[
        Mapping[str, dict[str, dict[str, int] | list[int]]],
        Is("for each part how often each concept was seen, under 'concepts'", test=_counts_concepts),
    ] = field(default_factory=dict)
    tuning: Mapping[str, Any] = field(default_factory=dict)
    shares_fit_of: Annotated[
        str, Is("20 hexadecimal digits, or none", test=re.compile(f"(?:{_KEY})?").fullmatch)
    ] = ""
    key: Annotated[
        str, Is("20 hexadecimal digits", test=re.compile(_KEY).fullmatch, schema={"pattern": _KEY})
    ] = field(default="", compare=False)
    schema: Annotated[int, Is(f"{SCHEMA}, the version of records", least=SCHEMA, most=SCHEMA)] = field(
        default=SCHEMA, compare=False
    )

    def __post_init__(self) -> None:
        if not self.key:
            object.__setattr__(self, "key", self.job.key())

    def to_json(self) -> str:
        """The record as one line of JSON."""
        values = asdict(self)
        del values["schema"], values["key"]
        return json.dumps({"schema": SCHEMA, "key": self.key, **values}, allow_nan=False)

    @classmethod
    def from_json(cls, line: str | bytes) -> Self:
        """Read a record. Other keys are ignored.

        Raises:
            ValueError: the line is not a record; the message says why.
        """
        return from_json(cls, line)


def published_schema() -> str:
    """The text of `SCHEMA_FILE`."""
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A record of nsl-bench: the result of one run",
        "description": "Each line of records.jsonl, and each value of the column 'record' of "
        "records-*.parquet. Readers ignore other properties.",
    }
    return json.dumps({**json_schema(Record), **about}, indent=2) + "\n"


LIBRARIES = (
    *("clingo", "numba", "numpy", "opencv-python-headless", "pillow", "python-sat", "scikit-learn", "scipy"),
    *("torch", "torchvision"),
)
"""Libraries whose versions results may depend on."""
VARIABLES = (
    *("ATEN_CPU_CAPABILITY", "MKL_CBWR", "NPY_DISABLE_CPU_FEATURES", "OMP_NUM_THREADS"),
    *("ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE"),
)
"""Environment variables by which libraries choose instructions and threads."""
_INSTRUCTIONS = ("sse4_1", "avx", "avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "sve", "bf16")
"""Flags of processors by which libraries choose what computes."""


def limits_said(limits: Limits | None) -> dict[str, Any]:
    """The limits as JSON values."""
    if limits is None:
        return {}
    return {"time_limit": limits.time, "memory_limit": limits.memory, "threads": limits.threads}


@memoise
def versions() -> dict[str, str]:
    """Versions of nsl-bench, Python, and the libraries that results may depend on."""
    result = {"nsl-bench": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            result[name] = version(name)
        except PackageNotFoundError:
            continue
    return result


@memoise
def processor() -> dict[str, str]:
    """Model and instruction sets of the processor, as far as the system tells them."""
    fields: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            fields.setdefault(name.strip(), value.strip())
    flags = fields.get("flags", fields.get("Features", "")).split()
    result = {
        "processor": fields.get("model name") or platform.processor(),
        "instructions": " ".join(flag for flag in _INSTRUCTIONS if flag in flags),
    }
    return {name: value for name, value in result.items() if value}


def environment() -> dict[str, Any]:
    """Operating system, processor, number of cores, and variables by which libraries choose what computes."""
    chosen = " ".join(f"{name}={os.environ[name]}" for name in VARIABLES if name in os.environ)
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "cores": os.cpu_count() or 1,
        **processor(),
        **({"variables": chosen} if chosen else {}),
    }
