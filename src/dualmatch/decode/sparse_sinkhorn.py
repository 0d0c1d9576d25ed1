"""Sinkhorn over sparse candidates with a constant background.

The kernel is exp(c·s) on the candidates and 1 everywhere else: an entity with no good candidate spreads its mass over
the whole other graph instead of being forced on the best of a bad list. Sums cost O(candidates):
K v = E v + Σ v with E = exp(c·s) − 1 on the candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dualmatch.decode.sinkhorn import Best, log_convergence
from dualmatch.engine import Engine, InProcess
from dualmatch.graph.arrays import Dense, Floats, Rows
from dualmatch.graph.matrices import row_numbers

EVIDENCE_ITERATIONS: Final = 20
"""Iterations for candidates of evidence: entities that share a weak one take longer to part than ten steps."""


@dataclass(frozen=True, eq=False)
class SparsePlan:
    """P̂ on the candidates; every other entry is the background u_i · v_j."""

    similarity: sparse.csr_array  # (n_source, n_target): candidates; values of 0 and below are background
    entries: sparse.csr_array  # of the same pattern: P̂_ij = u_i · exp(c·s_ij) · v_j
    u: Floats
    v: Floats
    sharpness: float
    iterations: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.similarity.shape[0], self.similarity.shape[1]

    def restricted(self, rows: Rows, columns: Rows) -> SparsePlan:
        """The same Sinkhorn on some rows and columns of the candidates alone."""
        part = sparse.csr_array(self.similarity[rows][:, columns])
        return sparse_sinkhorn(part, self.sharpness, self.iterations)

    def best(self) -> Best:
        """The best candidate of each row and column (the first of equals); value 0 where there is none."""
        column, value = row_best(self.entries)
        row, value_of_column = row_best(sparse.csr_array(self.entries.T))
        similarity = np.asarray(self.similarity[np.arange(len(column)), column], dtype=np.float32)
        return Best(column, value, row, value_of_column, similarity)

    def ranks(self, pairs: NDArray[np.integer]) -> tuple[Floats, Floats]:
        """Average rank of each pair in its row and in its column.

        Candidates come first, by P̂; all that is not a candidate is tied behind them at the background.
        """
        forward = ranks_in_rows(self.entries, pairs[:, 0], pairs[:, 1])
        backward = ranks_in_rows(sparse.csr_array(self.entries.T), pairs[:, 1], pairs[:, 0])
        return forward, backward


def sparse_sinkhorn(
    similarity: sparse.csr_array, sharpness: float, iterations: int = 10, engine: Engine | None = None
) -> SparsePlan:
    """Balance sparse candidates, of similarity at most about 700 / sharpness, against a background of 1."""
    if engine is None or similarity.nnz < engine.least_entries:
        engine = InProcess()
    similarity = sparse.csr_array(similarity, dtype=np.float64)
    similarity.sort_indices()
    above = np.expm1(sharpness * np.maximum(similarity.data, 0.0))
    excess = sparse.csr_array((above, similarity.indices, similarity.indptr), shape=similarity.shape)
    excess_t = sparse.csr_array(excess.T)
    # Rows first ends with columns of sum 1, columns first with rows of sum 1. Their geometric mean shares what is left
    # between both sides: the plan of the swapped graphs is the transpose of this one.
    with engine.placed(excess, excess_t) as (rows, columns):
        u_first, v_second = _scales((rows, columns), excess.shape, iterations, engine)
        v_first, u_second = _scales((columns, rows), excess_t.shape, iterations, engine)
    u, v = np.sqrt(u_first * u_second), np.sqrt(v_first * v_second)
    data = u[row_numbers(excess)] * (1.0 + excess.data) * v[excess.indices]
    entries = sparse.csr_array((data, excess.indices, excess.indptr), shape=excess.shape)
    return SparsePlan(similarity, entries, u, v, sharpness, iterations)


def _scales(excess: tuple[Any, Any], shape: tuple[int, int], iterations: int, engine: Engine) -> tuple[Floats, Floats]:
    """u and v after rows, then columns, were divided by their sums in turn.

    `excess` is what the kernel is above 1, and its transpose, as placed by the engine.
    """
    u, v = np.ones(shape[0]), np.ones(shape[1])
    before = u
    for _ in range(iterations):
        before = u
        u = 1.0 / (_product(excess[0], v, len(u), engine) + v.sum())
        v = 1.0 / (_product(excess[1], u, len(v), engine) + u.sum())
    log_convergence(before, u, iterations)
    return u, v


def _product(matrix: Any, vector: Floats, n_rows: int, engine: Engine) -> Floats:
    with engine.placed(vector) as (placed,):
        blocks = engine.map(_rows_times, [(matrix, *span, placed) for span in engine.spans(n_rows)])
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def _rows_times(matrix: sparse.csr_array, first: int, last: int, vector: Floats) -> Floats:
    """Some rows of a matrix times a vector, without a copy of the rows."""
    start, end = matrix.indptr[first], matrix.indptr[last]
    rows = sparse.csr_array(
        (matrix.data[start:end], matrix.indices[start:end], matrix.indptr[first : last + 1] - start),
        shape=(last - first, matrix.shape[1]),
    )
    product: Floats = rows @ vector
    return product


def row_best(entries: sparse.csr_array) -> tuple[Rows, Dense]:
    """The best column of each row (the first of equals) and its entry; 0 where a row has none."""
    n_rows, row = entries.shape[0], row_numbers(entries)
    index, value = np.zeros(n_rows, np.intp), np.zeros(n_rows, np.float32)
    order = np.lexsort((entries.indices, -entries.data, row))
    filled = np.flatnonzero(np.diff(entries.indptr))
    best = order[entries.indptr[filled]]
    index[filled], value[filled] = entries.indices[best], entries.data[best]
    return index, value


def ranks_in_rows(entries: sparse.csr_array, rows: NDArray[np.integer], columns: NDArray[np.integer]) -> Floats:
    """Average rank of each pair in its row; what is not an entry is tied behind all entries."""
    n_rows, n_columns = entries.shape
    partner = np.full(n_rows, -1, np.int64)
    partner[rows] = columns
    row = row_numbers(entries)
    at_pair = entries.indices == partner[row]
    own = np.full(n_rows, -np.inf)
    own[row[at_pair]] = entries.data[at_pair]
    better = np.bincount(row, entries.data > own[row], minlength=n_rows)
    equal = np.bincount(row, entries.data == own[row], minlength=n_rows)
    # The pair is not a candidate: behind all candidates, tied with the rest of the other graph.
    equal = np.where(np.isinf(own), n_columns - np.diff(entries.indptr), equal)
    rank: Floats = (1 + better + (equal - 1) / 2)[rows]
    return rank


def sharpness_of(similarity: sparse.csr_matrix) -> float:
    """Choose c such that a candidate at noise level weighs as much as the whole background: exp(c·noise) = entities.

    Noise is what second-best candidates reach: their 0.9 quantile over the rows and columns that have one.
    """
    seconds = np.concatenate([_second_best(similarity), _second_best(similarity.T.tocsr())])
    if len(seconds) == 0:
        return float(np.log(max(similarity.shape)) / 0.5)
    entities = float(np.sqrt(float(similarity.shape[0]) * similarity.shape[1]))
    return float(np.log(max(entities, 2.0)) / max(float(np.quantile(seconds, 0.9)), 0.05))


def _second_best(matrix: sparse.csr_matrix) -> Floats:
    """The second largest entry of each row that has two, equal to the largest where that one comes twice."""
    lengths = np.diff(matrix.indptr)
    filled = np.flatnonzero(lengths)
    if len(filled) == 0:
        return np.zeros(0)
    starts, values = matrix.indptr[filled], matrix.data.astype(np.float64)
    row = np.repeat(np.arange(len(filled)), lengths[filled])
    is_best = np.flatnonzero(values == np.maximum.reduceat(values, starts)[row])
    values[is_best[np.unique(row[is_best], return_index=True)[1]]] = -np.inf
    seconds: Floats = np.maximum.reduceat(values, starts)[lengths[filled] >= 2]
    return seconds
