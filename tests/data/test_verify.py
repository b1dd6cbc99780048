"""What was changed in a data set is named in one sentence, by `verify` and by `load`."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import ExifTags, Image

import nsl_bench
from nsl_bench.core.errors import UserError
from nsl_bench.data.arrow import kept
from nsl_bench.data.manifest import Manifest
from nsl_bench.data.verify import verify

TURNED = "rotate90/train-00000-of-00001.parquet"


Rows = list[dict[str, Any]]


def change(folder: Path, path: str, edit: Callable[[Rows], Rows | None]) -> None:
    table = pq.read_table(folder / path)
    rows = table.to_pylist()
    rows = edit(rows) or rows
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), folder / path)


def first_image(row: dict[str, Any]) -> dict[str, Any]:
    """The first image of a row that is not the black one of a blank slot."""
    return next(image for image, c in zip(row["images"], row["concepts"], strict=True) if c >= 0)


def repaint(rows: Rows, row: int, by: int) -> None:
    """Another level for one pixel of the first image of a row."""
    image = first_image(rows[row])
    pixels = np.asarray(Image.open(io.BytesIO(image["bytes"]))).copy()
    pixels[3, 5] ^= by
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", compress_level=9)
    image["bytes"] = buffer.getvalue()


def test_other_encoders_and_files_change_nothing(copied: Path) -> None:
    change(copied, TURNED, lambda rows: [repaint(rows, i, 0) for i in range(10)] and None)
    table = pq.read_table(copied / TURNED)
    pq.write_table(table, copied / TURNED, compression="zstd", row_group_size=7, version="1.0")
    assert verify(copied).benchmark == "sudoku_4x4"
    assert nsl_bench.load(copied, shift="rotate90").info.description.endswith(
        Manifest.read(copied).configs["rotate90"]["train"].content_hash
    )


def test_the_first_row_that_differs_is_named(
    copied: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NSL_BENCH_CACHE", str(tmp_path / "cache"))
    change(copied, TURNED, lambda rows: [repaint(rows, i, 1) for i in (9, 5)] and None)
    looks: list[Callable[[Path], object]] = [
        verify,
        lambda folder: nsl_bench.load(folder, shift="rotate90"),
        lambda folder: list(nsl_bench.load(folder, shift="rotate90", streaming=True)),
    ]
    for look in looks:
        with pytest.raises(UserError, match=r"^Row 5 \(train-5\) of rotate90/train in .* was changed"):
            look(copied)
    with pytest.raises(UserError, match="Row 5 "):
        nsl_bench.load(copied, shift="rotate90", percent=90)
    nsl_bench.load(copied)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rank", 99),
        ("label", 1),
        ("id", "train-0"),
        ("standard_images", ["a-1"] * 16),
        ("concepts", [0] * 16),
    ],
)
def test_every_column_counts(copied: Path, field: str, value: object) -> None:
    def edit(rows: Rows) -> None:
        row = next(row for row in rows[3:] if row["label"] == 0)
        row[field] = value

    change(copied, TURNED, edit)
    with pytest.raises(UserError, match=r"Row \d+ \(train-\d+\) of rotate90/train in .* was changed"):
        verify(copied)


def test_a_label_below_zero_is_none(copied: Path) -> None:
    change(copied, TURNED, lambda rows: [row.update(label=row["label"] - 2) for row in rows] and None)
    with pytest.raises(UserError, match=r"Row 0 \(train-0\) .* cannot be read \(label -"):
        verify(copied)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("concepts", [-1] * 16, "a blank slot has an image"),
        ("concepts", [-2] * 16, "concept -2 does not exist"),
        ("shifted", False, "'shifted' has the wrong value False"),
        ("images", [None] * 16, "NoneType"),
    ],
)
def test_a_row_that_says_two_things(copied: Path, field: str, value: object, sentence: str) -> None:
    change(copied, TURNED, lambda rows: rows[3].update({field: value}))
    with pytest.raises(UserError, match=rf"^Row 3 \(train-3\) of .* cannot be read \(.*{sentence}"):
        verify(copied)


def test_an_added_column_is_named(copied: Path) -> None:
    table = pq.read_table(copied / TURNED)
    pq.write_table(table.append_column("secret", pa.array(["x"] * len(table))), copied / TURNED)
    with pytest.raises(UserError, match=r"the column 'secret' must be absent"):
        verify(copied)


def turned(picture: Image.Image) -> tuple[Image.Image, dict[str, Any]]:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    return picture, {"format": "PNG", "exif": exif}


def negative(picture: Image.Image) -> tuple[Image.Image, dict[str, Any]]:
    copy = Image.frombytes("P", picture.size, picture.tobytes())
    copy.putpalette([255 - k // 3 for k in range(768)])
    return copy, {"format": "PNG"}


@pytest.mark.parametrize(
    ("save", "sentence"),
    [
        (turned, "was changed after it was generated"),
        (negative, r"cannot be read \(the image mode must be .*; got P"),
        (lambda picture: (picture, {"format": "EPS"}), r"cannot be read \(not a PNG file\)"),
    ],
)
def test_an_image_is_what_datasets_shows(copied: Path, save: Any, sentence: str) -> None:
    def edit(rows: Rows) -> None:
        image = first_image(rows[0])
        buffer = io.BytesIO()
        picture, options = save(Image.open(io.BytesIO(image["bytes"])))
        picture.save(buffer, **options)
        image["bytes"] = buffer.getvalue()

    change(copied, TURNED, edit)
    with pytest.raises(UserError, match=sentence):
        verify(copied)


def test_rows_too_many_or_too_few(copied: Path) -> None:
    change(copied, TURNED, lambda rows: rows[:-1])
    with pytest.raises(UserError, match="has 23 rows, but the manifest lists 24"):
        verify(copied)
    change(copied, TURNED, lambda rows: [*rows, rows[-1], rows[-1]])
    with pytest.raises(UserError, match=r"Row 23 .* (was changed|is not in the manifest)"):
        verify(copied)


@pytest.mark.parametrize("keep", [0, 100, 4000])
def test_a_damaged_parquet_file(copied: Path, keep: int) -> None:
    data = (copied / TURNED).read_bytes()
    (copied / TURNED).write_bytes(
        data[:keep] if keep < 4000 else data[:keep] + bytes(200) + data[keep + 200 :]
    )
    with pytest.raises(UserError, match=r"rotate90/train.* (is damaged|cannot be read|was changed)"):
        verify(copied)


def test_a_card_edited_by_hand(copied: Path) -> None:
    card = copied / "README.md"
    card.write_text(card.read_text().replace("num_examples: 24", "num_examples: 25"))
    with pytest.raises(UserError, match=r"The card .*README\.md was edited"):
        verify(copied)


def edit_manifest(folder: Path, **values: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_a_manifest_of_another_format_or_none(copied: Path) -> None:
    edit_manifest(copied, format=3, generator="nsl-bench 9.0")
    with pytest.raises(UserError, match=r"has format 3, written by nsl-bench 9\.0; .* reads format 1\."):
        verify(copied)
    broken = {'{"format": 1, "benchmark": "x"}': "was changed after it was written"}
    broken |= dict.fromkeys(("{", "[" * 100_000), "cannot be read")
    for text, sentence in broken.items():
        (copied / "manifest.json").write_text(text)
        with pytest.raises(UserError, match=sentence):
            verify(copied)
    (copied / "manifest.json").unlink()
    with pytest.raises(UserError, match=r"manifest\.json is missing"):
        verify(copied)


def test_a_manifest_of_other_files(copied: Path) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    manifest["configs"]["symbolic"]["test"]["content_hash"] = "0" * 64
    edit_manifest(copied, configs=manifest["configs"])
    with pytest.raises(UserError, match="the manifest belongs to other files"):
        verify(copied)


HASH = "0" * 64
FILE = {"bytes": 1, "sha256": HASH}


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        ("labels", ["invalid", "valid"], "the column 'label' must be"),
        ("concepts", ["4", "3", "2", "1"], "the column 'concept' must be"),
        ("metadata", ["mood"], "the column 'mood' must be .*; it is absent"),
        ("version", "1.0.1", "has version 1.0.1, but croissant.json has 1.0.0"),
        ("rounding", "floor", "rounding must be 'half_up' for this recipe; got 'floor'"),
        ("source", "mnist", "source must be an object with keys; got .mnist."),
        ("source", {"name": "mnist"}, "source.citation is missing"),
        ("benchmark", "../../outside/evil", "'../../outside/evil' is not a benchmark name"),
        ("configs", {}, "'configs' must contain 'rotate90'"),
        ("configs rotate90", None, "'configs' must contain 'rotate90'"),
        ("configs extra", {}, "the configuration 'extra' belongs to no shift"),
        ("configs symbolic train_2", None, "splits of symbolic and standard differ"),
        ("configs standard train rows", "24", "configs.standard.train.rows must be a whole number; got '24'"),
        ("configs standard train marks", 5, "configs.standard.train.marks must be a string; got 5"),
        ("configs standard train files", [TURNED], f"'{TURNED}' is not a file of standard/train"),
        ("configs standard train percents", {"50": HASH}, "standard/train has percents but no shift"),
        ("configs rotate90 train percents", {"50": HASH}, "not the content hash in the manifest"),
        ("configs rotate90 train percents", {"x": HASH}, "has the invalid share 'x' %"),
        ("configs rotate90 train percents", {"nan": HASH}, "percent must be between 0 and 100; got nan"),
        (f"files {TURNED}", None, f"'files' must contain '{TURNED}'"),
        ("files images/more.parquet", FILE, "'images/more.parquet' belongs to no configuration"),
        ("files /etc/hostname", FILE, "'/etc/hostname' is not a path inside the folder"),
        ("files ../private.parquet", FILE, "'../private.parquet' is not a path inside the folder"),
        ("files .netrc", FILE, "'.netrc' is not a path inside the folder"),
        (f"files {'x' * 300}", FILE, "lacks xxx"),
    ],
)
def test_a_manifest_that_was_edited(copied: Path, place: str, value: object, sentence: str) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    *words, last = place.split()
    part = manifest
    for word in words:
        part = part[word]
    if value is None:
        del part[last]
    else:
        part[last] = value
    edit_manifest(copied, **manifest)
    with pytest.raises(UserError, match=sentence):
        verify(copied)


def test_an_edited_copy_does_not_change_what_the_data_set_is(
    grids: Path, copied: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NSL_BENCH_CACHE", str(tmp_path / "cache"))
    manifest = Manifest.read(grids)
    edit_manifest(copied, labels=manifest.labels[::-1])
    with pytest.raises(UserError, match="column 'label'"):
        nsl_bench.load(copied)
    edit_manifest(copied, labels=manifest.labels, source={**manifest.source, "licence": "none"})
    assert nsl_bench.load(copied).info.license == "none"
    loaded = nsl_bench.load(grids)
    assert loaded.features["label"].names == list(manifest.labels)
    assert loaded.info.license == manifest.source["licence"]


def test_a_name_stays_in_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NSL_BENCH_CACHE", str(tmp_path / "cache"))
    places: list[Path] = []
    with pytest.raises(FileNotFoundError):
        kept(f"../../evil/{'x' * 300}", "0", places.append)
    assert places[0].parent == tmp_path / "cache" / "datasets" and len(places[0].name) < 200


@pytest.mark.parametrize("keep", [0, 100, 4000])
def test_a_damaged_file_in_the_cache_is_written_again(
    grids: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keep: int
) -> None:
    monkeypatch.setenv("NSL_BENCH_CACHE", str(tmp_path / "cache"))
    rows = nsl_bench.load(grids)[:]["concepts"]
    (file,) = (tmp_path / "cache" / "datasets").glob("*.arrow")
    file.write_bytes(file.read_bytes()[:keep])
    assert nsl_bench.load(grids)[:]["concepts"] == rows


def test_a_file_that_cannot_be_read(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch, pytest.raises(UserError, match=r"parquet cannot be read: Perm"):
        patch.setattr(pq, "ParquetFile", refuse)
        verify(copied)
    monkeypatch.setattr("hashlib.file_digest", refuse)
    with pytest.raises(UserError, match=r"The file .*README\.md cannot be read: Permission denied\.$"):
        verify(copied)


def test_a_name_too_long_is_no_folder() -> None:
    with pytest.raises(UserError, match=r"The data set .* does not exist"):
        nsl_bench.load(Path("x" * 300))
    with pytest.raises(UserError, match="Unknown benchmark"):
        nsl_bench.load("x" * 300)


def test_files_missing_changed_or_too_many(copied: Path) -> None:
    extra = copied / "rotate90" / "train-00001-of-00002.parquet"
    extra.write_bytes((copied / TURNED).read_bytes())
    with pytest.raises(UserError, match=r"does not list rotate90/train-00001-of-00002"):
        verify(copied)
    extra.unlink()
    (copied / "rules" / "bias.lp").write_text("")
    with pytest.raises(UserError, match=r"bias\.lp was changed"):
        verify(copied)
    (copied / "rules" / "bias.lp").unlink()
    with pytest.raises(UserError, match=r"lacks rules/bias"):
        verify(copied)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"split": "train", "repeat": 3}, "Unknown split of the configuration standard 'train_3'"),
        ({"shift": "rotate9"}, "Did you mean 'rotate90'"),
        ({"size": "small"}, "has train sets of size '24'; got size 'small'"),
        ({"source": "mnist"}, "with a fixed source; leave out source"),
        ({"seed": 3}, "with a fixed seed"),
        ({"percent": 10}, r"percent=10 requires a shift: add shift='rotate90'\."),
    ],
)
def test_a_folder_takes_no_other_options(grids: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        nsl_bench.load(grids, **options)
