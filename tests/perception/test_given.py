"""Predictions from elsewhere: images with hashes out, probabilities of any framework in."""

import csv
import json
import runpy
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import nsl_bench
from nsl_bench.cli import main
from nsl_bench.core import registry

CLASSES = ["1", "2", "3", "4"]
ZERO_SHOT = Path(__file__).parents[2] / "examples" / "zero_shot.py"
PROMPTS = tomllib.loads(ZERO_SHOT.with_suffix(".toml").read_text())["prompts"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pools")
    words = ["export", "sudoku_4x4", "--shift", "rotate90", "--images", "--out", str(out)]
    assert not main(words, standalone_mode=False)
    return out


def predicted(hashes: list[str]) -> pd.DataFrame:
    values = np.random.default_rng(0).dirichlet(np.ones(4), len(hashes))
    return pd.DataFrame(values, columns=CLASSES).assign(hash=hashes)


def given(table: pd.DataFrame, folder: Path, form: str = "csv") -> str:
    path = folder / f"predictions.{form}"
    folder.mkdir(exist_ok=True)
    if form == "npz":
        np.savez(path, hash=list(table["hash"]), classes=CLASSES, probabilities=table[CLASSES].to_numpy())
    elif form == "json":
        path.write_text(table.to_json(orient="records", double_precision=15))
    else:
        getattr(table, f"to_{form}")(path, index=False)
    return f"predictions:{folder}"


def test_every_format_gives_the_probabilities_of_each_image(exported: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader((exported / "images.csv").open()))
    assert len({(row["shift"], row["pool"]) for row in rows}) == 4
    hashes = [row["hash"] for row in rows]
    assert sorted(hashes) == sorted(path.stem for path in (exported / "images").iterdir())
    assert json.loads((exported / "classes.json").read_text()) == CLASSES
    table = predicted(hashes)
    images = np.stack([np.asarray(Image.open(exported / "images" / f"{name}.png")) for name in hashes[:50]])
    for form in ("parquet", "csv", "json", "npz"):
        network = registry.create("network", given(table, tmp_path / form, form)).of(tuple(CLASSES))
        assert np.allclose(network.predict_proba(images[..., None]), table[CLASSES][:50], atol=1e-6)
    raw = given(table.assign(hash=list(map(bytes.fromhex, hashes))), tmp_path / "raw", "parquet")
    assert np.allclose(registry.create("network", raw).of(tuple(CLASSES))._values, network._values)
    with pytest.raises(nsl_bench.UserError, match=r"no row with the hash \w{32}, which an image"):
        network.predict_proba(255 - images[..., None])


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda t: t.drop(columns="hash"), "must have the column 'hash'"),
        (lambda t: t.drop(columns="3"), "must have the column '3'"),
        (lambda t: t.assign(hash="cat.png"), "32 hexadecimal digits; got 'cat.png'"),
        (lambda t: t[:0], "32 hexadecimal digits; got no rows"),
        (lambda t: t.assign(**{"2": "x"}), "must have a number in each column"),
        (lambda t: t.assign(**{"2": np.nan}), "must be 0 or more, and 1 in sum"),
        (lambda t: t.assign(**{"2": 2.0}), "must be 0 or more, and 1 in sum"),
        (lambda t: t.assign(hash=t["hash"][0]), r"two rows with the hash \w{32}, and they differ"),
    ],
)
def test_wrong_tables_are_refused(spoil, sentence: str, tmp_path: Path) -> None:
    network = registry.create("network", given(spoil(predicted([f"{k:032x}" for k in range(3)])), tmp_path))
    with pytest.raises(nsl_bench.UserError, match=sentence):
        network.of(tuple(CLASSES))


@pytest.mark.parametrize(("form", "text"), [("csv", ""), ("json", "{"), ("npz", "no"), ("parquet", "no")])
def test_broken_files_are_refused(form: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(nsl_bench.UserError, match=r"must have one of .* got none of them"):
        registry.create("network", f"predictions:{tmp_path}")
    (tmp_path / f"predictions.{form}").write_text(text)
    with pytest.raises(nsl_bench.UserError, match="cannot be read as a table"):
        registry.create("network", f"predictions:{tmp_path}").of(tuple(CLASSES))


@pytest.mark.parametrize("model", ["stand-in", "open_clip"])
def test_an_image_text_model_sees_by_prompts_alone(
    model: str, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    told = tomllib.loads(Path(__file__).with_name("zero_shot.toml").read_text())
    weights, name, out = tmp_path / "weights.pt", f"{tmp_path}/stand_in.py:made", tmp_path / "seen"
    if model == "open_clip":
        open_clip = pytest.importorskip("open_clip", reason="open_clip is not installed")
        (tmp_path / "tiny.json").write_text(json.dumps(told["tiny"]))
        open_clip.add_model_config(tmp_path)
        torch.save(open_clip.create_model("tiny").state_dict(), weights)
        name = "tiny"
    else:
        (tmp_path / "stand_in.py").write_text(told["stand_in"])
        weights.write_text("3 4")
    words = [exported, "--model", name, "--weights", weights, "--out", out]
    monkeypatch.setattr("sys.argv", ["zero_shot.py", *map(str, words)])
    runpy.run_path(str(ZERO_SHOT), run_name="__main__")
    table = pd.read_parquet(out / "predictions.parquet")
    files = [exported / "images" / f"{name}.png" for name in table["hash"]]
    images = np.stack([np.asarray(Image.open(path)) for path in files])[..., None]
    found = registry.create("network", f"predictions:{out}").of(tuple(CLASSES)).predict_proba(images)
    assert np.allclose(found, table[CLASSES], atol=1e-6) and len(table[CLASSES].drop_duplicates()) > 1
    if model == "stand-in":
        prompts = runpy.run_path(str(ZERO_SHOT))["prompts_of"](CLASSES, PROMPTS)
        classes = unit(unit([[[len(text), 7.0] for text in texts] for texts in prompts]).mean(axis=1))
        scores = np.exp(100 * unit(images.reshape(len(images), 2, -1).mean(axis=2)) @ classes.T)
        assert np.allclose(scores / scores.sum(axis=1, keepdims=True), found, atol=1e-5)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_classes_have_prompts() -> None:
    prompts_of = runpy.run_path(str(ZERO_SHOT))["prompts_of"]
    assert prompts_of(("0", "9"), PROMPTS)[0][0] == "a handwritten digit zero"
    assert prompts_of(("ah", "10d"), PROMPTS)[1][0] == "a photo of the ten of diamonds, a playing card"
    assert prompts_of(("tv_studio", "bar"), PROMPTS)[0][0] == "a photo of tv studio"
    with pytest.raises(SystemExit, match="has words for all classes, such as 'owl'"):
        prompts_of(("owl",), PROMPTS[:2])
