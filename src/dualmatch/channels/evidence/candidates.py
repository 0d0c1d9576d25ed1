"""Candidates: the most similar entities of the other graph for each entity, never the full product."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
from scipy import sparse as sp
from sparse_dot_topn import sp_matmul_topn

from dualmatch.channels.evidence.row_blocks import Block, both_in_blocks, stacked
from dualmatch.channels.evidence.tokens import Among, Tokens
from dualmatch.engine import Engine, InProcess
from dualmatch.graph.arrays import Flags, Floats, Ids, Ints

# Similarities are rounded to this grid: sums of the same products in another order must stay equal.
_GRID = float(2**20)
# What a search may cost: multiplications for each entity of either graph, up to 40,000 entities in all.
_PRODUCTS_PER_ENTITY: Final = 5000
_FEW_ENTITIES: Final = 40_000
_TIMES_BUDGET: Final = 4  # a search of some entities may cost this many times what whole graphs of their number may
_MANY_ENTITIES: Final = 2**17  # from so many on, what a product adds up for a row does not fit into the cache


class Scored(NamedTuple):
    """Tokens ready for scoring."""

    source: sp.csr_matrix  # (n_entities, n_tokens): columns as in the tokens, hubs left empty
    target: sp.csr_matrix  # source · targetᵀ is the similarity
    among: Among | None = None  # the entities of the rows; None for all
    dearest: float = math.inf  # tokens that cost this much or more were left out


def scored_tokens(tokens: Tokens, dearest: float | None = None, engine: Engine | None = None) -> Scored:
    """Divide rows by √(|x|² + λ), λ being the weight of one fact.

    Plain cosine gives an entity with a single fact 1.0 on one shared token, and little evidence must mean little
    similarity. Tokens are used from the rarest on while the multiplications stay within 5,000 per entity. Above 40,000
    entities the total grows with the square root of their number. That bounds the time at any size; it leaves out hubs,
    which say next to nothing. For some entities, `dearest` is the limit that all entities had; it is lowered where what
    has been learnt since makes so many tokens that they would cost several times the budget of so many entities.
    """
    matrices = tokens.source, tokens.target
    engine = engine or InProcess(threads=1)
    n_entities = sum(matrix.shape[0] for matrix in matrices)
    budget = _PRODUCTS_PER_ENTITY * min(1.0, (_FEW_ENTITIES / max(n_entities, 1)) ** 0.5) * n_entities
    if dearest is None:
        dearest = engine.call(_dearest_within, budget, tokens.cost)
    else:
        source, target = engine.on_columns(_frequencies, [(each,) for each in matrices])
        dearest = min(dearest, engine.call(_dearest_within, _TIMES_BUDGET * budget, tokens.cost, (source, target)))
    affordable = tokens.cost < dearest if np.isfinite(dearest) else None
    rows = _TokenRows(matrices[0], tokens.smoothing, affordable), _TokenRows(matrices[1], tokens.smoothing, affordable)
    source, target = both_in_blocks(rows, (matrices[0].shape, matrices[1].shape), engine)
    return Scored(source, target, tokens.among, dearest)


def _dearest_within(budget: float, cost: Floats, frequencies: tuple[Floats, Floats] | None = None) -> float:
    """The cost from which on tokens are left out, so that the products of the others stay within a budget.

    A token adds as many products as it costs, or the product of its `frequencies`.
    """
    products = cost if frequencies is None else frequencies[0] * frequencies[1]
    if products.sum() <= budget:
        return math.inf
    if frequencies is None:
        cost = products = np.sort(cost)
    else:
        order = np.argsort(cost)
        cost, products = cost[order], products[order]
    return float(cost[np.searchsorted(np.cumsum(products), budget, side="right")])


def _frequencies(matrix: sp.csr_matrix) -> Floats:
    """How many rows have each column."""
    return np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.float64)


def find_candidates(
    scored: Scored, shape: tuple[int, int] | None = None, n_candidates: int = 20, *, engine: Engine | None = None
) -> sp.csr_matrix:
    """Similarity of the best candidates: the union of the best of each row and of each column.

    `shape` is how many entities the graphs have, where `scored` is about some of them.
    """
    engine = engine or InProcess()
    of_source, of_target = engine.on_columns(_ByToken.of, [(scored.source,), (scored.target,)])
    by_row = _best_of(scored.source, of_target, n_candidates, engine)
    del of_target  # it is as large as what it was made of
    by_column = _best_of(scored.target, of_source, n_candidates, engine)
    return engine.call(_best_of_either, by_row, by_column, scored.among, shape)


def _best_of_either(
    by_row: sp.csr_matrix, by_column: sp.csr_matrix, among: Among | None, shape: tuple[int, int] | None
) -> sp.csr_matrix:
    """The union of the best of each row and of each column, which has rows and columns the other way round."""
    found = by_row.maximum(by_column.T.tocsr()).tocsr()
    found.data = (np.rint(found.data * _GRID) / _GRID).astype(np.float32)
    if among is not None:
        entries = found.tocoo()
        found = sp.csr_matrix((entries.data, (among[0][entries.row], among[1][entries.col])), shape=shape)
    found.eliminate_zeros()
    found.sort_indices()
    return found


@dataclass(frozen=True, eq=False)
class _ByToken:
    """The entities that have each token.

    A product adds up a number for each entity that shares a token with a row. Where these numbers are more than fit
    into the processor's cache, it is twice as fast if entities with the same frequent token stand side by side.
    """

    matrix: sp.csr_matrix  # (n_tokens, n_entities)
    entity: Ints | None  # of each column; None: they are in order

    @classmethod
    def of(cls, matrix: sp.csr_matrix) -> Self:
        """Those of an entity × token matrix."""
        if matrix.shape[0] < _MANY_ENTITIES:
            return cls(matrix.T.tocsr(), None)
        order = np.argsort(_most_frequent(matrix), kind="stable").astype(np.int32)
        return cls(matrix[order].T.tocsr(), order)


def _most_frequent(matrix: sp.csr_matrix) -> Ids:
    """The token of each entity that most others have; -1 where it has none."""
    frequency, size = _frequencies(matrix), np.diff(matrix.indptr)
    filled = np.flatnonzero(size)
    of_token = frequency[matrix.indices]
    highest = np.repeat(np.maximum.reduceat(of_token, matrix.indptr[filled]), size[filled])
    entity, token = np.repeat(filled, size[filled]), np.full(len(size), -1, dtype=np.int64)
    is_highest = np.flatnonzero(of_token == highest)
    token[entity[is_highest]] = matrix.indices[is_highest]  # where several are, the last
    return token


def _best_of(rows: sp.csr_matrix, columns: _ByToken, n_best: int, engine: Engine) -> sp.csr_matrix:
    """The best columns for each of the rows."""
    product = _Product(rows, columns, n_best, engine.threads)
    shape = rows.shape[0], columns.matrix.shape[1]
    return stacked(engine.long_blocks(product.best, engine.spans(shape[0])), shape, engine)


@dataclass(frozen=True, eq=False)
class _Product:
    """A product of which the largest entries are found, some rows at a time."""

    rows: sp.csr_matrix
    columns: _ByToken
    n_best: int
    n_threads: int

    def best(self, first: int, last: int) -> Block:
        """The best columns of some rows."""
        part = self.rows if last - first == self.rows.shape[0] else self.rows[first:last]
        columns, entity = self.columns.matrix, self.columns.entity
        found = sp_matmul_topn(part, columns, top_n=self.n_best, threshold=0.0, n_threads=self.n_threads)
        indices = found.indices if entity is None else entity[found.indices]
        return found.data, indices, np.diff(found.indptr).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _TokenRows:
    """Rows of tokens divided by √(|x|² + λ), then without what is outside some columns, whose numbers are kept."""

    matrix: sp.csr_matrix
    smoothing: float
    columns: Flags | None

    def block(self, begin: int, end: int) -> Block:
        part = self.matrix[begin:end]
        row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        squared = np.bincount(row, part.data.astype(np.float64) ** 2, minlength=part.shape[0])
        values = (part.data * (1.0 / np.sqrt(squared + max(self.smoothing, 1e-9)))[row]).astype(np.float32)
        if self.columns is None:
            return values, part.indices, np.diff(part.indptr).astype(np.int64)
        inside = self.columns[part.indices]
        return values[inside], part.indices[inside], np.bincount(row[inside], minlength=part.shape[0]).astype(np.int64)
