"""One-to-one matching against all matchings, one by one; exact on trees, and close to it elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualmatch.decode import message_passing, one_to_one
from dualmatch.decode.one_to_one import LARGEST_LOG_WEIGHT, Candidates, Groups, Marginals, match, match_by_row
from dualmatch.engine import InProcess

NOTHING = np.zeros(0)


def candidates_of(weight: np.ndarray) -> tuple[Candidates, np.ndarray]:
    """The finite entries of a matrix of log-weights."""
    row, column = np.nonzero(np.isfinite(weight))
    return Candidates(row, column, weight.shape), weight[row, column]


def matched(
    weight: np.ndarray, elsewhere: tuple[np.ndarray, np.ndarray] | None = None, iterations: int = 500
) -> Marginals:
    candidates, log_weight = candidates_of(weight)
    none = np.zeros(weight.shape[0]), np.zeros(weight.shape[1])
    return match(candidates, log_weight, none if elsewhere is None else elsewhere, iterations=iterations)


def matchings(
    allowed: np.ndarray, row: int = 0, taken: frozenset[int] = frozenset()
) -> Iterator[list[tuple[int, int]]]:
    """All sets of pairs in which no row and no column stands twice."""
    if row == len(allowed):
        yield []
        return
    for rest in matchings(allowed, row + 1, taken):
        yield rest
    for column in np.flatnonzero(allowed[row]).tolist():
        if column not in taken:
            for rest in matchings(allowed, row + 1, taken | {column}):
                yield [(row, column), *rest]


def enumerated(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Chance of every pair, and of every row and column to be alone; weights are logarithms."""
    chance, total = np.zeros(weight.shape), 0.0
    for pairs in matchings(np.isfinite(weight)):
        value = np.exp(sum(weight[pair] for pair in pairs))
        total += value
        for pair in pairs:
            chance[pair] += value
    chance /= total
    return chance, 1 - chance.sum(axis=1), 1 - chance.sum(axis=0)


def random_tree(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Log-weights on a random spanning tree of rows and columns."""
    weight = np.full(shape, -np.inf)
    nodes = [("row", 0)]
    left = [("row", i) for i in range(1, shape[0])] + [("column", j) for j in range(shape[1])]
    while left:
        kind, number = left.pop(rng.integers(len(left)))
        others = [other for other_kind, other in nodes if other_kind != kind]
        if not others:
            left.append((kind, number))
            continue
        other = others[rng.integers(len(others))]
        weight[(number, other) if kind == "row" else (other, number)] = rng.normal(1.0, 2.0)
        nodes.append((kind, number))
    return weight


@pytest.mark.parametrize("seed", range(10))
def test_chances_are_exact_on_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = random_tree(rng, (5, 6))
    found = matched(weight)
    chance, alone_row, alone_column = enumerated(weight)
    assert found.converged
    assert found.probability == pytest.approx(chance[np.isfinite(weight)], abs=1e-3)
    assert found.alone[0] == pytest.approx(alone_row, abs=1e-3)
    assert found.alone[1] == pytest.approx(alone_column, abs=1e-3)


@pytest.mark.parametrize("seed", range(10))
def test_chances_are_close_where_everything_is_a_rival_of_everything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.normal(0.0, 2.0, (5, 5))
    found = matched(weight)
    chance, alone_row, _ = enumerated(weight)
    error = np.abs(found.probability - chance.ravel())
    assert error.max() < 0.1
    assert error.mean() < 0.03
    assert found.alone[0] == pytest.approx(alone_row, abs=0.1)
    independent = 1 / (1 + np.exp(-weight.ravel()))
    assert error.mean() < 0.25 * np.abs(independent - chance.ravel()).mean()


@pytest.mark.parametrize("seed", range(5))
def test_a_partner_that_is_not_listed_counts_by_its_weight(seed: int) -> None:
    """Pairs that are no candidates weigh the product of two numbers; enumeration takes them all in."""
    rng = np.random.default_rng(seed)
    listed = random_tree(rng, (4, 5))
    elsewhere = rng.random(4) * 0.3, rng.random(5) * 0.3
    everything = np.where(np.isfinite(listed), listed, np.log(np.outer(*elsewhere)))
    chance, alone, _ = enumerated(everything)
    found = matched(listed, elsewhere)
    in_list = np.isfinite(listed)
    assert found.probability == pytest.approx(chance[in_list], abs=0.02)
    assert found.elsewhere[0] == pytest.approx(np.where(in_list, 0.0, chance).sum(axis=1), abs=0.02)
    assert found.elsewhere[1] == pytest.approx(np.where(in_list, 0.0, chance).sum(axis=0), abs=0.02)
    assert found.alone[0] == pytest.approx(alone, abs=0.02)
    assert (found.elsewhere[0] > matched(listed).elsewhere[0]).all()


WEIGHTS = st.integers(0, 2**32 - 1).map(
    lambda seed: np.where(
        np.random.default_rng(seed).random((6, 5)) < 0.5, np.random.default_rng(seed + 1).normal(1, 4, (6, 5)), -np.inf
    )
)


@given(WEIGHTS, st.permutations(range(6)), st.permutations(range(5)))
@settings(max_examples=50, deadline=None)
def test_permuting_rows_and_columns_permutes_the_result(
    weight: np.ndarray, rows: list[int], columns: list[int]
) -> None:
    elsewhere = np.linspace(0.0, 0.5, 6), np.linspace(0.2, 0.0, 5)
    plain = dense(weight, matched(weight, elsewhere).log_odds)
    turned = weight[rows][:, columns]
    found = matched(turned, (elsewhere[0][rows], elsewhere[1][columns]))
    np.testing.assert_allclose(dense(turned, found.log_odds), plain[rows][:, columns], atol=2e-6)


@given(WEIGHTS)
@settings(max_examples=50, deadline=None)
def test_swapping_rows_and_columns_transposes_the_result(weight: np.ndarray) -> None:
    elsewhere = np.linspace(0.0, 0.5, 6), np.linspace(0.2, 0.0, 5)
    forward, backward = matched(weight, elsewhere), matched(weight.T, elsewhere[::-1])
    np.testing.assert_allclose(dense(weight, forward.log_odds), dense(weight.T, backward.log_odds).T, atol=2e-6)
    for side in (0, 1):
        np.testing.assert_allclose(forward.alone[side], backward.alone[1 - side], atol=1e-9)
        np.testing.assert_allclose(forward.elsewhere[side], backward.elsewhere[1 - side], atol=1e-9)


@given(WEIGHTS)
@settings(max_examples=50, deadline=None)
def test_chances_of_a_row_and_of_being_alone_make_one(weight: np.ndarray) -> None:
    found = matched(weight, (np.full(6, 0.1), np.full(5, 0.1)))
    candidates = candidates_of(weight)[0]
    for side, (number, size) in enumerate(((candidates.row, 6), (candidates.column, 5))):
        total = np.bincount(number, found.probability, minlength=size) + found.alone[side] + found.elsewhere[side]
        assert total == pytest.approx(1.0, abs=0.02)


def dense(weight: np.ndarray, values: np.ndarray) -> np.ndarray:
    filled = np.zeros(weight.shape)
    filled[np.isfinite(weight)] = values
    return filled


def test_huge_weights_do_not_overflow() -> None:
    weight = np.array([[5000.0, 4990.0, -np.inf], [4980.0, 3000.0, 1.0], [-np.inf, -5000.0, 900.0]])
    with np.errstate(over="raise", invalid="raise"):
        found = matched(weight)
    assert np.isfinite(found.log_odds).all()
    likely = dense(weight, found.probability)
    assert likely[0, 1] == pytest.approx(1, abs=1e-9)  # with (1, 0) it weighs more than (0, 0) with (1, 1) or (1, 2)
    assert likely[1, 0] == pytest.approx(1, abs=1e-9)
    assert likely[2, 2] == pytest.approx(1, abs=1e-9)
    assert found.log_odds.max() <= LARGEST_LOG_WEIGHT


def test_rivals_a_little_weaker_than_a_huge_one_keep_their_share() -> None:
    weight = np.array([[3000.0, 2999.0]])
    assert matched(weight).probability == pytest.approx([1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))], abs=1e-3)


def test_a_pair_that_weighs_nothing_moves_nobody() -> None:
    weight = np.array([[2.0, -30.0], [-np.inf, 1.0]])
    without = np.where(weight < -8, -np.inf, weight)
    found = dense(weight, matched(weight).log_odds)
    assert found[0, 0] == dense(without, matched(without).log_odds)[0, 0]
    assert found[0, 1] == pytest.approx(np.log(enumerated(weight)[0][0, 1]), abs=1e-3)


def test_going_on_from_messages_ends_at_the_same_place() -> None:
    weight = np.random.default_rng(4).normal(1, 2, (6, 6))
    candidates, values = candidates_of(weight)
    none = np.zeros(6), np.zeros(6)
    whole = match(candidates, values, none, iterations=400)
    part = match(candidates, values, none, iterations=4)
    assert not part.converged
    later = match(candidates, values, none, part.messages, iterations=400)
    assert later.converged
    assert later.probability == pytest.approx(whole.probability, abs=1e-3)


@pytest.mark.parametrize("threads", [1, 2])
def test_parts_give_the_same_bytes_as_the_whole(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    weight = np.where(rng.random((40, 50)) < 0.2, rng.normal(0, 6, (40, 50)), -np.inf)
    weight[3], weight[:, 7] = -np.inf, -np.inf  # entities without a candidate
    candidates, values = candidates_of(weight)
    elsewhere, messages = (rng.random(40), rng.random(50)), (rng.random(len(values)), rng.random(len(values)))
    whole = match(candidates, values, elsewhere, messages, iterations=4)
    for module in (one_to_one, message_passing):
        monkeypatch.setattr(module, "_AT_ONCE", 7)
    parts = match(candidates, values, elsewhere, messages, iterations=4, engine=InProcess(threads=threads))
    for one, other in zip(numbers_of(whole), numbers_of(parts), strict=True):
        np.testing.assert_array_equal(one, other)


def numbers_of(found: Marginals) -> list[np.ndarray]:
    return [found.log_odds, *found.alone, *found.elsewhere, *found.messages]


def test_nothing_to_match() -> None:
    found = match(Candidates(NOTHING.astype(int), NOTHING.astype(int), (2, 3)), NOTHING, (np.zeros(2), np.zeros(3)))
    assert found.converged
    assert [part.tolist() for part in found.alone] == [[1, 1], [1, 1, 1]]
    assert len(found.log_odds) == 0


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_choose_for_themselves(seed: int) -> None:
    """Every pair that is no candidate weighs the product of its row's and its column's number."""
    rng = np.random.default_rng(seed)
    weight = np.where(rng.random((4, 5)) < 0.7, rng.normal(0, 3, (4, 5)), -np.inf)
    candidates, values = candidates_of(weight)
    elsewhere = rng.random(4), rng.random(5)
    odds = np.where(np.isfinite(weight), np.exp(weight), np.outer(*elsewhere))
    chance = odds / (1 + odds.sum(axis=1, keepdims=True))
    listed = np.isfinite(weight)
    found = match_by_row(candidates, values, elsewhere)
    assert found.probability == pytest.approx(chance[listed], abs=1e-6)
    assert found.alone[0] == pytest.approx(1 - chance.sum(axis=1))
    assert found.elsewhere[0] == pytest.approx(np.where(listed, 0, chance).sum(axis=1))
    nobody = np.where(listed, 1 - chance, 1).prod(axis=0)
    beyond = np.where(listed, 0, np.outer(*elsewhere) * found.alone[0][:, None]).sum(axis=0)
    assert found.alone[1] == pytest.approx(nobody / (1 + beyond), abs=1e-6)


def test_sums_without_an_element_lose_nothing_beside_a_huge_one() -> None:
    values = np.array([1e200, 1.0, 2.0, 5.0, 5.0])
    others, total = Groups(np.array([0, 0, 0, 2, 2]), None, 3).without_own(values)
    assert others.tolist() == [3.0, 1e200, 1e200, 5.0, 5.0]
    assert total.tolist() == [1e200, 0.0, 10.0]
    assert Groups(np.array([0, 2]), None, 3).largest(np.array([1.0, -2.0])).tolist() == [1.0, -np.inf, -2.0]
