"""Wording: facts, their times and what two of them have in common, from row numbers to names and words."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dualmatch.explain.basis import Grounds
from dualmatch.explain.explanation import Aspect, Balance, Fact, SharedFact
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, Precision, coarsen, format_date, precision_of
from dualmatch.methods.evidence.pair_evidence import PairEvidence


def fact_of(graph: TemporalGraph, side: int) -> Fact:
    """A fact side in words."""
    fact = side % graph.n_facts
    is_subject = side < graph.n_facts
    other = graph.tail[fact] if is_subject else graph.head[fact]
    time = time_in_words(int(graph.begin[fact]), int(graph.end[fact]), graph.opaque_times)
    return Fact(graph.relations[graph.relation[fact]], graph.entities[other], is_subject, time)


@lru_cache(maxsize=65_536)
def time_in_words(begin: int, end: int, opaque: bool) -> str:
    """When a fact holds.

    >>> from dualmatch.graph.times import parse_date
    >>> time_in_words(parse_date("1994"), parse_date("1998-03"), False)
    'from 1994 to 1998-03'
    >>> time_in_words(7, 7, True)
    'at time 7'
    """
    show = (lambda code: f"time {code}") if opaque else format_date
    if begin == end:
        if begin == UNKNOWN:
            return ""
        at = "at" if opaque else "on" if precision_of(np.array([begin], np.int32))[0] == Precision.DAY else "in"
        return f"{at} {show(begin)}"
    parts = [f"{word} {show(code)}" for word, code in (("from", begin), ("to", end)) if code != UNKNOWN]
    return " ".join(parts)


def balance_of(evidence: PairEvidence) -> Balance:
    """What counts for a pair besides shared facts."""
    return Balance(evidence.names, evidence.not_found, evidence.prior, evidence.rivals, evidence.correction)


def sides_of_entity(graph: TemporalGraph, entity: int) -> NDArray[np.int64]:
    """The fact sides of an entity: the rows of its facts, plus n_facts where it is their tail; repeated facts once."""
    sides = np.concatenate([np.flatnonzero(graph.head == entity), np.flatnonzero(graph.tail == entity) + graph.n_facts])
    fact = sides % max(graph.n_facts, 1)
    columns = (graph.head, graph.relation, graph.tail, graph.begin, graph.end)
    rows = np.stack([sides // max(graph.n_facts, 1), *(column[fact].astype(np.int64) for column in columns)], axis=1)
    return sides[np.sort(np.unique(rows, axis=0, return_index=True)[1])]


def shared_in_words(grounds: Grounds, evidence: PairEvidence) -> tuple[SharedFact, ...]:
    """Pairs of fact sides by name, each with what the two facts have in common."""
    source, target = grounds.source, grounds.target
    here, there = evidence.source_side, evidence.target_side
    relation, entity = _ends(source, here), _ends(target, there)
    alike = grounds.same_relation(relation[0], entity[0]).tolist()
    return tuple(
        SharedFact(
            fact_of(source, left),
            fact_of(target, right),
            _same(same, ends in grounds.believed),
            _same_dates(grounds, left % source.n_facts, right % target.n_facts),
            weight,
        )
        for left, right, same, ends, weight in zip(
            here.tolist(),
            there.tolist(),
            alike,
            zip(relation[1].tolist(), entity[1].tolist(), strict=True),
            evidence.weight.tolist(),
            strict=True,
        )
    )


def _ends(graph: TemporalGraph, sides: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The directed relation of each fact side, and the entity at its other end."""
    fact, is_tail = sides % max(graph.n_facts, 1), sides >= graph.n_facts
    relation = graph.relation[fact].astype(np.int64) + np.where(is_tail, graph.n_relations, 0)
    return relation, np.where(is_tail, graph.head[fact], graph.tail[fact]).astype(np.int64)


def _same(relation: bool, entity: bool) -> tuple[Aspect, ...]:
    aspects: list[Aspect] = ["relation"] if relation else []
    return (*aspects, "entity") if entity else tuple(aspects)


def _same_dates(grounds: Grounds, here: int, there: int) -> tuple[str, ...]:
    """Begin and end where two facts agree on them, as precise as they agree."""
    source, target = grounds.source, grounds.target
    opaque = source.opaque_times or target.opaque_times
    ends = (("begin", source.begin[here], target.begin[there]), ("end", source.end[here], target.end[there]))
    dates = [(end, _common_date(int(first), int(second), opaque)) for end, first, second in ends]
    return tuple(f"{end} {date}" for end, date in dates if date is not None)


@lru_cache(maxsize=65_536)
def _common_date(first: int, second: int, opaque: bool) -> str | None:
    """The most precise date that two codes agree on.

    >>> from dualmatch.graph.times import parse_date
    >>> _common_date(parse_date("1994-03-01"), parse_date("1994-03"), False)
    '1994-03'
    """
    if UNKNOWN in (first, second):
        return None
    if opaque:
        return f"time {first}" if first == second else None
    codes = np.array([first, second], dtype=np.int32)
    for precision in reversed(Precision):
        coarse = coarsen(codes, precision)
        if coarse[0] == coarse[1] and precision_of(codes).min() >= precision:
            return format_date(int(coarse[0]))
    return None
