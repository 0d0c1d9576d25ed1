"""Scores of baselines against dense twins: CSLS, L1, the overlap of times, and ranking on a square."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.decode import similarity as similarity_module
from dualmatch.decode.similarity import HeldSimilarity
from dualmatch.research.baselines import scores
from dualmatch.research.baselines.scores import (
    ManhattanSimilarity,
    SparseScores,
    cosine,
    plan_of,
    ranked,
    time_overlap,
)


def dense_csls(s: NDArray[np.float32], k: int) -> NDArray[np.float64]:
    rows = np.sort(s, axis=1)[:, -k:].mean(axis=1)
    columns = np.sort(s, axis=0)[-k:].mean(axis=0)
    return 2.0 * s - rows[:, None] - columns


def dense_ranks(values: NDArray[np.floating], pairs: NDArray[np.integer]) -> NDArray[np.float64]:
    own = values[pairs[:, 0], pairs[:, 1]][:, None]
    rows = values[pairs[:, 0]]
    return 1 + (rows > own).sum(1) + ((rows == own).sum(1) - 1) / 2


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30), st.integers(1, 12))
def test_csls_is_its_dense_twin_in_blocks_too(seed: int, n_source: int, n_target: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    s = rng.random((n_source, n_target), dtype=np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scores, "row_blocks", lambda shape: similarity_module.row_blocks(shape, 4 * 3 * n_target))
        plan = ranked(HeldSimilarity(s.copy()), k)
        found = np.concatenate([values for _, values in plan.blocks()])
    np.testing.assert_allclose(found, dense_csls(s, k), atol=2e-6)


@pytest.mark.parametrize("rule", ["greedy", "csls", "sinkhorn"])
def test_the_square_is_ranked_as_if_there_were_nothing_else(rule: scores.Rule) -> None:
    """The `paper` protocol recomputes a method's own rule on the square of the tested pairs."""
    rng = np.random.default_rng(0)
    s = rng.random((40, 35), dtype=np.float32)
    rows, columns = rng.permutation(40)[:20], rng.permutation(35)[:20]
    square = plan_of(HeldSimilarity(s), rule, 2**28).restricted(rows, columns)
    alone = plan_of(HeldSimilarity(s[rows][:, columns]), rule, 2**28)
    diagonal = np.repeat(np.arange(20)[:, None], 2, axis=1)
    for one, other in zip(square.ranks(diagonal), alone.ranks(diagonal), strict=True):
        np.testing.assert_array_equal(one, other)


def test_ranks_of_negative_scores() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((12, 5)).astype(np.float32), rng.standard_normal((9, 5)).astype(np.float32)
    expected = -np.abs(x[:, None] - y).sum(2)
    plan = plan_of(ManhattanSimilarity(x, y), "greedy", 2**28)
    pairs = np.stack([np.arange(9), rng.permutation(9)], axis=1)
    forward, backward = plan.ranks(pairs)
    np.testing.assert_array_equal(forward, dense_ranks(expected, pairs))
    np.testing.assert_array_equal(backward, dense_ranks(expected.T, pairs[:, ::-1]))
    best = plan.best()
    np.testing.assert_array_equal(best.column_of_row, expected.argmax(1))
    np.testing.assert_array_equal(best.row_of_column, expected.argmax(0))


def test_an_entity_without_a_vector_is_like_nobody() -> None:
    similarity = cosine(np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]]), 2)
    np.testing.assert_allclose(similarity.rows(np.arange(2)), [[0.6], [0.0]], atol=1e-7)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=60))
def test_overlap_of_times_is_its_dense_twin(facts: list[tuple[int, int]]) -> None:
    entity, time = (np.array([fact[side] for fact in facts], dtype=np.int64) for side in (0, 1))
    counts = np.zeros((7, 4))
    np.add.at(counts, (entity, time), 1)
    a, b = counts[:4], counts[4:]
    common = np.minimum(a[:, None], b).sum(2)
    expected = 2 * common / np.maximum(a.sum(1)[:, None] + b.sum(1), 1)
    np.testing.assert_allclose(time_overlap(entity, time, 7, 4).rows(np.arange(4)), expected, atol=1e-6)


def test_pairs_without_a_score_are_tied_behind_the_others() -> None:
    plan = SparseScores(sp.csr_array(np.array([[0.9, 0.2, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])))
    forward, _ = plan.ranks(np.array([[0, 1], [1, 3]]))
    np.testing.assert_array_equal(forward, [2.0, 2.5])
    assert plan.restricted(np.array([0]), np.array([1, 2])).ranks(np.array([[0, 0]]))[0] == [1.0]
