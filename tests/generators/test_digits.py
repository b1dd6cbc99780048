import gzip
import os
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from nsl_bench.generators.sources.digits import Mnist, MnistTrain, SklearnDigits

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import ConceptSpace
from nsl_bench.testing import SourceTests
from nsl_bench.testing.sources import PARTS


def digits(last: int, first: int = 1) -> ConceptSpace:
    return ConceptSpace("digit", tuple(str(d) for d in range(first, last + 1)))


class TestSklearnDigits(SourceTests):
    total = {"network": 432, "a": 202, "b": 89}  # noqa: RUF012

    @classmethod
    def make(cls) -> SklearnDigits:
        return SklearnDigits(digits(4))


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_mnist(folder: Path, per_digit: int = 10, *, gz: bool = True) -> None:
    """A small data set in MNIST's format: noise, the digit in the first pixel."""
    folder.mkdir(parents=True, exist_ok=True)
    for which, seed in (("train", 1), ("t10k", 2)):
        labels = np.tile(np.arange(10, dtype=np.uint8), per_digit)
        images = np.random.default_rng(seed).integers(0, 256, (len(labels), 28, 28), dtype=np.uint8)
        images[:, 0, 0] = labels
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            name = f"{which}-{kind}-ubyte"
            if gz:
                (folder / f"{name}.gz").write_bytes(gzip.compress(idx(array), 1))
            else:
                (folder / name).write_bytes(idx(array))


@pytest.fixture(scope="module")
def small_mnist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mnist")
    write_mnist(folder)
    return folder


class TestMnist(SourceTests):
    total = {"network": 60, "a": 42, "b": 18}  # noqa: RUF012
    root: Path

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _find(cls, small_mnist: Path) -> None:
        cls.root = small_mnist

    @classmethod
    def make(cls) -> Mnist:
        return Mnist(cls.root, digits(6))

    def test_images_show_their_labels(self) -> None:
        source = self.make()
        for part in PARTS:
            labels = source.labels(part)
            images = source.render(part, np.arange(len(labels)))
            assert np.array_equal(images[:, 0, 0, 0], labels + 1)


class TestMnistTrain(TestMnist):
    """Nearly all train images are in pool A, and all test images in pool B."""

    total = {"network": 6, "a": 54, "b": 60}  # noqa: RUF012

    @classmethod
    def make(cls) -> MnistTrain:
        return MnistTrain(cls.root, digits(6))

    def test_parts_are_stratified(self, source: ImageSource) -> None:
        counts = {part: np.bincount(source.labels(part)) for part in PARTS}
        train = counts["network"] + counts["a"]
        assert np.array_equal(counts["network"], 10 * train // 100)


class TestRealMnist:
    @pytest.mark.parametrize(("last", "sizes"), [(4, (24673, 2910, 1249)), (9, (54077, 6310, 2710))])
    def test_sizes_of_the_paper(self, shared: Path, last: int, sizes: tuple[int, ...]) -> None:
        source = registry.create("source", f"mnist:{shared / 'data/mnist'}", concept_space=digits(last))
        assert tuple(len(source.labels(part)) for part in PARTS) == sizes


class TestSplitOfSklearnDigits:
    def test_all_digits_are_used_once(self) -> None:
        source = SklearnDigits()
        assert sum(len(source.labels(part)) for part in PARTS) == 1797
        assert [len(source.labels(part)) for part in PARTS] == [1074, 503, 220]

    def test_another_seed_is_another_split(self) -> None:
        one, two = SklearnDigits(digits(4)), SklearnDigits(digits(4), seed=1)
        rows = np.arange(20)
        assert not np.array_equal(one.render("a", rows), two.render("a", rows))
        assert one.fingerprint() != two.fingerprint()

    def test_the_order_of_concepts_decides_labels(self) -> None:
        source = SklearnDigits(ConceptSpace("digit", ("9", "0", "4")))
        plain = SklearnDigits()
        wanted = [i for i, d in enumerate(plain.labels("a")) if d in (9, 0, 4)]
        assert np.array_equal(source.render("a", np.arange(len(wanted))), plain.render("a", np.array(wanted)))
        assert [(9, 0, 4)[k] for k in source.labels("a")] == plain.labels("a")[wanted].tolist()

    def test_numbers_of_two_digits_stand_side_by_side(self) -> None:
        source, plain = SklearnDigits(digits(16)), SklearnDigits(digits(9))
        for part in PARTS:
            labels = source.labels(part)
            assert set(labels.tolist()) == set(range(16))
            rows = np.arange(len(plain.labels(part)))
            assert np.array_equal(source.render(part, rows), plain.render(part, rows))
        twelve = source.render("a", np.flatnonzero(source.labels("a") == 11)[:1])
        assert twelve.shape == (1, 28, 28, 1)
        assert twelve[..., :14, :].std() > 10 and twelve[..., 14:, :].std() > 10

    def test_the_side_is_an_option(self) -> None:
        source = SklearnDigits(digits(4), side=56)
        assert source.render("a", np.arange(3)).shape == (3, 56, 56, 1)
        assert source.fingerprint() != SklearnDigits(digits(4)).fingerprint()


class TestMnistFolders:
    @pytest.mark.parametrize("place", [".", "MNIST/raw", "raw"])
    @pytest.mark.parametrize("gz", [True, False])
    def test_layouts(self, tmp_path: Path, small_mnist: Path, place: str, gz: bool) -> None:
        write_mnist(tmp_path / place, gz=gz)
        source = registry.create("source", f"mnist:{tmp_path}", concept_space=digits(9, first=0))
        assert source.fingerprint() == Mnist(small_mnist).fingerprint()

    @pytest.mark.parametrize(
        ("make", "what"),
        [(lambda p: None, "does not exist"), (Path.mkdir, "is empty"), (Path.touch, "is a file")],
    )
    def test_nothing_there(self, tmp_path: Path, make, what: str) -> None:
        make(tmp_path / "mnist")
        with pytest.raises(UserError, match=rf"mnist {what}\. Put train-images-.*download=true"):
            Mnist(tmp_path / "mnist")

    @pytest.mark.parametrize(
        ("name", "content", "what"),
        [
            ("train-images-idx3-ubyte", b"", "is empty"),
            ("train-images-idx3-ubyte", b"idx", "is not an idx file of bytes with 3 dimension"),
            ("train-images-idx3-ubyte", idx(np.zeros((3, 4), np.uint8)), "is not an idx file"),
            ("train-images-idx3-ubyte", idx(np.zeros((100, 28, 28), np.uint8))[:-1], "has 78399 bytes"),
            ("train-images-idx3-ubyte", idx(np.zeros((3, 8, 8), np.uint8)), "28 x 28 pixels; got 8 x 8"),
            ("t10k-images-idx3-ubyte", idx(np.zeros((3, 28, 28), np.uint8)), "3 images, but .* 100 labels"),
            ("train-labels-idx1-ubyte", idx(np.full(100, 12, np.uint8)), "must be between 0 and 9; got 12"),
        ],
    )
    def test_broken_files(self, tmp_path: Path, name: str, content: bytes, what: str) -> None:
        write_mnist(tmp_path, gz=False)
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=f"{name}.*{what}"):
            Mnist(tmp_path).labels("a")

    @pytest.mark.parametrize(
        "spelled",
        [
            lambda name: name.replace("-idx", ".idx"),
            lambda name: name.replace("-", "_").upper(),
            lambda name: f"{name}/{name}",
        ],
    )
    def test_names_of_other_downloads(self, tmp_path: Path, small_mnist: Path, spelled) -> None:
        write_mnist(tmp_path / "before", gz=False)
        for file in (tmp_path / "before").iterdir():
            place = tmp_path / "data" / spelled(file.name)
            place.parent.mkdir(parents=True, exist_ok=True)
            file.rename(place)
        assert Mnist(tmp_path / "data").fingerprint() == Mnist(small_mnist).fingerprint()
        with pytest.raises(UserError, match=r"is one level too high; give .*data"):
            Mnist(tmp_path)

    @pytest.mark.parametrize(
        ("name", "head", "more", "what"),
        [
            ("train-labels-idx1-ubyte.gz", (100,), 10**8, "has more than 100 bytes of data"),
            ("train-labels-idx1-ubyte.gz", (2**32 - 1,), 100, "at most 1,000,000 entries; its header"),
            ("train-images-idx3-ubyte.gz", (10**6, 28, 28), 10**8, "1000000 images, but .* 100 labels"),
            ("train-images-idx3-ubyte.gz", (100, 28, 28), 10**8, "has more than 78400 bytes"),
            ("train-images-idx3-ubyte.gz", (100, 60000, 60000), 100, "28 x 28 pixels; got 60000"),
        ],
    )
    def test_bombs(self, tmp_path: Path, name: str, head: tuple[int, ...], more: int, what: str) -> None:
        write_mnist(tmp_path)
        start = struct.pack(f">BBBB{len(head)}I", 0, 0, 8, len(head), *head)
        (tmp_path / name).write_bytes(gzip.compress(start + bytes(more), 1))
        tracemalloc.start()
        with pytest.raises(UserError, match=f"{name}.*{what}"):
            Mnist(tmp_path).labels("a")
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 2**25

    @pytest.mark.parametrize(
        ("gz", "name", "make", "what"),
        [
            (True, "t10k-labels-idx1-ubyte.gz", None, "lacks t10k-labels-idx1-ubyte"),
            (False, "train-images-idx3-ubyte", os.mkfifo, "it is a pipe"),
            (True, "train-images-idx3-ubyte.gz", lambda file: file.write_bytes(gzip.compress(b"x" * 9)[:-5]),
             r"train-images-idx3-ubyte\.gz cannot be read .* incomplete"),
        ],
    )  # fmt: skip
    def test_what_is_no_file(self, tmp_path: Path, gz: bool, name: str, make, what: str) -> None:
        write_mnist(tmp_path, gz=gz)
        (tmp_path / name).unlink()
        if make:
            make(tmp_path / name)
        with pytest.raises(UserError, match=what):
            Mnist(tmp_path).fingerprint()

    def test_download_goes_through_torchvision(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fetch(root: str, download: bool) -> None:
            assert download
            write_mnist(Path(root) / "MNIST" / "raw", gz=False)

        monkeypatch.setattr("torchvision.datasets.MNIST", fetch)
        source = registry.create("source", f"mnist:{tmp_path},download=true", concept_space=digits(4))
        assert len(source.labels("network")) == 40

    def test_download_fails(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(root: str, download: bool) -> None:
            raise RuntimeError("Error downloading train-images")

        monkeypatch.setattr("torchvision.datasets.MNIST", fail)
        with pytest.raises(UserError, match=r"could not be downloaded .* yourself"):
            Mnist(tmp_path, download=True)


@pytest.mark.parametrize(
    ("spec", "concepts", "what"),
    [
        ("sklearn_digits", ("1", "ten"), "has no images of 'ten'; it has the digits"),
        ("mnist:{}", ("x",), "has no images of 'x'"),
        ("drawn_decks", ("as", "joker"), "has no images of 'joker'; it has the 52 cards"),
        ("drawn_symbols", ("red_11",), "has no images of 'red_11'"),
        ("drawn_leaves", ("as",), "has no images of 'as'"),
    ],
)
def test_concepts_that_a_source_does_not_show(
    spec: str, concepts: tuple[str, ...], what: str, small_mnist: Path
) -> None:
    with pytest.raises(UserError, match=f"{spec.partition(':')[0]} {what}"):
        registry.create("source", spec.format(small_mnist), concept_space=ConceptSpace("it", concepts))
