import functools

import numpy as np
import pytest

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.tracks import Track
from nsl_bench.core.types import AMBIGUOUS, BLANK, UNDECIDED, Hypothesis
from nsl_bench.learners.base import hypothesis_of, labels_of, probabilities_of, track_of
from nsl_bench.learners.view import TrackError, View
from nsl_bench.run.mock_tasks import Patches, PatchSource
from nsl_bench.testing.toy import Negative, patches, view

N = 60


class Stranger:
    """A learner that answers whatever it is told to."""

    def __init__(self, **answers: object) -> None:
        for name, answer in answers.items():
            setattr(self, name, functools.partial(self._give, answer))

    @staticmethod
    def _give(answer: object, *_: object) -> object:
        return answer

    def fit(self, train):
        return self


def seen():
    return view(patches("test"), labelled=False)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (np.ones((N, 3)) / 3, r"shape \(60, 2\) \(examples, labels\); got \(60, 3\)"),
        (np.ones(N), r"got \(60,\)"),
        (np.full((N, 2), np.nan), "NaN or infinity for 60 of 60 examples, first for example 0"),
        (np.full((N, 2), 0.9), "invalid probabilities for 60 of 60"),
        (np.tile([1.5, -0.5], (N, 1)), "invalid probabilities"),
        ([["a", "b"]] * N, "must return an array of numbers"),
        ([[1], [1, 2]], "must return an array of numbers"),
        (None, "must return an array"),
    ],
)
def test_bad_probabilities(answer: object, sentence: str) -> None:
    with pytest.raises(UserError, match=f"learner Stranger gives .*{sentence}|{sentence}"):
        probabilities_of(Stranger(predict_proba=answer), seen())


def test_rounded_probabilities_are_taken() -> None:
    """1 - p of 32-bit numbers was refused where p is a sum that rounds to more than 1."""
    rounded = np.tile(np.array([1.1920929e-07, 1]), (N, 1)) * [-1, 1] + [0, 1.1920929e-07]
    found = probabilities_of(Stranger(predict_proba=rounded), seen())
    assert np.array_equal(found, np.tile([0.0, 1.0], (N, 1)))
    with pytest.raises(UserError, match="invalid probabilities"):
        probabilities_of(Stranger(predict_proba=np.tile([-2e-6, 1 + 2e-6], (N, 1))), seen())


def test_probabilities_may_leave_out_outcomes_that_are_no_label() -> None:
    given = np.zeros((N, 2))
    given[1] = 0.25
    learner = Stranger(predict_proba=given.tolist())
    assert np.array_equal(probabilities_of(learner, seen()), given)
    labels = labels_of(learner, seen())
    assert labels[0] == UNDECIDED and labels[1] == 0


def test_a_learner_may_say_its_labels_itself() -> None:
    predicted = np.arange(N) % 4 - 2
    learner = Stranger(predict=predicted, predict_proba=np.ones((N, 2)) / 2)
    labels = labels_of(learner, seen())
    assert labels.tolist() == predicted.tolist() and {AMBIGUOUS, UNDECIDED} <= set(labels.tolist())


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (np.zeros(N), "float64"),
        (np.zeros(3, int), r"shape \(3,\)"),
        (np.full(N, 2), "labels between 0 and 1, .* got 2 for example 0"),
        (np.full(N, -3), "got -3"),
    ],
)
def test_bad_labels(answer: object, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        labels_of(Stranger(predict=answer), seen())


def test_rules_may_be_strings() -> None:
    hypothesis = hypothesis_of(Stranger(rules=["differ :- patch(left,X), not patch(right,X).", "p."]))
    assert hypothesis.atoms == 4 and hypothesis.language == "asp"
    assert hypothesis_of(Stranger()) is None
    assert hypothesis_of(Stranger(rules=None)) is None


ROWS = "invalid :- digit(A,X), digit(B,X), row(A,Y), row(B,Y), neq(A,B), cell(A), cell(B), num(X), row(Y)."


@pytest.mark.parametrize("rules", [[ROWS], Hypothesis((ROWS,), 1), ["% type guards\n", ROWS]])
def test_atoms_are_counted_as_the_language_bias_scores_them(rules: object) -> None:
    """As on the leaderboard: type guards are free, and nobody's own count is taken."""
    hypothesis = hypothesis_of(Stranger(rules=rules), registry.create("benchmark", "sudoku_4x4"))
    assert (hypothesis.atoms, len(hypothesis.rules)) == (6, 1)


def test_a_string_may_hold_several_rules() -> None:
    hypothesis = hypothesis_of(Stranger(rules=["p. q :- p.", "r."]))
    assert (hypothesis.rules, hypothesis.atoms) == (("p.", "q :- p.", "r."), 4)


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ("p.", "got str"),
        ([1], "got a list with int"),
        (["p :- "], "The rules of the learner Stranger, line 1.* syntax error"),
    ],
)
def test_bad_rules(rules: object, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        hypothesis_of(Stranger(rules=rules))


def test_tracks() -> None:
    learner = Stranger()
    assert track_of(learner) == "pretrained"
    learner.track = "symbolc"
    with pytest.raises(UserError, match="Did you mean 'symbolic'"):
        track_of(learner)


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
