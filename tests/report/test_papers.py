"""What goes into a paper: tables that compile and hide nothing, one figure, predictions, logs."""

import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pandas as pd
import pytest
from click.testing import CliRunner
from PIL import Image

import nsl_bench
from nsl_bench.api.results import Results
from nsl_bench.cli.report import report
from nsl_bench.core.errors import UserError
from nsl_bench.run.sweep import TimeLeft

HERE = nsl_bench.Options(limits=None, jobs=1)
NASTY = r"a|b_c \input{/etc/passwd} 50 % & $x$ ~^" + "<\u03b1\u2192\u00e9\u4e2d>"


class Crash:
    track = "symbolic"

    def fit(self, train: Any) -> None:
        raise RuntimeError("boom")

    def predict_proba(self, test: Any) -> None:
        """Never called."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    learners = {"cart": "cart", NASTY: "majority", "crash": Crash()}
    folder = tmp_path_factory.mktemp("papers") / "results"
    return nsl_bench.evaluate(learners, "crop_yield", symbolic=True, repeats=3, out=folder, options=HERE)


@pytest.fixture(scope="module")
def shifted(tmp_path_factory: pytest.TempPathFactory) -> Results:
    where: dict[str, Any] = {"shift": "rotate90", "shares": [0, 50], "repeats": 1, "options": HERE}
    return nsl_bench.evaluate("majority", "sudoku_4x4", out=tmp_path_factory.mktemp("r") / "r", **where)


@pytest.mark.parametrize(
    ("form", "mark"), [("markdown", "†"), ("html", "<sup>†"), ("latex", "dagger"), ("csv", "")]
)
def test_failed_runs_are_marked_in_every_form(found: Results, form: Any, mark: str) -> None:
    text = found.table(["hypothesis_accuracy"], form, "wide")
    (row,) = [line for line in text.splitlines() if "crash" in line and "3 of 3" not in line]
    assert mark in row and not any(bold in row for bold in ("**", "<b>", "bf"))
    assert row.endswith(",3,3") if form == "csv" else "crash 3 of 3 (crashed)" in text


def test_bold_is_what_is_better_than_all_others(found: Results) -> None:
    wide = found.table(["hypothesis_accuracy"], layout="wide")
    assert wide.count("**") == 2 and "**" in next(line for line in wide.splitlines() if "| cart" in line)
    fewer = nsl_bench.results(found.folder, names=found.names)
    fewer.keep(frozenset(found.frame.query("learner != 'majority' or repeat != 2")["key"]))
    unequal = fewer.table(["hypothesis_accuracy"], layout="wide")
    assert "(n = 2)" in unequal and "**" not in unequal
    assert found.where(repeat=1).table(layout="wide").count("**") == 0, "one run supports nothing"


def test_an_incomplete_sweep_says_what_is_left(tmp_path: Path) -> None:
    def stop(record: Any) -> None:
        raise KeyboardInterrupt

    asked: dict[str, Any] = {"symbolic": True, "repeats": 3, "out": tmp_path / "r", "options": HERE}
    with pytest.raises(KeyboardInterrupt):
        nsl_bench.evaluate(["majority", "cart"], "crop_yield", callback=stop, **asked)
    said = nsl_bench.results(tmp_path / "r").table()
    assert "Incomplete: 5 of 6 runs are still to be done (cart 3, majority 2)" in said, said
    assert "Incomplete" not in nsl_bench.evaluate(["majority", "cart"], "crop_yield", **asked).table()


def test_latex_compiles_as_it_is_printed(found: Results, tmp_path: Path) -> None:
    metrics = ["hypothesis_accuracy", "brier_score"]
    tables = [found.table(None, "latex", "wide"), found.table(None, "latex"), found.confusion("latex")]
    tables += [found.against("crash", metrics, "latex")]
    labels = re.findall(r"\\label\{(.*?)\}", "".join(tables))
    assert len(set(labels)) == len(labels) == 4, labels
    tables += [found.where(learner="crash").table(None, "latex")]
    engine = shutil.which("pdflatex") or shutil.which("tectonic")
    if engine is None:
        pytest.skip("neither pdflatex nor tectonic is installed")
    packages = r"\documentclass[twocolumn]{article}\usepackage{booktabs,graphicx}\begin{document}"
    (tmp_path / "t.tex").write_text("\n".join([packages, *tables, r"\end{document}"]), encoding="utf-8")
    options = ["-halt-on-error", "-interaction=nonstopmode"] if "pdflatex" in engine else ["--print"]
    done = subprocess.run(
        [engine, *options, "t.tex"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "Overfull" not in done.stdout, done.stdout
    assert all("#" not in table and "\\caption" in table and "\\label" in table for table in tables)


def test_a_report_is_refused_before_anything_is_printed(found: Results, tmp_path: Path) -> None:
    for option in ("--against=nobody", f"--figure={tmp_path / 'x.gif'}"):
        done = CliRunner().invoke(report, [str(found.folder), option])
        assert isinstance(done.exception, UserError) and not done.stdout


def test_a_figure_is_as_wide_as_asked_for(shifted: Results, tmp_path: Path) -> None:
    with Image.open(shifted.figure(tmp_path / "f.png", width=3.3)) as picture:
        assert picture.width == 990
    assert b"Cmr10" in shifted.figure(tmp_path / "f.pdf").read_bytes()
    with pytest.raises(UserError, match=r"must be a \.pdf, \.svg or \.png file"):
        shifted.figure(tmp_path / "f.jpg")


def test_every_picture_is_asked_for_and_has_the_format(shifted: Results, tmp_path: Path) -> None:
    for words, endings in (((), set()), (("--curves", "--picture-format", "svg", "--perceived"), {".svg"})):
        command = [str(shifted.folder), "--out", str(tmp_path), "--metric", "framework_accuracy", *words]
        done = CliRunner().invoke(report, command, catch_exceptions=False)
        assert {path.suffix for path in tmp_path.iterdir()} == endings and done.stdout.count(
            "## "
        ) == 1 + bool(words)


def test_every_prediction_says_what_was_seen(shifted: Results, tmp_path: Path) -> None:
    count = shifted.write_predictions(tmp_path / "all.csv")
    table = pd.read_csv(tmp_path / "all.csv")
    part = table[(table["percent"] == 50) & (table["evaluation"] == "framework")]
    assert len(table) == count == 4 * len(part) and part["shifted"].mean() == 0.5
    wrong = (part["concepts_seen"] != part["concepts"]).groupby(part["shifted"]).mean()
    assert wrong[True] > 0.5 > wrong[False] and {"run", "label", "predicted", "p_valid"} <= set(table)
    shares = [float(cell) for cell in shifted.confusion().splitlines()[-1].split("|")[2:-2]]
    assert sum(shares) == pytest.approx(1)


@pytest.mark.parametrize("name", ["tensorboard", "wandb"])
def test_logs_hear_of_every_run(
    shifted: Results, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, records = nsl_bench.logger("csv", tmp_path), shifted.latest()
    for record in records.values():
        log(record)
    rows = list(csv.DictReader((tmp_path / "log.csv").open()))
    assert [row["key"] for row in rows] == list(records) and float(rows[0]["framework_accuracy"]) == 0.5
    module = name if name == "wandb" else "torch.utils.tensorboard"
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=f"needs the package {name}: pip install 'nsl-bench\\[{name}\\]'"):
        nsl_bench.logger(name, tmp_path)
    stand_in = MagicMock()
    monkeypatch.setitem(sys.modules, module, stand_in)
    nsl_bench.logger(name, tmp_path)(record)
    said = str(stand_in.mock_calls)
    assert "0.5" in said and "framework_accuracy" in said and "majority" in said


def test_the_time_that_is_left(shifted: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", iter([0.0, 60.0]).__next__)
    record = next(iter(shifted.latest().values()))
    assert TimeLeft([record.job] * 5).after(record) == "4 min"
