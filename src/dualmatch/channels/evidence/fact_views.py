"""Facts seen from each of their two entities, with their times at every precision both graphs share.

A date of an entity is seen from this entity alone, as from the head of a fact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Self

import numpy as np

from dualmatch.channels.evidence.dates import numbered_codes
from dualmatch.channels.evidence.ties import numbered
from dualmatch.engine import Engine, InProcess
from dualmatch.graph.arrays import Ids, Ints
from dualmatch.graph.model import AnyGraph
from dualmatch.graph.times import UNKNOWN, Precision, coarsen, precision_of

Moment = Literal["begin", "end", "interval"]

ABSENT: Final = -1
_USUAL: Final = 0.5
_AT_ONCE: Final = 2**16  # times looked at in one go


@dataclass(frozen=True)
class TimeKind:
    """A way to read a fact's time: one of its ends, or both, at one precision (None: opaque times)."""

    moment: Moment
    precision: Precision | None


@dataclass(frozen=True, eq=False)
class FactSides:
    """The facts of one graph as their entities see them: 2 rows a fact, by entity, then a row an entity date.

    In the order of entities, what is counted for each of them is found in one place of the memory.
    """

    entity: Ints  # (n_sides,): whose side it is
    other: Ints  # (n_sides - n_dates,): the entity at the other end
    relation: Ints  # (n_sides,): directed relation: r on the head side, n_relations + r on the tail side
    direction: Ints  # (n_sides,): 0 on the head side, 1 on the tail side
    times: tuple[Ints, ...]  # by time kind, numbered over both graphs; `ABSENT` where not known to that precision
    date: Ints  # (n_dates,): one of the times of each entity date, as exact as most dates of both graphs are known
    n_entities: int
    n_directed: int


def fact_sides(
    source: AnyGraph, target: AnyGraph, engine: Engine | None = None
) -> tuple[FactSides, FactSides, tuple[TimeKind, ...]]:
    """Sides of both graphs, and the time kinds they share.

    A fact known to the day is also known to its month and year, so a fact known to the year still meets it there.
    Where every dated fact of both graphs is a point in time, ends and intervals repeat the begins and are left out.
    """
    engine = engine or InProcess(threads=1)
    times = engine.call(_shared_times, source, target)
    asked = [(graph, [pair[at] for pair in times.numbers], times.usual) for at, graph in enumerate((source, target))]
    of_source, of_target = engine.on_columns(_sides, asked)
    return of_source, of_target, times.kinds


class _SharedTimes(NamedTuple):
    """The times of two graphs, by the kinds that both have."""

    kinds: tuple[TimeKind, ...]
    numbers: list[tuple[Ints, Ints]]  # of each kind: the time of each fact, then of each entity date
    usual: int  # the kind that most entity dates have


def _shared_times(source: AnyGraph, target: AnyGraph) -> _SharedTimes:
    points = _are_points(source, target)
    kinds: list[TimeKind] = []
    times: list[tuple[Ints, Ints]] = []
    begins, ends = _DistinctTimes.of(source, target, 0), None if points else _DistinctTimes.of(source, target, 1)
    for precision in _precisions(source, target):
        begin = begins.at(precision)
        moments: list[tuple[Moment, tuple[Ints, Ints]]] = [("begin", begin)]
        if ends is not None:
            end = ends.at(precision)
            interval = _intervals(begin, end)
            moments += [("end", end), ("interval", interval)]
        for moment, numbers in moments:
            if all(bool((number != ABSENT).any()) for number in numbers):
                kinds.append(TimeKind(moment, precision))
                times.append(numbers)
    return _SharedTimes(tuple(kinds), times, _usual_kind(source, target, times))


def time_kinds(source: AnyGraph, target: AnyGraph) -> tuple[TimeKind, ...]:
    """The time kinds two graphs share, without numbering their times."""
    moments: tuple[Moment, ...] = ("begin",) if _are_points(source, target) else ("begin", "end", "interval")
    return tuple(
        TimeKind(moment, precision)
        for precision in _precisions(source, target)
        for moment in moments
        if all(_has_moment(graph, moment, precision) for graph in (source, target))
    )


def _has_moment(graph: AnyGraph, moment: Moment, precision: Precision | None) -> bool:
    asked = {"begin": (0,), "end": (1,), "interval": (0, 1)}[moment]

    def has(first: int) -> bool:
        known = (_at_precision(graph.times[at][first : first + _AT_ONCE], precision) != ABSENT for at in asked)
        return bool(np.logical_and.reduce(list(known)).any())

    return any(has(first) for first in range(0, len(graph.times[0]), _AT_ONCE))  # the first part usually decides


def _are_points(source: AnyGraph, target: AnyGraph) -> bool:
    return all(bool(np.equal(*graph.times).all()) for graph in (source, target))


def _precisions(source: AnyGraph, target: AnyGraph) -> tuple[Precision | None, ...]:
    return (None,) if source.opaque_times or target.opaque_times else tuple(Precision)


def _usual_kind(source: AnyGraph, target: AnyGraph, times: list[tuple[Ints, Ints]]) -> int:
    """The last kind, and so the most exact, that half of the entity dates of either graph have; else the first."""
    usual = 0
    for kind, numbers in enumerate(times):
        dates = [number[graph.n_facts :] for graph, number in zip((source, target), numbers, strict=True)]
        if all(len(date) and (date != ABSENT).mean() >= _USUAL for date in dates):
            usual = kind
    return usual


def _sides(graph: AnyGraph, times: list[Ints], usual: int) -> FactSides:
    n_facts, dates = graph.n_facts, graph.dates
    ends = np.concatenate([graph.head, graph.tail])
    order = np.sort((ends.astype(np.int64) << 32) | np.arange(2 * n_facts)) & 0xFFFFFFFF  # faster than a stable argsort
    fact, direction = order % max(n_facts, 1), (order >= n_facts).astype(np.int32)
    return FactSides(
        entity=np.concatenate([ends[order], dates.entity]).astype(np.int32),
        other=np.concatenate([graph.tail, graph.head])[order].astype(np.int32),
        relation=np.concatenate([graph.relation[fact] + graph.n_relations * direction, dates.relation]).astype(
            np.int32
        ),
        direction=np.concatenate([direction, np.zeros(len(dates), dtype=np.int32)]),
        times=tuple(np.concatenate([time[fact], time[n_facts:]]) for time in times),
        date=times[usual][n_facts:] if times else np.full(len(dates), ABSENT, dtype=np.int32),
        n_entities=graph.n_entities,
        n_directed=2 * graph.n_relations,
    )


def _at_precision(codes: Ints, precision: Precision | None) -> Ids:
    known = codes != UNKNOWN if precision is None else precision_of(codes) >= precision
    values = codes if precision is None else coarsen(codes, precision)
    # shifted to stay positive: years before the common era have negative codes
    return np.where(known, values.astype(np.int64) + 2**31, ABSENT)


@dataclass(frozen=True, eq=False)
class _DistinctTimes:
    """The begins or the ends of two graphs: facts are many, times are few."""

    code: Ints  # (n_times,)
    number: tuple[Ints, Ints]  # which of them each fact has, then each entity date

    @classmethod
    def of(cls, source: AnyGraph, target: AnyGraph, end: int) -> Self:
        return cls(*numbered_codes((source.times[end], target.times[end])))

    def at(self, precision: Precision | None) -> tuple[Ints, Ints]:
        """The times at a precision, numbered together; `ABSENT` where they are less exact."""
        value = _at_precision(self.code, precision)
        present = value != ABSENT
        rank = np.full(len(value), ABSENT, dtype=np.int32)
        rank[present] = np.unique(value[present], return_inverse=True)[1]
        return rank[self.number[0]], rank[self.number[1]]


def _intervals(begin: tuple[Ints, Ints], end: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """Begins and ends of two graphs as one number each, by begin, then end; `ABSENT` where either is."""
    first, last = np.concatenate(begin), np.concatenate(end)
    present = np.flatnonzero((first != ABSENT) & (last != ABSENT))
    key = first[present].astype(np.int64) * (int(last.max(initial=0)) + 1) + last[present]
    number = np.full(len(first), ABSENT, dtype=np.int32)
    number[present] = numbered(key)[1]
    return number[: len(begin[0])], number[len(begin[0]) :]
