"""predict and explain on sequences: every step gets a label, and a sequence must be whole."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from PIL import Image

from nsl_bench.cli.rules import explain, predict
from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.data.splits import make_source
from nsl_bench.perception import trained_networks

Change = Callable[[pd.DataFrame], pd.DataFrame]
SUMS = {"carries": [(7, 8), (4, 5), (1, 1)], "short": [(2, 3)]}


def run(command, *arguments: object) -> str:
    result = CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "sums.lp"
    path.write_text(registry.create("benchmark", "addition").true_rule)
    return path


def table(tmp_path: Path, change: Change = lambda frame: frame) -> Path:
    rows = [
        {"example": name, "step": step, "slot": slot}
        | {str(d): (0.9 if d == digit else 0.1 * (d == (digit + 1) % 10)) for d in range(10)}
        for name, steps in SUMS.items()
        for step, digits in enumerate(steps, start=1)
        for slot, digit in zip(("first", "second"), digits, strict=True)
    ]
    path = tmp_path / "vectors.csv"
    change(pd.DataFrame(rows)).to_csv(path, index=False)
    return path


def predicted(*arguments: object) -> list[tuple[str, int, str]]:
    lines = [line for line in run(predict, *arguments, "--json").splitlines() if line.startswith("{")]
    return [(row["example"], row["step"], row["label"]) for row in map(json.loads, lines)]


def test_every_step_of_a_table_gets_a_label(tmp_path: Path, rules: Path) -> None:
    wanted = [("carries", 1, "5"), ("carries", 2, "0"), ("carries", 3, "3"), ("short", 1, "5")]
    assert predicted(rules, "addition", "--probabilities", table(tmp_path)) == wanted
    shuffled = table(tmp_path, lambda f: f.iloc[[3, 0, 2, 1, 5, 4, 7, 6]])
    assert predicted(rules, "addition", "--probabilities", shuffled) == wanted
    assert "step" in run(predict, rules, "addition", "--probabilities", shuffled).splitlines()[0]


def test_probabilities_of_a_step_take_earlier_images_into_account(tmp_path: Path, rules: Path) -> None:
    frame = table(tmp_path, lambda f: f[f["example"] == "carries"][:4])
    text = run(predict, rules, "addition", "--probabilities", frame, "--json")
    second = json.loads(text.splitlines()[1])
    # the digits 7 and 8 carry always; 4 and 5 are 9 with 0.81, 10 with 0.18, 11 with 0.01
    told = second["probabilities"]
    assert [told["0"], told["1"], told["2"]] == pytest.approx([0.81, 0.18, 0.01])


def test_every_step_of_a_folder_gets_a_label(tmp_path: Path, rules: Path) -> None:
    source = make_source(registry.create("benchmark", "addition"), None)
    labels = source.labels("b")

    def draw(folder: Path, steps: list[tuple[int, int]]) -> None:
        for step, digits in enumerate(steps, start=1):
            (folder / str(step)).mkdir(parents=True)
            for slot, digit in zip(("first", "second"), digits, strict=True):
                picture = source.render("b", np.flatnonzero(labels == digit)[:1], source.variants[0])[0]
                Image.fromarray(picture.squeeze()).save(folder / str(step) / f"{slot}.png")

    for name, steps in SUMS.items():
        draw(tmp_path / "sums" / name, steps)

    def seen(folder: Path) -> list[tuple[str, int, str]]:
        return predicted(rules, "addition", "--network", "softmax:epochs=4", "--images", folder)

    found = seen(tmp_path / "sums")
    assert [label for *_, label in found] == ["5", "0", "3", "5"]
    one = seen(tmp_path / "sums" / "carries")
    assert one == found[:3]
    (tmp_path / "sums" / "carries" / "2").rename(tmp_path / "sums" / "carries" / "4")
    with pytest.raises(UserError, match=r"has step 4, but not step 2; give every step from 1 to 4\.$"):
        seen(tmp_path / "sums")
    (tmp_path / "sums" / "carries" / "4").rename(tmp_path / "sums" / "carries" / "second")
    with pytest.raises(UserError, match="must be named by a whole number from 1 to 1000; expected EXAMPLE/"):
        seen(tmp_path / "sums")


def test_images_without_steps_are_refused_before_a_network_is_trained(
    tmp_path: Path, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trained_networks, "trained", None)
    (tmp_path / "flat").mkdir()
    Image.new("L", (8, 8)).save(tmp_path / "flat" / "first.png")
    with pytest.raises(UserError, match="contains no sequences; expected EXAMPLE/STEP/SLOT"):
        predicted(rules, "addition", "--images", tmp_path / "flat")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f[f["step"] != 2], "sequence 'carries' has step 3, but not step 2; give every step"),
        (lambda f: f.drop(columns="step"), "lacks the column 'step'; it needs example, step, slot, one for"),
        (lambda f: f.assign(step=0), "line 2: step must be a whole number from 1 to 1000; got '0'."),
        (lambda f: f.assign(step="x"), "line 2: step must be a whole number from 1 to 1000; got 'x'."),
        (lambda f: pd.concat([f, f]), "line 10: this slot of the step is given twice."),
    ],
)
def test_a_sequence_is_given_whole(tmp_path: Path, rules: Path, change: Change, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        predicted(rules, "addition", "--probabilities", table(tmp_path, change))
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


def moves(tmp_path: Path, previous: list[object] | None) -> Path:
    """The first two states of three disks."""
    states = [{"peg_0_level_1": 8, "peg_0_level_2": 5, "peg_0_level_3": 2}]
    states.append({"peg_0_level_1": 7, "peg_0_level_2": 3, "peg_2_level_1": 0})
    rows = [
        {"example": "one", "step": step, "slot": slot} | {str(d): float(d == disk) for d in range(9)}
        for step, state in enumerate(states, start=1)
        for slot, disk in state.items()
    ]
    frame = pd.DataFrame(rows)
    if previous is not None:
        frame["previous"] = [previous[step - 1] for step in frame["step"]]
    frame.to_csv(tmp_path / "moves.csv", index=False)
    return tmp_path / "moves.csv"


def test_the_first_step_is_told_the_move_before(tmp_path: Path) -> None:
    rule = tmp_path / "moves.lp"
    rule.write_text(registry.create("benchmark", "hanoi").true_rule)
    task = "hanoi:disks=3"
    given = predicted(rule, task, "--probabilities", moves(tmp_path, None), "--metadata", "previous=3")
    stated = predicted(rule, task, "--probabilities", moves(tmp_path, [3, -1]))
    assert given == stated == [("one", 1, "0_to_2"), ("one", 2, "0_to_1")]
    for wrong in ("6", "x", "-2"):
        with pytest.raises(UserError, match=f"previous must be a whole number from -1 to 5; got '{wrong}'"):
            predicted(rule, task, "--probabilities", moves(tmp_path, None), "--metadata", f"previous={wrong}")


def test_a_step_is_explained_with_the_steps_before_it() -> None:
    spec = "addition"
    network = ["--network", "softmax:epochs=4"]
    first, third = (run(explain, f"test-{row}", "--benchmark", spec, *network) for row in (0, 2))
    assert f"{spec}, test-0, step 1 of a sequence of 3; label: " in first
    assert "step 2, " not in first
    assert "step 3 of a sequence of 3" in third
    assert all(f"  step {step}, " in third for step in (1, 2, 3))
    label = third.split("label: ")[1].split("\n")[0]
    assert f"Derived label: {label}\n" in third and "  <- true label" in third
