"""Submissions: numbers come from predictions and rules alone, and what is broken gets one sentence."""

import os
import shutil
import zipfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nsl_bench.leaderboard.contests import Contest
from nsl_bench.leaderboard.packing import write_lines
from nsl_bench.leaderboard.reading import Tunings, read_runs
from nsl_bench.leaderboard.rule_answers import RuleError, answers_of_rules
from nsl_bench.leaderboard.safe_files import LIMITS, Limits
from nsl_bench.leaderboard.score_report import ScoreReport, comment
from nsl_bench.leaderboard.scoring import score
from nsl_bench.leaderboard.submission import MANIFEST, PREDICTIONS, RUNS, write_submission
from packed import Scored, edit_manifest, edit_rows, edit_runs, unpacked
from sealed import resign

from nsl_bench.core.errors import UserError
from nsl_bench.run.store import Store

Change = Callable[[Path], object]
Edit = Callable[[Any], object]


def runs(change: Edit) -> Change:
    return lambda folder: edit_runs(folder, change)


def run(**values: Any) -> Change:
    """Change the first run; the values of `job` besides the others."""
    job = values.pop("job", {})
    return runs(lambda lines: (lines[0].update(values), lines[0]["job"].update(job)))


def rule(text: str) -> Change:
    return runs(lambda lines: lines[0]["hypothesis"]["rules"].append(text))


def rows(change: Edit) -> Change:
    return lambda folder: edit_rows(folder, change)


def row(change: Edit) -> Change:
    return rows(lambda all_rows: change(all_rows[0]))


def table(change: Callable[[pa.Table], pa.Table]) -> Change:
    return lambda folder: pq.write_table(change(pq.read_table(folder / PREDICTIONS)), folder / PREDICTIONS)


def refused(report: ScoreReport, *words: str) -> None:
    """One problem, one sentence, with these words."""
    assert len(report.problems) == 1, report.problems
    (sentence,) = report.problems
    assert all(word in sentence for word in words), sentence
    assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 400
    assert "not accepted" in comment(report)


def test_every_number_is_that_of_the_run(good: dict[str, Path], results: Store, scored: Scored) -> None:
    names = ["hypothesis_accuracy", "framework_accuracy", "brier_score", "atoms", "rules", "undecided"]
    records = results.latest()
    for name, folder in good.items():
        report = scored(folder)
        assert report.accepted and report.runs
        for run in report.runs:
            known = records[run.run].metrics
            for metric in names:
                assert run.metrics.get(metric) == pytest.approx(known.get(metric), abs=2e-4), metric
            assert name != "ffnsl" or run.metrics["agreement"] == 1.0


def test_nothing_in_a_submission_is_a_score(good: dict[str, Path]) -> None:
    for folder in good.values():
        text = unpacked(folder / RUNS) + (folder / MANIFEST).read_text()
        assert "accuracy" not in text and "brier" not in text and '"score"' not in text


def test_trials_of_tuning_are_told_with_the_runs(forest: Path) -> None:
    trials = [
        {"options": {}, "accuracy": 0.5, "brier_score": 0.75, "seconds": 1.5},
        {"options": {"leaf": "2"}},
    ]
    run(tuning={"metric": "accuracy", "chosen": {}, "tried": trials})(forest)
    told, other = (one.tuning for one in read_runs(resign(forest))[:2])
    assert told is not None and other is None
    assert not told.chosen and [trial.brier_score for trial in told.tried] == [0.75, None]
    assert told.tried[1].options == {"leaf": "2"}
    one = read_runs(forest)[0]
    runs = [one, replace(one, tuning=replace(told, chosen={"leaf": "2"}))]
    kept = "Tuned by accuracy in 2 trials a run: 1 of 2 runs kept the learner's own settings."
    assert str(Tunings.of(runs)) == f"{kept} Chosen most often instead: leaf=2 (1 of 2)."
    assert Tunings.of(run for run in read_runs(forest) if run.tuning is None) is None


def test_the_comment_is_markdown_and_nothing_else(good: dict[str, Path], scored: Scored) -> None:
    text = comment(scored(good["random_forest"]))
    assert "accepted" in text and "| grids" in text
    sly = comment(ScoreReport("<img src=x> [a](javascript:b) @all", ("`x` <script>",)))
    assert "<" not in sly and "](" not in sly.replace("\\]", "") and "@all" not in sly


def test_the_comment_shows_a_strangers_network_as_text_and_means_of_all_runs_or_none(
    good: dict[str, Path], scored: Scored
) -> None:
    report = scored(good["random_forest"])
    runs = tuple(replace(run, network="<b>|\x1b[31m\ud800") for run in report.runs)
    text = comment(replace(report, runs=runs))
    assert "&lt;b&gt;\\|" in text and not {"\x1b", "\ud800", "<"} & set(text)
    metrics = {name: value for name, value in report.runs[0].metrics.items() if name != "atoms"}
    text = comment(replace(report, runs=(replace(report.runs[0], metrics=metrics), *report.runs[1:])))
    header, _, row, *_ = (line.split("|") for line in text.splitlines() if line.startswith("|"))
    told = {title.strip(): value.strip() for title, value in zip(header, row, strict=True)}
    assert told["atoms"] == "nan" and told["Brier score"] != "nan"


@pytest.mark.parametrize("dummy", ["", "invalid :- neq(V1,V1), cell(V1). ", "#defined a/1. % "])
def test_rules_count_one_by_one_however_many_a_text_holds(
    good: dict[str, Path], rules: Path, scored: Scored, dummy: str
) -> None:
    def join(runs: list[dict[str, Any]]) -> None:
        for run in runs:
            run["hypothesis"]["rules"] = [dummy + "\n" + " ".join(run["hypothesis"]["rules"])]

    edit_runs(rules, join)
    joined, plain = scored(resign(rules)).runs, scored(good["ffnsl"]).runs
    more = (2, 1) if "neq" in dummy else (0, 0)
    for one, other in zip(joined, plain, strict=True):
        assert one.metrics["atoms"] == other.metrics["atoms"] + more[0]
        assert one.metrics["rules"] == other.metrics["rules"] + more[1]


@pytest.mark.parametrize("text", ["", "% nothing", "#show a/1.", "#const n=3."])
def test_texts_without_a_rule(rules: Path, scored: Scored, text: str) -> None:
    edit_runs(rules, lambda runs: [run["hypothesis"].update(rules=[text]) for run in runs])
    report = scored(resign(rules))
    assert report.accepted and not any("atoms" in run.metrics for run in report.runs)
    assert answers_of_rules("sudoku_4x4", 0, 1, [text], 60)[1:] == (0, 0)


def test_several_learners_need_a_choice(
    results: Store, contests: tuple[Contest, ...], tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="several learners"):
        write_submission(results, tmp_path / "out", contests, name="x", licence="MIT")
    with pytest.raises(UserError, match="Did you mean 'majority'"):
        write_submission(results, tmp_path / "out", contests, name="x", licence="MIT", learner="majorety")


def test_all_runs_are_of_one_version(
    results: Store, contests: tuple[Contest, ...], scored: Scored, forest: Path, tmp_path: Path
) -> None:
    """A learner that was changed between contests, or by hand between runs, is two learners."""
    store = Store(tmp_path / "store")
    for record in results.latest().values():
        if record.job.learner == "majority":
            version = "1" if record.job.percent else "2"
            store.add(replace(record, job=replace(record.job, learner_version=version)))
    with pytest.raises(UserError, match=r"are of 2 versions of the learner \(2 in grids, 1 in grids\)"):
        write_submission(store, tmp_path / "out", contests, name="x", licence="MIT")
    edit_runs(forest, lambda runs: runs[0]["job"].update(learner_version="another"))
    refused(scored(resign(forest)), "are of 2 versions of the learner (another in grids, 1 in grids)")


@pytest.mark.parametrize(
    ("networks", "change", "words"),
    [
        ({}, lambda runs: runs[0]["environment"].update(network_fingerprint="0" * 20), "one network; there"),
        ({"softmax": "0" * 20}, lambda runs: None, f"the contest's ({'0' * 20}); there are runs through"),
        ({"mine": "0" * 20}, lambda runs: None, "the contest's (none but mine)"),
        ({}, lambda runs: None, ""),
    ],
)
def test_all_runs_see_through_the_contest_s_network(
    forest: Path, contests: tuple[Contest, ...], networks: dict[str, str], change: Edit, words: str
) -> None:
    edit_runs(forest, change)
    report = score(resign(forest), [replace(contest, networks=networks) for contest in contests])
    assert words in "".join(report.problems) and report.accepted == (not words), report.problems


def test_an_option_that_has_its_default_names_the_same_learner(
    results: Store, contests: tuple[Contest, ...], tmp_path: Path
) -> None:
    spec = "ffnsl:rule_learner=exact"
    manifest, *_ = write_submission(
        results, tmp_path / "out", contests, name="x", licence="MIT", learner=spec
    )
    assert manifest.learner == "ffnsl"


def test_runs_of_an_earlier_submission_need_not_be_done_again(
    results: Store, good: dict[str, Path], contests: tuple[Contest, ...], tmp_path: Path
) -> None:
    """With some of the runs, the earlier submission gives the others: the same files as with all of them."""
    store = Store(tmp_path / "store")
    records = [one for one in results.latest().values() if one.job.learner.startswith("random_forest")]
    for record in records[:2]:
        store.add(record)
        store.add_predictions(record.key, results.predictions(record.key))
    told: list[str] = []
    words: dict[str, Any] = {"name": "random_forest", "licence": "CC-BY-4.0", "date": "2026-01-01"}
    earlier = good["random_forest"]
    _, counts, _ = write_submission(
        store, tmp_path / "out", contests, **words, earlier=earlier, notify=told.append
    )
    assert counts == {"grids": len(records)} and not told
    for file in (MANIFEST, RUNS):
        assert (tmp_path / "out" / file).read_bytes() == (earlier / file).read_bytes()
    assert pq.read_table(tmp_path / "out" / PREDICTIONS) == pq.read_table(earlier / PREDICTIONS)
    with pytest.raises(UserError, match="is of another learner: majority, not random_forest:trees=3"):
        write_submission(store, tmp_path / "other", contests, **words, earlier=good["majority"])


# What is hostile or broken.


def test_a_wrong_file_hash(forest: Path, scored: Scored) -> None:
    edit_rows(forest, lambda rows: rows[0].update(predicted=[0] * len(rows[0]["predicted"])))
    refused(scored(forest), "SHA-256", PREDICTIONS, "changed")


def bad_text(table: pa.Table) -> pa.Table:
    texts = pa.array([b"\xff\xfe"] * len(table), pa.binary())
    return table.set_column(0, "run", pa.StringArray.from_buffers(len(table), *texts.buffers()[1:]))


def from_bytes(line: bytes) -> Change:
    return lambda folder: (folder / RUNS).write_bytes(pa.Codec("zstd").compress(line + b"\n", asbytes=True))


BROKEN_FOREST: list[tuple[Change, tuple[str, ...]]] = [
    (
        runs(lambda lines: [line["content_hash"].update(test="0" * 64) for line in lines]),
        ("4 of 4 runs", "content hash of the test set", "labels"),
    ),
    (
        runs(lambda lines: lines.append({**lines[0], "run": "ab" * 10})),
        ("1 run is given more than once", "repeat 1"),
    ),
    (runs(lambda lines: lines.append(lines[0])), ("line 5", "twice")),
    (runs(lambda lines: lines.pop(1)), ("1 of 4 runs is missing", "rotate90 100 % repeat 2")),
    (rows(lambda all_rows: all_rows.pop()), ("predictions of the run", "missing")),
    (row(lambda one: one["probabilities"].__setitem__(0, 1999)), ("example 0 are invalid numbers: [1999, ",)),
    (row(lambda one: one["probabilities"].__setitem__(slice(2), [600, 500])), ("invalid prob", "1 of 1000")),
    (row(lambda one: one["probabilities"].__setitem__(slice(2), [2000, 2000])), ("invalid numbers",)),
    (row(lambda one: one["predicted"].__setitem__(0, 9)), ("labels must be between -2 and 1; got 9",)),
    (row(lambda one: one["predicted"].pop()), ("must have 1000 labels", "got 999")),
    (row(lambda one: one.update(run="ff" * 10)), ("belongs to no run",)),
    (row(lambda one: one.update(evaluation="Hypothesis")), ("framework, concepts; got 'Hypothesis'",)),
    (row(lambda one: one.update(evaluation=None)), ("framework, concepts; got None",)),
    (row(lambda one: one.update(evaluation="hypothesis")), ("twice",)),
    (table(lambda all_rows: all_rows.append_column("run", all_rows["run"])), ("'probabilities', 'run'",)),
    (table(lambda all_rows: all_rows.drop(["predicted"])), (PREDICTIONS, "the columns", "probabilities")),
    (
        table(lambda all_rows: all_rows.set_column(0, "run", pa.array(range(len(all_rows))))),
        (PREDICTIONS, "the column run must be of the type string", "got int64"),
    ),
    (table(bad_text), (PREDICTIONS, "not a readable parquet file")),
    (run(learning_time=10**400), ("line 1", "learning_time", "at most 10,000,000")),
    (run(learning_time=1e308), ("line 1", "learning_time must be", "got 1e+308")),
    (run(learning_time=-1), ("line 1", "learning_time must be", "got -1")),
    (run(job={"train_percent": 10**400}), ("line 1", "percent", "between 0 and 100")),
    (run(job={"network": "<img src=x>|a[x](javascript:b)"}), ("line 1", "network", "at most 100")),
    (run(job={"network": "a" * 101}), ("line 1", "network", "at most 100")),
    (run(job={"network": "\x1b[31m"}), ("line 1", "network", "printable")),
    (run(job={"network": "\ud800"}), ("line 1", "surrogate")),
    (run(job={"repeat": True}), ("line 1: job.repeat must be a whole number of 1 or more; got true",)),
    (run(job={"seed": 0.0}), ("line 1: job.seed must be a whole number; got 0.0",)),
    (run(job={"train_percent": "0"}), ("line 1: job.train_percent must be a number between 0", "got '0'")),
    (run(job={"splits": ["a"]}), ("line 1: job.splits must be",)),
    (run(job={"network": 1.5}), ("line 1", "job.network must be a string; got 1.5")),
    (run(job={"network": None}), ("line 1", "job.network must be", "pretrained", "got null")),
    (run(job={"track": "symbolic"}), ("line 1", "must be null in the track symbolic", "'softmax'")),
    (run(job={"learner": "x" * 1_000_000}), ("line 1", "learner", "at most 400")),
    (run(job={"learner": "\x1b[2J"}), ("line 1", "learner", "printable")),
    *((from_bytes(line), ("line 1",)) for line in (b"{}", b"[1]", b"\xff\xfe", b"[" * 100_000)),
    *((from_bytes(line), ("line 1",)) for line in (b'{"run": NaN}', b'{"job": {"repeat": "1"}}')),
    (
        lambda folder: (folder / RUNS).write_bytes(b"{}\n"),
        ("runs.jsonl.zst cannot be unpacked (OSError); it must be lines in zstd",),
    ),
    (lambda folder: write_lines(folder / RUNS, ["0" * 1_000_000] * 70), ("line 1: not valid JSON",)),
    (lambda folder: write_lines(folder / RUNS, ["0" * 70_000_000]), ("line 1: longer than 2,097,152 bytes",)),
    (lambda folder: (folder / PREDICTIONS).write_bytes(b"\x80\x04K\x01."), (PREDICTIONS, "parquet")),
]

BROKEN_RULES: list[tuple[Change, tuple[str, ...]]] = [
    (rule("#script (python) import os; os.system('true') #end."), ("#script", "must not run code")),
    (rule('#include "/etc/passwd".'), ("The rules of the run", "#include")),
    (rule("invalid :- digit(A, B"), ("The rules of the run", "syntax error")),
    (rule("invalid :- not digit(X, Y)."), ("The rules of the run", "unsafe")),
    (rule("a" * (LIMITS.rules_bytes + 1)), ("characters",)),
    (run(hypothesis={"language": "asp", "rules": "abc"}), ("hypothesis.rules must be a list",)),
    (run(hypothesis={"language": "asp", "rules": {"invalid.": 1}}), ("hypothesis.rules must be a list",)),
    (run(hypothesis={"language": "asp", "rules": [["invalid."]]}), ("hypothesis.rules[0] must be a string",)),
    (run(hypothesis={"language": "python", "rules": []}), ("hypothesis.language must be 'asp' or 'tree'",)),
    (run(hypothesis=["asp"]), ("hypothesis must be an object",)),
    (
        run(hypothesis={"language": "tree", "rules": ["invalid :- digit(X,1)."]}),
        ("not a branch of a tree", "valid if"),
    ),
    (run(hypothesis={"language": "tree", "rules": ["valid if x <= 1 and invalid"]}), ("not a branch",)),
    (run(hypothesis={"language": "tree", "rules": ["valid if x <= \ud800"]}), ("surrogate",)),
]


@pytest.mark.parametrize(
    ("learner", "change", "words"),
    [("random_forest", *one) for one in BROKEN_FOREST] + [("ffnsl", *one) for one in BROKEN_RULES],
)
def test_what_is_broken_gets_one_sentence(
    good: dict[str, Path],
    scored: Scored,
    tmp_path: Path,
    learner: str,
    change: Change,
    words: tuple[str, ...],
) -> None:
    folder = Path(shutil.copytree(good[learner], tmp_path / "submission"))
    change(folder)
    refused(scored(resign(folder)), *words)


def test_rules_that_crash_the_process_that_answers_them() -> None:
    answers_of_rules("sudoku_4x4", 0, 1, ["invalid."], 60)
    with pytest.raises(RuleError, match="crashed clingo"):
        answers_of_rules("sudoku_4x4", 0, 1, ["invalid :- digit(X,Y), Y*65536*65536 = 0."], 60)
    assert answers_of_rules("sudoku_4x4", 0, 1, ["invalid."], 60)[1:] == (1, 1)


def test_rules_that_never_end(rules: Path, scored: Scored) -> None:
    endless = ["n(0).", "n(X + 1) :- n(X).", "invalid :- n(-1)."]
    edit_runs(rules, lambda runs: runs[0]["hypothesis"]["rules"].extend(endless))
    refused(scored(resign(rules), Limits(solver_seconds=2)), "takes longer than the 2 s allowed")


def test_a_giant_rule_text(rules: Path, scored: Scored) -> None:
    with (rules / RUNS).open("r+b") as file:  # a sparse file: a gigabyte that takes no room
        file.truncate(1024**3)
    report = scored(rules)
    refused(report, RUNS, "1,024 MB", "64.0 MB allowed")


def zipped(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes | str], method: int = 8) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def test_a_zip_bomb(good: dict[str, Path], scored: Scored, tmp_path: Path) -> None:
    manifest, much = (good["ffnsl"] / MANIFEST).read_bytes(), b"0" * (80 << 20)
    path = zipped(tmp_path / "bomb.zip", (MANIFEST, manifest), (RUNS, much))
    assert path.stat().st_size < 200_000
    refused(scored(path), RUNS, "80 MB")


def test_a_zip_bomb_that_lies(good: dict[str, Path], scored: Scored, tmp_path: Path) -> None:
    """The declared size is small; reading stops at it or at the limit."""
    manifest, predictions = ((good["ffnsl"] / name).read_bytes() for name in (MANIFEST, PREDICTIONS))
    much = b"0" * 3_000_000
    path = zipped(tmp_path / "bomb.zip", (MANIFEST, manifest), (RUNS, much), (PREDICTIONS, predictions))
    data = path.read_bytes()
    path.write_bytes(data.replace((3_000_000).to_bytes(4, "little"), (300).to_bytes(4, "little")))
    assert not scored(path).accepted


def test_a_parquet_bomb(forest: Path, scored: Scored) -> None:
    def swell(rows: list[dict[str, Any]]) -> None:
        rows[0]["probabilities"] = np.zeros(40_000_000, np.int16)

    edit_rows(forest, swell)
    resign(forest)
    assert (forest / PREDICTIONS).stat().st_size < 5_000_000
    refused(scored(forest), "must have 1000 labels and 2000 probabilities; got 1000 and 40000000")
    few = Limits(unpacked_bytes=50_000_000)
    refused(scored(forest, few), "40,014,000 values and 80,", "of probabilities for 8 rows, more than")


@pytest.mark.parametrize("name", ["../board.toml", "/etc/passwd", "a/../../board.toml", "..\\board.toml"])
def test_names_that_lead_outside(scored: Scored, tmp_path: Path, name: str) -> None:
    refused(scored(zipped(tmp_path / "submission.zip", (name, "{}"))), "outside the submission")


def test_a_symbolic_link(forest: Path, scored: Scored, tmp_path: Path) -> None:
    (forest / RUNS).rename(tmp_path / "elsewhere")
    (forest / RUNS).symlink_to(tmp_path / "elsewhere")
    refused(scored(forest), RUNS, "symbolic link")
    member = zipfile.ZipInfo(RUNS)
    member.external_attr = 0o120777 << 16
    refused(scored(zipped(tmp_path / "submission.zip", (member, "/etc/passwd"))), "symbolic link")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a/b/submission.json", ("too deep",)),
        ("runs.jsonl.zst", ("runs.jsonl.zst only once",)),
        ("x" * 60_000, ("does not belong",)),
        ("\x1b[31m", ("does not belong",)),
    ],
)
def test_members_that_a_zip_file_may_not_have(
    good: dict[str, Path], scored: Scored, tmp_path: Path, name: str, words: tuple[str, ...]
) -> None:
    packed = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", good["ffnsl"]))
    with zipfile.ZipFile(packed, "a") as archive, pytest.warns() if name == RUNS else nullcontext():
        archive.writestr(name, "{}")
    refused(scored(packed), *words)


def test_a_zip_file_may_have_hidden_files(good: dict[str, Path], scored: Scored, tmp_path: Path) -> None:
    packed = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", good["ffnsl"]))
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr(".DS_Store", "x")
        archive.writestr("__MACOSX/._runs.jsonl.zst", "x")
    assert scored(packed).accepted


@pytest.mark.parametrize(
    ("places", "value", "words"),
    [
        ({b"PK\3\4": 6, b"PK\1\2": 8}, 1, "must not have a password"),
        ({b"PK\3\4": 8, b"PK\1\2": 10}, 99, "must be compressed with deflate"),
    ],
)
def test_zip_files_that_are_not_read(
    scored: Scored, tmp_path: Path, places: dict[bytes, int], value: int, words: str
) -> None:
    """The header of the one member, and of its entry at the end, say another method or a password."""
    path = zipped(tmp_path / "submission.zip", (RUNS, "{}"))
    data = bytearray(path.read_bytes())
    for mark, place in places.items():
        data[data.index(mark) + place] = value
    path.write_bytes(data)
    refused(scored(path), words)


def test_a_name_that_is_not_in_the_encoding_that_a_zip_file_says(scored: Scored, tmp_path: Path) -> None:
    path = zipped(tmp_path / "submission.zip", ("caf\u00e9.jsonl", "{}"))
    path.write_bytes(path.read_bytes().replace("\u00e9".encode(), b"\xe9\xff"))
    refused(scored(path), "submission.zip is not a readable zip file: UnicodeDecodeError")


def test_paths_that_hold_no_submission(forest: Path, scored: Scored, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("hello")
    for name in ("pipe", "text"):
        refused(scored(tmp_path / name), "must be a folder or a zip file")
    for name, words in (("x" * 300, "cannot be read"), ("nowhere", r"The submission .* does not exist")):
        with pytest.raises(UserError, match=words):
            scored(tmp_path / name)
    (forest / "evil.pkl").write_bytes(b"\x80\x04K\x01.")
    refused(scored(forest), "'evil.pkl' does not belong")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_zip_file(scored: Scored, tmp_path: Path, method: int) -> None:
    text = " ".join(map(str, np.random.default_rng(0).integers(0, 10**9, 1000)))
    path = zipped(tmp_path / "submission.zip", (RUNS, text), method=method)
    data = bytearray(path.read_bytes())
    for place in range(45, 2000, 3):
        data[place] ^= 0xFF
    path.write_bytes(data)
    refused(scored(path), "submission.zip is not a readable zip file")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"url": "javascript:alert(1)"}, ("url", "https://")),
        ({"licence": ""}, ("licence must be one line of 2 to 100",)),
        ({"track": "all"}, ("track must be", "pretrained", "got 'all'")),
        ({"track": "end_to_end"}, ("in the track pretrained", "end_to_end")),
        ({"schema": 99}, ("schema must be 1, the version of the form", "got 99")),
        ({"schema": 1.0}, ("schema must be 1", "got 1.0")),
        ({"schema": True}, ("schema must be 1", "got true")),
        ({"files": []}, ("files must be an object",)),
        ({"files": {"runs.jsonl.zst": "x"}}, ("files.runs.jsonl.zst must be 64 hexadecimal",)),
        ({"authors": "a\u3164"}, ("authors must be one line",)),
        ({"schema": ["x"] * 10_000}, ("schema must be 1", "got ['x',")),
        ({"track": {"a": ["x"] * 5_000}}, ("track", "pretrained")),
        ({"learner": ""}, ("learner must be one line of 1 to 200",)),
        ({"authors": "\ud800"}, ("surrogate",)),
        ({"more": "x" * 70_000}, ("69 kB", "64.0 kB allowed")),
        ({"description": "x" * 5000}, ("description", "1000")),
    ],
)
def test_a_broken_manifest(
    forest: Path, scored: Scored, values: dict[str, Any], words: tuple[str, ...]
) -> None:
    edit_manifest(forest, **values)
    refused(scored(forest), *words)


def test_a_network_need_not_be_installed_here(forest: Path, scored: Scored) -> None:
    edit_runs(forest, lambda runs: [run["job"].update(network="mine:size=3,path=a/b.pt") for run in runs])
    assert scored(resign(forest)).accepted


def test_lines_that_unpack_to_much(forest: Path, scored: Scored) -> None:
    write_lines(forest / RUNS, ["0" * 1_000_000] * 70)
    resign(forest)
    assert (forest / RUNS).stat().st_size < 100_000
    refused(scored(forest, Limits(runs_bytes=5_000)), "runs.jsonl.zst has")
