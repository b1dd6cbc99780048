"""The baselines on sequences: what they learn, and the equations of the DNC's memory."""

import numpy as np
import pytest
import torch
from learners.views import seen

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK, Predictions
from nsl_bench.data.splits import symbolic_split
from nsl_bench.learners.base import track_of
from nsl_bench.learners.modules import DNC, Memory
from nsl_bench.learners.neural import seeded
from nsl_bench.learners.perceivers import perceiver_for, pretrain, true_symbols
from nsl_bench.learners.view import View

SMALL = "hidden=8,epochs=1,batch=8"


@pytest.mark.parametrize("learner", ["lstm", "dnc", "cnn_transformer"])
@pytest.mark.parametrize("task", ["addition:test=4", "hanoi:test=4,samples=16"])
def test_longer_sequences_are_answered(learner: str, task: str) -> None:
    track = "end_to_end" if learner == "cnn_transformer" else "few_labels"
    own = "" if track == "end_to_end" else ",perceiver=own,pretraining=1"
    made = registry.create("learner", f"{learner}:{SMALL}{own}", seed=0)
    assert track_of(made) == track
    made.fit(seen(task, "train", "4", track))
    longer = f"{task},digits=6" if task.startswith("addition") else "hanoi:disks=7,window=4,test=4"
    test = seen(longer, "test", track=track)
    said = made.predict_proba(test)
    assert said.shape == (len(test), test.n_labels) and np.allclose(said.sum(axis=1), 1)


def test_a_dnc_can_have_a_place_for_each_step_of_a_train_sequence() -> None:
    made = registry.create("learner", f"dnc:{SMALL},places=0,heads=1")
    assert made.fit(seen("addition", "train", "4", "pretrained"))._net.places == 3


def test_the_own_perceiver_waits_until_the_steps_know_something() -> None:
    train = seen("addition:test=4", "train", "4")
    weights = []
    for warm in (0, 1):
        made = registry.create(
            "learner", f"lstm:{SMALL},perceiver=own,pretraining=1,warm={warm}", seed=0
        ).fit(train)
        weights.append(made._eyes.net[0].weight.detach().clone())
    with seeded(0):
        untouched = perceiver_for(train.few_labels)
        pretrain(untouched, train.few_labels, 1)
    assert torch.equal(weights[1], untouched.net[0].weight) and not torch.equal(weights[0], weights[1])


@pytest.mark.parametrize(("task", "rate"), [("addition:test=4", 0.01), ("hanoi:disks=3,test=4", 1e-4)])
def test_the_own_perceiver_of_whole_rows_goes_on_at_the_rate_of_its_pre_training(
    task: str, rate: float
) -> None:
    train = seen(task, "train", "4")
    options = f"{SMALL},perceiver=own,pretraining=1,warm=0,learning_rate=0.01"
    weights = []
    for given in (0, rate, 10 * rate):
        made = registry.create("learner", f"lstm:{options},perceiver_rate={given:g}", seed=0).fit(train)
        weights.append(torch.cat([one.detach().flatten() for one in made._eyes.net.parameters()]))
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_true_symbols_of_hanoi_compare_the_upper_disks() -> None:
    task = registry.create("benchmark", "hanoi:test=6")
    split = symbolic_split(task, "test", "16", 1)
    certain = Predictions.certain(split.concepts, len(task.concept_space))
    found = true_symbols(View(split, task, "few_labels", predictions=certain))
    disks = split.concepts.reshape(len(split), 3, -1)
    upper = [[int(peg[peg != BLANK][-1]) if (peg != BLANK).any() else 9 for peg in row] for row in disks]
    for symbol, (p, q) in zip(found, ((0, 1), (0, 2), (1, 2)), strict=True):
        assert symbol.argmax(dim=1).tolist() == [int(row[p] < row[q]) for row in upper]


def test_an_answer_depends_on_no_later_step() -> None:
    for learner in ("lstm", "dnc"):
        made = registry.create("learner", f"{learner}:{SMALL}", seed=0)
        made.fit(seen("addition", "train", track="pretrained"))
        long, short = (seen(f"addition:digits={n},test=1", "test", track="pretrained") for n in (6, 2))
        long._seen = Predictions(
            np.concatenate([short.probabilities, long.probabilities[2:]]), np.zeros((6, 2), np.bool_)
        )
        assert np.allclose(made.predict_proba(long)[:2], made.predict_proba(short), atol=1e-4)


def test_the_true_rule_is_right_on_true_concepts() -> None:
    for task in ("addition:test=30", "hanoi:disks=7,test=10"):
        made = registry.create("learner", "true_rule", seed=0)
        made.fit(seen(task, "train", track="pretrained"))
        test = seen(task, "test", track="pretrained")
        truth = symbolic_split(registry.create("benchmark", task), "test").labels
        assert np.array_equal(made.predict_proba(test).argmax(axis=1), truth)
    assert made.version.endswith("told_the_answer")


def test_the_true_rule_gives_probabilities() -> None:
    """By the engines: the first digit of a sum is the convolution of the digits' probabilities."""
    test = seen("addition:digits=2,test=3", "test", track="pretrained")
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(10), (6, 2)).astype(np.float32)
    test._predictions = Predictions(p, np.zeros((6, 2), np.bool_))
    said = registry.create("learner", "true_rule:engine=exact", seed=0).fit(test).predict_proba(test)
    for row in (0, 2, 4):
        sums = np.convolve(p[row, 0], p[row, 1])
        wrapped = [sums[d] + (sums[d + 10] if d < 9 else 0) for d in range(10)]
        assert said[row] == pytest.approx(wrapped, abs=1e-4)
    assert said.sum(axis=1) == pytest.approx(np.ones(6), abs=1e-3)


def test_a_task_without_a_true_rule_is_a_sentence() -> None:
    with pytest.raises(UserError, match="true_rule: the rule that labels the data of zoo is unknown"):
        registry.create("learner", "true_rule", seed=0).fit(seen("zoo", "train", "20", "pretrained"))


def memory() -> Memory:
    draw = torch.Generator().manual_seed(0)
    made = Memory.empty(2, 4, 3, 2)
    for _ in range(3):
        where = torch.rand((2, 4), generator=draw).softmax(dim=1)
        made = made.free(torch.zeros(2, 2)).written(
            where, torch.zeros(2, 3), torch.rand((2, 3), generator=draw)
        )
    return made


def test_the_allocation_prefers_the_least_used_place() -> None:
    usage = torch.tensor([[0.9, 0.1, 0.5, 1.0]])
    made = Memory.empty(1, 4, 3, 1)
    weights = Memory(made.content, usage, made.precedence, made.link, made.write, made.reads).allocation()
    expected = [0.1 * 0.1 * 0.5, 0.9, 0.5 * 0.1, 0.0]
    assert weights[0].tolist() == pytest.approx(expected, abs=1e-4)


def test_the_links_lead_from_one_write_to_the_next() -> None:
    made = Memory.empty(1, 3, 2, 1)
    for place in (2, 0, 1):
        where = torch.nn.functional.one_hot(torch.tensor([place]), 3).float()
        made = made.written(where, torch.ones(1, 2), torch.full((1, 2), float(place)))
    assert made.link[0, 0, 2] == 1 and made.link[0, 1, 0] == 1 and made.link.sum() == 2
    at_first = torch.tensor([[[0.0, 0.0, 1.0]]])
    held = Memory(made.content, made.usage, made.precedence, made.link, made.write, at_first)
    forward = torch.tensor([[[0.0, 0.0, 1.0]]])
    ahead = held.read(forward, torch.zeros(1, 1, 3)).reads
    assert ahead[0, 0].tolist() == [1, 0, 0]
    back = Memory(made.content, made.usage, made.precedence, made.link, made.write, ahead)
    assert back.read(torch.tensor([[[1.0, 0.0, 0.0]]]), torch.zeros(1, 1, 3)).reads[0, 0].tolist() == [
        0,
        0,
        1,
    ]


def test_weights_stay_in_the_simplex() -> None:
    made = memory()
    assert (made.usage >= 0).all() and (made.usage <= 1).all()
    assert (made.link.sum(dim=1) <= 1 + 1e-6).all() and (made.link.sum(dim=2) <= 1 + 1e-6).all()
    assert (made.allocation().sum(dim=1) <= 1 + 1e-6).all()
    found = made.lookup(torch.rand(2, 2, 3), torch.ones(2, 2))
    assert found.sum(dim=2).flatten().tolist() == pytest.approx([1] * 4)


def test_all_parts_of_the_dnc_learn() -> None:
    net = DNC(5, 3, 8, places=4, width=3, heads=2)
    net(torch.rand(2, 6, 5)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())
