"""Sparse Sinkhorn with background against the dense one on the same matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from dualmatch.decode.sparse_sinkhorn import sparse_sinkhorn

SHAPES = st.tuples(st.integers(1, 8), st.integers(1, 8))
CANDIDATES = SHAPES.flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.one_of(st.just(0.0), st.floats(0.015625, 1)))
)


def dense_plan(similarity: np.ndarray, sharpness: float, iterations: int) -> np.ndarray:
    """Geometric mean of Sinkhorn with rows first and with columns first."""
    plans = []
    for first in (1, 0):
        plan = np.exp(sharpness * similarity)
        for _ in range(iterations):
            plan /= plan.sum(axis=first, keepdims=True)
            plan /= plan.sum(axis=1 - first, keepdims=True)
        plans.append(plan)
    return np.sqrt(plans[0] * plans[1])


@settings(max_examples=80, deadline=None)
@given(CANDIDATES)
def test_equals_the_dense_twin_on_candidates_and_background(similarity: np.ndarray) -> None:
    plan = sparse_sinkhorn(sparse.csr_array(similarity), 20.0, 10)
    whole = np.outer(plan.u, plan.v)
    candidate = plan.entries.toarray()
    whole = np.where(similarity > 0, candidate, whole)
    np.testing.assert_allclose(whole, dense_plan(similarity, 20.0, 10), rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(CANDIDATES)
def test_the_plan_of_the_transpose_is_the_transpose_of_the_plan(similarity: np.ndarray) -> None:
    plan, swapped = (sparse_sinkhorn(sparse.csr_array(m), 20.0) for m in (similarity, similarity.T))
    np.testing.assert_allclose(swapped.entries.toarray().T, plan.entries.toarray(), rtol=1e-9)


def test_an_entity_with_no_good_candidate_spreads_its_mass() -> None:
    """Plain top-k Sinkhorn would force row 2 on its only, poor candidate; against a background it stays undecided."""
    n = 50
    similarity = np.zeros((n, n))
    similarity[0, 0] = similarity[1, 1] = 0.9
    similarity[2, 5] = 0.02
    entries = sparse_sinkhorn(sparse.csr_array(similarity), 20.0).entries.toarray()
    assert entries[0, 0] > 0.9
    assert entries[2, 5] < 0.1


@settings(max_examples=50, deadline=None)
@given(CANDIDATES, st.data())
def test_ranks_put_all_non_candidates_in_one_tie(similarity: np.ndarray, data: st.DataObject) -> None:
    plan = sparse_sinkhorn(sparse.csr_array(similarity), 5.0)
    score = np.where(similarity > 0, plan.entries.toarray(), 0.0)
    n = min(similarity.shape)
    columns = np.array(data.draw(st.permutations(range(similarity.shape[1]))))[:n]
    pairs = np.stack([np.arange(n), columns], axis=1)
    row_ranks, column_ranks = plan.ranks(pairs)
    for k, (i, j) in enumerate(pairs.tolist()):
        for line, ranks in ((score[i], row_ranks), (score[:, j], column_ranks)):
            own = score[i, j]
            assert ranks[k] == 1 + (line > own).sum() + ((line == own).sum() - 1) / 2


@settings(max_examples=50, deadline=None)
@given(CANDIDATES)
def test_best_is_the_first_largest_candidate(similarity: np.ndarray) -> None:
    plan = sparse_sinkhorn(sparse.csr_array(similarity), 5.0)
    score = np.where(similarity > 0, plan.entries.toarray(), 0.0)
    best = plan.best()
    np.testing.assert_array_equal(best.column_of_row, score.argmax(axis=1))
    np.testing.assert_allclose(best.value_of_row, score.max(axis=1), rtol=1e-6)
    np.testing.assert_array_equal(best.row_of_column, score.argmax(axis=0))


def test_restricted_keeps_the_background() -> None:
    similarity = np.eye(6)
    square = sparse_sinkhorn(sparse.csr_array(similarity), 3.0).restricted(np.array([0, 1]), np.array([0, 2]))
    expected = dense_plan(np.array([[1.0, 0.0], [0.0, 0.0]]), 3.0, 10)
    assert square.entries.toarray()[0, 0] == pytest.approx(expected[0, 0])


def test_a_row_is_not_forced_on_its_list() -> None:
    """One weak candidate does not get all of its row."""
    similarity = sparse.csr_array(np.array([[0.1, 0.0, 0.0], [0.0, 0.9, 0.8], [0.0, 0.0, 0.0]]))
    assert sparse_sinkhorn(similarity, 20.0, 50).entries[0, 0] < 0.8


def test_a_plan_that_still_moves_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    similarity = sparse.csr_array(np.array([[0.9, 0.9, 0.0], [0.0, 0.9, 0.8], [0.2, 0.0, 0.1]]))
    with caplog.at_level("DEBUG", logger="dualmatch.decode.sinkhorn"):
        sparse_sinkhorn(similarity, 20.0, 1000)
        assert not caplog.records
        sparse_sinkhorn(similarity, 20.0, 2)
    assert "has not converged" in caplog.text
