"""A generated folder is a whole Hugging Face repository, the same however it was made."""

import csv
import errno
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import clingo
import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from datasets import Features
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCard
from nsl_bench.generators.shifts.pixels import Rotate
from nsl_bench.generators.tasks import sudoku, sudoku_puzzles

import nsl_bench
from nsl_bench.cli import main
from nsl_bench.core import cache, registry
from nsl_bench.core.errors import UserError
from nsl_bench.data import generate as generating
from nsl_bench.data import shards
from nsl_bench.data.content import dataset_hash
from nsl_bench.data.generate import generate
from nsl_bench.data.manifest import Manifest, partial
from nsl_bench.data.recipe import Recipe
from nsl_bench.data.verify import verify

from .conftest import RECIPE

WITHOUT_US = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "nsl_bench":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Nothing())
import numpy as np
import torch
from datasets import get_dataset_config_names, load_dataset
from torch.utils.data import DataLoader

folder = sys.argv[1]
print(get_dataset_config_names(folder))
turned, plain = (load_dataset(folder, name, split="train") for name in ("rotate90", "standard"))
stream = load_dataset(folder, "rotate90", split="train", streaming=True)
pool = load_dataset(folder, "images")
k = round(0.5 * len(turned))
assert sum(rank < k for rank in turned["rank"]) == k == 12
for row, twin, streamed in zip(turned, plain, stream, strict=True):
    for name in ("id", "concepts", "label", "rank", "standard_images"):
        assert row[name] == twin[name] == streamed[name]
    for slot, concept in enumerate(row["concepts"]):
        images = [r["images"][slot] for r in (row, twin, streamed)]
        if concept == -1:
            assert not np.any(images) and row["shifted_images"][slot] == row["standard_images"][slot] == ""
            continue
        after, before, again = map(np.asarray, images)
        assert np.array_equal(after, np.rot90(before, -1)) and np.array_equal(after, again)
        split, _, index = row["shifted_images"][slot].rpartition("-")
        kept = pool[split][int(index)]
        assert np.array_equal(np.asarray(kept["image"]), after)
        assert kept["concept"] == concept and row["shifted"] and not twin["shifted"]
assert turned.features["concepts"].feature == pool["a"].features["concept"]
for data in (turned, plain, stream):
    (batch,) = DataLoader(data.with_format("torch"), batch_size=24)
    assert batch["images"].shape == (24, 16, 1, 28, 28) and batch["images"].dtype == torch.uint8
    assert batch["concepts"].shape == (24, 16) and batch["concepts"].dtype == torch.int64
    assert batch["concepts"].min() == -1 and batch["concepts"].max() == 3
parts = ("train", "train_2", "validation", "validation_2", "test")
assert set(load_dataset(folder)) == set(parts)
"""


def test_it_loads_with_nothing_of_ours(grids: Path, tmp_path: Path) -> None:
    env = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    words = [sys.executable, "-c", WITHOUT_US, str(grids)]
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['images', 'rotate90', 'standard', 'symbolic']\n"


def test_the_head_of_the_card_agrees_with_the_files(grids: Path) -> None:
    card = DatasetCard.load(grids / "README.md")
    assert card.data.license == "cc-by-4.0" and card.data.size_categories == ["n<1K"]
    assert "* `test`: " in card.text and " different images in " in card.text
    infos = DatasetInfosDict.from_dataset_card_data(card.data)
    configs = {entry["config_name"]: entry["data_files"] for entry in card.data.configs}
    assert infos.keys() == configs.keys() == {"standard", "rotate90", "symbolic", "images"}
    for config, info in infos.items():
        size = 0
        for entry in configs[config]:
            files = sorted(grids.glob(entry["path"]))
            tables = [pq.read_table(file) for file in files]
            told = info.splits[entry["split"]]
            assert sum(len(table) for table in tables) == told.num_examples
            assert sum(table.nbytes for table in tables) == pytest.approx(told.num_bytes, rel=0.01)
            assert Features.from_arrow_schema(tables[0].schema) == info.features
            size += sum(file.stat().st_size for file in files)
        assert info.download_size == size
        assert {entry["split"] for entry in configs[config]} == set(info.splits)


def test_the_manifest_says_what_it_was_made_from(grids: Path) -> None:
    manifest = json.loads((grids / "manifest.json").read_text())
    assert manifest["benchmark"] == "sudoku_4x4" and manifest["version"] == "1.0.0"
    assert manifest["source"]["name"] == "sklearn_digits" and manifest["source"]["licence"] == "CC BY 4.0"
    assert manifest["recipe"]["train"] == 24 and manifest["recipe"]["shifts"] == ["rotate90"]
    for name in ("background", "bias", "true_rule"):
        assert (grids / "rules" / f"{name}.lp").read_text()
    on_disk = {str(path.relative_to(grids)) for path in grids.rglob("*") if path.is_file()}
    assert on_disk == {*manifest["files"], "manifest.json"}


def test_a_published_recipe_tells_nobodys_folders() -> None:
    private = {"source": "mnist:/home/me/mnist,download=true", "splits": "/home/me/splits"}
    recipe = Recipe("sudoku_4x4@1.0", shifts=("rotate90", "rotate:degrees=45"), **private)
    public = recipe.public()
    assert public == replace(recipe, source="mnist:mnist,download=true", splits="splits")
    assert public.public() == public


def test_it_is_made_again_from_its_manifest(grids: Path, tmp_path: Path) -> None:
    words = ["generate", "--recipe", str(grids / "manifest.json"), "--out", str(tmp_path / "again")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    first, again = Manifest.read(grids), Manifest.read(tmp_path / "again")
    assert first == again


def test_croissant_is_valid_and_gives_records(grids: Path) -> None:
    croissant = pytest.importorskip("mlcroissant")
    data = croissant.Dataset(jsonld=str(grids / "croissant.json"))
    issues = data.metadata.ctx.issues
    assert not issues.errors and not issues.warnings and data.metadata.ctx.is_v1_1()
    assert data.metadata.data_biases and data.metadata.personal_sensitive_information
    row = next(iter(data.records("rotate90/train")))
    kept = next(iter(nsl_bench.load(grids, shift="rotate90")))
    assert row["rotate90/train/label"] == kept["label"]
    for image, wanted in zip(row["rotate90/train/images"], kept["images"], strict=True):
        assert (image is None) == (wanted is None)
        assert image is None or np.array_equal(np.asarray(image), np.asarray(wanted))


@pytest.mark.parametrize("percent", [0, 50, 100])
def test_a_folder_and_a_fresh_set_have_the_same_hash(grids: Path, percent: int) -> None:
    shift = "rotate90" if percent else "standard"
    options: dict[str, Any] = {"repeat": 2, "shift": shift, "percent": percent}
    kept = nsl_bench.load(grids, **options)
    fresh = nsl_bench.load("sudoku_4x4", size="24", **options)
    assert kept.info.description == fresh.info.description and kept.features == fresh.features
    assert dataset_hash(kept) == dataset_hash(fresh)
    entry = Manifest.read(grids).configs[shift]["train_2"]
    stated = entry.percents["50"] if percent == 50 else entry.content_hash
    assert dataset_hash(kept) == stated


def test_two_processes_make_the_same_files(grids: Path, tmp_path: Path) -> None:
    assert generate(RECIPE, tmp_path / "two", workers=2).files == Manifest.read(grids).files


def test_many_small_files_hold_the_same_rows(
    grids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "_FILE_BYTES", 10_000)
    monkeypatch.setattr(shards, "_GROUP_BYTES", 3_000)
    many = generate(RECIPE, tmp_path / "many")
    one = Manifest.read(grids)
    assert len(many.files) > 2 * len(one.files)
    for config, splits in one.configs.items():
        for split, entry in splits.items():
            other = many.configs[config][split]
            assert (entry.rows, entry.content_hash) == (other.rows, other.content_hash)
    (marks,) = {path.read_text() for path in (tmp_path / "many" / "marks").glob("rotate90-test.txt")}
    assert marks == (grids / "marks" / "rotate90-test.txt").read_text()
    data = datasets.load_dataset(str(tmp_path / "many"), "standard", split="test")
    assert data["id"][:] == [f"test-{i}" for i in range(20)]


def test_it_goes_on_where_it_stopped(grids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, written, real = tmp_path / "out", [], shards.write

    def stop_at_seven(shared: shards.Shared, shard: shards.Shard) -> None:
        if len(written) == 7:
            raise KeyboardInterrupt
        written.append(shard.path)
        real(shared, shard)

    monkeypatch.setattr("nsl_bench.data.generate.write", stop_at_seven)
    with pytest.raises(KeyboardInterrupt):
        generate(RECIPE, out)
    assert not out.exists() and partial(out).is_dir()
    with pytest.raises(UserError, match=r"The data set .*/out does not exist; .*/out\.part is unfinished"):
        nsl_bench.load(out)
    with pytest.raises(UserError, match=r"not a complete data set: manifest\.json is missing"):
        nsl_bench.load(partial(out))
    times = {path: (partial(out) / path).stat().st_mtime_ns for path in written}
    monkeypatch.setattr("nsl_bench.data.generate.write", real)
    with pytest.raises(UserError, match=r"a different unfinished data set \(seed 0, not 1\)"):
        generate(replace(RECIPE, seed=1), out)
    manifest = generate(RECIPE, out)
    assert {path: (out / path).stat().st_mtime_ns for path in written} == times
    assert manifest == Manifest.read(grids) and not partial(out).exists()


def test_a_full_disk_gets_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pq.ParquetWriter, "write_table", full)
        with pytest.raises(UserError, match=r"\.parquet cannot be written: No space left on device"):
            generate(RECIPE, tmp_path / "out")
    left = [path.name for path in partial(tmp_path / "out").rglob("*.parquet*")]
    assert left == []
    generate(RECIPE, tmp_path / "out")


def test_only_the_images_that_examples_show(tmp_path: Path) -> None:
    recipe = Recipe("follow_suit", train=3, test=2, repeats=1, shifts=("noir",), images="used")
    recipe = replace(recipe, source="drawn_decks:images_per_card=8,image_height=68,image_width=44")
    manifest = generate(recipe, tmp_path / "tricks")
    assert list(manifest.configs) == ["standard", "noir", "symbolic"]
    assert sorted(path.name for path in (tmp_path / "tricks").iterdir() if path.is_dir()) == [
        *("marks", "noir", "rules", "standard", "symbolic")
    ]
    full = generate(replace(recipe, images="all"), tmp_path / "all")
    for config, splits in manifest.configs.items():
        for split, entry in splits.items():
            assert entry.content_hash == full.configs[config][split].content_hash
    verify(tmp_path / "tricks")
    data = nsl_bench.load(tmp_path / "tricks", shift="noir", percent=60)
    assert sum(data["shifted"]) == 2 and len(data[0]["images"]) == 4


def test_what_will_be_made_is_said_first_and_then_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generating, "_SECONDS_A_LINE", 0)
    words = ["generate", "sudoku_4x4", "--train", "4", "--test", "4", "--repeats", "1", "--shift", "rotate90"]
    done = CliRunner().invoke(main, [*words, "--out", str(tmp_path / "grids")])
    first, *lines = done.stderr.splitlines()
    assert first.startswith("sudoku_4x4: 36 rows with ") and "GB while it is made" in first
    assert first.endswith("about 0.1 minutes with 1 process.")
    assert lines[0].endswith("images written.") and lines[-1] == "36 of 36 examples written."
    assert lines[0].split()[2] == re.search(r"with ([\d,]+) images", first)[1]  # type: ignore[index]


def test_load_writes_nothing_but_a_cache_that_is_shown_and_emptied(grids: Path, tmp_path: Path) -> None:
    places = ("HOME", "TMPDIR", "HF_HOME", "XDG_CACHE_HOME", "NSL_BENCH_CACHE")
    env = {**os.environ, **{name: str(tmp_path / name) for name in places}}
    for name in places:
        (tmp_path / name).mkdir()
    code = "import sys, nsl_bench; nsl_bench.load(sys.argv[1], split='test', shift='rotate90', percent=50)"
    subprocess.run([sys.executable, "-c", code, str(grids)], env=env, check=True, cwd=tmp_path)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.relative_to(tmp_path).parts[:2] for path in written} == {("NSL_BENCH_CACHE", "datasets")}
    commands = [[sys.executable, "-m", "nsl_bench", "cache", *words] for words in ([], ["clear"], [])]
    shown = [subprocess.run(c, env=env, check=True, capture_output=True, text=True).stdout for c in commands]
    assert re.search(r"datasets +1 files", shown[0]) and re.search(r"datasets +0 files", shown[2])


def test_options_of_the_command_line_take_the_place_of_the_recipe(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        'train = 12\ntest = 6\nrepeats = 3\nshifts = ["rotate90", { name = "rotate", degrees = 45 }]\n'
        '[benchmark]\nname = "sudoku"\nblock_rows = 2\nblock_columns = 3\n'
    )
    out = tmp_path / "grids"
    words = ["generate", "--recipe", str(recipe), "--repeats", "1", "--out", str(out)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    manifest = Manifest.read(out)
    assert manifest.recipe["repeats"] == 1
    assert manifest.recipe["benchmark"].startswith("sudoku@1.0.0:block_rows=2")
    assert dict(manifest.shifts) == {"rotate90": "rotate:90", "rotate_45": "rotate:45"}
    assert len(manifest.concepts) == 6 and manifest.configs["rotate_45"]["train"].rows == 12


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("repeat = 2", r"unknown key 'repeat'\. Did you mean 'repeats'\?"),
        ('repeats = "2"', "repeats must be a whole number between 1 and 10,000; got '2'"),
        ("seed = -1", "seed must be a whole number between 0 and .*; got -1"),
        ('shifts = "noir"', "shifts must be a list such as .*; got 'noir'"),
        ('percents = [10, "x"]', r"percents\[1\] must be a number between 0 and 100; got 'x'"),
        ("percents = [101]", r"percents\[0\] must be a number between 0 and 100; got 101"),
        ("percents = [nan]", r".*toml: percents\[0\] must be .*got nan"),
        ("train = 1000000000000", "train must be .* and 100,000,000; got 1000000000000"),
        ('shifts = ["rotate:45", "rotate:45.0"]', "used by 'rotate:45'"),
        ('size = "small"\ntrain = 3', "'size' and 'train' both set"),
        ("seed = true", "seed must be .*; got true"),
        ('images = "some"', "images must be .*; got 'some'"),
        ('size = "smal"', "Did you mean 'small'"),
        ('benchmark = { name = "sudoku:block_rows=3", block_columns = 2 }', "which already contains options"),
        ('benchmark = { name = "sudoku_4x4", a = [1] }', "has the option a, which must be a string or a num"),
        ('benchmark = "sudoko_4x4"', "Did you mean 'sudoku_4x4'"),
        ('benchmark = { name = "sudoku_4x4", knowlege = "grid" }', "no option 'knowlege'"),
        ("benchmark = { block_rows = 3 }", "a name or a table with a name"),
        ("# repeats = 2", "benchmark is missing"),
        ("benchmark = ", "is not valid TOML"),
    ],
)
def test_a_wrong_recipe_gets_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(text if text.startswith(("benchmark", "#")) else f'benchmark = "sudoku_4x4"\n{text}')
    with pytest.raises(UserError, match=sentence):
        generate(Recipe.read(recipe), tmp_path / "out")
    assert not (tmp_path / "out").exists() and not partial(tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["null", "[1, 2]", '{"recipe": 5}', "{}", "[" * 100_000])
def test_what_is_no_manifest_is_no_recipe(text: str, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(text)
    with pytest.raises(UserError, match=r"manifest\.json is not a data set manifest"):
        Recipe.read(manifest)


LITTLE = Recipe("sudoku_4x4", train=4, test=4, repeats=1, images="used", shifts=())


def test_it_goes_where_a_link_and_a_dot_lead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("linked", "here"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "linked")
    monkeypatch.chdir(tmp_path / "here")
    generate(LITTLE, tmp_path / "link")
    generate(LITTLE, Path())
    assert Manifest.read(tmp_path / "linked") == Manifest.read(tmp_path / "here")


def test_a_data_set_is_not_made_from_another_ones_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, real = tmp_path / "out", Path.replace

    def denied(path: Path, target: Path) -> Path:
        if target == out:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", denied)
        with pytest.raises(UserError, match=r"out\.part cannot be renamed to .*out: Permission denied"):
            generate(LITTLE, out)
    with pytest.raises(UserError, match=r"a different unfinished data set \(seed 0, not 5\)"):
        generate(replace(LITTLE, seed=5), out)
    state = partial(out) / ".state"
    (state / "train.npz").write_bytes(b"damaged")
    assert generate(LITTLE, out) == generate(LITTLE, tmp_path / "again")
    (partial(out) / "standard").mkdir(parents=True)
    shutil.rmtree(out)
    with pytest.raises(UserError, match="files that do not belong to an unfinished data set"):
        generate(LITTLE, out)


@pytest.mark.parametrize("wrong", [lambda x: x / 255, lambda x: x[:-1], lambda x: x[:, :5]])
def test_a_shift_that_gives_no_images_is_named(
    wrong: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rotate, "apply", lambda self, images, indices: wrong(images))
    with pytest.raises(UserError, match=r"The shift 'rotate:90' must return uint8 images of shape \["):
        generate(replace(LITTLE, shifts=("rotate90",)), tmp_path / "out")


def test_a_damaged_plan_is_named(tmp_path: Path) -> None:
    state = partial(tmp_path / "out") / ".state"
    state.mkdir(parents=True)
    (state / "plan.json").write_text("{")
    with pytest.raises(UserError, match=r"plan\.json is damaged .*; remove .*out\.part"):
        generate(LITTLE, tmp_path / "out")


def test_more_examples_than_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tricks = replace(LITTLE, benchmark="follow_suit:players=2,suits=1", test=3000)
    with pytest.raises(UserError, match="uses every trick, which leaves none for training"):
        generate(tricks, tmp_path / "out")
    real = sudoku_puzzles.make_puzzles
    monkeypatch.setattr(sudoku_puzzles, "make_puzzles", lambda seeds, *rest: real(seeds % 40 + 1, *rest))
    monkeypatch.setattr(sudoku, "_MOST_SEEDS", 1000)
    with pytest.raises(UserError, match=r"sudoku_4x4 has only \d+ different grids of one kind"):
        generate(replace(LITTLE, test=100), tmp_path / "out")
    assert not partial(tmp_path / "out").exists()


@pytest.mark.parametrize("benchmark", ["follow_suit:players=3", "sudoku_4x4", "crop_yield"])
def test_facts_of_the_rules_folder_and_the_true_rule_give_the_labels(benchmark: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate(Recipe(benchmark, train=6, test=6, repeats=1, images="used", shifts=()), out)
    task = registry.create("benchmark", benchmark)
    with (out / "rules" / "facts.csv").open(newline="") as file:
        facts = {(row["input"], row["value"]): row["facts"] for row in csv.DictReader(file)}
    rules = "".join((out / "rules" / name).read_text() for name in ("background.lp", "true_rule.lp"))
    for row in datasets.load_dataset(str(out), "symbolic", split="train", cache_dir=str(tmp_path / "cache")):
        names = task.concept_space.concepts
        shown = [(s, names[c]) for s, c in zip(task.slots, row["concepts"], strict=True) if c >= 0]
        shown += [(name, str(row[name])) for name in task.metadata]
        control = clingo.Control(["--warn=none"])
        control.add("base", [], rules + " ".join(facts[key] for key in shown))
        control.ground([("base", [])])
        with control.solve(yield_=True) as handle:
            atoms = {str(atom) for atom in next(iter(handle)).symbols(atoms=True)}
        derived = [k for k, atom in enumerate(task.labels.atoms) if atom in atoms]
        assert row["label"] in (derived or [task.labels.atoms.index(None)])


def test_the_cache_is_listed_and_cleared(
    grids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NSL_BENCH_CACHE", str(tmp_path / "cache"))
    nsl_bench.load(grids)
    assert cache.contents()["datasets"][0] >= 1
    listed = CliRunner().invoke(main, ["cache"])
    assert "datasets" in listed.output and str(tmp_path / "cache") in listed.output
    assert CliRunner().invoke(main, ["cache", "clear", "datasets"]).exit_code == 0
    assert not list((tmp_path / "cache" / "datasets").glob("*.arrow"))
    assert isinstance(CliRunner().invoke(main, ["cache", "clear", "dataset"]).exception, UserError)
