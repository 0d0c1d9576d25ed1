"""Profile of a graph: when its facts are, how exactly they are dated, how many an entity has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from dualmatch.graph.arrays import Ints
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, Precision, encode_date, precision_of

MOST_BINS: Final = 60
"""Columns of a timeline."""
_TAIL: Final = 0.005  # what lies before and after this share of the times goes to the outermost columns
_YEAR: Final = encode_date(1)


@dataclass(frozen=True)
class Timeline:
    """How many facts begin (or, where that is not known, end) in each stretch of time."""

    first: int  # the first year; an id where times have no calendar
    width: int  # years per column
    counts: tuple[int, ...]  # facts per column; the outermost also hold what lies beyond them


@dataclass(frozen=True)
class GraphProfile:
    """Counts that describe a graph."""

    name: str
    entities: int
    relations: int
    facts: int
    # facts and entity dates known to the "day", "month" or "year", or to none; "id" without a calendar
    precision: Mapping[str, int]
    degrees: tuple[int, ...]  # entities with 0, 1, 2–3, 4–7 … facts and dates: a count for each doubling
    timeline: Timeline | None


def profile_of(graph: TemporalGraph) -> GraphProfile:
    """Describe a graph.

    >>> graph = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833"), ("Ada", "knew", "Mary")])
    >>> profile_of(graph).degrees, dict(profile_of(graph).precision)
    ((0, 2, 1), {'day': 0, 'month': 0, 'year': 1, 'none': 1})
    """
    begin, end = graph.times
    times = np.where(begin != UNKNOWN, begin, end)
    degree = np.bincount(np.concatenate([graph.head, graph.tail, graph.dates.entity]), minlength=graph.n_entities)
    doublings = np.where(degree > 0, np.floor(np.log2(np.maximum(degree, 1))) + 1, 0).astype(np.int64)
    return GraphProfile(
        graph.name,
        graph.n_entities,
        graph.n_relations,
        graph.n_facts,
        _precisions(times, graph.opaque_times),
        tuple(np.bincount(doublings, minlength=1).tolist()),
        _timeline(times[times != UNKNOWN], graph.opaque_times),
    )


def _precisions(times: Ints, opaque: bool) -> dict[str, int]:
    unknown = int((times == UNKNOWN).sum())
    if opaque:
        return {"id": len(times) - unknown, "none": unknown}
    known = precision_of(times)
    return {**{each.name.lower(): int((known == each).sum()) for each in reversed(Precision)}, "none": unknown}


def _timeline(times: Ints, opaque: bool) -> Timeline | None:
    if not len(times):
        return None
    years = times.astype(np.int64) if opaque else times.astype(np.int64) // _YEAR
    low, high = (int(np.quantile(years, share, method="nearest")) for share in (_TAIL, 1 - _TAIL))
    width = -(-(high - low + 1) // MOST_BINS)
    n_bins = -(-(high - low + 1) // width)
    place = ((years - low) // width).clip(0, n_bins - 1)
    return Timeline(low, width, tuple(np.bincount(place, minlength=n_bins).tolist()))
