"""Facts of a graph by name, as users write them."""

from __future__ import annotations

from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import format_date

Fact = tuple[str, str, str, str, str]


def facts_of(graph: TemporalGraph) -> list[Fact]:
    columns = (graph.head, graph.relation, graph.tail, graph.begin, graph.end)
    return sorted(
        (graph.entities[h], graph.relations[r], graph.entities[t], format_date(b), format_date(e))
        for h, r, t, b, e in zip(*(column.tolist() for column in columns), strict=True)
    )


def dates_of(graph: TemporalGraph) -> list[tuple[str, str, str, str]]:
    dates = graph.dates
    columns = (dates.entity, dates.relation, dates.begin, dates.end)
    return sorted(
        (graph.entities[e], graph.relations[r], format_date(b), format_date(z))
        for e, r, b, z in zip(*(column.tolist() for column in columns), strict=True)
    )
