"""Ctrl-C reaches whoever is to hear it."""

from __future__ import annotations

import importlib
import signal
import time
from pathlib import Path

import pytest

from nsl_bench.interrupts import patient


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
