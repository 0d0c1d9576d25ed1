"""Temporal-Encoder: entities as distributions over the times of their facts, spread to neighbours. Learning-free.

H^t = [A^t ‖ A A^t ‖ … ‖ A^L A^t]; S^t is the mean over the L + 1 hops of the cosine.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from scipy import sparse

from dualmatch.errors import InputError
from dualmatch.graph.matrices import l2_rows, propagation_matrices, shared_intervals, time_adjacency, time_counts
from dualmatch.graph.model import TemporalGraph
from dualmatch.similarity import Dense, FactorSimilarity, factor_similarity

Features: TypeAlias = Dense | sparse.csr_array

# A multiply-add of a sparse × sparse product costs about this many of a sparse × dense one.
_SPARSE_PRODUCT_COST: Final = 6


def temporal_similarity(
    source: TemporalGraph,
    target: TemporalGraph,
    hops: int = 2,
    zero_counts: bool = False,
    memory_limit: int = 4 * 2**30,
) -> FactorSimilarity:
    """S^t of two graphs as factors, to be asked for by rows.

    Parameters
    ----------
    hops:
        L: how far temporal features travel.
    zero_counts:
        See `dualmatch.graph.matrices.time_adjacency`.
    memory_limit:
        Bytes that dense features may take.

    Examples
    --------
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
    features = []
    for graph, interval, matrix in zip(
        (source, target), (intervals.source, intervals.target), propagation, strict=True
    ):
        adjacency = time_adjacency(time_counts(graph, interval, intervals.count), zero_counts)
        features.append(temporal_features(adjacency, matrix, hops, memory_limit // (4 * (hops + 1))))
    return factor_similarity(features[0], features[1], memory_limit // 2)


def temporal_features(
    adjacency: sparse.csr_array, propagation: sparse.csr_array, hops: int, dense_bytes: int, normalise: bool = True
) -> list[Features]:
    """[A^t, A A^t, …, A^L A^t], rows L2-normalised after each hop.

    Returns
    -------
    One (n_entities, columns) matrix a hop: csr, or dense once that is cheaper and fits into `dense_bytes`.
    """
    hop: Features = _l2(adjacency) if normalise else adjacency
    features = [hop]
    for _ in range(hops):
        hop = _spread(propagation, hop, dense_bytes)
        if normalise:
            hop = _l2(hop)
        features.append(hop)
    return features


def _spread(propagation: sparse.csr_array, hop: Features, dense_bytes: int) -> Features:
    """A H, in dense form where the sparse product would cost more and the result fits."""
    if isinstance(hop, np.ndarray):
        spread: Dense = propagation @ hop
        return spread
    sparse_work = float((np.diff(hop.indptr)[propagation.indices]).sum()) * _SPARSE_PRODUCT_COST
    dense_work = float(propagation.nnz) * hop.shape[1]
    if sparse_work > dense_work and 4 * hop.shape[0] * hop.shape[1] <= dense_bytes:
        return propagation @ hop.toarray()
    return sparse.csr_array(propagation @ hop)


def _l2(hop: Features) -> Features:
    if not isinstance(hop, np.ndarray):
        return l2_rows(hop)
    norm = np.sqrt(np.einsum("ij,ij->i", hop, hop, dtype=np.float64))
    hop /= np.where(norm > 0, norm, 1.0).astype(np.float32)[:, None]
    return hop
