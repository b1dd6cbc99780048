"""The rule learners ILASP and FastLAS, as external programs.

An adapter writes the task in the program's syntax, runs the program with a time limit, reads its rules, and
adds the type guards that it leaves out. The rules are scored by nsl-bench's own coverage check, not by the
program's score. The answer has the status feasible, because its proof cannot be checked, and no tier;
`Solution.solver` names the program.

The programs are found on the PATH, or through ``NSL_BENCH_FASTLAS`` and ``NSL_BENCH_ILASP``.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict, Unpack

from nsl_bench.core.budget import Budget, Expired
from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.processes.child import kill_group
from nsl_bench.logic.las.bias.hypothesis import parse_rules, with_type_guards
from nsl_bench.logic.las.bias.types import domains
from nsl_bench.logic.las.language_bias import ModeAtom
from nsl_bench.logic.las.semantics.coverage import score
from nsl_bench.logic.las.task import LasTask, Solution

_SECONDS_FOR_VERSION = 10.0
_SECONDS_FOR_SCORING = 60.0
"""What scoring a program's rules may take after its time is up."""
_CONSTANTS = "__constant"
_STARTS = 100
"""Process ids that are tried until one is found whose temporary files are nobody's."""


@dataclass(frozen=True)
class Program:
    """A rule learner that is run as a program.

    Attributes:
        variable: the environment variable that may say where it is.
        writes: folders that it keeps temporary files in, whatever TMPDIR says.
        files: pattern of these files' names, which hold its process id as ``{}``; empty if they do not.
    """

    name: str
    variable: str
    home: str
    version: tuple[str, ...]
    needs: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    files: str = ""


PROGRAMS = {
    "fastlas": Program(
        "FastLAS",
        "NSL_BENCH_FASTLAS",
        "https://github.com/spike-imperial/FastLAS/releases",
        ("--version",),
        ("clingo",),
        ("/tmp",),
        "fast_las_{}_*",
    ),
    "ilasp": Program("ILASP", "NSL_BENCH_ILASP", "https://www.ilasp.com/download", ("--help",)),
}
"""The programs, by the name of their rule learner."""


def find(program: Program, executable: str | Path | None = None) -> Path | None:
    """Where a program is; None if it is nowhere."""
    named = executable or os.environ.get(program.variable)
    result = shutil.which(str(named)) if named else shutil.which(program.name)
    return Path(result) if result else None


def describe() -> list[str]:
    """A line on each program for people: where it is and its version, or how to get it."""
    lines = []
    for name, program in PROGRAMS.items():
        path = find(program)
        if path is None:
            lines.append(
                f"{name}: not found; put {program.name} on the PATH or its path into {program.variable} "
                f"({program.home})"
            )
            continue
        try:
            printed = subprocess.run(
                [path, *program.version],
                capture_output=True,
                text=True,
                timeout=_SECONDS_FOR_VERSION,
                check=False,
            )
            version = re.search(r"\d+\.\d+(?:\.\d+)*", printed.stdout + printed.stderr)
            text = version.group() if version else "of unknown version"
        except (OSError, subprocess.TimeoutExpired):
            text = "that does not start"
        missing = [need for need in program.needs if shutil.which(need) is None]
        lacks = f"; it needs {', '.join(missing)} on the PATH" if missing else ""
        lines.append(f"{name}: {path} {text}{lacks}")
    return lines


class Limits(TypedDict, total=False):
    """How a program is run.

    Attributes:
        time_limit: seconds; afterwards the program and all it started are killed.
        memory_limit: bytes of address space for the program.
        executable: its path, if it is not on the PATH.
    """

    time_limit: float | None
    memory_limit: int | None
    executable: str | Path | None


def fastlas(task: LasTask, **limits: Unpack[Limits]) -> Solution:
    """Solve a task with FastLAS 2; meta-rules, recalls and limits on the body are ILASP's only."""
    mode = "--nopl" if _feeds_itself(task) else "--opl"
    return _run("fastlas", (mode, "--threads", "1"), _fastlas_text, task, **limits)


def ilasp(task: LasTask, **limits: Unpack[Limits]) -> Solution:
    """Solve a task with ILASP 4, which counts literals, so that ``#bias`` with other costs is refused."""
    arguments = ["--version=4", "--quiet", *(() if task.bias.constraints else ("-nc",))]
    if task.bias.body_limit is not None:
        arguments.append(f"-ml={task.bias.body_limit}")
    return _run("ilasp", arguments, _ilasp_text, task, **limits)


def _feeds_itself(task: LasTask) -> bool:
    """Whether a learned predicate occurs in background rules or bodies, or an example is negative."""
    learned = task.bias.learned
    in_bodies = {mode.literal.signature for mode in task.bias.bodies if isinstance(mode.literal, ModeAtom)}
    feeds = any(rule.signatures & learned for rule in task.program.rules if rule.derives)
    return feeds or bool(in_bodies & learned) or any(not example.positive for example in task.examples)


def _fastlas_text(task: LasTask) -> str:
    bias = task.bias
    for is_used, what in (
        (bias.meta_modes or bias.rules, "meta-rules or rules given whole"),
        (bias.body_limit is not None, "a limit on the body"),
        (any(literal.recall is not None for literal in bias.literals), "recalls"),
    ):
        if is_used:
            raise NotApplicable(f"{task.name}: FastLAS does not support {what}.")
    # FastLAS 2 knows no #constant: a type of its own holds them, so that no context fact is made up
    kinds = {kind for kind, _ in bias.constants}
    derived = domains(task).guarded
    facts = [f"{kind}{_CONSTANTS}({value})." for kind, value in bias.constants]
    facts += [f"{kind}{_CONSTANTS}(X) :- {kind}(X)." for kind in sorted(kinds & derived)]
    plain = replace(
        bias,
        bodies=tuple(mode._replace(recall=None, options=()) for mode in bias.bodies),
        heads=tuple(mode._replace(recall=None) for mode in bias.heads),
        constants=(),
    )
    text = replace(_numbered(task), bias=plain, background="\n".join([task.background, *facts])).to_las()
    text = re.sub(r"\bconst\((\w+)\)", lambda m: _typed("const", m.group(1), kinds), text)
    text = re.sub(r"\bvar\((\w+)\)", lambda m: _typed("var", m.group(1), kinds - derived), text)
    # FastLAS --nopl mistakes an id that is a compound term
    return re.sub(r"^#(pos|neg)\(eg\((e\d+)\)", r"#\1(\2", text, flags=re.MULTILINE)


def _without_types(answer: str) -> str:
    """The rules without the atoms of types that `_fastlas_text` made up."""
    made_up = rf"\w+{_CONSTANTS}\(\w+\)"
    return re.sub(rf":-\s*{made_up}\s*\.", ".", re.sub(rf",\s*{made_up}|{made_up}\s*,", "", answer))


def _typed(place: str, kind: str, renamed: AbstractSet[str]) -> str:
    return f"{place}({kind}{_CONSTANTS if kind in renamed else ''})"


def _ilasp_text(task: LasTask) -> str:
    from nsl_bench.logic.las.bias.costs import flat_costs

    if flat_costs(task.bias) != (1, 1) or task.bias.ground_without_replacement:
        raise NotApplicable(
            f"{task.name}: ILASP counts literals and cannot use the rule costs that #bias sets."
        )
    return replace(_numbered(task), bias=replace(task.bias, penalties=None, max_body=None)).to_las()


def _numbered(task: LasTask) -> LasTask:
    """The task with ids that every program can read."""
    examples = tuple(replace(example, id=f"e{i}") for i, example in enumerate(task.examples))
    return replace(task, examples=examples)


def _run(
    learner: str,
    arguments: Sequence[str],
    text: Callable[[LasTask], str],
    task: LasTask,
    **limits: Unpack[Limits],
) -> Solution:
    program, executable, time_limit = PROGRAMS[learner], limits.get("executable"), limits.get("time_limit")
    path = find(program, executable)
    if path is None:
        where = f"'{executable}' is not a program" if executable else f"{program.name} is not on the PATH"
        raise UserError(f"{where}; install it from {program.home} or set {program.variable}.")
    written = text(task)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="nsl-bench-") as folder:
        file = Path(folder) / "task.las"
        file.write_text(written, encoding="utf-8")
        command = [str(path), *arguments, str(file)]
        output = _communicate(command, folder, time_limit, limits.get("memory_limit"), program)
    statistics = {"seconds": time.monotonic() - started}
    left = None if time_limit is None else max(0.0, started + time_limit - time.monotonic())
    budget = Budget.of(left, None).with_grace(_SECONDS_FOR_SCORING)
    if output is None:
        message = f"{program.name} was stopped before it answered."
        return Solution("feasible", None, 0, statistics=statistics, message=message, solver=learner)
    answer = re.sub(r"^\s*%.*$", "", output, flags=re.MULTILINE)
    if "UNSATISFIABLE" in answer:
        message = f"{program.name} says so, which is not checked."
        return Solution("unsatisfiable", None, 0, statistics=statistics, message=message, solver=learner)
    rules = parse_rules(_without_types(answer), f"the answer of {program.name}")
    guarded = tuple(with_type_guards(task, rule) for rule in rules)
    result = _scored(task, guarded, budget, f"{program.name} calls it optimal.")
    return replace(result, solver=learner, statistics=statistics)


def _communicate(
    command: Sequence[str], folder: str, time_limit: float | None, memory_limit: int | None, program: Program
) -> str | None:
    """What the program prints; None if it was stopped. Whatever it started ends with it."""
    with _started(command, folder, program) as process:
        if memory_limit is not None:
            _hold(process.pid, memory_limit)
        try:
            output, errors = process.communicate(timeout=time_limit)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            return None
        finally:
            kill_group(process.pid)
    # FastLAS ignores failures of the programs that it calls, and then prints no answer, or nothing.
    if process.returncode != 0 or (errors.strip() and output.strip() in ("", "UNSATISFIABLE")):
        last = (errors.strip() or output.strip() or "it printed nothing").splitlines()[-1]
        raise UserError(f"{program.name} failed with code {process.returncode}: {last}")
    return output


@contextlib.contextmanager
def _started(command: Sequence[str], folder: str, program: Program) -> Iterator[subprocess.Popen[str]]:
    """A running program whose temporary files no other process uses.

    Processes in namespaces of their own have the same ids, and may share the folder that a program writes in.
    So each holds a lock on the byte of a file that its id names, for as long as it runs.
    """
    start = partial(
        subprocess.Popen,
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    if not program.files or find_spec("fcntl") is None:
        with start() as process:
            yield process
        return
    with _locks(program) as locks:
        claim = partial(_claim, program, locks)
        for _ in range(_STARTS):
            with contextlib.suppress(subprocess.SubprocessError):
                process = start(pass_fds=(locks,), preexec_fn=claim)
                break
        else:
            raise UserError(f"{program.name} was not started: {_STARTS} process ids are in use by others.")
        try:
            with process:
                yield process
        finally:
            with contextlib.suppress(OSError):
                _claim(program, locks, process.pid)


@contextlib.contextmanager
def _locks(program: Program) -> Iterator[int]:
    """Descriptor of the file whose bytes are locked."""
    path = Path(program.writes[0]) / f"nsl-bench-{program.name}-{os.getuid()}.lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise UserError(
            f"{program.name} needs {path.parent}, where {path.name} cannot be written: {error.strerror}."
        ) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _claim(program: Program, locks: int, process: int | None = None) -> None:
    """Lock what is named by a process id (default: its own), and remove what a killed process left there."""
    import fcntl

    process = os.getpid() if process is None else process
    fcntl.lockf(locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, process)
    for path in Path(program.writes[0]).glob(program.files.format(process)):
        path.unlink()


def _hold(process: int, memory_limit: int) -> None:
    """Refuse a process more memory than this, in bytes, where the system can do so (Linux)."""
    try:
        from resource import RLIMIT_AS, prlimit
    except ImportError:
        return
    prlimit(process, RLIMIT_AS, (memory_limit, memory_limit))


def _scored(task: LasTask, rules: tuple[str, ...], budget: Budget, message: str) -> Solution:
    """A program's rules with their score by our own coverage check."""
    try:
        result = score(task, rules, budget)
    except Expired as reason:
        text = f"{message} Its rules could not be scored: {reason}."
        return Solution("feasible", None, 0, rules, message=text)
    if result.broken:
        broken = ", ".join(result.broken[:5])
        text = f"{message} Its hypothesis leaves {broken} uncovered, which must be covered."
        return Solution("feasible", None, 0, message=text)
    pairs = list(zip(task.examples, result.covered, strict=True))
    return Solution(
        status="feasible",
        score=result.total,
        bound=0,
        hypothesis=rules,
        cost=result.cost,
        covered=tuple(e.id for e, ok in pairs if ok),
        uncovered=tuple((e.id, e.penalty) for e, ok in pairs if not ok and e.penalty is not None),
        message=message,
    )
