"""D (eq. gmd) against its definition in dense numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy import sparse as sp

from dualmatch.decode.graph_matching import MatchingProblem, entity_labels, entity_time_graph, top_1, wl_kernel


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


def random_adjacency(rng: np.random.Generator, n: int, edges: int) -> sp.csr_array:
    i, j = rng.integers(n, size=(2, edges))
    dense = np.zeros((n, n))
    dense[i, j] = dense[j, i] = 1
    np.fill_diagonal(dense, 0)
    return sp.csr_array(dense)


def grakel_kernel(graphs: list[tuple[sp.csr_array, np.ndarray]], iterations: int) -> float:
    grakel = pytest.importorskip("grakel")
    given_ = []
    for matrix, labels in graphs:
        neighbours = {
            i: matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]].tolist() for i in range(matrix.shape[0])
        }
        given_.append(grakel.Graph(neighbours, node_labels=dict(enumerate(labels.tolist())), graph_format="dictionary"))
    kernel = grakel.WeisfeilerLehman(n_iter=iterations, normalize=True, base_graph_kernel=grakel.VertexHistogram)
    return float(kernel.fit_transform(given_)[0, 1])


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_against_grakel(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graphs = [(random_adjacency(rng, n, 2 * n), rng.integers(3, size=n)) for n in (15, 11)]
    (source, s), (target, t) = graphs
    assert wl_kernel(source, target, s, t) == pytest.approx(grakel_kernel(graphs, 8), rel=1e-9)


def test_entity_time_graph_against_grakel() -> None:
    rng = np.random.default_rng(3)
    labels = entity_labels(6, 5, np.array([[0, 1], [4, 4]]))
    graphs = [
        entity_time_graph(sp.csr_array(rng.integers(2, size=(n, 7))), part)
        for n, part in zip((6, 5), labels, strict=True)
    ]
    (source, s), (target, t) = graphs
    assert source.shape == (13, 13)
    assert len(set(s[6:])) == 7
    assert wl_kernel(source, target, s, t) == pytest.approx(grakel_kernel(graphs, 8), rel=1e-9)


@given(seed=st.integers(0, 10_000))
def test_shuffled_copy_has_kernel_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, labels = random_adjacency(rng, 12, 20), rng.integers(3, size=12)
    order = rng.permutation(12)
    assert wl_kernel(graph, graph[order][:, order], labels, labels[order]) == pytest.approx(1.0)


@given(seed=st.integers(0, 10_000))
def test_symmetric_and_bounded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = random_adjacency(rng, 9, 12), random_adjacency(rng, 14, 30)
    s, t = np.zeros(9, np.int64), np.zeros(14, np.int64)
    forth, back = wl_kernel(a, b, s, t), wl_kernel(b, a, t, s)
    assert forth == pytest.approx(back)
    assert 0 < forth <= 1
