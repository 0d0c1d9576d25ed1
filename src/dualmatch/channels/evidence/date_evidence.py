"""Date evidence: what the dates of two entities themselves (born, founded) say about the pair.

Fellegi and Sunter's comparison of fields, *A theory for record linkage*, 1969, with fields whose names differ between
the graphs. How often a date of relation r agrees with a date of relation s is learnt for true pairs: for "born" and
"P569" nearly always, for "born" and "P570" next to never. The Bayes factor of dates that agree is this rate over the
chance of the date; of dates that differ, its complement, times how much likelier a gap of that size is in true pairs.
A relation with one value per entity that nearly always agrees thereby makes a difference strong evidence. What one of
the two entities does not say counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.channels.evidence.agreement import compared, widest_gap
from dualmatch.channels.evidence.dated_entities import DatedEntities, DatedPair
from dualmatch.channels.evidence.dates import N_GAPS, DateGaps
from dualmatch.channels.evidence.support_search import parts
from dualmatch.channels.evidence.ties import expanded
from dualmatch.decode.one_to_one import Candidates, on_grid
from dualmatch.graph.arrays import Flags, Floats, Ids
from dualmatch.graph.times import Precision, ends_before_begin

LEAST_RATE: Final = 0.1
"""Relations whose dates agree more seldom in true pairs are not compared."""
_MOST_CHANCE: Final = 0.9  # a date nearly all entities have: that one of them differs from it is still no proof
_CROWD: Final = 5  # more entities with one date than a search lists: the partner may be one that is not listed
_MOST_RATE: Final = 0.99
_DOUBT: Final = 2.0  # dates that differ, with which every pair of relations begins
_WEIGHT: Final = 4.0  # dates that those which do not count in full stand for


@dataclass(frozen=True, eq=False)
class DateAgreement:
    """What is learnt about dates of true pairs."""

    # (n_source_relations, n_target_relations), relations that have dates: how often a date of the first agrees with
    # some date of the second, and how often a date of the second does with some date of the first
    rate: tuple[Floats, Floats]
    gaps: Floats  # (n_precisions, N_GAPS): how much likelier each gap is there than by chance, where dates differ
    present: tuple[Floats, Floats]  # (n_relations,): how often the partner has a date to compare with

    @cached_property
    def best(self) -> tuple[Floats, Floats]:
        """(n_relations,): the highest rate of each relation of source and target."""
        return self.rate[0].max(axis=1, initial=0.0), self.rate[1].max(axis=0, initial=0.0)


@dataclass(frozen=True, eq=False)
class DateEvidence:
    """Pairs of dates that speak for or against a candidate, in log-odds."""

    candidate: Ids
    source: Ids  # numbers of dates in `DatedEntities`
    target: Ids
    weight: Floats

    def value(self, n_candidates: int) -> Floats:
        """Of all dates of each candidate together."""
        return on_grid(np.bincount(self.candidate, self.weight, minlength=n_candidates).astype(np.float64))


@dataclass(frozen=True, eq=False)
class Compared:
    """Pairs of dates of some pairs of entities, undecided ones left out."""

    pair: Ids  # (n,): which pair of entities
    date: tuple[Ids, Ids]  # (n,): the date of the source, and of the target
    level: NDArray[np.int8]  # the precision they were compared at
    gap: NDArray[np.int8]  # the class of their gap; -1 where they agree

    def relations(self, sides: DatedPair) -> tuple[Ids, Ids]:
        return sides[0].relation[self.date[0]], sides[1].relation[self.date[1]]


def compare_dates(sides: DatedPair, row: Ids, column: Ids, rate: tuple[Floats, Floats] | None = None) -> Compared:
    """Compare all dates of some pairs of entities; with `rate`, those of relations that are compared at all.

    Dates agree where nothing that both say contradicts; an interval that only contains or overlaps the other date
    decides nothing.
    """
    source, target = sides
    which, f = expanded(source.first[row], source.dates_of(row))
    at, j = expanded(target.first[column[which]], target.dates_of(column[which]))
    pair, f = which[at], f[at]
    if rate is not None:
        wanted = np.maximum(*rate) >= LEAST_RATE
        kept = wanted[source.relation[f], target.relation[j]]
        pair, f, j = pair[kept], f[kept], j[kept]
    level, gap = widest_gap(sides, f, j)
    begin_level, begin_same = compared(source.begin, target.begin, f, j)
    end_level, end_same = compared(source.end, target.end, f, j)
    decided = begin_same | end_same | (gap >= 0)
    apart = (gap >= 0) & (source.is_span[f] | target.is_span[j])
    at = np.flatnonzero(apart)
    if len(at):
        decided[at] &= _disjoint(source, target, f[at], j[at])
    level = np.where(gap >= 0, level, np.where(begin_same, begin_level, end_level)).astype(np.int8)
    at = np.flatnonzero(decided)
    return Compared(pair[at], (f[at], j[at]), level[at], gap[at])


def _disjoint(source: DatedEntities, target: DatedEntities, f: Ids, j: Ids) -> Flags:
    (begin, end), (other_begin, other_end) = (
        (side.begin.at(at).code, side.end.at(at).code) for side, at in ((source, f), (target, j))
    )
    if source.begin.opaque:
        return np.ones(len(f), dtype=bool)
    return ends_before_begin(begin, other_end) | ends_before_begin(other_begin, end)


def date_evidence(sides: DatedPair, candidates: Candidates, model: DateAgreement) -> DateEvidence:
    """What the dates of each candidate's entities say, seen from either side, half of each.

    Every date is compared with the dates of the relation that it agrees with most often. Dates that two relations
    repeat ("birth date", "birth year") count once.
    """
    row, column = candidates.row, candidates.column
    found: list[list[Any]] = []
    for part in parts(sides[0].dates_of(row) * sides[1].dates_of(column)):
        pairs = compare_dates(sides, row[part], column[part], model.rate)
        for view in (0, 1):
            at, weight = _view(sides, pairs, model, view)
            found.append([pairs.pair[at] + part.start, pairs.date[0][at], pairs.date[1][at], 0.5 * weight])
    if not found:
        none = np.zeros(0, dtype=np.int64)
        return DateEvidence(none, none, none, np.zeros(0))
    candidate, source, target, weight = (np.concatenate(each) for each in zip(*found, strict=True))
    return DateEvidence(candidate, source, target, weight)


def _view(sides: DatedPair, pairs: Compared, model: DateAgreement, view: int) -> tuple[Ids, Floats]:
    """The comparison that counts for each date of one side, and its log-likelihood ratio."""
    own, other = sides[view], sides[1 - view]
    date, there = pairs.date[view], pairs.date[1 - view]
    rate = model.rate[view][pairs.relations(sides)]
    order = np.lexsort((there, pairs.gap, other.relation[there], -rate, date, pairs.pair))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(pairs.pair[order]) != 0) | (np.diff(date[order]) != 0)
    at = order[new]
    at = at[rate[at] >= LEAST_RATE]
    rate, date, there = rate[at], date[at], there[at]
    level, gap = pairs.level[at], pairs.gap[at]
    single = (own.alike[date] == 1) & (other.alike[there] == 1)
    chance = _chance_of_agreement(sides, pairs, view, at) * other.alike[there]
    agrees = np.log(rate) - np.log(np.minimum(chance, 1.0))
    differs = np.log1p(-rate) - np.log1p(-np.minimum(chance, _MOST_CHANCE))
    differs += np.where(single, np.log(model.gaps[level, gap]), 0.0)
    weight = np.where(gap < 0, agrees, differs)
    # the same two years again, by other relations: the weightiest of them
    order = np.lexsort((at, -np.abs(weight), other.year[there], own.year[date], pairs.pair[at]))
    keys = pairs.pair[at], own.year[date], other.year[there]
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    return at[order[first]], weight[order[first]]


def _chance_of_agreement(sides: DatedPair, pairs: Compared, view: int, at: Ids) -> Floats:
    """How likely the date of one side is by chance, as far as the two agree; else of a date so precise."""
    own, f, j = sides[view], pairs.date[0][at], pairs.date[1][at]
    date = pairs.date[view][at]
    differs = (pairs.gap[at] >= 0) & (own.begin.at(date).precision >= 0)
    chance = np.where(differs, own.chance[0][pairs.level[at], date], 1.0)
    begin_level, begin_same = compared(sides[0].begin, sides[1].begin, f, j)
    end_level, end_same = compared(sides[0].end, sides[1].end, f, j)
    chance[begin_same] = own.chance[0][begin_level[begin_same], date[begin_same]]
    # a point's end is its begin over again
    more = end_same & (own.begin.at(date).code != own.end.at(date).code)
    chance[more] *= own.chance[1][end_level[more], date[more]]
    only = end_same & ~begin_same & ~more
    chance[only] = own.chance[1][end_level[only], date[only]]
    return chance


def missed_dates(sides: DatedPair, model: DateAgreement, view: int) -> Floats:
    """Log-likelihood ratio of each entity with an entity that none of its dates agrees with: (n_entities,).

    Dates that many entities of the other graph have say nothing: the partner may be one of those that no search listed.
    """
    own, other = sides[view], sides[1 - view]
    lost = np.log1p(-(model.present[view] * model.best[view])[own.relation])
    lost[_crowded(own, other)] = 0.0
    order = np.lexsort((lost, own.year, own.entity))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(own.entity[order]) != 0) | (np.diff(own.year[order]) != 0)
    once = order[new]
    missed: Floats = np.bincount(own.entity[once], lost[once], minlength=len(own.first) - 1).astype(np.float64)
    return missed


def _crowded(own: DatedEntities, other: DatedEntities) -> Flags:
    """Dates that more entities of the other graph have than a search lists."""
    count = np.zeros(len(own.entity))
    for level, numbers in enumerate(own.begin.distinct.number):
        size = 1 + int(numbers.max(initial=0))
        for here, others in (
            (own.begin.precision == level, other.begin.precision >= level),
            (own.begin.precision > level, other.begin.precision == level),
        ):
            found = np.bincount(other.begin.numbers(level)[others], minlength=size)
            count[here] += found[own.begin.numbers(level)[here]]
    return count > _CROWD


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
