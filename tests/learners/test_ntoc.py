"""NTOC: its circuit finds the rule of addition, and the learner trains, resumes and writes rules."""

from pathlib import Path

import numpy as np
import pytest
import torch
from learners.views import seen

from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.data.splits import make_source, make_split, symbolic_split
from nsl_bench.learners import perceivers
from nsl_bench.learners.base import hypothesis_of
from nsl_bench.learners.papers.ntoc.circuit import TableCircuit, Traces, ends, literals, program
from nsl_bench.learners.papers.ntoc.learner import NTOC
from nsl_bench.learners.view import TrackError
from nsl_bench.logic.inference.crisp import crisp_labels


def test_the_circuit_is_a_weighted_model_count() -> None:
    """Against the sum over all worlds, memories and answers, one by one."""
    circuit = TableCircuit((3, 2), 4, 2, seed=1)
    draw = torch.Generator().manual_seed(0)
    p, q, came, went = (torch.rand((5, k), generator=draw, dtype=torch.float64) for k in (3, 2, 2, 2))
    answer = torch.tensor([0, 3, 1, 2, 2])
    logs = [literals(one) for one in (p, q, came, went)]
    passed = circuit.explain(circuit.worlds_of(logs[:2]), logs[2], answer, logs[3], flow=True)
    x, y, m, o = (one.exp() for one in logs)
    for n in range(5):
        terms = {
            (a * 2 + b, i, j): float(
                x[n, a] * y[n, b] * m[n, i] * o[n, j] * circuit.theta[a * 2 + b, i, answer[n], j]
            )
            for a in range(3)
            for b in range(2)
            for i in range(2)
            for j in range(2)
        }
        assert float(passed.joint[n]) == pytest.approx(np.log(sum(terms.values())))
        assert float(passed.symbols[n]) == pytest.approx(np.log(float(x[n].sum() * y[n].sum() * m[n].sum())))
    assert float(passed.flow.sum()) == pytest.approx(5)


def test_literals_say_one_value_and_no_other() -> None:
    found = literals(torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64)).exp()
    assert found.tolist() == pytest.approx([0.7 * 0.8 * 0.9, 0.3 * 0.2 * 0.9, 0.3 * 0.8 * 0.1])


def test_a_step_of_learning_moves_weights_to_the_flow() -> None:
    circuit = TableCircuit((2,), 2, 1)
    before = circuit.theta.clone()
    flow = torch.zeros_like(before)
    flow[0, 0, 1, 0] = 3
    circuit.learn(flow, 0.5)
    assert circuit.theta[0, 0].flatten().tolist() == pytest.approx(
        (0.5 * before[0, 0].flatten() + 0.5 * torch.tensor([0.0, 1.0])).tolist()
    )
    assert torch.equal(circuit.theta[1], before[1])


BASE = 3


def simulated(n: int, length: int, right: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Probabilities [n, length, 2, BASE] of digits, a share of them right, and the sums' digits."""
    rng = np.random.default_rng(0)
    digits = rng.integers(0, BASE, (n, length, 2))
    answers, carry = np.zeros((n, length), np.int64), np.zeros(n, np.int64)
    for step in range(length):
        total = digits[:, step].sum(axis=1) + carry
        answers[:, step], carry = total % BASE, total // BASE
    wrong = rng.random(digits.shape) >= right
    shown = np.where(wrong, (digits + rng.integers(1, BASE, digits.shape)) % BASE, digits)
    probabilities = np.full((*digits.shape, BASE), (1 - right) / (BASE - 1))
    np.put_along_axis(probabilities, shown[..., None], right, axis=-1)
    return torch.as_tensor(probabilities).float(), torch.as_tensor(answers)


def test_the_circuit_finds_addition_in_noisy_digits() -> None:
    """90 % of the digits are right, and the carry is in no example; each likeliest entry is a sum."""
    n = 1000
    seen, answers = simulated(n, 3, 0.9)
    circuit, traces = (
        TableCircuit((BASE, BASE), BASE, 2),
        Traces(torch.arange(2 * n).reshape(n, 2), 2, 0.02, 0),
    )
    worlds = circuit.worlds_of([literals(seen[:, :, k].flatten(0, 1)) for k in (0, 1)]).reshape(n, 3, -1)
    order = torch.Generator().manual_seed(0)
    for _ in range(35):
        for rows in torch.randperm(n, generator=order).split(50):
            latent = traces.take(rows)
            came, went = ends(torch.tensor([1.0, 0.0]).expand(len(rows), 2), latent)
            passed = circuit.explain(
                worlds[rows].flatten(0, 1), came, answers[rows].flatten(), went, flow=True
            )
            (passed.symbols - passed.joint).sum().backward()
            traces.move(rows, latent.grad)
            circuit.learn(passed.flow, 0.02)
    best = circuit.theta.flatten(2).argmax(dim=2)
    total = torch.tensor([[a + b + carry for carry in (0, 1)] for a in range(BASE) for b in range(BASE)])
    assert torch.equal(best, total % BASE * 2 + total // BASE)


def exact_addition() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    theta = np.zeros((100, 2, 10, 2))
    for a in range(10):
        for b in range(10):
            for carry in range(2):
                total = a + b + carry
                theta[a * 10 + b, carry, total % 10, total // 10] = 1
    return theta


def test_an_exact_circuit_becomes_an_exact_program() -> None:
    view = seen("addition:digits=5", "train", "40")
    rules = program(exact_addition(), (10, 10), view)
    assert "entry(3,9,1,3,1)." in rules
    task = registry.create("benchmark", "addition:digits=5")
    split = symbolic_split(task, "train", "40")
    contexts = task.contexts(split.concepts, split.metadata, split.steps)
    assert np.array_equal(crisp_labels(rules, task.background, contexts, task.labels), split.labels)


def test_it_trains_a_perceiver_and_answers_longer_numbers() -> None:
    learner = NTOC(epochs=1, pretraining=20, batch=32)
    learner.fit(seen("addition", "train", "40"))
    test = seen("addition:digits=5", "test")
    said = learner.predict_proba(test)
    assert said.shape == (len(test), 10) and np.allclose(said.sum(axis=1), 1)
    task = registry.create("benchmark", "addition:digits=5")
    truth = make_split(task, make_source(task), "test").concepts
    assert (learner.predict_concepts(test).argmax(axis=2) == truth).mean() > 0.5
    told = seen("addition:digits=5", "test", truth=True)
    assert learner.predict_proba(told).shape == (len(test), 10)
    assert hypothesis_of(learner) is not None


def test_answer_and_memory_can_be_independent() -> None:
    """Weights stay normalised products; all but the answer is as likely as all answers together."""
    circuit = TableCircuit((3, 2), 4, 3, seed=1, apart=True)
    draw = torch.Generator().manual_seed(0)
    p, q, came, went = (torch.rand((6, k), generator=draw, dtype=torch.float64) for k in (3, 2, 3, 3))
    worlds = circuit.worlds_of([literals(p), literals(q)])
    ends = literals(came), literals(went)
    for _ in range(300):
        answer = torch.randint(0, 4, (6,), generator=draw)
        passed = circuit.explain(worlds, ends[0], answer, ends[1], flow=True)
        circuit.learn(passed.flow, 0.1)
    theta = circuit.theta
    torch.testing.assert_close(theta.sum(dim=(2, 3)), torch.ones(6, 3, dtype=theta.dtype))
    product = theta.sum(dim=3, keepdim=True) * theta.sum(dim=2, keepdim=True)
    torch.testing.assert_close(theta, product)
    answers = [circuit.explain(worlds, ends[0], torch.full((6,), k), ends[1]) for k in range(4)]
    together = torch.stack([one.joint for one in answers]).logsumexp(dim=0)
    torch.testing.assert_close(answers[0].unanswered, together)


def test_what_few_examples_reach_explains_nothing_where_answer_and_memory_are_independent() -> None:
    """A product's marginals follow its flow and a pseudocount of 0.1, as in the published code."""
    circuit = TableCircuit((2,), 2, 4, apart=True)
    flow = torch.zeros(2, 4, 2, 4, dtype=torch.float64)
    flow[0, 0, 1, 2] = 100.0
    flow[1, 3, 1, 2] = 0.001
    circuit.learn(flow, 1.0)
    expected = torch.tensor([0.05, 100.05], dtype=torch.float64) / 100.1
    torch.testing.assert_close(circuit.theta[0, 0].sum(dim=1), expected)
    rare = torch.tensor([0.025, 0.025, 0.026, 0.025], dtype=torch.float64) / 0.101
    torch.testing.assert_close(circuit.theta[1, 3].sum(dim=0), rare)


def test_a_shared_memory_takes_a_step_for_each_sequence() -> None:
    """As one Adam after the other, with the gradients that all sequences have of the memory they share."""
    shared = torch.tensor([[0, 1], [2, 1], [0, 1], [0, 3]])
    gradients = torch.rand((4, 2, 2), generator=torch.Generator().manual_seed(3)) - 0.5
    traces = Traces(shared, 2, 0.05, 0)
    start = traces.take(torch.arange(4)).detach().clone()
    assert torch.equal(start[0, 0], start[2, 0]) and not torch.equal(start[0, 0], start[1, 0])
    traces.move(torch.arange(4), gradients)
    moved = traces.take(torch.arange(4)).detach()
    for number in range(4):
        row, step = (shared == number).nonzero()[0].tolist()
        value = start[row, step].clone().requires_grad_()
        adam = torch.optim.Adam([value], lr=0.05)
        for r, t in (shared == number).nonzero().tolist():
            value.grad = gradients[r, t]
            adam.step()
        torch.testing.assert_close(moved[row, step], value.detach())


def test_steps_of_a_tower_that_look_alike_share_their_memory() -> None:
    learner = NTOC(epochs=1, pretraining=1)
    learner.fit(seen("hanoi:samples=8", "train", "200"))
    shared = learner._traces.shared
    assert shared.shape == (200, 2) and 20 <= int(shared.max()) + 1 <= 31  # of the tower's 31 states


def test_hanoi_is_seen_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = NTOC(epochs=1, pretraining=1)
    train = seen("hanoi:test=4,samples=16", "train", "8")
    assert len(train.few_labels.targets) == 16
    learner.fit(train)
    assert learner.circuit_.theta.shape == (8, 6, 6, 6)
    for name in ("hanoi:test=4", "hanoi:disks=7,window=5,test=4"):
        test = seen(name, "test")
        assert learner.predict_proba(test).shape == (len(test), 6)
        assert learner.predict_proba(seen(name, "test", truth=True)).shape == (len(test), 6)
    assert learner.predict_concepts(test) is None
    whole = learner.predict_proba(test)
    monkeypatch.setattr(perceivers, "_CANVASES", 3)
    np.testing.assert_allclose(learner.predict_proba(test), whole, atol=1e-3)


TABLE = {"epochs": 3, "batch": 16, "pretraining": 1}
SEARCH = {"perceiver": "given", "epochs": 4, "batch": 20, "search": True, "rounds": 2}


@pytest.mark.parametrize(("options", "damaged"), [(TABLE, False), (TABLE, True), (SEARCH, False)])
def test_an_interrupted_training_goes_on(
    options: dict[str, object], damaged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"track": "pretrained", "truth": True} if options is SEARCH else {}
    train, test = seen("addition", "train", "40", **given), seen("addition:test=20", "test", **given)
    whole = NTOC(**options).fit(train).predict_proba(test)
    learn, calls = NTOC._learn, []

    def stop(self: NTOC, *given: object) -> None:
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        learn(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(NTOC, "_learn", stop)
    with pytest.raises(KeyboardInterrupt):
        NTOC(**options, checkpoint=tmp_path).fit(train)
    assert len(list(tmp_path.glob("*.safetensors"))) == 1
    monkeypatch.setattr(NTOC, "_learn", learn)
    if damaged:  # then it begins again
        (file,) = tmp_path.glob("ntoc-*.safetensors")
        content = bytearray(file.read_bytes())
        for place in range(len(content) // 2, len(content), 97):
            content[place] ^= 16
        file.write_bytes(content)
    resumed = NTOC(**options, checkpoint=tmp_path).fit(train)
    assert np.array_equal(resumed.predict_proba(test), whole) and resumed.rules().rules
    assert not list(tmp_path.glob("*.safetensors"))


def test_a_learner_with_few_labels_gets_no_concepts_of_examples() -> None:
    train, test = seen("addition", "train", "40"), seen("addition", "test")
    few = train.few_labels
    assert few.images.shape == (100, 1, 28, 28, 1) and few.values == (10,)
    assert np.bincount(few.targets[:, 0]).tolist() == [10] * 10
    for view in (train, test):
        with pytest.raises(TrackError, match="a few labelled images, not concepts"):
            _ = view.concepts
    with pytest.raises(TrackError, match="test views of the track 'few_labels' have none"):
        _ = test.few_labels


def test_labelled_images_are_in_no_example() -> None:
    task = registry.create("benchmark", "addition")
    source = make_source(task)
    few = seen("addition", "train", "320").few_labels.images[:, 0]
    pools = [source.render(part, np.arange(len(source.labels(part)))) for part in ("a", "b")]  # type: ignore[arg-type]
    examples = {image.tobytes() for images in pools for image in images}
    assert not examples & {image.tobytes() for image in few}


def test_what_cannot_be_learned_is_one_sentence() -> None:
    with pytest.raises(UserError, match=r"follow_suit would have more than 20,000,000 weights"):
        NTOC("given").fit(seen("follow_suit", "train", "40", track="pretrained", truth=True))
    with pytest.raises(UserError, match="perceiver=given requires a task whose symbols are the concepts"):
        NTOC("given").fit(seen("hanoi", "train", "4", track="pretrained", truth=True))


def test_a_pass_shows_the_next_sequences_of_a_train_set(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[list[int]] = []
    monkeypatch.setattr(NTOC, "_learn", lambda *given: shown.append(sorted(given[4].tolist())))
    NTOC("given", epochs=3, batch=20, pass_size=16).fit(seen("addition", "train", "40", "pretrained"))
    assert shown == [[*range(16)], [*range(16, 32)], [*range(8), *range(32, 40)]]


def test_validation_answers_decide_when_training_stops_and_which_start_stays() -> None:
    train, validation = (seen("addition", part, "40", "pretrained") for part in ("train", "validation"))
    usual = {"perceiver": "given", "batch": 20}
    losses = iter([3.0, 1.0, 2.0, 2.5, 4.0])
    stopped = NTOC(**usual, epochs=9, patience=2)
    stopped._loss = lambda _: next(losses)
    plain = NTOC(**usual, epochs=2).fit(train)
    assert torch.equal(stopped.fit(train).circuit_.theta, plain.circuit_.theta) and stopped.epochs_ == 4
    assert stopped.takes_validation and not plain.takes_validation
    several = NTOC(**usual, epochs=2, starts=3).fit(train, validation)
    assert several._loss(validation) < plain._loss(validation) and several.seed == plain.seed
