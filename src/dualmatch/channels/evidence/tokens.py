"""Tokens: what the facts of an entity say about it, as sparse entity × token matrices of both graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, NamedTuple

import numpy as np
from scipy import sparse as sp

from dualmatch.channels.evidence.fact_views import ABSENT, FactSides, TimeKind
from dualmatch.graph.arrays import Floats, Ids
from dualmatch.graph.hashing import may_be_in


class Scale(NamedTuple):
    """What all entities' tokens tell together, and some entities' do not."""

    smoothing: float  # what one fact more weighs (`Tokens.smoothing`)
    dearest: float  # tokens that cost this much or more are hubs, and not searched by


@dataclass(frozen=True, eq=False)
class Tokens:
    """Entity × token matrices over the tokens that occur in both graphs."""

    # (n_entities, n_tokens) csr: √count × weight; columns sorted
    source: sp.csr_matrix
    target: sp.csr_matrix
    # (n_tokens,): information of a token, ln(entities / entities that have it), times its family's factor
    weights: Floats
    cost: Floats  # (n_tokens,): products the token adds to source · targetᵀ: the product of its document frequencies
    smoothing: float  # mean squared weight that one fact side brings: what "one fact more" weighs
    # one sorted array for each family: the key of each token, family by family in the order of the columns
    keys: tuple[Ids, ...]
    # Among | None: the entities that the rows of `source` and `target` stand for, and whose tokens there are; None for
    # all
    among: Among | None = None


class TokenBuilder:
    """Token matrices of one pair of graphs, round after round.

    Families that rest on nothing new (times; relations, where their classes are as they were) are kept from the
    round before.
    """

    def __init__(self, source: FactSides, target: FactSides, kinds: tuple[TimeKind, ...]) -> None:
        self.source, self.target, self.kinds = source, target, kinds
        self._n_fixed = len(source.times)
        self._n_lasting = self._n_fixed + len(source.times) + 1
        self._kept: dict[int, Family] = {}
        self._classes: tuple[bytes, bytes] | None = None

    def build(self, known: Knowledge | None, among: Among | None = None, smoothing: float | None = None) -> Tokens:
        """Times only where nothing is known yet, else with relations and neighbours.

        Parameters
        ----------
        among:
            Entities to build tokens for; how much a token says still rests on all entities. It costs what these
            entities and those who share their tokens cost.
        smoothing:
            Of all entities' tokens, where it is known: some entities' tokens do not tell it.
        """
        views = zip(
            families(self.source, self.kinds, known, 0), families(self.target, self.kinds, known, 1), strict=True
        )
        parts = []
        for number, ((factor, left), (_, right)) in enumerate(views):
            kept = self._still_valid(number, known)
            if kept is None:
                kept = family_of((left(), right()), (self.source.n_entities, self.target.n_entities), factor, among)
            elif among is not None:
                kept = kept.at(among)
            if number < self._n_lasting and among is None:
                self._kept[number] = kept
            parts.append(kept)
        if known is not None and among is None:
            self._classes = known.source_class.tobytes(), known.target_class.tobytes()
        if not parts:  # no times, and nothing known
            return _no_tokens((self.source.n_entities, self.target.n_entities), among)
        source, target = (sp.hstack([part.counts[side] for part in parts], format="csr") for side in (0, 1))
        if smoothing is None:
            mass = sum(float((matrix.data.astype(np.float64) ** 2).sum()) for matrix in (source, target))
            smoothing = mass / max(1, len(self.source.entity) + len(self.target.entity))
        return Tokens(
            source,
            target,
            np.concatenate([part.weights for part in parts]),
            np.concatenate([part.cost for part in parts]),
            smoothing,
            tuple(part.keys for part in parts),
            among,
        )

    def _still_valid(self, number: int, known: Knowledge | None) -> Family | None:
        if number < self._n_fixed:
            return self._kept.get(number)
        if known is not None and number < self._n_lasting:
            same = self._classes == (known.source_class.tobytes(), known.target_class.tobytes())
            return self._kept.get(number) if same else None
        return None


def _no_tokens(shape: tuple[int, int], among: Among | None) -> Tokens:
    """Nothing to compare entities by."""
    sizes = shape if among is None else (len(among[0]), len(among[1]))
    source, target = (sp.csr_matrix((size, 0), dtype=np.float32) for size in sizes)
    return Tokens(source, target, np.zeros(0), np.zeros(0), 1.0, (), among)


def build_tokens(
    source: FactSides,
    target: FactSides,
    kinds: tuple[TimeKind, ...],
    known: Knowledge | None,
    among: Among | None = None,
    smoothing: float | None = None,
) -> Tokens:
    """Token matrices of a single round."""
    return TokenBuilder(source, target, kinds).build(known, among, smoothing)


@dataclass(frozen=True, eq=False)
class SoftPairs:
    """Entity pairs believed so far, each with a weight in (0, 1]; an entity may stand in several."""

    source: Ids
    target: Ids
    weight: Floats

    @cached_property
    def by_side(self) -> tuple[Ids, Ids]:
        """Numbers of the pairs, sorted by their source and by their target entity."""
        return np.argsort(self.source, kind="stable"), np.argsort(self.target, kind="stable")


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What tokens may build on: aligned entities, and a class for each directed relation of either graph."""

    pairs: SoftPairs
    source_class: Ids
    target_class: Ids


Among = tuple[Ids, Ids]
"""Some source and some target entities, sorted."""

RELATION_FACTOR: Final = 0.2
"""A relation by itself says little, and all entities of a type have it."""
_TABLE = 2**24  # keys below this are looked up in a table


@dataclass(frozen=True, eq=False)
class Occurrences:
    """One family in one graph: which entity has which key, how often."""

    entity: Ids
    key: Ids
    count: Floats | None

    def at(self, rows: Ids) -> Occurrences:
        return Occurrences(self.entity[rows], self.key[rows], None if self.count is None else self.count[rows])


@dataclass(frozen=True, eq=False)
class Family:
    """Both matrices of one family over its shared tokens, with the tokens' weights, costs and keys."""

    counts: tuple[sp.csr_matrix, sp.csr_matrix]
    weights: Floats
    cost: Floats
    keys: Ids

    def at(self, among: Among) -> Family:
        """Some entities' rows; tokens that none of them has go."""
        counts = [matrix[rows] for matrix, rows in zip(self.counts, among, strict=True)]
        used = np.unique(np.concatenate([matrix.indices for matrix in counts]))
        kept = counts[0][:, used], counts[1][:, used]
        return Family(kept, self.weights[used], self.cost[used], self.keys[used])


def families(
    sides: FactSides, kinds: tuple[TimeKind, ...], known: Knowledge | None, side: int
) -> Iterator[tuple[float, Callable[[], Occurrences]]]:
    """The token families in a fixed order (times, relations, neighbours), each with its factor."""
    for time in sides.times:
        yield 1.0, partial(_timed, sides, time, sides.direction, 2)
    if known is None:
        return
    classes = (known.source_class, known.target_class)[side][sides.relation]
    n_classes = 1 + int(max(known.source_class.max(initial=0), known.target_class.max(initial=0)))
    yield RELATION_FACTOR, partial(Occurrences, sides.entity, classes, None)
    for time in sides.times:
        yield 1.0, partial(_timed, sides, time, classes, n_classes)
    members = (known.pairs.source, known.pairs.target)[side]
    rows, pair = _neighbour_pairs(sides.other, members, known.pairs.by_side[side], sides.n_entities)
    entity, weight = sides.entity[rows], known.pairs.weight[pair]
    directed = _join(pair, sides.direction[rows], 2)
    yield 1.0, partial(Occurrences, entity, pair, weight)
    yield 1.0, partial(Occurrences, entity, _join(pair, classes[rows], n_classes), weight)
    for kind, time in zip(kinds, sides.times, strict=True):
        if kind.moment != "interval":
            yield 1.0, partial(Occurrences, entity, _join(directed, time[rows], 2**31), weight)


def _timed(sides: FactSides, time: Ids, what: Ids, size: int) -> Occurrences:
    return Occurrences(sides.entity, _join(time, what, size), None)


def _join(first: Ids, second: Ids, size: int) -> Ids:
    """One key for two ids, the second below `size`; absent where either is."""
    return np.where((first == ABSENT) | (second == ABSENT), ABSENT, first * size + second)


def _neighbour_pairs(other: Ids, members: Ids, order: Ids, n_entities: int) -> tuple[Ids, Ids]:
    """Each side repeated for every soft pair its neighbour stands in: (side row, pair number).

    `order` sorts the `members` of the pairs.
    """
    count = np.bincount(members, minlength=n_entities)
    first = np.cumsum(count) - count
    repeats = count[other]
    rows = np.repeat(np.arange(len(other)), repeats)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return rows, order[first[other[rows]] + within].astype(np.int64)


def family_of(
    occurrences: tuple[Occurrences, Occurrences], n_entities: tuple[int, int], factor: float, among: Among | None
) -> Family:
    left, right = (_present(each) for each in occurrences)
    if among is None:
        keys, number = np.unique(np.concatenate([left.key, right.key]), return_inverse=True)
        numbers = number[: len(left.key)], number[len(left.key) :]
    else:
        keys = _keys_of(((left, among[0]), (right, among[1])), n_entities)
        (left, first), (right, second) = _with_keys(left, keys), _with_keys(right, keys)
        numbers = first, second
    counts = [
        _count_matrix(each, number, size, len(keys))
        for each, number, size in zip((left, right), numbers, n_entities, strict=True)
    ]
    frequency = [np.bincount(matrix.indices, minlength=len(keys)).astype(np.float64) for matrix in counts]
    shared = np.flatnonzero((frequency[0] > 0) & (frequency[1] > 0))
    in_source, in_target = frequency[0][shared], frequency[1][shared]
    weights = factor * np.log(np.maximum(sum(n_entities), 2) / (in_source + in_target)).clip(0.0)
    matrices = [matrix[:, shared] for matrix in counts]
    for matrix in matrices:
        matrix.data = (np.sqrt(matrix.data) * weights[matrix.indices]).astype(np.float32)
    family = Family((matrices[0], matrices[1]), weights, in_source * in_target, keys[shared])
    return family if among is None else family.at(among)


def _keys_of(sides: Iterable[tuple[Occurrences, Ids]], n_entities: tuple[int, int]) -> Ids:
    """All keys that some entities have, sorted."""
    found = []
    for (occurrences, entities), size in zip(sides, n_entities, strict=True):
        wanted = np.zeros(size, dtype=bool)
        wanted[entities] = True
        found.append(occurrences.key[wanted[occurrences.entity]])
    return np.unique(np.concatenate(found))


def _with_keys(occurrences: Occurrences, keys: Ids) -> tuple[Occurrences, Ids]:
    """Occurrences of some sorted keys, and which key each has."""
    if not len(keys):
        return occurrences.at(keys), keys
    if keys[-1] < _TABLE:  # most families: a table is several times as fast as a search
        table = np.full(keys[-1] + 2, ABSENT, dtype=np.int32)
        table[keys] = np.arange(len(keys), dtype=np.int32)
        found = table[np.minimum(occurrences.key, keys[-1] + 1)]
        rows = np.flatnonzero(found != ABSENT)
        return occurrences.at(rows), found[rows].astype(np.int64)
    rows = may_be_in(keys, occurrences.key)
    key = occurrences.key[rows]
    place = np.searchsorted(keys, key).clip(max=len(keys) - 1)
    hit = keys[place] == key
    return occurrences.at(rows[hit]), place[hit]


def _present(occurrences: Occurrences) -> Occurrences:
    return occurrences.at(np.flatnonzero(occurrences.key != ABSENT))


def _count_matrix(occurrences: Occurrences, columns: Ids, n_rows: int, n_columns: int) -> sp.csr_matrix:
    count = np.ones(len(columns)) if occurrences.count is None else occurrences.count
    matrix = sp.csr_matrix((count, (occurrences.entity, columns)), shape=(n_rows, n_columns))
    matrix.sum_duplicates()
    return matrix
