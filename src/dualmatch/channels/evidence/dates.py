"""Dates: begin or end of the facts at every precision, how common each is, and gaps between dates that differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from dualmatch.channels.evidence.ties import Ties, numbered
from dualmatch.graph.arrays import Flags, Floats, Ids, Ints
from dualmatch.graph.hashing import mixed
from dualmatch.graph.times import UNKNOWN, Precision, coarsen, on_calendar, precision_of

NO_DATE: Final = -1
N_GAPS: Final = 8
"""Classes of gaps; the last holds 128 units and more."""
_WEIGHT: Final = 20.0  # facts by chance that every gap begins with
_LEAST_CHANCE: Final = 1e-3
_MOST_SAMPLED: Final = 50_000  # facts that show how far apart dates are by chance


@dataclass(frozen=True, eq=False)
class DistinctDates:
    """The distinct dates of both graphs: facts are many, dates are few."""

    code: Ints  # (n_dates,): as the graphs have them (`dualmatch.graph.times`), sorted
    precision: NDArray[np.int8]  # (n_dates,): how exactly each is known; -1 where it is not
    number: Ints  # (n_precisions, n_dates): each at every precision; `NO_DATE` where it is less exact

    def __len__(self) -> int:
        return len(self.code)

    @classmethod
    def of(cls, code: Ints, opaque: bool) -> Self:
        """Of sorted codes; opaque times have one precision only."""
        exact = np.where(code != UNKNOWN, 0 if opaque else precision_of(code), NO_DATE).astype(np.int8)
        levels: tuple[Precision | None, ...] = (None,) if opaque else tuple(Precision)
        number = np.full((len(levels), len(code)), NO_DATE, dtype=np.int32)
        for level, precision in enumerate(levels):
            there = exact >= level
            value = code[there] if precision is None else coarsen(code[there], precision)
            number[level, there] = np.unique(value, return_inverse=True)[1]
        return cls(code, exact, number)

    @cached_property
    def on_calendar(self) -> Ids:
        """Which year, month and day each is, counted from year 0: (3, n_dates); as of year 0 where it is less exact."""
        return np.stack([on_calendar(np.where(self.precision >= level, self.code, 0), level) for level in Precision])

    def room(self, sought: Floats, offered: Floats) -> Floats:
        """For what share of the facts sought at each date there are facts on offer that can be the same: (n_dates,).

        Facts as exact as a date meet all that are at least as exact, finer ones those that are just as exact.
        """
        found, wanted = np.zeros(len(self)), np.zeros(len(self))
        for level, number in enumerate(self.number):
            here, finer = np.flatnonzero(self.precision == level), np.flatnonzero(self.precision > level)
            known = np.append(here, finer)
            size = 1 + int(number.max(initial=0))
            found[here] += np.bincount(number[known], offered[known], minlength=size)[number[here]]
            wanted[here] += np.bincount(number[known], sought[known], minlength=size)[number[here]]
            found[finer] += np.bincount(number[here], offered[here], minlength=size)[number[finer]]
        return np.where(self.precision < 0, 1.0, np.minimum(1.0, found / np.maximum(wanted, 1e-9)))


@dataclass(frozen=True, eq=False)
class Dates:
    """Begin or end of the facts of one graph, at every precision."""

    date: Ints  # (n_facts,): which of the distinct dates each fact has
    distinct: DistinctDates
    chances: Floats  # (n_precisions, n_numbers + 1): how common each number is in this graph; 1 at the end, for no date
    opaque: bool  # whether times are bare ids, with no calendar

    @cached_property
    def precision(self) -> NDArray[np.int8]:
        """How exactly the date of each fact is known; -1 where it is not: (n_facts,)."""
        return self.distinct.precision[self.date]

    @property
    def code(self) -> Ints:
        """The dates as the graph has them: (n_facts,)."""
        return self.distinct.code[self.date]

    @property
    def n_precisions(self) -> int:
        """Year, month and day; one for opaque times."""
        return len(self.distinct.number)

    def numbers(self, level: int, facts: Ids | None = None) -> Ints:
        """The dates of all or some facts at one precision, numbered the same in both graphs."""
        numbers: Ints = self.distinct.number[level][self.date if facts is None else self.date[facts]]
        return numbers

    def at(self, facts: Ids) -> Dates:
        """The dates of some facts, as common as they are among all."""
        return replace(self, date=self.date[facts])

    def chance(self, level: NDArray[np.int8], facts: Ids) -> Floats:
        """How common in this graph the dates of some facts are, each among dates of a precision."""
        place = np.multiply(level, len(self.distinct), dtype=np.int64) + self.date[facts]  # faster than two indices
        chance: Floats = self._chance_of_date.ravel()[place]
        return chance

    @cached_property
    def _chance_of_date(self) -> Floats:
        """How common each of the distinct dates is in this graph, at each precision: (n_precisions, n_dates).

        For dates that this graph lacks it means nothing.
        """
        return np.take_along_axis(self.chances, self.distinct.number.astype(np.int64) % self.chances.shape[1], axis=1)

    def on_calendar(self, level: Precision, facts: Ids) -> Ids:
        """Which year, month or day the dates of some facts are, counted from year 0."""
        units: Ids = self.distinct.on_calendar[level][self.date[facts]]
        return units


def dates_of(codes: tuple[Ids, Ids], opaque: bool) -> tuple[Dates, Dates]:
    """Dates of both graphs; opaque times have one precision only."""
    code, of_both = numbered_codes(codes)
    distinct = DistinctDates.of(code, opaque)
    source, target = (Dates(each, distinct, _chances(distinct, each), opaque) for each in of_both)
    return source, target


def numbered_codes(codes: tuple[Ids | Ints, Ids | Ints]) -> tuple[Ints, tuple[Ints, Ints]]:
    """The distinct codes of the times of two graphs, sorted, and which of them each time is.

    >>> code, (source, target) = numbered_codes((np.array([18330000, UNKNOWN]), np.array([18150000, 18330000])))
    >>> code[source].tolist() == [18330000, UNKNOWN], target.tolist()
    (True, [1, 2])
    """
    both = np.concatenate(codes).astype(np.int64)
    known = both != UNKNOWN
    earliest = int(both.min(where=known, initial=np.iinfo(np.int64).max)) if known.any() else 0
    after, number = numbered(np.where(known, both - earliest + 1, 0))  # 0: no date
    code = np.where(after > 0, after - 1 + earliest, UNKNOWN).astype(np.int32)
    source, target = np.split(number.astype(np.int32), [len(codes[0])])
    return code, (source, target)


def _chances(distinct: DistinctDates, date: Ints) -> Floats:
    """How often a fact has each date, one fact with it not counted: (n_precisions, n_numbers + 1).

    By absolute discounting (Ney, Essen and Kneser, 1994): dates that occur once say little about how often they would
    occur, and the fewer occur twice, the less. Two graphs that share a date which is unique in both share it for a
    reason.
    """
    n_facts = np.bincount(date, minlength=len(distinct))
    chance = np.ones((len(distinct.number), int(distinct.number[:, n_facts > 0].max(initial=NO_DATE)) + 2))
    for level, numbers in enumerate(distinct.number):
        there = np.flatnonzero((numbers != NO_DATE) & (n_facts > 0))
        if len(there):
            # every fact is listed from both of its ends
            count = 0.5 * np.bincount(numbers[there], n_facts[there].astype(np.float64))
            once, twice = float((count == 1).sum()), float((count == 2).sum())
            count -= once / (once + 2.0 * twice + 1.0)
            chance[level, : len(count)] = count / (0.5 * n_facts[there].sum())
    return chance


@dataclass(frozen=True, eq=False)
class DateGaps:
    """How often the dates of a tie that both graphs have contradict each other, and by how much.

    An event that one graph reports a day later than the other is most likely the same event; one reported ten years
    later is not. So dates that differ are compared in classes of gaps that double: 1 unit, 2 to 3, 4 to 7 and so on,
    in the unit both are known to (days, months, years). As in record linkage, the ratio counts: how often dates of true
    pairs are so far apart, learnt from pairs that are sure without the dates in question, over how often dates of
    chance are, among other facts of the same neighbour, whose facts may crowd in a few years.
    """

    differ: float  # share of such ties none of whose facts agree in time
    ratio: Floats  # (n_precisions, N_GAPS): how much likelier each gap is there than between dates of chance

    @classmethod
    def unknown(cls, differ: float) -> Self:
        """Before any gap was seen."""
        return cls(differ, np.ones((len(Precision), N_GAPS)))

    @classmethod
    def learnt(cls, differ: float, seen: Floats, by_chance: Floats) -> Self:
        """From how often each gap was seen, (n_precisions, N_GAPS), drawn towards chance."""
        total = seen.sum(axis=1, keepdims=True)
        return cls(differ, (seen + _WEIGHT * by_chance) / (total + _WEIGHT) / by_chance)

    def factors(self, level: NDArray[np.int8], gap: NDArray[np.int8]) -> Floats:
        """Bayes factors of dates at some precision, by their gap; -1 where they do not contradict each other."""
        factors: Floats = np.where(gap < 0, 1.0 - self.differ, self.differ * self.ratio[np.maximum(level, 0), gap])
        return factors


def gap_class(apart: Ids) -> NDArray[np.int8]:
    """The class of dates that are so many units apart.

    >>> gap_class(np.array([1, -2, 3, 4, 127, 128, 5000])).tolist()
    [0, 1, 1, 2, 6, 7, 7]
    """
    _, exponent = np.frexp(np.abs(apart).astype(np.float64))
    classes: NDArray[np.int8] = np.clip(exponent - 1, 0, N_GAPS - 1).astype(np.int8)
    return classes


def gaps_by_chance(ties: Ties, dates: Dates) -> Floats:
    """How often two facts with one neighbour are dated so far apart, other facts of the same tie left out.

    (n_precisions, N_GAPS), rows of sum 1. Each fact counts once, however many facts its neighbour has.
    """
    chance = np.full((len(Precision), N_GAPS), 1.0 / N_GAPS)
    if dates.opaque:  # without a calendar all gaps are alike, and of the first class
        chance = np.eye(1, N_GAPS).repeat(len(Precision), axis=0)
    sampled = _sampled(ties)
    for level in () if dates.opaque else Precision:
        listed = np.flatnonzero(sampled & (dates.precision >= level))
        if len(listed):
            at = dates.on_calendar(level, listed)
            of_tie = ties.tie[listed]
            others = within(ties.neighbour[of_tie], at) - within(of_tie, at)
            counts = np.diff(others, axis=0)
            total = counts.sum(axis=0)
            share = (counts[:, total > 0] / total[total > 0]).sum(axis=1)
            chance[level] = share / max(share.sum(), 1.0)
    return floored(chance)


def floored(chance: Floats) -> Floats:
    """Chances of gaps with a least one, so that what was never seen is not impossible; rows of sum 1."""
    chance = np.maximum(chance, _LEAST_CHANCE)
    normalised: Floats = chance / chance.sum(axis=1, keepdims=True)
    return normalised


def within(group: Ids, at: Ids) -> Ids:
    """How many facts of the same group lie within less than 1, 2, 4 … units, and in all: (N_GAPS + 1, n_facts)."""
    at = at - at.min()
    size = int(at.max()) + 2**N_GAPS
    key = group * size + at
    order = np.argsort(key)
    ordered, at, first = key[order], at[order], (group * size)[order]
    counts = np.empty((N_GAPS + 1, len(key)), dtype=np.int64)  # searched for in order, which is many times as fast
    for gap in range(N_GAPS):
        reach = 2**gap - 1
        low, high = first + np.maximum(at - reach, 0), first + np.minimum(at + reach, size - 1)
        counts[gap, order] = np.searchsorted(ordered, high, side="right") - np.searchsorted(ordered, low)
    counts[N_GAPS, order] = np.searchsorted(ordered, first + size) - np.searchsorted(ordered, first)
    return counts


def _sampled(ties: Ties) -> Flags:
    """Facts of a sample of neighbours, drawn by a hash of their dates, so that the input's order does not matter."""
    neighbour = ties.neighbour[ties.tie]
    if ties.n_facts <= _MOST_SAMPLED:
        return np.ones(ties.n_facts, dtype=bool)
    dates = np.zeros(ties.n_entities, dtype=np.uint64)
    np.add.at(dates, neighbour, mixed(ties.begin))
    drawn = mixed(dates.view(np.int64)) < np.uint64(2**64 * (_MOST_SAMPLED / ties.n_facts))
    sampled: Flags = drawn[neighbour]
    return sampled
