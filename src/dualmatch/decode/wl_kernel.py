"""Weisfeiler-Lehman subtree kernel of two graphs: how alike their neighbourhoods are, hop after hop.

Reference: Shervashidze et al., Weisfeiler-Lehman Graph Kernels, JMLR 12 (2011). Labels must mean the same on both
sides, or the kernel measures nothing: seed pairs share a label, equal times share a label, all else starts equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.graph.hashing import mixed

Labels = NDArray[np.int64]


def wl_kernel(
    source: sp.csr_array, target: sp.csr_array, source_labels: Labels, target_labels: Labels, iterations: int = 8
) -> float:
    """Normalised kernel k(G_s, G_t) / √(k(G_s, G_s) k(G_t, G_t)) in [0, 1].

    Parameters
    ----------
    source, target: (n, n) csr
        Adjacency; only where entries lie counts. Row i holds the neighbours of node i.
    source_labels, target_labels: (n,)
        Labels before the first iteration, in one numbering for both graphs.
    iterations:
        Refinements h; labels of all h + 1 rounds count.

    Examples
    --------
    >>> path = sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> wl_kernel(path, path, np.zeros(3, np.int64), np.zeros(3, np.int64))
    1.0
    """
    n_source = source.shape[0]
    both = sp.block_diag([source, target], format="csr")
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


def entity_labels(n_source: int, n_target: int, pairs: NDArray[np.integer]) -> tuple[Labels, Labels]:
    """Label 0 for everyone but the (seed or pseudo-seed) pairs, of which each has its own."""
    source, target = np.zeros(n_source, np.int64), np.zeros(n_target, np.int64)
    source[pairs[:, 0]] = target[pairs[:, 1]] = np.arange(1, len(pairs) + 1)
    return source, target


def entity_time_graph(times: sp.csr_array, labels: Labels) -> tuple[sp.csr_array, Labels]:
    """The bipartite graph of an entity × time matrix: entity nodes keep their labels, each time is one of its own."""
    graph = sp.block_array([[None, times], [times.T, None]], format="csr")
    return graph, np.concatenate([labels, -1 - np.arange(times.shape[1], dtype=np.int64)])


def _refine(indptr: NDArray[np.integer], neighbour: NDArray[np.integer], labels: Labels) -> Labels:
    """A new label for each pair of (own label, multiset of the neighbours' labels).

    A multiset is told by the sum of its members' hashes modulo 2^64: no sorting, no loop over nodes. Two different
    multisets among n nodes meet with probability about n² / 2^65: one in 10^10 for 50,000 nodes.
    """
    hashes = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed(labels)[neighbour], dtype=np.uint64)])
    multiset = hashes[indptr[1:]] - hashes[indptr[:-1]]
    return _numbered(mixed(labels) * np.uint64(0x9E3779B97F4A7C15) + mixed(multiset))


def _numbered(values: NDArray[np.generic]) -> Labels:
    numbers: Labels = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return numbers
