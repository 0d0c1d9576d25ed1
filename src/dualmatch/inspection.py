"""Look before you align: what was understood of a graph, and what looks wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.errors import counted
from dualmatch.graph.matrices import shared_intervals
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, Precision, encode_date, format_date, precision_of
from dualmatch.methods.validation import known_years

SHOWN_RELATIONS: Final = 10
MANY: Final = 0.5
"""From this share on, one date, relation or entity among all facts looks like a mistake."""

_FEW: Final = 20


@dataclass(frozen=True)
class RelationCount:
    """How often a relation occurs, in facts or as a date of an entity, and how often with a time."""

    name: str
    facts: int
    dated_facts: int


@dataclass(frozen=True)
class GraphInspection:
    """What was understood of a graph."""

    name: str
    facts: int
    entity_dates: int  # dates of single entities, beside the facts
    dated_entities: int  # entities with such a date
    entities: int
    relations: int
    isolated_entities: int
    repeated_facts: int
    dated_share: float
    half_dated_share: float
    points_share: float
    precision: dict[str, float]  # share of known begins and ends that are days, months, years; empty without a calendar
    first_time: str | None
    last_time: str | None
    distinct_times: int
    degree: dict[
        str, float
    ]  # facts and dates of its own that an entity has: the median, the 90th percentile and the most
    most_frequent_relations: tuple[RelationCount, ...]
    suspicious: tuple[str, ...]  # what looks like a mistake, in words


@dataclass(frozen=True)
class TimeOverlap:
    """How far the times of two graphs overlap."""

    first: str | None  # the years both graphs span; None where their spans do not meet
    last: str | None
    source_share: float  # of the source's dated facts whose exact interval the target has too
    target_share: float
    year_share: float  # of the source's known years that the target has too: the overlap apart from precision


def inspect_graph(graph: TemporalGraph) -> GraphInspection:
    """Describe a graph and say what looks wrong.

    Examples
    --------
    >>> inspect_graph(TemporalGraph.from_facts([("Ada", "met", "Charles", "1833")])).precision
    {'day': 0.0, 'month': 0.0, 'year': 1.0}
    """
    statistics = graph.statistics
    facts = max(graph.n_facts, 1)
    degrees = np.bincount(np.concatenate([graph.head, graph.tail, graph.dates.entity]), minlength=graph.n_entities)
    in_facts = degrees[degrees > 0] if degrees.any() else np.zeros(1)
    show = str if graph.opaque_times else format_date
    return GraphInspection(
        name=graph.name,
        facts=graph.n_facts,
        entity_dates=len(graph.dates),
        dated_entities=len(np.unique(graph.dates.entity)),
        entities=graph.n_entities,
        relations=graph.n_relations,
        isolated_entities=statistics.isolated_entities,
        repeated_facts=statistics.repeated_facts,
        dated_share=statistics.dated_facts / facts,
        half_dated_share=statistics.half_dated_facts / facts,
        points_share=float(((graph.begin != UNKNOWN) & (graph.begin == graph.end)).sum() / facts),
        precision={} if graph.opaque_times else _precision_shares(graph),
        first_time=show(statistics.first_time) if statistics.distinct_times else None,
        last_time=show(statistics.last_time) if statistics.distinct_times else None,
        distinct_times=statistics.distinct_times,
        degree={
            "median": float(np.median(in_facts)),
            "p90": float(np.percentile(in_facts, 90)),
            "most": float(in_facts.max()),
        },
        most_frequent_relations=_frequent_relations(graph),
        suspicious=tuple(_suspicions(graph, degrees)),
    )


def time_overlap(source: TemporalGraph, target: TemporalGraph) -> TimeOverlap:
    """How far the times of two graphs overlap; equal ids are equal times where neither has a calendar."""
    years = [known_years(graph) for graph in (source, target)]
    common = np.intersect1d(years[0], years[1])
    shared = shared_intervals(source, target)
    shares = [
        float(np.isin(mine[mine >= 0], other).mean()) if (mine >= 0).any() else 0.0
        for mine, other in ((shared.source, shared.target), (shared.target, shared.source))
    ]
    first = max((int(each[0]) for each in years if len(each)), default=0)
    last = min((int(each[-1]) for each in years if len(each)), default=0)
    meets = all(len(each) for each in years) and first <= last
    show = str if source.opaque_times else format_date
    return TimeOverlap(
        first=show(first) if meets else None,
        last=show(last) if meets else None,
        source_share=shares[0],
        target_share=shares[1],
        year_share=len(common) / len(years[0]) if len(years[0]) else 0.0,
    )


def _precision_shares(graph: TemporalGraph) -> dict[str, float]:
    precision = precision_of(np.concatenate(graph.times))
    known = max(int((precision >= 0).sum()), 1)
    return {level.name.lower(): float((precision == level).sum() / known) for level in reversed(Precision)}


def _frequent_relations(graph: TemporalGraph) -> tuple[RelationCount, ...]:
    relation, (begin, end) = np.append(graph.relation, graph.dates.relation), graph.times
    counts = np.bincount(relation, minlength=graph.n_relations)
    dated = relation[(begin != UNKNOWN) | (end != UNKNOWN)]
    dated_counts = np.bincount(dated, minlength=graph.n_relations)
    most = np.argsort(-counts, kind="stable")[:SHOWN_RELATIONS]
    most = most[counts[most] > 0]  # a benchmark folder may list relations that no fact has
    return tuple(RelationCount(graph.relations[row], int(counts[row]), int(dated_counts[row])) for row in most)


def _suspicions(graph: TemporalGraph, degrees: NDArray[np.intp]) -> Iterator[str]:
    """What looks like a mistake in the data or in how it was read."""
    facts = graph.n_facts + len(graph.dates)
    if facts < _FEW:
        return
    if not graph.has_times:
        yield "no fact has a time: were the time columns or predicates found?"
    elif not graph.opaque_times:
        yield from _odd_dates(graph)
    relation_counts = np.bincount(np.append(graph.relation, graph.dates.relation), minlength=graph.n_relations)
    if graph.n_relations > 1 and relation_counts.max() >= 0.9 * facts:
        share = relation_counts.max() / facts
        yield f"{share:.0%} of the facts have the relation {_most(graph.relations, relation_counts)}"
    if degrees.max() >= MANY * facts:
        yield f"{degrees.max() / facts:.0%} of the facts are about {_most(graph.entities, degrees)}: a placeholder?"
    if graph.statistics.repeated_facts >= MANY * facts:
        yield f"{graph.statistics.repeated_facts / facts:.0%} of the facts repeat another"
    padded = sum(name != name.strip() for name in graph.entities)
    if padded:
        yield f"{counted(padded, 'entity name has', 'entity names have')} a space at an end: no name without it matches"


def _odd_dates(graph: TemporalGraph) -> Iterator[str]:
    for words, codes in zip(("begin", "end"), graph.times, strict=True):
        known = codes[codes != UNKNOWN]
        if len(known) < _FEW:
            continue
        values, counts = np.unique(known, return_counts=True)
        if counts.max() >= MANY * len(known):
            date, share = format_date(int(values[counts.argmax()])), counts.max() / len(known)
            yield f"{share:.0%} of the {words}s are {date}: a placeholder?"
        days = known[precision_of(known) == Precision.DAY]
        january = days % encode_date(1) == encode_date(0, 1, 1)
        if len(days) >= _FEW and january.mean() >= MANY:
            yield f"{january.mean():.0%} of the {words}s given to the day are a first of January: years, really?"
        far = known >= encode_date(2100)
        if far.any():
            latest = format_date(int(known.max()))
            yield f"{far.sum():,} {words}s are after 2100, such as {latest}: do they mean an open end?"


def _most(names: tuple[str, ...], counts: NDArray[np.intp]) -> str:
    return repr(names[int(counts.argmax())])
