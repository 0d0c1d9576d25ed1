"""WL kernel against grakel, and what must hold for any graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse as sp

from dualmatch.decode.graph_matching import entity_labels, entity_time_graph, wl_kernel


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
