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
from scipy import sparse as sp

from dualmatch.decode.sinkhorn import Best
from dualmatch.engine import Engine, InProcess
from dualmatch.graph.arrays import Dense, Floats, Rows

EVIDENCE_ITERATIONS: Final = 20
"""Iterations for candidates of evidence: entities that share a weak one take longer to part than ten steps."""


@dataclass(frozen=True, eq=False)
class SparsePlan:
    """P̂ on the candidates; every other entry is the background u_i · v_j.

    Attributes
    ----------
    similarity: (n_source, n_target) csr
        Candidates; values of 0 and below are background.
    entries: csr of the same pattern
        P̂_ij = u_i · exp(c·s_ij) · v_j.
    background:
        Whether what is no candidate has the kernel 1, or 0.
    """

    similarity: sparse.csr_array
    entries: sparse.csr_array
    u: Floats
    v: Floats
    sharpness: float
    iterations: int
    background: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.similarity.shape[0], self.similarity.shape[1]

    def restricted(self, rows: Rows, columns: Rows, engine: Engine | None = None) -> SparsePlan:
        """The same Sinkhorn on some rows and columns of the candidates alone."""
        part = sparse.csr_array(self.similarity[rows][:, columns])
        return sparse_sinkhorn(part, self.sharpness, self.iterations, self.background, engine)

    def by_row(self) -> sparse.csr_array:
        """Entries of the kernel divided by their row's sum: what each row chooses if columns may be taken twice."""
        kernel = np.exp(self.sharpness * np.maximum(self.similarity.data, 0.0))
        counts = np.diff(self.similarity.indptr)
        row = np.repeat(np.arange(self.shape[0]), counts)
        sums = np.bincount(row, kernel, minlength=self.shape[0]) + (self.shape[1] - counts)
        return sparse.csr_array((kernel / sums[row], self.similarity.indices, self.similarity.indptr), shape=self.shape)

    def best(self) -> Best:
        """The best candidate of each row and column (the first of equals); value 0 where there is none."""
        column, value = row_best(self.entries)
        row, value_of_column = row_best(sparse.csr_array(self.entries.T))
        similarity = np.asarray(self.similarity[np.arange(len(column)), column], dtype=np.float32)
        return Best(column, value, row, value_of_column, similarity)

    def ranks(self, pairs: NDArray[np.integer]) -> tuple[Floats, Floats]:
        """Average rank of each pair in its row and in its column.

        Candidates come first, by P̂; all that is no candidate is tied behind them at the background.
        """
        forward = ranks_in_rows(self.entries, pairs[:, 0], pairs[:, 1])
        backward = ranks_in_rows(sparse.csr_array(self.entries.T), pairs[:, 1], pairs[:, 0])
        return forward, backward


def sparse_sinkhorn(
    similarity: sparse.csr_array,
    sharpness: float,
    iterations: int = 10,
    background: bool = True,
    engine: Engine | None = None,
) -> SparsePlan:
    """Balance sparse candidates against a background of 1 (see the module's text).

    Parameters
    ----------
    similarity: (n_source, n_target) csr
        At most about 700 / sharpness, so that exp stays finite.
    background:
        False: what is no candidate has the kernel 0, so that every row is forced on its own list; for comparison only.
    engine:
        Where blocks of rows are summed.
    """
    if engine is None or similarity.nnz < engine.least_entries:
        engine = InProcess()
    n_source = similarity.shape[0]
    similarity = sparse.csr_array(similarity, dtype=np.float64)
    similarity.sort_indices()
    power, floor = sharpness * np.maximum(similarity.data, 0.0), 1.0 if background else 0.0
    above = np.expm1(power) if background else np.exp(power)
    excess = sparse.csr_array((above, similarity.indices, similarity.indptr), shape=similarity.shape)
    excess_t = sparse.csr_array(excess.T)
    # Rows first ends with columns of sum 1, columns first with rows of sum 1. Their geometric mean shares what is left
    # between both sides: the plan of the swapped graphs is the transpose of this one.
    with engine.placed(excess, excess_t) as (rows, columns):
        u_first, v_second = _scales((rows, columns), excess.shape, iterations, floor, engine)
        v_first, u_second = _scales((columns, rows), excess_t.shape, iterations, floor, engine)
    u, v = np.sqrt(u_first * u_second), np.sqrt(v_first * v_second)
    row = np.repeat(np.arange(n_source), np.diff(excess.indptr))
    data = u[row] * (floor + excess.data) * v[excess.indices]
    entries = sparse.csr_array((data, excess.indices, excess.indptr), shape=excess.shape)
    return SparsePlan(similarity, entries, u, v, sharpness, iterations, background)


def _scales(
    excess: tuple[Any, Any], shape: tuple[int, int], iterations: int, floor: float, engine: Engine
) -> tuple[Floats, Floats]:
    """u and v after rows, then columns, were divided by their sums in turn; `floor` is the kernel elsewhere.

    Parameters
    ----------
    excess:
        What the kernel is above the floor, and its transpose, as placed by the engine.
    """
    u, v = np.ones(shape[0]), np.ones(shape[1])
    for _ in range(iterations):
        u = _inverse(_product(excess[0], v, len(u), engine) + floor * v.sum())
        v = _inverse(_product(excess[1], u, len(v), engine) + floor * u.sum())
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


def _inverse(sums: Floats) -> Floats:
    """1 / sum; a row of nothing, which only a floor of 0 has, stays 0."""
    return np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)


def row_best(entries: sparse.csr_array) -> tuple[Rows, Dense]:
    """The best column of each row (the first of equals) and its entry; 0 where a row has none."""
    n_rows = entries.shape[0]
    row = np.repeat(np.arange(n_rows), np.diff(entries.indptr))
    order = np.lexsort((entries.indices, -entries.data, row))
    first = (
        order[np.searchsorted(row[order], np.arange(n_rows)).clip(max=max(len(row) - 1, 0))]
        if len(row)
        else np.zeros(0, np.intp)
    )
    index, value = np.zeros(n_rows, np.intp), np.zeros(n_rows, np.float32)
    filled = np.diff(entries.indptr) > 0
    if len(row):
        index[filled] = entries.indices[first[filled]]
        value[filled] = entries.data[first[filled]]
    return index, value


def ranks_in_rows(entries: sparse.csr_array, rows: NDArray[np.integer], columns: NDArray[np.integer]) -> Floats:
    """Average rank of each pair in its row; what is no entry is tied behind all entries."""
    n_rows, n_columns = entries.shape
    partner = np.full(n_rows, -1, np.int64)
    partner[rows] = columns
    row = np.repeat(np.arange(n_rows), np.diff(entries.indptr))
    at_pair = entries.indices == partner[row]
    own = np.full(n_rows, -np.inf)
    own[row[at_pair]] = entries.data[at_pair]
    better = np.bincount(row, entries.data > own[row], minlength=n_rows)
    equal = np.bincount(row, entries.data == own[row], minlength=n_rows)
    # The pair is no candidate: behind all candidates, tied with the rest of the other graph.
    others = n_columns - np.diff(entries.indptr)
    equal = np.where(np.isinf(own), others, equal)
    rank: Floats = (1 + better + (equal - 1) / 2)[rows]
    return rank


def sharpness_of(similarity: sp.csr_matrix) -> float:
    """c such that a candidate at noise level weighs as much as the whole background: exp(c·noise) = entities.

    Noise is what second-best candidates reach: their 0.9 quantile over the rows and columns that have one.
    """
    seconds = np.concatenate([_second_best(similarity), _second_best(similarity.T.tocsr())])
    if len(seconds) == 0:
        return float(np.log(max(similarity.shape)) / 0.5)
    entities = float(np.sqrt(float(similarity.shape[0]) * similarity.shape[1]))
    return float(np.log(max(entities, 2.0)) / max(float(np.quantile(seconds, 0.9)), 0.05))


def _second_best(matrix: sp.csr_matrix) -> Floats:
    """The second largest entry of each row that has two, equal to the largest where that one comes twice."""
    lengths = np.diff(matrix.indptr)
    filled = np.flatnonzero(lengths)
    if len(filled) == 0:
        return np.zeros(0)
    starts, values = matrix.indptr[filled], matrix.data.astype(np.float64)
    row = np.repeat(np.arange(len(filled)), lengths[filled])
    is_best = np.flatnonzero(values == np.maximum.reduceat(values, starts)[row])
    first = is_best[np.unique(row[is_best], return_index=True)[1]]
    values[first] = -np.inf
    seconds: Floats = np.maximum.reduceat(values, starts)[lengths[filled] >= 2]
    return seconds
