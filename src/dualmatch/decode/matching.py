"""Weighted graph matching: how well an alignment matrix maps one graph onto the other (eq. gmd)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dualmatch.similarity import Rows


@dataclass(frozen=True)
class Distance:
    """D = k^r · relational + k^t · temporal, with its parts."""

    relational: float
    temporal: float
    relational_weight: float = 1.0
    temporal_weight: float = 1.0

    @property
    def total(self) -> float:
        return self.relational_weight * self.relational + self.temporal_weight * self.temporal


@dataclass(frozen=True, eq=False)
class MatchingProblem:
    """The matrices D compares.

    Attributes
    ----------
    source, target: (n, n) csr
        A (eq. rel_adj).
    source_times, target_times: (n, columns) csr
        A^t (eq. time_adj), before L2.
    relational_weight, temporal_weight:
        k^r, k^t.
    """

    source: sparse.csr_array
    target: sparse.csr_array
    source_times: sparse.csr_array
    target_times: sparse.csr_array
    relational_weight: float = 1.0
    temporal_weight: float = 1.0

    def distance(self, plan: sparse.csr_array) -> Distance:
        """D of an alignment matrix P̂ (n_source, n_target), soft or 0/1."""
        relational = _squared_norm(self.source @ plan - plan @ self.target)
        temporal = _squared_norm(self.source_times - plan @ self.target_times)
        return Distance(relational, temporal, self.relational_weight, self.temporal_weight)


def top_1(column_of_row: Rows, n_target: int) -> sparse.csr_array:
    """P̂ with 1 at the best of each row and 0 elsewhere (eq. p).

    >>> top_1(np.array([1, 0]), 3).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    n_source = len(column_of_row)
    ones = np.ones(n_source, dtype=np.float32)
    return sparse.csr_array((ones, column_of_row, np.arange(n_source + 1)), shape=(n_source, n_target))


def _squared_norm(matrix: sparse.csr_array) -> float:
    return float(np.square(matrix.data, dtype=np.float64).sum())
