"""Forbidden pairs: they must not be linked, whatever the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.decode.similarity import Similarity
from dualmatch.graph.arrays import NO_PARTNER, Dense, Flags, Ids, Rows

_NOT_ALIKE = np.float32(-1.0)


@dataclass(frozen=True, eq=False)
class Forbidden:
    """Pairs that may not be linked: (n, 2) rows; a target of `NO_PARTNER` forbids the source every partner.

    >>> rule = Forbidden(np.array([[0, 1], [2, NO_PARTNER]]))
    >>> rule.allows(np.array([[0, 0], [0, 1], [2, 2]])).tolist()
    [True, False, False]
    """

    pairs: NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def alone(self) -> Ids:
        """Sources that have no partner."""
        return np.unique(self.pairs[self.pairs[:, 1] == NO_PARTNER, 0]).astype(np.int64)

    def allows(self, pairs: NDArray[np.integer]) -> Flags:
        """Which of some (n, 2) pairs may be linked."""
        listed = self.pairs[self.pairs[:, 1] != NO_PARTNER]
        given, barred = (each[:, 0].astype(np.int64) << 32 | each[:, 1].astype(np.int64) for each in (pairs, listed))
        allowed: Flags = ~(np.isin(pairs[:, 0], self.alone) | np.isin(given, barred))
        return allowed

    def left_out_of(self, entries: sp.csr_matrix) -> sp.csr_matrix:
        """Sparse candidates without the forbidden ones."""
        if not len(self):
            return entries
        listed = entries.tocoo()
        kept = self.allows(np.stack([listed.row, listed.col], axis=1))
        left = sp.csr_matrix((listed.data[kept], (listed.row[kept], listed.col[kept])), shape=entries.shape)
        left.sort_indices()
        return left

    def lowered(self, similarity: Similarity) -> Similarity:
        """A similarity with the forbidden pairs at −1."""
        return LoweredSimilarity(similarity, self) if len(self) else similarity


@dataclass(frozen=True, eq=False)
class LoweredSimilarity:
    """A similarity with the forbidden pairs at −1."""

    whole: Similarity
    forbidden: Forbidden

    @property
    def shape(self) -> tuple[int, int]:
        return self.whole.shape

    @cached_property
    def _places(self) -> tuple[Ids, Ids]:
        pairs = self.forbidden.pairs[np.argsort(self.forbidden.pairs[:, 0], kind="stable")].astype(np.int64)
        return pairs[:, 0], pairs[:, 1]

    def rows(self, index: Rows) -> Dense:
        block = self.whole.rows(index)
        sources, targets = self._places
        begin, end = np.searchsorted(sources, index), np.searchsorted(sources, index, side="right")
        for row in np.flatnonzero(end > begin).tolist():
            columns = targets[begin[row] : end[row]]
            block[row, slice(None) if NO_PARTNER in columns else columns] = _NOT_ALIKE
        return block
