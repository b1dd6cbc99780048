"""predict and explain, as a user calls them."""

import gzip
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from PIL import Image

from nsl_bench.api.given_examples import from_folder, from_table
from nsl_bench.cli.rules import explain, predict
from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.data.splits import make_source
from nsl_bench.logic.inference.explanation import fired, rules_that_fire

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
        (lambda f: f.assign(slot="player1"), "line 2: unknown slot 'player1'. Did you mean"),
        (lambda f: pd.concat([f, f]), "line 10: this slot of the example is given twice"),
        (lambda f: f.assign(**{"2h": "much"}), "column '2h': 'much' is not a probability"),
        (lambda f: f.assign(**{"2h": -0.5}), "concept probability is negative"),
        (lambda f: f.assign(**{"2h": np.nan}), "concept probability is not finite"),
        (lambda f: f.assign(**{"2h": 0.5}), "sum of the concept probabilities is more than 1"),
        (lambda f: f.assign(**{"2h": "9" * 40}), "line 2: a sum of the concept probabilities is more than 1"),
        (lambda f: f.assign(**{"2h": [-0.5, *[0.0] * 7]}), "line 2: a .* is negative: -0.5 of '2h'"),
        (lambda f: f[:0], "has no rows"),
        (lambda f: pd.concat([f, f["2h"]], axis=1), "has the column '2h' twice"),
        (lambda f: f.assign(example=""), "line 2: the example's name is empty"),
    ],
)
def test_bad_vectors(tmp_path: Path, rules: Path, change, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        run(predict, rules, "follow_suit", "--probabilities", table(tmp_path, change))


@pytest.mark.parametrize("name", ["NA", "null", "None", "nan", "01"])
def test_names_of_examples(tmp_path: Path, rules: Path, name: str) -> None:
    named = table(tmp_path, lambda frame: frame[:4].assign(example=name))
    text = run(predict, rules, "follow_suit", "--probabilities", named, "--json")
    assert json.loads(text)["example"] == name


@pytest.mark.parametrize("suffix", [".gz", ".zip", ".xz", ".zst", ".tar"])
def test_files_that_are_no_text(tmp_path: Path, rules: Path, suffix: str) -> None:
    path = tmp_path / f"vectors.csv{suffix}"
    path.write_bytes(gzip.compress(b"example,slot\n")[:20])
    with pytest.raises(UserError, match=r"is not valid CSV|lacks the column"):
        run(predict, rules, "follow_suit", "--probabilities", path)


def leaves(tmp_path: Path, *locations: object) -> Path:
    concepts = registry.create("benchmark", "crop_yield").concept_space.concepts
    rows = [
        {"example": f"e{i}", "slot": "crop", **dict.fromkeys(concepts, 0.0), "location": location}
        for i, location in enumerate(locations)
    ]
    path = tmp_path / "leaves.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("location", [99, -1, "banana", "1-2", "²", "nan", "5.5", "1). yield(1", ""])
def test_meta_data_out_of_range(tmp_path: Path, rules: Path, location: object) -> None:
    with pytest.raises(UserError, match=r"leaves.csv, line 3: .* 'location'.*1\.\.19"):
        run(predict, rules, "crop_yield", "--probabilities", leaves(tmp_path, 5, location))
    table = pd.read_csv(leaves(tmp_path, 5)).drop(columns="location")
    table.to_csv(tmp_path / "leaves.csv", index=False)
    options = ("--probabilities", tmp_path / "leaves.csv", "--metadata", f"location={location}")
    with pytest.raises(UserError, match=r"'location' must be .*1\.\.19|must be NAME=VALUE"):
        run(predict, rules, "crop_yield", *options)


def test_meta_data_that_disagree(tmp_path: Path, rules: Path) -> None:
    path = leaves(tmp_path, 5, "6.0")
    given = ("crop_yield", "--probabilities", path, "--metadata", "location=5")
    with pytest.raises(UserError, match="has the column 'location', which --metadata also gives"):
        run(predict, rules, *given)
    with pytest.raises(UserError, match="location is given twice, as 5 and as 6"):
        run(predict, rules, *given, "--metadata", "location=6")
    task = registry.create("benchmark", "crop_yield")
    assert from_table(task, path, {}).facts == (("location(5)",), ("location(6)",))
    task.slots = ("crop", "other")
    frame = pd.read_csv(path).assign(example="e", slot=["crop", "other"])
    frame.to_csv(path, index=False)
    with pytest.raises(UserError, match="line 3: location of example 'e' differs"):
        from_table(task, path, {})


class Echo:
    """A network that keeps what it is shown."""

    def predict_proba(self, images):
        self.images = images
        return np.full((len(images), 52), 1 / 52)


def shown(folder: Path) -> np.ndarray:
    echo = Echo()
    from_folder(registry.create("benchmark", "follow_suit"), folder, (2, 2, 3), lambda: echo, {})
    return echo.images


def test_images_of_any_mode(tmp_path: Path) -> None:
    grey = np.array([[0, 20000], [40000, 65535]], np.uint16)
    Image.fromarray(grey).save(tmp_path / "player_1.png")
    Image.fromarray(np.zeros((2, 2, 4), np.uint8)).save(tmp_path / "player_2.tif")
    turned = Image.fromarray(np.array([[0, 0], [255, 255]], np.uint8))
    exif = Image.Exif()
    exif[274] = 6
    turned.save(tmp_path / "player_3.png", exif=exif)
    turned.save(tmp_path / "player_4.gif")
    found = shown(tmp_path)[..., 0].tolist()
    assert found == [[[0, 78], [156, 255]], [[255] * 2] * 2, [[255, 0], [255, 0]], [[0, 0], [255, 255]]]


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(side: int, *chunks: bytes) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    return b"".join((b"\x89PNG\r\n\x1a\n", header, *chunks, chunk(b"IEND", b"")))


ZEROES = b"x\0\0" + zlib.compress(bytes(70_000_000))


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"1/player_1.png": png(50_000)}, "at most 67,108,864 pixels; it has more"),
        ({"1/player_1.png": png(10_000)}, "at most 67,108,864 pixels; it has"),
        ({"1/player_1.png": png(4, chunk(b"zTXt", ZEROES))}, "cannot be read .* too large"),
        ({"1/player_1.png": b"", "1/player_1.jpg": b""}, "are images of the same slot"),
        ({"1/player_1.heic": b""}, "player_1.heic is not an image file"),
        ({"1/player_1.png": b"", "player_1.png": b""}, "contains both images and the folder 1"),
        ({"1/player_1.png": b"", "2/notes.txt": b""}, "folder of the example, .*2, contains no images;"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_bad_images(tmp_path: Path, files: dict[str, bytes], sentence: str) -> None:
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        shown(tmp_path)


def test_files_of_rules(tmp_path: Path, rules: Path) -> None:
    given = (predict, rules, "follow_suit", "--probabilities", table(tmp_path))
    expected = run(*given)
    rules.write_text(RULES, encoding="utf-8-sig")
    assert run(*given) == expected
    rules.write_text(RULES.replace("winner", "winer"))
    result = CliRunner().invoke(predict, [str(a) for a in given[1:]])
    assert result.exit_code == 0
    assert "Note: No rule derives winner/1, a label's atom; the hypothesis derives" in result.stderr


def test_bad_calls(tmp_path: Path, rules: Path) -> None:
    for arguments, sentence in (
        (("follow_suit",), "either --probabilities"),
        (("follow_suit", "--images", tmp_path / "no"), "image folder .* does not exist"),
        (("follow_suit", "--probabilities", tmp_path / "no.csv"), "is not valid CSV"),
        (("crop_yield", "--probabilities", table(tmp_path), "--metadata", "place=3"), "meta-datum"),
        (("crop_yield", "--probabilities", table(tmp_path), "--metadata", "place"), "must be NAME=VALUE"),
    ):
        with pytest.raises(UserError, match=sentence):
            run(predict, rules, *arguments)
    with pytest.raises(UserError, match=r"The file .* does not exist"):
        run(predict, tmp_path / "no.lp", "follow_suit", "--probabilities", table(tmp_path))
    rules.write_text("winner(X) :- player(X), not loser(X). loser(X) :- player(X), not winner(X).")
    with pytest.raises(UserError, match="must be stratified"):
        run(predict, rules, "follow_suit", "--probabilities", table(tmp_path))


def test_explain(tmp_path: Path, rules: Path) -> None:
    picture = tmp_path / "trick.png"
    shifted = ("--shift", "rotate90", "--percent", 50, "--out", picture)
    text = run(explain, "test-0", "--benchmark", "sudoku_4x4", *shifted)
    for part in ("sudoku_4x4, test-0", "Concepts predicted by the network", "Rules that fire"):
        assert part in text
    assert "Derived label" in text and "valid:" in text and "<- true label" in text and picture.is_file()
    for arguments, sentence in (
        (("17", "--benchmark", "sudoku_4x4"), "must be train-NUMBER or test-NUMBER"),
        (("test-5000", "--benchmark", "sudoku_4x4"), "between test-0 and test-999"),
        (("test-1",), "No task given"),
        (("test-1", "--run", "ab"), "--results and --run must be given together"),
        (("test-1", "--benchmark", "sudoku_4x4", "--out", tmp_path / "x.txt"), "ending of an image format"),
        (("test-1", "--benchmark", "sudoku_4x4", "--out", tmp_path / "x.psd"), "ending of an image format"),
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
    contexts = [("card(1,5)", "card(2,7)"), ("card(1,5)",)]
    assert rules_that_fire(["a :- card(_,7).", "b :- not a.", "a."], "", contexts) == [[0, 2], [2]]
