"""Wrong and missing labels, and shift that depends on the label."""

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import nsl_bench
from nsl_bench.cli import main
from nsl_bench.core import registry
from nsl_bench.core.annotation import Annotation
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK, n_of_percent
from nsl_bench.data.splits import make_source, make_split, mislabelled, symbolic_split
from nsl_bench.perception.trained_networks import trained
from nsl_bench.run.plan import plan
from nsl_bench.run.record import Record
from nsl_bench.run.store import Store

TASKS = [name for name in registry.names("benchmark") if "@" not in name and name != "sudoku"]


@pytest.mark.parametrize("name", TASKS)
def test_shares_are_exact_and_nested_in_any_task(name: str) -> None:
    task = registry.create("benchmark", name)
    right = symbolic_split(task, "train", "20")
    row = np.arange(len(right), dtype=np.int32)
    right = replace(right, images=np.tile(row[:, None], (1, right.concepts.shape[1])))
    filled = right.concepts != BLANK
    for seed in range(4):
        less, more = np.sort(np.random.default_rng(seed).uniform(0, 50, 2))
        at = task, "20", 1, seed
        labels, left_out = [], []
        for share in (less, more):
            labels.append(Annotation(share).labelled(right, *at).labels != right.labels)
            made = Annotation(0.0, share).labelled(right, *at)
            left_out.append(~np.isin(row, made.images[:, 0]))
            assert (made.labels == right.labels[~left_out[-1]]).all()
            for changed in (labels[-1], left_out[-1]):
                assert changed[right.first_rows].sum() == n_of_percent(right.n_sequences, share)
                assert (changed == changed[right.first_rows][right.sequences]).all()
            wrong = Annotation(wrong_concepts=share).labelled(right, *at).concepts != right.concepts
            assert wrong.sum() == n_of_percent(int(filled.sum()), share) and not (wrong & ~filled).any()
        assert (labels[0] <= labels[1]).all() and (left_out[0] <= left_out[1]).all()
        tested = replace(right, part="test")
        assert Annotation(less, more, less, more).labelled(tested, *at) is tested


def test_a_cue_makes_shift_depend_on_the_label_at_every_share() -> None:
    task = registry.create("benchmark", "sudoku_4x4")
    source, before = make_source(task), np.zeros(320, bool)

    def shifted_by_label(part: str, percent: float, **cues: float) -> tuple[list[float], np.ndarray]:
        made = make_split(task, source, part, percent=percent, annotation=Annotation(**cues))
        assert (made.images == make_split(task, source, part).images).all()
        return [float(made.shifted[made.labels == label].mean()) for label in (0, 1)], made.shifted

    for percent, expected in ((10, [0.0, 0.2]), (50, [0.1, 0.9]), (90, [0.8, 1.0])):
        shares, shifted = shifted_by_label("train", percent, train_cue=80.0)
        assert shares == pytest.approx(expected, abs=0.01) and (shifted >= before).all()
        before = shifted
    assert shifted_by_label("test", 50, test_cue=-80.0)[0] == pytest.approx([0.9, 0.1], abs=0.01)
    for part, cue in (("train", "test_cue"), ("test", "train_cue")):
        assert (shifted_by_label(part, 50, **{cue: 80.0})[1] == shifted_by_label(part, 50)[1]).all()


def test_networks_and_few_labels_learn_from_annotated_images() -> None:
    source = make_source(task := registry.create("benchmark", name := "sudoku_4x4"))
    right = source.labels("network")
    less, more = (mislabelled(source, Annotation(0.0, 0.0, wrong, 20.0)) for wrong in (5.0, 30.0))
    few, many = ((one.labels("network") != right) for one in (less, more))
    assert many.sum() == n_of_percent(len(right), 30) + n_of_percent(len(right), 20)
    assert (few <= many).all() and (less.labels("a") == source.labels("a")).all()
    spec = "softmax:epochs=1,dense=4,images_per_concept=20"
    assert len({trained(spec, task, one, progress=False).fingerprint() for one in (source, less, more)}) == 3
    noisy = "wrong_concepts=50"
    first, second = (nsl_bench.views(name, track="few_labels", annotation=one)[0] for one in ("", noisy))
    assert (first.few_labels.images != second.few_labels.images).any()
    hidden = nsl_bench.views("follow_suit", track="symbolic", annotation="missing_concepts=25")[0]
    assert (hidden.concept_ids == BLANK).mean() == pytest.approx(0.25, abs=0.005)


def test_jobs_are_known_by_their_annotation() -> None:
    (plain,) = plan("follow_suit", ["ffnsl"], annotations="wrong_labels=0")
    (noisy,) = plan("follow_suit", ["ffnsl"], annotations="missing_labels=5,wrong_labels=10")
    assert noisy.annotation == "wrong_labels=10,missing_labels=5" and noisy.key() != plain.key()
    older = {name: value for name, value in asdict(plain).items() if name != "annotation"}
    assert type(plain).from_dict(older) == plain and "annotation" not in plain.identity()
    cued = replace(plain, annotation="train_cue=50,test_cue=-50")
    assert cued.fit_key() == replace(plain, annotation="train_cue=50").fit_key() != plain.fit_key()
    for given, said in {
        "wrong_lables=5": "Did you mean 'wrong_labels'",
        "wrong_labels=101": "must be a number between 0 and 100; got 101",
        "wrong_labels": "must be a number between 0 and 100; got ''",
        "wrong_labels=60,missing_labels=50": "at most 100 together; got 110",
        "wrong_labels=1,wrong_labels=2": "given twice",
        "train_cue=50": "train_cue requires shifted train examples",
    }.items():
        with pytest.raises(UserError, match=said):
            plan("follow_suit", ["ffnsl"], annotations=given)


def test_reports_are_over_a_dial(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for wrong in (0, 10, 20):
        text = f"wrong_labels={wrong},missing_labels=5"
        for job in plan("follow_suit", ["ffnsl"], shifts="noir", percents=(0, 50), annotations=text):
            store.add(Record(job, "ok", {"framework_accuracy": 1 - wrong / 100 - job.percent / 200}))
    plain, over = nsl_bench.results(tmp_path), nsl_bench.results(tmp_path).over("wrong_labels")
    assert plain.summary()["annotation"].nunique() == 3 and len(plain.summary()) == 6
    table = over.summary().set_index(["annotation", "percent"])["mean"]
    assert table["missing_labels=5, noir 50 %", 20.0] == pytest.approx(0.55) and len(table) == 6
    shown = CliRunner().invoke(main, ["report", str(tmp_path), "--over", "wrong_labels"])
    assert "| wrong_labels (%)" in shown.output
    with pytest.raises(UserError, match="Unknown dial 'labels'"):
        plain.over("labels")


def test_data_sets_are_annotated(tmp_path: Path) -> None:
    dials, out = "wrong_labels=25,missing_labels=25,wrong_concepts=10", tmp_path / "made"
    words = f"generate sudoku_4x4 --train 16 --test 4 --repeats 1 --shift standard --annotation {dials}"
    made = CliRunner().invoke(main, [*words.split(), "--out", str(out)])
    assert made.exit_code == 0 and CliRunner().invoke(main, ["verify", str(out)]).exit_code == 0
    here = nsl_bench.load("sudoku_4x4", size=16, annotation=dials)
    assert len(here) == 12 and list(here["concepts"]) == list(nsl_bench.load(out)["concepts"])
    assert dials in (out / "README.md").read_text()
    with pytest.raises(UserError, match="fixed annotation"):
        nsl_bench.load(out, annotation=dials)
