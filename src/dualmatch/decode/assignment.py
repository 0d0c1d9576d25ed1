"""Pairs from a plan: one-to-one by greedy choice, or by mutual best; and how many of them to keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse as sp

from dualmatch.decode.sinkhorn import Best
from dualmatch.graph.arrays import Flags, Floats, Ids, Pairs

NO_SIMILARITY: Final = 1e-4
"""Similarities are read back from float32 numbers; anything below this is zero."""


@dataclass(frozen=True, eq=False)
class FoundPairs:
    """Pairs found by a channel or a decoder, over all entities."""

    pairs: Pairs
    confidence: Floats  # the smaller of the two probabilities with which the entities choose each other


def mutual_best(forward: Best, backward: Best) -> FoundPairs:
    """Pseudo-seeds: pairs (i, j) with j the best of row i in `forward` and i the best of column j in `backward`.

    `forward` comes from Sinkhorn of S^t and `backward` from Sinkhorn of its transpose (the paper's bi-directional
    strategy, Algorithm 1, lines 6 to 8). Entities that have nothing in common choose nobody: Sinkhorn pushes what mass
    is left over to entities without any feature, which is no evidence.
    """
    source = np.arange(len(forward.column_of_row))
    target = forward.column_of_row
    chosen = (backward.row_of_column[target] == source) & (forward.similarity_of_row > NO_SIMILARITY)
    pairs = np.stack([source[chosen], target[chosen]], axis=1).astype(np.int32)
    confidence = np.minimum(forward.value_of_row[chosen], backward.value_of_column[target[chosen]])
    return FoundPairs(pairs, np.clip(confidence.astype(np.float64), 0.0, 1.0))


def assign(plan: sp.csr_matrix, many_to_one: bool = False) -> tuple[Ids, Floats]:
    """Choose pairs greedily by the largest entries; give the entries, too.

    Pairs that are the best of both their row and their column are taken, their rows and columns leave, and so on:
    the greedy matching, found in a few sweeps. Of equal entries none is chosen: a tie is no decision, and breaking it
    by position would depend on the order of the input. With `many_to_one`, the best of each row is taken where it is
    the only best.
    """
    entries = plan.tocoo()
    listed = entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data.astype(np.float64)
    return assign_listed(*listed, entries.shape, many_to_one)


def assign_listed(
    row: Ids, column: Ids, value: Floats, shape: tuple[int, int], many_to_one: bool = False
) -> tuple[Ids, Floats]:
    """As `assign`, for entries that are listed."""
    taken = [(np.zeros((0, 2), np.int64), np.zeros(0))]
    while len(row):
        best = value >= _largest(row, value, shape[0])[row]
        if not many_to_one:
            best &= value >= _largest(column, value, shape[1])[column]
        best &= np.bincount(row[best], minlength=shape[0])[row] == 1
        if not many_to_one:
            best &= np.bincount(column[best], minlength=shape[1])[column] == 1
        taken.append((np.stack([row[best], column[best]], axis=1), value[best]))
        if many_to_one or not best.any():
            break
        row_gone, column_gone = (np.zeros(size, dtype=bool) for size in shape)
        row_gone[row[best]] = column_gone[column[best]] = True
        left = ~(row_gone[row] | column_gone[column])
        row, column, value = row[left], column[left], value[left]
    pairs, scores = np.concatenate([part for part, _ in taken]), np.concatenate([part for _, part in taken])
    order = np.argsort(pairs[:, 0], kind="stable")
    return pairs[order], scores[order]


def _largest(group: Ids, value: Floats, size: int) -> Floats:
    largest = np.full(size, -np.inf)
    np.maximum.at(largest, group, value)
    return largest


def decide(
    confidence: Floats, own_threshold: float | None, min_confidence: float | None, max_fdr: float | None
) -> Flags:
    """Choose the pairs that meet what was asked.

    Pairs above the method's `own_threshold` (None: all), unless something else is asked: a least confidence, a largest
    expected share of wrong pairs (`within_fdr`), or both.
    """
    chosen = np.ones(len(confidence), dtype=bool)
    if min_confidence is not None:
        chosen = confidence >= min_confidence
    elif own_threshold is not None and max_fdr is None:
        chosen = confidence > own_threshold
    if max_fdr is not None:
        chosen[chosen] = within_fdr(confidence[chosen], max_fdr)[0]
    return chosen


def within_fdr(confidence: Floats, max_fdr: float) -> tuple[Flags, float]:
    """The largest set of most confident pairs whose expected share of wrong ones stays within `max_fdr`.

    The estimate is the mean of 1 − confidence over the chosen: the Bayesian false discovery rate of a direct posterior
    probability approach (Newton, Noueiry, Sarkar and Ahlquist, Biostatistics 5, 2004). It is returned, too.
    """
    order = np.argsort(-confidence, kind="stable")
    running = np.cumsum(1.0 - confidence[order]) / np.arange(1, len(order) + 1)
    allowed = np.flatnonzero(running <= max_fdr)
    if len(allowed) == 0:
        return np.zeros(len(confidence), dtype=bool), 0.0
    chosen = confidence >= confidence[order[allowed[-1]]]
    while chosen.any() and float((1.0 - confidence[chosen]).mean()) > max_fdr:  # pairs tied with the last one
        chosen &= confidence > confidence[chosen].min()
    return chosen, float((1.0 - confidence[chosen]).mean()) if chosen.any() else 0.0
