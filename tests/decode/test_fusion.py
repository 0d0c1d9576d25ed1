"""Fusing: channels speak about what evidence leaves open, and about nothing else."""

import numpy as np
import pytest
from scipy import sparse

from dualmatch.decode.fusion import decode, decode_naively, fuse
from dualmatch.decode.graph_matching import Distance, MatchingProblem
from dualmatch.decode.similarity import HeldSimilarity
from dualmatch.option_texts import PAPER_ALPHAS

# Entities 0 and 1 are settled; for 2 evidence sees two candidates alike; 3 has none.
EVIDENCE = sparse.csr_array(
    np.array([[0.9, 0, 0, 0], [0, 0.8, 0, 0], [0, 0, 0.3, 0.3], [0, 0, 0, 0]], dtype=np.float32)
)
OPEN = np.array([2, 3])
# It contradicts what is settled, and separates 2 and 3.
CHANNEL = HeldSimilarity(np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0.9, 0.1], [1, 0, 0.2, 0.8]], dtype=np.float32))


class ByFirst:
    """A stand-in for D: smallest where entity 2 goes to a given column."""

    def __init__(self, column: int) -> None:
        self.column = column

    def distance(self, plan: sparse.csr_array) -> Distance:
        return Distance(float(plan[2, self.column] == 0), 0.0)


def test_a_channel_decides_what_is_open_and_leaves_the_rest_alone() -> None:
    fused = fuse(EVIDENCE, {"other": CHANNEL}, OPEN, OPEN, None, 20.0, weights=(0.5,))
    assert fused.plan.best().column_of_row.tolist() == [0, 1, 2, 3]
    assert fused.weights == {"evidence": 1.0, "other": 0.5}
    assert fused.distances == {}


def test_the_weights_of_smallest_distance_win() -> None:
    without = sparse.csr_array(EVIDENCE.toarray() * np.array([1, 1, 0.9, 1], dtype=np.float32))
    by_weight = {
        weight: fuse(without, {"other": CHANNEL}, OPEN, OPEN, None, 20.0, weights=(weight,))
        .plan.best()
        .column_of_row[2]
        for weight in (0.0, 0.5)
    }
    assert by_weight == {0.0: 3, 0.5: 2}
    for column, weight in ((3, 0.0), (2, 0.5)):
        fused = fuse(without, {"other": CHANNEL}, OPEN, OPEN, ByFirst(column), 20.0, weights=(0.0, 0.5))  # type: ignore[arg-type]
        assert fused.weights["other"] == weight
        assert set(fused.distances) == {(0.0,), (0.5,)}


def test_settled_entities_have_no_new_candidates() -> None:
    plan = fuse(EVIDENCE, {"other": CHANNEL}, OPEN, OPEN, None, 20.0, weights=(0.5,)).plan
    pattern = plan.similarity.toarray() > 0
    assert pattern[:2].sum() == 2
    assert pattern[2:, :2].sum() == 0
    assert pattern[2:, 2:].all()
    assert plan.similarity[3, 3] == pytest.approx(0.4)


def test_weight_0_turns_a_channel_off() -> None:
    plan = fuse(EVIDENCE, {"other": CHANNEL}, OPEN, OPEN, None, 20.0, weights=(0.0,)).plan
    np.testing.assert_array_equal(plan.similarity.toarray(), EVIDENCE.toarray())
    assert plan.similarity.nnz == EVIDENCE.nnz


LIMIT = 2**30


@pytest.fixture(params=[0, LIMIT], ids=["recomputed", "kept"])
def limit(request: pytest.FixtureRequest) -> int:
    return request.param


def planted(seed: int, n: int = 60) -> tuple[HeldSimilarity, HeldSimilarity, MatchingProblem]:
    """A graph and itself; S^t is the truth blurred, S^r is mostly noise, so that the weight matters."""
    rng = np.random.default_rng(seed)
    A = rng.random((n, n)) * (rng.random((n, n)) < 0.1)
    T = rng.random((n, 12)) * (rng.random((n, 12)) < 0.3)
    temporal = 0.4 * np.eye(n) + 0.5 * rng.random((n, n))
    relational = 0.1 * np.eye(n) + 0.9 * rng.random((n, n))
    csr = [sparse.csr_array(m) for m in (A, A, T, T)]
    return (
        HeldSimilarity(temporal.astype(np.float32)),
        HeldSimilarity(relational.astype(np.float32)),
        MatchingProblem(*csr),
    )


def dense_sinkhorn(similarity: np.ndarray) -> np.ndarray:
    plan = np.exp(50.0 * (similarity - similarity.max()).astype(np.float64))
    for k in range(10):
        plan /= plan.sum(axis=1, keepdims=True) + (1e-6 if k else 0)
        plan /= plan.sum(axis=0, keepdims=True) + 1e-6
    return plan


def test_alpha_has_the_smallest_distance_of_all_tried_by_hand(limit: int) -> None:
    temporal, relational, problem = planted(1)
    decoded = decode(temporal, relational, problem, memory_limit=limit)
    assert list(decoded.distances) == list(PAPER_ALPHAS)
    for alpha, distance in decoded.distances.items():
        P = np.eye(60)[dense_sinkhorn(alpha * temporal.values + relational.values).argmax(axis=1)]
        A, T = problem.source.toarray(), problem.source_times.toarray()
        expected = np.linalg.norm(A @ P - P @ A) ** 2 + np.linalg.norm(T - P @ T) ** 2
        assert distance.total == pytest.approx(expected, rel=1e-5)
    assert decoded.alpha == min(decoded.distances, key=lambda a: decoded.distances[a].total)
    assert decoded.alpha > 0


def test_the_returned_plan_is_that_of_the_chosen_weight(limit: int) -> None:
    """Kernels share memory: the plan must not be left with the last weight's kernel."""
    temporal, relational, problem = planted(2)
    decoded = decode(temporal, relational, problem, memory_limit=limit)
    plan = np.concatenate([block for _, block in decoded.plan.blocks()])
    np.testing.assert_allclose(
        plan, dense_sinkhorn(decoded.alpha * temporal.values + relational.values), rtol=1e-3, atol=1e-6
    )


def test_without_times_the_relational_channel_stands_alone() -> None:
    _, relational, problem = planted(3)
    decoded = decode(None, relational, problem, memory_limit=LIMIT)
    assert decoded.alpha is None
    assert decoded.distances == {}
    plan = np.concatenate([block for _, block in decoded.plan.blocks()])
    np.testing.assert_allclose(plan, dense_sinkhorn(relational.values), rtol=1e-3, atol=1e-6)


def test_naive_strategy_ranks_by_the_concatenated_features() -> None:
    temporal, relational, _ = planted(4)
    plan = decode_naively(temporal, relational, hops=2, memory_limit=LIMIT).plan
    product = relational.values + 3 * temporal.values
    best = plan.best()
    np.testing.assert_array_equal(best.column_of_row, product.argmax(axis=1))
    np.testing.assert_array_equal(best.row_of_column, product.argmax(axis=0))


def test_whoever_watches_sees_every_plan(limit: int) -> None:
    temporal, relational, problem = planted(4)
    seen = {}
    decoded = decode(
        temporal, relational, problem, memory_limit=limit, watch=lambda alpha, plan: seen.update({alpha: plan.best()})
    )
    assert list(seen) == list(PAPER_ALPHAS)
    np.testing.assert_array_equal(seen[decoded.alpha].column_of_row, decoded.plan.best().column_of_row)
