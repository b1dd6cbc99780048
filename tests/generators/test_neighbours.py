"""Tasks of other papers: ViSudo-PC, MNIST addition with the sum as one label, and their sources."""

from pathlib import Path

import numpy as np
import pytest
from nsl_bench.generators.sources.digits import MnistLike, MnistTrain

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.data.splits import symbolic_split
from nsl_bench.learners.ffnsl import FFNSL
from nsl_bench.run.true_rule import is_true_rule
from nsl_bench.testing.toy import view

from .test_digits import digits, idx, write_mnist

GRIDS = ("0123230110323210", "0123230110323211")
PLAIN = "mnist_0 mnist_1 mnist_2 mnist_3"


def published(folder: Path, train: str, test: str) -> Path:
    """A correct and a wrong grid as ViSudo-PC publishes them, of these classes."""
    (folder / "split::01").mkdir(parents=True)
    for part, classes in (("train", train.split()), ("test", test.split())):
        rows = ["\t".join(classes[int(digit)] for digit in grid) for grid in GRIDS]
        for what, text in (("cell", "\n".join(rows)), ("puzzle", "1\t0\n0\t1")):
            (folder / "split::01" / f"{part}_{what}_labels.txt").write_text(text + "\n")
    return folder


@pytest.mark.parametrize(
    ("options", "train", "test", "first"),
    [("", PLAIN, PLAIN, 0), (":classes=transfer", "e_9 e_11 e_12 e_13", "k_0 a_1 k_3 k_8", 4)],
)
def test_published_folders_are_read(tmp_path: Path, options: str, train: str, test: str, first: int) -> None:
    folder, task = published(tmp_path, train, test), registry.create("benchmark", f"visudo_4x4{options}")
    split = symbolic_split(task, "train", "2", splits=folder)
    assert split.labels.tolist() == [0, 1] and "".join(map(str, split.concepts[0])) == GRIDS[0]
    assert set(symbolic_split(task, "test", splits=folder).concepts.flat) == set(range(first, first + 4))
    with pytest.raises(UserError, match="has 2 train grids; got the size 3"):
        symbolic_split(task, "train", "3", splits=folder)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("train_cell", PLAIN.replace(" ", "\t"), "line 1: the grid must have 16 cells; got 4"),
        ("train_cell", "a_0", "the grids must show 4 classes; got 1"),
        ("train_puzzle", "1\t0\n1\t1", r"must have 1 0 or 0 1 for each of 2 grids; got '1 1' in line 2\."),
        ("train_puzzle", "1\t0", r"must have 1 0 or 0 1 for each of 2 grids; got 1 lines\."),
        ("test_cell", "\t".join(["b_0"] * 16), "no train grid shows b_0; use classes=transfer"),
    ],
)
def test_a_damaged_folder_is_one_sentence(tmp_path: Path, file: str, text: str, message: str) -> None:
    folder = published(tmp_path, PLAIN, PLAIN)
    (folder / "split::01" / f"{file}_labels.txt").write_text(text)
    with pytest.raises(UserError, match=message):
        symbolic_split(registry.create("benchmark", "visudo_4x4"), file.split("_")[0], "2", splits=folder)


def test_transfer_shows_other_classes_and_half_of_the_grids_are_wrong() -> None:
    task = registry.create("benchmark", "visudo_4x4:classes=transfer,test=40")
    for part, first in (("train", 0), ("validation", 0), ("test", 4)):
        split = symbolic_split(task, part, "40")
        assert split.labels.sum() == 20 and set(split.concepts.flat) == set(range(first, first + 4))


@pytest.mark.parametrize(("spec", "examples"), [("addition_sum", "12"), ("addition_sum:digits=2", "6")])
def test_the_rule_of_whole_sums_is_learned_from_true_concepts(spec: str, examples: str) -> None:
    task = registry.create("benchmark", spec)
    train = symbolic_split(task, "train", examples)
    assert is_true_rule(tuple(FFNSL().fit(view(train, "symbolic", benchmark=task)).rules().rules), task)
    for part, images, zeros in (("train", 60_000, 5923), ("test", 10_000, 980)):  # each of MNIST's once
        split = symbolic_split(task, part, "large")
        assert split.concepts.size == images and (split.concepts == 0).sum() == zeros


@pytest.mark.parametrize(
    ("which", "told"), [("fashion", "9 ankle boot"), ("kmnist", "9 wo"), ("emnist", "0 B")]
)
def test_any_folder_in_the_format_of_mnist_serves(tmp_path: Path, which: str, told: str) -> None:
    write_mnist(tmp_path)
    assert len(MnistTrain(tmp_path, digits(9, 0), whole=True).labels("a")) == 100
    labels = np.repeat(np.arange(47, dtype=np.uint8), 4)
    images = np.tile(labels[:, None, None], (1, 28, 28))
    images[:, 0, 3] = 0
    for name, array in (("images-idx3", images), ("labels-idx1", labels)):
        for part in ("train", "test"):
            (tmp_path / f"emnist-balanced-{part}-{name}-ubyte").write_bytes(idx(array))
    source = MnistLike(tmp_path, digits(3, 0), which)
    shown = source.render("network", np.arange(4))[..., 0]
    assert np.array_equal(shown[:, 0, 0] - 11 * (which == "emnist"), source.labels("network")[:4])
    assert (which != "emnist" or not shown[:, 3, 0].any()) and told in source.citation
    with pytest.raises(UserError, match=r"has \d+ classes; got the concept 50"):
        MnistLike(tmp_path, digits(50, 50), which)
