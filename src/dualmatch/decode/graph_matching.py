"""Weighted graph matching: how well an alignment matrix maps one graph onto the other (eq. gmd)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dualmatch.decode.similarity import Rows
from dualmatch.decode.wl_kernel import entity_labels, entity_time_graph, wl_kernel
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
    """The matrices D compares.

    Attributes
    ----------
    source, target: (n, n) csr
        A (eq. rel_adj).
    source_times, target_times: (n, columns) csr
        A^t (eq. time_adj), before L2.
    relational_weight, temporal_weight:
        k^r, k^t.
    """

    source: sparse.csr_array
    target: sparse.csr_array
    source_times: sparse.csr_array
    target_times: sparse.csr_array
    relational_weight: float = 1.0
    temporal_weight: float = 1.0

    def distance(self, plan: sparse.csr_array) -> Distance:
        """D of an alignment matrix P̂ (n_source, n_target), soft or 0/1."""
        relational = _squared_norm(self.source @ plan - plan @ self.target)
        temporal = _squared_norm(self.source_times - plan @ self.target_times)
        return Distance(relational, temporal, self.relational_weight, self.temporal_weight)


def matching_problem(
    source: TemporalGraph,
    target: TemporalGraph,
    pairs: NDArray[np.integer],
    wl_iterations: int = 8,
    zero_counts: bool = False,
) -> MatchingProblem:
    """The matrices of two graphs, with k^r and k^t from WL kernels whose labels mean something.

    Parameters
    ----------
    pairs: (n, 2)
        Seeds or pseudo-seeds: the two entities of a pair share a label in both kernels. Equal times share one, too.
    zero_counts:
        As in the temporal channel: D compares the encoder's own A^t.
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


def _squared_norm(matrix: sparse.csr_array) -> float:
    return float(np.square(matrix.data, dtype=np.float64).sum())
