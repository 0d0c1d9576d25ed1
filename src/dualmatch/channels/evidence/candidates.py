"""Candidates: for each entity the most similar ones of the other graph, never the full product."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from scipy import sparse as sp
from sparse_dot_topn import sp_matmul_topn

from dualmatch.channels.evidence.tokens import Among, Tokens
from dualmatch.engine import Engine, InProcess
from dualmatch.graph.arrays import Flags, Floats

# Similarities are rounded to this grid: sums of the same products in another order must stay equal.
_GRID = float(2**20)
PRODUCTS_PER_ENTITY: Final = 5000
"""What a search may cost: multiplications for each entity of either graph, up to 40,000 of them in all."""
_FEW_ENTITIES = 40_000


class Scored(NamedTuple):
    """Tokens ready for scoring."""

    # (n_entities, n_tokens) csr: their product source · targetᵀ is the similarity; columns as in the tokens, hubs left
    # empty
    source: sp.csr_matrix
    target: sp.csr_matrix
    # two (n_entities,): |x|² + λ of each entity: how much is known of it. Similarity divides by its root.
    known: tuple[Floats, Floats]
    among: Among | None = None  # Among | None: the entities that the rows stand for; None for all
    dearest: float = math.inf  # tokens that cost this much or more were left out


def scored_tokens(tokens: Tokens, products_per_entity: float | None = None, dearest: float | None = None) -> Scored:
    """Rows divided by √(|x|² + λ), λ being what one fact weighs.

    Plain cosine gives an entity with a single fact 1.0 on one shared token, and little evidence must mean little
    similarity.

    Parameters
    ----------
    products_per_entity:
        Cost limit: tokens are used from the rarest on while the multiplications stay within this number times the
        number of entities. It bounds the time at any size; what it leaves out are hubs that say next to nothing. By
        default 5,000, and less in large graphs, where more tokens are rare: there the whole grows with the root.
    dearest:
        In the place of a limit: the limit that all entities' tokens had, for those of some.
    """
    n_entities = tokens.source.shape[0] + tokens.target.shape[0]
    if products_per_entity is None:
        products_per_entity = PRODUCTS_PER_ENTITY * min(1.0, (_FEW_ENTITIES / max(n_entities, 1)) ** 0.5)
    if dearest is None:
        dearest = _dearest(tokens.cost, products_per_entity * n_entities)
    known = weight_of(tokens.source, tokens.smoothing), weight_of(tokens.target, tokens.smoothing)
    source, target = (
        smoothed(matrix, weight) for matrix, weight in zip((tokens.source, tokens.target), known, strict=True)
    )
    if np.isfinite(dearest):
        affordable = tokens.cost < dearest
        source, target = (_only_columns(matrix, affordable) for matrix in (source, target))
    return Scored(source, target, known, tokens.among, dearest)


def find_candidates(
    scored: Scored, shape: tuple[int, int] | None = None, n_candidates: int = 20, *, engine: Engine | None = None
) -> sp.csr_matrix:
    """Similarity of the best candidates, by row and by column.

    Parameters
    ----------
    shape:
        How many entities the graphs have, where `scored` is about some of them.
    engine:
        Where blocks of rows are searched.

    Returns
    -------
    (n_source, n_target) csr float32, the union of the best of each row and the best of each column.
    """
    source, target, among = scored.source, scored.target, scored.among
    engine = InProcess() if engine is None else engine
    by_row, by_column = _best_of(source, target, n_candidates, engine), _best_of(target, source, n_candidates, engine)
    found = by_row.maximum(by_column.T.tocsr()).tocsr()
    found.data = (np.rint(found.data * _GRID) / _GRID).astype(np.float32)
    if among is not None:
        entries = found.tocoo()
        found = sp.csr_matrix((entries.data, (among[0][entries.row], among[1][entries.col])), shape=shape)
    found.eliminate_zeros()
    found.sort_indices()
    return found


def _best_of(left: sp.csr_matrix, right: sp.csr_matrix, n_best: int, engine: Engine) -> sp.csr_matrix:
    """The best of `right` for each row of `left`."""
    with engine.placed(left, right.T.tocsr()) as (rows, columns):
        items = [(rows, *span, columns, n_best, engine.threads) for span in engine.spans(left.shape[0])]
        blocks = engine.map(_best_of_rows, items)
    return blocks[0] if len(blocks) == 1 else sp.vstack(blocks, format="csr")


def _best_of_rows(
    rows: sp.csr_matrix, first: int, last: int, columns: sp.csr_matrix, n_best: int, n_threads: int
) -> sp.csr_matrix:
    part = rows if last - first == rows.shape[0] else rows[first:last]
    return sp_matmul_topn(part, columns, top_n=n_best, threshold=0.0, n_threads=n_threads)


def _only_columns(matrix: sp.csr_matrix, kept: Flags) -> sp.csr_matrix:
    """The matrix with nothing outside some columns, their numbers kept."""
    inside = kept[matrix.indices]
    indptr = np.concatenate([[0], np.cumsum(inside)])[matrix.indptr].astype(matrix.indptr.dtype)
    return sp.csr_matrix((matrix.data[inside], matrix.indices[inside], indptr), shape=matrix.shape)


def _dearest(cost: Floats, budget: float) -> float:
    """The cost from which on tokens are left out to keep the sum within the budget; equal tokens share their fate."""
    ordered = np.sort(cost)
    within = np.searchsorted(np.cumsum(ordered), budget, side="right")
    return math.inf if within == len(cost) else float(ordered[within])


def weight_of(matrix: sp.csr_matrix, smoothing: float) -> Floats:
    """|x|² + λ of each row."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    squared = np.bincount(row, matrix.data.astype(np.float64) ** 2, minlength=matrix.shape[0])
    return np.asarray(squared + max(smoothing, 1e-9), dtype=np.float64)


def smoothed(matrix: sp.csr_matrix, weight: Floats) -> sp.csr_matrix:
    """Rows divided by the root of their weight."""
    values = matrix.data * np.repeat(1.0 / np.sqrt(weight), np.diff(matrix.indptr))
    return sp.csr_matrix((values.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)
