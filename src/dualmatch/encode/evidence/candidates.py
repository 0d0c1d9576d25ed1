"""Candidates: for each entity the most similar ones of the other graph, never the full product."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy import sparse as sp
from sparse_dot_topn import sp_matmul_topn

from dualmatch.encode.evidence.tokens import Tokens

# Similarities are rounded to this grid: sums of the same products in another order must stay equal.
_GRID = float(2**20)
PRODUCTS_PER_ENTITY: Final = 5000


def find_candidates(
    tokens: Tokens, n_candidates: int = 20, products_per_entity: int = PRODUCTS_PER_ENTITY, n_threads: int = 2
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
    source, target = scored_tokens(tokens, products_per_entity)
    by_row = sp_matmul_topn(source, target.T.tocsr(), top_n=n_candidates, threshold=0.0, n_threads=n_threads)
    by_column = sp_matmul_topn(target, source.T.tocsr(), top_n=n_candidates, threshold=0.0, n_threads=n_threads)
    found = by_row.maximum(by_column.T.tocsr()).tocsr()
    found.data = (np.rint(found.data * _GRID) / _GRID).astype(np.float32)
    found.eliminate_zeros()
    found.sort_indices()
    return found


def scored_tokens(
    tokens: Tokens, products_per_entity: int = PRODUCTS_PER_ENTITY
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """The matrices whose product source · targetᵀ is the similarity; columns as in `tokens`, hubs left empty."""
    affordable = _affordable(tokens.cost, products_per_entity * (tokens.source.shape[0] + tokens.target.shape[0]))
    source, target = (smoothed(matrix, tokens.smoothing) for matrix in (tokens.source, tokens.target))
    if len(affordable) < len(tokens.cost):
        source, target = (_only_columns(matrix, affordable) for matrix in (source, target))
    return source, target


def _only_columns(matrix: sp.csr_matrix, columns: np.ndarray) -> sp.csr_matrix:
    """The matrix with nothing outside some columns, their numbers kept."""
    kept = np.zeros(matrix.shape[1], dtype=bool)
    kept[columns] = True
    inside = kept[matrix.indices]
    indptr = np.concatenate([[0], np.cumsum(inside)])[matrix.indptr].astype(matrix.indptr.dtype)
    return sp.csr_matrix((matrix.data[inside], matrix.indices[inside], indptr), shape=matrix.shape)


def _affordable(cost: np.ndarray, budget: float) -> np.ndarray:
    """Columns to use: all up to a cost that keeps the sum within the budget; equal tokens share their fate."""
    ordered = np.sort(cost)
    within = np.searchsorted(np.cumsum(ordered), budget, side="right")
    if within == len(cost):
        return np.arange(len(cost))
    return np.flatnonzero(cost < ordered[within])


def known_weight(tokens: Tokens) -> tuple[np.ndarray, np.ndarray]:
    """|x|² + λ of each entity: how much is known of it. Similarity divides by its root."""
    return weight_of(tokens.source, tokens.smoothing), weight_of(tokens.target, tokens.smoothing)


def weight_of(matrix: sp.csr_matrix, smoothing: float) -> np.ndarray:
    """|x|² + λ of each row."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    squared = np.bincount(row, matrix.data.astype(np.float64) ** 2, minlength=matrix.shape[0])
    return squared + max(smoothing, 1e-9)


def smoothed(matrix: sp.csr_matrix, smoothing: float) -> sp.csr_matrix:
    """Rows divided by √(|x|² + λ)."""
    factor = 1.0 / np.sqrt(weight_of(matrix, smoothing))
    values = matrix.data * np.repeat(factor, np.diff(matrix.indptr))
    return sp.csr_matrix((values.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)
