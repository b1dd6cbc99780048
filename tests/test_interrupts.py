"""Ctrl-C reaches whoever is to hear it."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nsl_bench.core.interrupts import patient


@pytest.fixture(autouse=True)
def _plain_handler() -> Iterator[None]:
    """Python's own handler: a test of the command line leaves a patient one, deaf after its first Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_import_that_swallows_ctrl_c_only_delays_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "swallowing_module.py").write_text(
        "import signal\ntry:\n    signal.raise_signal(signal.SIGINT)\nexcept BaseException:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with patient(), pytest.raises(KeyboardInterrupt):
        importlib.import_module("swallowing_module")
        time.sleep(10)


def test_a_second_ctrl_c_does_not_disturb_the_end() -> None:
    with patient():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)


IMPORTING = """
import builtins, os, signal, sys, time
known, (module, sent) = builtins.__import__, sys.argv[1:]
def importing(name, *words, **more):
    if name == module:
        builtins.__import__ = known
        os.kill(os.getpid(), getattr(signal, sent))
    return known(name, *words, **more)
builtins.__import__ = importing
write = sys.stdout.write
sys.stdout.write = lambda text: (time.sleep(0.1), write(text))[1]  # the command outlives the import
from nsl_bench.__main__ import main
sys.argv[1:] = ["list", "learners"]
main()
"""


@pytest.mark.parametrize(
    ("module", "name", "code"),
    [
        ("nsl_bench.cli", "SIGINT", 130),
        ("click", "SIGINT", 130),
        ("nsl_bench.core.registry", "SIGINT", 130),
        ("nsl_bench.core.registry", "SIGTERM", 143),
    ],
)
def test_a_signal_during_the_first_imports(module: str, name: str, code: int) -> None:
    words = [sys.executable, "-c", IMPORTING, module, name]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (code, "nsl-bench: Interrupted.")
