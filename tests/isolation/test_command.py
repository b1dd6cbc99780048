"""A command in any language is a learner: handed a folder, held to limits, its files checked."""

import os
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.learners.base import InvalidOutput, Unanswered, hypothesis_of, labels_of, probabilities_of
from nsl_bench.learners.command import command_of, spec_of, version_of_command
from nsl_bench.run.mock_tasks import PatchSource
from nsl_bench.sandbox.command import CommandLearner
from nsl_bench.sandbox.limits import Failure, Limits
from nsl_bench.testing.toy import patches, view

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="learners are isolated on POSIX systems")

ANSWER = """
import sys, time
from pathlib import Path
import pandas as pd
folder = Path(sys.argv[-1])
test = pd.read_parquet(folder / "test.parquet")
assert "label" not in test
def answer(labels):
    pd.DataFrame({"example": test["example"], "label": labels}).to_parquet(folder / "predictions.parquet")
def rules():
    (folder / "hypothesis.lp").write_text("differ :- patch(left,X), patch(right,Y), unlike(X,Y).")
print("seen", len(test))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "learner.py"


def command(script: Path, body: str, limits: Limits | None, track: str = "pretrained") -> CommandLearner:
    script.write_text(ANSWER + body)
    return CommandLearner(spec_of(f"{track}={sys.executable} {script}"), 0, limits)


LIMITS = Limits(time=120)


@pytest.mark.parametrize("limits", [LIMITS, None])
def test_predictions_and_rules_are_used(script: Path, limits: Limits | None) -> None:
    with closing(command(script, "answer(['same'] * len(test))\nrules()\n", limits)) as learner:
        learner.fit(view(patches()))
        seen, symbols = (view(patches("test"), labelled=False) for _ in range(2))
        assert (labels_of(learner, seen, probabilities_of(learner, seen)) == 0).all()
        derived = labels_of(learner, symbols, probabilities_of(learner, symbols))
        assert np.array_equal(derived, patches("test").labels)
        hypothesis = hypothesis_of(learner)
        assert hypothesis is not None and hypothesis.atoms == 4
        assert "seen 60" in learner.log() and learner.learning_time > 0
    assert not learner.folder.exists()


def test_without_rules_there_is_no_hypothesis_evaluation(script: Path) -> None:
    with closing(command(script, "answer(['differ'] * len(test))\n", LIMITS, "label_only")) as learner:
        source = PatchSource()
        learner.fit(view(patches(), "label_only", source=source))
        test = view(patches("test"), "label_only", labelled=False, source=source)
        assert (labels_of(learner, test, probabilities_of(learner, test)) == 1).all()
        with pytest.raises(Unanswered):
            learner.predict_proba(view(patches("test"), labelled=False))


@pytest.mark.parametrize("late", [False, True])
def test_rules_alone_answer_even_of_a_command_that_is_late(script: Path, late: bool) -> None:
    body = "rules()\n" + "time.sleep(600)\n" * late
    with closing(command(script, body, Limits(time=20) if late else LIMITS)) as learner:
        learner.fit(view(patches()))
        test = view(patches("test"), labelled=False)
        labels = labels_of(learner, test, probabilities_of(learner, test))
        assert np.array_equal(labels, patches("test").labels) and learner.timed_out_ == late


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ("raise SystemExit(4)\n", "crashed", "exit code 4"),
        ("import numpy; kept = [numpy.ones(1 << 22) for _ in range(1000)]\n", "out_of_memory", ""),
        ("answer(['maybe'] * len(test))\n", "invalid_output", "60 labels are not in"),
        ("pass\n", "invalid_output", "predictions.parquet is missing"),
        ("import socket; socket.socket()\n", "crashed", "exit code 1"),
        ("Path(__file__).write_text('x')\n", "crashed", "exit code 1"),
        ("(folder / 'predictions.parquet').symlink_to('/etc/passwd')\n", "invalid_output", "is not a file"),
    ],
)
def test_bad_commands_cost_only_their_run(script: Path, body: str, status: str, sentence: str) -> None:
    with closing(command(script, body, Limits(time=120, memory=512 << 20))) as learner:
        learner.fit(view(patches()))
        with pytest.raises((Failure, InvalidOutput)) as caught:
            learner.predict_proba(view(patches("test"), labelled=False))
        assert getattr(caught.value, "status", "invalid_output") == status
        assert sentence in str(caught.value)
        assert "seen 60" in learner.log()


def test_specs_of_commands(script: Path) -> None:
    assert command_of(spec_of("end_to_end=./run --a='x y'")) == ("end_to_end", ["./run", "--a=x y"])
    assert command_of(spec_of("a=b c")) == ("pretrained", ["a=b", "c"])
    script.write_text("1")
    one = version_of_command(spec_of(f"python {script}"))
    script.write_text("2")
    assert one != version_of_command(spec_of(f"python {script}")) and version_of_command(spec_of("ls")) == ""
    for wrong in ("", "  ", "label_only=", "a 'b"):
        with pytest.raises(UserError):
            spec_of(wrong)
    learner = CommandLearner(spec_of("no-such-program"), 0, LIMITS)
    learner.fit(view(patches()))
    with pytest.raises(UserError, match="no-such-program of the learner was not found"), closing(learner):
        learner.predict_proba(view(patches("test"), labelled=False))
