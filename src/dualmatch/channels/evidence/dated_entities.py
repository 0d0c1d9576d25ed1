"""Dated entities: the dates of entities themselves (born, founded), and how common each is among its relation's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Self

import numpy as np

from dualmatch.channels.evidence.dates import N_GAPS, NO_DATE, Dates, dates_of, floored, within
from dualmatch.graph.arrays import Flags, Floats, Ids
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import Precision

_STEPS: Final = {Precision.YEAR: 1.0, Precision.MONTH: 12.0, Precision.DAY: 30.44}  # months of a year, days of a month


@dataclass(frozen=True, eq=False)
class DatedEntities:
    """The entity dates of one graph by entity, ready to be compared."""

    first: Ids  # (n_entities + 1,): where the dates of each entity begin
    entity: Ids  # (n_dates,), sorted; as the following
    relation: Ids  # numbered among the relations that have dates
    begin: Dates
    end: Dates
    chance: tuple[Floats, Floats]  # (n_precisions, n_dates): of begin and of end, among the dates of the relation
    row: Ids  # of the graph's `dates`
    relations: Ids  # the graph's number of each relation

    @property
    def n_relations(self) -> int:
        return len(self.relations)

    @cached_property
    def is_span(self) -> Flags:
        """Dates that are an interval with both ends known."""
        known = (self.begin.precision >= 0) & (self.end.precision >= 0)
        is_span: Flags = known & (self.begin.code != self.end.code)
        return is_span

    @cached_property
    def has_spans(self) -> bool:
        return bool((self.begin.code != self.end.code).any())

    @cached_property
    def alike(self) -> Ids:
        """How many dates of the same relation the same entity has."""
        field = self.entity * self.n_relations + self.relation
        _, number, count = np.unique(field, return_inverse=True, return_counts=True)
        alike: Ids = count[number]
        return alike

    @cached_property
    def year(self) -> Ids:
        """A number for the year of each date (its end where only that is known), by which repetitions are known."""
        end = self.end.numbers(0) + 1 + self.begin.numbers(0).max(initial=0)
        year: Ids = np.where(self.begin.numbers(0) != NO_DATE, self.begin.numbers(0), end).astype(np.int64)
        return year

    @cached_property
    def gap_chance(self) -> Floats:
        """How far apart two dates of one relation are by chance: (n_precisions, N_GAPS)."""
        chance = np.full((len(Precision), N_GAPS), 1.0 / N_GAPS)
        if self.begin.opaque:
            return floored(np.eye(1, N_GAPS).repeat(len(Precision), axis=0))
        for level in Precision:
            there = np.flatnonzero(self.begin.precision >= level)
            if len(there):
                counts = np.diff(within(self.relation[there], self.begin.on_calendar(level, there)), axis=0)
                total = np.maximum(counts.sum(axis=0), 1)
                share = (counts / total).sum(axis=1)
                chance[level] = share / max(share.sum(), 1.0)
        return floored(chance)

    def dates_of(self, entities: Ids) -> Ids:
        """How many dates each of some entities has."""
        return self.first[entities + 1] - self.first[entities]

    def at(self, kept: Flags) -> Self:
        """Some of the dates, as common as they are among all."""
        at = np.flatnonzero(kept)
        return replace(
            self,
            first=np.searchsorted(self.entity[at], np.arange(len(self.first))),
            entity=self.entity[at],
            relation=self.relation[at],
            begin=self.begin.at(at),
            end=self.end.at(at),
            chance=(self.chance[0][:, at], self.chance[1][:, at]),
            row=self.row[at],
        )


DatedPair = tuple[DatedEntities, DatedEntities]


def dated_entities(source: TemporalGraph, target: TemporalGraph) -> DatedPair | None:
    """The entity dates of both graphs; None where one has none, so that there is nothing to compare."""
    if not len(source.dates) or not len(target.dates):
        return None
    rows, ordered = [], []
    for graph in (source, target):
        dates = graph.dates.rows
        order = np.lexsort(dates.T[::-1])
        rows.append(order)
        ordered.append(dates[order])
    opaque = source.opaque_times or target.opaque_times
    begins, ends = (dates_of((ordered[0][:, at], ordered[1][:, at]), opaque) for at in (2, 3))
    sides = []
    for side, graph in enumerate((source, target)):
        relations, relation = np.unique(ordered[side][:, 1], return_inverse=True)
        entity, begin, end = ordered[side][:, 0], begins[side], ends[side]
        first = np.searchsorted(entity, np.arange(graph.n_entities + 1))
        chance = _chances(relation, begin), _chances(relation, end)
        sides.append(DatedEntities(first, entity, relation, begin, end, chance, rows[side], relations))
    return sides[0], sides[1]


def _chances(relation: Ids, dates: Dates) -> Floats:
    """How often a date of its relation is the same, at each precision: (n_precisions, n_dates).

    By absolute discounting (Ney, Essen and Kneser, 1994), each precision drawn towards the one before: what days take
    from the count of their own goes to all days of their month alike, so that a birthday which occurs once is about as
    likely as any other of its year.
    """
    chance = np.ones((dates.n_precisions, len(dates.date)))
    before = np.ones(len(dates.date))
    for level in range(len(chance)):
        numbers = dates.numbers(level)
        there = np.flatnonzero(numbers != NO_DATE)
        if not len(there):
            continue
        number = numbers[there].astype(np.int64)
        size = int(number.max()) + 1
        keys, place, count = np.unique(relation[there] * size + number, return_inverse=True, return_counts=True)
        of_key = keys // size
        total = np.bincount(of_key, count)
        once, twice = (np.bincount(of_key, count == times, minlength=len(total)) for times in (1, 2))
        less = once / (once + 2.0 * twice + 1.0)
        distinct = np.bincount(of_key, minlength=len(total))
        if level == 0:
            before[there] = 1.0 / (distinct if dates.opaque else _years(relation[there], dates, there))[relation[there]]
        step = 1.0 if dates.opaque else _STEPS[Precision(level)]
        spread = (less * distinct / np.maximum(total, 1))[of_key][place] * before[there] / step
        chance[level, there] = (count - less[of_key])[place] / total[of_key][place] + spread
        before[there] = chance[level, there]
    return np.minimum(chance, 1.0)


def _years(relation: Ids, dates: Dates, there: Ids) -> Ids:
    """How many years the dates of each relation span."""
    years = dates.on_calendar(Precision.YEAR, there)
    size = int(relation.max()) + 1
    low, high = np.full(size, years.max()), np.full(size, years.min())
    np.minimum.at(low, relation, years)
    np.maximum.at(high, relation, years)
    span: Ids = np.maximum(high - low, 0) + 1
    return span
