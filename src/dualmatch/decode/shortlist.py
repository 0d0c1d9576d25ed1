"""Shortlists: the few best candidates of each row and column of a sparse plan, whatever the order of the input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.graph.arrays import Flags, Floats, Ids

LISTED = 5
"""Candidates kept for each row and each column."""
_MANTISSA_BITS = 30


def shortlist(plan: sp.csr_array, row_rank: Ids, column_rank: Ids, n_best: int = LISTED) -> sp.csr_array:
    """The best `n_best` entries of each row and of each column; of equals, those whose names come first."""
    by_row = ordered(plan, column_rank)
    by_column = ordered(sp.csr_array(plan.T), row_rank)
    left, right = by_row.place < n_best, by_column.place < n_best
    row = np.concatenate([by_row.row[left], by_column.column[right]])
    column = np.concatenate([by_row.column[left], by_column.row[right]])
    kept = sp.csr_array((np.ones(len(row)), (row, column)), shape=plan.shape)
    kept.data[:] = 1.0
    listed = sp.csr_array(kept.multiply(plan))
    listed.sort_indices()
    return listed


@dataclass(frozen=True, eq=False)
class Ordered:
    """Entries of a sparse matrix, row by row, the largest first; `place` counts them within their row from 0."""

    row: Ids
    column: Ids
    value: Floats
    place: Ids


def ordered(entries: sp.csr_array, column_rank: Ids) -> Ordered:
    """Sort the entries of each row: by value, equal ones by the rank of their column."""
    counts = np.diff(entries.indptr)
    row = np.repeat(np.arange(entries.shape[0]), counts)
    # Equal probabilities are summed in different orders and differ in their last bits only, which are dropped.
    mantissa, exponent = np.frexp(entries.data.astype(np.float64))
    value = np.ldexp(np.rint(np.ldexp(mantissa, _MANTISSA_BITS)), exponent - _MANTISSA_BITS)
    order = np.lexsort((column_rank[entries.indices], -value, row))
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    return Ordered(row, entries.indices[order].astype(np.int64), value[order], place)


@dataclass(frozen=True, eq=False)
class BestCandidates:
    """For each row its best candidate (-1: none), how likely it is, and whether another is just as good."""

    column: Ids
    probability: Floats
    tied: Flags


def best_candidates(listed: sp.csr_array, column_rank: Ids) -> BestCandidates:
    """The best of each row of a shortlist."""
    entries = ordered(listed, column_rank)
    n_rows = listed.shape[0]
    column, probability, second = np.full(n_rows, -1, dtype=np.int64), np.zeros(n_rows), np.full(n_rows, -1.0)
    first = entries.place == 0
    column[entries.row[first]] = entries.column[first]
    probability[entries.row[first]] = entries.value[first].clip(0.0, 1.0)
    second[entries.row[entries.place == 1]] = entries.value[entries.place == 1].clip(0.0, 1.0)
    return BestCandidates(column, probability, (second == probability) & (column >= 0))


@dataclass(frozen=True, eq=False)
class RunnersUp:
    """The best candidates of each source that it did not get."""

    target: Ids  # (n_source, k): best first; -1 where there are fewer
    probability: Floats  # (n_source, k): 0 where there is none


def runners_up(listed: sp.csr_array, column_rank: Ids, pairs: NDArray[np.integer], n_best: int = 3) -> RunnersUp:
    """The best `n_best` of each row apart from its partner; what six decimals show as 0 is left out."""
    entries = ordered(listed, column_rank)
    taken = np.full(listed.shape[0], -1, dtype=np.int64)
    taken[pairs[:, 0]] = pairs[:, 1]
    is_partner = entries.column == taken[entries.row]
    partner_place = np.full(listed.shape[0], np.iinfo(np.int64).max)
    partner_place[entries.row[is_partner]] = entries.place[is_partner]
    place = entries.place - (entries.place > partner_place[entries.row])
    kept = ~is_partner & (place < n_best) & (entries.value >= 5e-7)
    target = np.full((listed.shape[0], n_best), -1, dtype=np.int64)
    probability = np.zeros((listed.shape[0], n_best))
    target[entries.row[kept], place[kept]] = entries.column[kept]
    probability[entries.row[kept], place[kept]] = entries.value[kept].clip(0.0, 1.0)
    return RunnersUp(target, probability)
