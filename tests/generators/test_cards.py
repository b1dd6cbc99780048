import hashlib
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nsl_bench.generators.sources.cards import ink, table
from nsl_bench.generators.sources.cards.drawn import DrawnDecks, draw_card
from nsl_bench.generators.sources.cards.folder import DeckFolder, card_of
from nsl_bench.generators.sources.cards.glyphs import CARDS
from nsl_bench.generators.sources.cards.table import Placement, Sprite, draw_augmentation
from nsl_bench.generators.sources.drawn_pool import part_sizes
from PIL import Image

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import ConceptSpace
from nsl_bench.testing import SourceTests
from nsl_bench.testing.sources import PARTS

SOME = ConceptSpace("card", ("as", "10h", "2d", "kc", "7s"))


class TestDrawnDecks(SourceTests):
    total = {"network": 70, "a": 20, "b": 10}  # noqa: RUF012

    @classmethod
    def make(cls) -> DrawnDecks:
        return DrawnDecks(SOME, images_per_card=20, image_height=110, image_width=70)


def write_deck(folder: Path, tone: int, size: tuple[int, int] = (20, 28), mode: str = "RGB") -> None:
    """A deck of little pictures, each of its own pattern."""
    folder.mkdir(parents=True)
    for k, card in enumerate(CARDS):
        pixels = np.full((size[1], size[0], 3), tone, np.uint8)
        pixels[2:-2, 2 + k % 13, k // 13 % 3] = 255 - tone
        pixels[3 + k // 13, 4:-2] = tone // 2
        Image.fromarray(pixels).convert(mode).save(folder / f"{card}.png")


@pytest.fixture(scope="module")
def two_decks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("decks")
    write_deck(folder / "white", 240)
    write_deck(folder / "dark", 60, (30, 40))
    return folder


class TestDeckFolder(SourceTests):
    total = {"network": 35, "a": 10, "b": 5}  # noqa: RUF012
    path: Path

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _find(cls, two_decks: Path) -> None:
        cls.path = two_decks

    @classmethod
    def make(cls) -> DeckFolder:
        return DeckFolder(cls.path, "white", SOME, images_per_card=10, image_height=56, image_width=36)


class TestPool:
    def test_sizes_of_the_paper(self) -> None:
        source = registry.create("source", "drawn_decks")
        assert source.shape == (274, 174, 3)
        assert [len(source.labels(part)) for part in PARTS] == [27300, 8164, 3536]
        for part, each in zip(PARTS, (525, 157, 68), strict=True):
            assert set(np.bincount(source.labels(part)).tolist()) == {each}

    @given(n=st.integers(4, 5000))
    def test_part_sizes(self, n: int) -> None:
        sizes = part_sizes(n)
        assert sum(sizes.values()) == n
        assert min(sizes.values()) >= 1
        assert abs(sizes["network"] - 0.7 * n) <= 1

    @pytest.mark.parametrize("n", [4, 9, 40])
    def test_every_image_of_a_card_is_in_one_part(self, n: int) -> None:
        source = DrawnDecks(SOME, images_per_card=n)
        images = []
        for part in PARTS:
            labels = source.labels(part)
            found = [source.card_and_number(part, i) for i in range(len(labels))]
            assert [SOME.ids[card] for card, _ in found] == labels.tolist()
            images += found
        assert sorted(images) == sorted((card, k) for card in SOME.concepts for k in range(n))

    def test_decks_differ_in_the_card_only(self) -> None:
        source = DrawnDecks(images_per_card=4, image_height=110, image_width=70)
        rows = np.arange(0, 52, 4)
        looks = [source.render("network", rows, deck) for deck in source.decks]
        # The picture's corners belong to the table.
        for corner in np.s_[:, 0, 0], np.s_[:, -1, -1]:
            assert np.array_equal(looks[0][corner], looks[1][corner])
            assert np.array_equal(looks[0][corner], looks[2][corner])

    def test_a_smaller_concept_space_shows_the_same_pictures(self) -> None:
        few = DrawnDecks(SOME, images_per_card=4, image_height=55, image_width=35)
        every = DrawnDecks(images_per_card=4, image_height=55, image_width=35)
        rows = np.array([CARDS.index(card) for card in SOME.concepts])
        for variant in few.variants:
            assert np.array_equal(few.render("a", np.arange(5), variant), every.render("a", rows, variant))

    def test_the_same_bytes_everywhere(self) -> None:
        source = DrawnDecks()
        rows = np.array([0, 1000, 8163])
        for variant, digest in PIXELS.items():
            pixels = source.render("a", rows, variant)
            assert hashlib.sha256(pixels.tobytes()).hexdigest()[:16] == digest, variant

    @pytest.mark.parametrize("option", ["images_per_card", "image_height", "image_width", "seed"])
    def test_options_are_part_of_the_fingerprint(self, option: str) -> None:
        assert DrawnDecks(**{option: 99}).fingerprint() != DrawnDecks().fingerprint()

    def test_another_seed_is_another_augmentation(self) -> None:
        one, two = (DrawnDecks(images_per_card=4, image_height=55, image_width=35, seed=s) for s in (0, 1))
        assert not np.array_equal(one.render("a", np.arange(3)), two.render("a", np.arange(3)))


PIXELS = {
    "standard": "ab1f6ed2c5ff31a5",
    "noir": "6c78ab7b45f37ba3",
    "comic": "dd8bb1f4e187c7d6",
    "adversarial_standard": "3930a6e5ac5de8a5",
    "adversarial_noir": "87e84b3dbdac344c",
    "adversarial_comic": "b05ba8afc5747ab2",
}
"""Hashes of three pictures of each variant; whoever changes one raises the source's version."""


class TestAugmentation:
    @given(key=st.integers(0, 2**32))
    def test_ranges_of_the_paper(self, key: int) -> None:
        how = draw_augmentation(key)
        assert abs(how.rotation) <= 55
        assert abs(how.shear) <= 15
        assert 0.9 <= min(how.zoom_x, how.zoom_y) <= max(how.zoom_x, how.zoom_y) <= 1.1
        assert 128 <= how.brightness <= 384
        assert abs(how.channel_shift) <= 2.5
        assert how == draw_augmentation(key)

    @given(key=st.integers(0, 2**32), left=st.integers(0, 4096), top=st.integers(0, 4096))
    def test_coefficients_are_on_a_grid(self, key: int, left: int, top: int) -> None:
        place = draw_augmentation(key).placement(87, 137)
        assert all(isinstance(c, int) for c in place.coefficients(141, 197, left, top))

    @given(key=st.integers(0, 2**32))
    def test_the_extent_holds_the_card(self, key: int) -> None:
        place = draw_augmentation(key).placement(150, 150)
        inverse = np.linalg.inv(np.array(place.matrix).reshape(2, 2))
        corners = np.array([(x, y) for x in (-50, 50) for y in (-70, 70)]) @ inverse.T + 150
        left, top, right, bottom = place.extent(100, 140)
        assert left <= corners[:, 0].min() <= corners[:, 0].max() <= right
        assert top <= corners[:, 1].min() <= corners[:, 1].max() <= bottom

    def test_both_ways_about(self) -> None:
        flips = [draw_augmentation(k).flip for k in range(400)]
        assert 150 < sum(flips) < 250


class TestInk:
    def test_a_box_fills_its_pixels(self) -> None:
        canvas = ink.Canvas((10, 6), (10, 6), (0, 0, 0))
        canvas.fill(ink.polygon((2, 1), (7, 1), (7, 4), (2, 4)), (255, 10, 20))
        expected = np.zeros((6, 10, 3), np.uint8)
        expected[1:4, 2:7] = (255, 10, 20)
        assert np.array_equal(canvas.picture(), expected)

    @given(x=st.floats(-20, 60), y=st.floats(-20, 60), r=st.floats(0.5, 30))
    def test_a_disc_has_its_area_and_stays_on_the_canvas(self, x: float, y: float, r: float) -> None:
        canvas = ink.Canvas((40, 40), (40, 40), (0, 0, 0))
        canvas.fill(ink.ellipse(x, y, r), (255, 255, 255))
        area = canvas.picture()[..., 0].sum() / 255
        if r <= min(x, y, 40 - x, 40 - y):
            assert area == pytest.approx(np.pi * r * r, rel=0.05, abs=1)
        else:
            assert 0 <= area <= np.pi * r * r + 1

    def test_rings_of_the_other_sense_cut_holes(self) -> None:
        canvas = ink.Canvas((20, 20), (20, 20), (0, 0, 0))
        ring = [ink.ellipse(10, 10, 8)[0], ink.ellipse(10, 10, 4)[0][::-1]]
        canvas.fill(ring, (255, 255, 255))
        assert canvas.picture()[10, 10, 0] == 0
        assert canvas.picture()[10, 4, 0] == 255

    def test_a_shape_beside_the_canvas(self) -> None:
        canvas = ink.Canvas((5, 5), (5, 5), (9, 9, 9))
        canvas.fill(ink.ellipse(50, 50, 3), (255, 255, 255))
        assert (canvas.picture() == 9).all()

    def test_upside_down(self) -> None:
        canvas = ink.Canvas((8, 8), (8, 8), (0, 0, 0))
        canvas.fill(ink.polygon((0, 0), (3, 0), (0, 3)), (255, 255, 255))
        canvas.repeat_upside_down()
        assert np.array_equal(canvas.picture(), canvas.picture()[::-1, ::-1])


class TestArt:
    @pytest.mark.parametrize("deck", ["standard", "noir", "comic"])
    def test_52_different_cards(self, deck: str) -> None:
        faces = {draw_card(deck, card, 50, 70)[0].tobytes() for card in CARDS}
        assert len(faces) == 52


def broken(folder: Path, what: str) -> None:
    """Break a complete deck in one way."""
    file = folder / "7d.png"
    if what in ("missing", "all"):
        for each in [file] if what == "missing" else folder.iterdir():
            each.unlink()
    elif what == "name":
        file.rename(folder / "7dd.png")
    elif what == "truncated":
        file.write_bytes(file.read_bytes()[:60])
    elif what == "text":
        file.write_text("a card")
    elif what == "empty":
        file.write_bytes(b"")


class TestFolders:
    def test_the_standard_deck(self, tmp_path: Path) -> None:
        for deck in ("byron", "oxygen"):
            write_deck(tmp_path / deck, 200)
        assert registry.create("source", f"decks:{tmp_path}").decks == ("byron", "oxygen")
        assert registry.create("source", f"decks:{tmp_path},standard=oxygen").decks == ("oxygen", "byron")
        write_deck(tmp_path / "standard", 200)
        source = registry.create("source", f"decks:{tmp_path}")
        assert source.decks == ("standard", "byron", "oxygen")
        assert source.named_shifts == {
            "byron": "deck_swap:byron",
            "oxygen": "deck_swap:oxygen",
            "adversarial_standard": "adversarial:standard",
            "adversarial_byron": "adversarial:byron",
            "adversarial_oxygen": "adversarial:oxygen",
        }

    @pytest.mark.parametrize(
        ("make", "what"),
        [
            (lambda p: None, "does not exist"),
            (Path.touch, "is a file"),
            (Path.mkdir, "has no subfolders; give one per deck"),
        ],
    )
    def test_no_decks(self, tmp_path: Path, make, what: str) -> None:
        make(tmp_path / "cards")
        with pytest.raises(UserError, match=f"folder of decks .*cards {what}"):
            DeckFolder(tmp_path / "cards")

    @pytest.mark.parametrize(
        ("how", "what"),
        [
            ("all", r"red lacks ac\.png and 51 more"),
            ("missing", r"deck .*red lacks 7d\.png; all 52 cards are needed"),
            ("name", r"lacks 7d\.png.* '7dd\.png' is not a card name. Did you mean '7d'"),
            ("truncated", r"card image .*7d\.png cannot be read .* incomplete"),
            ("text", r"7d\.png cannot be read; it is not an image"),
            ("empty", r"7d\.png is empty \(0 bytes\)"),
        ],
    )
    def test_broken_decks(self, tmp_path: Path, how: str, what: str) -> None:
        write_deck(tmp_path / "red", 200)
        broken(tmp_path / "red", how)
        with pytest.raises(UserError, match=what):
            DeckFolder(tmp_path).fingerprint()

    @pytest.mark.parametrize(
        "name",
        ["10C", "tc", "c10", "CT", "10_of_clubs", "ten-of-clubs", "Clubs 10", "cardClubs10", "card_clubs_10"],
    )
    def test_other_names_of_cards(self, name: str) -> None:
        assert card_of(name) == "10c"

    def test_names_and_endings_of_other_decks(self, two_decks: Path, tmp_path: Path) -> None:
        (tmp_path / "white").mkdir()
        for card in CARDS:
            with Image.open(two_decks / "white" / f"{card}.png") as picture:
                rank = {"a": "1", "10": "T"}.get(card[:-1], card[:-1]).upper()
                picture.save(tmp_path / "white" / f"{card[-1].upper()}{rank}.BMP")
        (tmp_path / "__MACOSX").mkdir()
        paths = (tmp_path, two_decks)
        one, other = (DeckFolder(path, "white").network_fingerprint() for path in paths)
        assert one == other
        (tmp_path / "white" / "as.jpg").write_bytes(b"x")
        with pytest.raises(UserError, match=r"S1\.BMP and as\.jpg are the same card, as; remove one"):
            DeckFolder(tmp_path)

    @pytest.mark.parametrize(
        ("decks", "given", "what"),
        [
            (["red/png"], "", r"red.png has cards; move them up into .*red"),
            (["red/png"], "red/png", r"has no subfolders.* It is a deck; give .*red\."),
            (["adversarial_red"], "", "has a reserved name"),
            *[([name], "", "has an invalid name") for name in ("fog", "a+b", "c,d", "e=f", "g:h", " lead")],
            (["white"], ",standard=whit", r"Unknown deck in .* 'whit'. Did you mean 'white'\?"),
            (["red", "standard"], ",standard=red", r"standard has a reserved name: .* deck, red\. Rename"),
        ],
    )
    def test_decks_that_do_not_fit(self, tmp_path: Path, decks: list[str], given: str, what: str) -> None:
        for deck in decks:
            write_deck(tmp_path / deck, 200)
        folder, _, standard = given.partition(",standard=")
        with pytest.raises(UserError, match=what):
            DeckFolder(tmp_path / folder, *filter(None, [standard]))

    def test_a_picture_that_its_camera_turned(self, tmp_path: Path) -> None:
        for name in ("red", "turned"):
            write_deck(tmp_path / name, 200)
        for file in (tmp_path / "turned").iterdir():
            picture = Image.open(file).transpose(Image.Transpose.ROTATE_90)
            picture.getexif()[0x0112] = 6
            picture.save(file, exif=picture.getexif())
        source, rows = DeckFolder(tmp_path, images_per_card=4), np.arange(4)
        assert np.array_equal(source.render("a", rows, "turned"), source.render("a", rows, "red"))

    @pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "L", "LA", "1", "I;16"])
    def test_modes(self, tmp_path: Path, mode: str) -> None:
        write_deck(tmp_path / "grey", 255, mode="L" if mode == "I;16" else mode)
        if mode == "I;16":
            for file in (tmp_path / "grey").iterdir():
                levels = np.asarray(Image.open(file), np.uint16) * 257
                Image.fromarray(levels).save(file)
        source = DeckFolder(tmp_path, images_per_card=4, image_height=56, image_width=36)
        image = source.render("a", np.arange(1))[0]
        assert image[28 - 4 : 28 + 4, 18 - 4 : 18 + 4].max() > 120

    def test_transparent_corners_show_the_table(self, tmp_path: Path) -> None:
        write_deck(tmp_path / "round", 250)
        opaque = DeckFolder(tmp_path, images_per_card=4)
        before, rows = opaque.render("network", np.arange(3)), np.arange(3)
        for file in (tmp_path / "round").iterdir():
            picture = Image.open(file).convert("RGBA")
            picture.putalpha(0)
            picture.save(file)
        after = DeckFolder(tmp_path, images_per_card=4).render("network", rows)
        assert all(image.std(axis=(0, 1)).max() == 0 for image in after)
        assert not np.array_equal(before, after)

    def test_the_fingerprint_is_that_of_pixels(self, tmp_path: Path) -> None:
        write_deck(tmp_path / "red", 200)
        first = DeckFolder(tmp_path).fingerprint()
        file = tmp_path / "red" / "7d.png"
        picture = Image.open(io.BytesIO(file.read_bytes()))
        picture.save(file, compress_level=0)
        assert DeckFolder(tmp_path).fingerprint() == first
        picture.putpixel((0, 0), (1, 2, 3))
        picture.save(file)
        assert DeckFolder(tmp_path).fingerprint() != first

    def test_real_decks(self, shared: Path) -> None:
        source = registry.create("source", f"decks:{shared / 'data/decks'},standard=vector_byron")
        assert len(source.decks) == 6
        assert source.decks[0] == "vector_byron"
        for variant in source.variants:
            assert source.render("b", np.array([5, 3000]), variant).shape == (2, 274, 174, 3)


def by_pillow(
    picture: Image.Image, pixels: np.ndarray, place: Placement, tones: np.ndarray, shadow: bool
) -> None:
    """A sprite, uint8 [h, w, 4], laid on a picture by Pillow."""
    height, width = pixels.shape[:2]
    left, top, right, bottom = place.extent(width, height)
    left, top, right, bottom = (
        max(left, 0),
        max(top, 0),
        min(right, picture.width),
        min(bottom, picture.height),
    )
    if right <= left or bottom <= top:
        return
    how = tuple(c / 2**16 for c in place.coefficients(width, height, left, top))
    face, mask = (
        Image.fromarray(np.ascontiguousarray(part)).transform(
            (right - left, bottom - top), Image.Transform.AFFINE, how, Image.Resampling.BILINEAR
        )
        for part in (pixels[..., :3], pixels[..., 3])
    )
    if shadow:
        offset = max(1, width // 24)
        picture.paste(
            (0, 0, 0), (left + offset, top + offset), mask.point(lambda v: v * table._SHADOW // 255)
        )
    picture.paste(face.point(tones.tolist() * 3), (left, top), mask)


@given(
    seed=st.integers(0, 2**32),
    x=st.floats(-30, 100),
    y=st.floats(-30, 100),
    degrees=st.sampled_from([None, 0.0, 90.0, 180.0, 37.5]),
    shadow=st.booleans(),
)
@settings(max_examples=80)
def test_cards_are_laid_as_by_pillow(
    seed: int, x: float, y: float, degrees: float | None, shadow: bool
) -> None:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (*rng.integers(1, 60, 2), 4)).astype(np.uint8)
    if seed % 2:
        pixels[..., 3] = 255
    ground = rng.integers(0, 256, (71, 53, 3)).astype(np.uint8)
    how = draw_augmentation(seed, 1)
    place = how.placement(x, y) if degrees is None else Placement.turned(x, y, degrees)
    sprite = Sprite.from_arrays(pixels[..., :3], pixels[..., 3])
    padded = np.pad(pixels, ((1, 1), (1, 1), (0, 0)), mode="edge")
    padded[..., 3] = np.pad(pixels[..., 3], 1)

    picture, expected = ground.copy(), Image.fromarray(ground)
    table.lay(picture, sprite, place, tones=how.tones(), shadow=shadow)
    by_pillow(expected, padded, place, how.tones(), shadow)
    assert np.array_equal(picture, np.asarray(expected))

    table.on_plain_table(picture, sprite, how, seed)
    plain = Image.new("RGB", (53, 71), tuple(table._plain_table(seed).tolist()))
    by_pillow(plain, padded, how.placement(53 / 2, 71 / 2), np.arange(256), False)
    assert np.array_equal(picture, np.asarray(plain.point(how.tones().tolist() * 3)))
