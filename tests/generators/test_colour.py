import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from nsl_bench.generators.shifts.decks import Adversarial, DeckSwap
from nsl_bench.generators.shifts.imagenet_c import CORRUPTIONS
from nsl_bench.generators.shifts.pixels import Augment, GaussianBlur, Hue, Rotate
from nsl_bench.generators.sources.cards.drawn import DrawnDecks
from nsl_bench.generators.sources.digits import SklearnDigits
from nsl_bench.generators.sources.leaves.drawn import DrawnLeaves
from PIL import Image
from torchvision.transforms.v2 import functional

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import PixelShift, Sequence, Shift, resolve
from nsl_bench.core.source import ImageSource
from nsl_bench.testing import ShiftTests


def leaves() -> DrawnLeaves:
    return DrawnLeaves(images_per_concept=4, image_size=48)


def smooth(seed: int, side: int) -> np.ndarray:
    """A picture of soft blotches, uint8 [side, side, 3]."""
    coarse = np.random.default_rng(seed).integers(0, 256, (5, 5, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(coarse).resize((side, side), Image.Resampling.BICUBIC))


class TestGaussianBlurOfDigits(ShiftTests):
    spec = "gaussian_blur:5,1.1"

    def source(self) -> SklearnDigits:
        return SklearnDigits()


class TestAugment(ShiftTests):
    spec = "augment:0"

    def source(self) -> DrawnLeaves:
        return leaves()

    def test_a_flip_and_a_turn(self) -> None:
        """An image whose draw is known, against torchvision."""
        image = smooth(3, 41)
        drawn = Augment().draw(np.arange(200))
        for k in range(0, 200, 40):
            ours = Augment().apply(image[None], np.array([k]))[0].astype(int)
            picture = Image.fromarray(image)
            if drawn.flip[k]:
                picture = functional.horizontal_flip(picture)
            turned = functional.affine(
                picture,
                angle=float(drawn.rotation[k]),
                translate=[0, 0],
                scale=float(drawn.zoom[k]),
                shear=[float(drawn.shear[k]), 0.0],
                interpolation=functional.InterpolationMode.BILINEAR,
            )
            lit = np.asarray(turned) * drawn.brightness[k] + drawn.lift[k]
            assert abs(ours - lit.clip(0, 255))[12:29, 12:29].mean() < 12


class OnLeaves(ShiftTests):
    def source(self) -> DrawnLeaves:
        return leaves()


for _spec in ("hue:0.5", "gaussian_blur:9,3", *(f"{name}:3" for name in CORRUPTIONS)):
    globals()[f"Test {_spec}"] = type(f"Test {_spec}", (OnLeaves,), {"spec": _spec})
del OnLeaves


@pytest.fixture(scope="module")
def clean() -> np.ndarray:
    return leaves().render("a", np.arange(39))


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_severities_differ_more_and_more(name: str, clean: np.ndarray) -> None:
    far = [
        abs(registry.create("shift", f"{name}:{k}").apply(clean, np.arange(39)) - clean.astype(float)).mean()
        for k in range(1, 6)
    ]
    assert min(far) > 0.3
    # Severities 1 and 2 take colour away or turn the image as a whole, 3 to 5 do something else.
    if name not in ("saturate", "elastic_transform"):
        assert all(a < b for a, b in itertools.pairwise(far))


@pytest.mark.parametrize("name", [n for n in CORRUPTIONS if n != "saturate"])
@pytest.mark.parametrize("shape", [(28, 28, 1), (31, 52, 3)])
def test_corruptions_fit_any_size(name: str, shape: tuple[int, int, int]) -> None:
    images = np.random.default_rng(0).integers(0, 256, (2, *shape), dtype=np.uint8)
    for severity in (1, 5):
        changed = registry.create("shift", f"{name}:{severity}").apply(images, np.arange(2))
        assert changed.shape == images.shape and changed.dtype == np.uint8
        assert not np.array_equal(changed, images)


@given(st.integers(0, 2**32 - 1), st.floats(-0.5, 0.5).filter(lambda f: abs(f) > 0.01), st.integers(8, 40))
@settings(max_examples=40)
def test_hue_is_torchvisions(seed: int, factor: float, side: int) -> None:
    image = smooth(seed, side)
    ours = Hue(factor).apply(image[None], np.arange(1))[0].astype(int)
    exact = functional.adjust_hue(torch.from_numpy(np.moveaxis(image, 2, 0) / 255), factor) * 255
    apart = abs(ours - np.moveaxis(exact.numpy(), 0, 2))
    assert apart.max() <= 12  # a step of hue, of 256, is up to 6 levels
    assert apart.mean() <= 2.5


@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 5, 9, 15]), st.floats(0.4, 5), st.integers(16, 40))
@settings(max_examples=40)
def test_blur_is_torchvisions(seed: int, kernel: int, sigma: float, side: int) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)
    ours = GaussianBlur(kernel, sigma).apply(image[None], np.arange(1))[0].astype(int)
    batch = torch.from_numpy(np.moveaxis(image, 2, 0).copy())
    theirs = functional.gaussian_blur(batch, [kernel, kernel], [sigma, sigma]).numpy()
    assert abs(ours - np.moveaxis(theirs, 0, 2).astype(int)).max() <= 2


def test_a_corruption_that_comes_twice_comes_with_other_chance() -> None:
    task = registry.create("benchmark", "crop_yield")
    source = leaves()
    once, twice = (
        resolve(text, task, source) for text in ("gaussian_noise:1", "gaussian_noise:1+gaussian_noise:1")
    )
    assert once is not None and twice is not None
    rows = np.arange(4)
    plain, first, second = (
        images.astype(int)
        for images in (
            source.render("a", rows),
            once.render(source, "a", rows),
            twice.render(source, "a", rows),
        )
    )
    inside = (plain > 80) & (plain < 175)
    noise, more = (first - plain)[inside], (second - first)[inside]
    assert abs(np.corrcoef(noise, more)[0, 1]) < 0.1


@pytest.mark.parametrize("spec", ["hue", "augment", "gaussian_blur:3", "fog", "gaussian_noise"])
def test_the_order_of_pixels_in_memory_does_not_matter(spec: str) -> None:
    task = registry.create("benchmark", "crop_yield")
    shift = resolve(spec, task, leaves())
    assert isinstance(shift, PixelShift)
    images, rows = np.random.default_rng(0).integers(0, 256, (2, 24, 20, 3), dtype=np.uint8), np.arange(2)
    assert np.array_equal(shift.apply(np.asfortranarray(images), rows), shift.apply(images, rows))


def test_a_sequence_does_one_after_the_other() -> None:
    task, source, rows = registry.create("benchmark", "indoor_scene"), leaves(), np.arange(3)
    shift = resolve("blur_hue_rotate", task, source)
    assert isinstance(shift, Sequence)
    assert shift.spec == resolve(shift.spec, task, source).spec == "gaussian_blur:9,3+hue:0.5+rotate:180"
    images = source.render("a", rows)
    for spec in shift.spec.split("+"):
        images = registry.create("shift", spec).apply(images, rows)
    assert np.array_equal(shift.render(source, "a", rows), images)


def test_a_sequence_of_short_names() -> None:
    task, source = registry.create("benchmark", "crop_yield"), leaves()
    assert resolve("hue+jpeg_compression:2", task, source).spec == "hue:0.15+jpeg_compression:2"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("hue:0", "and not 0; got 0"),
        ("gaussian_blur:101,3", "does not fit the .* images of drawn_leaves"),
        ("fog:2+fogg:3", r"Unknown shift 'fogg:3'. Did you mean 'fog'\?"),
        ("hue+", "A spec must be NAME"),
        ("rotate:90+deck_swap:noir", "second deck, which the image source drawn_leaves"),
    ],
)
def test_what_is_no_shift(text: str, what: str) -> None:
    with pytest.raises(UserError, match=what):
        resolve(text, registry.create("benchmark", "crop_yield"), leaves())


@pytest.mark.parametrize("text", ["hue:0.5", "saturate:2"])
def test_grey_images_have_no_colour(text: str) -> None:
    with pytest.raises(UserError, match="the images of sklearn_digits are grey"):
        resolve(text, registry.create("benchmark", "sudoku_4x4"), SklearnDigits())


def decks() -> DrawnDecks:
    return DrawnDecks(images_per_card=4, image_height=56, image_width=36)


SPECS: dict[str, Callable[[], ImageSource]] = {
    "deck_swap:noir": decks,
    "adversarial:standard": decks,
    "rotate:90": SklearnDigits,
    "rotate:30": SklearnDigits,
    "rotate:270": decks,
}
for _spec, _source in SPECS.items():
    _own = {"spec": _spec, "source": staticmethod(_source)}
    globals()[f"Test {_spec}"] = type(f"Test {_spec}", (ShiftTests,), _own)


def test_a_swapped_deck_is_shown() -> None:
    source, rows = decks(), np.arange(4)
    assert np.array_equal(DeckSwap("comic").render(source, "a", rows), source.render("a", rows, "comic"))


@pytest.mark.parametrize(
    ("shift", "source", "what"),
    [
        (DeckSwap("nior"), decks, r"Unknown deck .* 'nior'. Did you mean 'noir'\?"),
        (DeckSwap("standard"), decks, "has no effect: standard is the standard deck"),
        (DeckSwap("adversarial_noir"), decks, "Unknown deck"),
        (DeckSwap("noir"), SklearnDigits, "needs a second deck"),
        (Adversarial("comics"), decks, r"Unknown deck .* 'comics'. Did you mean 'comic'\?"),
        (Adversarial("standard"), SklearnDigits, "needs adversarial images"),
    ],
)
def test_decks_that_do_not_fit(shift: Shift, source: Callable[[], ImageSource], what: str) -> None:
    with pytest.raises(UserError, match=what):
        shift.check(source())


def test_a_turn_is_clockwise() -> None:
    image = np.zeros((1, 28, 28, 1), np.uint8)
    image[0, 2, 5] = 200
    turned = Rotate(90).apply(image, np.arange(1))
    assert turned[0, 5, 25, 0] == 200
    assert turned.sum() == 200


class TestAngles:
    @pytest.mark.parametrize(
        ("text", "spec"),
        [
            ("rotate:90", "rotate:90"),
            ("rotate:90.0", "rotate:90"),
            ("rotate:degrees=450", "rotate:90"),
            ("rotate:-90", "rotate:270"),
            ("rotate:22.5", "rotate:22.5"),
        ],
    )
    def test_canonical_spec(self, text: str, spec: str) -> None:
        assert registry.create("shift", text).spec == spec

    @pytest.mark.parametrize("degrees", [0.0, 360.0, -720.0])
    def test_no_turn(self, degrees: float) -> None:
        with pytest.raises(UserError, match="must be a number of degrees, not a multiple of 360"):
            Rotate(degrees)

    @pytest.mark.parametrize("channels", [1, 3])
    @pytest.mark.parametrize("quarter", [1, 2, 3])
    def test_quarter_turns_are_exact(self, channels: int, quarter: int) -> None:
        images = np.random.default_rng(0).integers(0, 256, (3, 28, 28, channels), dtype=np.uint8)
        turned = Rotate(90.0 * quarter).apply(images, np.arange(3))
        assert np.array_equal(turned, np.rot90(images, -quarter, (1, 2)))

    def test_half_turns_of_any_shape_are_exact(self) -> None:
        images = np.random.default_rng(0).integers(0, 256, (2, 9, 6, 3), dtype=np.uint8)
        assert np.array_equal(Rotate(180).apply(images, np.arange(2)), images[:, ::-1, ::-1])

    def test_quarter_turns_of_an_oblong_keep_its_size(self) -> None:
        images = np.zeros((1, 40, 20, 3), np.uint8)
        images[0, 12, 10] = 250  # above the middle
        turned = Rotate(90).apply(images, np.arange(1))
        assert turned.shape == images.shape
        assert turned[0, :, 13:].sum() > 0.9 * turned.sum() > 0  # now to the right of it

    @given(degrees=st.floats(-360, 720).filter(lambda d: d % 360 != 0))
    def test_close_to_pillow(self, degrees: float) -> None:
        image = np.asarray(Image.linear_gradient("L").resize((28, 28)))[None, ..., None]
        ours = Rotate(degrees).apply(image, np.arange(1))[0, ..., 0].astype(int)
        theirs = np.asarray(Image.fromarray(image[0, ..., 0]).rotate(-degrees, Image.Resampling.BILINEAR))
        # Only the middle: the two differ in how they fill the corners.
        assert abs(ours - theirs)[9:19, 9:19].max() <= 2
