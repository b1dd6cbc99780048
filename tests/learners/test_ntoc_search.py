"""The rule search of NTOC: splits keep the meaning, pruning keeps what samples need, rules are found."""

import itertools
import math

import numpy as np
import pytest
import torch

from nsl_bench.learners.papers.ntoc.circuit import Traces, ends, literals
from nsl_bench.learners.papers.ntoc.search import (
    Facts,
    Found,
    Product,
    Search,
    SearchedCircuit,
    facts_of,
    search_epochs,
    some_of,
    split,
    too_costly,
)

VALUES, MEMORY, ANSWERS = (3, 2), 2, 3


def random_facts(n: int, seed: int = 0) -> Facts:
    draw = np.random.default_rng(seed)
    worlds, came, went = (draw.dirichlet(np.ones(k), n) for k in (math.prod(VALUES), MEMORY, MEMORY))
    return Facts(worlds, came, draw.integers(0, ANSWERS, n), went)


def listed(product: Product) -> set[tuple[int, ...]]:
    """The worlds of a product, one by one."""
    return set(itertools.product(*product))


def counts(facts: Facts, worlds: set[tuple[int, ...]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Weighted model counts of a set of worlds, summed one by one."""
    found = np.zeros(len(facts.answer))
    for a, b, came, answer, went in worlds:
        shown = facts.worlds[:, a * VALUES[1] + b] * facts.came[:, came] * facts.went[:, went]
        found += shown * (facts.answer == answer)
    return found


def exact(table: dict[tuple[int, ...], tuple[int, int]], values: tuple[int, ...], answers: int) -> Facts:
    """Facts in which everything is certain: ten samples of each row of a table."""
    keys = [key for key in table for _ in range(10)]
    worlds = np.eye(math.prod(values))[[np.ravel_multi_index(key[:-1], values) for key in keys]]
    memory = 1 + max(key[-1] for key in keys)
    came, went = np.eye(memory)[[key[-1] for key in keys]], np.eye(memory)[[table[key][1] for key in keys]]
    return Facts(worlds, came, np.array([table[key][0] for key in keys]), went)


def learned(
    seen: torch.Tensor, answers: torch.Tensor, first: torch.Tensor, n_answers: int, epochs: int, rounds: int
) -> tuple[SearchedCircuit, list[Found]]:
    """Rounds of search and expectation maximisation on sequences [n, steps, symbols, values]."""
    n, steps, symbols, values = seen.shape
    memory = first.shape[1]
    circuit = SearchedCircuit((values,) * symbols, n_answers, memory)
    traces = Traces(torch.arange(n * (steps - 1)).reshape(n, -1), memory, 0.02, 0)
    worlds = circuit.worlds_of([literals(seen[:, :, k].flatten(0, 1)) for k in range(symbols)])
    worlds = worlds.reshape(n, steps, -1)
    order, found = torch.Generator().manual_seed(0), []
    for epoch in range(epochs):
        if epoch in search_epochs(epochs, rounds):
            came, went = ends(first, traces.take(torch.arange(n)).detach())
            found.append(circuit.search(facts_of(worlds.flatten(0, 1), came, answers.flatten(), went)))
        for rows in torch.randperm(n, generator=order).split(50):
            latent = traces.take(rows)
            came, went = ends(first[rows], latent)
            passed = circuit.explain(
                worlds[rows].flatten(0, 1), came, answers[rows].flatten(), went, flow=True
            )
            (passed.symbols - passed.joint).sum().backward()
            traces.move(rows, latent.grad)
            circuit.learn(passed.flow, 0.05)
    return circuit, found


def test_a_split_keeps_the_meaning() -> None:
    facts = random_facts(20)
    product: Product = ((0, 2), (0, 1), (0, 1), (0, 1, 2), (1,))
    for variable in range(4):
        parts = split(product, variable)
        assert len(parts) == len(product[variable])
        assert sum(len(listed(one)) for one in parts) == len(listed(product))
        assert set().union(*map(listed, parts)) == listed(product)
        whole = counts(facts, listed(product))
        assert sum(counts(facts, listed(one)) for one in parts) == pytest.approx(whole)


def test_needs_and_loss_are_those_of_all_worlds_one_by_one() -> None:
    facts = random_facts(30)
    allowed = np.random.default_rng(1).random((6, MEMORY, ANSWERS, MEMORY)) < 0.6
    needs, loss = facts.needs(allowed)
    names = [*itertools.product(*(range(n) for n in (*VALUES, MEMORY, ANSWERS, MEMORY)))]
    there = {world for world, yes in zip(names, allowed.flat, strict=True) if yes}
    all_of_it = counts(facts, there)
    assert loss == pytest.approx(-np.log(all_of_it).sum())
    for world, need in zip(names, needs.flat, strict=True):
        rise = np.log(all_of_it) - np.log(counts(facts, there - {world}))
        assert need == pytest.approx((1 - np.exp(-rise)).sum(), abs=1e-9)


def test_a_tautology_costs_nothing() -> None:
    needs, loss = random_facts(10).needs(np.ones((6, MEMORY, ANSWERS, MEMORY), np.bool_))
    assert loss == pytest.approx(0, abs=1e-9) and needs.sum() == pytest.approx(10)


def test_products_are_disjoint_and_their_count_is_the_model_count() -> None:
    keys = itertools.product(range(3), range(2), range(2))
    table = {key: (sum(key) % 3, int(sum(key) > 2)) for key in keys}
    found = Search(exact(table, VALUES, ANSWERS), VALUES, ANSWERS).run()
    worlds = [world for one in found.products for world in listed(one)]
    assert len(worlds) == len(set(worlds)) == found.count
    shaped = found.allowed.reshape(*VALUES, MEMORY, ANSWERS, MEMORY)
    assert set(worlds) == set(zip(*map(np.ndarray.tolist, np.nonzero(shaped)), strict=True))
    assert set(worlds) == {(*key, *said) for key, said in table.items()}
    assert found.ended == "complete" and found.loss == pytest.approx(0, abs=1e-6)


def test_pruning_keeps_what_samples_need() -> None:
    """A product over two combinations: 100 samples say 0, 40 say 1, 1 says 2."""
    answer = np.repeat([0, 1, 2], [100, 40, 1])
    facts = Facts(np.full((141, 2), 0.5), np.ones((141, 1)), answer, np.ones((141, 1)))
    search = Search(facts, (2,), 4)
    search.run()
    start: Product = ((0, 1), (0,), (0, 1, 2, 3), (0,))
    search.needs, _ = search._measured(np.ones(search.shape, np.bool_))
    assert search.pruned(start) == ((0, 1), (0,), (0, 1), (0,))
    assert search.pruned(((0,), *start[1:])) == ((0,), (0,), (0, 1), (0,))


def test_what_no_sample_shows_stays_open() -> None:
    table = {(0, 0): (1, 0), (1, 0): (0, 0)}
    found = Search(exact(table, (3,), 2), (3,), 2).run()
    assert found.allowed[:, 0, :, 0].tolist() == [[False, True], [True, False], [True, True]]


def test_the_search_stops_where_pruning_costs_more_than_before() -> None:
    # 10 of 100 worlds went for 1 nat each; the next 10 may cost 5 times the average of all 20.
    assert not too_costly(10, 20, 100, 90, 80, 5)
    assert not too_costly(0, 0, 100, 90, 80, 5)
    assert not too_costly(10, 10, 100, 90, 90, 5)
    assert too_costly(10, 200, 100, 90, 80, 1.5)
    # I(g_t-1, g_t) = 190 / 1, I(g_0, g_t) = 200 / 11: more than 5 times, but not more than 11 times.
    assert too_costly(10, 200, 100, 90, 89, 5)
    assert not too_costly(10, 200, 100, 90, 89, 11)


def test_an_iteration_that_costs_too_much_is_undone() -> None:
    """Symbols tell the answer exactly, the memory is unclear, and pruning it costs too much."""
    worlds = np.repeat(np.eye(40), 20, axis=0)
    answer = np.repeat(np.arange(40) % 10, 20)
    came, went = np.full((800, 2), 0.5), np.full((800, 2), [0.9, 0.1])
    found = Search(Facts(worlds, came, answer, went), (40,), 10).run()
    assert found.ended == "cost"
    assert found.count == 40 * 2 * 2 and found.loss == pytest.approx(0, abs=1e-6)


def parity(n: int, steps: int) -> tuple[torch.Tensor, torch.Tensor]:
    bits = np.random.default_rng(0).integers(0, 2, (n, steps, 2))
    answers, carry = np.zeros((n, steps), np.int64), np.zeros(n, np.int64)
    for step in range(steps):
        total = bits[:, step].sum(axis=1) + carry
        answers[:, step], carry = total % 2, total // 2
    return torch.as_tensor(np.eye(2)[bits]).float(), torch.as_tensor(answers)


def test_binary_addition_is_found_exactly() -> None:
    """The sum of two bits is a parity, of which no bit alone tells anything; the carry is in no sample."""
    seen, answers = parity(600, 3)
    first = torch.tensor([1.0, 0.0]).expand(600, 2)
    circuit, found = learned(seen, answers, first, 2, 40, 4)
    total = torch.tensor([[a + b + carry for carry in (0, 1)] for a in (0, 1) for b in (0, 1)])
    assert torch.equal(circuit.theta.flatten(2).argmax(dim=2), total % 2 * 2 + total // 2)
    assert 8 <= found[-1].count < found[0].count < 32
    assert torch.equal(circuit.theta > 0, torch.as_tensor(found[-1].allowed))


def test_a_table_like_that_of_hanoi_is_found_exactly() -> None:
    """Three comparisons and the previous move, which is known before the first step only, tell the move."""
    draw = np.random.default_rng(0)
    rule = draw.integers(0, 6, (2, 2, 2, 6))
    seen = draw.integers(0, 2, (1200, 3, 3))
    previous = draw.integers(0, 6, 1200)
    moves, last = np.zeros((1200, 3), np.int64), previous
    for step in range(3):
        last = moves[:, step] = rule[(*seen[:, step].T, last)]
    first = torch.as_tensor(np.eye(6)[previous]).float()
    circuit, _ = learned(torch.as_tensor(np.eye(2)[seen]).float(), torch.as_tensor(moves), first, 6, 16, 2)
    assert np.array_equal(circuit.theta.sum(dim=3).argmax(dim=2).numpy(), rule.reshape(8, 6))


def test_a_symbol_that_says_nothing_is_not_split() -> None:
    """The first symbol tells the answer; the rule holds for a value of the second that no sample shows."""
    circuit = SearchedCircuit((2, 3), 2, 1)
    shown = [0, 1, 3, 4]
    worlds, ones = np.repeat(np.eye(6)[shown], 20, axis=0), np.ones((80, 1))
    found = circuit.search(Facts(worlds, ones, np.repeat([0, 0, 1, 1], 20), ones))
    assert found.splits == 1 and len(found.products) == 2
    assert circuit.theta[:, 0, :, 0].argmax(dim=1).tolist() == [0, 0, 0, 1, 1, 1]
    assert (circuit.theta > 0).sum() == found.count == 6


def test_the_same_facts_give_the_same_search() -> None:
    one, two = (Search(random_facts(200), VALUES, ANSWERS).run() for _ in range(2))
    assert one.products == two.products and one.loss == two.loss


def test_a_search_looks_at_so_many_sequences() -> None:
    assert some_of(50, 3, 100, 0).tolist() == some_of(50, 3, 100, 0).tolist()
    assert sorted(some_of(50, 3, 100, 0)) == list(range(50))
    assert len(some_of(20_000, 3, 100, 0)) == 10_000
    assert len(some_of(20_000, 4, 100_000, 0)) == 100


def test_rounds_share_the_epochs() -> None:
    assert search_epochs(70, 3) == [0, 23, 46]
    assert search_epochs(2, 5) == [0, 1]
