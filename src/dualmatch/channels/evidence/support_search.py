"""The search for support: which ties of two entities meet, and how well their facts agree, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any, Final, NamedTuple, Self

import numpy as np

from dualmatch.channels.evidence.agreement import RelationOdds, Side, bayes_factors
from dualmatch.channels.evidence.dates import DateGaps
from dualmatch.channels.evidence.ties import Places, Ties, expanded
from dualmatch.decode.one_to_one import Candidates
from dualmatch.engine import Engine
from dualmatch.graph.arrays import Flags, Floats, Ids, Ints

_Found = list[Any]  # columns of a table

_AT_ONCE: Final = 2**21  # pairs of ties looked at in one go
_NO_SUPPORT: Final = 1.0  # agreement in time that chance has as often
_LEAST_OPEN: Final = 0.02  # neighbours this likely to be known already give no open support


@dataclass(frozen=True, eq=False)
class SlotNumbers:
    """A number for each (candidate, tie of its entity on one side), in that order."""

    first: Ids
    first_tie: Ids

    @classmethod
    def of(cls, candidates: Candidates, ties: Ties, view: int) -> Self:
        entity = (candidates.row, candidates.column)[view]
        return cls(np.concatenate([[0], np.cumsum(ties.ties_of(entity))]), ties.first_tie[entity])

    def keys(self, candidate: Ids | Ints, tie: Ids | Ints) -> Ids:
        keys: Ids = self.first[candidate] + tie - self.first_tie[candidate]
        return keys

    def slots(self, key: Ids) -> tuple[Ids, Ids]:
        """The candidate and the tie behind each number."""
        candidate = np.searchsorted(self.first, key, side="right") - 1
        return candidate, key - self.first[candidate] + self.first_tie[candidate] if len(key) else key


@dataclass(frozen=True, eq=False)
class Live:
    """Supporters that are likely enough, sorted: their numbers, columns and keys, and where each row begins."""

    number: Ids
    column: Ids
    places: Places
    first: Ids

    @classmethod
    def of(cls, supporters: Candidates, live: Flags) -> Self:
        number = np.flatnonzero(live)
        row, column = supporters.row[number], supporters.column[number]
        first = np.searchsorted(row, np.arange(supporters.shape[0] + 1))
        return cls(number, column, Places(row * supporters.shape[1] + column), first)


class SupportPart(NamedTuple):
    """Support of some candidates: as `Support`, with slots counted from 0."""

    n_candidates: int
    candidate: Ints
    supporter: Ints
    slot: list[Ints]
    worth: list[Floats]
    open_slot: list[Ints]
    open_ties: list[list[Ints]]
    open_worth: list[Floats]
    slots: list[list[Ints]]


@dataclass(frozen=True, eq=False)
class SupportSearch:
    """The search for support of some candidates, a part of them at a time."""

    candidates: Candidates
    sides: tuple[Side, Side]
    odds: RelationOdds
    gaps: DateGaps
    unknown: tuple[Floats, Floats]
    live: Live
    joins: list[Join]

    @property
    def source(self) -> Ties:
        return self.sides[0].ties

    @property
    def target(self) -> Ties:
        return self.sides[1].ties

    def spans(self) -> list[tuple[int, int]]:
        """First and last + 1 candidate of parts with about as many ties each."""
        reach = np.cumsum(self.source.ties_of(self.candidates.row) + 1)
        cuts = np.arange(_AT_ONCE // 8, reach[-1], _AT_ONCE // 8) if len(reach) else np.zeros(0, np.int64)
        edges = np.unique(np.concatenate([[0], np.searchsorted(reach, cuts, side="right"), [len(reach)]]))
        return list(pairwise(edges.tolist())) or [(0, 0)]

    def of(self, begin: int, end: int) -> SupportPart:
        """The support of some candidates."""
        numbers = np.arange(begin, end)
        candidate, supporter, *tie_of, worth_source, worth_target = self._squares(numbers)
        open_candidate, open_source, open_target, *open_worths = self._open_pairs(numbers)
        part = SupportPart(len(numbers), candidate, supporter, [], [worth_source, worth_target], [], [], [], [])
        own = Candidates(self.candidates.row[begin:end], self.candidates.column[begin:end], self.candidates.shape)
        for view, tie in enumerate(tie_of):
            useful = open_worths[view] > _NO_SUPPORT
            part.open_worth.append(open_worths[view][useful])
            part.open_ties.append([open_source[useful], open_target[useful]])
            numbering = SlotNumbers.of(own, self.sides[view].ties, view)
            key = numbering.keys(candidate - begin, tie)
            open_key = numbering.keys(open_candidate[useful] - begin, part.open_ties[view][view])
            known, place = np.unique(np.concatenate([key, open_key]), return_inverse=True)
            part.slot.append(place[: len(key)].astype(np.int32))
            part.open_slot.append(place[len(key) :].astype(np.int32))
            number, tie_of_slot = numbering.slots(known)
            part.slots.append([(number + begin).astype(np.int32), tie_of_slot.astype(np.int32)])
        return part

    @cached_property
    def _n_facts(self) -> tuple[Floats, Floats]:
        """Listed facts of each entity, one at least."""
        source, target = (np.maximum(np.diff(side.ties.first_fact_of_entity), 1.0) for side in self.sides)
        return source, target

    def _squares(self, numbers: Ids) -> _Found:
        """(candidate, supporter, tie of the source, tie of the target, worth from either side)."""
        candidate, supporter, *ties = self._squares_of(numbers)
        worth = self._worth(ties[0], ties[1])
        useful = np.flatnonzero((worth[0] > 0) & (worth[1] > 0))
        row, column = self.candidates.row[candidate[useful]], self.candidates.column[candidate[useful]]
        part = (each[useful].astype(np.int32) for each in (candidate, supporter, *ties))
        return [*part, worth[0][useful] / self._n_facts[1][column], worth[1][useful] / self._n_facts[0][row]]

    def _squares_of(self, number: Ids) -> _Found:
        """(candidate, supporter, tie of the source, tie of the target) for a part of the candidates.

        A tie of a with c meets a tie of b with d where (c, d) is a live supporter. Whichever is shorter is walked
        through: the ties of b, or the supporters of c.
        """
        source, target, live = self.source, self.target, self.live
        row = self.candidates.row[number]
        which, tie = expanded(source.first_tie[row], source.ties_of(row))
        number = number[which]
        neighbour, partner = source.neighbour[tie], self.candidates.column[number]
        n_ties, n_supporters = target.ties_of(partner), live.first[neighbour + 1] - live.first[neighbour]
        by_ties = n_ties <= n_supporters
        # through the ties of b
        at = np.flatnonzero(by_ties & (n_ties > 0))
        which, other = expanded(target.first_tie[partner[at]], n_ties[at])
        at = at[which]
        place = live.places.of(neighbour[at] * self.candidates.shape[1] + target.neighbour[other])
        hit = place >= 0
        one = [number[at[hit]], live.number[place[hit]], tie[at[hit]], other[hit]]
        # through the supporters of c
        at = np.flatnonzero(~by_ties & (n_supporters > 0))
        which, place = expanded(live.first[neighbour[at]], n_supporters[at])
        at = at[which]
        other = target.find(partner[at], live.column[place])
        hit = other >= 0
        return _joined([one, [number[at[hit]], live.number[place[hit]], tie[at[hit]], other[hit]]])

    def _worth(self, tie_source: Ids, tie_target: Ids) -> tuple[Floats, Floats]:
        """How well the facts of each pair of ties agree: for the best fact of one, all facts of the other together."""
        worth = np.zeros(len(tie_source)), np.zeros(len(tie_source))
        for part in parts(self.source.facts_of(tie_source) * self.target.facts_of(tie_target)):
            worth[0][part], worth[1][part] = self._worth_of_part(tie_source[part], tie_target[part])
        return worth

    def _worth_of_part(self, tie_source: Ids, tie_target: Ids) -> tuple[Floats, Floats]:
        source, target = self.source, self.target
        n_source, n_target = source.facts_of(tie_source), target.facts_of(tie_target)
        which, f = expanded(source.first_fact[tie_source], n_source)
        at, j = expanded(target.first_fact[tie_target[which]], n_target[which])
        pair, f_of = which[at], f[at]
        from_source, from_target = bayes_factors(self.sides, self.odds, self.gaps, f_of, j)
        from_source /= self.sides[1].neighbour_chance[j]
        from_target /= self.sides[0].neighbour_chance[f_of]
        # a fact of the source with all of the target's tie, and the other way round
        sum_source = np.bincount(at, from_source, minlength=len(f))
        first = np.cumsum(n_target) - n_target
        place = first[pair] + j - target.first_fact[tie_target[pair]]
        sum_target = np.bincount(place, from_target, minlength=int(n_target.sum()))
        return (np.maximum.reduceat(sum_source, np.cumsum(n_source) - n_source), np.maximum.reduceat(sum_target, first))

    def _open_pairs(self, numbers: Ids) -> _Found:
        """Facts of both entities of a candidate that begin, or else end, at one time, where that supports it.

        Only facts whose other end has an unknown partner count. (candidate, tie of the source, tie of the target,
        worth from either side)
        """
        source, target, candidates = self.source, self.target, self.candidates
        first, found = source.first_fact_of_entity, [_nothing(3)]
        entity = candidates.row[numbers]
        which, f = expanded(first[entity], first[entity + 1] - first[entity])
        is_open = self.unknown[0][source.neighbour[source.tie[f]]] > _LEAST_OPEN
        number, f = numbers[which[is_open]], f[is_open]
        for join in self.joins:
            at = np.flatnonzero(join.wanted[f])
            met, low, high = join.find(candidates.column[number[at]], f[at])
            at = at[met]
            for part in parts(high - low):
                which, place = expanded(low[part], high[part] - low[part])
                which = at[part][which]
                pair, left, right = number[which], f[which], join.listed[place]
                factors = bayes_factors(self.sides, self.odds, self.gaps, left, right)
                from_source = factors[0] / self._n_facts[1][candidates.column[pair]]
                from_target = factors[1] / self._n_facts[0][candidates.row[pair]]
                kept = np.flatnonzero((from_source > _NO_SUPPORT) | (from_target > _NO_SUPPORT))
                ties = source.tie[left[kept]].astype(np.int32), target.tie[right[kept]].astype(np.int32)
                found.append([pair[kept].astype(np.int32), *ties, from_source[kept], from_target[kept]])
        return _joined(found)


def _nothing(n_places: int) -> _Found:
    return [np.zeros(0, np.int32)] * n_places + [np.zeros(0)] * 2


def _joined(parts: list[_Found]) -> _Found:
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def parts(size: Ids) -> Iterator[slice]:
    """Work of some sizes cut into parts that are done at once."""
    edges = np.searchsorted(np.cumsum(size), np.arange(_AT_ONCE, size.sum() + _AT_ONCE, _AT_ONCE), side="right")
    begin = 0
    for end in [*np.unique(edges).tolist(), len(size)]:
        if end > begin:
            yield slice(begin, end)
        begin = end


@dataclass(frozen=True, eq=False)
class Join:
    """Facts of the target by owner and date, for facts of the source that are `wanted`."""

    wanted: Flags
    date: Ints
    # the distinct owners and dates, as one number each, and where their facts begin in `listed`
    keys: Places
    first: Ids
    listed: Ids
    size: int

    def find(self, owner: Ids, f: Ids) -> tuple[Ids, Ids, Ids]:
        """Which of some facts meet any, and where those begin and end in `listed`."""
        place = self.keys.of(owner * self.size + self.date[f])
        at = np.flatnonzero(place >= 0)
        return at, self.first[place[at]], self.first[place[at] + 1]


def find_joins(sides: tuple[Side, Side], unknown: tuple[Floats, Floats], engine: Engine) -> list[Join]:
    """Where facts that begin, or else end, at one time are found.

    One join for each precision that the less exact of two dates can have, so that no pair is found twice.
    """
    ways = product(("begin", "end"), range(sides[0].begin.n_precisions), (0, 1))
    joins = engine.on_columns(_join, [(sides, unknown[1], *way) for way in ways])
    return [join for join in joins if join is not None]


def _join(sides: tuple[Side, Side], unknown: Floats, moment: str, level: int, way: int) -> Join | None:
    """Facts of the source that are as exact as the level with all that are at least as exact (way 0), or finer facts of
    the source with those that are just as exact (way 1); None where there are none.

    Facts meet by their end only where neither has a begin.
    """
    ties = sides[1].ties
    left, right = (getattr(side, moment) for side in sides)
    wanted, others = left.precision == level, right.precision >= level
    if way == 1:
        wanted, others = left.precision > level, right.precision == level
    if moment == "end":
        wanted, others = wanted & (sides[0].begin.precision < 0), others & (sides[1].begin.precision < 0)
    if not wanted.any():
        return None
    listed = np.flatnonzero(others)
    listed = listed[unknown[ties.neighbour[ties.tie[listed]]] > _LEAST_OPEN]
    if not len(listed):
        return None
    size = 1 + int(left.distinct.number[level].max(initial=0))
    key = ties.entity[ties.tie[listed]] * size + right.numbers(level, listed)
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    return Join(wanted, left.numbers(level), Places(key[first]), np.append(first, len(key)), listed[order], size)
