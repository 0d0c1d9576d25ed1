"""The state of the rounds: candidates, how likely each is, and the model they were judged by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final, Self, TypeVar

import numpy as np
from scipy import sparse as sp

from dualmatch.channels.evidence.agreement import RelationOdds
from dualmatch.channels.evidence.date_evidence import DateAgreement
from dualmatch.channels.evidence.dates import DateGaps
from dualmatch.channels.evidence.support import Slots
from dualmatch.channels.evidence.ties import Ties, find_pairs
from dualmatch.channels.evidence.tokens import Scale
from dualmatch.decode.assignment import assign_listed
from dualmatch.decode.one_to_one import Candidates, Unmatched, chance_of
from dualmatch.engine import Engine, at_once
from dualmatch.graph.arrays import Flags, Floats, Ids, Ints

Each = TypeVar("Each")
Array = TypeVar("Array", Ids, Floats)

COVERAGES: Final = np.array([0.05, 0.1, 0.2, 0.4, 0.7, 1.0])
"""How well the other graph covers an entity, as a share of what it usually covers; their weights are learnt."""
SIZE_CLASSES: Final = np.array([0, 1, 2, 3, 5, 9, 17, 33])
"""Largest number of facts of each class of entities but the last: poor ones lack a partner more often."""
CERTAIN: Final = 30.0
"""Log-odds of seeds."""
_FIRST_OVERLAP: Final = 0.3
_FIRST_DIFFER: Final = 0.01
_FIRST_ALONE: Final = 0.5
_LEAST_ALONE: Final = 0.002
_NO_SLOTS: Final[Slots] = ((np.zeros(0, np.int32), np.zeros(0, np.int32)),) * 2


def both(make: Callable[[int], Each], threads: int = 1) -> tuple[Each, Each]:
    """The same for the source (side 0) and the target (side 1)."""
    source, target = at_once([partial(make, 0), partial(make, 1)], threads)
    return source, target


def size_class(n_facts: Ids) -> Ids:
    """The class of entities with so many facts.

    >>> size_class(np.array([0, 1, 4, 5, 6, 1000])).tolist()
    [0, 1, 4, 4, 5, 8]
    """
    return np.searchsorted(SIZE_CLASSES, n_facts, side="left")


@dataclass(frozen=True, eq=False)
class Model:
    """What is learnt about two graphs while they are aligned: what distinguishes true pairs from chance."""

    odds: RelationOdds  # which relations of the two graphs say the same
    overlap: tuple[
        Floats, Floats
    ]  # (n_directed,): how often the other graph has a fact of each relation, with both its ends
    gaps: DateGaps  # how often, and by how much, a tie that both graphs have is dated differently in them
    coverage: Floats  # (len(COVERAGES),): weights of `COVERAGES`; they add up to 1
    alone: tuple[Floats, Floats]  # (len(SIZE_CLASSES) + 1,): share of each size class that has no partner
    # (n_script_pairs, n_degrees): how often labels of true pairs agree to each degree (`dualmatch.channels.names`), and
    # the same by labels alone, before any fact was used, where later estimates start; None without labels
    names: Floats | None = None
    first_names: Floats | None = None
    dates: DateAgreement | None = None  # how dates of entities themselves agree; None where a graph has none

    @classmethod
    def first(cls, source: Ties, target: Ties, names: Floats | None = None) -> Self:
        """Before anything was learnt."""
        model = cls.of_sizes(source.n_directed, target.n_directed)
        return replace(model, odds=RelationOdds.unknown(source, target), names=names, first_names=names)

    @classmethod
    def of_sizes(cls, n_source: int, n_target: int) -> Self:
        """Where of the graphs only the numbers of relations are known, both directions counted."""
        chances = np.full(n_source, 1.0 / max(n_source, 1)), np.full(n_target, 1.0 / max(n_target, 1))
        return cls(
            RelationOdds(sp.csr_matrix((n_source, n_target)), chances),
            (np.full(n_source, _FIRST_OVERLAP), np.full(n_target, _FIRST_OVERLAP)),
            DateGaps.unknown(_FIRST_DIFFER),
            COVERAGES / COVERAGES.sum(),
            _even_chances(),
        )

    def with_even_chances(self) -> Self:
        """The same model, before it was learnt how many entities have no partner."""
        return replace(self, alone=_even_chances())

    def with_alone(self, chance: tuple[Floats, Floats], classes: tuple[Ids, Ids]) -> Self:
        """The same model with the share of each size class that has no partner, by the chance of each entity."""
        return replace(self, alone=both(lambda side: _share_alone(chance[side], classes[side])))

    def tie_overlap(self, ties: Ties, side: int) -> Floats:
        """How likely each tie is to have a fact that the other graph has: (n_ties,)."""
        return -np.expm1(ties.sums(np.log1p(-self.overlap[side])[ties.relation]))


def _even_chances() -> tuple[Floats, Floats]:
    return both(lambda _: np.full(len(SIZE_CLASSES) + 1, _FIRST_ALONE))


def _share_alone(chance: Floats, classes: Ids, weight: float = 20.0) -> Floats:
    """Share without a partner of each size class, shrunk towards that of all: (len(SIZE_CLASSES) + 1,)."""
    size = len(SIZE_CLASSES) + 1
    overall = float(chance.mean()) if len(chance) else _FIRST_ALONE
    found = np.bincount(classes, chance, minlength=size) + weight * overall
    return np.clip(found / (np.bincount(classes, minlength=size) + weight), _LEAST_ALONE, 1.0 - _LEAST_ALONE)


@dataclass(frozen=True)
class Round:
    """The log entry of one round."""

    number: int
    whole: bool  # whether all entities were searched; else only those in no settled pair
    tokens: int
    candidates: int
    pairs: int  # more likely right than not
    without_partner: float  # estimated share of source entities
    changed: int  # pairs that only one of this round and the round before believed
    seconds: float


@dataclass(frozen=True, eq=False)
class Believed:
    """One-to-one pairs with their log-odds, sorted by source."""

    pairs: Ids
    log_odds: Floats

    @classmethod
    def of(cls, candidates: Candidates, log_odds: Floats) -> Self:
        """Each the likeliest of what more likely ones leave over."""
        low = float(log_odds.min(initial=0.0))
        pairs, value = assign_listed(candidates.row, candidates.column, log_odds - low + 1.0, candidates.shape)
        return cls(pairs, value + low - 1.0)

    def above(self, least: float) -> Believed:
        """Those with more than some log-odds."""
        kept = self.log_odds > least
        return Believed(self.pairs[kept], self.log_odds[kept])


@dataclass(frozen=True, eq=False)
class RoundState:
    """Everything a round starts from and ends with."""

    candidates: Candidates
    log_odds: Floats  # (n_candidates,): of each being right, its rivals taken into account
    value: Floats  # (n_candidates,): log-likelihood ratio of the evidence for and against each, rivals apart
    alone: tuple[Floats, Floats]  # (n_entities,): chance of each to have no partner
    elsewhere: tuple[Floats, Floats]  # (n_entities,): chance that its partner is none of its candidates
    slots: Slots  # the ties that added to each candidate (`dualmatch.channels.evidence.support.Support`)
    by_slot: tuple[Floats, Floats]  # how much each added
    model: Model
    scale: Scale | None  # of the tokens at the last search of all entities

    @classmethod
    def of_pairs(
        cls, row: Ids, column: Ids, log_odds: Floats, shape: tuple[int, int], model: Model, scale: Scale | None = None
    ) -> Self:
        """A state that knows only some pairs: other entities are as likely to have a partner as to have none."""
        key = row.astype(np.int64) * shape[1] + column
        if not (key[1:] >= key[:-1]).all():
            order = np.argsort(key, kind="stable")
            row, column, log_odds = row[order], column[order], log_odds[order]
        candidates = Candidates(row, column, shape)
        ends, chance = (candidates.row, candidates.column), chance_of(log_odds)
        half = both(lambda side: 0.5 * np.clip(1.0 - np.bincount(ends[side], chance, shape[side]), 0.0, 1.0))
        by_slot = np.zeros(0), np.zeros(0)
        return cls(candidates, log_odds, log_odds, half, half, _NO_SLOTS, by_slot, model, scale)

    @property
    def probability(self) -> Floats:
        """Of each candidate being right."""
        return chance_of(self.log_odds)

    @property
    def unmatched(self) -> Unmatched:
        return Unmatched(self.alone, self.elsewhere)

    @property
    def has_slots(self) -> bool:
        """Whether it is known what supports the candidates; 0.1.0 kept nothing of that."""
        return len(self.slots[0][0]) > 0 or self.model.dates is not None

    @cached_property
    def pairs(self) -> Believed:
        """One-to-one pairs, each the likeliest of what more likely ones leave over."""
        return Believed.of(self.candidates, self.log_odds)

    def with_pairs(self, engine: Engine) -> Self:
        """The same, with its pairs chosen by the engine."""
        if "pairs" not in self.__dict__:
            self.__dict__["pairs"] = engine.call(Believed.of, self.candidates, self.log_odds)
        return self

    def with_model(self, model: Model) -> Self:
        """The same candidates, as likely as they are, with another model."""
        changed = replace(self, model=model)
        for name in ("pairs", "believed"):
            if name in self.__dict__:
                changed.__dict__[name] = self.__dict__[name]
        return changed

    @cached_property
    def believed(self) -> Believed:
        """Pairs more likely right than not."""
        return self.pairs.above(0.0)

    def find(self, row: Ids, column: Ids) -> Ids:
        """Which candidates some pairs are; -1 for those that are not candidates."""
        return find_pairs(self.candidates.row, self.candidates.column, self.candidates.shape[1], row, column)

    def log_odds_of(self, row: Ids, column: Ids, absent: float) -> Floats:
        """Log-odds of some pairs; `absent` for those that are not candidates."""
        return np.append(self.log_odds, absent)[self.find(row, column)]

    def slots_for(
        self, candidates: Candidates, slots: Slots, n_ties: tuple[int, int], engine: Engine
    ) -> tuple[Floats, Floats]:
        """What the ties of this state added, for the slots of another list of candidates."""

        own = self.candidates
        views = [(own, self.slots[view], self.by_slot[view], candidates, slots[view], n_ties[view]) for view in (0, 1)]
        source, target = engine.on_columns(_carried, views)
        return source, target

    def joined(self, other: RoundState, taken: tuple[Flags, Flags]) -> RoundState:
        """Candidates of taken entities from this state, all others from the other one.

        How likely entities are to have no partner stays as it is here.
        """
        states = (self, other)

        def part_of(number: int) -> Ids:
            c = states[number].candidates
            return np.flatnonzero((taken[0][c.row] | taken[1][c.column]) == (number == 0))

        parts = both(part_of)

        def stacked(read: Callable[[RoundState], Array]) -> Array:
            return np.concatenate([read(state)[part] for state, part in zip(states, parts, strict=True)])

        row, column = stacked(lambda state: state.candidates.row), stacked(lambda state: state.candidates.column)
        order = np.lexsort((column, row))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        numbers = place[: len(parts[0])], place[len(parts[0]) :]

        def slots_of(view: int) -> tuple[Ints, Ints, Floats]:
            listed = [state._slots_at(part, to, view) for state, part, to in zip(states, parts, numbers, strict=True)]
            candidate, tie, added = (np.concatenate([one[at] for one in listed]) for at in range(3))
            by_candidate = np.lexsort((tie, candidate))
            return candidate[by_candidate], tie[by_candidate], added[by_candidate]

        source, target = both(slots_of)
        return replace(
            self,
            candidates=Candidates(row[order], column[order], self.candidates.shape),
            log_odds=stacked(lambda state: state.log_odds)[order],
            value=stacked(lambda state: state.value)[order],
            slots=(source[:2], target[:2]),
            by_slot=(source[2], target[2]),
        )

    def _slots_at(self, part: Ids, to: Ids, view: int) -> tuple[Ints, Ints, Floats]:
        """Slots of some candidates, with the candidates' new numbers: (candidate, tie, what it added)."""
        number = np.full(len(self.candidates), -1, dtype=np.int64)
        number[part] = to
        candidate, tie = self.slots[view]
        kept = np.flatnonzero(number[candidate] >= 0) if len(candidate) else np.zeros(0, np.int64)
        return number[candidate[kept]].astype(np.int32), tie[kept], self.by_slot[view][kept]


def _carried(
    own: Candidates,
    slots: tuple[Ints, Ints],
    by_slot: Floats,
    candidates: Candidates,
    wanted_slots: tuple[Ints, Ints],
    n_ties: int,
) -> Floats:
    """What slots of one list of candidates added, for the slots of another."""
    to = find_pairs(candidates.row, candidates.column, candidates.shape[1], own.row, own.column)
    key = wanted_slots[0].astype(np.int64) * n_ties + wanted_slots[1]
    added = np.zeros(len(key))
    candidate, tie = slots
    kept = np.flatnonzero(to[candidate] >= 0) if len(candidate) and len(key) else np.zeros(0, np.int64)
    if len(kept):
        wanted = to[candidate[kept]] * n_ties + tie[kept]
        place = np.searchsorted(key, wanted).clip(max=len(key) - 1)
        hit = key[place] == wanted
        added[place[hit]] = by_slot[kept[hit]]
    return added
