"""Temporal-Encoder: entities as distributions over the times of their facts, spread to neighbours. Learning-free.

H^t = [A^t ‖ A A^t ‖ … ‖ A^L A^t]; S^t is the mean over the L + 1 hops of the cosine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dualmatch.decode.similarity import FactorSimilarity, factor_similarity
from dualmatch.errors import InputError
from dualmatch.graph.arrays import Dense
from dualmatch.graph.matrices import l2_rows, propagation_matrices, shared_intervals, time_adjacency, time_counts
from dualmatch.graph.model import TemporalGraph

Features: TypeAlias = Dense | sparse.csr_array

# A multiply-add of a sparse × sparse product costs about this many of a sparse × dense one.
_SPARSE_PRODUCT_COST: Final = 6
_ENTRIES_AT_ONCE: Final = 2**22


def temporal_similarity(
    source: TemporalGraph,
    target: TemporalGraph,
    hops: int = 2,
    zero_counts: bool = False,
    memory_limit: int = 4 * 2**30,
    room: int | None = None,
) -> FactorSimilarity:
    """S^t of two graphs as factors, to be computed by rows.

    `hops`: L: how far temporal features travel. `memory_limit`: bytes that dense features may take. `room`: bytes that
    the features of all hops may take, dense or sparse; an `InputError` as soon as they take more. No bound where None.
    Comparing them takes twice as much again, for a while.

    >>> from dualmatch import TemporalGraph
    >>> graph = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833"), ("Charles", "wrote", "Book", "1864")])
    >>> similarity = temporal_similarity(graph, graph)
    >>> similarity.rows(np.arange(3)).argmax(axis=1).tolist()
    [0, 1, 2]
    """
    intervals = shared_intervals(source, target)
    if zero_counts and 16 * max(source.n_entities, target.n_entities) * intervals.count > memory_limit:
        raise InputError(
            f"option zero_counts: {intervals.count:,} times an entity do not fit into memory; it is for small graphs"
        )
    propagation = propagation_matrices(source, target)
    take = None if room is None else _Room(room).take
    dense_bytes = memory_limit // (4 * (hops + 1))
    features = []
    sides = zip((source, target), (intervals.source, intervals.target), propagation, strict=True)
    for graph, interval, matrix in sides:
        adjacency = time_adjacency(time_counts(graph, interval, intervals.count), zero_counts)
        features.append(temporal_features(adjacency, matrix, hops, dense_bytes, take=take))
    return factor_similarity(features[0], features[1], memory_limit // 2)


class _Room:
    """Memory that features may take: they are counted as they come, and refused before they fill more."""

    def __init__(self, size: int) -> None:
        self.size = self.left = size

    def take(self, n_bytes: int) -> None:
        self.left -= n_bytes
        if self.left < 0:
            raise InputError(
                f"the temporal features of these graphs take more than {self.size / 2**20:,.0f} MiB, a third of the "
                "memory limit, which is what they may; give it more (memory_limit, --memory-limit), let them travel "
                "less far (hops, --hops 1), or use method evidence"
            )


def temporal_features(
    adjacency: sparse.csr_array,
    propagation: sparse.csr_array,
    hops: int,
    dense_bytes: int,
    normalise: bool = True,
    take: Callable[[int], None] | None = None,
) -> list[Features]:
    """[A^t, A A^t, …, A^L A^t], rows L2-normalised after each hop.

    Each is an (n_entities, columns) csr, or dense once that is cheaper and fits into `dense_bytes`. `take` is called
    with the bytes of each part that is to be kept, and may refuse them.
    """
    take = take or (lambda _: None)
    hop: Features = _l2(adjacency) if normalise else adjacency
    take(_bytes_of(adjacency))
    features = [hop]
    for _ in range(hops):
        hop = _spread(propagation, hop, dense_bytes, take)
        if normalise:
            hop = _l2(hop)
        features.append(hop)
    return features


def _spread(propagation: sparse.csr_array, hop: Features, dense_bytes: int, take: Callable[[int], None]) -> Features:
    """A H, in dense form where the sparse product would cost more and the result fits."""
    if isinstance(hop, np.ndarray):
        take(hop.nbytes)
        spread: Dense = propagation @ hop
        return spread
    entries = np.diff(hop.indptr)[propagation.indices]
    sparse_work = float(entries.sum()) * _SPARSE_PRODUCT_COST
    dense_work = float(propagation.nnz) * hop.shape[1]
    if sparse_work > dense_work and 4 * hop.shape[0] * hop.shape[1] <= dense_bytes:
        take(4 * hop.shape[0] * hop.shape[1])
        return propagation @ hop.toarray()
    parts = []
    for rows in _row_slices(propagation, entries):
        part = sparse.csr_array(propagation[rows] @ hop)
        take(_bytes_of(part))
        parts.append(part)
    return sparse.csr_array(sparse.vstack(parts, format="csr")) if len(parts) > 1 else parts[0]


def _row_slices(propagation: sparse.csr_array, entries: NDArray[np.integer]) -> Iterator[slice]:
    """Rows whose product has at most about `_ENTRIES_AT_ONCE` entries; one row at least.

    `entries` says how many entries each neighbour has: (nnz,).
    """
    until = np.concatenate([[0], np.cumsum(entries, dtype=np.int64)])[propagation.indptr]
    start, n = 0, propagation.shape[0]
    while start < n:
        stop = int(np.searchsorted(until, until[start] + _ENTRIES_AT_ONCE, side="right")) - 1
        stop = min(max(stop, start + 1), n)
        yield slice(start, stop)
        start = stop


def _bytes_of(matrix: sparse.csr_array) -> int:
    return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)


def _l2(hop: Features) -> Features:
    if not isinstance(hop, np.ndarray):
        return l2_rows(hop)
    norm = np.sqrt(np.einsum("ij,ij->i", hop, hop, dtype=np.float64))
    hop /= np.where(norm > 0, norm, 1.0).astype(np.float32)[:, None]
    return hop
