"""Shortlists and runners-up, against dense twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dualmatch.decode.shortlist import best_candidates, runners_up, shortlist
from dualmatch.graph.ordering import ranks_of

PLANS = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=st.sampled_from([0, 0, 0.1, 0.25, 0.5])
)


def by_name(n: int) -> np.ndarray:
    return np.arange(n)[::-1].copy()  # the last row has the first name


@given(PLANS)
def test_the_best_of_each_row_and_column_stay(plan: np.ndarray) -> None:
    listed = shortlist(sparse.csr_array(plan), by_name(plan.shape[0]), by_name(plan.shape[1]), n_best=2).toarray()
    expected = np.zeros_like(plan)
    for i, j in np.ndindex(*plan.shape):
        in_row = sum((-value, -k) < (-plan[i, j], -j) for k, value in enumerate(plan[i]))
        in_column = sum((-value, -k) < (-plan[i, j], -i) for k, value in enumerate(plan[:, j]))
        if min(in_row, in_column) < 2:
            expected[i, j] = plan[i, j]
    np.testing.assert_allclose(listed, expected, rtol=1e-8)


@given(PLANS, st.data())
def test_runners_up_are_the_best_but_the_partner(plan: np.ndarray, data: st.DataObject) -> None:
    partners = data.draw(st.lists(st.integers(-1, plan.shape[1] - 1), min_size=len(plan), max_size=len(plan)))
    pairs = np.array([(i, j) for i, j in enumerate(partners) if j >= 0], dtype=np.int32).reshape(-1, 2)
    found = runners_up(sparse.csr_array(plan), by_name(plan.shape[1]), pairs, n_best=3)
    for i, row in enumerate(plan):
        expected = sorted((-value, -j) for j, value in enumerate(row) if value > 0 and j != partners[i])[:3]
        kept = found.target[i] >= 0
        assert [(-p, -t) for p, t in zip(found.probability[i, kept].round(8), found.target[i, kept], strict=True)] == (
            expected
        )
        assert (found.probability[i, ~kept] == 0).all()


def test_what_six_decimals_show_as_nothing_is_no_runner_up() -> None:
    plan = sparse.csr_array(np.array([[0.9, 1e-7, 1e-5]]))
    assert runners_up(plan, by_name(3), np.array([[0, 0]])).target.tolist() == [[2, -1, -1]]


def test_the_last_bits_do_not_tell_equals_apart() -> None:
    tied = np.array([[0.3, 0.1 + 0.2, 0.0]])
    assert tied[0, 0] != tied[0, 1]
    assert best_candidates(sparse.csr_array(tied), ranks_of(["b", "a", "c"])).column.tolist() == [1]
    assert best_candidates(sparse.csr_array(tied), ranks_of(["b", "a", "c"])).tied.tolist() == [True]
