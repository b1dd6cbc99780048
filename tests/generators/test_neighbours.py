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
    [
        ("", "mnist_0 mnist_1 mnist_2 mnist_3", "mnist_0 mnist_1 mnist_2 mnist_3", 0),
        (":classes=transfer", "emnist_9 emnist_11 emnist_12 emnist_13", "kmnist_0 a_1 kmnist_3 kmnist_8", 4),
    ],
)
def test_published_folders_are_read(tmp_path: Path, options: str, train: str, test: str, first: int) -> None:
    folder, task = published(tmp_path, train, test), registry.create("benchmark", f"visudo_4x4{options}")
    split = symbolic_split(task, "train", "2", splits=folder)
    assert split.labels.tolist() == [0, 1] and "".join(map(str, split.concepts[0])) == GRIDS[0]
    assert np.unique(symbolic_split(task, "test", splits=folder).concepts).tolist() == [
        *range(first, first + 4)
    ]
    with pytest.raises(UserError, match="has 2 train grids; got the size 3"):
        symbolic_split(task, "train", "3", splits=folder)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("train_cell", "a_0\ta_1\ta_2\ta_3", "line 1: the grid must have 16 cells; got 4"),
        ("train_cell", "a_0", "the grids must show 4 classes; got 1"),
        ("train_puzzle", "1\t0\n1\t1", r"must have 1 0 or 0 1 for each of 2 grids; got '1 1' in line 2\."),
        ("train_puzzle", "1\t0", r"must have 1 0 or 0 1 for each of 2 grids; got 1 lines\."),
        ("test_cell", "\t".join(["b_0"] * 16), "no train grid shows b_0; use classes=transfer"),
    ],
)
def test_a_damaged_folder_is_one_sentence(tmp_path: Path, file: str, text: str, message: str) -> None:
    folder = published(tmp_path, "a_0 a_1 a_2 a_3", "a_0 a_1 a_2 a_3")
    (folder / "split::01" / f"{file}_labels.txt").write_text(text)
    with pytest.raises(UserError, match=message):
        symbolic_split(registry.create("benchmark", "visudo_4x4"), file.split("_")[0], "2", splits=folder)


def test_transfer_shows_other_classes_and_half_of_the_grids_are_wrong() -> None:
    task = registry.create("benchmark", "visudo_4x4:classes=transfer,test=40")
    for part, shown in (("train", [0, 1, 2, 3]), ("validation", [0, 1, 2, 3]), ("test", [4, 5, 6, 7])):
        split = symbolic_split(task, part, "40")
        assert np.bincount(split.labels).tolist() == [20, 20] and np.unique(split.concepts).tolist() == shown


@pytest.mark.parametrize(("spec", "examples"), [("addition_sum", "12"), ("addition_sum:digits=2", "6")])
def test_the_rule_of_whole_sums_is_learned_from_true_concepts(spec: str, examples: str) -> None:
    task = registry.create("benchmark", spec)
    train = symbolic_split(task, "train", examples)
    learned = FFNSL().fit(view(train, "symbolic", benchmark=task)).rules()
    assert is_true_rule(tuple(learned.rules), task)
    for part, images, zeros in (("train", 60_000, 5923), ("test", 10_000, 980)):  # each of MNIST's once
        split = symbolic_split(task, part, "large")
        assert split.concepts.size == images and (split.concepts == 0).sum() == zeros
        numbers = split.concepts.reshape(len(split), 2, -1)
        sums = (numbers @ 10 ** np.arange(numbers.shape[2])[::-1]).sum(axis=1)
        assert np.array_equal(np.array(task.labels.names)[split.labels].astype(int), sums)


@pytest.mark.parametrize("which", ["fashion", "kmnist", "emnist"])
def test_any_folder_in_the_format_of_mnist_serves(tmp_path: Path, which: str) -> None:
    write_mnist(tmp_path)
    assert len(MnistTrain(tmp_path, digits(9, 0), whole=True).labels("a")) == 100
    labels = np.repeat(np.arange(47, dtype=np.uint8), 4)
    images = np.tile(labels[:, None, None], (1, 28, 28))
    images[:, 0, 3] = 0
    for part in ("train", "test"):
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            (tmp_path / f"emnist-balanced-{part}-{kind}-ubyte").write_bytes(idx(array))
    source = MnistLike(tmp_path, digits(3, 0), which)
    shown = source.render("network", np.arange(4))[..., 0]
    assert np.array_equal(shown[:, 0, 0] - 11 * (which == "emnist"), source.labels("network")[:4])
    assert which != "emnist" or not shown[:, 3, 0].any()
    assert {"fashion": "9 ankle boot", "kmnist": "9 wo", "emnist": "0 B, 1 C"}[which] in source.citation
    with pytest.raises(UserError, match=r"has \d+ classes; got the concept 50"):
        MnistLike(tmp_path, digits(50, 50), which)
