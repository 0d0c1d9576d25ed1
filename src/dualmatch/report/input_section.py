"""What went in: both graphs at a glance."""

from __future__ import annotations

from dualmatch.charts.markup import Html, el, joined, name_of
from dualmatch.charts.svg import bars, steps
from dualmatch.charts.tables import percent, table
from dualmatch.graph.profile import GraphProfile
from dualmatch.report.findings import Findings

_PRECISION = {"day": "to the day", "month": "to the month", "year": "to the year", "none": "no time", "id": "a bare id"}


def went_in(findings: Findings) -> Html:
    """Counts, a timeline of both graphs over the same years, precision and degrees."""
    graphs = findings.graphs
    if graphs is None:
        return el("p", "Nothing is kept of the graphs beside these links; align again to see them here.")
    sides = tuple(zip(("source", "target"), graphs, strict=True))
    counts = table(
        ("", "", "entities", "relations", "facts", "dated"),
        [
            (
                side,
                name_of(graph.name),
                f"{graph.entities:,}",
                f"{graph.relations:,}",
                f"{graph.facts:,}",
                percent(1 - graph.precision["none"] / graph.facts if graph.facts else None),
            )
            for side, graph in sides
        ],
        left=2,
    )
    return joined(counts, _timelines(graphs), _precision(graphs), *(_degrees(side, graph) for side, graph in sides))


def _timelines(graphs: tuple[GraphProfile, GraphProfile]) -> Html:
    dated = [(side, each.timeline) for side, each in zip(("source", "target"), graphs, strict=True) if each.timeline]
    if not dated:
        return el("p", "No fact of either graph has a time.")
    low = min(line.first for _, line in dated)
    high = max(line.first + line.width * len(line.counts) for _, line in dated)
    charts = [
        steps(line.first, line.width, line.counts, (low, high), f"When the facts of the {side} begin")
        for side, line in dated
    ]
    return joined(el("h3", "Timeline of facts"), *charts)


def _precision(graphs: tuple[GraphProfile, GraphProfile]) -> Html:
    kinds = [kind for kind in _PRECISION if any(kind in each.precision for each in graphs)]
    rows = [(_PRECISION[kind], *(_facts(each.precision.get(kind, 0), each.facts) for each in graphs)) for kind in kinds]
    return joined(el("h3", "How exactly times are known"), table(("facts dated", "source", "target"), rows))


def _facts(count: int, of: int) -> str:
    return f"{count:,} ({percent(count / of if of else 0.0)})"


def _degrees(side: str, graph: GraphProfile) -> Html:
    labels = ["0", "1", *(f"{2**power}–{2 ** (power + 1) - 1}" for power in range(1, len(graph.degrees)))]
    return bars(labels[: len(graph.degrees)], graph.degrees, f"Facts an entity of the {side} has", "facts")
