"""NeuID3: its probabilities, loss and gain against plain sums, its trees, and what it keeps."""

import itertools
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from problog import get_evaluatable
from problog.program import PrologString
from safetensors import safe_open
from safetensors.torch import save_file

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import Predictions
from nsl_bench.data.splits import make_source, make_split
from nsl_bench.learners.base import hypothesis_of, labels_of, probabilities_of, track_of
from nsl_bench.learners.papers.neuid3.asp import deepproblog
from nsl_bench.learners.papers.neuid3.induction import Grower, entropy, gains, held_out_gain
from nsl_bench.learners.papers.neuid3.learner import NeuID3
from nsl_bench.learners.papers.neuid3.networks import (
    Batch,
    Examples,
    Networks,
    Training,
    class_weights,
    cross_entropy,
)
from nsl_bench.learners.papers.neuid3.questions import Data, Fact, Trained
from nsl_bench.learners.papers.neuid3.saved import load_tests
from nsl_bench.learners.papers.neuid3.tests import CLASSES, NeuralTest, neural_tests
from nsl_bench.learners.papers.neuid3.tree import Node, answer, branches, nodes
from nsl_bench.learners.view import View
from nsl_bench.run.true_rule import is_true_rule
from nsl_bench.sandbox.sandbox import files_named
from nsl_bench.testing.toy import patches, view

SUITS = "eleusis:concept=suit_order"


def seen(task: str, part: str, n: int, learner: NeuID3 | None = None) -> View:
    """Some examples as a learner sees them."""
    benchmark = registry.create("benchmark", task)
    size = str(5 * n if part == "validation" else n)
    split = make_split(benchmark, make_source(benchmark), part, size).take(np.arange(n))
    certain = Predictions.certain(split.concepts, len(benchmark.concept_space))
    return View(
        split,
        benchmark,
        "label_only" if learner is None else learner.track,
        predictions=certain,
        source=make_source(benchmark),
        labelled=part != "test",
    )


@pytest.mark.parametrize(("chosen", "n"), [("nf", 2), ("union", 12), ("optimal", 1), ("bad", 13)])
def test_classes_of_tests(chosen: str, n: int) -> None:
    tests = neural_tests(seen(SUITS, "train", 2), chosen)
    assert len({test.name for test in tests}) == n
    assert ("smaller_suit" in {test.name for test in tests}) == (chosen in ("union", "optimal"))
    assert {test.values for test in tests} <= {2, 4, 8, 16} and chosen in CLASSES


def relations() -> list[NeuralTest]:
    rng = np.random.default_rng(0)
    return [
        NeuralTest("a", (0, 1), 3, rng.integers(0, 2, (3, 3)).astype(np.float32), True),
        NeuralTest("b", (0, 1), 2, np.eye(2, dtype=np.float32), False),
        NeuralTest("c", (1, 2), 16, None, False),
        NeuralTest("d", (2, 2), 2, np.array([[0, 0], [1, 1]], np.float32), True),
    ]


def test_networks_of_one_test_say_what_they_say_in_a_group() -> None:
    networks = Networks(relations(), 1, "key")
    images = torch.as_tensor(np.random.default_rng(1).integers(0, 256, (5, 3, 1, 28, 28)).astype(np.uint8))
    found = networks.probabilities(images)
    assert found.shape == (4, 5) and ((found >= 0) & (found <= 1)).all()
    for t in range(4):
        assert torch.allclose(networks.only(t).probabilities(images)[0], found[t], atol=1e-5)


def test_what_is_asked_is_a_probability() -> None:
    """Sums over values rounded to more than 1, so their complements were negative."""
    certain = [NeuralTest("always", (0, 1), 4, np.ones((4, 4), np.float32), False)]
    networks = Networks(certain, 1, "key")
    images = torch.as_tensor(np.random.default_rng(1).integers(0, 256, (99, 2, 1, 28, 28)).astype(np.uint8))
    assert (networks.probabilities(images) > 1).any()
    assert (networks.ask(images, torch.arange(99)) <= 1).all()


def trained(tests: list[NeuralTest]) -> tuple[list[Networks], torch.Tensor]:
    rng = np.random.default_rng(2)
    images = torch.as_tensor(rng.integers(0, 256, (16, 3, 1, 28, 28)).astype(np.uint8))
    examples = Examples(images, torch.as_tensor((rng.random(16) < 0.4).astype(np.float32)))
    at = Batch(torch.arange(16), torch.as_tensor(rng.random(16).astype(np.float32)))
    networks = Networks(tests, 1, "key")
    networks.train((examples, examples), (at, at), Training(1, 1e-2, 8), seed=0)
    return [networks.only(k) for k in range(len(tests))], images


def test_training_together_is_training_one_by_one() -> None:
    together, images = trained(relations())
    for k, test in enumerate(relations()):
        (alone,), _ = trained([test])
        rows = torch.arange(len(images))
        assert torch.allclose(alone.ask(images, rows), together[k].ask(images, rows), atol=1e-3)
        before = Networks([test], 1, "key").ask(images, rows)
        assert not torch.allclose(alone.ask(images, rows), before, atol=1e-5)


def test_the_loss_weighs_both_classes_alike() -> None:
    weights, positive = torch.tensor([0.5, 1.0, 0.25, 0.75]), torch.tensor([1.0, 0.0, 0.0, 1.0])
    holds = torch.tensor([[0.9, 0.2, 0.4, 0.6]])
    share = 1.25 / 2.5
    plain = -(
        0.5 / (2 * share) * math.log(0.9)
        + 1.0 / (2 * (1 - share)) * math.log(0.8)
        + 0.25 / (2 * (1 - share)) * math.log(0.6)
        + 0.75 / (2 * share) * math.log(0.6)
    )
    importance = class_weights(weights, positive)
    assert float(cross_entropy(holds, positive, importance)) == pytest.approx(plain, rel=1e-5)
    assert float((importance * positive).sum()) == pytest.approx(float((importance * (1 - positive)).sum()))


def test_gain_is_the_papers() -> None:
    weights, positive = torch.tensor([1.0, 0.5, 0.5]), torch.tensor([1.0, 0.0, 1.0])
    holds = torch.tensor([[0.8, 0.1, 0.5], [1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])

    def h(p: float) -> float:
        return -sum(x * math.log2(x) for x in (p, 1 - p) if x > 0)

    yes, no = (0.8 + 0.05 + 0.25), (0.2 + 0.45 + 0.25)
    plain = h(1.5 / 2) - yes / 2 * h(1.05 / yes) - no / 2 * h(0.45 / no)
    assert gains(holds, weights, positive).tolist() == pytest.approx([plain, 0.0, h(0.75)], abs=1e-5)
    assert float(entropy(torch.tensor(0.5))) == pytest.approx(1.0)


def test_facts_on_one_slot_exclude_each_other() -> None:
    """The tree's probability is the sum over all worlds of what it says there."""
    rng = np.random.default_rng(3)
    given = rng.dirichlet(np.ones(3), (4, 2)).astype(np.float32)
    data = Data(4, None, torch.as_tensor(given), {})
    a, b, c = (Fact(f"f{k}", slot, np.arange(3) == k) for k, slot in ((0, 0), (1, 0), (2, 1)))
    deepest = Node(0.5, 1, c, 0, Node(0.9, 1), Node(0.2, 1))
    root = Node(0.5, 1, a, 0, Node(0.7, 1), Node(0.5, 1, b, 0, deepest, Node(0.1, 1)))

    def in_world(first: int, second: int) -> float:
        if first == 0:
            return 0.7
        return (0.9 if second == 2 else 0.2) if first == 1 else 0.1

    plain = [
        sum(p[0, i] * p[1, k] * in_world(i, k) for i, k in itertools.product(range(3), range(3)))
        for p in given
    ]
    assert answer(root, data).tolist() == pytest.approx(plain, abs=1e-6)
    assert [len(path) for _, path in branches(root)] == [1, 3, 3, 2] and len(list(nodes(root))) == 3


@pytest.fixture(scope="module")
def suit_order() -> NeuID3:
    learner = NeuID3("optimal", epochs=8, named=True)
    return learner.fit(seen(SUITS, "train", 400, learner), seen(SUITS, "validation", 80, learner))


def test_a_tree_learns_suits_from_labels_alone(suit_order: NeuID3) -> None:
    test = seen(SUITS, "test", 200, suit_order)
    truth = make_split(
        registry.create("benchmark", SUITS), make_source(registry.create("benchmark", SUITS)), "test"
    )
    predicted = labels_of(suit_order, test, probabilities_of(suit_order, test))
    assert (predicted == truth.labels[:200]).mean() > 0.95


def test_a_named_tree_is_asp_and_judged_like_other_rules(suit_order: NeuID3) -> None:
    task = registry.create("benchmark", SUITS)
    learned = hypothesis_of(suit_order, task)
    assert learned.language == "asp" and learned.rules[-1] == "fulfilled :- smaller_suit."
    assert is_true_rule(learned.rules, task)
    split = make_split(task, make_source(task), "test").take(np.arange(30))
    symbols = view(split, "pretrained", benchmark=task, labelled=False)
    assert (labels_of(suit_order, symbols) == split.labels).all()


def test_trees_have_pictures(suit_order: NeuID3, tmp_path: Path) -> None:
    suit_order.picture(tmp_path / "tree.png")
    assert (tmp_path / "tree.png").stat().st_size > 5000


def suits_again(file: Path) -> Path:
    again = file.with_name("again.tests")
    again.write_bytes(file.read_bytes())
    return again


def test_trained_tests_are_reused_as_they_are(suit_order: NeuID3, tmp_path: Path) -> None:
    file = tmp_path / "suits.tests"
    suit_order.save(file)
    task = "eleusis:concept=hidden_order"
    learner = NeuID3("optimal", depth=1, epochs=1, reuse=str(file))
    train = seen(task, "train", 100)
    tests, ready = learner._questions(train)
    assert [test.name for test in tests] == ["smaller_rank"] and [q.name for q in ready] == ["smaller_suit"]
    learner.fit(train, seen(task, "validation", 40))
    (root,) = learner.trees_.values()
    (before,) = (node.question for node in nodes(suit_order.trees_[1]))
    assert root.question.name == "smaller_suit" and learner.rules().language == "tree"
    for name, weight in before.networks.weights.items():
        assert torch.equal(weight, root.question.networks.weights[name])
    with pytest.raises(UserError, match=r"smaller_suit looks at 'suit_0', which this task lacks; its slots"):
        NeuID3(reuse=str(file)).fit(view(patches(), "label_only"))
    version = NeuID3("optimal", reuse=str(file)).version
    file.write_bytes(b"nothing")
    assert version.startswith("4+told_the_answer+")
    assert version != NeuID3("optimal", reuse=str(file)).version != NeuID3("optimal").version
    spec = f"neuid3:reuse={file}+{suits_again(file)}"
    assert [named.name for named in files_named(spec)] == ["suits.tests", "again.tests"]
    with pytest.raises(UserError, match="is not a file of trained tests"):
        NeuID3(reuse=str(file)).fit(train)


Change = Callable[[dict[str, Any], dict[str, torch.Tensor]], object]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda test, _: test.update(values=10**12), "values and 3 channels"),
        (lambda test, _: test.update(name="Rank), {evil"), "must be a name of a predicate"),
        (lambda test, _: test.update(slots=["suit_0"]), "must have two slots"),
        (lambda test, _: test.update(relation=[[5.0] * 4] * 4), "relation of 4 x 4 zeros and ones"),
        (lambda test, _: test.update(relation=[[1.0]]), "relation of 4 x 4 zeros and ones"),
        (lambda test, _: test.update(relation=None), "has 4 values instead of 16"),
        (lambda test, _: test.pop("words"), "no 'words'"),
        (lambda _, weights: weights["smaller_suit/bias1"].fill_(torch.nan), "bias1 must be finite"),
        (
            lambda _, weights: weights.update({"smaller_suit/bias1": torch.zeros(3)}),
            "bias1 has the wrong shape",
        ),
        (lambda _, weights: weights.pop("smaller_suit/bias1"), "is not a file of trained tests"),
    ],
)
def test_damaged_files_of_tests_are_refused(
    suit_order: NeuID3, tmp_path: Path, change: Change, said: str
) -> None:
    file = tmp_path / "suits.tests"
    suit_order.save(file)
    with safe_open(str(file), framework="pt") as kept:
        weights = {name: kept.get_tensor(name) for name in kept.keys()}  # noqa: SIM118
        header = json.loads(kept.metadata()["neuid3"])
    change(header["tests"][0], weights)
    save_file(weights, str(file), metadata={"neuid3": json.dumps(header)})
    with pytest.raises(UserError, match=said):
        load_tests(file, ("suit_0", "rank_0", "suit_1", "rank_1"))


def test_files_of_tests_run_no_code(tmp_path: Path) -> None:
    file, sign = tmp_path / "evil.tests", tmp_path / "sign"

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (sign,)

    for write in (torch.save, lambda one, path: path.write_bytes(pickle.dumps(one))):
        write({"neuid3": 2, "tests": [Evil()]}, file)
        with pytest.raises(UserError, match="is not a file of trained tests"):
            load_tests(file, ("suit_0",))
    assert not sign.exists()


def test_trained_tests_fit_the_images(suit_order: NeuID3, tmp_path: Path) -> None:
    file = tmp_path / "suits.tests"
    suit_order.save(file)
    train = seen(SUITS, "train", 24)
    grey = [[image[..., :1] for image in example] for example in train.images]
    with pytest.raises(
        UserError, match="smaller_suit requires images of 3 channels; those of this task have 1"
    ):
        train._images = grey
        NeuID3("nf", epochs=1, reuse=str(file)).fit(train)


def test_one_tree_against_the_rest_for_each_label() -> None:
    benchmark = registry.create("benchmark", "crop_yield:species=pepper+potato+tomato,world=0")
    train = benchmark.generate("train", "200", 1, np.random.default_rng(0))
    learner = NeuID3("facts").fit(view(train, benchmark=benchmark))
    test = view(train, benchmark=benchmark, labelled=False)
    given = probabilities_of(learner, test)
    assert len(learner.trees_) == 3 and given.sum(axis=1) == pytest.approx(np.ones(200))
    assert (given.argmax(axis=1) == train.labels).mean() > 0.9
    assert any(rule.startswith("yield(2) :- ") for rule in learner.rules().rules)


@pytest.mark.parametrize("least", [0.55, 0.99])
def test_paths_that_no_example_follows_end_in_leaves(least: float) -> None:
    learner = NeuID3("nf", depth=3, epochs=1, least_gain=0, least_probability=least)
    learner.fit(seen(SUITS, "train", 24), seen(SUITS, "validation", 12))
    given = probabilities_of(learner, seen(SUITS, "test", 8))
    assert np.isfinite(given).all() and given.sum(axis=1) == pytest.approx(np.ones(8))


def test_late_trees_end_in_leaves() -> None:
    train = view(patches(), "pretrained")
    train.time_limit = 1e-9
    learner = NeuID3("facts").fit(train)
    assert learner.timed_out_ and list(nodes(learner.trees_[1])) == []
    assert probabilities_of(learner, view(patches("test"), labelled=False)).shape == (60, 2)


def test_tracks_follow_from_options() -> None:
    assert track_of(NeuID3()) == "label_only" and track_of(NeuID3("facts")) == "pretrained"
    assert track_of(NeuID3(named=True)) == "pretrained"
    assert NeuID3("optimal").version != NeuID3().version


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("tests=facts,named=true", "tests=facts has no networks"),
        ("tests=optimal", "require the task eleusis, whose concepts are known; got patches"),
        ("reuse=none.pt", r"the file none\.pt of trained tests does not exist"),
    ],
)
def test_options_that_do_not_fit(options: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        registry.create("learner", f"neuid3:{options}").fit(view(patches(), "label_only"))


def test_questions_that_fit_noise_are_not_asked() -> None:
    """Of 12 questions that are right on 90 % of the train labels, which are noise, none holds on others."""
    draw = torch.Generator().manual_seed(0)
    asked, asked_before = 0, 0
    for _ in range(200):
        train, other = torch.randint(0, 2, (2, 200), generator=draw).float()
        wrong = (torch.rand((12, 200), generator=draw) < 0.1).float()
        fitted = (train - wrong).abs() * 0.98 + 0.01
        told = torch.randint(0, 2, (12, 200), generator=draw).float() * 0.98 + 0.01
        ones = torch.ones(200)
        gain = gains(told, ones, other)
        best = int(gain.argmax())
        asked_before += float(gain[best]) >= 1e-3
        asked += held_out_gain((fitted[best], ones, train), (told[best], ones, other)) >= 1e-3
    assert asked == 0 and asked_before == 200


def test_the_held_out_gain_is_the_fall_of_the_log_loss() -> None:
    ones, labels = torch.ones(4), torch.tensor([1.0, 1.0, 0.0, 0.0])
    holds = torch.tensor([1.0, 1.0, 1.0, 0.0])
    # Shares with one example more of each class: 3 of 5 where it holds, 1 of 3 elsewhere, 3 of 6 before.
    expected = (2 * math.log2(0.6) + math.log2(0.4) + math.log2(2 / 3)) / 4 + 1
    assert held_out_gain((holds, ones, labels), (holds, ones, labels)) == pytest.approx(expected)
    assert held_out_gain((holds, ones, labels), (1 - holds, ones, labels)) < 0


def test_tests_start_as_they_were_left_at_the_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """`T := train_tests(E, T, N)` of algorithm 1: what is trained at a node goes on in both children."""
    from nsl_bench.learners.papers.neuid3 import induction

    started: list[tuple[set[str], float]] = []

    class Watched(Networks):
        def __init__(self, tests: list[NeuralTest], *given: Any, trained: dict[str, Networks], **how: Any):
            super().__init__(tests, *given, trained=trained, **how)
            same = [
                torch.equal(self.only(t).ask(images, rows), trained[test.name].ask(images, rows))
                for t, test in enumerate(tests)
                if test.name in trained
            ]
            assert all(same)
            started.append((set(trained), len(same)))

    train = seen(SUITS, "train", 40)
    learner = NeuID3("nf", depth=2, epochs=1, least_gain=0)
    monkeypatch.setattr(induction, "held_out_gain", lambda *_: 1.0)
    images, rows = learner._parts(train, None)[0][0].images, torch.arange(8)
    monkeypatch.setattr(induction, "Networks", Watched)
    learner.fit(train)
    names = {test.name for test in neural_tests(train, "nf")}
    assert started[0] == (set(), 0) and len(started) == 3
    assert all(kept == names and count == len(names) - 1 for kept, count in started[1:])


def test_each_test_keeps_the_start_of_its_least_validation_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = [torch.tensor(one) for one in ([2.0, 1.0], [1.0, 3.0], [3.0, 2.0])]
    made: list[Networks] = []
    train = lambda self, *_: (setattr(self, "losses", losses[len(made)]), made.append(self))  # noqa: E731
    monkeypatch.setattr(Networks, "train", train)
    learner = NeuID3("nf", starts=3)
    tests = neural_tests(seen(SUITS, "train", 8), "nf")
    data = learner._parts(seen(SUITS, "train", 8), None)[0]
    grower = Grower(data, (torch.ones(7), torch.ones(1)), learner.limits, learner.training, ("key",))
    kept = grower._trained((None, None), (), tests, {})
    for t, (one, start) in enumerate(zip(kept, (1, 0), strict=True)):
        asked = data[0].images, torch.arange(4)
        assert torch.equal(one.networks.ask(*asked), made[start].only(t).ask(*asked)) and len(made) == 3


def test_a_deepproblog_program_has_the_probabilities_of_the_tree() -> None:
    """With what its networks say of an example in place of its neural predicates, ProbLog sums it up."""
    networks = Networks(relations(), 1, "key")
    a, b, c, d = (Trained(networks.only(t)) for t in range(4))
    deep = Node(0.5, 1, d, 0, Node(0.9, 1, b, 0, Node(0.3, 1), Node(0.8, 1)), Node(0.1, 1))
    root = Node(0.5, 1, a, 0, Node(0.25, 1, c, 0, Node(0.6, 1), Node(0.7, 1)), deep)
    images = torch.as_tensor(np.random.default_rng(1).integers(0, 256, (1, 3, 1, 28, 28)).astype(np.uint8))
    data = Data(1, images, None, {})
    text = deepproblog({"sum(1)": root}, ("s0", "s1", "s2"))
    lines = [line for line in text.splitlines() if not line.startswith("nn(")] + ["query(sum(1))."]
    for question, *names in (a, "test1_of", "test1_of"), (d, "test3_of"), (b, "test4_first", "test4_second"):
        own, test = question.networks, question.test
        for name, slot, place in zip(names, test.slots, (own._first, own._second), strict=False):
            logits = own._encoded(images[:, slot] / 255.0, own.weights)[int(place), 0, : test.values]
            shares = (logits.softmax(0) * 0.999999).tolist()
            lines.append("; ".join(f"{p:.9f}::{name}(s{slot},{v})" for v, p in enumerate(shares)) + ".")
    lines.append(f"{float(c.given(data, torch.arange(1), ())):.9f}::test2_says(s1,s2,1).")
    (found,) = get_evaluatable().create_from(PrologString("\n".join(lines))).evaluate().values()
    assert found == pytest.approx(float(answer(root, data)), abs=1e-5)


def test_tests_are_given_as_rules(tmp_path: Path) -> None:
    file = tmp_path / "next.lp"
    file.write_text("test(next, suit_0, suit_1, 4).\nnext :- value(suit_0,A), value(suit_1,(A+1)\\4).\n")
    train = seen(SUITS, "train", 24)
    learner = NeuID3("nf", depth=1, epochs=1, given=file)
    given = learner._questions(train)[0][-1]
    assert given.relation.tolist() == np.roll(np.eye(4), 1, axis=1).tolist() and given.slots == (0, 2)
    assert learner.fit(train).version != NeuID3("nf").version
    for text, words in (("next.", "has no test"), ("test(next, suit_0, suit_9, 4).", "of the slots suit_0")):
        file.write_text(text)
        with pytest.raises(UserError, match=words):
            learner.fit(train)
