"""What fails beneath an engine is told in one sentence, and what can still be answered is right."""

import importlib.util
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from inference.enumeration import by_enumeration
from inference.forward_cases import COINS
from numba.core.errors import TypingError

from nsl_bench.core.errors import UserError
from nsl_bench.logic.inference.engines import Auto, Exact, Sampling, compiled
from nsl_bench.logic.inference.forward import compiled as forward
from nsl_bench.logic.inference.problog import engine as problog
from nsl_bench.logic.inference.problog.engine import ProbLog

VECTORS = np.array([[[0.9, 0.1], [0.2, 0.7]], [[0.5, 0.5], [0.4, 0.6]]])
TRUE = by_enumeration(COINS, VECTORS)[:, :2]
KERNEL = "nsl_bench.logic.inference.forward.kernel"


def sentence(error: pytest.ExceptionInfo[UserError]) -> str:
    """The message, which is one line."""
    text = str(error.value)
    assert "\n" not in text and "Traceback" not in text
    return text


def test_without_numba_only_the_forward_programme_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, KERNEL, raising=False)
    for name in [name for name in sys.modules if name.startswith("nsl_bench.logic.inference.forward.")]:
        if name.rpartition(".")[2] not in ("compiled", "arrays", "dnf"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(UserError) as error:
        run_forward()
    assert "need numba, which cannot be imported" in sentence(error)
    for engine in (Exact(), Auto()):
        np.testing.assert_allclose(engine(COINS, VECTORS).probabilities, TRUE, atol=1e-12)
    found = Sampling(2000)(COINS, VECTORS)
    assert (np.abs(found.probabilities - TRUE) <= 4 * found.std_err).all()


def run_forward() -> None:
    """Ask the forward dynamic programme."""
    program = compiled(COINS)
    program.forward.run(program.domains.probabilities(VECTORS), budget=0.0, work=1e6, workers=2)


def test_kernels_that_cannot_be_compiled_are_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> None:
        raise TypingError("no such type\n" * 300)

    monkeypatch.setattr(forward, "_kernel", lambda: fails)
    with pytest.raises(UserError) as error:
        run_forward()
    text = sentence(error)
    assert "numba cannot compile the engines exact and auto on this machine; use the engine sampling" in text
    assert "TypingError: no such type" in text and len(text) < 500
    np.testing.assert_allclose(Auto()(COINS, VECTORS).probabilities, TRUE, atol=1e-12)


def test_a_fault_of_our_own_in_the_kernels_is_not_put_down_to_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(forward, "_kernel", lambda: fails)
    with pytest.raises(KeyError, match="ours"):
        run_forward()


def test_kernels_are_compiled_where_no_folder_can_hold_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from nsl_bench.logic.inference.forward import kernel

    njit = numba.njit

    def no_folder(**options: object) -> object:
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(kernel.numba, "njit", no_folder)
    assert kernel._compiled().py_func.__name__ == "forward"


def test_problog_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError) as error:
        ProbLog()(COINS, VECTORS)
    assert sentence(error) == "The engine problog needs the package problog: pip install problog."


STAND_IN = """
import os, socket, sys, time
from pathlib import Path
from nsl_bench.core.processes.messages import Decoder, receive, send
channel, decoder = socket.socket(fileno=int(sys.argv[1])), Decoder(1 << 30)
def ready():
    send(channel, "ready")
    receive(channel, decoder)
"""


def stand_in(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Has code run in the place of ProbLog's process."""
    monkeypatch.setattr(problog, "_CODE", STAND_IN + code)


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("sys.exit(3)", "ProbLog's process ended without an answer."),
        ("ready(); sys.exit('last words')", "ended without an answer: last words."),
        ("ready(); os.kill(os.getpid(), 9)", "ended without an answer (signal 9: out of memory?)."),
    ],
)
def test_problogs_process_that_ends(monkeypatch: pytest.MonkeyPatch, code: str, wanted: str) -> None:
    stand_in(monkeypatch, code)
    with pytest.raises(UserError) as error:
        ProbLog()(COINS, VECTORS)
    assert wanted in sentence(error)


def test_what_problog_raises_is_told_once_and_with_both_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules as written, then the ground program: where both fail the sentence says why."""
    stand_in(
        monkeypatch,
        "ready()\nwhile True:\n    send(channel, {'error': 'GroundingError: no clause found'})\n"
        "    receive(channel, decoder)",
    )
    with pytest.raises(UserError) as error:
        ProbLog()(COINS, VECTORS)
    text = sentence(error)
    assert text.startswith("ProbLog failed on example 0: GroundingError: no clause found")
    assert text.count("rejects the rules as they are written at example 0") == 1


def test_an_example_past_its_time_costs_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is started anew; of the example nothing is known, and the answer says how many."""
    slept = tmp_path / "slept"
    real = problog._CODE
    stand_in(
        monkeypatch,
        f"if Path({str(slept)!r}).exists():\n    exec({real!r})\n"
        f"else:\n    Path({str(slept)!r}).touch(); ready(); time.sleep(60)",
    )
    answers: list[float] = []
    ask = problog._Worker.ask

    def patient(worker: problog._Worker, job: dict[str, object], seconds: float) -> object:
        answers.append(seconds)
        return ask(worker, job, seconds if len(answers) == 1 else 60.0)

    monkeypatch.setattr(problog._Worker, "ask", patient)
    answer = ProbLog(seconds=1.0)(COINS, VECTORS)
    assert answer.engines == ("timeout", "problog")
    assert (answer.low[0] == 0).all() and (answer.high[0] == 1).all()
    np.testing.assert_allclose(answer.probabilities[1], TRUE[1], atol=1e-12)
    assert "1 of 2 examples took ProbLog longer than 1 s" in answer.details["timeout"]
