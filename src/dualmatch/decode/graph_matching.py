"""Weighted graph matching: how well an alignment matrix maps one graph onto the other (eq. gmd).

The weights k^r and k^t are Weisfeiler-Lehman subtree kernels: how alike the neighbourhoods of the two graphs are, hop
after hop (Shervashidze et al., *Weisfeiler-Lehman graph kernels*, JMLR 12, 2011). Labels must mean the same on both
sides, or the kernel measures nothing: seed pairs share a label, equal times share a label, all else starts equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dualmatch.graph.arrays import Ids, Rows
from dualmatch.graph.hashing import mixed
from dualmatch.graph.matrices import relational_adjacency, shared_intervals, time_adjacency, time_counts
from dualmatch.graph.model import TemporalGraph


@dataclass(frozen=True)
class Distance:
    """D = k^r · relational + k^t · temporal, with its parts."""

    relational: float
    temporal: float
    relational_weight: float = 1.0
    temporal_weight: float = 1.0

    @property
    def total(self) -> float:
        return self.relational_weight * self.relational + self.temporal_weight * self.temporal


@dataclass(frozen=True, eq=False)
class MatchingProblem:
    """The matrices D compares."""

    source: sparse.csr_array  # (n, n): A (eq. rel_adj)
    target: sparse.csr_array
    source_times: sparse.csr_array  # (n, columns): A^t (eq. time_adj), before L2
    target_times: sparse.csr_array
    relational_weight: float = 1.0  # k^r
    temporal_weight: float = 1.0  # k^t

    def distance(self, plan: sparse.csr_array) -> Distance:
        """D of an alignment matrix P̂ (n_source, n_target), soft or 0/1."""
        differences = self.source @ plan - plan @ self.target, self.source_times - plan @ self.target_times
        relational, temporal = (float(np.square(each.data, dtype=np.float64).sum()) for each in differences)
        return Distance(relational, temporal, self.relational_weight, self.temporal_weight)


def matching_problem(
    source: TemporalGraph,
    target: TemporalGraph,
    pairs: NDArray[np.integer],
    wl_iterations: int = 8,
    zero_counts: bool = False,
) -> MatchingProblem:
    """Build the matrices of two graphs, with k^r and k^t from WL kernels.

    The two entities of each of the `pairs` (seeds or pseudo-seeds) share a label in both kernels, as equal times do.
    `zero_counts` is that of the temporal channel: D compares the encoder's own A^t.
    """
    intervals = shared_intervals(source, target)
    graphs = ((source, intervals.source), (target, intervals.target))
    adjacency = [relational_adjacency(graph) for graph, _ in graphs]
    counts = [time_counts(graph, interval, intervals.count) for graph, interval in graphs]
    times = [time_adjacency(part, zero_counts) for part in counts]
    labels = entity_labels(source.n_entities, target.n_entities, pairs)
    relational_weight = wl_kernel(adjacency[0], adjacency[1], *labels, iterations=wl_iterations)
    (bipartite_s, labels_s), (bipartite_t, labels_t) = map(entity_time_graph, times, labels)
    temporal_weight = wl_kernel(bipartite_s, bipartite_t, labels_s, labels_t, iterations=wl_iterations)
    return MatchingProblem(adjacency[0], adjacency[1], times[0], times[1], relational_weight, temporal_weight)


def top_1(column_of_row: Rows, n_target: int) -> sparse.csr_array:
    """P̂ with 1 at the best of each row and 0 elsewhere (eq. p).

    >>> top_1(np.array([1, 0]), 3).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    n_source = len(column_of_row)
    ones = np.ones(n_source, dtype=np.float32)
    return sparse.csr_array((ones, column_of_row, np.arange(n_source + 1)), shape=(n_source, n_target))


def wl_kernel(
    source: sparse.csr_array, target: sparse.csr_array, source_labels: Ids, target_labels: Ids, iterations: int = 8
) -> float:
    """Normalised kernel k(G_s, G_t) / √(k(G_s, G_s) k(G_t, G_t)) in [0, 1].

    Row i of an (n, n) adjacency matrix holds the neighbours of node i; only where entries lie counts. Both graphs share
    one numbering of labels. There are h = `iterations` refinements, and the labels of all h + 1 rounds count.

    >>> path = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> wl_kernel(path, path, np.zeros(3, np.int64), np.zeros(3, np.int64))
    1.0
    """
    n_source = source.shape[0]
    both = sparse.block_diag([source, target], format="csr")
    labels = _numbered(np.concatenate([source_labels, target_labels]).astype(np.int64))
    products = np.zeros(3)
    for round_ in range(iterations + 1):
        if round_:
            labels = _refine(both.indptr, both.indices, labels)
        size = int(labels.max(initial=-1)) + 1
        s, t = (np.bincount(part, minlength=size).astype(np.float64) for part in (labels[:n_source], labels[n_source:]))
        products += (s @ t, s @ s, t @ t)
    cross, own_source, own_target = products
    return float(cross / np.sqrt(own_source * own_target)) if own_source and own_target else 0.0


def entity_labels(n_source: int, n_target: int, pairs: NDArray[np.integer]) -> tuple[Ids, Ids]:
    """Label 0 for everyone but the (seed or pseudo-seed) pairs, of which each has its own."""
    source, target = np.zeros(n_source, np.int64), np.zeros(n_target, np.int64)
    source[pairs[:, 0]] = target[pairs[:, 1]] = np.arange(1, len(pairs) + 1)
    return source, target


def entity_time_graph(times: sparse.csr_array, labels: Ids) -> tuple[sparse.csr_array, Ids]:
    """The bipartite graph of an entity × time matrix: entity nodes keep their labels, each time is one of its own."""
    graph = sparse.block_array([[None, times], [times.T, None]], format="csr")
    return graph, np.concatenate([labels, -1 - np.arange(times.shape[1], dtype=np.int64)])


def _refine(indptr: NDArray[np.integer], neighbour: NDArray[np.integer], labels: Ids) -> Ids:
    """A new label for each pair of (own label, multiset of the neighbours' labels).

    Multisets are compared by the sum of their members' hashes modulo 2^64: no sorting, no loop over nodes. Different
    ones among n nodes meet with probability about n² / 2^65: one in 10^10 for 50,000 nodes.
    """
    hashes = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed(labels)[neighbour], dtype=np.uint64)])
    multiset = hashes[indptr[1:]] - hashes[indptr[:-1]]
    return _numbered(mixed(labels) * np.uint64(0x9E3779B97F4A7C15) + mixed(multiset))


def _numbered(values: NDArray[np.generic]) -> Ids:
    numbers: Ids = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return numbers
