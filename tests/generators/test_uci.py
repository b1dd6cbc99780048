"""UCI tables: their files, their bits, and their folds."""

import gzip
import itertools
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from nsl_bench.generators.tasks.uci import FOLDS, cut_points, make_bits
from nsl_bench.generators.tasks.uci_sets import FOLDER_VARIABLE, SETS, Table, load_table

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.data.splits import symbolic_split, task_of_split
from nsl_bench.learners.base import hypothesis_of, labels_of
from nsl_bench.run.plan import plan
from nsl_bench.run.true_rule import example_quality, is_true_rule
from nsl_bench.testing.toy import view

ARFF = (Path(__file__).parents[1] / "samples" / "car.arff").read_text(encoding="utf-8")

CSV = "doors,class,colour\n2,unacc,red\n4,acc,green\n5,unacc,blue\n5,,red\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "car.arff").write_text(ARFF, encoding="utf-8")
    return tmp_path


def test_arff(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = load_table("car", folder)
    assert table.attributes == ("maker name", "doors", "colour") and table.numeric == (False, True, False)
    assert table.values[0] == ("ford t", "2", "red") and table.values[4] == ("ford t", "3", "green")
    assert table.classes == ("unacc", "acc", "unacc", "acc", "unacc") and table.dropped == 1
    assert "1 rows with missing values are left out; 5 remain" in capsys.readouterr().err


def test_csv(tmp_path: Path) -> None:
    (tmp_path / "car.csv").write_text(CSV, encoding="utf-8")
    table = load_table("car", tmp_path)
    assert table.attributes == ("doors",) and table.numeric == (True,)  # colours would name the rows
    assert table.classes == ("unacc", "acc", "unacc") and table.dropped == 1


@pytest.mark.parametrize("word", ["NA", "nan", "NaN", "N/A", "null", "?"])
def test_csv_has_several_words_for_missing_values(
    tmp_path: Path, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{k / 7:.2f},{'acc' if k % 3 else 'unacc'}\n" for k in range(12))
    (tmp_path / "car.csv").write_text(f"weight,class\n{rows}{word},acc\n1.5,{word}\n", encoding="utf-8")
    table = load_table("car", tmp_path)
    assert table.numeric == (True,) and len(table.values) == 12 and table.dropped == 2
    assert "2 rows with missing values are left out; 12 remain" in capsys.readouterr().err


def test_names_of_arff_may_be_quoted_and_stand_before_a_brace(tmp_path: Path) -> None:
    text = ARFF.replace("colour {", "colour{").replace("'ford t'", "'ford\\'s, t'")
    (tmp_path / "car.arff").write_text(text.replace("'maker name'", '"maker\'s name"'), encoding="utf-8")
    table = load_table("car", tmp_path)
    assert table.attributes == ("maker's name", "doors", "colour") and table.numeric == (False, True, False)
    assert table.values[0] == ("ford's, t", "2", "red")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("a,acc\nb,unacc\n" * 4, "must have 10 complete rows or more, .* got 8 rows of 2"),
        ("a,acc\nb,acc\n" * 9, "of two classes or more; got 18 rows of 1"),
        ("a,acc\na,unacc\n" * 9, "has no column that can tell classes apart"),
    ],
)
def test_a_table_must_have_something_to_learn(tmp_path: Path, rows: str, words: str) -> None:
    (tmp_path / "car.csv").write_text(f"letter,class\n{rows}", encoding="utf-8")
    with pytest.raises(UserError, match=words):
        registry.create("benchmark", f"uci:set=car,folder={tmp_path}")


def test_columns_that_tell_nothing_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"name{k},same,{'ab'[k % 2]},{'acc' if k % 3 else 'unacc'}\n" for k in range(12))
    (tmp_path / "car.csv").write_text(f"id,kind,letter,class\n{rows}", encoding="utf-8")
    assert load_table("car", tmp_path).attributes == ("letter",)
    assert "left out, because most of their values differ: 'id'." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            ARFF.replace("fiat,4,green,acc", "fiat,4,green,vacc"),
            "unknown class 'vacc'; the classes of this set",
        ),
        (ARFF.replace("fiat,4,green,acc", "fiat,green,acc"), "line 9: the row must have 4 values; got 3"),
        (ARFF.replace("'ford t', 2", "'ford t', two"), "the column 'doors' must hold numbers"),
        (ARFF.replace("fiat,4,green,acc", "{0 fiat, 1 4}"), "line 9: sparse rows cannot be read"),
        (ARFF.replace("fiat,4,green,acc", "'fiat,4,green,acc"), "line 9: the row must have 4 values; got 0"),
        (ARFF.split("@DATA")[0], "must be an ARFF file with attributes and @data"),
        (ARFF.split("'ford t', 2")[0], "has no complete rows"),
    ],
)
def test_damaged_files(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "car.arff").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=words):
        load_table("car", tmp_path)


def car(rows: int = 60) -> list[str]:
    """Rows of four values, the class last."""
    kinds = itertools.cycle(["l,2,red,acc", "m,4,blue,unacc", "h,2,blue,unacc"])
    return list(itertools.islice(kinds, rows))


HEADER = "size,doors,colour,class\n"
PLAIN = HEADER + "\n".join(car()) + "\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("car.data", PLAIN.removeprefix(HEADER).encode()),
        ("CAR.CSV", PLAIN.removeprefix(HEADER).encode()),
        ("car.data", PLAIN.removeprefix(HEADER).replace(",", "  ").encode()),
        ("car.csv", PLAIN.replace(",", ";").encode()),
        ("car.csv", b"sep=;\r\n" + PLAIN.replace(",", ";").encode()),
        ("car.csv", PLAIN.replace(",", "\t").replace("\n", "\r\n").encode()),
        ("car.csv", PLAIN.replace("\n", "\r").encode("utf-8-sig")),
        ("car.csv", PLAIN.encode("utf-16")),
        ("car.csv", PLAIN.encode("utf-16-le")),
        ("car.csv", PLAIN.replace("\n", ",\n").encode()),
        ("car.csv", PLAIN.replace("red", '"red"').replace("acc\n", "acc,\n").encode()),
        ("car.csv", "".join(",".join(r.split(",")[::-1]) + "\n" for r in PLAIN.split()).encode()),
    ],
)
def test_tables_as_programs_write_them(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    table = load_table("car", tmp_path)
    values = {tuple(sorted(row)) for row in table.values}
    assert len(table.values) == 60 and table.classes == ("acc", "unacc", "unacc") * 20
    assert values == {("2", "l", "red"), ("4", "blue", "m"), ("2", "blue", "h")}


def test_arff_with_the_class_first_and_columns_of_words(tmp_path: Path) -> None:
    text = "@relation car\n@attribute kind {unacc,acc}\n@attribute note string\n@attribute doors numeric\n"
    (tmp_path / "car.arff").write_text(text + "@data\n" + "acc;'a b';2\nunacc;c;4\n" * 9, encoding="utf-8")
    table = load_table("car", tmp_path)
    assert table.attributes == ("note", "doors") and table.numeric == (False, True)
    assert table.classes[:2] == ("acc", "unacc") and table.values[0] == ("a b", "2")


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("Unnamed: 0", [7 * k % 60 for k in range(60)]),
        ("", range(60)),
        ("Sample code number", [1000 * k % 977 for k in range(60)]),
        ("x", [7 * k % 60 + 1000 for k in range(60)]),
        ("x", [k * k for k in range(60)]),
        ("x", [-3 * k for k in range(60)]),
        ("x", [k / 60 for k in range(60)]),
        ("x", [k // 2 for k in range(60)]),
        ("id", [7 * k % 30 for k in range(60)]),
    ],
)
def test_a_column_that_numbers_rows_is_left_out(tmp_path: Path, name: str, numbers, capsys) -> None:
    rows = "".join(f"{number},{row}\n" for number, row in zip(numbers, car(), strict=True))
    (tmp_path / "car.csv").write_text(f"{name},{HEADER}{rows}?,l,2,red,acc\n", encoding="utf-8")
    assert load_table("car", tmp_path).attributes == ("size", "doors", "colour")
    assert f"left out, because they number the rows: '{name}'" in capsys.readouterr().err


def test_r_names_no_column_for_the_names_of_rows(tmp_path: Path) -> None:
    rows = "".join(f'"{k}",{row}\n' for k, row in enumerate(car()))
    (tmp_path / "car.csv").write_text(HEADER + rows, encoding="utf-8")
    assert load_table("car", tmp_path).attributes == ("size", "doors", "colour")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("car.csv", PLAIN + "l,2," + "9" * 200_000 + ",acc", "line 62: the row cannot be read .field larger"),
        ("car.csv", PLAIN + "l,2," + "9" * 20_000 + ",acc", "line 62: a value must have at most 10,000"),
        ("car.csv", PLAIN + '"l,2,red,acc\n', r'line 62: .* got 1\. A quotation mark \("\) is not closed'),
        ("car.csv", PLAIN[:200] + "\0" + PLAIN[200:], r"it contains the character NUL\."),
        ("car.csv", "PK\x03\x04", "it is a zip archive or a spreadsheet. Save the table as CSV"),
        ("car.csv", "", r"car\.csv is empty \(0 bytes\)"),
        ("car.arff", ARFF + "'ford t'," + " " * 300_000 + "x" + " " * 300_000 + ",red", "got 3"),
        ("car.arff", ARFF + "'" + "\\'" * 300_000, "got 0. A quotation mark"),
        ("car.arff", "@attribute '" + "a'" * 300_000 + " " * 300_000, "must be an ARFF file"),
        ("in/car.data", PLAIN, r"lacks the set 'car'.* It is in .*in; name that folder"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, name: str, content: str, words: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=words):
        load_table("car", tmp_path)


@pytest.mark.parametrize(("how", "words"), [("pipe", "it is a pipe"), ("link", "which does not exist")])
def test_a_table_must_be_a_regular_file(tmp_path: Path, how: str, words: str) -> None:
    if how == "pipe":
        os.mkfifo(tmp_path / "car.arff")
    else:
        (tmp_path / "car.arff").symlink_to("nowhere")
    with pytest.raises(UserError, match=words):
        load_table("car", tmp_path)


def openml(
    home: Path, version: int = 1, url: str = "https://www.openml.org/data/v1/download/9/c.arff"
) -> None:
    """What `fetch_openml('car', version=1, data_home=home)` keeps, as scikit-learn 1.9 does."""
    root = home / "openml" / "openml.org"
    told = {"id": str(40 + version), "name": "car", "version": str(version), "url": url, "status": "active"}
    kinds = {"maker name": "nominal", "doors": "numeric", "colour": "nominal", "class": "nominal"}
    columns = [
        {"name": name, "data_type": kind, "is_target": str(name == "class").lower(), "is_ignore": "false"}
        for name, kind in kinds.items()
    ]
    columns[1]["is_row_identifier"] = "false"
    for path, content in {
        f"api/v1/json/data/{told['id']}": json.dumps({"data_set_description": told}),
        f"api/v1/json/data/features/{told['id']}": json.dumps({"data_features": {"feature": columns}}),
        "api/v1/json/data/list/data_name/car/limit/2/status/active/": "{}",
        url.partition(".org/")[2]: ARFF,
    }.items():
        file = root / f"{path}.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(content.encode()))


def test_the_cache_of_fetch_openml(folder: Path) -> None:
    home = folder / "scikit_learn_data"
    openml(home, 3, "https://openml.org/datasets/0000/0040/dataset_40.arff")
    openml(home)
    assert load_table("car", openml=home) == load_table("car", folder)
    with pytest.raises(UserError, match="exclude each other"):
        load_table("car", folder, home)
    with pytest.raises(UserError, match=r"lacks the set 'yeast'; load it once with .*fetch_openml\('yeast'"):
        registry.create("benchmark", f"uci:set=yeast,openml={home}")
    root = home / "openml" / "openml.org"
    file = root / "data" / "v1" / "download" / "9" / "c.arff.gz"
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(UserError, match=r"c\.arff\.gz cannot be read \(Compressed file ended"):
        load_table("car", openml=home)
    file.unlink()
    with pytest.raises(UserError, match=r"c\.arff\.gz does not exist"):
        load_table("car", openml=home)
    (root / "api" / "v1" / "json" / "data" / "features" / "41.gz").write_bytes(gzip.compress(b"{}"))
    file.write_bytes(gzip.compress(ARFF.encode()))
    with pytest.raises(UserError, match=r"41\.gz is not an answer of OpenML"):
        load_table("car", openml=home)


def test_the_class_of_openml_need_not_be_the_last_column(tmp_path: Path) -> None:
    openml(tmp_path)
    root = tmp_path / "openml" / "openml.org"
    moved = gzip.compress("\n".join([*ARFF.splitlines()[:2], *_moved()]).encode())
    (root / "data" / "v1" / "download" / "9" / "c.arff.gz").write_bytes(moved)
    table = load_table("car", openml=tmp_path)
    assert table.attributes == ("maker name", "colour", "doors") and table.numeric == (False, False, True)
    assert table.classes == ("unacc", "acc", "unacc", "acc", "unacc") and table.values[1] == (
        "fiat",
        "green",
        "4",
    )


def _moved() -> list[str]:
    """ARFF with the class before the last column."""
    return [
        *("@attribute 'maker name' {'ford t', fiat}", "@attribute colour {red,green}"),
        *("@attribute class {unacc,acc}", "@attribute doors integer", "@data"),
        *("'ford t',red,unacc,2", "fiat,green,acc,4", "fiat,green,unacc,5", "fiat,red,acc,3"),
        "'ford t',green,unacc,3",
    ]


def test_a_missing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(UserError, match=rf"lacks the set 'yeast'; put yeast\.arff .* {FOLDER_VARIABLE}"):
        registry.create("benchmark", "uci:set=yeast")
    with pytest.raises(UserError, match="Did you mean 'iris'"):
        registry.create("benchmark", "uci:set=irs")


HERE = tuple(name for name in SETS if name not in ("diabetes", "blood", "yeast"))


@pytest.mark.parametrize("name", HERE)
def test_tables_have_the_rows_of_the_paper(shared: Path, name: str) -> None:
    assert len(load_table(name, shared / "data" / "uci").values) == SETS[name].rows


def test_the_paper_has_fifteen() -> None:
    assert len(SETS) == 16 and "breast_cancer_diagnostic" in SETS


def entropy(labels: np.ndarray) -> float:
    shares = [labels.mean(), 1 - labels.mean()] if len(labels) else []
    return -len(labels) * sum(p * math.log2(p) for p in shares if p > 0)


def test_cuts_are_of_least_entropy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        numbers, positive = rng.integers(0, 8, 30).astype(float), rng.random(30) < 0.4
        (cut,) = cut_points(numbers, positive, 2)
        places = [(a + b) / 2 for a, b in itertools.pairwise(np.unique(numbers))]
        after = {p: entropy(positive[numbers <= p]) + entropy(positive[numbers > p]) for p in places}
        assert after[cut] == pytest.approx(min(after.values()))
    assert cut_points(np.ones(5), np.arange(5) > 2, 4) == ()
    assert len(cut_points(np.arange(9.0), np.arange(9) % 2 == 1, 4)) == 3


def test_bits() -> None:
    table = Table(
        ("size", "big one?", "Colour"),
        (("1", "y", "red"), ("2", "n", "green"), ("3", "y", "blue"), ("4", "n", "red")),
        (True, False, False),
        ("a", "b", "a", "b"),
    )
    train, positive = np.array([True, True, True, False]), np.array([True, False, False, False])
    bits = make_bits(table, train, positive, 2)
    assert bits.names == ("size in bin 2", "big one?=y", "Colour=blue", "Colour=green", "Colour=red")
    assert bits.atoms == ("size_in_bin_2", "big_one_y", "colour_blue", "colour_green", "colour_red")
    assert bits.values.tolist() == [[0, 1, 0, 0, 1], [1, 0, 0, 1, 0], [1, 1, 1, 0, 0], [1, 0, 0, 0, 1]]
    merged = make_bits(table, train, positive, 2, np.random.default_rng(0))  # as in the paper
    assert merged.names == ("size in bin 2", "big one?=y", "Colour in group 2")
    red, green, blue, red_again = merged.values[:, 2].tolist()
    assert red == red_again and {red, green, blue} == {0, 1}


def test_test_rows_do_not_decide_the_bins() -> None:
    numbers, positive = np.arange(20.0), np.arange(20) >= 10
    train = np.arange(20) % 2 == 0
    other = np.where(train, numbers, 1000 - numbers)
    values = [
        make_bits(Table(("x",), tuple((str(v),) for v in column), (True,), ()), train, positive, 2).values
        for column in (numbers, other)
    ]
    assert np.array_equal(values[0][train], values[1][train])


def test_every_row_is_in_one_test_fold() -> None:
    task = registry.create("benchmark", "uci:set=wine")
    total = 0
    for repeat in range(1, FOLDS + 1):
        fold = task_of_split(task, repeat)
        train, validation, test = (
            symbolic_split(task, part, repeat=repeat) for part in ("train", "validation", "test")
        )
        assert (len(train), len(test)) == (fold.sizes["small"], fold.test_size)
        assert len(train) + len(validation) + len(test) == 178
        assert abs(test.labels.mean() - 71 / 178) < 0.05
        total += len(test)
    assert total == 178 and fold.fingerprint() != task_of_split(task, 1).fingerprint()
    with pytest.raises(UserError, match="has 10 folds, one a train split; got train split 11"):
        symbolic_split(task, "train", repeat=11)
    with pytest.raises(UserError, match="has 142 train examples a fold; got 1000"):
        symbolic_split(task, "train", "1000")


def test_the_binarisation_stays() -> None:
    assert registry.create("benchmark", "uci").for_split(1).fingerprint() == "3a2ac854ba28c9d1"


@pytest.mark.parametrize("learner", ["ffnsl", "neuid3:tests=facts"])
def test_rules_are_learned_and_nobody_knows_the_true_one(learner: str) -> None:
    task = task_of_split(registry.create("benchmark", "uci"), 1)
    train, test = symbolic_split(task, "train"), symbolic_split(task, "test")
    fitted = registry.create("learner", learner).fit(view(train, "symbolic", benchmark=task))
    assert (labels_of(fitted, view(test, "symbolic", benchmark=task, labelled=False)) == test.labels).all()
    learned = hypothesis_of(fitted, task)
    assert learned.language == "asp" and any("has(petal" in rule for rule in learned.rules)
    with pytest.raises(UserError, match="rule that labels the data of uci is unknown"):
        is_true_rule(learned.rules, task)
    assert example_quality(getattr(fitted, "examples_", []), task) == {}


def test_too_many_train_splits_are_refused_before_anything_runs() -> None:
    assert len(plan("uci", ["majority"], repeats=range(1, 11))) == 10
    with pytest.raises(UserError, match="uci has 10 folds, one a train split; got train split 11"):
        plan("uci", ["majority"], repeats=range(1, 12))
    with pytest.raises(UserError, match="got train split 6"):
        plan("zoo", ["majority"], repeats=range(1, 7))
