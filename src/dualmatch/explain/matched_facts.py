"""Which facts of two entities say the same: those that evidence names, and all others that agree with one there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dualmatch.explain.basis import ExplanationBasis
from dualmatch.explain.explain import contradicting, ends_of, sides_of_entity, time_rows
from dualmatch.graph.arrays import Flags, Ids
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, Precision, coarsen, precision_of
from dualmatch.methods.evidence.pair_evidence import PairEvidence

_NOWHERE = -2  # a neighbour that is none of the other graph's, or a relation that none there means


@dataclass(frozen=True, eq=False)
class MatchedFacts:
    """The fact sides of two entities, sorted into those that match and those that do not.

    `source` and `target` (n,): matching sides, first those that evidence names, in its order. `of` (n,): the place in
    the evidence that a match counts with, for evidence names one of all facts between an entity and a neighbour; -1
    where it counts for too little to be named.
    """

    source: Ids
    target: Ids
    of: Ids
    only_source: Ids  # in the order of time, dated ones first
    only_target: Ids


def matched_facts(basis: ExplanationBasis, row: int, other: int, evidence: PairEvidence) -> MatchedFacts:
    """Match every fact and date of a source and a target entity that says the same as one of the other."""
    graphs = basis.source, basis.target
    left, right = sides_of_entity(basis.source, row), sides_of_entity(basis.target, other)
    agree = ~contradicting(basis, evidence)  # dates that contradict each other do not match
    named = evidence.source_side[agree], evidence.target_side[agree]
    pairs = [named]
    free = [each[~np.isin(each, sides)] for each, sides in zip((left, right), named, strict=True)]
    keys = _common_ends(basis, *free)
    for here, there in _ways_to_agree(graphs, free, keys):
        taken = [np.isin(each, np.concatenate([found[side] for found in pairs])) for side, each in enumerate(free)]
        chosen = [np.flatnonzero(can & ~used) for can, used in zip((here[0], there[0]), taken, strict=True)]
        first, second = _joined(here[1][chosen[0]], there[1][chosen[1]])
        pairs.append((free[0][chosen[0][first]], free[1][chosen[1][second]]))
    source, target = (np.concatenate([found[side] for found in pairs]) for side in (0, 1))
    alone = left[~np.isin(left, source)], right[~np.isin(right, target)]
    of = _counted_with(basis.source, source, evidence.source_side)
    return MatchedFacts(source, target, of, by_time(basis.source, alone[0]), by_time(basis.target, alone[1]))


def by_time(graph: TemporalGraph, sides: Ids) -> Ids:
    """Fact sides in the order of their times; those without one last."""
    begin, end = (times[time_rows(graph, sides)].astype(np.int64) for times in graph.times)
    time = np.where(begin != UNKNOWN, begin, end)
    return sides[np.argsort(np.where(time == UNKNOWN, np.iinfo(np.int64).max, time), kind="stable")]


def _common_ends(basis: ExplanationBasis, left: Ids, right: Ids) -> tuple[tuple[Ids, Ids], tuple[Ids, Ids]]:
    """(neighbour, relation) of the sides of both, in terms of the target graph: comparable where they are the same."""
    (relation, entity), (other_relation, other_entity) = ends_of(basis.source, left), ends_of(basis.target, right)
    partner = np.append(basis.believed_partner, -1)[entity]  # -1 stays: a date of the entity itself
    partner = np.where((entity >= 0) & (partner < 0), _NOWHERE, partner)
    here, there = np.unique(relation), np.unique(other_relation)
    if not len(here) or not len(there):
        return (partner, np.full(len(left), _NOWHERE)), (other_entity, other_relation)
    odds = basis.relation_odds(np.repeat(here, len(there)), np.tile(there, len(here))).reshape(len(here), len(there))
    meant = np.where(odds.max(axis=1) > 1.0, there[odds.argmax(axis=1)], _NOWHERE)
    return (partner, meant[np.searchsorted(here, relation)]), (other_entity, other_relation)


def _ways_to_agree(
    graphs: tuple[TemporalGraph, TemporalGraph], free: list[Ids], keys: tuple[tuple[Ids, Ids], tuple[Ids, Ids]]
) -> Iterator[tuple[tuple[Flags, Ids], tuple[Flags, Ids]]]:
    """For each way, the strictest first: which sides of either can agree, and the columns they then agree in.

    The same neighbour by the same relation, at the same time, at times of which one is coarser, or where one has no
    time; the same neighbour at the same time.
    """
    times = [
        np.stack([column[time_rows(graph, sides)] for column in graph.times], axis=1)
        for graph, sides in zip(graphs, free, strict=True)
    ]
    known = [(each != UNKNOWN).any(axis=1) for each in times]
    exact = [precision_of(each.max(axis=1)) for each in times]
    who = [np.stack(each, axis=1) for each in keys]
    fine = [(each != _NOWHERE).all(axis=1) for each in who]
    yield (fine[0], np.hstack([who[0], times[0]])), (fine[1], np.hstack([who[1], times[1]]))
    opaque = graphs[0].opaque_times or graphs[1].opaque_times
    for precision in () if opaque else (Precision.MONTH, Precision.YEAR):
        coarse = [np.hstack([name, coarsen(each, precision)]) for name, each in zip(who, times, strict=True)]
        is_it = [can & dated & (each == precision) for can, dated, each in zip(fine, known, exact, strict=True)]
        finer = [can & dated & (each > precision) for can, dated, each in zip(fine, known, exact, strict=True)]
        yield (is_it[0], coarse[0]), (finer[1], coarse[1])
        yield (finer[0], coarse[0]), (is_it[1], coarse[1])
    has_neighbour = [name[:, 0] >= 0 for name in who]
    whose = [can & near for can, near in zip(fine, has_neighbour, strict=True)]
    yield (whose[0] & ~known[0], who[0]), (whose[1] & known[1], who[1])
    yield (whose[0] & known[0], who[0]), (whose[1] & ~known[1], who[1])
    dated = [near & when for near, when in zip(has_neighbour, known, strict=True)]
    when = [np.hstack([name[:, :1], each]) for name, each in zip(who, times, strict=True)]
    yield (dated[0], when[0]), (dated[1], when[1])


def _joined(left: Ids, right: Ids) -> tuple[Ids, Ids]:
    """Places of equal rows, each once: the first of some equal rows with the first of those on the other side."""
    if not len(left) or not len(right):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    _, number = np.unique(np.concatenate([left, right]), axis=0, return_inverse=True)
    sides = np.split(number.ravel().astype(np.int64), [len(left)])
    numbered = [each * (len(number) + 1) + _occurrence(each) for each in sides]
    _, first, second = np.intersect1d(numbered[0], numbered[1], assume_unique=True, return_indices=True)
    return first.astype(np.int64), second.astype(np.int64)


def _occurrence(keys: Ids) -> Ids:
    """How many equal keys come before each."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    before = np.empty(len(keys), np.int64)
    before[order] = np.arange(len(keys)) - np.repeat(first, np.diff(np.append(first, len(keys))))
    return before


def _counted_with(graph: TemporalGraph, sides: Ids, named: Ids) -> Ids:
    """The place in `named` that stands for each side: the side itself, or one with the same neighbour; -1 for none."""
    neighbours, places = np.unique(ends_of(graph, named)[1], return_index=True)
    entity = ends_of(graph, sides)[1]
    at = np.searchsorted(neighbours, entity).clip(max=max(len(neighbours) - 1, 0))
    found = np.where((neighbours[at] == entity) & (entity >= 0), places[at], -1) if len(neighbours) else entity * 0 - 1
    order = np.argsort(named, kind="stable")
    own = np.searchsorted(named[order], sides).clip(max=max(len(named) - 1, 0))
    return np.where(named[order][own] == sides, order[own], found) if len(named) else found
