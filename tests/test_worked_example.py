"""The paper's worked example, to the printed digit."""

import numpy as np
import pytest
from scipy import sparse

from dualmatch.decode.matching import MatchingProblem
from dualmatch.encode.temporal import temporal_features
from dualmatch.evaluate import ranking
from dualmatch.graph.matrices import relational_adjacency, shared_intervals, time_adjacency, time_counts
from golden import worked_example as example


@pytest.fixture(scope="module")
def matrices() -> dict[str, np.ndarray]:
    """A^t, A and H^t with zero counts included, outgoing part only, L = 1, as in the appendix."""
    graph = example.graph()
    intervals = shared_intervals(graph, graph)
    columns = example.time_columns(intervals.source)
    adjacency = time_adjacency(time_counts(graph, intervals.source, intervals.count, tails=False), zero_counts=True)
    relational = relational_adjacency(graph, inverses=False)
    features = temporal_features(adjacency, relational, hops=1, dense_bytes=0, normalise=False)
    return {
        "A_T": adjacency.toarray()[:, columns],
        "A": relational.toarray(),
        "H_T": np.hstack([part.toarray()[:, columns] for part in features]),
    }


@pytest.mark.parametrize("name", ["A_T", "A", "H_T"])
def test_matrices_are_as_printed(matrices: dict[str, np.ndarray], name: str) -> None:
    np.testing.assert_array_equal(matrices[name].round(2), getattr(example, name).astype(np.float32))


def test_temporal_alignment_matrix_is_as_printed(matrices: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal((matrices["H_T"] @ matrices["H_T"].T).round(2), example.P_T.astype(np.float32))


def problem(matrices: dict[str, np.ndarray]) -> MatchingProblem:
    adjacency, times = sparse.csr_array(matrices["A"]), sparse.csr_array(matrices["A_T"])
    return MatchingProblem(adjacency, adjacency, times, times)


def test_distance_of_the_temporal_matrix(matrices: dict[str, np.ndarray]) -> None:
    plan = sparse.csr_array(matrices["H_T"] @ matrices["H_T"].T)
    distance = problem(matrices).distance(plan)
    assert round(distance.total, 2) == example.D_TEMPORAL
    assert round(distance.relational, 2) == example.D_RELATIONAL_PART
    assert round(distance.temporal, 2) == example.D_TEMPORAL_PART


def test_distance_and_hits_of_both_channels(matrices: dict[str, np.ndarray]) -> None:
    both = matrices["H_T"] @ matrices["H_T"].T + example.H_R @ example.H_R.T
    # The printed H^r is rounded to two decimals: half a percent is what that allows.
    assert problem(matrices).distance(sparse.csr_array(both)).total == pytest.approx(example.D_BOTH, rel=0.005)
    assert round(ranking(average_ranks(both)).h1, 1) == example.H1_BOTH


def test_time_alone_finds_five_of_six_where_ties_are_averaged(matrices: dict[str, np.ndarray]) -> None:
    """The paper's 100 % breaks the six-fold tie of entity 3, which has no outgoing fact, in its favour."""
    temporal = (matrices["H_T"] @ matrices["H_T"].T).round(5)
    assert ranking(average_ranks(temporal)).h1 == pytest.approx(100 * 5 / 6)


def average_ranks(plan: np.ndarray) -> np.ndarray:
    own = np.diag(plan)[:, None]
    return 1 + (plan > own).sum(axis=1) + ((plan == own).sum(axis=1) - 1) / 2
