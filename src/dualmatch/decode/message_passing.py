"""Messages of the one-to-one matching, a part of the entities at a time.

The messages of a side are those of its candidates in the order of that side's entities, so that the candidates of some
entities are one piece. A step computes new messages of both sides from those before; each number depends on the
candidates of one entity, in their order, and on sums over all entities, which every part computes itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from dualmatch.engine import Engine
from dualmatch.graph.arrays import Floats, Ids

if TYPE_CHECKING:
    from dualmatch.decode.one_to_one import Candidates

Both = tuple[Floats, Floats]
"""A number for each row, and one for each column."""

LARGEST_LOG_WEIGHT: Final = 200.0
"""Larger weights are lowered to this, their rivals by as much: exp must stay finite."""
LEAST_LOG_WEIGHT: Final = -8.0
"""A pair that weighs less than this cannot move its rivals."""
_AT_ONCE: Final = 2**21  # candidates of a part


@dataclass(frozen=True, eq=False)
class MatchingSide:
    """The candidates that count, in the order of the entities of one side."""

    own: Ids  # (n,): the entity of this side
    other: Ids  # (n,): and of the other
    there: Ids  # (n,): where each candidate stands in the order of the other side
    first: Ids  # (n_entities + 1,): where the candidates of each entity begin
    weight: Floats  # (n,)
    unlisted: Floats  # (n,): what each would weigh, were it not listed
    start: Floats  # (n,): messages to begin with
    log_weight: Floats  # (n,): as they were lowered

    @classmethod
    def of(cls, candidates: Candidates, log_weight: Floats, elsewhere: Both, start: Floats | None, side: int) -> Self:
        """One side of the candidates that count; `start` is in the order of all candidates."""
        counts = counting(log_weight)
        part = candidates.at(counts)
        least = _lowered(part, log_weight[counts])
        weight = np.exp(np.maximum(least, -LARGEST_LOG_WEIGHT))
        there = np.empty(len(part), dtype=np.int64)
        there[part.by_column] = np.arange(len(part))
        unlisted = elsewhere[0][part.row] * elsewhere[1][part.column]
        free = np.ones(len(part)) if start is None else start[counts]
        if side == 0:
            first = np.searchsorted(part.row, np.arange(part.shape[0] + 1))
            return cls(part.row, part.column, there, first, weight, unlisted, free, least)
        order = part.by_column
        own = part.column[order]
        first = np.searchsorted(own, np.arange(part.shape[1] + 1))
        sorted_ = (each[order] for each in (weight, unlisted, free, least))
        return cls(own, part.row[order], order, first, *sorted_)

    def spans(self) -> list[tuple[int, int]]:
        """First and last + 1 entity of parts with about as many candidates each."""
        return _spans(self.first)


def _spans(first: Ids) -> list[tuple[int, int]]:
    cuts = np.searchsorted(first, np.arange(_AT_ONCE, first[-1], _AT_ONCE))
    edges = np.unique(np.concatenate([[0], cuts, [len(first) - 1]])).tolist()
    return list(pairwise(edges)) or [(0, 0)]


def counting(log_weight: Floats) -> Ids:
    """Candidates that can move their rivals."""
    return np.flatnonzero(log_weight > LEAST_LOG_WEIGHT)


def _lowered(candidates: Candidates, log_weight: Floats) -> Floats:
    """Log-weights that `exp` can take, each as much below its largest rival as it was."""
    by_row, by_column = candidates.groups
    row, column = candidates.row, candidates.column
    highest = np.maximum(by_row.largest(log_weight)[row], by_column.largest(log_weight)[column])
    least: Floats = log_weight - np.maximum(highest - LARGEST_LOG_WEIGHT, 0.0)
    return least


@dataclass(frozen=True, eq=False)
class Messages:
    """The messages of both sides after some steps, in parts."""

    sides: tuple[MatchingSide, MatchingSide]
    elsewhere: Both
    free_parts: tuple[list[Floats], list[Floats]]  # how free each candidate's entity is of all its others
    alone_parts: tuple[list[Floats], list[Floats]]  # chance of each entity to have no partner

    @classmethod
    def first(cls, sides: tuple[MatchingSide, MatchingSide], elsewhere: Both) -> Self:
        """Before any step: everybody is alone."""
        source, target = (np.ones(len(each)) for each in elsewhere)
        return cls(sides, elsewhere, ([sides[0].start], [sides[1].start]), ([source], [target]))

    @cached_property
    def free(self) -> Both:
        return _joined(self.free_parts[0]), _joined(self.free_parts[1])

    @cached_property
    def alone(self) -> Both:
        return _joined(self.alone_parts[0]), _joined(self.alone_parts[1])

    @cached_property
    def _unlisted(self) -> tuple[float, float]:
        """What the entities of the other side that are alone weigh together, for either side."""
        source, target = (float(np.sum(self.elsewhere[at] * self.alone[at])) for at in (1, 0))
        return source, target

    def stepped(self, engine: Engine) -> tuple[Messages, float]:
        """The messages after one more step, and how far the one that moved most has moved."""
        spans = [[(side, *span) for span in self.sides[side].spans()] for side in (0, 1)]
        moved = list(engine.each(self.moved, spans[0] + spans[1]))
        free, alone, cut = [each[0] for each in moved], [each[1] for each in moved], len(spans[0])
        after = Messages(self.sides, self.elsewhere, (free[:cut], free[cut:]), (alone[:cut], alone[cut:]))
        return after, max(each[2] for each in moved)

    def moved(self, side: int, begin: int, end: int) -> tuple[Floats, Floats, float]:
        """New messages of some entities' candidates, their chances to be alone, and how far the messages moved."""
        own = self.sides[side]
        at, first = slice(own.first[begin], own.first[end]), own.first[begin : end + 1] - own.first[begin]
        beyond = self.beyond(side, begin, end)
        number = own.own[at] - begin
        others, total = without_own(own.weight[at] * self.free[1 - side][own.there[at]], number, first)
        free = self.free[side][at]
        # Both sides move at once, half of the way: neither graph is treated before the other, and nothing swings.
        new = np.sqrt(free / (1.0 + beyond[number] + others))
        return new, 1.0 / (1.0 + beyond + total), float(np.abs(np.log(new / free)).max(initial=0.0))

    def beyond(self, side: int, begin: int, end: int) -> Floats:
        """Weight of all partners of some entities that are not their candidates."""
        own = self.sides[side]
        at = slice(own.first[begin], own.first[end])
        everyone = self.elsewhere[side][begin:end] * self._unlisted[side]
        alone = self.alone[1 - side][own.other[at]]
        listed = np.bincount(own.own[at] - begin, own.unlisted[at] * alone, minlength=end - begin)
        weight: Floats = np.maximum(everyone - listed, 0.0)
        return weight

    def partner_elsewhere(self, side: int, begin: int, end: int) -> Floats:
        """Chance of some entities to have a partner that is not their candidate."""
        chance: Floats = self.beyond(side, begin, end) * self.alone[side][begin:end]
        return chance


def without_own(values: Floats, number: Ids, first: Ids) -> Both:
    """Sum the others in each value's group, and each group; nothing is lost beside a huge value.

    `number` is the group of each value, in order, and `first` where each group begins.
    """
    size = len(first) - 1
    top = np.full(size, -np.inf)
    filled = np.flatnonzero(first[1:] > first[:-1])
    if len(values):
        top[filled] = np.maximum.reduceat(values, first[filled])
    is_top = values == top[number]
    # where several are largest, one of them counts as such and the rest as others
    place = np.flatnonzero(is_top)
    again = np.flatnonzero(number[place[1:]] == number[place[:-1]]) + 1
    is_top[place[again]] = False
    rest: Floats = np.bincount(number, np.where(is_top, 0.0, values), minlength=size).astype(np.float64)
    total = rest + np.maximum(top, 0.0)
    others = np.where(is_top, rest[number], np.maximum(total[number] - values, 0.0))
    return others, total


def _joined(parts: list[Floats]) -> Floats:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
