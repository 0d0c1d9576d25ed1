"""Tokens: what the facts of an entity say about it, as sparse entity × token matrices of both graphs.

A family is one way to read facts: by time, by relation, by neighbour, or by two of them. A token is one reading that
occurs in both graphs, such as "begins in 1833" or "has relation 7 with pair 12".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, NamedTuple, Self

import numpy as np
from scipy import sparse as sp

from dualmatch.channels.evidence.fact_views import ABSENT, FactSides, TimeKind
from dualmatch.channels.evidence.row_blocks import side_by_side
from dualmatch.channels.evidence.ties import SHORT_TABLE, distinct, expanded, marked, numbered, places_in
from dualmatch.engine import Engine, InProcess
from dualmatch.graph.arrays import Floats, Ids, Ints
from dualmatch.graph.hashing import may_be_in

Among = tuple[Ids, Ids]
"""Some source and some target entities, sorted."""

_RELATION_FACTOR: Final = 0.2  # a relation by itself says little, and all entities of a type have it
_SIDES_AT_ONCE: Final = 2**24  # fact sides, once for each pair of their neighbour, that tokens are made of at once
_WORTH_A_PART: Final = 2**17  # fewer sides are not shared out among threads
_FEWEST_PARTS: Final = 4  # where they are


@dataclass(frozen=True, eq=False)
class SoftPairs:
    """Entity pairs believed so far, each with a weight in (0, 1]; an entity may stand in several."""

    source: Ids
    target: Ids
    weight: Floats

    def __len__(self) -> int:
        return len(self.weight)

    def cut(self, n_sides: tuple[Ids, Ids]) -> list[SoftPairs]:
        """Parts of about as many fact sides of their neighbours each, by how many sides each entity has."""
        total = np.cumsum(n_sides[0][self.source] + n_sides[1][self.target])
        every = int(total[-1]) if len(total) else 0
        n_parts = max(-(-every // _SIDES_AT_ONCE), min(every // _WORTH_A_PART, _FEWEST_PARTS), 1)
        cuts = np.searchsorted(total, every * np.arange(1, n_parts) / n_parts).tolist()
        spans = zip([0, *cuts], [*cuts, len(self)], strict=True)
        return [
            SoftPairs(self.source[first:last], self.target[first:last], self.weight[first:last])
            for first, last in spans
        ]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What tokens may build on: aligned entities, and a class for each directed relation of either graph."""

    pairs: SoftPairs
    source_class: Ids
    target_class: Ids


class Scale(NamedTuple):
    """Figures over the tokens of all entities, which those of some entities do not give."""

    smoothing: float  # weight of one more fact (`Tokens.smoothing`)
    dearest: float  # tokens that cost this much or more are hubs, and not searched by


@dataclass(frozen=True, eq=False)
class Tokens:
    """Entity × token matrices over the tokens that occur in both graphs.

    The weight of a token is its information, ln(entities / entities that have it), times its family's factor.
    """

    source: sp.csr_matrix  # (n_entities, n_tokens) float32: √count × weight; columns sorted
    target: sp.csr_matrix
    cost: Floats  # (n_tokens,): products the token adds to source · targetᵀ: the product of its document frequencies
    smoothing: float  # mean squared weight that one fact side brings
    among: Among | None = None  # the entities of the rows; None for all


class TokenBuilder:
    """Token matrices of one pair of graphs, round after round.

    Families that do not change (times; relations, while their classes stay the same) are kept from round to round.
    """

    def __init__(
        self, source: FactSides, target: FactSides, kinds: tuple[TimeKind, ...], engine: Engine | None = None
    ) -> None:
        self.source, self.target, self.kinds, self.engine = source, target, kinds, engine or InProcess(threads=1)
        self._n_fixed = len(source.times)
        self._kept: dict[int, _Family] = {}
        self._classes: tuple[bytes, bytes] | None = None

    def build(self, known: Knowledge | None, among: Among | None = None, smoothing: float | None = None) -> Tokens:
        """Build tokens from times only where nothing is known yet, else also from relations and neighbours.

        With `among`, only tokens of these entities are built, at the cost of these and of all that share their tokens.
        Weights still rest on all entities, and `smoothing` is that of all entities' tokens.
        """
        if known is not None:
            self._forget_other_classes(known)
        families = _TokenFamilies((self.source, self.target), self.kinds, known, among)
        if not families.n_lasting:  # no times, and nothing known
            sizes = families.n_entities if among is None else (len(among[0]), len(among[1]))
            source, target = (sp.csr_matrix((size, 0), dtype=np.float32) for size in sizes)
            return Tokens(source, target, np.zeros(0), 1.0, among)
        lasting = range(families.n_lasting)
        missing = [number for number in lasting if number not in self._kept]
        made = self.engine.on_columns(families.lasting, [(number,) for number in missing])
        self._kept.update(zip(missing, made, strict=True))
        parts = [self._kept[number] for number in lasting]
        if among is not None:
            parts = self.engine.on_columns(_Family.at, [(part, among) for part in parts])
        if known is not None:
            cut = known.pairs.cut(self._n_sides)
            met = self.engine.on_columns(families.of_neighbours, [(pairs,) for pairs in cut])
            parts += [part for family in zip(*met, strict=True) for part in family]
        listed = [[part.counts[side] for part in parts] for side in (0, 1)]
        source, target = side_by_side((listed[0], listed[1]), self.engine)
        if smoothing is None:
            mass = sum(self.engine.on_columns(_mass, [(source,), (target,)]))
            smoothing = mass / max(1, len(self.source.entity) + len(self.target.entity))
        return Tokens(source, target, np.concatenate([part.cost for part in parts]), smoothing, among)

    @cached_property
    def _n_sides(self) -> tuple[Ids, Ids]:
        """How many sides of facts have each entity as their neighbour."""
        asked = [(each.other, each.n_entities) for each in (self.source, self.target)]
        source, target = self.engine.on_columns(_counts, asked)
        return source, target

    def _forget_other_classes(self, known: Knowledge) -> None:
        """Leave out families kept of relations in other classes."""
        classes = known.source_class.tobytes(), known.target_class.tobytes()
        if self._classes != classes:
            self._classes = classes
            self._kept = {number: family for number, family in self._kept.items() if number < self._n_fixed}


def _counts(numbers: Ints, size: int) -> Ids:
    return np.bincount(numbers, minlength=size)


def _mass(matrix: sp.csr_matrix) -> float:
    """Sum of all squares."""
    return float((matrix.data.astype(np.float64) ** 2).sum())


@dataclass(frozen=True, eq=False)
class _Occurrences:
    """One family in one graph: which entity has which key, how often (None: once)."""

    entity: Ints
    key: Ids
    count: Floats | None

    @property
    def present(self) -> _Occurrences:
        """All but absent keys."""
        there = self.key != ABSENT
        return self if there.all() else self.at(np.flatnonzero(there))

    def at(self, rows: Ids) -> _Occurrences:
        return _Occurrences(self.entity[rows], self.key[rows], None if self.count is None else self.count[rows])


@dataclass(frozen=True, eq=False)
class _Family:
    """Both matrices of one family over its shared tokens, with the tokens' costs."""

    counts: tuple[sp.csr_matrix, sp.csr_matrix]
    cost: Floats

    def at(self, among: Among) -> _Family:
        """Rows of some entities, and the tokens that any of them has."""
        counts = [matrix[rows] for matrix, rows in zip(self.counts, among, strict=True)]
        used = np.flatnonzero(marked(np.concatenate([matrix.indices for matrix in counts]), len(self.cost)))
        return _Family((counts[0][:, used], counts[1][:, used]), self.cost[used])


@dataclass(frozen=True, eq=False)
class _TokenFamilies:
    """The families of both graphs in a fixed order: times, relations, neighbours."""

    sides: tuple[FactSides, FactSides]
    kinds: tuple[TimeKind, ...]
    known: Knowledge | None
    among: Among | None

    @property
    def n_entities(self) -> tuple[int, int]:
        return self.sides[0].n_entities, self.sides[1].n_entities

    @property
    def n_lasting(self) -> int:
        """Families that do not depend on pairs: times, and where relations are known, these by themselves and by time.

        They have the numbers from 0.
        """
        return len(self.kinds) if self.known is None else 2 * len(self.kinds) + 1

    def lasting(self, number: int) -> _Family:
        """One of the families that do not depend on pairs, of all entities."""
        factor = _RELATION_FACTOR if number == len(self.kinds) else 1.0
        return _family_of((self._lasting_of(0, number), self._lasting_of(1, number)), self.n_entities, factor, None)

    def _lasting_of(self, side: int, number: int) -> _Occurrences:
        sides, n_times = self.sides[side], len(self.kinds)
        if number < n_times:
            return _Occurrences(sides.entity, _join(sides.times[number], sides.direction, 2), None)
        classes = self._classes(side)[sides.relation]
        if number > n_times:
            classes = _join(sides.times[number - n_times - 1], classes, self._n_classes)
        return _Occurrences(sides.entity, classes, None)

    def of_neighbours(self, pairs: SoftPairs) -> list[_Family]:
        """The families of neighbours in some pairs: of the entities that are searched, one after the other.

        The keys of a family are in the order of pairs, so the families of one part of the pairs and then the next are
        what all pairs together would give.
        """
        met = _Neighbours.of(self.sides[0], pairs, 0), _Neighbours.of(self.sides[1], pairs, 1)
        moments = [number for number, kind in enumerate(self.kinds) if kind.moment != "interval"]
        ways: list[Callable[[_Neighbours, int], _Occurrences]] = [self._by_pair, self._by_relation]
        ways += [partial(self._by_time, number) for number in moments]
        return [_family_of((way(met[0], 0), way(met[1], 1)), self.n_entities, 1.0, self.among) for way in ways]

    def _by_pair(self, met: _Neighbours, side: int) -> _Occurrences:
        return _Occurrences(met.entity, met.pair, met.weight)

    def _by_relation(self, met: _Neighbours, side: int) -> _Occurrences:
        classes = self._classes(side)[self.sides[side].relation[met.rows]]
        return _Occurrences(met.entity, _join(met.pair, classes, self._n_classes), met.weight)

    def _by_time(self, number: int, met: _Neighbours, side: int) -> _Occurrences:
        sides = self.sides[side]
        directed = _join(met.pair, sides.direction[met.rows], 2)
        return _Occurrences(met.entity, _join(directed, sides.times[number][met.rows], 2**31), met.weight)

    def _classes(self, side: int) -> Ids:
        """The class of each directed relation."""
        assert self.known is not None  # only times are read where nothing is known
        return self.known.target_class if side else self.known.source_class

    @property
    def _n_classes(self) -> int:
        return 1 + max(int(self._classes(side).max(initial=0)) for side in (0, 1))


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """Fact sides of one graph, each repeated for every soft pair that its neighbour stands in."""

    rows: Ids
    pair: Ids
    entity: Ints
    weight: Floats

    @classmethod
    def of(cls, sides: FactSides, pairs: SoftPairs, side: int) -> Self:
        paired = (pairs.source, pairs.target)[side]
        order, count = np.argsort(paired, kind="stable"), np.bincount(paired, minlength=sides.n_entities)
        among = np.flatnonzero((count > 0)[sides.other])  # a date has no neighbour
        neighbour = sides.other[among]
        which, place = expanded((np.cumsum(count) - count)[neighbour], count[neighbour])
        rows, pair = among[which], order[place]
        return cls(rows, pair, sides.entity[rows], pairs.weight[pair])


def _join(first: Ids | Ints, second: Ids | Ints, size: int) -> Ids:
    """One key for two ids, the second below `size`; absent where either is."""
    key = first.astype(np.int64)
    key *= size
    key += second
    key[(first == ABSENT) | (second == ABSENT)] = ABSENT
    return key


def _family_of(
    occurrences: tuple[_Occurrences, _Occurrences], n_entities: tuple[int, int], factor: float, among: Among | None
) -> _Family:
    left, right = (each.present for each in occurrences)
    if among is None:
        keys, number = numbered(np.concatenate([left.key, right.key]))
        numbers = number[: len(left.key)], number[len(left.key) :]
    else:
        wanted = [marked(rows, size) for rows, size in zip(among, n_entities, strict=True)]
        keys = distinct(np.concatenate([left.key[wanted[0][left.entity]], right.key[wanted[1][right.entity]]]))
        (left, first), (right, second) = _with_keys(left, keys), _with_keys(right, keys)
        numbers = first, second
    counts = []
    for each, number, size in zip((left, right), numbers, n_entities, strict=True):
        counts.append(_counted(each, number, (size, len(keys))))
    frequency = [np.bincount(matrix.indices, minlength=len(keys)).astype(np.float64) for matrix in counts]
    shared = np.flatnonzero((frequency[0] > 0) & (frequency[1] > 0))
    in_source, in_target = frequency[0][shared], frequency[1][shared]
    weights = factor * np.log(np.maximum(sum(n_entities), 2) / (in_source + in_target)).clip(0.0)
    matrices = [matrix[:, shared] for matrix in counts]
    for matrix in matrices:
        matrix.data = (np.sqrt(matrix.data) * weights[matrix.indices]).astype(np.float32)
    family = _Family((matrices[0], matrices[1]), in_source * in_target)
    return family if among is None else family.at(among)


def _counted(occurrences: _Occurrences, number: Ids | Ints, shape: tuple[int, int]) -> sp.csr_matrix:
    """How often each entity has each key; keys are numbered."""
    entity = occurrences.entity
    count = np.ones(len(number)) if occurrences.count is None else occurrences.count.copy()
    if (entity[1:] >= entity[:-1]).all():  # sides of facts, unless there are entity dates, are in order
        first = np.concatenate([[0], np.cumsum(np.bincount(entity, minlength=shape[0]))])
        matrix = sp.csr_matrix((count, number.astype(np.int32), first), shape=shape)
    else:
        matrix = sp.csr_matrix((count, (entity, number)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def _with_keys(occurrences: _Occurrences, keys: Ids) -> tuple[_Occurrences, Ids]:
    """Occurrences of some sorted keys, and which key each has."""
    if not len(keys):
        return occurrences.at(keys), keys
    if keys[-1] < SHORT_TABLE:  # most families: a table is several times as fast as a search
        table = np.full(keys[-1] + 2, ABSENT, dtype=np.int32)
        table[keys] = np.arange(len(keys), dtype=np.int32)
        found = table[np.minimum(occurrences.key, keys[-1] + 1)]
        rows = np.flatnonzero(found != ABSENT)
        return occurrences.at(rows), found[rows].astype(np.int64)
    rows = may_be_in(keys, occurrences.key)
    place = places_in(keys, occurrences.key[rows])
    return occurrences.at(rows[place >= 0]), place[place >= 0]
