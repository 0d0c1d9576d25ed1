"""Token families: one way each to read the facts of an entity, and how often both graphs read the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.channels.evidence.fact_views import ABSENT, FactSides, Ids, TimeKind
from dualmatch.channels.evidence.knowledge import Knowledge
from dualmatch.graph.hashing import may_be_in

Floats = NDArray[np.float64]
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
