"""Real leaves and rooms from folders."""

import itertools
import os
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from nsl_bench.generators.sources.leaves.folder import PlantFolder, crop_of
from nsl_bench.generators.sources.leaves.names import BACKGROUND, CROPS
from nsl_bench.generators.sources.rooms.folder import Mit67
from nsl_bench.generators.sources.rooms.names import SCENES
from PIL import Image, ImageOps

from nsl_bench.core import cache, registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import resolve
from nsl_bench.core.types import PoolPart
from nsl_bench.data.splits import make_source
from nsl_bench.perception.trained_networks import train_network
from nsl_bench.testing import SourceTests

PARTS: tuple[PoolPart, ...] = ("network", "a", "b")
PEPPERS = ("Pepper__bell___Bacterial_spot", "Pepper__bell___healthy")


def paint(file: Path, seed: int, mode: str = "RGB", size: tuple[int, int] = (40, 30)) -> Path:
    """An image file of noise."""
    file.parent.mkdir(parents=True, exist_ok=True)
    levels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(levels).convert(mode).save(file)
    return file


def classes(root: Path, names: tuple[str, ...], n: int = 10, seed: int = 0) -> Path:
    """A folder with n images of each class; other seeds, far apart, give other images."""
    for k, name in enumerate(names):
        for i in range(n):
            paint(root / name / f"image {i}.{'JPG' if i % 2 else 'png'}", seed + 100 * k + i)
    return root


@pytest.fixture(scope="class")
def peppers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return classes(tmp_path_factory.mktemp("peppers"), PEPPERS)


class TestPlantFolder(SourceTests):
    total: ClassVar[dict[PoolPart, int]] = {"network": 14, "a": 4, "b": 2}
    root: ClassVar[Path]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def fill(cls, peppers: Path) -> None:
        cls.root = peppers

    @classmethod
    def make(cls) -> PlantFolder:
        return PlantFolder(cls.root, image_size=32)

    def sample(self, source, part: PoolPart = "a", n: int = 7):  # type: ignore[no-untyped-def]
        return np.resize(super().sample(source, part, n), n)

    def test_a_changed_file_changes_the_fingerprint(self, tmp_path: Path) -> None:
        root = classes(tmp_path, PEPPERS)
        before = PlantFolder(root).fingerprint()
        paint(root / PEPPERS[0] / "image 3.JPG", 999)
        assert PlantFolder(root).fingerprint() != before


@pytest.mark.parametrize("layout", ["plantvillage15", "plantvillage38_x5"])
def test_every_layout_of_plantvillage(layout: str, shared: Path) -> None:
    root = shared / "data" / "plants" / layout
    names = [p.name for p in root.iterdir() if p.is_dir()]
    crops = {crop_of(name) for name in names}
    assert None not in crops and len(crops) == len(names)
    if len(names) == 38:
        assert crops == set(CROPS) == set(names)


@pytest.mark.parametrize(
    ("folder", "crop"),
    [
        ("Tomato_healthy", "Tomato___healthy"),
        ("Pepper__bell___healthy", "Pepper,_bell___healthy"),
        ("Corn___Common_rust", "Corn_(maize)___Common_rust_"),
        ("Corn_(maize)___Northern_Leaf_Blight", "Corn_(maize)___Northern_Leaf_Blight"),
        ("Cherry___Powdery_mildew", "Cherry_(including_sour)___Powdery_mildew"),
        ("Tomato__Tomato_YellowLeaf__Curl_Virus", "Tomato___Tomato_Yellow_Leaf_Curl_Virus"),
        ("Grape___Leaf_blight_(Isariopsis_Leaf_Spot)", "Grape___Leaf_blight_(Isariopsis_Leaf_Spot)"),
        ("Background_without_leaves", BACKGROUND),
        ("Tomato_black_rot", None),
        ("Rose___healthy", None),
        ("123", None),
    ],
)
def test_the_crop_of_a_folder(folder: str, crop: str | None) -> None:
    assert crop_of(folder) == crop


def test_real_leaves(shared: Path) -> None:
    task = registry.create("benchmark", "crop_yield")
    source = make_source(task, f"plants:{shared / 'data' / 'plants' / 'plantvillage38_x5'}")
    assert [len(source.labels(part)) for part in ("network", "a", "b")] == [3 * 38, 38, 38]
    images = source.render("network", np.arange(5))
    assert images.shape == (5, 256, 256, 3) and images.std() > 20
    three = registry.create("benchmark", "crop_yield:species=pepper+potato+tomato")
    source = make_source(three, f"plants:{shared / 'data' / 'plants' / 'plantvillage15'}")
    assert 1140 <= sum(len(source.labels(part)) for part in ("network", "a", "b")) <= 1200


def test_a_folder_that_lacks_crops_says_what_it_is_good_for(shared: Path) -> None:
    task = registry.create("benchmark", "crop_yield")
    with pytest.raises(UserError, match=r"of 'Apple___Apple_scab' and 22 more.*pepper\+potato\+tomato"):
        make_source(task, f"plants:{shared / 'data' / 'plants' / 'plantvillage15'}")


def test_train_and_valid(tmp_path: Path) -> None:
    classes(tmp_path / "train", PEPPERS, 6)
    classes(tmp_path / "valid", PEPPERS, 10, 1000)
    source = PlantFolder(tmp_path)
    assert [len(source.labels(part)) for part in ("network", "a", "b")] == [12, 14, 6]


def test_real_rooms(shared: Path) -> None:
    root = shared / "data" / "scenes" / "mit_indoor_10x2"
    source = Mit67(root)
    assert len(source.concept_space) == 10 and set(source.concept_space.concepts) <= set(SCENES)
    assert source.render("network", np.arange(10)).shape == (10, 224, 224, 3)
    with pytest.raises(UserError, match=r"and 56 more.* indoor_scene:scenes=airport_inside\+"):
        make_source(registry.create("benchmark", "indoor_scene"), f"mit67:{root}")
    names = "+".join(source.concept_space.concepts)
    assert make_source(registry.create("benchmark", f"indoor_scene:scenes={names}"), f"mit67:{root}")


def test_the_lists_of_mit_indoor(shared: Path, tmp_path: Path) -> None:
    root = tmp_path / "Images"
    shutil.copytree(shared / "data" / "scenes" / "mit_indoor_10x2", root)
    train, test = [], []
    for scene in sorted(p for p in root.iterdir() if p.is_dir()):
        first, second = sorted(p.name for p in scene.iterdir())
        train.append(f"{scene.name}/{first}")
        test.append(f"{scene.name}/{second}")
    (tmp_path / "TrainImages.txt").write_text("\r\n".join(train), encoding="utf-8")
    with pytest.raises(UserError, match=r"lacks TestImages\.txt"):
        Mit67(tmp_path)
    (tmp_path / "TestImages.txt").write_text("\n".join(test) + "\n", encoding="utf-8")
    for place in (tmp_path, root):
        source = Mit67(place)
        assert [len(source.labels(part)) for part in ("network", "a", "b")] == [10, 10, 0]
        assert [str(f.relative_to(root)) for f in source._files["network"]] == train
    (tmp_path / "TestImages.txt").write_text("\n".join([*test, train[0]]), encoding="utf-8")
    with pytest.raises(UserError, match="is in both lists"):
        Mit67(tmp_path)
    (tmp_path / "TestImages.txt").write_text("bar/nowhere.jpg", encoding="utf-8")
    with pytest.raises(UserError, match=r"TestImages\.txt, line 1: the image .*nowhere\.jpg does not exist"):
        Mit67(tmp_path)
    (tmp_path / "TestImages.txt").write_text("\nbarn", encoding="utf-8")
    with pytest.raises(
        UserError, match=r"TestImages\.txt, line 2: the line must be SCENE/FILE, .* got 'barn'"
    ):
        Mit67(tmp_path)


def test_a_list_of_paths_with_subfolders(tmp_path: Path) -> None:
    for k, name in enumerate(("bar/one.png", "bar/sub/one.png", "bar/sub/two.png", "bakery/one.png")):
        paint(tmp_path / "Images" / name, k)
    train, test = tmp_path / "TrainImages.txt", tmp_path / "TestImages.txt"
    train.write_text("\ufeffbar/one.png\nbakery/one.png", encoding="utf-8")
    test.write_text("bar/sub/one.png\nbar/sub/two.png", encoding="utf-8")
    files = Mit67(tmp_path, image_size=32).files()
    assert files["network"]["bar"] == [tmp_path / "Images" / "bar" / "one.png"]
    assert {file.parent.name for file in files["a"]["bar"]} == {"sub"}
    test.write_text("bar/sub/one.png\nbar/sub/one.png", encoding="utf-8")
    with pytest.raises(UserError, match=r"line 2: the image bar/sub/one\.png is also in line 1"):
        Mit67(tmp_path)
    test.write_text("bakry/one.png", encoding="utf-8")
    with pytest.raises(UserError, match=r"line 1: .*Did you mean 'bakery'"):
        Mit67(tmp_path)


def test_links_do_not_bring_an_image_twice(tmp_path: Path) -> None:
    classes(tmp_path, ("bar", "bakery"), 2)
    (tmp_path / "bar" / "loop").symlink_to("..")
    with pytest.raises(UserError, match=r"loop.* are the same file"):
        Mit67(tmp_path)


RAMP = np.linspace(0, 1, 64 * 64).reshape(64, 64)


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("grey16.png", (RAMP * 65535).astype(np.uint16)),
        ("grey16.tiff", (RAMP * 65535).astype(np.uint16)),
        ("grey32.tiff", (RAMP * 65535).astype(np.int32)),
        ("bytes32.tiff", (RAMP * 255).astype(np.int32)),
        ("share.tiff", RAMP.astype(np.float32)),
        ("levels.tiff", (255 * RAMP).astype(np.float32)),
    ],
)
def test_grey_of_many_bits_is_scaled(name: str, levels: np.ndarray, tmp_path: Path) -> None:
    for crop in PEPPERS:
        classes(tmp_path, (crop,), 3)
    file = tmp_path / PEPPERS[0] / name
    Image.fromarray(levels).save(file)
    source = PlantFolder(tmp_path, image_size=64, grey="convert")
    seen = source._read(file).astype(float) / 255
    assert np.abs(seen - RAMP[..., None]).max() < 0.01


def test_a_picture_is_upright_and_opaque(tmp_path: Path) -> None:
    classes(tmp_path, PEPPERS, 3)
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    turned, clear = tmp_path / PEPPERS[0] / "turned.png", tmp_path / PEPPERS[0] / "clear.png"
    picture = Image.fromarray(np.rot90(pixels))
    picture.getexif()[0x0112] = 6
    picture.save(turned, exif=picture.getexif())
    Image.fromarray(np.dstack([pixels, np.zeros((32, 32), np.uint8)])).save(clear)
    source = PlantFolder(tmp_path, image_size=32)
    assert np.array_equal(source._read(turned), pixels)
    assert (source._read(clear) == 255).all()


def truncated(file: Path) -> None:
    paint(file, 1, size=(300, 200))
    file.write_bytes(file.read_bytes()[:2000])


def many_pixels(ending: str) -> Callable[[Path], None]:
    """Writes an image of 72 million pixels, or a header that claims more."""

    def make(file: Path) -> None:
        if ending == "webp":
            chunk = b"VP8X" + struct.pack("<I4x", 10) + struct.pack("<I", 16000)[:3] * 2
            file.write_bytes(b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk)
        else:
            Image.new("1", (9000, 8000)).save(file, {"tif": "TIFF"}.get(ending, ending.upper()))

    return make


PRINTED = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 50 50\nshowpage\n"
"""A program for a printer, which is not run."""


class TestBadInput:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        return classes(tmp_path / "leaves", PEPPERS, 4)

    def refused(self, root: Path, **options: str) -> str:
        with pytest.raises(UserError) as error:
            source = PlantFolder(root, image_size=32, **options)  # type: ignore[arg-type]
            for part in ("network", "a", "b"):
                source.render(part, np.arange(len(source.labels(part))))  # type: ignore[arg-type]
        return str(error.value)

    @pytest.mark.parametrize(
        ("name", "make", "words"),
        [
            ("Peper__bell___healthy", Path.mkdir, "is not a PlantVillage class"),
            (f"{PEPPERS[0]}/image 2.png", truncated, "cannot be read"),
            *[
                (f"{PEPPERS[0]}/image 1.JPG", many_pixels(ending), "must have at most 67,108,864 pixels")
                for ending in ("png", "tif", "bmp", "gif", "webp")
            ],
            ("image 1.jpg", os.mkfifo, "must be a regular file; it is a pipe"),
            ("image 1.jpg", lambda file: file.symlink_to("/dev/zero"), "a regular file; it is a device"),
            ("image 1.jpg", lambda file: file.symlink_to("nowhere"), "to nowhere, which does not exist"),
            ("image 1.jpg", Path.touch, "is empty (0 bytes)"),
            ("image 1.jpg", lambda file: file.write_bytes(PRINTED), "cannot be read; it is not an image"),
            ("image 1.jpg", lambda file: file.write_text("not an image"), "cannot be read"),
        ],
    )
    def test_what_is_no_image(self, root: Path, name: str, make, words: str) -> None:
        file = root / (name if "/" in name or "__" in name else f"{PEPPERS[0]}/{name}")
        make(file)
        text = self.refused(root)
        assert str(file) in text and words in text

    @pytest.mark.parametrize("mode", ["L", "LA", "I;16"])
    def test_a_grey_image(self, root: Path, mode: str) -> None:
        file = root / PEPPERS[1] / "image 0.png"
        if mode == "I;16":
            Image.fromarray(np.zeros((30, 40), np.uint16)).save(file)
        else:
            paint(file, 1, mode)
        assert f"The image {file} is grey, but must be in colour" in self.refused(root)
        PlantFolder(root, image_size=32, grey="convert").render("network", np.arange(4))

    def test_a_file_that_went_away(self, root: Path) -> None:
        source = PlantFolder(root, image_size=32)
        shutil.rmtree(root / PEPPERS[0])
        with pytest.raises(UserError, match="no longer exists"):
            source.render("network", np.arange(1))

    def test_no_folder(self, root: Path) -> None:
        assert "does not exist; expected one subfolder a class" in self.refused(root / "nowhere")
        assert "has no subfolders" in self.refused(root / PEPPERS[0])
        assert "is a file" in self.refused(root / PEPPERS[0] / "image 0.png")

    def test_an_unknown_scene(self, tmp_path: Path) -> None:
        classes(tmp_path, ("bar", "bakrey"), 2)
        with pytest.raises(UserError, match=r"bakrey is not a scene of MIT Indoor 67.*Did you mean 'bakery'"):
            Mit67(tmp_path)


def test_hidden_files_are_no_images(tmp_path: Path) -> None:
    classes(tmp_path, PEPPERS, 4)
    for place in ("._image 0.png", ".thumbs/small.png"):
        file = tmp_path / PEPPERS[0] / place
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"\x00\x05\x16\x07 no image")
    source = PlantFolder(tmp_path, image_size=32)
    assert sum(len(source.labels(part)) for part in PARTS) == 8
    source.check_images()


def test_classes_that_a_task_leaves_out_do_not_matter(tmp_path: Path) -> None:
    classes(tmp_path, ("bar", "bakery", "kitchen"), 4)
    (tmp_path / "mall").mkdir()
    (tmp_path / "my notes").mkdir()
    task = registry.create("benchmark", "indoor_scene:scenes=bar+bakery")
    assert len(make_source(task, f"mit67:{tmp_path}").labels("network")) == 4
    with pytest.raises(UserError, match=r"my notes is no scene|mall has no images"):
        Mit67(tmp_path)
    for name, lines in (
        ("TrainImages.txt", "bar/image 0.png\nbakery/image 0.png\nmall/gone.jpg"),
        ("TestImages.txt", "bar/image 2.png\nbakery/image 2.png\nkitchen/image 0.png"),
    ):
        (tmp_path / name).write_text(lines, encoding="utf-8")
    assert [len(make_source(task, f"mit67:{tmp_path}").labels(part)) for part in PARTS] == [2, 2, 0]


@pytest.mark.parametrize("mode", ["CMYK", "P", "1", "I;16", "RGBA"])
def test_modes_of_images(tmp_path: Path, mode: str) -> None:
    classes(tmp_path, PEPPERS, 3)
    file = tmp_path / PEPPERS[0] / "other.tif"
    whole = leaf(1, (64, 64))
    if mode == "I;16":
        Image.fromarray(np.asarray(whole.convert("L"), np.uint16) * 257).save(file)
    else:
        whole.convert(mode).save(file)
    seen = PlantFolder(tmp_path, image_size=64, grey="convert")._read(file)
    assert np.abs(seen.astype(int).mean() - np.asarray(whole).mean()) < 12


def test_the_first_picture_of_a_film_is_read(tmp_path: Path) -> None:
    classes(tmp_path, PEPPERS, 3)
    file = tmp_path / PEPPERS[0] / "film.png"
    frames = [leaf(k, (40, 40)) for k in range(3)]
    frames[0].save(file, save_all=True, append_images=frames[1:])
    assert np.array_equal(PlantFolder(tmp_path, image_size=40)._read(file), np.asarray(frames[0]))


def test_plantvillage_in_itself(tmp_path: Path, capsys) -> None:
    classes(tmp_path, PEPPERS, 4)
    shutil.copytree(tmp_path, tmp_path / "PlantVillage", ignore=shutil.ignore_patterns("PlantVillage"))
    assert sum(len(PlantFolder(tmp_path, image_size=32).labels(part)) for part in PARTS) == 8
    assert f"{tmp_path / 'PlantVillage'} is left out: its classes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (("a/b/{}",), r"is 2 levels too high: its classes, such as Pepper.*, are in .*a/b; give that folder"),
        (
            ("raw/color/{}", "raw/grayscale/{}"),
            r"the same classes, .* in raw/color and raw/grayscale; give one",
        ),
        (("{}", "more/Tomato_healthy"), r"Tomato_healthy is one level too deep; move it up into"),
        (("pepper/{}", "tomato/Tomato_healthy"), r"one level too deep, such as .* in .*pepper; move them up"),
        (("in/train/{}", "in/valid/{}"), r"is one level too high: .* are in .*in; give that folder"),
        (("train/{}",), r"is one level too high: .* are in .*train; give that folder"),
        (("train/in/{}", "valid/{}"), r"train is one level too high: .* move them up into .*train"),
    ],
)
def test_classes_in_another_place(tmp_path: Path, places: tuple[str, ...], words: str) -> None:
    for place in places:
        for name in PEPPERS if "{}" in place else [""]:
            paint(tmp_path / place.format(name) / "x.png", len(name))
            paint(tmp_path / place.format(name) / "y.png", len(name) + 1)
    with pytest.raises(UserError, match=words):
        PlantFolder(tmp_path)


def test_names_in_other_spellings_and_system_folders(tmp_path: Path) -> None:
    classes(tmp_path / "Training", ("Bar", "Children Room"), 3)
    classes(tmp_path / "TEST", ("BAR", "children-room"), 4, 1000)
    for place in (tmp_path, tmp_path / "TEST", tmp_path / "TEST" / "BAR"):
        classes(place, ("@eaDir", "__MACOSX"), 1, 9000)
        (place / "Thumbs.db").write_bytes(b"x")
    source = Mit67(tmp_path)
    assert [len(source.labels(part)) for part in PARTS] == [6, 4, 4]


def test_the_lists_of_mit_indoor_beside_a_nested_folder(tmp_path: Path) -> None:
    classes(tmp_path / "indoorCVPR_09" / "Images", ("bar", "Bakery"), 4)
    for name, k in (("trainimages.txt", 0), ("TestImages.txt", 2)):
        lines = f"bar/image {k}.png\nbakery/image {k}.png"
        (tmp_path / name).write_text(lines, encoding="utf-8")
    assert [len(Mit67(tmp_path).labels(part)) for part in PARTS] == [2, 2, 0]


def test_an_outer_folder(tmp_path: Path) -> None:
    classes(tmp_path / "data" / "PlantVillage", PEPPERS, 2)
    for source in (PlantFolder, Mit67):
        classes(tmp_path / "rooms" / "Images here", ("bar", "bakery"), 2)
        path = tmp_path / ("data" if source is PlantFolder else "rooms")
        (inner,) = path.iterdir()
        with pytest.raises(UserError, match=f"is one level too high: .* are in {inner}; give that folder"):
            source(path)


def test_an_empty_class_names_the_endings(tmp_path: Path) -> None:
    classes(tmp_path, PEPPERS, 2)
    (tmp_path / "Tomato_healthy").mkdir()
    with pytest.raises(UserError, match=r"healthy has no images.*end in \.jpg, \.jpeg, \.png, .*\.webp"):
        PlantFolder(tmp_path)


def test_rooms_in_train_and_test(tmp_path: Path) -> None:
    classes(tmp_path / "train", ("bar", "bakery"), 3)
    classes(tmp_path / "test", ("bar", "bakery"), 10, 1000)
    assert [len(Mit67(tmp_path).labels(part)) for part in PARTS] == [6, 14, 6]


def test_copies_of_train_images_are_left_out_of_the_test_images(tmp_path: Path, capsys) -> None:
    classes(tmp_path / "train", PEPPERS, 3)
    valid = classes(tmp_path / "valid", PEPPERS, 10, 1000)
    shutil.copy(tmp_path / "train" / PEPPERS[0] / "image 1.JPG", valid / PEPPERS[0] / "copy.jpg")
    for i in (3, 5, 7):
        shutil.copy(valid / PEPPERS[1] / "image 1.JPG", valid / PEPPERS[1] / f"image {i}.JPG")
    for _ in range(2):
        source = PlantFolder(tmp_path)
    files = [file for part in PARTS for file in source._files[part]]
    assert tmp_path / "valid" / PEPPERS[0] / "copy.jpg" not in files
    said = capsys.readouterr().err
    assert said.count("left out") == 1 and "in another pool" in said
    contents = [{file.read_bytes() for file in source._files[part]} for part in PARTS]
    assert all(not a & b for a, b in itertools.combinations(contents, 2))


def leaf(seed: int, size: tuple[int, int] = (120, 90)) -> Image.Image:
    """A picture with large and small shapes."""
    rng = np.random.default_rng(seed)
    picture = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)).resize(size, 3)
    grain = rng.integers(-20, 20, (size[1], size[0], 3))
    return Image.fromarray((np.asarray(picture) + grain).clip(0, 255).astype(np.uint8))


def retagged(file: Path, place: Path) -> None:
    """The same JPEG data with another EXIF tag."""
    exif = Image.Exif()
    exif[0x010E] = "another"
    tag = exif.tobytes()
    data = file.read_bytes()
    place.write_bytes(data[:2] + b"\xff\xe1" + (len(tag) + 2).to_bytes(2, "big") + tag + data[2:])


@pytest.mark.parametrize(
    ("how", "same"),
    [
        (retagged, True),
        (lambda file, place: Image.open(file).save(place, "PNG"), True),
        (lambda file, place: Image.open(file).save(place, "TIFF", compression="tiff_lzw"), True),
        (lambda file, place: Image.open(file).resize((60, 45)).save(place, "PNG"), False),
        (lambda file, place: Image.open(file).resize((300, 200)).save(place, "JPEG"), False),
        (lambda file, place: Image.open(file).save(place, "JPEG", quality=20), False),
        (lambda file, place: ImageOps.mirror(Image.open(file)).save(place, "PNG"), False),
        (lambda file, place: Image.open(file).rotate(90, expand=True).save(place, "WEBP"), False),
    ],
)
def test_copies_in_other_files(tmp_path: Path, capsys, how, same: bool) -> None:
    for part, n, seed in (("train", 4, 0), ("valid", 8, 100)):
        for k, name in enumerate(PEPPERS):
            (tmp_path / part / name).mkdir(parents=True)
            for i in range(n):
                leaf(seed + 10 * k + i).save(tmp_path / part / name / f"{i}.jpg")
    before = PlantFolder(tmp_path, image_size=32)
    assert not before.alike
    copy = tmp_path / "valid" / PEPPERS[1] / "copy.jpg"
    how(tmp_path / "train" / PEPPERS[0] / "2.jpg", copy)
    for _ in range(2):  # the second time from the cache
        source = PlantFolder(tmp_path, image_size=32)
        held_out = [*source._files["a"], *source._files["b"]]
        assert (copy in held_out) != same
        assert source.alike == ({} if same else {copy: tmp_path / "train" / PEPPERS[0] / "2.jpg"})
    said = capsys.readouterr().err
    assert ("is left out" if same else "mirrored copy of an image in another pool and is kept") in said


def test_different_real_images_do_not_look_alike(shared: Path, capsys) -> None:
    plants = shared / "data" / "plants" / "plantvillage38_x5"
    for source in (PlantFolder(plants), Mit67(shared / "data" / "scenes" / "mit_indoor_10x2")):
        assert not source.alike
    assert capsys.readouterr().err == ""


def test_a_network_does_not_depend_on_held_out_files(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    root = classes(tmp_path / "leaves", PEPPERS)
    source = PlantFolder(root, image_size=64)
    before = source.fingerprint(), source.network_fingerprint()
    broken = source._files["b"][0]
    whole = broken.read_bytes()
    broken.write_bytes(whole[:60])
    task = registry.create("benchmark", "crop_yield:species=pepper")
    task.concept_space = source.concept_space
    with pytest.raises(UserError, match=f"The image {re.escape(str(broken))} cannot be read"):
        train_network("softmax:epochs=1", task, PlantFolder(root, image_size=64))
    torn = PlantFolder(root, image_size=64)
    assert torn.fingerprint() != before[0] and torn.network_fingerprint() == before[1]
    broken.write_bytes(whole)
    PlantFolder(root, image_size=64).check_images()
    paint(source._files["network"][0], 4321)
    assert PlantFolder(root, image_size=64).network_fingerprint() != before[1]


def test_grey_pictures_in_three_channels(tmp_path: Path, capsys) -> None:
    task = registry.create("benchmark", "crop_yield:species=pepper")
    for folder, n in (("all", 10), ("some", 1)):
        root = classes(tmp_path / folder, PEPPERS)
        for name in PEPPERS:
            for file in sorted((root / name).iterdir())[:n]:
                with Image.open(file) as picture:
                    grey = picture.convert("L").convert("RGB")
                grey.save(file.with_suffix(".png"))
                if file.suffix != ".png":
                    file.unlink()
        source = PlantFolder(root, image_size=32)
        if folder == "all":
            with pytest.raises(UserError, match=r"images of plants are grey \(in all three channels\)"):
                resolve("hue:0.15", task, source)
            with pytest.raises(UserError, match="saturate:2' has no effect"):
                resolve("saturate:2", task, source)
        else:
            resolve("hue:0.15", task, source)
            assert source.grey_share() == 0 or "they are grey" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "proposed"), [(("kitchen", "bedroom", "closet"), False), (("kitchen", "bar"), True)]
)
def test_no_task_of_one_label_is_proposed(names: tuple[str, ...], proposed: bool, tmp_path: Path) -> None:
    classes(tmp_path, names, 2)
    with pytest.raises(UserError) as error:
        make_source(registry.create("benchmark", "indoor_scene"), f"mit67:{tmp_path}")
    assert ("indoor_scene:scenes" in str(error.value)) == proposed


def test_a_task_of_one_label_is_refused() -> None:
    with pytest.raises(UserError, match="every image has the label home; add a scene of another kind"):
        registry.create("benchmark", "indoor_scene:scenes=kitchen+bedroom+closet")


def test_fields_of_one_label_are_refused_and_not_proposed(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"the species .*Blueberry.* every field has the same label; name more species"
    ):
        registry.create("benchmark", "crop_yield:species=blueberry+raspberry")
    for world in range(20):
        task = registry.create("benchmark", f"crop_yield:species=pepper,world={world}")
        assert len(set(task.yields.tolist())) == 2
    classes(tmp_path, ("Blueberry___healthy", "Raspberry___healthy"), 2)
    with pytest.raises(UserError, match=r"and 3. more\.$"):
        make_source(registry.create("benchmark", "crop_yield"), f"plants:{tmp_path}")
