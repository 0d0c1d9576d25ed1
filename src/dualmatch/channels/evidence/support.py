"""Support: which candidate pairs speak for each other.

Two candidates (a, b) and (c, d) support each other where a and c are neighbours in one graph, b and d in the other, and
some fact of the first tie agrees with some fact of the second. How much that is worth to (a, b) is the Bayes factor of
the two facts, over the chance that a fact of b has d at its other end, times the chance that c is d. A neighbour whose
partner is not known yet still speaks where the facts agree in time: that is *open* support.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple, Self

import numpy as np

from dualmatch.channels.evidence.agreement import RelationOdds, Side, bayes_factors
from dualmatch.channels.evidence.dates import DateGaps
from dualmatch.channels.evidence.term_cache import TermCache, once
from dualmatch.channels.evidence.ties import Places, Ties, expanded, places_in
from dualmatch.decode.one_to_one import Candidates
from dualmatch.engine import Engine, InProcess, spans_of
from dualmatch.errors import InputError
from dualmatch.graph.arrays import Flags, Floats, Ids, Ints

Slots = tuple[tuple[Ints, Ints], tuple[Ints, Ints]]
_Found = list[Any]  # columns of a table

_MOST: Final = 2**31 - 1  # slots of a side, numbered in 32 bits as candidates and ties are
_AT_ONCE: Final = 2**21  # pairs of ties looked at in one go
_NO_SUPPORT: Final = 1.0  # agreement in time that chance has as often
_LEAST_OPEN: Final = 0.02  # neighbours this likely to be known already give no open support


@dataclass(frozen=True, eq=False)
class Support:
    """Support for a list of candidates, with slots for each tie of a candidate's entity that finds something."""

    candidate: Ints  # (n,): which candidate is supported
    supporter: Ints  # (n,): by which
    slot: tuple[Ints, Ints]  # the tie through which, as a slot of the source's side and of the target's
    mirror: tuple[Ints, Ints]  # the slot through which the candidate supports its supporter; -1 where it does not
    worth: tuple[Floats, Floats]  # ratio by which the supporter, were it certain, makes the candidate likelier
    open_slot: tuple[Ints, Ints]  # of open support, as `slot`
    open_ties: Slots  # of open support: the ties of source and target whose neighbours would have to be one
    open_worth: tuple[Floats, Floats]  # of open support, as `worth`
    slots: Slots  # candidate and tie of each slot, for the source's side and the target's
    # (n_parts + 1, 6): where parts of it begin: their candidates, support, open support of either side, slots of either
    edges: Ids

    def __len__(self) -> int:
        return len(self.candidate)

    @property
    def n_parts(self) -> int:
        return len(self.edges) - 1

    def candidates_of(self, part: int) -> slice:
        """The candidates of a part."""
        return slice(*self.edges[part : part + 2, 0].tolist())

    def part(self, number: int) -> Support:
        """The support of some candidates, by the same supporters; candidates and slots are counted from 0."""
        candidates, entries, *rest = (slice(*edge) for edge in self.edges[number : number + 2].T.tolist())
        opens, slots = rest[:2], rest[2:]
        first = candidates.start

        def at(view: int, columns: tuple[Ints, Ints], of: Sequence[slice]) -> tuple[Ints, Ints]:
            return columns[0][of[view]], columns[1][of[view]]

        def numbered(view: int, slot: Ints) -> Ints:
            return slot - np.int32(slots[view].start)

        def listed(view: int) -> tuple[Ints, Ints]:
            candidate, tie = at(view, self.slots[view], slots)
            return candidate - np.int32(first), tie

        return Support(
            self.candidate[entries] - np.int32(first),
            self.supporter[entries],
            (numbered(0, self.slot[0][entries]), numbered(1, self.slot[1][entries])),
            (self.mirror[0][entries], self.mirror[1][entries]),
            (self.worth[0][entries], self.worth[1][entries]),
            (numbered(0, self.open_slot[0][opens[0]]), numbered(1, self.open_slot[1][opens[1]])),
            (at(0, self.open_ties[0], opens), at(1, self.open_ties[1], opens)),
            (self.open_worth[0][opens[0]], self.open_worth[1][opens[1]]),
            (listed(0), listed(1)),
            self.edges[number : number + 2] - self.edges[number],
        )


def find_support(
    candidates: Candidates,
    live: Flags,
    sides: tuple[Side, Side],
    odds: RelationOdds,
    gaps: DateGaps,
    unknown: tuple[Floats, Floats],
    supporters: Candidates | None = None,
    slots_of_supporters: Slots | None = None,
    among_candidates: Ids | None = None,
    engine: Engine | None = None,
    kept: TermCache | None = None,
) -> Support:
    """Find all support for some candidates, by each other or by a list of supporters.

    Parameters
    ----------
    live: (n_supporters,) bool
        Supporters that are likely enough to support others.
    gaps:
        How often, and by how much, a tie of both graphs is dated differently.
    unknown: (n_source,), (n_target,) float64
        How likely it is that the partner of each entity is none of its candidates.
    supporters, slots_of_supporters:
        Pairs that are believed, and the slots of what supports them, where they are not the candidates themselves.
    among_candidates: (n_supporters,) int64
        Instead of their slots: which candidate each supporter is, -1 for those that are none and have no slots.
    kept:
        Terms that do not depend on the candidates, for calls with the same supporters.
    """
    engine = engine or InProcess(threads=1)
    others = candidates if supporters is None else supporters
    listed_live = once(kept, "live", lambda: _Live.of(others, live))
    joins = once(kept, "joins", lambda: find_joins(sides, unknown))
    search = _Search(candidates, sides, odds, gaps, unknown, listed_live, joins)
    squares, opens, listed = (engine.columns(), *((engine.columns(), engine.columns()) for _ in range(2)))
    n_slots, edges = [0, 0], [[0] * 6]
    for part in engine.each(search.of, search.spans()):
        if max(n_slots[view] + len(part.slots[view][0]) for view in (0, 1)) > _MOST:
            raise InputError(f"more than {_MOST:,} facts support pairs; align a part of the graphs, or give seed pairs")
        numbers = (part.slot[view] + np.int32(n_slots[view]) for view in (0, 1))
        squares.append([part.candidate, part.supporter, *numbers, *part.worth])
        for view in (0, 1):
            number = part.open_slot[view] + np.int32(n_slots[view])
            opens[view].append([number, *part.open_ties[view], part.open_worth[view]])
            listed[view].append(part.slots[view])
            n_slots[view] += len(part.slots[view][0])
        sizes = [
            part.n_candidates,
            len(part.candidate),
            *map(len, part.open_worth),
            *(len(one[0]) for one in part.slots),
        ]
        edges.append([before + size for before, size in zip(edges[-1], sizes, strict=True)])
    candidate, supporter, *slot, worth_source, worth_target = squares.arrays()
    slots = [columns.arrays() for columns in listed]
    mirror = []
    for view in (0, 1):
        ties = sides[view].ties
        if slots_of_supporters is not None:
            numbering = once(kept, ("slots", view), partial(_SlotNumbers.of, others, ties, view))
            keys = once(kept, ("keys", view), partial(numbering.keys, *slots_of_supporters[view]))
        else:
            numbering = _SlotNumbers.of(candidates, ties, view)
            keys = numbering.keys(*slots[view])
        mirrors = _Mirrors(ties.mirror, slots[view][1], numbering, keys, among_candidates)
        spans = [(supporter[slice(*span)], slot[view][slice(*span)]) for span in spans_of(len(supporter), _AT_ONCE)]
        columns = engine.columns()
        for found in engine.each(mirrors.of, spans):
            columns.append([found])
        mirror.append(columns.arrays()[0])
    (source_open, *source_ties, source_worth), (target_open, *target_ties, target_worth) = (
        columns.arrays() for columns in opens
    )
    return Support(
        candidate,
        supporter,
        (slot[0], slot[1]),
        (mirror[0], mirror[1]),
        (worth_source, worth_target),
        (source_open, target_open),
        ((source_ties[0], source_ties[1]), (target_ties[0], target_ties[1])),
        (source_worth, target_worth),
        ((slots[0][0], slots[0][1]), (slots[1][0], slots[1][1])),
        np.array(edges, dtype=np.int64),
    )


@dataclass(frozen=True, eq=False)
class _SlotNumbers:
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
class _Mirrors:
    """Where slots are found through which candidates support their supporters."""

    mirror: Ids  # of each tie of the side
    tie: Ints  # of each slot
    numbering: _SlotNumbers  # of the supporters' slots
    keys: Ids  # of these slots
    among_candidates: Ids | None

    def of(self, supporter: Ints, slot: Ints) -> Ints:
        """Of some support; -1 where the candidate does not support its supporter."""
        back = self.mirror[self.tie[slot]]
        number = supporter if self.among_candidates is None else self.among_candidates[supporter]
        place = places_in(self.keys, self.numbering.keys(np.maximum(number, 0), back))
        return np.where(number >= 0, place, -1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class _Live:
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


class _Part(NamedTuple):
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
class _Search:
    """The search for support of some candidates, a part of them at a time."""

    candidates: Candidates
    sides: tuple[Side, Side]
    odds: RelationOdds
    gaps: DateGaps
    unknown: tuple[Floats, Floats]
    live: _Live
    joins: list[_Join]

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

    def of(self, begin: int, end: int) -> _Part:
        """The support of some candidates."""
        numbers = np.arange(begin, end)
        candidate, supporter, *tie_of, worth_source, worth_target = self._squares(numbers)
        open_candidate, open_source, open_target, *open_worths = self._open_pairs(numbers)
        part = _Part(len(numbers), candidate, supporter, [], [worth_source, worth_target], [], [], [], [])
        own = Candidates(self.candidates.row[begin:end], self.candidates.column[begin:end], self.candidates.shape)
        for view, tie in enumerate(tie_of):
            useful = open_worths[view] > _NO_SUPPORT
            part.open_worth.append(open_worths[view][useful])
            part.open_ties.append([open_source[useful], open_target[useful]])
            numbering = _SlotNumbers.of(own, self.sides[view].ties, view)
            key = numbering.keys(candidate - begin, tie)
            open_key = numbering.keys(open_candidate[useful] - begin, part.open_ties[view][view])
            known, place = np.unique(np.concatenate([key, open_key]), return_inverse=True)
            part.slot.append(place[: len(key)].astype(np.int32))
            part.open_slot.append(place[len(key) :].astype(np.int32))
            number, tie_of_slot = numbering.slots(known)
            part.slots.append([(number + begin).astype(np.int32), tie_of_slot.astype(np.int32)])
        return part

    def _n_facts(self, side: int, entities: Ids) -> Floats:
        """Listed facts of some entities, one at least."""
        first = self.sides[side].ties.first_fact_of_entity
        n_facts: Floats = np.maximum(first[entities + 1] - first[entities], 1).astype(np.float64)
        return n_facts

    def _squares(self, numbers: Ids) -> _Found:
        """(candidate, supporter, tie of the source, tie of the target, worth from either side)."""
        candidate, supporter, *ties = self._squares_of(numbers)
        worth = self._worth(ties[0], ties[1])
        useful = np.flatnonzero((worth[0] > 0) & (worth[1] > 0))
        row, column = self.candidates.row[candidate[useful]], self.candidates.column[candidate[useful]]
        part = (each[useful].astype(np.int32) for each in (candidate, supporter, *ties))
        return [*part, worth[0][useful] / self._n_facts(1, column), worth[1][useful] / self._n_facts(0, row)]

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
                from_source = factors[0] / self._n_facts(1, candidates.column[pair])
                from_target = factors[1] / self._n_facts(0, candidates.row[pair])
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
class _Join:
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


def find_joins(sides: tuple[Side, Side], unknown: tuple[Floats, Floats]) -> list[_Join]:
    """Where facts that begin, or else end, at one time are found."""
    return [join for moment in ("begin", "end") for join in _joins(sides, unknown[1], moment)]


def _joins(sides: tuple[Side, Side], unknown: Floats, moment: str) -> list[_Join]:
    """One join for each precision that the less exact of two dates can have, so that no pair is found twice.

    Facts meet by their end only where neither has a begin.
    """
    ties = sides[1].ties
    left, right = (getattr(side, moment) for side in sides)
    usable = unknown[ties.neighbour[ties.tie]] > _LEAST_OPEN
    owner, wanted = ties.entity[ties.tie], np.ones(sides[0].ties.n_facts, dtype=bool)
    if moment == "end":
        usable, wanted = usable & (sides[1].begin.precision < 0), sides[0].begin.precision < 0
    joins = []
    for level in range(len(left.number)):
        size = 1 + int(max(left.number[level].max(initial=0), right.number[level].max(initial=0)))
        for exact, others in (
            (left.precision == level, right.precision >= level),
            (left.precision > level, right.precision == level),
        ):
            listed = np.flatnonzero(others & usable)
            if not len(listed) or not (exact & wanted).any():
                continue
            key = owner[listed] * size + right.number[level, listed]
            order = np.argsort(key, kind="stable")
            known, first = np.unique(key[order], return_index=True)
            first = np.append(first, len(key))
            joins.append(_Join(exact & wanted, left.number[level], Places(known), first, listed[order], size))
    return joins
