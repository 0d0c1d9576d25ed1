"""D (eq. gmd) against its definition in dense numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dualmatch.decode.graph_matching import MatchingProblem, top_1


def random_problem(rng: np.random.Generator, n_source: int, n_target: int) -> tuple[MatchingProblem, list[np.ndarray]]:
    shapes = [(n_source, n_source), (n_target, n_target), (n_source, 4), (n_target, 4)]
    dense = [rng.random(shape) * (rng.random(shape) < 0.4) for shape in shapes]
    return MatchingProblem(*(sparse.csr_array(m) for m in dense), relational_weight=0.7, temporal_weight=0.2), dense


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 7))
def test_distance_is_its_definition(seed: int, n_source: int, n_target: int) -> None:
    rng = np.random.default_rng(seed)
    problem, (A_s, A_t, T_s, T_t) = random_problem(rng, n_source, n_target)
    best = rng.integers(0, n_target, n_source)
    P = np.eye(n_target)[best]
    distance = problem.distance(top_1(best, n_target))
    expected = np.linalg.norm(A_s @ P - P @ A_t) ** 2, np.linalg.norm(T_s - P @ T_t) ** 2
    assert (distance.relational, distance.temporal) == pytest.approx(expected, rel=1e-5, abs=1e-9)
    assert distance.total == pytest.approx(0.7 * expected[0] + 0.2 * expected[1], rel=1e-5, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9))
def test_a_permuted_copy_has_distance_zero_under_its_permutation(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    _, (A, _, T, _) = random_problem(rng, n, n)
    order = rng.permutation(n)
    copy, copy_times = np.empty_like(A), np.empty_like(T)
    copy[np.ix_(order, order)] = A
    copy_times[order] = T
    problem = MatchingProblem(*(sparse.csr_array(m) for m in (A, copy, T, copy_times)))
    assert problem.distance(top_1(order, n)).total == pytest.approx(0, abs=1e-9)
