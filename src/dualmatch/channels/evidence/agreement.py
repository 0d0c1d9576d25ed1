"""Agreement: how much likelier two facts are if they are one fact than if they met by chance.

The Bayes factor of a pair of facts (Fellegi and Sunter, *A theory for record linkage*, 1969): for each thing that both
facts say, the chance that two records of one fact say it, over the chance that a fact drawn at random does. Rare dates
and rare relations count for much, common ones for little. What one of the two does not say counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.channels.evidence.dates import NO_DATE, DateGaps, Dates, dates_of, gap_class
from dualmatch.channels.evidence.ties import Ties, expanded, find_pairs
from dualmatch.engine import Engine, InProcess, called
from dualmatch.graph.arrays import Flags, Floats, Ids
from dualmatch.graph.times import Precision

_HALF: Final = 0.5  # added to every count: what was never seen is not impossible
_SMALL_TABLE: Final = 2**18  # relation pairs whose odds are computed at once: what asks for them asks for more
_LARGEST_TABLE: Final = 2**23  # relation pairs that are looked up in a table; beyond, in a sorted list


@dataclass(frozen=True, eq=False)
class Side:
    """What the facts of one graph say, ready to be compared."""

    ties: Ties
    begin: Dates
    end: Dates
    neighbour_chance: Floats  # (n_facts,): how often a fact of its relation has the same entity at its other end
    # (n_precisions, n_facts): chance of a fact's end among the facts that begin when it does; None where all facts of
    # both graphs are points in time
    end_chance: Floats | None

    def chance_of_end(self, level: NDArray[np.int8], facts: Ids) -> Floats:
        """Chance of the ends of some facts, each at a precision, among the facts that begin when they do."""
        if self.end_chance is None:
            raise ValueError("points in time have no end of their own")
        chance: Floats = self.end_chance[level, facts]
        return chance

    def at(self, ties: Flags) -> Side:
        """Some of the ties; how common what they say is stays as it is among all."""
        facts = np.flatnonzero(ties[self.ties.tie])
        begin, ends = self.begin.at(facts), self.end_chance
        end = begin if self.end is self.begin else self.end.at(facts)
        return Side(
            self.ties.at(ties), begin, end, self.neighbour_chance[facts], None if ends is None else ends[:, facts]
        )

    @cached_property
    def is_point(self) -> Flags:
        """Facts whose begin is their end."""
        return np.equal(self.ties.begin, self.ties.end)

    @cached_property
    def has_spans(self) -> bool:
        """Whether some fact is more than a point in time."""
        return not bool(self.is_point.all())


def sides_of(source: Ties, target: Ties, opaque: bool, engine: Engine | None = None) -> tuple[Side, Side]:
    """Both graphs, with their dates numbered together."""
    engine, ties = engine or InProcess(threads=1), (source, target)
    are_points = all(engine.on_columns(_are_points, [(each,) for each in ties]))
    codes = [(source.begin, target.begin)] if are_points else [(source.begin, target.begin), (source.end, target.end)]
    asked: list[tuple[Any, ...]] = [(_neighbour_chances, each) for each in ties]
    found = engine.on_columns(called, [*asked, *((dates_of, each, opaque) for each in codes)])
    chances, begins, ends = found[:2], found[2], found[-1]
    given: list[Any] = [None, None] if are_points else engine.on_columns(_given_begin, zip(begins, ends, strict=True))
    left, right = (Side(*each) for each in zip(ties, begins, ends, chances, given, strict=True))
    return left, right


def _are_points(ties: Ties) -> bool:
    return np.array_equal(ties.begin, ties.end)


def _neighbour_chances(ties: Ties, weight: float = 5.0) -> Floats:
    """Chance of each fact's other end given its relation, drawn towards its chance among all facts.

    Countries deal with countries: that two of them do is no surprise once the relation is known.
    """
    other = ties.neighbour[ties.tie]
    overall = np.bincount(other, minlength=ties.n_entities) / max(ties.n_facts, 1)
    _, number, count = np.unique(ties.relation * ties.n_entities + other, return_inverse=True, return_counts=True)
    of_relation = np.bincount(ties.relation, minlength=ties.n_directed)[ties.relation]
    chance: Floats = (count[number] + weight * overall[other]) / (of_relation + weight)
    return chance


def _given_begin(begin: Dates, end: Dates, weight: float = 5.0) -> Floats:
    """Chance of each end given its begin, drawn towards its chance among all facts: terms have usual lengths."""
    chance = np.stack([chances[end.numbers(level)] for level, chances in enumerate(end.chances)])
    for level in range(len(chance)):
        there = np.flatnonzero((begin.numbers(level) != NO_DATE) & (end.numbers(level) != NO_DATE))
        if not len(there):
            continue
        first, last = (each.numbers(level, there).astype(np.int64) for each in (begin, end))
        _, interval, count = np.unique(first * (last.max() + 1) + last, return_inverse=True, return_counts=True)
        alike = np.bincount(first)[first]
        chance[level, there] = (count[interval] + weight * chance[level, there]) / (alike + weight)
    return chance


@dataclass(frozen=True, eq=False)
class RelationOdds:
    """How much likelier a directed relation of one graph is given that of the same fact in the other graph."""

    together: sp.csr_matrix  # (n_source_directed, n_target_directed): how often facts of two relations were the same
    chances: tuple[Floats, Floats]  # (n_directed,): how often a fact of source, and of target, has each relation

    @classmethod
    def of(cls, together: sp.csr_matrix, source: Ties, target: Ties) -> Self:
        of_source, of_target = (
            (np.bincount(ties.relation, minlength=ties.n_directed).astype(np.float64) + _HALF)
            / (ties.n_facts + _HALF * ties.n_directed)
            for ties in (source, target)
        )
        return cls(together, (of_source, of_target))

    @classmethod
    def unknown(cls, source: Ties, target: Ties) -> Self:
        """Before any fact was found in both graphs: every relation is as likely as every other."""
        return cls.of(sp.csr_matrix((source.n_directed, target.n_directed)), source, target)

    def at(self, relation_source: Ids, relation_target: Ids) -> tuple[Floats, Floats]:
        """Odds of some pairs of relations, seen from the source and from the target."""
        if self._tables is None:
            return self._odds(self._count(relation_source, relation_target), relation_source, relation_target)
        place = relation_source * self.together.shape[1] + relation_target
        return self._tables[0][place], self._tables[1][place]

    def _odds(self, count: Floats, relation_source: Ids, relation_target: Ids) -> tuple[Floats, Floats]:
        """As `at`, of relations that were the same so often."""
        forward = (count / self.chances[1][relation_target] + 1.0) / (self._totals[0][relation_source] + 1.0)
        backward = (count / self.chances[0][relation_source] + 1.0) / (self._totals[1][relation_target] + 1.0)
        return forward, backward

    @cached_property
    def _totals(self) -> tuple[Floats, Floats]:
        rows, columns = (np.asarray(self.together.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
        return rows, columns

    @cached_property
    def _tables(self) -> tuple[Floats, Floats] | None:
        """The odds of all pairs of relations, row after row; None where there are many."""
        rows, columns = self.together.shape
        if rows * columns > _SMALL_TABLE:
            return None
        count = np.asarray(self.together.toarray(), dtype=np.float64).ravel()
        return self._odds(count, np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows))

    @cached_property
    def _counts(self) -> Floats | None:
        """How often all pairs of relations were the same; None where there are very many."""
        rows, columns = self.together.shape
        return self.together.toarray() if rows * columns <= _LARGEST_TABLE else None

    def _count(self, row: Ids, column: Ids) -> Floats:
        """How often relations were the same."""
        if self._counts is not None:
            return np.asarray(self._counts[row, column], dtype=np.float64)
        entries = self.together.tocoo()
        listed = entries.row.astype(np.int64), entries.col.astype(np.int64)
        place = find_pairs(*listed, self.together.shape[1], row, column)
        return np.where(place >= 0, np.append(entries.data, 0.0)[place], 0.0)


def bayes_factors(
    sides: tuple[Side, Side], odds: RelationOdds, gaps: DateGaps, f: Ids, j: Ids
) -> tuple[Floats, Floats]:
    """Bayes factors of fact f of the source with fact j of the target, seen from either side.

    From the source: how much likelier the target's fact is given the source's. From the target the other way round.
    """
    source, target = sides
    from_source, from_target = odds.at(source.ties.relation[f], target.ties.relation[j])
    begins = level, agree = compared(source.begin, target.begin, f, j)
    ends = None
    same = np.flatnonzero(agree)
    from_source[same] /= target.begin.chance(level[same], j[same])
    from_target[same] /= source.begin.chance(level[same], f[same])
    if source.has_spans or target.has_spans:
        ends = end_level, end_agree = compared(source.end, target.end, f, j)
        span = ~(source.is_point[f] & target.is_point[j])  # a point's end is its begin over again
        for begun in (True, False):
            same = np.flatnonzero(span & end_agree & (agree == begun))
            chances = [side.chance_of_end if begun else side.end.chance for side in sides]
            from_source[same] /= chances[1](end_level[same], j[same])
            from_target[same] /= chances[0](end_level[same], f[same])
    factors = gaps.factors(*_wider_gap(sides, f, j, begins, ends))
    return from_source * factors, from_target * factors


class Spanned(Protocol):
    """Anything with a begin and an end."""

    @property
    def begin(self) -> Dates: ...
    @property
    def end(self) -> Dates: ...
    @property
    def has_spans(self) -> bool: ...


def widest_gap(sides: tuple[Spanned, Spanned], f: Ids, j: Ids) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Precision and class of the wider gap where begins or ends of two facts contradict each other; -1 elsewhere."""
    has_spans = sides[0].has_spans or sides[1].has_spans
    begins = compared(sides[0].begin, sides[1].begin, f, j)
    return _wider_gap(sides, f, j, begins, compared(sides[0].end, sides[1].end, f, j) if has_spans else None)


def _wider_gap(
    sides: tuple[Spanned, Spanned], f: Ids, j: Ids, begins: Compared, ends: Compared | None
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    level, gap = _gap(sides[0].begin, sides[1].begin, f, j, begins)
    if ends is not None:
        end_level, end_gap = _gap(sides[0].end, sides[1].end, f, j, ends)
        wider = end_gap > gap
        level, gap = np.where(wider, end_level, level), np.where(wider, end_gap, gap)
    return level, gap


def _gap(left: Dates, right: Dates, f: Ids, j: Ids, both: Compared) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    level = np.where(both[1], -1, both[0]).astype(np.int8)
    gap = np.full(len(f), -1, dtype=np.int8)
    if left.opaque:
        gap[level >= 0] = 0  # without a calendar, all gaps are alike
        return level, gap
    for precision in Precision:
        at = np.flatnonzero(level == precision)
        if len(at):
            gap[at] = gap_class(left.on_calendar(precision, f[at]) - right.on_calendar(precision, j[at]))
    return level, gap


Compared = tuple[NDArray[np.int8], Flags]
"""Of pairs of dates, the precision that both have, -1 where one is unknown, and whether they agree at it."""


def compared(left: Dates, right: Dates, f: Ids, j: Ids) -> Compared:
    """The precision that both dates of each pair have, and whether they agree at it."""
    known, own, other = left.distinct, left.date[f], right.date[j]
    level = np.minimum(known.precision[own], known.precision[other])
    numbers, first = known.number.ravel(), np.multiply(np.maximum(level, 0), len(known), dtype=np.int64)
    agree = (level >= 0) & (numbers[first + own] == numbers[first + other])
    return level, agree


def open_facts(side: Side, unknown: Floats) -> Floats:
    """How many facts of each date have two ends whose partners are unknown: (n_dates,)."""
    ties = side.ties
    is_open = unknown[ties.entity] * unknown[ties.neighbour]
    counted = np.bincount(side.begin.date, is_open[ties.tie], minlength=len(side.begin.distinct))
    return counted.astype(np.float64, copy=False)


def room_elsewhere(side: Side, sought: Floats, offered: Floats, asked: Ids | None = None) -> Floats:
    """How likely each tie of one graph is to be found again, unseen, among ties of the other: (n_ties,), or (n_asked,).

    A fact whose other end is not known yet can be one of the other graph's facts whose ends are not known either, if
    there are such facts at its time, and enough of them for all that are looking for one. `sought` and `offered` are
    the `open_facts` of this graph and of the other; `asked` are some of the ties.
    """
    date, first = side.begin.date, side.ties.first_fact[:-1]
    if asked is not None:
        n_facts = side.ties.facts_of(asked)
        date, first = date[expanded(first[asked], n_facts)[1]], np.cumsum(n_facts) - n_facts
    share = side.begin.distinct.room(sought, offered)[date]
    largest: Floats = np.maximum.reduceat(share, first) if len(share) else share
    return largest
