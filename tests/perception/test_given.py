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


STAND_IN = '''
import torch

class Model(torch.nn.Module):
    """Sees how bright the halves of an image are, and how long a prompt is."""

    def __init__(self, weights):
        super().__init__()
        self.text = torch.tensor([float(word) for word in weights.read_text().split()])

    def encode_image(self, images):
        return torch.stack([half.mean(dim=(1, 2, 3)) for half in images.chunk(2, dim=2)], dim=1)

    def encode_text(self, tokens):
        return torch.stack([tokens.float(), self.text.sum().expand(len(tokens))], dim=1)

def made(weights):
    def preprocess(image):
        return torch.tensor(list(image.tobytes())).float().reshape(image.height, -1, 3).movedim(2, 0)
    return Model(weights), preprocess, lambda texts: torch.tensor([len(text) for text in texts])
'''
TINY = {
    "embed_dim": 8,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 16, "head_width": 8, "patch_size": 16},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}


def zero_shot(monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    monkeypatch.setattr("sys.argv", ["zero_shot.py", *map(str, words)])
    runpy.run_path(str(ZERO_SHOT), run_name="__main__")


@pytest.mark.parametrize("model", ["stand-in", "open_clip"])
def test_an_image_text_model_sees_by_prompts_alone(
    model: str, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    weights, name = tmp_path / "weights.pt", "tiny"
    if model == "open_clip":
        open_clip = pytest.importorskip("open_clip", reason="open_clip is not installed")
        (tmp_path / "tiny.json").write_text(json.dumps(TINY))
        open_clip.add_model_config(tmp_path)
        torch.save(open_clip.create_model("tiny").state_dict(), weights)
    else:
        (tmp_path / "stand_in.py").write_text(STAND_IN)
        weights.write_text("3 4")
        name = f"{tmp_path}/stand_in.py:made"
    zero_shot(monkeypatch, exported, "--model", name, "--weights", weights, "--out", tmp_path / "seen")
    table = pd.read_parquet(tmp_path / "seen" / "predictions.parquet")
    files = [exported / "images" / f"{name}.png" for name in table["hash"]]
    images = np.stack([np.asarray(Image.open(path)) for path in files])[..., None]
    network = registry.create("network", f"predictions:{tmp_path}/seen").of(tuple(CLASSES))
    assert np.allclose(network.predict_proba(images), table[CLASSES], atol=1e-6)
    assert len(table[CLASSES].drop_duplicates()) > 1
    if model == "stand-in":
        templates = tomllib.loads(ZERO_SHOT.with_suffix(".toml").read_text())["prompts"][0]["templates"]
        words = ("one", "two", "three", "four")
        texts = np.array(
            [[[len(text.replace("{}", word)), 7] for text in templates] for word in words], float
        )
        classes = unit(unit(texts).mean(axis=1))
        halves = images.reshape(len(images), 2, -1).mean(axis=2)
        scores = np.exp(100 * unit(halves) @ classes.T)
        assert np.allclose(scores / scores.sum(axis=1, keepdims=True), table[CLASSES], atol=1e-5)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("classes", "first"),
    [
        (("ah", "10d", "kc"), "a photo of the ace of hearts, a playing card"),
        (("tv_studio", "bar"), "a photo of tv studio"),
        (("0", "9"), "a handwritten digit zero"),
    ],
)
def test_classes_have_prompts(classes: tuple[str, ...], first: str) -> None:
    sets = tomllib.loads(ZERO_SHOT.with_suffix(".toml").read_text())["prompts"]
    prompts_of = runpy.run_path(str(ZERO_SHOT))["prompts_of"]
    assert prompts_of(classes, sets)[0][0] == first
    with pytest.raises(SystemExit, match="has words for all classes, such as 'owl'"):
        prompts_of(("owl",), sets[:2])
