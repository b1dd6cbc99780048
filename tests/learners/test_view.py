from __future__ import annotations

import numpy as np
import pytest

from nsl_bench.core.errors import UserError
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import BLANK
from nsl_bench.learners.view import TrackError, View
from nsl_bench.run.mock_tasks import Patches, PatchSource
from nsl_bench.testing.toy import Negative, patches, view

TRACKS: tuple[Track, ...] = (
    "symbolic",
    "pretrained",
    "concept_labels",
    "known_rules",
    "label_only",
    "end_to_end",
)
CONCEPTS = {"symbolic", "pretrained", "concept_labels"}
KNOWLEDGE = {*CONCEPTS, "known_rules", "label_only"}


def made(track: Track, **options: object) -> View:
    return view(patches(percent=50), track, source=PatchSource(), shift=Negative(), **options)


@pytest.mark.parametrize("track", TRACKS)
def test_every_track_has_labels_and_metadata(track: Track) -> None:
    seen = made(track)
    assert len(seen) == 60 and seen.n_labels == 2 and seen.label_names == ("same", "differ")
    assert seen.labels.shape == (60,) and np.issubdtype(seen.labels.dtype, np.integer)
    assert seen.metadata["shelf"].shape == (60,)
    assert seen.slots == ("left", "right")


@pytest.mark.parametrize("track", TRACKS)
def test_a_test_view_has_no_labels(track: Track) -> None:
    hidden = made(track, labelled=False)
    assert not hasattr(hidden, "labels")
    with pytest.raises(UserError, match="The test split has no labels"):
        _ = hidden.labels


ALLOWED = {
    "concepts": CONCEPTS,
    "concept_ids": CONCEPTS,
    "probabilities": CONCEPTS,
    "predictions": CONCEPTS,
    "features": CONCEPTS,
    "knowledge_features": CONCEPTS,
    "probability_features": CONCEPTS,
    "weights": CONCEPTS,
    "contexts": CONCEPTS,
    "images": set(TRACKS) - {"symbolic"},
    "true_rule": {"known_rules"},
    "background": KNOWLEDGE,
    "bias": KNOWLEDGE,
    "concept_space": KNOWLEDGE,
}


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("attribute", ALLOWED)
def test_what_a_track_allows(track: Track, attribute: str) -> None:
    seen = made(track)
    if track in ALLOWED[attribute]:
        assert getattr(seen, attribute) is not None
    else:
        with pytest.raises(TrackError, match=f"'{track}'|get symbols"):
            getattr(seen, attribute)


def test_what_is_not_allowed_is_not_in_the_view() -> None:
    """Not hidden behind a method: the true concepts and the labels of a test set are not there."""
    split = patches()
    hidden = View(split, Patches(), "label_only", source=PatchSource(), labelled=False)
    inside = hidden.images._split
    assert (inside.concepts == BLANK).all() and (inside.labels == 0).all()
    assert hidden._predictions is None and hidden._labels is None


def test_concepts_have_names_and_blanks() -> None:
    split = patches()
    seen = view(split)
    assert seen.concepts[0][1] is None and seen.concept_ids[0, 1] == BLANK
    assert seen.concepts[1][0] == split.concept_space.concepts[split.concepts[1, 0]]
    assert seen.probabilities.shape == (60, 2, 3)
    assert seen.contexts[0] == (f"patch(left,{seen.concepts[0][0]})", f"shelf({split.metadata['shelf'][0]})")


def test_probabilities_stand_beside_what_is_known_without_images() -> None:
    """The toy task's shelf is known of every example; where the concepts are certain, it is all as before."""
    seen = view(patches())
    codes, more = np.split(seen.probability_features, [6], axis=1)
    assert np.array_equal(codes, seen.probabilities.reshape(60, 6))
    assert np.array_equal(codes, seen.features[:, :6]) and np.array_equal(more[:, -1], seen.metadata["shelf"])


def test_images_are_those_of_the_examples() -> None:
    split = patches(percent=50)
    source, shift = PatchSource(), Negative()
    images = view(split, source=source, shift=shift).images
    assert len(images) == 60 and images[0][1] is None
    for i in (1, 2, 3, 4, -1):
        expected = source.render("a", split.images[i].astype(np.int64))
        if split.shifted[i]:
            expected = 255 - expected
        assert np.array_equal(np.stack(images[i]), expected)
    assert len(images[3:5]) == 2 and len(list(images)) == 60
    with pytest.raises(IndexError):
        images[60]


def test_images_are_rendered_when_asked_for() -> None:
    source = PatchSource()
    images = view(patches(), source=source).images
    assert source.rendered == 0
    _ = images[1]
    assert source.rendered == 2


def test_a_view_of_symbols_says_so() -> None:
    with pytest.raises(TrackError, match="this view contains only symbols"):
        _ = view(patches()).images


def test_a_view_without_a_network_says_so() -> None:
    with pytest.raises(TrackError, match="made without a network"):
        _ = View(patches(), Patches(), "pretrained").concepts


def test_feature_names_fit_the_features() -> None:
    seen = view(patches())
    assert seen.feature_names()[:2] == ("left=dark", "left=grey") and seen.feature_names()[-1] == "shelf"
    assert len(seen.feature_names()) == seen.features.shape[1]
    assert seen.feature_names(knowledge=True) == ("x1",)
