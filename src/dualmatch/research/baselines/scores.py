"""Scores that baselines are ranked by: cosine, L1, time overlap; as they are, by CSLS, or through Sinkhorn.

CSLS: Conneau et al., *Word translation without parallel data*, ICLR 2018.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp
from scipy.spatial.distance import cdist

from dualmatch.decode.similarity import (
    FactorSimilarity,
    RestrictedSimilarity,
    Similarity,
    factor_similarity,
    row_blocks,
)
from dualmatch.decode.sinkhorn import Best, best_in_blocks, kernel_of, ranks_in_blocks, sinkhorn
from dualmatch.decode.sparse_sinkhorn import ranks_in_rows, row_best
from dualmatch.graph.arrays import Dense, Floats, Ids, Rows
from dualmatch.methods.alignment import SoftPlan

Rule = Literal["greedy", "csls", "sinkhorn"]
CSLS_NEIGHBOURS: Final = 10
SHARPNESS: Final = 50.0
SINKHORN_ITERATIONS: Final = 15
_TINY: Final = 1e-12


@dataclass(frozen=True, eq=False)
class RankedPlan:
    """Scores in the place of a plan: similarities as they are, or CSLS of them where `neighbours` is not 0."""

    similarity: Similarity
    neighbours: int
    row_mean: Dense
    column_mean: Dense

    @property
    def shape(self) -> tuple[int, int]:
        return self.similarity.shape

    def blocks(self) -> Iterator[tuple[slice, Dense]]:
        for block in row_blocks(self.shape):
            values = self.similarity.rows(np.arange(block.start, block.stop))
            if self.neighbours:
                values = 2 * values - self.row_mean[block, None] - self.column_mean
            yield block, values

    def best(self) -> Best:
        column, value, row, value_of_column = best_in_blocks(self.blocks, self.shape)
        return Best(column, value, row, value_of_column, value)

    def ranks(self, pairs: NDArray[np.integer]) -> tuple[Floats, Floats]:
        return ranks_in_blocks(self.blocks, self.shape, pairs)

    def restricted(self, rows: Rows, columns: Rows) -> RankedPlan:
        """The same rule on some rows and columns alone: their neighbours are those of the square."""
        return ranked(RestrictedSimilarity(self.similarity, rows, columns), self.neighbours)


def ranked(similarity: Similarity, neighbours: int = 0) -> RankedPlan:
    """Rank by a similarity, or by CSLS with this many neighbours: 2 s_ij − mean of the k best of row i and column j."""
    n_source, n_target = similarity.shape
    row_mean, best = np.zeros(n_source, np.float32), np.zeros((0, n_target), np.float32)
    if neighbours:
        for block in row_blocks(similarity.shape):
            values = similarity.rows(np.arange(block.start, block.stop))
            row_mean[block] = _largest(values.T, neighbours).mean(axis=0)
            best = _largest(np.concatenate([best, values]), neighbours)
    column_mean = best.mean(axis=0) if len(best) else np.zeros(n_target, np.float32)
    return RankedPlan(similarity, neighbours, row_mean, column_mean)


def _largest(values: Dense, k: int) -> Dense:
    """The k largest entries of each column, in no order."""
    return values if len(values) <= k else np.partition(values, -k, axis=0)[-k:]


@dataclass(frozen=True, eq=False)
class SparseScores:
    """Scores of some pairs in the place of a plan; all others are tied behind them."""

    entries: sp.csr_array

    def best(self) -> Best:
        column, value = row_best(self.entries)
        row, value_of_column = row_best(sp.csr_array(self.entries.T))
        return Best(column, value, row, value_of_column, value)

    def ranks(self, pairs: NDArray[np.integer]) -> tuple[Floats, Floats]:
        forward = ranks_in_rows(self.entries, pairs[:, 0], pairs[:, 1])
        return forward, ranks_in_rows(sp.csr_array(self.entries.T), pairs[:, 1], pairs[:, 0])

    def restricted(self, rows: Rows, columns: Rows) -> SparseScores:
        return SparseScores(sp.csr_array(self.entries[rows][:, columns]))


def plan_of(scores: Similarity | SparseScores, rule: Rule, memory_limit: int) -> SoftPlan:
    """Scores by a method's own rule; scores of some pairs only are ranked as they are."""
    if isinstance(scores, SparseScores):
        return scores
    if rule == "sinkhorn":
        return sinkhorn(kernel_of(scores, SHARPNESS, memory_limit), SINKHORN_ITERATIONS)
    return ranked(scores, CSLS_NEIGHBOURS if rule == "csls" else 0)


def cosine(vectors: NDArray[np.floating], n_source: int) -> FactorSimilarity:
    """Cosine of the vectors of all entities, source rows first."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = (vectors / np.maximum(length, _TINY)).astype(np.float32)
    return FactorSimilarity(unit[:n_source], unit[n_source:])


@dataclass(frozen=True, eq=False)
class ManhattanSimilarity:
    """−‖x_i − x_j‖₁."""

    source: Dense
    target: Dense

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.source), len(self.target)

    def rows(self, index: Rows) -> Dense:
        distance: Dense = cdist(self.source[index], self.target, "cityblock").astype(np.float32)
        return np.negative(distance, out=distance)


@dataclass(frozen=True, eq=False)
class OverlapSimilarity:
    """S_t = 2 Σ_τ min(c_i, c_j) / (|c_i| + |c_j|), c the counts of times at an entity."""

    common: FactorSimilarity
    size_source: Dense
    size_target: Dense

    @property
    def shape(self) -> tuple[int, int]:
        return self.common.shape

    def rows(self, index: Rows) -> Dense:
        total = self.size_source[index, None] + self.size_target
        shared: Dense = 2 * self.common.rows(index) / np.maximum(total, 1)
        return shared


def time_overlap(entity: Ids, time: Ids, n: int, n_source: int, dense_bytes: int = 2**28) -> OverlapSimilarity:
    """S_t from (entity, time) with repeats: min(a, b) counts the levels k with a ≥ k and b ≥ k, so it is a product."""
    order = np.lexsort((time, entity))
    entity, time = entity[order], time[order]
    starts = np.flatnonzero(np.r_[True, (np.diff(entity) != 0) | (np.diff(time) != 0)]) if len(entity) else time
    level = np.arange(len(entity)) - np.repeat(starts, np.diff(np.r_[starts, len(entity)]))
    keys = time * (int(level.max(initial=0)) + 1) + level  # the fact is the level-th of its time at its entity
    distinct, column = np.unique(keys, return_inverse=True)
    ones = np.ones(len(entity), np.float32)
    levels = sp.csr_array((ones, (entity, column)), shape=(n, max(len(distinct), 1)))
    size = np.bincount(entity, minlength=n).astype(np.float32)
    common = factor_similarity([levels[:n_source]], [levels[n_source:]], dense_bytes)
    return OverlapSimilarity(common, size[:n_source], size[n_source:])
