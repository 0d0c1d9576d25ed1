"""Similarity: how alike each source entity is to each target entity, a block of rows at a time.

Nothing here holds |E_s| × |E_t| numbers unless they fit (`hold`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from scipy import sparse

from dualmatch.graph.arrays import Dense, Floats, Rows

BLOCK_BYTES: Final = 64 * 2**20
# One multiply-add of a sparse product costs about as much as 300 of a dense float32 one (scipy against BLAS).
SPARSE_COST: Final = 300


class Similarity(Protocol):
    """A matrix of similarities, computed by rows."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def rows(self, index: Rows) -> Dense:
        """The similarities of some source rows to every target: (len(index), n_target), free to overwrite."""
        ...


def block_bytes(memory_limit: int) -> int:
    """How large a block may be: a sixteenth of the limit, since computing it takes more, and 64 MiB at most."""
    return min(BLOCK_BYTES, memory_limit // 16)


def row_blocks(shape: tuple[int, int], size: int = BLOCK_BYTES) -> Iterator[slice]:
    """Cut the rows of a matrix into slices of at most `size` bytes of float32 (one row at least)."""
    height = max(1, size // (4 * max(1, shape[1])))
    for start in range(0, shape[0], height):
        yield slice(start, min(start + height, shape[0]))


@dataclass(frozen=True, eq=False)
class FactorSimilarity:
    """S = X_s X_tᵀ, with columns common on both sides held dense (BLAS) and the rest sparse."""

    dense_source: Dense  # (n_source, k)
    dense_target: Dense  # (n_target, k)
    sparse_source: sparse.csr_array | None = None  # (n_source, m), or None where there is nothing sparse
    sparse_target_t: sparse.csr_array | None = None  # (m, n_target)

    @property
    def shape(self) -> tuple[int, int]:
        return self.dense_source.shape[0], self.dense_target.shape[0]

    def rows(self, index: Rows) -> Dense:
        block: Dense = self.dense_source[index] @ self.dense_target.T
        if self.sparse_source is not None:
            block += (self.sparse_source[index] @ self.sparse_target_t).toarray()
        return block


def factor_similarity(
    source: Sequence[Dense | sparse.csr_array], target: Sequence[Dense | sparse.csr_array], dense_bytes: int
) -> FactorSimilarity:
    """The mean over parts of X_s X_tᵀ, each part (n, columns) dense or csr.

    A column that is non-zero in d_s source and d_t target rows costs d_s·d_t sparse multiply-adds or n_s·n_t dense
    ones; whatever is cheaper goes dense, the costliest first, while the dense columns fit into `dense_bytes`.
    """
    n_source, n_target = source[0].shape[0], target[0].shape[0]
    scale = np.float32(1 / np.sqrt(len(source)))
    room = dense_bytes // (4 * (n_source + n_target))
    dense: tuple[list[Dense], list[Dense]] = ([], [])
    rest: tuple[list[sparse.csr_array], list[sparse.csr_array]] = ([], [])
    for part_source, part_target in zip(source, target, strict=True):
        work = _column_counts(part_source) * _column_counts(part_target)
        costly = np.flatnonzero(work * SPARSE_COST > float(n_source) * n_target)
        costly = np.sort(costly[np.argsort(-work[costly], kind="stable")][:room])
        room -= len(costly)
        cheap = np.setdiff1d(np.flatnonzero(work), costly)
        for side, part in enumerate((part_source, part_target)):
            columns = part[:, costly]
            columns = columns if isinstance(columns, np.ndarray) else columns.toarray()
            dense[side].append(columns.astype(np.float32) * scale)
            rest[side].append(sparse.csr_array(part[:, cheap], dtype=np.float32) * scale)
    sparse_source, sparse_target = (sparse.hstack(parts, format="csr") for parts in rest)
    factors = np.hstack(dense[0]), np.hstack(dense[1])
    if not (sparse_source.nnz and sparse_target.nnz):
        return FactorSimilarity(*factors)
    return FactorSimilarity(*factors, sparse_source, sparse.csr_array(sparse_target.T))


@dataclass(frozen=True, eq=False)
class HeldSimilarity:
    """A similarity whose numbers are all in memory."""

    values: Dense

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    def rows(self, index: Rows) -> Dense:
        return self.values[index]


def hold(similarity: Similarity, memory_limit: int) -> Similarity:
    """Compute a similarity once and keep it, if its numbers fit into `memory_limit` bytes; else leave it as it is."""
    n_source, n_target = similarity.shape
    if 4 * n_source * n_target > memory_limit:
        return similarity
    values = np.empty((n_source, n_target), dtype=np.float32)
    for block in row_blocks(similarity.shape, block_bytes(memory_limit)):
        values[block] = similarity.rows(np.arange(block.start, block.stop))
    return HeldSimilarity(values)


@dataclass(frozen=True, eq=False)
class WeightedSimilarity:
    """Σ w_c S_c over channels, computed row by row."""

    channels: tuple[tuple[float, Similarity], ...]

    @property
    def shape(self) -> tuple[int, int]:
        return self.channels[0][1].shape

    def rows(self, index: Rows) -> Dense:
        total: Dense | None = None
        for weight, channel in self.channels:
            if weight == 0 and len(self.channels) > 1:
                continue
            part = channel.rows(index)
            part *= np.float32(weight)
            total = part if total is None else np.add(total, part, out=total)
        return total if total is not None else np.zeros((len(index), self.shape[1]), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class RestrictedSimilarity:
    """Some rows and columns of a similarity, in the order given."""

    whole: Similarity
    row_index: Rows
    column_index: Rows

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.row_index), len(self.column_index)

    def rows(self, index: Rows) -> Dense:
        return np.ascontiguousarray(self.whole.rows(self.row_index[index])[:, self.column_index])


def _column_counts(part: Dense | sparse.csr_array) -> Floats:
    if isinstance(part, np.ndarray):
        return np.asarray(np.count_nonzero(part, axis=0), dtype=np.float64)
    return np.bincount(part.indices, minlength=part.shape[1]).astype(np.float64)
