"""`SourceTests`, tests that every image source must pass."""

import multiprocessing
import pickle
from abc import ABC, abstractmethod
from concurrent.futures import ProcessPoolExecutor
from typing import ClassVar

import numpy as np
import pytest

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import Shift
from nsl_bench.core.source import ImageSource
from nsl_bench.core.types import Ints, PoolPart
from nsl_bench.testing import Tests

PARTS: tuple[PoolPart, ...] = ("network", "a", "b")


def _render(source: ImageSource, part: PoolPart, indices: Ints, variant: str) -> bytes:
    return source.render(part, indices, variant).tobytes()


class SourceTests(Tests, ABC):
    """Tests of an image source::

        class TestMyImages(SourceTests):
            total = {"network": 120, "a": 42, "b": 18}

            @classmethod
            def make(cls):
                return MyImages(images_per_class=20)

    Attributes:
        total: number of images in each part of the pool of `make()`.
    """

    __test__ = False

    total: ClassVar[dict[PoolPart, int]]

    @classmethod
    @abstractmethod
    def make(cls) -> ImageSource:
        """Create a small source; each call returns an equal one."""

    @pytest.fixture(scope="class")
    @classmethod
    def source(cls) -> ImageSource:
        return cls.make()

    def sample(self, source: ImageSource, part: PoolPart = "a", n: int = 7) -> Ints:
        """Some indices of a pool part, in random order."""
        return np.random.default_rng(1).permutation(len(source.labels(part)))[:n]

    def test_says_what_it_is(self, source: ImageSource) -> None:
        for text in (source.name, source.version, source.licence, source.citation):
            assert isinstance(text, str) and text
        assert len(source.shape) == 3 and source.shape[2] in (1, 3)
        assert len(set(source.variants)) == len(source.variants) > 0

    def test_labels(self, source: ImageSource) -> None:
        for part in PARTS:
            labels = source.labels(part)
            assert labels.dtype == np.int16
            assert len(labels) == self.total[part]
            assert set(labels.tolist()) == set(range(len(source.concept_space)))

    def test_parts_are_stratified(self, source: ImageSource) -> None:
        counts = {p: np.bincount(source.labels(p), minlength=len(source.concept_space)) for p in PARTS}
        test = counts["a"] + counts["b"]
        assert np.array_equal(counts["a"], 70 * test // 100)

    def test_images_are_bytes_of_the_shape(self, source: ImageSource) -> None:
        for variant in source.variants:
            images = source.render("a", self.sample(source), variant)
            assert images.dtype == np.uint8
            assert images.shape == (7, *source.shape)
            assert images.std() > 1

    def test_segmentation_maps_are_of_the_same_images(self, source: ImageSource) -> None:
        rows = self.sample(source)
        if not source.segments:
            with pytest.raises(UserError, match="has no segmentation maps"):
                source.segmentation("network", rows)
            return
        assert len(set(source.segments)) == len(source.segments) <= 256
        maps = source.segmentation("network", rows)
        assert maps.dtype == np.uint8 and maps.shape == (7, *source.shape[:2])
        assert maps.max() < len(source.segments)
        assert np.array_equal(source.segmentation("network", rows[::-1])[::-1], maps)
        assert source.segmentation("a", rows[:0]).shape == (0, *source.shape[:2])

    def test_no_images(self, source: ImageSource) -> None:
        assert source.render("b", np.empty(0, np.int64), source.variants[0]).shape == (0, *source.shape)

    def test_the_standard_variant_is_the_default(self, source: ImageSource) -> None:
        rows = self.sample(source)
        assert np.array_equal(source.render("a", rows), source.render("a", rows, source.variants[0]))

    def test_order_and_company_do_not_matter(self, source: ImageSource) -> None:
        for variant in source.variants:
            rows = self.sample(source)
            together = source.render("a", rows, variant)
            assert np.array_equal(source.render("a", rows[::-1], variant), together[::-1])
            assert np.array_equal(source.render("a", rows[[3, 3]], variant), together[[3, 3]])
            assert np.array_equal(self.make().render("a", rows[2:4], variant), together[2:4])

    def test_other_processes_make_the_same(self, source: ImageSource) -> None:
        rows = self.sample(source, n=4)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            for variant in source.variants:
                there = pool.submit(_render, source, "a", rows, variant).result()
                assert there == _render(source, "a", rows, variant)

    def test_it_can_be_pickled_after_use(self, source: ImageSource) -> None:
        rows = self.sample(source)
        before = source.render("a", rows)
        assert np.array_equal(pickle.loads(pickle.dumps(source)).render("a", rows), before)

    def test_no_image_is_in_two_parts(self, source: ImageSource) -> None:
        seen: dict[bytes, PoolPart] = {}
        for part in PARTS:
            for image in source.render(part, self.sample(source, part, 300)):
                assert seen.setdefault(image.tobytes(), part) == part

    def test_variants_differ(self, source: ImageSource) -> None:
        rows = self.sample(source)
        looks = [source.render("a", rows, variant) for variant in source.variants]
        for k in range(len(rows)):
            assert len({look[k].tobytes() for look in looks}) == len(looks)

    def test_its_shifts_exist(self, source: ImageSource) -> None:
        for spec in source.named_shifts.values():
            shift: Shift = registry.create("shift", spec)
            shift.check(source)
            assert shift.spec == spec
            assert shift.render(source, "b", np.arange(2)).shape == (2, *source.shape)

    def test_unknown_variant(self, source: ImageSource) -> None:
        with pytest.raises(UserError, match=r"Unknown variant of the image source .* 'nior'"):
            source.render("a", np.arange(1), "nior")

    def test_index_out_of_range(self, source: ImageSource) -> None:
        for index in (-1, len(source.labels("b"))):
            with pytest.raises(IndexError, match=f"image {index} "):
                source.render("b", np.array([index]))

    def test_fingerprint(self, source: ImageSource) -> None:
        assert source.fingerprint() == self.make().fingerprint()
        assert 8 <= len(source.fingerprint()) <= 64
