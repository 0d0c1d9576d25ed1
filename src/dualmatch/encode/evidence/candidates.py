"""Candidates: for each entity the most similar ones of the other graph, never the full product."""

from __future__ import annotations

import numpy as np
from scipy import sparse as sp
from sparse_dot_topn import sp_matmul_topn

from dualmatch.encode.evidence.tokens import Tokens

# Similarities are rounded to this grid: sums of the same products in another order must stay equal.
_GRID = float(2**20)


def find_candidates(
    tokens: Tokens, n_candidates: int = 50, products_per_entity: int = 5000, n_threads: int = 2
) -> sp.csr_matrix:
    """Smoothed cosine of the best candidates, by row and by column.

    Rows are divided by √(|x|² + λ), λ being what one fact weighs: plain cosine gives an entity with a single fact
    1.0 on one shared token, and little evidence must mean little similarity.

    Parameters
    ----------
    products_per_entity:
        Cost limit: tokens are used from the rarest on while the multiplications stay within this number times the
        number of entities. It bounds the time at any size; what it leaves out are hubs that say next to nothing.

    Returns
    -------
    (n_source, n_target) csr float32, the union of the best of each row and the best of each column.
    """
    affordable = _affordable(tokens.cost, products_per_entity * (tokens.source.shape[0] + tokens.target.shape[0]))
    source, target = (_smoothed(matrix, tokens.smoothing) for matrix in (tokens.source, tokens.target))
    if len(affordable) < len(tokens.cost):
        source, target = source[:, affordable], target[:, affordable]
    by_row = sp_matmul_topn(source, target.T.tocsr(), top_n=n_candidates, threshold=0.0, n_threads=n_threads)
    by_column = sp_matmul_topn(target, source.T.tocsr(), top_n=n_candidates, threshold=0.0, n_threads=n_threads)
    found = by_row.maximum(by_column.T.tocsr()).tocsr()
    found.data = (np.rint(found.data * _GRID) / _GRID).astype(np.float32)
    found.eliminate_zeros()
    found.sort_indices()
    return found


def _affordable(cost: np.ndarray, budget: float) -> np.ndarray:
    """Columns to use: all up to a cost that keeps the sum within the budget; equal tokens share their fate."""
    ordered = np.sort(cost)
    within = np.searchsorted(np.cumsum(ordered), budget, side="right")
    if within == len(cost):
        return np.arange(len(cost))
    return np.flatnonzero(cost < ordered[within])


def _smoothed(matrix: sp.csr_matrix, smoothing: float) -> sp.csr_matrix:
    squared = np.asarray(matrix.multiply(matrix).sum(axis=1), dtype=np.float64).ravel()
    factor = 1.0 / np.sqrt(squared + max(smoothing, 1e-9))
    values = matrix.data * np.repeat(factor, np.diff(matrix.indptr))
    return sp.csr_matrix((values.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)
