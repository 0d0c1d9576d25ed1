"""Sinkhorn in blocks against a ten-line dense twin and against POT; and its mathematics as properties."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dualmatch.decode import sinkhorn as module
from dualmatch.decode.similarity import HeldSimilarity
from dualmatch.decode.sinkhorn import kernel_of, sinkhorn

LIMIT = 2**30
SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 9))
SIMILARITIES = SHAPES.flatmap(lambda shape: arrays(np.float32, shape, elements=st.floats(0, 1, width=32)))


def plan_of(similarity: np.ndarray, limit: int = LIMIT, **options: object) -> np.ndarray:
    plan = sinkhorn(kernel_of(HeldSimilarity(similarity), 50.0, limit), **options)
    return np.concatenate([block for _, block in plan.blocks()])


def twin(similarity: np.ndarray, iterations: int = 10, epsilon: float = 1e-6) -> np.ndarray:
    plan = np.exp(50.0 * similarity.astype(np.float64))
    for _ in range(iterations):
        plan /= plan.sum(axis=1, keepdims=True) + epsilon
        plan /= plan.sum(axis=0, keepdims=True) + epsilon
    return plan


@settings(max_examples=80, deadline=None)
@given(SIMILARITIES)
def test_equals_the_dense_twin(similarity: np.ndarray) -> None:
    np.testing.assert_allclose(plan_of(similarity), twin(similarity), rtol=2e-3, atol=1e-6)


@settings(max_examples=80, deadline=None)
@given(SIMILARITIES)
def test_columns_first_is_sinkhorn_of_the_transpose(similarity: np.ndarray) -> None:
    np.testing.assert_allclose(
        plan_of(similarity, first="columns"), plan_of(np.ascontiguousarray(similarity.T)).T, rtol=2e-3, atol=1e-6
    )


def test_agrees_with_pot_once_converged() -> None:
    similarity = np.random.default_rng(1).random((40, 40), dtype=np.float32)
    plan = sinkhorn(kernel_of(HeldSimilarity(similarity), 10.0, LIMIT), iterations=2000, epsilon=0.0)
    ours = np.concatenate([block for _, block in plan.blocks()])
    ones = np.ones(40)
    pot = ot.sinkhorn(ones, ones, -similarity.astype(np.float64), reg=0.1, numItermax=100_000, stopThr=1e-12)
    np.testing.assert_allclose(ours, pot, rtol=1e-3, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(SIMILARITIES, st.randoms(use_true_random=False))
def test_permuting_the_input_permutes_the_output(similarity: np.ndarray, random: object) -> None:
    rows, columns = (list(range(n)) for n in similarity.shape)
    random.shuffle(rows)
    random.shuffle(columns)
    permuted = plan_of(np.ascontiguousarray(similarity[rows][:, columns]))
    np.testing.assert_allclose(permuted, plan_of(similarity)[rows][:, columns], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("shape", [(30, 30), (30, 50), (50, 30)])
def test_marginals(shape: tuple[int, int]) -> None:
    """The last half-step leaves columns with sum 1; on unbalanced sizes rows then hold n_target / n_source."""
    similarity = np.random.default_rng(2).random(shape, dtype=np.float32)
    plan = sinkhorn(kernel_of(HeldSimilarity(similarity), 20.0, LIMIT), iterations=500)
    dense = np.concatenate([block for _, block in plan.blocks()])
    np.testing.assert_allclose(dense.sum(axis=0), 1, rtol=1e-4)
    np.testing.assert_allclose(dense.sum(axis=1), shape[1] / shape[0], rtol=1e-2)


def test_blocks_and_recomputation_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    similarity = np.random.default_rng(3).random((64, 48), dtype=np.float32)
    whole = plan_of(similarity)
    monkeypatch.setattr(module, "_PASS_BYTES", 7 * 48 * 4)
    np.testing.assert_allclose(plan_of(similarity), whole, rtol=1e-5)
    np.testing.assert_allclose(plan_of(similarity, limit=0), whole, rtol=1e-5)


def test_large_similarities_do_not_overflow() -> None:
    """α·S^t + S^r reaches 3: exp(150) is no float32."""
    similarity = 3 * np.eye(20, dtype=np.float32)
    dense = plan_of(similarity)
    assert np.isfinite(dense).all()
    np.testing.assert_allclose(dense, np.eye(20), atol=1e-6)


def test_empty_rows_spread_and_take_nothing_from_others() -> None:
    """An entity without features is alike to nobody: similarity 0 to all."""
    similarity = np.zeros((4, 4), dtype=np.float32)
    similarity[[0, 1, 2], [2, 0, 1]] = 0.9
    plan = sinkhorn(kernel_of(HeldSimilarity(similarity), 50.0, LIMIT))
    assert plan.best().column_of_row[:3].tolist() == [2, 0, 1]


@settings(max_examples=60, deadline=None)
@given(SHAPES.flatmap(lambda s: arrays(np.float32, s, elements=st.sampled_from([0.0, 0.25, 0.5]))), st.data())
def test_ranks_are_average_ranks(similarity: np.ndarray, data: st.DataObject) -> None:
    plan = sinkhorn(kernel_of(HeldSimilarity(similarity), 4.0, LIMIT), iterations=1)
    dense = np.concatenate([block for _, block in plan.blocks()])
    n = min(similarity.shape)
    columns = np.array(data.draw(st.permutations(range(similarity.shape[1]))))[:n]
    pairs = np.stack([np.arange(n), columns], axis=1)
    row_ranks, column_ranks = plan.ranks(pairs)
    for k, (i, j) in enumerate(pairs.tolist()):
        assert row_ranks[k] == 1 + (dense[i] > dense[i, j]).sum() + ((dense[i] == dense[i, j]).sum() - 1) / 2
        own = dense[i, j]
        assert column_ranks[k] == 1 + (dense[:, j] > own).sum() + ((dense[:, j] == own).sum() - 1) / 2


def test_restricted_is_sinkhorn_of_the_square_alone() -> None:
    similarity = np.random.default_rng(4).random((12, 15), dtype=np.float32)
    rows, columns = np.array([3, 1, 7]), np.array([0, 14, 2])
    plan = sinkhorn(kernel_of(HeldSimilarity(similarity), 50.0, LIMIT)).restricted(rows, columns)
    square = np.concatenate([block for _, block in plan.blocks()])
    np.testing.assert_allclose(square, plan_of(np.ascontiguousarray(similarity[rows][:, columns])), rtol=1e-5)
