"""The site: pages say what the board says, links lead somewhere, and nobody's words become markup."""

import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urldefrag

import pandas as pd
import pytest
from matplotlib.figure import Figure
from nsl_bench.leaderboard.board import Board, Rank, read_board
from nsl_bench.leaderboard.contests import BOARD, Contest
from nsl_bench.leaderboard.score_report import SCORES
from nsl_bench.leaderboard.site.build import _slots, build_site
from nsl_bench.leaderboard.site.charts import Curve, write_charts
from nsl_bench.leaderboard.site.pages import learner_page
from nsl_bench.leaderboard.site.rundata import script, write_test
from nsl_bench.leaderboard.site.takeaway import bibtex, write_areas, write_tables
from nsl_bench.leaderboard.submission import MANIFEST, RUNS
from packed import COMMITTED, edit_manifest, edit_runs, lines_of, pack, unpacked

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.data.splits import symbolic_split
from nsl_bench.report.curves import Series, draw_series
from nsl_bench.report.style import COLOURS, learner_slots
from nsl_bench.report.tables import with_standard
from nsl_bench.run.store import Store

EVIL = "<script>alert('x')</script>\"'&"


class Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value is not None:
                self.addresses.append(value)
            if name == "id" and value is not None:
                self.ids.add(value)


def test_areas_are_those_of_the_report(board: Board, results: Store) -> None:
    (contest,) = board.contests
    runs = with_standard(results.frame())
    (entry,) = [e for e in board.entries if e.title == "random_forest"]
    mine = runs[(runs["learner"] == "random_forest:trees=3") & (runs["shift"] == "rotate90")]
    for metric in ("hypothesis_accuracy", "framework_accuracy", "brier_score", "atoms"):
        each, area = mine.groupby("repeat")[metric].mean(), board.area(entry, contest, metric)
        assert area is not None and area.mean == pytest.approx(each.mean(), abs=2e-4)
        alone = area.spread.components["train splits"] if area.spread else area.std_err
        assert alone == pytest.approx(each.sem(), abs=1e-4)


def test_who_sees_images_is_not_ranked_with_who_does_not(board: Board) -> None:
    (contest,) = board.contests
    ranks = {entry.title: board.rank(entry, contest) for entry in board.entries}
    assert ranks["ffnsl"] == Rank(1, 1, 1), "on true concepts"
    assert ranks["majority"].of == ranks["random_forest"].of == 2


def test_an_entry_with_missing_runs_has_no_rank(accepted: Path, board_file: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(accepted, tmp_path / "accepted"))
    path = folder / "majority" / SCORES
    pack(path, "".join(unpacked(path).splitlines(keepends=True)[1:]))
    board = read_board(folder, board_file)
    (contest,) = board.contests
    ranks = {entry.title: board.rank(entry, contest) for entry in board.entries}
    assert ranks["majority"].first is None and ranks["random_forest"] == Rank(1, 1, 1)


def of_networks(folder: Path, networks: Iterable[str]) -> None:
    runs = [line | {"network": network} for network in networks for line in lines_of(folder / SCORES)]
    edit_runs(folder, lambda lines: lines.__setitem__(slice(None), runs), SCORES)


@pytest.mark.parametrize(
    ("networks", "others", "slugs"),
    [
        (["soft max", "soft-max"], [], ["majority-soft-max", "majority-soft-max-2"]),
        (["softmax", "x"], ["majority-x"], ["majority-softmax", "majority-x", "majority-x-2"]),
        (["softmax"], ["学", "学习者"], ["majority", "unnamed", "unnamed-2"]),
        (["a" * 3000, "a" * 3001], [], [f"majority-{'a' * 51}", f"majority-{'a' * 51}-2"]),
    ],
)
def test_entries_have_a_page_and_a_rank_each(
    accepted: Path, board_file: Path, tmp_path: Path, networks: list[str], others: list[str], slugs: list[str]
) -> None:
    first = Path(shutil.copytree(accepted / "majority", tmp_path / "accepted" / "majority"))
    for name in others:
        shutil.copytree(first, first.with_name(name))
    of_networks(first, networks)
    board = read_board(first.parent, board_file)
    assert sorted(entry.slug for entry in board.entries) == sorted(slugs)
    assert len({entry.title for entry in board.entries}) == len(slugs)
    (contest,) = board.contests
    assert [board.rank(entry, contest).of for entry in board.entries] == [len(slugs)] * len(slugs)
    assert board.frame(contest).groupby(["learner", "network"]).ngroups == len(slugs)


def test_a_manifest_may_say_more(accepted: Path, board_file: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(accepted, tmp_path / "accepted"))
    edit_manifest(folder / "majority", mood="good")
    assert len(read_board(folder, board_file).entries) == 3
    (folder / "majority" / MANIFEST).write_text("[]")
    with pytest.raises(UserError, match=r"The submission .*majority cannot be read"):
        read_board(folder, board_file)


@pytest.mark.parametrize(
    ("submissions", "problem"),
    [
        ("nowhere", "does not exist"),
        ("accepted/majority", "is one submission"),
        ("unscored", "No folder in .* contains a scored submission"),
        ("other", "None of the 1 submissions"),
    ],
)
def test_a_folder_without_accepted_submissions_is_refused(
    accepted: Path, good: dict[str, Path], tmp_path: Path, submissions: str, problem: str
) -> None:
    shutil.copytree(accepted / "majority", tmp_path / "accepted" / "majority")
    shutil.copytree(good["majority"], tmp_path / "unscored" / "majority")
    other = Path(shutil.copytree(accepted / "majority", tmp_path / "other" / "majority"))
    pack(other / SCORES, unpacked(other / SCORES).replace('"grids"', '"cards"'))
    with pytest.raises(UserError, match=problem):
        read_board(tmp_path / submissions, BOARD)


def test_links_resolve(site: Path) -> None:
    pages = {path.resolve(): Links(path.read_text()) for path in site.rglob("*.html")}
    assert len(pages) == 4 + 1 + 3
    for path, links in pages.items():
        for address in links.addresses:
            target, fragment = urldefrag(address)
            assert not target.startswith(("http", "//", "/")) or target.startswith("https://"), address
            if target.startswith("https://"):
                continue
            found = (path.parent / unquote(target)).resolve() if target else path
            assert found.is_file(), f"{path.name}: {address}"
            if fragment and found.name not in ("run.html", "compare.html"):
                assert fragment in pages[found].ids, f"{path.name}: {address}"


def test_every_run_page_has_its_data(site: Path) -> None:
    text = (site / "learner" / "random-forest.html").read_text()
    names = set(re.findall(r"run\.html#([^\"]+)", text))
    assert len(names) == 4
    for name in names:
        entry, contest, run = name.split("/")
        data = (site / f"data/runs/{entry}/{contest}.js").read_text()
        assert f'"run":"{run}"' in data and '"framework":{"labels":"' in data
        assert (site / f"data/test/{contest}.js").is_file()


def handed_over(path: Path) -> Any:
    """The value of a script file."""
    text = path.read_text()
    return json.loads(text[text.index("(") + 1 : text.rindex(")")])


def test_differences_of_two_learners_are_the_comparisons(board: Board, site: Path) -> None:
    (contest,) = board.contests
    listed = handed_over(site / "data/learners.js")["learners"]
    places = {one["slug"]: k for k, one in enumerate(listed)}
    (forest,) = [entry for entry in board.entries if entry.slug == "random-forest"]
    comparison = board.comparison(contest, "framework_accuracy", "pretrained")
    assert comparison is not None
    for other, difference in comparison.beside(forest).items():
        told = [1000 * value for value in (difference.mean, difference.low, difference.high)]
        word = {"worse": -1, "tie": 0, "better": 1}[difference.word]
        there, back = (
            handed_over(site / f"data/learner/{one}.js")["contests"]["grids"]["differences"][places[another]]
            for one, another in ((forest.slug, other.slug), (other.slug, forest.slug))
        )
        assert there == [*map(round, told), word]
        assert back == [-there[0], -there[2], -there[1], -word]


def test_a_run_shows_right_and_wrong_examples_and_the_branch_that_applies(site: Path) -> None:
    (tests,) = handed_over(site / "data/test/grids.js")["sets"].values()
    sample = tests["sample"]
    assert (site / "pictures" / sample["pictures"]["rotate90"]).is_file()
    assert sum(sample["shifted"]["0"]) == 0 < sum(sample["shifted"]["100"]) == len(sample["rows"])
    for run in handed_over(site / "data/runs/random-forest/grids.js"):
        labels = run["predictions"]["framework"]["labels"]
        rows = [sample["rows"][k] for k, _ in run["examples"]]
        assert {labels[row] == tests["labels"][row] for row in rows} == {True, False}
        for _, (fired,) in run["examples"]:
            assert any(rule.startswith(fired) for rule in run["rules"])


def test_what_can_be_taken_away(site: Path) -> None:
    tables = {path.name for path in (site / "data/tables").iterdir()}
    assert tables == {f"{name}.{end}" for name in ("overview", "grids") for end in ("md", "csv", "tex")}
    assert "\\toprule" in (site / "data/tables/overview.tex").read_text()
    curves = {path.suffix for path in (site / "data/curves").iterdir()}
    assert curves == {".png", ".svg", ".pdf", ".csv", ".js"}
    rows = pd.read_csv(site / "data/curves/grids-rotate90-framework_accuracy.csv")
    assert list(rows) == ["line", "style", "published", "percent", "mean", "std_err"]
    assert {"majority", "random_forest"} <= set(rows["line"]) and rows["mean"].between(0, 1).all()
    published = rows.groupby("line")["published"].first()
    assert published["ffnsl in the paper"] == 1 and "random_forest in the paper" not in published
    page = (site / "benchmark" / "grids.html").read_text()
    assert "FFNSL: Feed-Forward Neural-Symbolic Learner" in page
    assert "@misc{nslbench-ffnsl," in (site / "data/nsl-bench.bib").read_text()


def test_the_site_without_its_data_is_small(site: Path) -> None:
    size = sum(p.stat().st_size for p in site.rglob("*") if p.is_file() and "data" not in p.parts)
    assert size < 2_000_000


def test_long_rules_are_cut_on_a_learners_page(accepted: Path, board_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "accepted"
    forest = Path(shutil.copytree(accepted / "random_forest", folder / "forest"))
    long = [f"valid if {'x <= 0.5 and ' * 4000}y > 1", "invalid"]
    edit_runs(forest, lambda runs: [run["hypothesis"].update(rules=long) for run in runs])
    edit_runs(forest, lambda runs: runs[0].update(tuning={"tried": [{"options": {}}]}))
    build_site(read_board(folder, board_file), tmp_path / "site", pictures=False)
    page = (tmp_path / "site/learner/forest.html").read_text()
    assert "… 52,014 characters in total" in page and "… and 1 more" in page and len(page) < 10_000
    assert "1 of 1 runs kept the learner&#39;s own settings." in page
    told = (tmp_path / "site/data/runs/forest/grids.js").read_text()
    assert "x <= 0.5 and " * 4000 in told.replace("\\u003c", "<")


def test_the_committed_board_shows_little_of_its_trees() -> None:
    board = read_board(COMMITTED)
    (entry,) = [entry for entry in board.entries if entry.slug == "random-forest"]
    submitted = entry.submitted()
    for contest in board.contests:
        records = list(entry.records(contest, submitted))
        shown = learner_page(board, entry, contest, records, submitted, {}).hypotheses
        rules = [d["rules"] for _, columns in shown for h in columns for d in h.distinct]
        assert sum(len(rule) for learned in rules for rule in learned) <= 200 * len(rules)


def test_html_is_escaped_everywhere(accepted: Path, board_file: Path, tmp_path: Path) -> None:
    """Even what no check would let through."""
    folder = Path(shutil.copytree(accepted, tmp_path / "accepted"))
    quoted = EVIL.replace('"', '\\"')
    for path in folder.glob(f"*/{RUNS}"):
        text = unpacked(path).replace('"Linux', f'"{quoted}Linux')
        pack(path, text.replace('"rules": ["', f'"rules": ["{quoted}'))
    board = read_board(folder, board_file)
    sly = dict.fromkeys(("name", "description", "authors", "licence", "learner", "date"), EVIL)
    entries = [
        replace(entry, title=EVIL, network=EVIL, manifest=replace(entry.manifest, **sly))
        for entry in board.entries
    ]
    site = tmp_path / "site"
    build_site(replace(board, entries=tuple(entries)), site, pictures=False)
    for path in site.rglob("*"):
        if path.suffix in (".html", ".js") and "static" not in path.parts:
            assert "<script>alert" not in path.read_text(), path
    assert "&lt;script&gt;" in (site / "index.html").read_text()
    assert "\\u003cscript>alert" in (site / "data/runs/ffnsl/grids.js").read_text()
    assert "</script" not in script("runs", ["</script><script>"])
    assert "&lt;script&gt;" in (site / "learner/ffnsl.html").read_text()


def test_pages_run_files_of_the_site_only(site: Path) -> None:
    """A content security policy, and nothing in the pages that it forbids."""
    pages = list(site.rglob("*.html"))
    assert len(pages) > 5
    for page in pages:
        text = page.read_text()
        (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
        assert policy.startswith("default-src 'none'; script-src 'self'") and "unsafe" not in policy
        assert text.index("Content-Security-Policy") < text.index("<script")
        assert not re.search(r"<script(?! src=)|<style|<[^>]*\s(?:style|on\w+)=|javascript:", text), page


def a_curve(folder: Path, title: str, *points: tuple[float, float, float], metric: str = "atoms") -> Curve:
    return Curve("noir", metric, "学", [Series(title, points, 0)], folder / "curve")


@pytest.mark.parametrize("value", [1e308, 1e-300])
def test_no_value_is_too_large_for_a_curve(tmp_path: Path, value: float) -> None:
    curve = a_curve(tmp_path, "x", (0.0, value, value), metric="learning_time")
    curve.draw()
    write_charts("page", [curve], tmp_path)
    assert pd.read_csv(tmp_path / "curve.csv")["mean"].tolist() == [value]


def test_a_folder_that_is_no_site_is_left_alone(board: Board, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="is not a site"):
        build_site(board, tmp_path)
    assert (tmp_path / "thesis.tex").is_file()


@pytest.mark.parametrize(
    ("out", "problem"),
    [
        ("link", "is a symbolic link"),
        (".", "contains the current folder"),
        ("..", "contains the current folder"),
        ("file/site", "cannot be written"),
        ("/proc/site", "cannot be written"),
    ],
)
def test_places_where_no_site_can_be(
    board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, problem: str
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "site")
    (tmp_path / "file").write_text("")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here" if out.startswith(".") else tmp_path)
    monkeypatch.setattr("nsl_bench.leaderboard.site.build._build", lambda *_: pytest.fail("work was done"))
    with pytest.raises(UserError, match=problem):
        build_site(board, Path(out))
    assert (tmp_path / "file").is_file()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_rebuild_that_fails_leaves_the_old_site(
    board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise error

    site = tmp_path / "site"
    build_site(replace(board, entries=()), site)
    before = sorted(path.read_bytes() for path in site.rglob("*") if path.is_file())
    monkeypatch.setattr("nsl_bench.leaderboard.site.takeaway.bibtex", fail)
    with pytest.raises((KeyboardInterrupt, UserError)):
        build_site(board, site)
    assert sorted(path.read_bytes() for path in site.rglob("*") if path.is_file()) == before
    assert list(tmp_path.iterdir()) == [site]


def test_strangers_words_are_text_in_what_is_taken_away(board: Board, tmp_path: Path) -> None:
    about = {"authors": "a^b~c_d", "url": "https://x.org/~me_%7B"}
    entries = [
        replace(entry, title="=1+1", network=f"<b>|`x`{k}", manifest=replace(entry.manifest, **about))
        for k, entry in enumerate(board.entries)
    ]
    sly = replace(board, entries=tuple(entries))
    write_areas(sly, tmp_path)
    write_tables(sly, sly.contests[0], tmp_path)
    for name in ("overview", "grids"):
        assert "&lt;b>\\|\\`x\\`" in (tmp_path / f"{name}.md").read_text()
        assert ",'=1+1," in (tmp_path / f"{name}.csv").read_text()
    assert "author = {a\\textasciicircum{}b\\textasciitilde{}c\\_d}" in bibtex(sly)
    assert "url = {https://x.org/~me_%7B}" in bibtex(sly)


def test_one_train_set_has_no_standard_error(accepted: Path, board_file: Path, tmp_path: Path) -> None:
    single = tmp_path / "board.toml"
    single.write_text(board_file.read_text().replace("repeats = 2", "repeats = 1"))
    write_areas(read_board(accepted, single), tmp_path / "tables")
    texts = [path.read_text() for path in (tmp_path / "tables").iterdir()]
    assert len(texts) == 3 and not any("nan" in text for text in texts)


@pytest.mark.filterwarnings("error")
def test_pictures_take_every_script(tmp_path: Path) -> None:
    a_curve(tmp_path, "学习者", (0, 0.5, 0), (100, 0.4, 0)).draw()
    assert "学习者" in (tmp_path / "curve.svg").read_text()


def test_a_board_without_submissions(board_file: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "objects.inv").touch()  # as in the site of the documentation
    build_site(read_board(tmp_path / "none", board_file), tmp_path / "site")
    page = (tmp_path / "site" / "index.html").read_text()
    assert "No submissions yet" in page and '<a href="../index.html">documentation</a>' in page


def test_runs_are_shown_with_their_own_test_sets(tmp_path: Path) -> None:
    """Each train set of Crop Yield has a test set of its own."""
    task = registry.create("benchmark", "crop_yield")
    contest = Contest("crops", "crop_yield", task.version, "drawn_leaves", ("hue",), (0.0,), 2)
    write_test(contest, tmp_path / "test.js", {})
    value = handed_over(tmp_path / "test.js")
    for number in (1, 2):
        labels = symbolic_split(task, "test", "small", number).labels
        assert value["sets"][str(number)]["labels"] == "".join(map(str, labels))
        assert value["names"] == list(task.labels.names)
    assert value["sets"]["1"] != value["sets"]["2"]


# Lines of curves.

LINE = ((0.0, 0.5, 0.0), (50.0, 0.5, 0.0), (100.0, 0.5, 0.0))


def entry(slug: str, learner: str, network: str = "softmax", track: str = "pretrained") -> Any:
    """As much of an entry as its style needs."""
    return SimpleNamespace(slug=slug, manifest=SimpleNamespace(learner=learner), network=network, track=track)


def test_an_entry_has_the_colour_that_its_learner_has_in_reports() -> None:
    entries = [
        entry("forest", "random_forest"),
        entry("theirs", "theirs.py:Learner"),
        entry("ffnsl", "ffnsl:time_limit=600"),
        entry("ffnsl-edl", "ffnsl:time_limit=600", "edl_gen"),
        entry("truth", "fcn", "", "symbolic"),
    ]
    slots = _slots(SimpleNamespace(entries=entries))  # type: ignore[arg-type]
    reports = learner_slots(["random_forest", "theirs.py:Learner", "ffnsl"])
    assert slots["forest"] == reports["random_forest"] and slots["theirs"] == reports["theirs.py:Learner"]
    assert {slots["ffnsl"], slots["ffnsl-edl"]} == {reports["ffnsl"], reports["ffnsl"] + len(COLOURS)}
    assert "truth" not in slots


def test_lines_on_top_of_each_other_are_wider_below() -> None:
    series = [Series("a in the paper", LINE, 0, True), *(Series(str(k), LINE, k) for k in (0, 1, 9))]
    lines = draw_series(Figure().add_subplot(), series, unit=True, logarithmic=False)
    widths = [line.get_linewidth() for line in lines]
    assert widths[1] > widths[2] > widths[3] == widths[0], "published lines hide none"
    assert lines[0].get_linestyle() == "--" != lines[1].get_linestyle()
    assert lines[0].get_markerfacecolor() == "white" and lines[0].axes.lines[-1] is lines[0]


def test_the_legend_of_a_picture_hides_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda one, *a, **k: seen.append(one) or save(one, *a, **k))
    series = [Series(f"a learner with a long title {k} " * 4, LINE, k) for k in range(9)]
    Curve("noir", "framework_accuracy", "sudoku", series, tmp_path / "curve").draw()
    (figure,) = set(seen)
    legend, axis = figure.legends[0].get_window_extent(), figure.axes[0].get_window_extent()
    assert legend.y0 >= figure.bbox.y0 and legend.x1 <= figure.bbox.x1
    assert legend.y1 < axis.y0 - 20, "the axis's own label stands between them"
