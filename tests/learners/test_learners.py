from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nsl_bench.core import registry
from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import NotApplicable, UserError
from nsl_bench.core.metrics.predictions import brier_score
from nsl_bench.core.types import BLANK, ConceptSpace, Predictions, Split
from nsl_bench.learners.base import hypothesis_of, labels_of, probabilities_of, takes_validation
from nsl_bench.learners.d2k import confidence, weighted_examples
from nsl_bench.learners.image_networks import ViT
from nsl_bench.learners.modules import PublishedNetwork, SequenceNetwork
from nsl_bench.learners.networks import Passes, encoder, floats, pictures
from nsl_bench.learners.neural import Adam
from nsl_bench.learners.view import View
from nsl_bench.run.mock_tasks import Patches, PatchSource
from nsl_bench.testing import LearnerTests
from nsl_bench.testing.toy import patches, view

LEAST = {
    "majority": 0.4,
    "random_forest:trees=20": 0.9,
    "random_forest:trees=20,inputs=probabilities,weights=confidence": 0.9,
    "cart": 0.9,
    "random_forest_knowledge:trees=5": 0.7,
    "fcn:epochs=60,learning_rate=0.005": 0.75,
    "fcn:epochs=60,learning_rate=0.005,inputs=probabilities": 0.7,
    "fcn:epochs=60,learning_rate=0.005,published=true": 0.7,
    "fcn:epochs=60,learning_rate=0.005,layers=4": 0.7,
    "cnn_lstm:epochs=40,learning_rate=0.005": 0.8,
    "cnn_lstm:epochs=40,learning_rate=0.005,published=true": 0.7,
    "ffnsl": 1.0,
    "nsl": 1.0,
    "propper": 1.0,
    "nsl_fnn:epochs=60,learning_rate=0.02": 0.8,
    "nsl_cnn_lstm:epochs=40,batch=8": 0.8,
    "lstm:epochs=20,batch=16,learning_rate=0.01": 0.7,
    "dnc:epochs=20,batch=16,learning_rate=0.01,hidden=16,places=4,width=4": 0.65,
    "ntoc:perceiver=given,epochs=200,batch=16": 0.65,
    "ntoc:perceiver=given,search=true,epochs=60,batch=16": 0.7,
    "neuid3:tests=facts,depth=5": 0.9,
}
"""The accuracy that each learner must reach on the toy task."""

for _spec, _least in LEAST.items():
    globals()[f"Test {_spec}"] = type(f"Test {_spec}", (LearnerTests,), {"spec": _spec, "least": _least})


class TestFFNSLOnFollowSuit(LearnerTests):
    spec = "ffnsl:penalty=constant"
    least = 1.0

    def splits(self) -> tuple[Benchmark, Split, Split]:
        benchmark = registry.create("benchmark", "follow_suit")
        train = benchmark.generate("train", "small", 1, np.random.default_rng(0))
        return benchmark, train, benchmark.generate("test", "small", 1, np.random.default_rng(1))


class TestCNNLSTMOnGrids(LearnerTests):
    spec = "cnn_lstm:epochs=1"

    def splits(self) -> tuple[Benchmark, Split, Split]:
        benchmark = registry.create("benchmark", "sudoku_4x4")
        train = benchmark.generate("train", "small", 1, np.random.default_rng(0))
        return benchmark, train.take(np.arange(40)), train.take(np.arange(40, 60))


def test_the_first_trees_branches_are_the_forests_rules() -> None:
    learner = registry.create("learner", "random_forest:trees=3", seed=0).fit(view(patches()))
    tree = learner._model.estimators_[0].tree_
    hypothesis = hypothesis_of(learner)
    leaves = np.flatnonzero(tree.children_left == -1)
    depth = np.zeros(tree.node_count, int)
    for node in range(tree.node_count):
        for child in (tree.children_left[node], tree.children_right[node]):
            if child != -1:
                depth[child] = depth[node] + 1
    assert len(hypothesis.rules) == len(leaves) and hypothesis.atoms == depth[leaves].sum()
    assert hypothesis.language == "tree" and hypothesis.fidelity is None
    assert any(rule.startswith("differ if left=") for rule in hypothesis.rules)


def test_a_neural_learners_rules_are_a_surrogates() -> None:
    learner = registry.create("learner", "fcn:epochs=2", seed=0).fit(view(patches()))
    hypothesis = hypothesis_of(learner)
    assert hypothesis.language == "tree" and hypothesis.fidelity == 1.0


def test_labels_the_forest_never_saw_have_no_probability() -> None:
    train = patches().take(np.flatnonzero(patches().labels == 1))
    learner = registry.create("learner", "random_forest", seed=0).fit(view(train))
    assert probabilities_of(learner, view(patches("test"), labelled=False))[:, 0].max() == 0


def test_ffnsl_keeps_its_examples_and_the_answer() -> None:
    learner = registry.create("learner", "ffnsl").fit(view(patches()))
    hypothesis = hypothesis_of(learner)
    assert len(learner.examples_) == 60 and learner.examples_[0].penalty == 101
    assert hypothesis.status == "optimal" and hypothesis.score == hypothesis.atoms == 4


def test_ffnsl_says_none_and_several() -> None:
    benchmark = registry.create("benchmark", "follow_suit")
    split = benchmark.generate("train", "small", 1, np.random.default_rng(0))
    learner = registry.create("learner", "ffnsl").fit(view(split, benchmark=benchmark))
    seen = view(split, benchmark=benchmark, labelled=False)
    for rules, label in (((), -1), (("winner(1..4).",), -2)):
        learner.solution_ = replace(learner.solution_, hypothesis=rules)
        learner._answered = None
        assert (labels_of(learner, seen) == label).all()
        assert (probabilities_of(learner, seen) == 0).all()


@pytest.mark.parametrize(("answers", "label"), [("rules", -1), ("default", 1), ("most_probable", 1)])
def test_ffnsl_answers_with_a_default_or_the_most_probable_label(answers: str, label: int) -> None:
    """Where no rule fires; the default is the most frequent train label, and a rule that is told."""
    benchmark = registry.create("benchmark", "follow_suit")
    split = benchmark.generate("train", "small", 1, np.random.default_rng(0))
    split.labels[:60] = 1
    learner = registry.create("learner", f"ffnsl:answers={answers}").fit(view(split, benchmark=benchmark))
    learner.solution_ = replace(learner.solution_, hypothesis=())
    seen = view(split, benchmark=benchmark, labelled=False)
    assert set(labels_of(learner, seen).tolist()) == {label}
    assert hypothesis_of(learner).rules == (
        ("winner(2) :- not winner(1), not winner(3), not winner(4).",) if answers == "default" else ()
    )


def test_ffnsl_is_recalibrated_on_validation_examples() -> None:
    """Wrong rules are sure and often wrong; the labels stay those of the rules."""
    plain, mended = (
        registry.create("learner", f"ffnsl:penalty=constant,answers={how}", seed=0)
        for how in ("rules", "recalibrated")
    )
    split, held_out = patches(), patches("validation")
    split.labels[:30] = 1 - split.labels[:30]
    assert takes_validation(mended) and not takes_validation(plain)
    plain.fit(view(split))
    mended.fit(view(split), view(held_out))
    seen, labels = view(patches("test"), labelled=False), patches("test").labels
    given = [probabilities_of(learner, seen) for learner in (plain, mended)]
    assert np.array_equal(labels_of(plain, seen), labels_of(mended, seen))
    assert brier_score(given[1], labels) < brier_score(given[0], labels) - 0.1
    with pytest.raises(NotApplicable, match="answers=recalibrated needs validation examples"):
        mended.fit(view(split))


@pytest.mark.parametrize(
    ("spec", "least"),
    [
        ("slot_cnn:epochs=25,outputs=8,learning_rate=0.003,patience=25", 0.7),
        ("slot_cnn:epochs=25,outputs=8,learning_rate=0.01,patience=25,layers=2,softmax=true", 0.7),
        ("vit:epochs=20,layers=1,width=32,learning_rate=0.003,dropout=0,patience=20", 0.6),
    ],
)
def test_a_network_learns_labels_from_the_images_of_all_slots(spec: str, least: float) -> None:
    """slot_cnn: 0.83 to 0.92 of the train labels for seeds 0 to 3; half have a label."""
    train, test = (
        view(split, "end_to_end", source=PatchSource(), labelled=labelled)
        for split, labelled in ((patches(), True), (patches("test"), False))
    )
    learner, again = (registry.create("learner", spec, seed=0).fit(train, validation=train) for _ in "ab")
    given = probabilities_of(learner, test)
    assert given.shape == (60, 2) and given.sum(axis=1) == pytest.approx(np.ones(60))
    assert np.array_equal(probabilities_of(again, test), given)
    if "slot_cnn" in spec:
        given, test = probabilities_of(learner, train), train
        assert learner.epochs_ == 25
    assert (given.argmax(axis=1) == patches(test.part).labels).mean() > least


@pytest.mark.parametrize(("slots", "patches"), [(4, 64), (12, 192), (16, 64), (81, 81), (200, 200)])
def test_a_transformer_cuts_the_images_of_many_slots_into_fewer_patches(slots: int, patches: int) -> None:
    network = ViT()._network(torch.zeros(1, slots, 1, 28, 28), 2)
    assert network.place.shape[1] == patches + 1
    larger = torch.zeros(1, 3, 3, 128, 81)
    assert ViT()._network(larger, 5).eval()(larger).shape == (1, 5)


def test_an_unknown_rule_learner() -> None:
    learner = registry.create("learner", "ffnsl:rule_learner=exactt")
    with pytest.raises(UserError, match="Did you mean 'exact'"):
        learner.fit(view(patches()))


def test_knowledge_features_that_a_benchmark_lacks() -> None:
    benchmark = registry.create("benchmark", "follow_suit")
    split = benchmark.generate("train", "small", 1, np.random.default_rng(0))
    with pytest.raises(NotApplicable, match="follow_suit has no knowledge features"):
        registry.create("learner", "random_forest_knowledge").fit(view(split, benchmark=benchmark))


@pytest.mark.parametrize(
    ("name", "size", "published"),
    [
        ("follow_suit", "small", 0.687),
        ("sudoku_4x4", "small", 0.591),
        ("sudoku_9x9", "small", 0.507),
        pytest.param("follow_suit", "large", 0.978, marks=pytest.mark.slow),
        pytest.param("sudoku_4x4", "large", 0.979, marks=pytest.mark.slow),
    ],
)
def test_the_forests_published_accuracy(shared: Path, name: str, size: str, published: float) -> None:
    """FFNSL paper, its own splits, true concepts, mean over five repeats."""
    benchmark = registry.create("benchmark", name)
    folder = shared / "data" / "ffnsl_splits" / name
    test = benchmark.read(folder, "test", size, 1)
    accuracies = []
    for repeat in range(1, 6):
        train = benchmark.read(folder, "train", size, repeat)
        learner = registry.create("learner", "random_forest").fit(view(train, benchmark=benchmark))
        predicted = labels_of(learner, view(test, benchmark=benchmark, labelled=False))
        accuracies.append((predicted == test.labels).mean())
    assert np.mean(accuracies) == pytest.approx(published, abs=0.01)


@pytest.mark.parametrize(("size", "seen"), [((64, 40), (64, 40)), ((200, 150), (128, 96)), ((8, 8), (8, 8))])
def test_networks_see_images_in_their_own_size(size: tuple[int, int], seen: tuple[int, int]) -> None:
    """All networks saw thumbnails of 28 by 28 pixels."""
    shown = view(patches().take(np.arange(1)))
    shown._images = [[np.full((*size, 3), 200, np.uint8), None]]  # type: ignore[assignment]
    images, blank = pictures(shown)
    assert images.shape == (1, 2, 3, *seen) and blank.tolist() == [[False, True]]
    assert images.unique().tolist() == [0, 200]
    assert encoder(images, 5, slots=2)(floats(images).flatten(1, 2)).shape == (1, 10)


@pytest.mark.parametrize(("limit", "made", "weight"), [(None, 5, 2.0), (1e-9, 1, 1.0)])
def test_training_ends_where_the_loss_no_longer_falls_or_the_time_is_up(
    limit: float | None, made: int, weight: float
) -> None:
    train = view(patches())
    train.time_limit = limit
    net = torch.nn.Linear(1, 1, bias=False)
    passes = Passes(net, train, most=50, patience=3)
    for number in passes:
        torch.nn.init.constant_(net.weight, number + 1)
        passes.loss = abs(number - 1)
    assert passes.made == made and net.weight.item() == weight


def predictions(confidences: list[list[float | None]]) -> Predictions:
    """Predictions of the first of three concepts with these confidences; None is a blank slot."""
    blank = np.array([[c is None for c in row] for row in confidences])
    top = np.array([[c or 0.0 for c in row] for row in confidences], np.float32)
    rest = np.where(blank, 0, (1 - top) / 2)
    return Predictions(np.stack([top, rest, rest], axis=2).astype(np.float32), blank)


def test_t_norms() -> None:
    seen = predictions([[0.9, 0.5], [0.75, None], [None, None]]).confidence
    assert confidence(seen).tolist() == pytest.approx([0.5, 0.75, 1.0])
    assert confidence(seen, "product").tolist() == pytest.approx([0.45, 0.75, 1.0])
    assert confidence(seen, "lukasiewicz").tolist() == pytest.approx([0.4, 0.75, 1.0], abs=1e-6)
    assert confidence(predictions([[0.4, 0.4]]).confidence, "lukasiewicz").tolist() == pytest.approx([0.0])


@given(st.lists(st.floats(0.34, 1), min_size=1, max_size=6))
def test_t_norms_are_ordered(row: list[float]) -> None:
    seen = predictions([row]).confidence
    lukasiewicz, product, goedel = (
        confidence(seen, norm)[0] for norm in ("lukasiewicz", "product", "goedel")
    )
    assert lukasiewicz <= product + 1e-6 and product <= goedel + 1e-6


def test_examples_of_a_split() -> None:
    split = patches().take(np.arange(3))
    split.concepts[:] = [[0, BLANK], [0, 0], [0, 0]]
    split.labels[:] = [0, 1, 0]
    seen = predictions([[0.999, None], [0.5, 0.75], [1.0, 1.0]])
    view = View(split, Patches(), "pretrained", predictions=seen)
    examples = weighted_examples(view)
    assert [example.penalty for example in examples] == [100, 51, 101]
    assert [example.id for example in examples] == ["train-0", "train-1", "train-2"]
    assert examples[0].inclusions == () and examples[0].exclusions == ("differ",)
    assert examples[1].inclusions == ("differ",) and examples[1].exclusions == ()
    shelf = split.metadata["shelf"]
    assert examples[0].context == ("patch(left,dark)", f"shelf({shelf[0]})")
    assert examples[1].context == ("patch(left,dark)", "patch(right,dark)", f"shelf({shelf[1]})")
    assert {example.penalty for example in weighted_examples(view, "constant", 7)} == {7}
    assert [example.penalty for example in weighted_examples(view, "floor")] == [99, 50, 100]
    assert view.weights.tolist() == [100, 51, 101]


def test_an_image_predicted_as_background_makes_no_example() -> None:
    class WithBackground(Patches):
        concept_space = ConceptSpace("shade", ("dark", "grey", "bright"), background="bright")

    split = patches()
    certain = Predictions.certain(split.concepts, 3)
    view = View(split, WithBackground(), "pretrained", predictions=certain)
    kept = ~(split.concepts == 2).any(axis=1)
    assert [example.id for example in weighted_examples(view)] == [f"train-{i}" for i in np.flatnonzero(kept)]
    assert view.weights.tolist() == np.where(kept, 101, 0).tolist()


@pytest.mark.parametrize("options", ["", ":penalty=constant"])
def test_nsl_is_ffnsl(options: str) -> None:
    preset, itself = (
        registry.create("learner", f"{name}{options}").fit(view(patches())) for name in ("nsl", "ffnsl")
    )
    assert hypothesis_of(preset) == hypothesis_of(itself)
    assert preset.examples_ == itself.examples_


def test_the_paper_s_layers() -> None:
    net = registry.create("learner", "nsl_fnn:epochs=1", seed=0).fit(view(patches()))._net
    layers = [layer for layer in net if isinstance(layer, torch.nn.Linear)]
    assert [layer.out_features for layer in layers] == [12, 8, 2]
    grids = registry.create("learner", "nsl_cnn_lstm:epochs=1", seed=0).fit(view(patches()))._net
    assert grids.embedding.embedding_dim == grids.convolution.out_channels == 32
    assert grids.lstm.hidden_size == 100 and grids.convolution.padding == (1,)


def test_a_padded_convolution_has_an_output_for_each_slot() -> None:
    for padded, length in ((False, 14), (True, 16)):
        net = SequenceNetwork(16, 5, 8, 8, 8, 0.0, 2, padded)
        assert net.convolution(torch.zeros(1, 8, 16)).shape[2] == length


class _OneOutput(torch.nn.Module):
    """The paper's last layer with a sigmoid, behind the layers of one of our networks."""

    def __init__(self, net: torch.nn.Module, inputs: int) -> None:
        super().__init__()
        self.net, self.dense = net, torch.nn.Linear(inputs, 1)
        net.dense = torch.nn.Identity()

    def forward(self, sequence: torch.Tensor) -> torch.Tensor:
        return self.dense(self.net(sequence)).squeeze(1).sigmoid()


@pytest.mark.parametrize(("network", "inputs"), [(SequenceNetwork, 11), (PublishedNetwork, 2 * 11 * 5)])
def test_two_labels_are_learned_with_one_output_as_in_the_papers(network: Any, inputs: int) -> None:
    """Two outputs have the same probabilities at first, and learn about twice as fast."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        ours, theirs = (network(9, 6, 7, 5, 11, 0.0, 2) for _ in range(2))
        theirs = _OneOutput(theirs, inputs)
        for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            other.data.copy_(mine)
        batches, targets = torch.randint(0, 6, (40, 9)), torch.randint(0, 2, (40,))
    steps = [torch.optim.Adam(net.parameters(), lr=1e-2) for net in (ours, theirs)]
    for start in range(0, 40, 8):
        part = slice(start, start + 8)
        losses = (
            torch.nn.functional.cross_entropy(ours(batches[part]), targets[part]),
            torch.nn.functional.binary_cross_entropy(theirs(batches[part]), targets[part].float()),
        )
        for loss, step in zip(losses, steps, strict=True):
            step.zero_grad()
            loss.backward()
            step.step()
    with torch.inference_mode():
        torch.testing.assert_close(ours(batches).softmax(1)[:, 1], theirs(batches))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("nsl:t_norm=product", "has no option 't_norm'"),
        ("cnn_lstm:published=true,padded=true", "exclude each other; leave out one"),
    ],
)
def test_options_out_of_range(spec: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        registry.create("learner", spec)


def fully_connected() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(5, 13), torch.nn.ReLU(), torch.nn.Linear(13, 3))


@pytest.mark.parametrize(
    ("build", "inputs"),
    [
        (fully_connected, lambda: torch.rand(40, 5)),
        (lambda: SequenceNetwork(9, 6, 7, 5, 11, 0.1, 3), lambda: torch.randint(0, 6, (40, 9))),
        (lambda: PublishedNetwork(9, 6, 7, 5, 11, 0.1, 3), lambda: torch.randint(0, 6, (40, 9))),
    ],
    ids=["fully connected", "CNN-LSTM", "published CNN-LSTM"],
)
def test_adam_gives_torch_s_weights(build: Callable[[], Any], inputs: Callable[[], torch.Tensor]) -> None:
    found = []
    for ours in (True, False):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(4)
            net, batches, targets = build(), inputs(), torch.randint(0, 3, (40,))
            theirs = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1e-7)
            mine = Adam(net.parameters(), 1e-3, 1e-7)
            for start in range(0, 40, 8):
                part = slice(start, start + 8)
                loss = torch.nn.functional.cross_entropy(net(batches[part]), targets[part])
                if ours:
                    mine.step(loss)
                else:
                    theirs.zero_grad()
                    loss.backward()
                    theirs.step()
            found.append([each.detach().clone() for each in net.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
