"""Learning how dates of true pairs agree, from pairs that are believed."""

from __future__ import annotations

from typing import Final

import numpy as np

from dualmatch.channels.evidence.date_evidence import (
    LEAST_RATE,
    Compared,
    DateAgreement,
    DateEvidence,
    compare_dates,
    date_evidence,
)
from dualmatch.channels.evidence.dated_entities import DatedPair
from dualmatch.channels.evidence.dates import N_GAPS, DateGaps
from dualmatch.channels.evidence.ties import expanded
from dualmatch.decode.one_to_one import Candidates
from dualmatch.graph.arrays import Flags, Floats, Ids
from dualmatch.graph.times import Precision

_MOST_RATE: Final = 0.99
_DOUBT: Final = 2.0  # dates that differ, with which every pair of relations begins
_WEIGHT: Final = 4.0  # dates that those which do not count in full stand for


def learn_dates(
    sides: DatedPair, pairs: Ids, log_odds: Floats, before: DateAgreement | None, sure: float
) -> DateAgreement:
    """Learn how dates of true pairs agree, from pairs that are sure without the dates in question.

    A pair that stands only because its dates agree says nothing about how often dates agree, and one that fell only
    because they differ must be counted. Where no pair is sure enough, all believed pairs stand in for them.

    Parameters
    ----------
    pairs: (n, 2)
        The best one-to-one pairs, with their log-odds.
    before:
        What they were judged by. None: all believed pairs count.
    sure:
        Log-odds that a pair must have without a date for the date to be counted.
    """
    compared_pairs = compare_dates(sides, pairs[:, 0], pairs[:, 1])
    added = None
    if before is not None:
        candidates = Candidates(pairs[:, 0], pairs[:, 1], (len(sides[0].first) - 1, len(sides[1].first) - 1))
        added = date_evidence(sides, candidates, before)
    relations = compared_pairs.relations(sides)
    views = [_rates(sides, compared_pairs, added, log_odds, sure, view) for view in (0, 1)]
    rate = views[0][0], views[1][0]
    clean = views[0][1] & views[1][1]
    aligned = np.maximum(rate[0], rate[1])[relations] >= LEAST_RATE
    single = (sides[0].alike[compared_pairs.date[0]] == 1) & (sides[1].alike[compared_pairs.date[1]] == 1)
    at = np.flatnonzero(clean & aligned & single & (compared_pairs.gap >= 0))
    place = compared_pairs.level[at].astype(np.int64) * N_GAPS + compared_pairs.gap[at]
    seen = np.bincount(place, minlength=len(Precision) * N_GAPS).reshape(len(Precision), N_GAPS).astype(np.float64)
    gaps = DateGaps.learnt(0.0, seen, 0.5 * (sides[0].gap_chance + sides[1].gap_chance)).ratio
    present = tuple(_present(sides, pairs[log_odds > 0.0], rate[view], view) for view in (0, 1))
    return DateAgreement(rate, gaps, (present[0], present[1]))


def _rates(
    sides: DatedPair, pairs: Compared, added: DateEvidence | None, log_odds: Floats, sure: float, view: int
) -> tuple[Floats, Flags]:
    """How often dates of one side agree, by the relations of both; and which comparisons count in full."""
    own, other = sides[view], sides[1 - view]
    shape = sides[0].n_relations, sides[1].n_relations
    believed = log_odds[pairs.pair] > 0.0
    clean = believed
    if added is not None and len(pairs.pair):
        size = 1 + int(own.year.max(initial=0))
        key = pairs.pair * size + own.year[pairs.date[view]]
        keys, place = np.unique(key, return_inverse=True)
        own_date = (added.source, added.target)[view]
        wanted = np.searchsorted(keys, added.candidate * size + own.year[own_date]).clip(max=len(keys) - 1)
        hit = keys[wanted] == added.candidate * size + own.year[own_date]
        given = np.bincount(wanted[hit], added.weight[hit], minlength=len(keys))
        clean = log_odds[pairs.pair] - given[place] > sure
    # each date once with each relation of the other side
    date, relation = pairs.date[view], other.relation[pairs.date[1 - view]]
    order = np.lexsort((pairs.gap, relation, date, pairs.pair))
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any([np.diff(key[order]) != 0 for key in (pairs.pair, date, relation)], axis=0)
    once = order[new]
    place = np.ravel_multi_index(tuple(each[once] for each in pairs.relations(sides)), shape)
    size = shape[0] * shape[1]

    def counted(kept: Flags) -> Floats:
        return np.bincount(place, kept, minlength=size).astype(np.float64)

    agrees, in_full, by_belief = pairs.gap[once] < 0, clean[once], believed[once]
    overall = counted(agrees & by_belief) / (counted(by_belief) + _DOUBT)
    rate = (counted(agrees & in_full) + _WEIGHT * overall) / (counted(in_full) + _WEIGHT)
    return np.minimum(rate, _MOST_RATE).reshape(shape), clean


def _present(sides: DatedPair, pairs: Ids, rate: Floats, view: int) -> Floats:
    """How often the partner has a date of a relation to compare with, for each relation of one side."""
    own, other = sides[view], sides[1 - view]
    aligned = rate >= LEAST_RATE if view == 0 else rate.T >= LEAST_RATE
    which, date = expanded(own.first[pairs[:, view]], own.dates_of(pairs[:, view]))
    partner = pairs[which, 1 - view]
    at, there = expanded(other.first[partner], other.dates_of(partner))
    has = np.zeros(len(date), dtype=bool)
    has[at[aligned[own.relation[date[at]], other.relation[there]]]] = True
    counts = (np.bincount(own.relation[date], kept, minlength=own.n_relations) for kept in (has, np.ones(len(date))))
    found, tried = counts
    return (found + 1.0) / (tried + 2.0)
