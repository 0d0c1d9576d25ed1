"""Deciding: which pairs are given, by confidence and by the expected share of wrong ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from dualmatch.decode.assignment import assign, decide, within_fdr
from dualmatch.decode.sparse_sinkhorn import sparse_sinkhorn

CONFIDENCES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 0.875, 1.0]), max_size=12).map(np.array)


@given(CONFIDENCES, st.sampled_from([0.0, 0.1, 0.125, 0.25, 0.3, 1.0]))
def test_the_surest_pairs_within_the_expected_share_of_wrong_ones(confidence: np.ndarray, max_fdr: float) -> None:
    """Against trying every threshold."""
    chosen, estimate = within_fdr(confidence, max_fdr)
    sets = [confidence >= least for least in np.unique(confidence)]
    allowed = [one for one in sets if (1 - confidence[one]).mean() <= max_fdr]
    best = max(allowed, key=np.sum, default=np.zeros(len(confidence), dtype=bool))
    assert chosen.tolist() == best.tolist()
    assert estimate == pytest.approx((1 - confidence[chosen]).mean() if chosen.any() else 0.0)


def test_all_that_is_asked_holds() -> None:
    confidence = np.array([1.0, 0.9, 0.6, 0.5, 0.2])
    assert decide(confidence, None, None, None).sum() == 5
    assert decide(confidence, 0.5, None, None).tolist() == [True, True, True, False, False]  # above, not at
    assert decide(confidence, 0.5, 0.5, None).tolist() == [True, True, True, True, False]  # at least
    assert decide(confidence, 0.5, 0.0, None).all()
    assert decide(confidence, 0.5, None, 0.05).tolist() == [True, True, False, False, False]
    assert decide(confidence, 0.5, 0.95, 0.05).tolist() == [True, False, False, False, False]
    assert decide(confidence, 0.5, 0.0, 0.25).tolist() == [True, True, True, True, False]
    assert not decide(np.zeros(0), 0.5, 0.1, 0.1).any()


def test_rows_choose_alone_when_columns_may_be_taken_twice() -> None:
    similarity = sparse.csr_array(np.array([[0.8, 0.1, 0.0], [0.8, 0.1, 0.0], [0.0, 0.0, 0.0]]))
    plan = sparse_sinkhorn(similarity, sharpness=10.0)
    assert len(assign(plan.entries)[0]) == 0  # a tie
    assert assign(plan.entries, many_to_one=True)[0].tolist() == [[0, 0], [1, 0]]
