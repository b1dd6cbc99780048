"""Pages of results: who is compared with FFNSL, who is said to win; and what every page begins with."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from nsl_bench.leaderboard.comparing import Difference
from nsl_bench.leaderboard.site import supervision

from nsl_bench.core.metrics.predictions import brier_score

IMAGES = "framework_accuracy"


class Named(SimpleNamespace):
    __hash__ = object.__hash__


def entry(title: str, learner: str, mean: float, *, ours: bool = False) -> Any:
    values = {IMAGES: np.array([mean, mean]), "atoms": np.array([3.0, 3.0])}
    return Named(
        title=title,
        track="pretrained",
        is_ours=ours,
        manifest=SimpleNamespace(learner=learner),
        repeats=lambda contest, metric: values.get(metric, np.empty(0)),
    )


OURS = entry("FFNSL", "ffnsl", 0.7, ours=True)
OTHERS = {
    entry("A, tuned", "tuned:a", 0.8): Difference(0.1, 0.05, 0.15, "better"),
    entry("B", "b", 0.71): Difference(0.01, -0.05, 0.07, "tie"),
    entry("Majority", "majority", 0.4): Difference(-0.3, -0.4, -0.2, "worse"),
    entry("FFNSL, other", "ffnsl:seed=1", 0.75, ours=True): Difference(0.05, 0.01, 0.09, "better"),
}


@pytest.fixture
def rivals(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("rivals")


@pytest.fixture
def found(rivals: ModuleType) -> list[Any]:
    def of(contest: object, metric: str) -> dict[Any, Difference]:
        return OTHERS if metric in (IMAGES, "atoms") else {}

    board = SimpleNamespace(reference=lambda contest: OURS, differences=of)
    by_task = [list(rivals.differences(board, SimpleNamespace(name=name))) for name in ("zoo", "crop_yield")]
    return [*by_task[0], *by_task[1]]


def test_losses_come_first_with_points_and_interval_and_ffnsl_is_no_rival(
    rivals: ModuleType, found: list[Any]
) -> None:
    said = rivals.sentence(found, IMAGES)
    assert said == (
        "In accuracy on images FFNSL loses on zoo (1 of 3 learners) and crop_yield (1 of 3 learners). "
        "It loses most to A, tuned on zoo: -10.0 points, -15.0 to -5.0."
    )
    assert rivals.answer(found) == "FFNSL loses in accuracy on images on zoo and crop_yield."
    assert "**zoo**" in rivals.primary(found) and "1 are worse, 1 tie." in rivals.primary(found)
    assert [one.learner for one in found if one.metric == "atoms"].count("Majority") == 0
    nobody = [one for one in found if one.word != "better"]
    assert "no learner is better than FFNSL on any of 2 tasks" in rivals.sentence(nobody, IMAGES)
    assert rivals.answer(nobody).startswith("No learner beats FFNSL")


def test_the_matrix_is_drawn(script: Callable[[str], ModuleType], found: list[Any], tmp_path: Path) -> None:
    picture = script("pictures").matrix(
        pd.DataFrame([vars(one) for one in found]), {IMAGES: "accuracy on images"}, tmp_path / "matrix.png"
    )
    assert picture.stat().st_size > 1000


@pytest.mark.parametrize(
    ("spec", "knows", "confident"),
    [
        ("ffnsl:time_limit=30", "background, bias", "weights"),
        ("ffnsl:penalty=constant", "background, bias", "none"),
        ("random_forest_knowledge", "features of the solution", "none"),
        ("env:xgboost:inputs=both,weights=confidence", "", "both, weights"),
    ],
)
def test_supervision_follows_from_the_spec(spec: str, knows: str, confident: str) -> None:
    assert supervision.knowledge("pretrained", spec) == knows
    assert supervision.confidences("pretrained", spec) == confident
    assert supervision.knowledge("known_rules", spec) == "the true rule"


def test_miscalibration_is_what_recalibration_by_bins_wins(rivals: ModuleType) -> None:
    labels = np.array([0, 0, 0, 1], np.int16)
    frequent = np.tile(np.array([0.75, 0.25], np.float32), (4, 1))
    assert rivals.miscalibration(frequent, labels) == pytest.approx(0)
    sure = np.tile(np.array([1.0, 0.0], np.float32), (4, 1))
    lost = brier_score(sure, labels) - brier_score(frequent, labels)
    assert rivals.miscalibration(sure, labels) == pytest.approx(lost)


# All pages.


DOCS = Path(__file__).parents[2] / "docs" / "results"


def test_the_table_of_results_is_made_of_the_pages(script: Callable[[str], ModuleType]) -> None:
    pages, index = script("pages"), DOCS.with_suffix(".md").read_text(encoding="utf-8")
    names = re.findall(r"^results/(\w+)$", index, re.MULTILINE)
    assert set(names) == {path.stem for path in DOCS.glob("*.md")}
    for name in names:
        top = pages.Top.of(DOCS / f"{name}.md")
        assert f"| {top.question} | {top.answer} |" in index
        assert len(top.answer.split()) <= pages.MOST_WORDS
        assert top.alt and (DOCS / top.picture).is_file()


def test_results_are_small() -> None:
    assert sum(path.stat().st_size for path in DOCS.rglob("*") if path.is_file()) < 3e6


@pytest.mark.parametrize(("last", "title"), [(0.3, "ahead up to 50 %"), (0.7, "ahead at every share")])
def test_the_first_picture_says_what_was_found(
    last: float, title: str, rivals: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(rivals.pictures, "save", lambda figure, path: drawn.extend(figure.axes))
    lines = {"FFNSL": [0.9, 0.8, last], "best tabular": [0.8, 0.6, 0.5], "best end to end": [0.4, 0.4, 0.4]}
    rows = [
        ("a", "b", role, role, share, mean, 0.01)
        for role, means in lines.items()
        for share, mean in zip((0, 50, 100), means, strict=True)
    ]
    columns = ["contest", "shift", "role", "learner", "share", "mean", "std_err"]
    rivals.pictures.front(pd.DataFrame(rows, columns=columns), tmp_path / "front.png", "a", "b")
    (axis,) = drawn
    assert title in axis.get_title() and len(axis.containers) == 3
