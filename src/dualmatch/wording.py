"""Wording: facts, their times and what two of them have in common, from row numbers to names and words."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dualmatch.encode.evidence.shared import SharedFacts
from dualmatch.explanation import Aspect, Fact, SharedFact
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, Precision, coarsen, format_date, precision_of
from dualmatch.grounds import Grounds


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


def shared_in_words(grounds: Grounds, shared: SharedFacts) -> tuple[SharedFact, ...]:
    """Pairs of fact sides by name, each with what the two facts have in common."""
    return tuple(
        SharedFact(
            fact_of(grounds.source, here),
            fact_of(grounds.target, there),
            _same(grounds, here, there),
            _same_dates(grounds, here % grounds.source.n_facts, there % grounds.target.n_facts),
            weight,
        )
        for here, there, weight in zip(
            shared.source_side.tolist(), shared.target_side.tolist(), shared.weight.tolist(), strict=True
        )
    )


def _same(grounds: Grounds, here: int, there: int) -> tuple[Aspect, ...]:
    """What two facts have in common apart from time, as far as the last round knew."""
    known = grounds.knowledge
    if known is None:
        return ()
    left, right = grounds.scoring.sides
    aspects: list[Aspect] = []
    if known.source_class[left.relation[here]] == known.target_class[right.relation[there]]:
        aspects.append("relation")
    if (int(left.other[here]), int(right.other[there])) in grounds.believed:
        aspects.append("entity")
    return tuple(aspects)


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
