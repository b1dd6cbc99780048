"""The site: pages say what the board says, links lead somewhere, and nobody's words become markup."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from nsl_bench.leaderboard.board import AREAS, Board, read_board
from nsl_bench.leaderboard.site.build import build_site
from nsl_bench.leaderboard.site.highlight import rule_html
from nsl_bench.leaderboard.site.rundata import script
from nsl_bench.leaderboard.submission import RUNS
from nsl_bench.leaderboard.verdict import SCORES

from nsl_bench.errors import UserError
from nsl_bench.report.tables import area_under_shift
from nsl_bench.run.store import Store

EVIL = "<script>alert('x')</script>\"'&"


class Links(HTMLParser):
    """The addresses and ids of a page."""

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
    table = area_under_shift(results.frame(), AREAS)
    (entry,) = [e for e in board.entries if e.title == "random_forest"]
    mine = table[(table["learner"] == "random_forest:trees=3") & (table["shift"] == "rotate90")]
    for metric in ("hypothesis_accuracy", "framework_accuracy", "brier_score", "atoms"):
        row = mine[mine["metric"] == metric].iloc[0]
        area = board.area(entry, contest, metric)
        assert area is not None
        assert (area.mean, area.std_err) == pytest.approx((row["mean"], row["std_err"]), abs=2e-5)


def test_ranks_stay_inside_a_track(board: Board) -> None:
    (contest,) = board.contests
    ranks = {entry.title: board.rank(entry, contest) for entry in board.entries}
    assert ranks["ffnsl"].rank == 1 and ranks["ffnsl"].of == 1
    assert ranks["majority"].of == ranks["random_forest"].of == 2


def test_an_entry_with_missing_runs_has_no_rank(accepted: Path, board_file: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(accepted, tmp_path / "accepted"))
    path = folder / "majority" / SCORES
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    board = read_board(folder, board_file)
    (contest,) = board.contests
    ranks = {entry.title: board.rank(entry, contest).rank for entry in board.entries}
    assert ranks["majority"] is None and ranks["random_forest"] == 1


def test_links_resolve(site: Path) -> None:
    pages = {path.resolve(): Links(path.read_text()) for path in site.rglob("*.html")}
    assert len(pages) == 3 + 1 + 3
    for path, links in pages.items():
        for address in links.addresses:
            target, fragment = urldefrag(address)
            assert not target.startswith(("http", "//", "/")) or target.startswith("https://"), address
            if target.startswith("https://"):
                continue
            found = (path.parent / unquote(target)).resolve() if target else path
            assert found.is_file(), f"{path.name}: {address}"
            if fragment and found.name != "run.html":
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


def test_what_can_be_taken_away(site: Path) -> None:
    tables = {path.name for path in (site / "data/tables").iterdir()}
    assert tables == {f"{name}.{end}" for name in ("overview", "grids") for end in ("md", "csv", "tex")}
    assert "\\toprule" in (site / "data/tables/overview.tex").read_text()
    curves = {path.suffix for path in (site / "data/curves").iterdir()}
    assert curves == {".png", ".svg", ".pdf"}
    assert "@misc{nslbench-ffnsl," in (site / "data/nsl-bench.bib").read_text()


def test_the_site_without_its_data_is_small(site: Path) -> None:
    size = sum(p.stat().st_size for p in site.rglob("*") if p.is_file() and "data" not in p.parts)
    assert size < 2_000_000


def test_the_papers_curves_are_dashed(site: Path) -> None:
    page = (site / "benchmark" / "grids.html").read_text()
    assert "published" in page and "ffnsl in the paper" in page and "random_forest in the paper" not in page
    assert "FFNSL: Feed-Forward Neural-Symbolic Learner" in page


def test_html_is_escaped_everywhere(accepted: Path, board_file: Path, tmp_path: Path) -> None:
    """Even what no check would let through."""
    folder = Path(shutil.copytree(accepted, tmp_path / "accepted"))
    quoted = EVIL.replace('"', '\\"')
    for path in folder.glob(f"*/{RUNS}"):
        text = path.read_text().replace('"Linux', f'"{quoted}Linux')
        path.write_text(text.replace('"rules": ["', f'"rules": ["{quoted}'))
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
    assert "&lt;script&gt;" in (site / "learner/ffnsl.html").read_text()


def test_rules_are_coloured_and_escaped() -> None:
    html = str(rule_html('p(X) :- q(X, "<b>"), not r(X), X < 3.'))
    assert '<span class="k">not</span>' in html and '<span class="v">X</span>' in html and "<b>" not in html
    assert re.sub(r"<[^>]+>", "", html) == "p(X) :- q(X, &#34;&lt;b&gt;&#34;), not r(X), X &lt; 3."
    tree = str(rule_html("player_1 if suit=h <= 0.5 and value > 3", "tree"))
    assert '<span class="k">if</span>' in tree and '<span class="n">0.5</span>' in tree


def test_data_cannot_end_its_script() -> None:
    assert "</script" not in script("runs", ["</script><script>"])


def test_a_folder_that_is_no_site_is_left_alone(board: Board, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="is no site"):
        build_site(board, tmp_path)
    assert (tmp_path / "thesis.tex").is_file()


def test_a_board_without_submissions(board_file: Path, tmp_path: Path) -> None:
    build_site(read_board(tmp_path / "none", board_file), tmp_path / "site")
    assert "No submissions yet" in (tmp_path / "site" / "index.html").read_text()
