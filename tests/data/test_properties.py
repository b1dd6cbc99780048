"""Whatever is asked for: shifted examples are their standard twins, and those shifted at p % nest."""

import copy
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from nsl_bench.generators.tasks.follow_suit import CARDS, RANK_VALUES, FollowSuit
from nsl_bench.generators.tasks.sudoku import Sudoku
from PIL import Image

import nsl_bench
from nsl_bench import UserError
from nsl_bench.cli import main
from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.shift import named_shifts
from nsl_bench.core.types import BLANK
from nsl_bench.data.content import dataset_hash
from nsl_bench.data.generate import generate
from nsl_bench.data.recipe import Recipe
from nsl_bench.data.show import sheet
from nsl_bench.data.splits import make_source, make_split, symbolic_split
from nsl_bench.data.verify import verify
from nsl_bench.logic.inference.crisp import crisp_labels
from nsl_bench.run.mock_tasks import Patches, PatchSource
from nsl_bench.testing.toy import Negative, patches

from .conftest import BENCHMARKS


@pytest.mark.parametrize("name", BENCHMARKS)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 40), percents=st.lists(st.floats(0, 100), min_size=2))
@settings(max_examples=3)
def test_every_example_of_every_benchmark(name: str, seed: int, n: int, percents: list[float]) -> None:
    task: Benchmark = copy.copy(registry.create("benchmark", name))
    task.test_size = 10
    source = make_source(task)
    split = make_split(task, source, "train", str(n), 1, seed=seed)
    before = np.zeros(len(split), np.bool_)
    for percent in sorted(percents):
        shifted = split.shift(percent)
        assert shifted.shifted[split.first_rows].sum() == int(np.floor(percent * n / 100 + 0.5))
        assert not (before & ~shifted.shifted).any()
        before = shifted.shifted
        for example, twin in zip(shifted, split, strict=True):
            assert replace(example, images=(), shifted=False) == replace(twin, images=())
            pairs = zip(example.images, twin.images, strict=True)
            assert all(a == b or (a and b and a.index == b.index) for a, b in pairs)
    assert split.n_sequences == n and sorted(split.ranks.tolist()) == list(range(len(split)))
    shown = split.images != BLANK
    assert np.array_equal(shown, split.concepts != BLANK)
    assert np.array_equal(source.labels(split.pool)[split.images[shown]], split.concepts[shown])
    if not task.true_rule:  # nobody knows it
        return
    contexts = task.contexts(split.concepts, split.metadata, split.steps)
    labels = crisp_labels([task.true_rule], task.background, contexts, task.labels)
    assert np.array_equal(labels, split.labels)


@given(seed=st.integers(0, 2**32), players=st.integers(2, 13), suits=st.integers(1, 4), n=st.integers(1, 80))
@settings(max_examples=15)
def test_every_trick(seed: int, players: int, suits: int, n: int) -> None:
    task = FollowSuit(players, suits)
    assert registry.create("benchmark", task.name).name == task.name
    split = symbolic_split(task, "train", str(n), 1, seed=seed)
    assert split.concepts.shape == (n, players)
    for example in split:
        cards = list(example.concepts)
        assert len(set(cards)) == players and set(cards) <= set(CARDS.concepts[: 13 * suits])
        following = [(RANK_VALUES[card[:-1]], p) for p, card in enumerate(cards) if card[-1] == cards[0][-1]]
        assert max(following)[1] == example.label


@given(
    seed=st.integers(0, 2**32),
    block=st.sampled_from([(2, 2), (2, 3), (3, 2), (3, 3)]),
    invalid=st.integers(0, 100),
    shares=st.tuples(*[st.integers(0, 3)] * 3).filter(any),
)
@settings(max_examples=4)
def test_every_grid(seed: int, block: tuple[int, int], invalid: int, shares: tuple[int, int, int]) -> None:
    task = Sudoku(*block, "grid", invalid, *shares)
    assert registry.create("benchmark", task.name).name == task.name
    split = symbolic_split(task, "train", "40", 1, seed=seed)
    told = task.knowledge_features(split.concepts, {}).astype(bool)
    assert np.array_equal(told.any(axis=1), split.labels == 1)
    assert split.labels.sum() == 40 * invalid // 100
    kinds = Counter(np.flatnonzero(row)[0] for row in told if row.any())
    assert all(row.sum() <= 1 for row in told)
    for kind, share in enumerate(shares):
        assert abs(kinds[kind] - split.labels.sum() * share / sum(shares)) < 1


@pytest.mark.slow
def test_a_grid_of_sixteen() -> None:
    task = registry.create("benchmark", "sudoku:block_rows=4,block_columns=4")
    split = make_split(task, make_source(task), "train", "6", 1)
    assert split.concepts.shape == (6, 256) and split.concepts.max() <= 15
    assert np.array_equal(task.knowledge_features(split.concepts, {}).any(axis=1), split.labels == 1)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("follow_suit:suits=5", "suits must be between 1 and 4; got 5"),
        ("sudoku:invalid=101", "invalid must be between 0 and 100"),
        ("sudoku:row_share=0,column_share=0,block_share=0", "must be above 0; got 0 for each"),
        ("sudoku:block_rows=5", "block_rows must be between 2 and 4; got 5"),
    ],
)
def test_parameters_out_of_range(spec: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        registry.create("benchmark", spec)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_is_drawn_standard_and_shifted(name: str, tmp_path: Path) -> None:
    task = registry.create("benchmark", name)
    shift = next(iter(named_shifts(task, make_source(task))))
    pages = []
    for words in ([], ["--shift", shift]):
        out = tmp_path / f"{len(words)}.png"
        done = CliRunner().invoke(main, ["show", name, "--n", "3", "--out", str(out), *words])
        assert done.exit_code == 0, done.exception
        pages.append(np.asarray(Image.open(out)))
    assert pages[0].shape == pages[1].shape and pages[0].std() > 5
    assert (pages[0] != pages[1]).any(axis=2).mean() > 0.05


def test_the_images_of_an_example_are_on_the_page() -> None:
    source, split = PatchSource(3, 44), patches(percent=50).take(np.arange(7))
    page = np.asarray(sheet(Patches(), source, Negative(), split, columns=2))
    assert page.shape[2] == 3 and len(np.unique(page.reshape(-1, 3), axis=0)) > 50
    # Red frames mark nothing in a task that does not say what decides the label.
    assert not (page == (208, 60, 44)).all(axis=2).any()


def test_what_decides_the_label_is_marked() -> None:
    tricks = symbolic_split(FollowSuit(), "test").take(np.arange(30))
    assert all(FollowSuit().marked(c, k) == (k,) for c, k in zip(tricks.concepts, tricks.labels, strict=True))
    task = Sudoku(2, 3)
    grids = symbolic_split(task, "test").take(np.arange(100))
    for concepts, label in zip(grids.concepts, grids.labels.tolist(), strict=True):
        cells = task.marked(concepts, label)
        assert (len(cells) > 1) == bool(label)
        assert len({int(concepts[cell]) for cell in cells}) == bool(label)


def test_more_columns_than_examples(tmp_path: Path) -> None:
    line = ["show", "sudoku_4x4", "--n", "2", "--columns", "100000000", "--out", str(tmp_path / "page.png")]
    assert CliRunner().invoke(main, line).exit_code == 0
    assert Image.open(tmp_path / "page.png").width < 1500


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--percent", "50"], "name one with --shift"),
        (["--shift", "rotat90"], "Did you mean 'rotate90'"),
        (["--out", "page.text"], "ending of an image format"),
        (["--out", "page.psd"], "ending of an image format"),
        (["--n", "400", "--columns", "1"], "at most 65500 pixels per side"),
    ],
)
def test_wrong_words(words: list[str], sentence: str, tmp_path: Path) -> None:
    line = ["show", "sudoku_4x4", "--out", str(tmp_path / "page.png"), *words]
    done = CliRunner().invoke(main, line)
    assert isinstance(done.exception, UserError) and sentence in str(done.exception)


@pytest.fixture(scope="module", autouse=True)
def installed() -> object:
    """The task, as if another package had it."""
    from parity import installed as with_parity

    with pytest.MonkeyPatch.context() as patched:
        with_parity(patched)
        yield


def test_rows_say_their_sequence_and_whole_sequences_are_shifted() -> None:
    rows = nsl_bench.load("parity", split="test", shift="rotate90", percent=50)
    assert rows["step"][:4] == [1, 2, 3, 1] and rows["sequence"][:4] == [0, 0, 0, 1]
    shifted = np.array(rows["shifted"]).reshape(-1, 3)
    assert (shifted.all(axis=1) == shifted.any(axis=1)).all() and shifted.all(axis=1).sum() == 10
    assert dataset_hash(rows) in rows.info.description


def test_a_data_set_has_one_row_for_each_sequence() -> None:
    rows = nsl_bench.load("parity", split="test")
    whole = nsl_bench.as_sequences(rows)
    assert len(whole) == 20 and whole["sequence"][:] == list(range(20))
    assert whole["label"][1] == rows["label"][3:6]
    assert [[image.size for image in step] for step in whole[1]["images"]] == [[(28, 28)]] * 3
    assert whole.features["label"].feature.names == ["even", "odd"]
    part = nsl_bench.as_sequences(rows.select(range(6, 12)))
    assert part["sequence"][:] == [2, 3] and part["start"][0] == rows["start"][6:9]


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ([0, 1, 2, 3, 4], "Sequence 1 of the data set is cut: it has 2 steps, and others have 3"),
        ([1, 2, 3], "row 0 is step 2 of sequence 0, but step 1 must come next"),
        ([0, 2, 1], "row 1 is step 3 of sequence 0, but step 2 must come next"),
    ],
)
def test_sequences_that_are_cut_or_out_of_order_are_refused(chosen: list[int], said: str) -> None:
    rows = nsl_bench.load("parity", split="test")
    with pytest.raises(UserError, match=said):
        nsl_bench.as_sequences(rows.select(chosen))


def test_sequences_that_are_all_cut_alike_are_refused(tmp_path: Path) -> None:
    generate(Recipe(benchmark="parity", size="small", repeats=1), tmp_path / "bits")
    for place in ("parity", tmp_path / "bits"):
        rows = nsl_bench.load(place, split="test")
        cut = rows.filter(lambda step: step < 3, input_columns="step")
        with pytest.raises(UserError, match="All sequences of the data set are cut: they have 2 steps"):
            nsl_bench.as_sequences(cut)
    cut.info.description = ""  # as in data sets of earlier versions
    assert nsl_bench.as_sequences(cut)["step"][0] == [1, 2]


def test_other_data_sets_have_no_sequences() -> None:
    rows = nsl_bench.load("sudoku_4x4", split="test", size=5)
    with pytest.raises(UserError, match="has no column 'sequence'"):
        nsl_bench.as_sequences(rows)
    with pytest.raises(UserError, match="requires a Dataset; got list"):
        nsl_bench.as_sequences([])  # type: ignore[arg-type]


def test_a_generated_folder_is_verified_and_loads_at_every_share(tmp_path: Path) -> None:
    recipe = Recipe(benchmark="parity", size="small", repeats=1, shifts=("rotate90",), percents=(50.0,))
    manifest = generate(recipe, tmp_path / "bits")
    assert manifest.steps == 3 and manifest.metadata == ("start", "sequence", "step")
    verify(tmp_path / "bits")
    for percent in (0, 50, 100):
        from_folder, made = (
            nsl_bench.load(place, split="test", shift="rotate90", percent=percent)
            for place in (tmp_path / "bits", "parity")
        )
        assert dataset_hash(from_folder) == dataset_hash(made)
        assert from_folder["step"][:] == made["step"][:]
