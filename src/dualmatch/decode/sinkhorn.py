"""Sinkhorn: turn similarities into an (almost) doubly stochastic plan, P̂ = diag(u) · exp(c·S) · diag(v).

Rows, then columns, are divided by their sums, `iterations` times. On dense matrices this runs over blocks of rows;
one pass over the kernel does both halves of an iteration. Rectangular matrices are normal input. The number of
iterations is fixed, as in the paper; a plan that still moves is logged. Reference: Cuturi, *Sinkhorn distances:
lightspeed computation of optimal transport*, NeurIPS 2013.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from dualmatch.decode.similarity import RestrictedSimilarity, Similarity, block_bytes, row_blocks
from dualmatch.graph.arrays import Dense, Floats, Rows

logger = logging.getLogger(__name__)

EPSILON: Final = 1e-6
_STEADY: Final = 1e-3  # of a log scale: below this, an iteration changes nothing
# Small enough for both products with a block to find it in the processor's cache.
_PASS_BYTES: Final = 4 * 2**20
_TINY: Final = float(np.finfo(np.float32).tiny)

First = Literal["rows", "columns"]


@dataclass(frozen=True, eq=False)
class Kernel:
    """K = exp(c·(S − shift)), each row shifted by its largest similarity so that nothing overflows.

    The row factor exp(c·shift) lost this way goes into u. All of K is kept if it fits, otherwise rows are computed
    each time they are needed.
    """

    similarity: Similarity
    sharpness: float
    memory_limit: int
    shift: Dense
    kept: Dense | None

    @property
    def shape(self) -> tuple[int, int]:
        return self.similarity.shape

    def blocks(self) -> Iterator[tuple[slice, Dense]]:
        if self.kept is not None:
            for block in row_blocks(self.shape, _PASS_BYTES):
                yield block, self.kept[block]
            return
        for block in row_blocks(self.shape, block_bytes(self.memory_limit)):
            values = self.similarity.rows(np.arange(block.start, block.stop))
            yield block, _exponentiate(values, self.shift[block], self.sharpness)


def kernel_of(similarity: Similarity, sharpness: float, memory_limit: int, room: Dense | None = None) -> Kernel:
    """Build the kernel, kept whole where it takes at most `memory_limit` bytes.

    `room`, (n_source, n_target), is memory to write into instead of fresh pages, which cost more than the arithmetic.
    A kernel that was kept there before is gone.
    """
    n_source, n_target = similarity.shape
    shift = np.empty(n_source, dtype=np.float32)
    kept = room
    if kept is None and 4 * n_source * n_target <= memory_limit:
        kept = np.empty((n_source, n_target), dtype=np.float32)
    for block in row_blocks(similarity.shape, block_bytes(memory_limit)):
        values = similarity.rows(np.arange(block.start, block.stop))
        shift[block] = values.max(axis=1)
        if kept is not None:
            kept[block] = _exponentiate(values, shift[block], sharpness)
    return Kernel(similarity, sharpness, memory_limit, shift, kept)


def _exponentiate(values: Dense, shift: Dense, sharpness: float) -> Dense:
    values -= shift[:, None]
    values *= np.float32(sharpness)
    # Below this exp gives denormal numbers, which slow every later product tenfold and mean nothing.
    np.maximum(values, np.float32(-87.0), out=values)
    np.exp(values, out=values)
    return values


@dataclass(frozen=True, eq=False)
class Plan:
    """P̂ = diag(u) K diag(v), read in blocks of rows."""

    kernel: Kernel
    u: Floats
    v: Floats
    iterations: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.kernel.shape

    def restricted(self, rows: Rows, columns: Rows) -> Plan:
        """The same Sinkhorn on some rows and columns of the similarity alone."""
        part = RestrictedSimilarity(self.kernel.similarity, rows, columns)
        kernel = kernel_of(part, self.kernel.sharpness, self.kernel.memory_limit)
        return sinkhorn(kernel, self.iterations) if self.iterations else unbalanced(kernel)

    def blocks(self) -> Iterator[tuple[slice, Dense]]:
        """Row slices with their part of P̂."""
        u, v = self.u.astype(np.float32), self.v.astype(np.float32)
        for block, values in self.kernel.blocks():
            yield block, values * u[block, None] * v

    def best(self) -> Best:
        """The largest entry of each row and of each column (the first of equals)."""
        column, value, row, value_of_column = best_in_blocks(self.blocks, self.shape)
        # S at the best of each row, read back from P̂ there: shift + ln(P̂ / (u v)) / c
        log_kernel = np.log(np.maximum(value / np.maximum(self.u * self.v[column], _TINY), _TINY))
        similarity = (self.kernel.shift + log_kernel / self.kernel.sharpness).astype(np.float32)
        return Best(column, value, row, value_of_column, similarity)

    def ranks(self, pairs: NDArray[np.integer]) -> tuple[Floats, Floats]:
        """Rank of each pair's target in its row of P̂, and of its source in its column; ties get their average rank.

        `pairs` holds no entity twice.
        """
        return ranks_in_blocks(self.blocks, self.shape, pairs)


Blocks = Callable[[], Iterator[tuple[slice, Dense]]]


def best_in_blocks(blocks: Blocks, shape: tuple[int, int]) -> tuple[Rows, Dense, Rows, Dense]:
    """Best column of each row with its entry, best row of each column with its entry (the first of equals)."""
    n_source, n_target = shape
    row_index, row_value = np.zeros(n_source, np.intp), np.zeros(n_source, np.float32)
    column_index, column_value = np.zeros(n_target, np.intp), np.full(n_target, -np.inf, np.float32)
    for block, values in blocks():
        row_index[block] = values.argmax(axis=1)
        row_value[block] = values.max(axis=1)
        rows = values.argmax(axis=0)
        here = values[rows, np.arange(n_target)]
        better = here > column_value
        column_index[better] = rows[better] + block.start
        column_value[better] = here[better]
    return row_index, row_value, column_index, column_value


def ranks_in_blocks(blocks: Blocks, shape: tuple[int, int], pairs: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """Average rank of each pair in its row and in its column; `pairs` holds no entity twice."""
    n_source, n_target = shape
    partner = np.full(n_source, -1, np.intp)
    partner[pairs[:, 0]] = pairs[:, 1]
    at_pair = np.full(n_target, np.inf, np.float32)
    row_rank = np.zeros(n_source)
    for block, values in blocks():
        asked = np.flatnonzero(partner[block] >= 0)
        value = values[asked, partner[block][asked]]
        at_pair[partner[block][asked]] = value
        rows = values[asked]
        better, equal = (rows > value[:, None]).sum(axis=1), (rows == value[:, None]).sum(axis=1)
        row_rank[block.start + asked] = 1 + better + (equal - 1) / 2
    better, equal = np.zeros(n_target), np.zeros(n_target)
    for _, values in blocks():
        better += (values > at_pair).sum(axis=0)
        equal += (values == at_pair).sum(axis=0)
    column_rank = 1 + better + (equal - 1) / 2
    return row_rank[pairs[:, 0]], column_rank[pairs[:, 1]]


@dataclass(frozen=True, eq=False)
class Best:
    """Best column of each row and best row of each column, with their values, and S at the best of each row."""

    column_of_row: Rows
    value_of_row: Dense
    row_of_column: Rows
    value_of_column: Dense
    similarity_of_row: Dense


def unbalanced(kernel: Kernel) -> Plan:
    """The kernel itself as a plan, without any Sinkhorn: ranks and choices are those of the similarity."""
    u = np.exp(np.maximum(kernel.sharpness * (kernel.shift - kernel.shift.max()).astype(np.float64), -80.0))
    return Plan(kernel, u, np.ones(kernel.shape[1]), iterations=0)


def sinkhorn(kernel: Kernel, iterations: int = 10, first: First = "rows", epsilon: float = EPSILON) -> Plan:
    """Balance a kernel.

    `first`: ``"rows"``: rows, then columns, so that columns end with sum 1 (the paper's P^{G_s G_t}); ``"columns"``:
    the other way round, which is Sinkhorn of the transposed matrix (P^{G_t G_s}). `epsilon`: added to each sum before
    dividing by it, so that a column which no row wants stays near zero instead of being blown up. The very first sum is
    of exp(c·s) itself, against which ε is nothing.
    """
    n_source, n_target = kernel.shape
    u, v = np.ones(n_source), np.ones(n_target)
    if first == "columns":
        # Undo the row shift first: here it is columns of exp(c·S) itself that are summed.
        u = unbalanced(kernel).u
        columns = np.zeros(n_target)
        for block, values in kernel.blocks():
            columns += _product(u[block].astype(np.float32), values)
        v = 1.0 / np.maximum(columns, _TINY)
    before = u
    for iteration in range(iterations):
        before = u.copy()
        exact = first == "rows" and iteration == 0
        columns = np.zeros(n_target)
        for block, values in kernel.blocks():
            row_sum = _product(values, v.astype(np.float32))
            u[block] = _rescaled(u[block], row_sum, 0.0 if exact else epsilon)
            columns += _product(u[block].astype(np.float32), values)
        if first == "rows" or iteration + 1 < iterations:
            v = _rescaled(v, columns, epsilon)
        # The same plan with v around 1: on unbalanced sizes u and v drift apart by n_t/n_s with every iteration.
        positive = v[v > 0]
        gauge = float(np.exp(np.log(positive).mean())) if len(positive) else 1.0
        u, v = u * gauge, v / gauge
    log_convergence(before, u, iterations)
    return Plan(kernel, u, v, iterations)


def _product(left: Dense, right: Dense) -> Dense:
    # Some builds of OpenBLAS now and then raise the flag "invalid" for finite numbers; a NaN would show in the plan.
    with np.errstate(invalid="ignore"):
        product: Dense = left @ right
    return product


def log_convergence(before: Floats, after: Floats, iterations: int) -> None:
    """Log where the last iteration still moved the row scales against each other."""
    kept = (before > 0) & (after > 0)
    moved = float(np.ptp(np.log(after[kept] / before[kept]))) if kept.any() else 0.0
    if moved > _STEADY:
        logger.debug(
            "Sinkhorn has not converged: iteration %d moved row scales by a factor of e^%.2g", iterations, moved
        )


def _rescaled(scale: Floats, sums: NDArray[np.floating], epsilon: float) -> Floats:
    """scale / (scale·sum + ε): divide a row of P̂ by its sum. A row of zeros stays zero."""
    mass = scale * sums
    return np.divide(scale, mass + epsilon, out=np.zeros_like(scale), where=mass + epsilon > _TINY)
