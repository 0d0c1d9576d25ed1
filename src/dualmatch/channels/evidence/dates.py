"""Dates: begin or end of the facts of one graph at every precision, and how common each is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.channels.evidence.ties import Ids
from dualmatch.graph.times import UNKNOWN, Precision, coarsen, on_calendar, precision_of

Floats = NDArray[np.float64]

NO_DATE: Final = -1


@dataclass(frozen=True, eq=False)
class Dates:
    """Begin or end of the facts of one graph, at every precision.

    Attributes
    ----------
    precision: (n_facts,) int8
        How exactly the date is known; -1 where it is not.
    number: (n_precisions, n_facts) int64
        The date at each precision, numbered the same in both graphs.
    chance: (n_precisions, n_facts) float64
        How often a fact of this graph has that date, among those known to that precision.
    code: (n_facts,) int64
        The date as the graph has it (`dualmatch.graph.times`).
    opaque: bool
        Whether times are bare ids, with no calendar.
    """

    precision: NDArray[np.int8]
    number: Ids
    chance: Floats
    code: Ids
    opaque: bool

    def at(self, facts: Ids) -> Dates:
        """The dates of some facts, as common as they are among all."""
        return Dates(self.precision[facts], self.number[:, facts], self.chance[:, facts], self.code[facts], self.opaque)

    def on_calendar(self, level: Precision, facts: Ids) -> Ids:
        """Which year, month or day the dates of some facts are, counted from year 0."""
        return self._days[facts] if level == Precision.DAY else on_calendar(self.code[facts], level)

    @cached_property
    def _days(self) -> Ids:
        return on_calendar(np.where(self.precision == Precision.DAY, self.code, 0), Precision.DAY)


def dates_of(codes: tuple[Ids, Ids], opaque: bool) -> tuple[Dates, Dates]:
    """Dates of both graphs; opaque times have one precision only."""
    both = np.concatenate(codes).astype(np.int32)
    known = both != UNKNOWN
    exact = np.where(known, 0 if opaque else precision_of(both), NO_DATE).astype(np.int8)
    levels: tuple[Precision | None, ...] = (None,) if opaque else tuple(Precision)
    cut = len(codes[0])
    parts = exact[:cut], exact[cut:]
    number = np.full((len(levels), len(both)), NO_DATE, dtype=np.int64)
    for level, precision in enumerate(levels):
        there = exact >= level
        value = both[there] if precision is None else coarsen(both[there], precision)
        number[level, there] = np.unique(value, return_inverse=True)[1]
    return (
        Dates(parts[0], number[:, :cut], _chances(number[:, :cut]), codes[0], opaque),
        Dates(parts[1], number[:, cut:], _chances(number[:, cut:]), codes[1], opaque),
    )


def _chances(number: Ids) -> Floats:
    """How often a fact has the date of each fact, that fact itself not counted.

    By absolute discounting (Ney, Essen and Kneser, 1994): dates that occur once say little about how often they would
    occur, and the fewer occur twice, the less. Two graphs that share a date which is unique in both share it for a
    reason.
    """
    chance = np.ones(number.shape)
    for level, numbers in enumerate(number):
        there = numbers != NO_DATE
        if there.any():
            count = 0.5 * np.bincount(numbers[there])  # every fact is listed from both of its ends
            once, twice = float((count == 1).sum()), float((count == 2).sum())
            count -= once / (once + 2.0 * twice + 1.0)
            chance[level, there] = (count / (0.5 * there.sum()))[numbers[there]]
    return chance
