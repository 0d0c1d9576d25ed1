"""Deciding: one-to-one pairs from a plan, each with a confidence, or no match at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


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
) -> NDArray[np.bool_]:
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


def within_fdr(confidence: Floats, max_fdr: float) -> tuple[NDArray[np.bool_], float]:
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
