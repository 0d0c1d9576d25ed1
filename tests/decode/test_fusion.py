"""Fusing: channels speak about what evidence leaves open, and about nothing else."""

import numpy as np
import pytest
from scipy import sparse

from dualmatch.decode.fusion import fuse
from dualmatch.decode.graph_matching import Distance
from dualmatch.decode.similarity import HeldSimilarity

# Entities 0 and 1 are settled; for 2 evidence sees two candidates alike; 3 has none.
EVIDENCE = sparse.csr_array(
    np.array([[0.9, 0, 0, 0], [0, 0.8, 0, 0], [0, 0, 0.3, 0.3], [0, 0, 0, 0]], dtype=np.float32)
)
OPEN = np.array([2, 3])
# It contradicts what is settled, and tells 2 and 3 apart.
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
