"""Deciding: one-to-one pairs from a plan, each with a confidence, or no match at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse as sp

from dualmatch.decode.sinkhorn import Best
from dualmatch.graph.arrays import Flags, Floats, Ids, Ints


def assign(plan: sp.csr_matrix, many_to_one: bool = False) -> tuple[Ids, Floats]:
    """Pairs by greedy choice of the largest entries; the entries themselves.

    Pairs that are the best of both their row and their column are taken, their rows and columns leave, and so on:
    the greedy matching, found in a few sweeps. Of equal entries none is chosen: a tie is no decision, and breaking it
    by position would depend on the order of the input.

    Parameters
    ----------
    many_to_one:
        Let several rows take one column: the best of each row, where it is the only best.
    """
    entries = plan.tocoo()
    row, column, value = entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data.astype(np.float64)
    taken: list[tuple[Ids, Ids, Floats]] = []
    while len(row):
        best = value >= _largest(row, value, plan.shape[0])[row]
        if not many_to_one:
            best &= value >= _largest(column, value, plan.shape[1])[column]
        best &= np.bincount(row[best], minlength=plan.shape[0])[row] == 1
        if not many_to_one:
            best &= np.bincount(column[best], minlength=plan.shape[1])[column] == 1
        taken.append((row[best], column[best], value[best]))
        if many_to_one or not best.any():
            break
        gone_row, gone_column = np.zeros(plan.shape[0], dtype=bool), np.zeros(plan.shape[1], dtype=bool)
        gone_row[row[best]] = True
        gone_column[column[best]] = True
        left = ~(gone_row[row] | gone_column[column])
        row, column, value = row[left], column[left], value[left]
    pairs = np.stack(
        [np.concatenate([part[side] for part in taken] or [np.zeros(0, np.int64)]) for side in (0, 1)], axis=1
    )
    scores = np.concatenate([part[2] for part in taken] or [np.zeros(0)])
    order = np.argsort(pairs[:, 0], kind="stable")
    return pairs[order], scores[order]


def _largest(group: Ids, value: Floats, size: int) -> Floats:
    largest = np.full(size, -np.inf)
    np.maximum.at(largest, group, value)
    return largest


def decide(
    confidence: Floats, own_threshold: float | None, min_confidence: float | None, max_fdr: float | None
) -> Flags:
    """Which pairs to give: all that hold what is asked.

    Parameters
    ----------
    own_threshold:
        The method's own: pairs above it are given where nothing else is asked. None: all.
    min_confidence:
        Least confidence, in the place of the method's own.
    max_fdr:
        Largest expected share of wrong pairs (`within_fdr`), in the place of the method's own threshold, or besides
        the one asked for.
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

    Returns
    -------
    chosen: (n,) bool
    estimate: float
        Expected share of wrong pairs among the chosen: mean of 1 − confidence.
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


NO_SIMILARITY: Final = 1e-4
"""Similarities are read back from float32 numbers; what is below this is zero."""


@dataclass(frozen=True, eq=False)
class FoundPairs:
    """Pairs a channel or a decoder found, over all entities.

    Attributes
    ----------
    pairs: (n, 2) int32
    confidence: (n,) float64
        The smaller of the two probabilities with which the entities choose each other.
    """

    pairs: Ints
    confidence: Floats


def mutual_best(forward: Best, backward: Best) -> FoundPairs:
    """Pairs (i, j) with j the best of row i in `forward` and i the best of column j in `backward`.

    `forward` comes from Sinkhorn of S^t and `backward` from Sinkhorn of its transpose, as the paper's Algorithm 1
    (lines 6 to 8) has it. Entities that have nothing in common choose nobody: Sinkhorn pushes what mass is left over
    to entities without any feature, which is no evidence.
    """
    source = np.arange(len(forward.column_of_row))
    target = forward.column_of_row
    chosen = (backward.row_of_column[target] == source) & (forward.similarity_of_row > NO_SIMILARITY)
    pairs = np.stack([source[chosen], target[chosen]], axis=1).astype(np.int32)
    confidence = np.minimum(forward.value_of_row[chosen], backward.value_of_column[target[chosen]])
    return FoundPairs(pairs, np.clip(confidence.astype(np.float64), 0.0, 1.0))
