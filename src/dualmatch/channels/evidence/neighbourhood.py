"""Context: similarity of entities by the facts one and two hops away, for those that facts alone do not settle.

The tokens of a round are folded into few
dimensions and carried along the edges. The product over the open entities only is dense but small, and exact: vectors
are rounded to integers whose dot products float32 holds without error, so that neither block size nor thread count
can change a bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse as sp

from dualmatch.channels.evidence.candidates import Scored
from dualmatch.channels.evidence.fact_views import FactSides
from dualmatch.engine import Engine, InProcess
from dualmatch.graph.arrays import Dense, Ids
from dualmatch.graph.hashing import mixed

_DIMENSIONS = 128
# Context only orders what facts leave open, so it counts for little beside them.
_CONTEXT_WEIGHT = 0.2
_BLOCK = 65536
# All pairs of open entities are compared up to so many, some 45,000 on either side: it is the one step that grows with
# their product. Beyond, context orders the candidates that facts have found, and finds none of its own.
_MOST_PAIRS = 2**31
_PLACES = 4  # dimensions that a token is folded into
# |x| ≤ 2¹¹ bounds every partial sum of a dot product by 2²², and float32 counts exactly up to 2²⁴.
_UNIT = 2048.0
# Three standard deviations of the dot product of unrelated random unit vectors.
_NOISE = 3.0 / np.sqrt(2 * _DIMENSIONS)


def with_context(
    similarity: sp.csr_matrix,
    sides: tuple[FactSides, FactSides],
    scored: Scored,
    closed: Ids,
    engine: Engine | None = None,
) -> sp.csr_matrix:
    """Similarity plus a little context where neither entity stands in a `closed` pair."""
    engine = engine or InProcess()
    rows, columns = (np.setdiff1d(np.arange(size), closed[:, side]) for side, size in enumerate(similarity.shape))
    fold = _fold(scored.source.shape[1])
    source = _vectors(sides[0], scored.source, fold, rows, engine)
    target = _vectors(sides[1], scored.target, fold, columns, engine)
    if len(rows) * len(columns) <= _MOST_PAIRS:
        context = _best(source, target, engine).maximum(_best(target, source, engine).T.tocsr())
    else:
        context = sp.csr_matrix((len(rows), len(columns)), dtype=np.float32)
    listed = similarity[rows][:, columns].tocoo()
    values = np.maximum(_cosine_of(source, target, listed), 0.0)
    entries = context.maximum(sp.csr_matrix((values, (listed.row, listed.col)), shape=context.shape)).tocoo()
    added = np.float32(_CONTEXT_WEIGHT) * entries.data
    more = sp.csr_matrix((added, (rows[entries.row], columns[entries.col])), shape=similarity.shape)
    ranking = (similarity + more).tocsr()
    ranking.sort_indices()
    return ranking


def _fold(n_tokens: int) -> sp.csr_matrix:
    """(n_tokens, _DIMENSIONS): a token in a few dimensions with random signs, dot products the same on average."""
    draw = mixed(np.arange(n_tokens * _PLACES))
    place = (draw % np.uint64(_DIMENSIONS)).astype(np.int64)
    sign = np.where(draw >> np.uint64(63), np.float32(1), np.float32(-1)) / np.float32(np.sqrt(_PLACES))
    start = np.arange(0, n_tokens * _PLACES + 1, _PLACES)
    return sp.csr_matrix((sign, place, start), shape=(n_tokens, _DIMENSIONS))


def _vectors(sides: FactSides, tokens: sp.csr_matrix, fold: sp.csr_matrix, wanted: Ids, engine: Engine) -> Dense:
    """One integer-valued vector of length ≤ 2048 for some entities: mean of their one-hop and two-hop context."""
    adjacency = _adjacency(sides)
    with engine.placed(tokens, fold) as placed:
        own = _stacked(engine, _folded, placed, tokens.shape[0])
    with engine.placed(adjacency, own) as placed:
        one_hop = _stacked(engine, _gathered, placed, adjacency.shape[0])
    del own
    with engine.placed(adjacency[wanted], one_hop) as placed:
        two_hops = _stacked(engine, _gathered, placed, len(wanted))
    return np.rint(np.concatenate([one_hop[wanted], two_hops], axis=1) * np.float32(_UNIT / np.sqrt(2.0)))


def _stacked(engine: Engine, function: Callable[..., Dense], operands: tuple[Any, Any], n_rows: int) -> Dense:
    blocks = engine.map(function, [(operands[0], *span, operands[1]) for span in engine.spans(n_rows)])
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def _folded(tokens: sp.csr_matrix, first: int, last: int, fold: sp.csr_matrix) -> Dense:
    folded: Dense = (tokens[first:last] @ fold).toarray()
    return folded


def _gathered(adjacency: sp.csr_matrix, first: int, last: int, vectors: Dense) -> Dense:
    """Sums over the neighbours of some entities, as unit vectors."""
    sums: Dense = adjacency[first:last] @ vectors
    length = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
    unit: Dense = np.divide(sums, length, out=np.zeros_like(sums), where=length > 0)
    return unit


def _cosine_of(source: Dense, target: Dense, pairs: sp.coo_matrix) -> Dense:
    """Cosine of context for given pairs."""
    values = [
        np.einsum("ij,ij->i", source[pairs.row[i : i + _BLOCK]], target[pairs.col[i : i + _BLOCK]])
        for i in range(0, pairs.nnz, _BLOCK)
    ]
    cosine = np.concatenate([*values, np.zeros(0, np.float32)]).astype(np.float32)
    return cosine / np.float32(_UNIT * _UNIT)


def _adjacency(sides: FactSides) -> sp.csr_matrix:
    """√(facts between) × information of the neighbour, as for tokens: a hub says little."""
    matrix = sp.csr_matrix(
        (np.ones(len(sides.other), dtype=np.float32), (sides.entity[: len(sides.other)], sides.other)),
        shape=(sides.n_entities, sides.n_entities),
    )
    matrix.sum_duplicates()
    degree = np.bincount(matrix.indices, minlength=sides.n_entities)
    information = np.log(sides.n_entities / np.maximum(degree, 1))
    matrix.data = (np.sqrt(matrix.data) * information[matrix.indices]).astype(np.float32)
    return matrix


def _best(left: Dense, right: Dense, engine: Engine) -> sp.csr_matrix:
    """The best of each row, ties with the last one included; nothing at noise level."""
    with engine.placed(left, right) as (rows, columns):
        blocks = engine.map(_best_of_rows, [(rows, *span, columns) for span in engine.spans(len(left))])
    return blocks[0] if len(blocks) == 1 else sp.vstack(blocks, format="csr")


def _best_of_rows(
    left: Dense, first: int, last: int, right: Dense, n_best: int = 20, block: int = 256
) -> sp.csr_matrix:
    left = left[first:last]
    parts = []
    # Two blocks used again and again: fresh memory costs more than the arithmetic.
    products, ordered = (np.empty((min(block, len(left)), len(right)), dtype=np.float32) for _ in range(2))
    for start in range(0, len(left), block):
        part = left[start : start + block]
        product = np.matmul(part, right.T, out=products[: len(part)])
        floor = np.full(len(product), _NOISE * _UNIT * _UNIT, dtype=np.float32)
        if product.shape[1] > n_best:
            np.copyto(ordered[: len(part)], product)
            ordered[: len(part)].partition(product.shape[1] - n_best, axis=1)
            floor = np.maximum(floor, ordered[: len(part), -n_best])
        row, column = np.divmod(np.flatnonzero(product >= floor[:, None]), product.shape[1])
        cosine = product[row, column] / np.float32(_UNIT * _UNIT)
        parts.append(sp.csr_matrix((cosine, (row, column)), shape=product.shape))
    return sp.vstack(parts, format="csr") if parts else sp.csr_matrix((len(left), len(right)), dtype=np.float32)
