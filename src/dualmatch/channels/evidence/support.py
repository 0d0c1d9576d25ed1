"""Support: which candidate pairs speak for each other.

Two candidates (a, b) and (c, d) support each other where a and c are neighbours in one graph, b and d in the other, and
some fact of the first tie agrees with some fact of the second. How much that is worth to (a, b) is the Bayes factor of
the two facts, over the chance that a fact of b has d at its other end, times the chance that c is d. A neighbour whose
partner is not known yet still speaks where the facts agree in time: that is *open* support.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Final

import numpy as np

from dualmatch.channels.evidence.agreement import RelationOdds, Side
from dualmatch.channels.evidence.dates import DateGaps
from dualmatch.channels.evidence.support_search import Live, SlotNumbers, SupportSearch, find_joins
from dualmatch.channels.evidence.term_cache import TermCache, once
from dualmatch.channels.evidence.ties import Lookup, Ties, lookup
from dualmatch.decode.one_to_one import Candidates
from dualmatch.engine import Engine, InProcess, arrays_of, spans_of
from dualmatch.errors import InputError
from dualmatch.graph.arrays import Flags, Floats, Ids, Ints

_COMPUTING = Lock()  # while one thread computes what all need

Slots = tuple[tuple[Ints, Ints], tuple[Ints, Ints]]

_MOST: Final = 2**31 - 1  # slots of a side, numbered in 32 bits as candidates and ties are
_AT_ONCE: Final = 2**18  # support whose mirrors are found in one go


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
    listed_live = once(kept, "live", lambda: engine.call(Live.of, others, live))
    joins = once(kept, "joins", lambda: find_joins(sides, unknown, engine))
    search = SupportSearch(candidates, sides, odds, gaps, unknown, listed_live, joins)
    squares, opens, listed = (engine.columns(), *((engine.columns(), engine.columns()) for _ in range(2)))
    n_slots, edges = [0, 0], [[0] * 6]
    for part in engine.each(search.of, search.spans()):
        if max(n_slots[view] + len(part.slots[view][0]) for view in (0, 1)) > _MOST:
            raise InputError(f"more than {_MOST:,} facts support pairs; align a part of the graphs, or give seed pairs")
        squares.append([part.candidate, part.supporter, *part.slot, *part.worth], [0, 0, *n_slots, 0, 0])
        for view in (0, 1):
            of_view: list[np.ndarray] = [part.open_slot[view], *part.open_ties[view], part.open_worth[view]]
            opens[view].append(of_view, [n_slots[view], 0, 0, 0])
            listed[view].append(part.slots[view])
            n_slots[view] += len(part.slots[view][0])
        sizes = [
            part.n_candidates,
            len(part.candidate),
            *map(len, part.open_worth),
            *(len(one[0]) for one in part.slots),
        ]
        edges.append([before + size for before, size in zip(edges[-1], sizes, strict=True)])
    (candidate, supporter, *slot, worth_source, worth_target), *of_views = arrays_of(squares, *listed, *opens)
    slots, of_open = of_views[:2], of_views[2:]
    if slots_of_supporters is None:  # theirs are those of the candidates, which are found anew in each call
        asked = [(candidates, sides[view].ties, view, *slots[view]) for view in (0, 1)]
        numberings = engine.on_columns(_numbered_slots, asked)
    else:
        asked = [(others, sides[view].ties, view, *slots_of_supporters[view]) for view in (0, 1)]
        numberings = once(kept, "slots", lambda: engine.on_columns(_numbered_slots, asked))
    mirror = []
    for view, (numbering, keys) in enumerate(numberings):
        ties = sides[view].ties
        mirrors = _Mirrors(ties.mirror, slots[view][1], numbering, keys, len(supporter), among_candidates)
        spans = [(supporter[slice(*span)], slot[view][slice(*span)]) for span in spans_of(len(supporter), _AT_ONCE)]
        columns = engine.columns()
        for found in engine.each(mirrors.of, spans):
            columns.append([found])
        mirror.append(columns.arrays()[0])
    (source_open, *source_ties, source_worth), (target_open, *target_ties, target_worth) = of_open
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


def _numbered_slots(
    candidates: Candidates, ties: Ties, view: int, candidate: Ints, tie: Ints
) -> tuple[SlotNumbers, Ids]:
    """The numbers of all slots that candidates might have in a view, and those of the slots that they have."""
    numbering = SlotNumbers.of(candidates, ties, view)
    return numbering, numbering.keys(candidate, tie)


@dataclass(frozen=True, eq=False)
class _Mirrors:
    """Where slots are found through which candidates support their supporters."""

    mirror: Ids  # of each tie of the side
    tie: Ints  # of each slot
    numbering: SlotNumbers  # of the supporters' slots
    keys: Ids  # of these slots
    n_wanted: int  # how many mirrors are sought in all
    among_candidates: Ids | None

    @cached_property
    def _places(self) -> Lookup:
        return lookup(self.keys, self.n_wanted)

    def of(self, supporter: Ints, slot: Ints) -> Ints:
        """Of some support; -1 where the candidate does not support its supporter."""
        back = self.mirror[self.tie[slot]]
        number = supporter if self.among_candidates is None else self.among_candidates[supporter]
        with _COMPUTING:  # by one thread for all; the others wait
            places = self._places
        place = places(self.numbering.keys(np.maximum(number, 0), back))
        return np.where(number >= 0, place, -1).astype(np.int32)
