"""predict and explain, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from PIL import Image

from nsl_bench import registry
from nsl_bench.cli.explain import command as explain
from nsl_bench.cli.predict import command as predict
from nsl_bench.data.splits import make_source
from nsl_bench.errors import UserError
from nsl_bench.inference.firing import fired

RULES = """\
winner(X) :- player(X), not p1(X).
p1(V1) :- suit(1, V2), suit(V1, V3), V2 != V3.
p1(V1) :- rank_higher(V2, V1), suit(1, V3), suit(V2, V3).
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "learned.lp"
    path.write_text(RULES)
    return path


def run(command, *arguments: object) -> str:
    result = CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def table(tmp_path: Path, change=lambda frame: frame) -> Path:
    cards = registry.create("benchmark", "follow_suit").concept_space.concepts
    rows = []
    for example, seen in {"first": ("10h", "kh", "as", "2h"), "second": ("2c", "3d", "4d", "5d")}.items():
        for player, card in enumerate(seen, start=1):
            row = dict.fromkeys(cards, 0.0) | {card: 0.8, "ah" if card != "ah" else "kh": 0.1}
            rows.append({"example": example, "slot": f"player_{player}", **row})
    path = tmp_path / "vectors.csv"
    change(pd.DataFrame(rows)).to_csv(path, index=False)
    return path


def test_predict_from_vectors(tmp_path: Path, rules: Path) -> None:
    text = run(predict, rules, "follow_suit", "--probabilities", table(tmp_path), "--json")
    first, second = (json.loads(line) for line in text.splitlines())
    assert (first["example"], first["label"], first["engine"]) == ("first", "player_2", "exact")
    assert second["label"] == "player_1" and second["interval_width"] == 0
    assert sum(first["probabilities"].values()) + first["invalid"] == pytest.approx(1)
    shown = run(predict, rules, "follow_suit", "--probabilities", table(tmp_path), "--engine", "sampling")
    assert "player_2" in shown and "sampling, ±" in shown


def test_predict_from_images(tmp_path: Path) -> None:
    task = registry.create("benchmark", "sudoku_4x4")
    source = make_source(task, None)
    labels = source.labels("b")
    grid = {"cell_1_1": 0, "cell_1_2": 0, "cell_4_4": 2}
    for example, cells in (("clash", grid), ("fine", {"cell_1_1": 1})):
        (tmp_path / "grids" / example).mkdir(parents=True)
        for slot, digit in cells.items():
            picture = source.render("b", np.flatnonzero(labels == digit)[:1], source.variants[0])[0]
            Image.fromarray(picture.squeeze()).save(tmp_path / "grids" / example / f"{slot}.png")
    path = tmp_path / "learned.lp"
    path.write_text(task.true_rule)
    text = run(predict, path, "sudoku_4x4", "--images", tmp_path / "grids", "--json")
    clash, fine = (json.loads(line) for line in text.splitlines())
    assert (clash["label"], fine["label"]) == ("invalid", "valid")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.drop(columns="10h"), "lacks the column '10h'"),
        (lambda f: f.drop(columns="slot"), "lacks the column 'slot'"),
        (lambda f: f.assign(slot="player1"), "line 2: 'player1' is no slot. Did you mean"),
        (lambda f: pd.concat([f, f]), "line 10: this slot of the example was there before"),
        (lambda f: f.assign(**{"2h": "much"}), "column '2h': 'much' is no probability"),
        (lambda f: f.assign(**{"2h": -0.5}), "concept probability is negative"),
        (lambda f: f.assign(**{"2h": np.nan}), "concept probability is not finite"),
        (lambda f: f.assign(**{"2h": 0.5}), "sum of the concept probabilities is more than 1"),
    ],
)
def test_bad_vectors(tmp_path: Path, rules: Path, change, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        run(predict, rules, "follow_suit", "--probabilities", table(tmp_path, change))


def test_bad_calls(tmp_path: Path, rules: Path) -> None:
    for arguments, sentence in (
        (("follow_suit",), "either --probabilities"),
        (("follow_suit", "--images", tmp_path / "no"), "no folder of images"),
        (("follow_suit", "--probabilities", tmp_path / "no.csv"), "cannot be read as CSV"),
        (("crop_yield", "--probabilities", table(tmp_path), "--metadata", "place=3"), "meta-datum"),
        (("crop_yield", "--probabilities", table(tmp_path), "--metadata", "place"), "expected NAME=VALUE"),
    ):
        with pytest.raises(UserError, match=sentence):
            run(predict, rules, *arguments)
    with pytest.raises(UserError, match="cannot be read"):
        run(predict, tmp_path / "no.lp", "follow_suit", "--probabilities", table(tmp_path))
    rules.write_text("winner(X) :- player(X), not loser(X). loser(X) :- player(X), not winner(X).")
    with pytest.raises(UserError, match="not stratified"):
        run(predict, rules, "follow_suit", "--probabilities", table(tmp_path))


def test_explain(tmp_path: Path, rules: Path) -> None:
    picture = tmp_path / "trick.png"
    text = run(
        *(explain, "test-0", "--benchmark", "sudoku_4x4", "--shift", "rotate90", "--percent", 50),
        *("--out", picture),
    )
    for part in ("sudoku_4x4, test-0", "What the network sees", "Rules that fire", "Derived label", "valid:"):
        assert part in text
    assert "<- true label" in text and picture.is_file()
    for arguments, sentence in (
        (("17", "--benchmark", "sudoku_4x4"), "is no example"),
        (("test-5000", "--benchmark", "sudoku_4x4"), "the test set has 1000"),
        (("test-1",), "Name the task"),
        (("test-1", "--run", "ab"), "go together"),
    ):
        with pytest.raises(UserError, match=sentence):
            run(explain, *arguments)


def test_rules_that_fire() -> None:
    background = "player(1..2). higher(P,Q) :- card(P,X), card(Q,Y), X > Y."
    rules = ["win(X) :- player(X), not lose(X).", "lose(X) :- higher(_,X).", "lose(9)."]
    found = fired(rules, background, ["card(1,5)", "card(2,7)"])
    assert found == ["win(2) :- player(2), not lose(2).", "lose(1) :- higher(_,1).", "lose(9)."]
    assert fired(["a :- #count { X : card(X,_) } > 1."], "", ["card(1,5)", "card(2,7)"]) != []
    assert fired(["a :- b."], "", []) == []
