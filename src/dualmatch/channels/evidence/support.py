"""Support: which candidate pairs speak for each other.

Two candidates (a, b) and (c, d) support each other where a and c are neighbours in one graph, b and d in the other, and
some fact of the first tie agrees with some fact of the second. How much that is worth to (a, b) is the Bayes factor of
the two facts, over the chance that a fact of b has d at its other end, times the chance that c is d. A neighbour whose
partner is not known yet still speaks where the facts agree in time: that is *open* support.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from dualmatch.channels.evidence.agreement import RelationOdds, Side, bayes_factors
from dualmatch.channels.evidence.dates import DateGaps
from dualmatch.channels.evidence.ties import Ties, expanded, places_in
from dualmatch.decode.one_to_one import Candidates
from dualmatch.graph.arrays import Flags, Floats, Ids, Ints
from dualmatch.graph.hashing import may_be_in

Slots = tuple[tuple[Ints, Ints], tuple[Ints, Ints]]

_AT_ONCE: Final = 2**21  # pairs of ties looked at in one go
_NO_SUPPORT: Final = 1.0  # agreement in time that chance has as often
_LEAST_OPEN: Final = 0.02  # neighbours this likely to be known already give no open support


@dataclass(frozen=True, eq=False)
class Support:
    """Support for a list of candidates, with slots for each tie of a candidate's entity that finds something."""

    # (n,): which candidate is supported by which
    candidate: Ints
    supporter: Ints
    slot: tuple[Ints, Ints]  # two (n,): the tie through which, as a slot of the source's side and of the target's
    # two (n,): the slot through which the candidate supports its supporter; -1 where it does not
    mirror: tuple[Ints, Ints]
    # two (n,): ratio by which the supporter, were it certain, makes the candidate likelier, seen from source and target
    worth: tuple[Floats, Floats]
    # the same for open support, side by side: `open_ties` holds the two ties, of the source and of the target, whose
    # neighbours would have to be one
    open_slot: tuple[Ints, Ints]
    open_ties: Slots
    open_worth: tuple[Floats, Floats]
    slots: Slots  # two pairs of arrays: candidate and tie of each slot, for the source's side and the target's

    def __len__(self) -> int:
        return len(self.candidate)


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
) -> Support:
    """All support for some candidates, by each other or by a list of supporters.

    Parameters
    ----------
    live: (n_supporters,) bool
        Supporters that are likely enough to support others.
    supporters, slots_of_supporters:
        Pairs that are believed, and the slots of what supports them, where they are not the candidates themselves.
    among_candidates: (n_supporters,) int64
        In the place of their slots: which candidate each supporter is, -1 for those that are none; nobody told them.
    gaps:
        How often, and by how much, a tie of both graphs is dated differently.
    unknown: (n_source,), (n_target,) float64
        How likely it is that the partner of each entity is none of its candidates.
    """
    ties = sides[0].ties, sides[1].ties
    others = candidates if supporters is None else supporters
    spans = _spans(candidates, ties)
    candidate, supporter, tie_source, tie_target, by_chance = _all_squares(
        candidates, spans, _Live.of(others, live), sides, odds, gaps
    )
    open_pairs = _open_pairs(candidates, spans, sides, odds, gaps, unknown)
    slots, slot, open_slot, mirror, kept_ties, open_worth = [], [], [], [], [], []
    for view, tie in enumerate((tie_source, tie_target)):
        kept = open_pairs.worth[view] > _NO_SUPPORT
        of = open_pairs.candidate[kept]
        open_worth.append(open_pairs.worth[view][kept])
        kept_ties.append((open_pairs.ties[0][kept], open_pairs.ties[1][kept]))
        key = _slot_keys(candidates, ties, candidate, tie, view)
        open_key = _slot_keys(candidates, ties, of, kept_ties[view][view], view)
        known, place = np.unique(np.concatenate([key, open_key]), return_inverse=True)
        slot.append(place[: len(key)].astype(np.int32))
        open_slot.append(place[len(key) :].astype(np.int32))
        back = ties[view].mirror[tie]
        if slots_of_supporters is not None:
            listed = _slot_keys(others, ties, *slots_of_supporters[view], view)
            mirror.append(places_in(listed, _slot_keys(others, ties, supporter, back, view)).astype(np.int32))
        else:
            number = supporter if among_candidates is None else among_candidates[supporter]
            place = places_in(known, _slot_keys(candidates, ties, np.maximum(number, 0), back, view))
            mirror.append(np.where(number >= 0, place, -1).astype(np.int32))
        slots.append(_slots_of(candidates, ties, known, view))
    return Support(
        candidate,
        supporter,
        (slot[0], slot[1]),
        (mirror[0], mirror[1]),
        by_chance,
        (open_slot[0], open_slot[1]),
        (kept_ties[0], kept_ties[1]),
        (open_worth[0], open_worth[1]),
        (slots[0], slots[1]),
    )


def _facts(ties: Ties) -> Floats:
    """Listed facts of each entity, one at least."""
    return np.maximum(np.diff(ties.first_fact_of_entity), 1).astype(np.float64)


def _slot_keys(
    candidates: Candidates, ties: tuple[Ties, Ties], candidate: Ids | Ints, tie: Ids | Ints, view: int
) -> Ids:
    """A number for each (candidate, tie of its entity), in that order."""
    entity = (candidates.row, candidates.column)[view]
    first = np.concatenate([[0], np.cumsum(ties[view].ties_of(entity))])
    keys: Ids = first[candidate] + tie - ties[view].first_tie[entity[candidate]]
    return keys


def _slots_of(candidates: Candidates, ties: tuple[Ties, Ties], key: Ids, view: int) -> tuple[Ints, Ints]:
    """The candidate and the tie behind each slot's number."""
    entity = (candidates.row, candidates.column)[view]
    first = np.concatenate([[0], np.cumsum(ties[view].ties_of(entity))])
    candidate = np.searchsorted(first, key, side="right") - 1
    tie = key - first[candidate] + ties[view].first_tie[entity[candidate]] if len(key) else key
    return candidate.astype(np.int32), tie.astype(np.int32)


def _spans(candidates: Candidates, ties: tuple[Ties, Ties]) -> list[tuple[int, int]]:
    """Candidates cut into parts with about as many pairs of ties to look at."""
    reach = np.cumsum(ties[0].ties_of(candidates.row))
    if not len(reach):
        return []
    cuts = np.searchsorted(reach, np.arange(_AT_ONCE // 8, reach[-1], _AT_ONCE // 8), side="right")
    edges = np.unique(np.concatenate([[0], cuts, [len(reach)]]))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class _Live:
    """Supporters that are likely enough, sorted: their numbers, columns and keys, and where each row begins."""

    number: Ids
    column: Ids
    key: Ids
    first: Ids

    @classmethod
    def of(cls, supporters: Candidates, live: Flags) -> Self:
        number = np.flatnonzero(live)
        row, column = supporters.row[number], supporters.column[number]
        first = np.searchsorted(row, np.arange(supporters.shape[0] + 1))
        return cls(number, column, row * supporters.shape[1] + column, first)


def _all_squares(
    candidates: Candidates,
    spans: list[tuple[int, int]],
    live: _Live,
    sides: tuple[Side, Side],
    odds: RelationOdds,
    gaps: DateGaps,
) -> tuple[Ints, Ints, Ints, Ints, tuple[Floats, Floats]]:
    """(candidate, supporter, tie of the source, tie of the target, what it is worth from either side)."""
    ties = sides[0].ties, sides[1].ties
    facts = _facts(ties[0]), _facts(ties[1])
    none = np.zeros(0, np.int32)
    found: list[tuple[Ints, ...]] = [(none, none, none, none)]
    worths: list[tuple[Floats, Floats]] = [(np.zeros(0), np.zeros(0))]
    for span in spans:
        square = _squares(candidates, span, live, ties)
        worth = _worth(sides, odds, gaps, square[2], square[3])
        useful = np.flatnonzero((worth[0] > 0) & (worth[1] > 0))
        found.append(tuple(column[useful].astype(np.int32) for column in square))
        row, column = candidates.row[square[0][useful]], candidates.column[square[0][useful]]
        worths.append((worth[0][useful] / facts[1][column], worth[1][useful] / facts[0][row]))
    candidate, supporter, source, target = (np.concatenate([part[at] for part in found]) for at in range(4))
    by_chance = np.concatenate([part[0] for part in worths]), np.concatenate([part[1] for part in worths])
    return candidate, supporter, source, target, by_chance


def _squares(
    candidates: Candidates, span: tuple[int, int], live: _Live, ties: tuple[Ties, Ties]
) -> tuple[Ids, Ids, Ids, Ids]:
    """(candidate, supporter, tie of the source, tie of the target) for a part of the candidates.

    A tie of a with c meets a tie of b with d where (c, d) is a live supporter. Whichever is shorter is walked through:
    the ties of b, or the supporters of c.
    """
    source, target = ties
    number = np.arange(*span)
    which, tie = expanded(source.first_tie[candidates.row[number]], source.ties_of(candidates.row[number]))
    number = number[which]
    neighbour, partner = source.neighbour[tie], candidates.column[number]
    n_ties, n_supporters = target.ties_of(partner), live.first[neighbour + 1] - live.first[neighbour]
    by_ties = n_ties <= n_supporters
    # through the ties of b
    at = np.flatnonzero(by_ties & (n_ties > 0))
    which, other = expanded(target.first_tie[partner[at]], n_ties[at])
    at = at[which]
    place = places_in(live.key, neighbour[at] * candidates.shape[1] + target.neighbour[other])
    hit = place >= 0
    one = number[at[hit]], live.number[place[hit]], tie[at[hit]], other[hit]
    # through the supporters of c
    at = np.flatnonzero(~by_ties & (n_supporters > 0))
    which, place = expanded(live.first[neighbour[at]], n_supporters[at])
    at = at[which]
    other = target.find(partner[at], live.column[place])
    hit = other >= 0
    two = number[at[hit]], live.number[place[hit]], tie[at[hit]], other[hit]
    return (
        np.concatenate([one[0], two[0]]),
        np.concatenate([one[1], two[1]]),
        np.concatenate([one[2], two[2]]),
        np.concatenate([one[3], two[3]]),
    )


def _worth(
    sides: tuple[Side, Side], odds: RelationOdds, gaps: DateGaps, tie_source: Ids, tie_target: Ids
) -> tuple[Floats, Floats]:
    """Of each pair of ties, how well their facts agree: for the best fact of one, all facts of the other together."""
    source, target = sides[0].ties, sides[1].ties
    worth = np.zeros(len(tie_source)), np.zeros(len(tie_source))
    size = source.facts_of(tie_source) * target.facts_of(tie_target)
    for part in _parts(size):
        worth[0][part], worth[1][part] = _worth_of_part(sides, odds, gaps, tie_source[part], tie_target[part])
    return worth


def _parts(size: Ids) -> Iterator[slice]:
    """Work of some sizes cut into parts that are done at once."""
    edges = np.searchsorted(np.cumsum(size), np.arange(_AT_ONCE, size.sum() + _AT_ONCE, _AT_ONCE), side="right")
    begin = 0
    for end in [*np.unique(edges).tolist(), len(size)]:
        if end > begin:
            yield slice(begin, end)
        begin = end


def _worth_of_part(
    sides: tuple[Side, Side], odds: RelationOdds, gaps: DateGaps, tie_source: Ids, tie_target: Ids
) -> tuple[Floats, Floats]:
    source, target = sides[0].ties, sides[1].ties
    which, f = expanded(source.first_fact[tie_source], source.facts_of(tie_source))
    at, j = expanded(target.first_fact[tie_target[which]], target.facts_of(tie_target[which]))
    pair, f_of = which[at], f[at]
    from_source, from_target = bayes_factors(sides, odds, gaps, f_of, j)
    from_source /= sides[1].neighbour_chance[j]
    from_target /= sides[0].neighbour_chance[f_of]
    # a fact of the source with all of the target's tie, and the other way round
    sum_source = np.bincount(at, from_source, minlength=len(f))
    count = target.facts_of(tie_target)
    first = np.cumsum(count) - count
    place = first[pair] + j - target.first_fact[tie_target[pair]]
    sum_target = np.bincount(place, from_target, minlength=int(count.sum()))
    n_source = source.facts_of(tie_source)
    return (
        np.maximum.reduceat(sum_source, np.cumsum(n_source) - n_source),
        np.maximum.reduceat(sum_target, first),
    )


@dataclass(frozen=True, eq=False)
class _OpenPairs:
    """Pairs of ties whose facts agree in time: candidate, ties, and what it is worth from either side."""

    candidate: Ints
    ties: tuple[Ints, Ints]
    worth: tuple[Floats, Floats]


def _open_pairs(
    candidates: Candidates,
    spans: list[tuple[int, int]],
    sides: tuple[Side, Side],
    odds: RelationOdds,
    gaps: DateGaps,
    unknown: tuple[Floats, Floats],
) -> _OpenPairs:
    """Facts of both entities of a candidate that begin, or else end, at one time, where that supports it.

    Only facts whose other end has a partner that is not known count.
    """
    source, target = sides[0].ties, sides[1].ties
    facts = _facts(source), _facts(target)
    joins = [join for moment in ("begin", "end") for join in _joins(sides, unknown[1], moment)]
    first = source.first_fact_of_entity
    none = np.zeros(0, np.int32)
    found: list[tuple[Ints, Ints, Ints, Floats, Floats]] = [(none, none, none, np.zeros(0), np.zeros(0))]
    for span in spans:
        number = np.arange(*span)
        entity = candidates.row[number]
        which, f = expanded(first[entity], first[entity + 1] - first[entity])
        is_open = unknown[0][source.neighbour[source.tie[f]]] > _LEAST_OPEN
        number, f = number[which[is_open]], f[is_open]
        for join in joins:
            at = np.flatnonzero(join.wanted[f])
            met, low, high = join.find(candidates.column[number[at]], f[at])
            at = at[met]
            for part in _parts(high - low):
                which, place = expanded(low[part], high[part] - low[part])
                which = at[part][which]
                pair, left, right = number[which], f[which], join.listed[place]
                factors = bayes_factors(sides, odds, gaps, left, right)
                from_source = factors[0] / facts[1][candidates.column[pair]]
                from_target = factors[1] / facts[0][candidates.row[pair]]
                kept = np.flatnonzero((from_source > _NO_SUPPORT) | (from_target > _NO_SUPPORT))
                ties = source.tie[left[kept]].astype(np.int32), target.tie[right[kept]].astype(np.int32)
                found.append((pair[kept].astype(np.int32), *ties, from_source[kept], from_target[kept]))
    return _OpenPairs(
        np.concatenate([part[0] for part in found]),
        (np.concatenate([part[1] for part in found]), np.concatenate([part[2] for part in found])),
        (np.concatenate([part[3] for part in found]), np.concatenate([part[4] for part in found])),
    )


@dataclass(frozen=True, eq=False)
class _Join:
    """Facts of the target by owner and date, for facts of the source that are `wanted`."""

    wanted: Flags
    date: Ids
    # the distinct owners and dates, as one number each, and where their facts begin in `listed`
    key: Ids
    first: Ids
    listed: Ids
    size: int

    def find(self, owner: Ids, f: Ids) -> tuple[Ids, Ids, Ids]:
        """Which of some facts meet any, and where those begin and end in `listed`."""
        sought = owner * self.size + self.date[f]
        at = may_be_in(self.key, sought)
        place = places_in(self.key, sought[at])
        at, place = at[place >= 0], place[place >= 0]
        return at, self.first[place], self.first[place + 1]


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
            joins.append(_Join(exact & wanted, left.number[level], known, first, listed[order], size))
    return joins
