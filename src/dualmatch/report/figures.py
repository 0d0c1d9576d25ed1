"""Figures and charts of the report's sections; the words around them are in ``templates/sections.html``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from dualmatch.charts.chart import Chart
from dualmatch.charts.distributions import STYLES, Years, times_chart, verdict_shares
from dualmatch.charts.markup import Child, el, joined, name_of, percent, signed, visible
from dualmatch.charts.svg import Bars, Line, bars, lines, weight_bar
from dualmatch.decode.verdicts import Unlinked, Verdict
from dualmatch.errors import counted
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.explain.explain import explain_entity
from dualmatch.explain.explanation import Candidate, Explanation
from dualmatch.graph.arrays import Floats, Ids
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.profile import GraphProfile
from dualmatch.graph.shown_name import shown_name
from dualmatch.methods.summary import REASONS, reasons_of
from dualmatch.report.findings import Findings

Graphs = tuple[GraphProfile, GraphProfile]
Rows = Sequence[Sequence[Child]]
"""Cells of a table; the template writes whole numbers with separators."""

_SIDES: Final = ("source", "target")
_PRECISION: Final = {
    "day": "to the day",
    "month": "to the month",
    "year": "to the year",
    "none": "no time",
    "id": "a bare id",
}
_SIMILAR: Final = 1.25  # counts of graphs whose sizes differ by a larger factor are compared as shares
_THRESHOLDS: Final = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
_MEDIUM: Final = (0.6, 0.9)  # confidence from here up to there; less is low
_EXAMPLES: Final = 3
_POOL: Final = 60
_FACTS: Final = 5


def graph_rows(graphs: Graphs) -> Rows:
    """Counts of both graphs."""
    return [
        (side, name_of(graph.name), graph.entities, graph.relations, graph.facts, percent(_dated(graph)))
        for side, graph in zip(_SIDES, graphs, strict=True)
    ]


def _dated(graph: GraphProfile) -> float | None:
    return 1 - graph.precision.get("none", 0) / graph.facts if graph.facts else None


def timeline(graphs: Graphs) -> Chart | None:
    """When facts begin, both graphs over the same years; None where no fact has a time."""
    dated = [(side, each.timeline) for side, each in zip(_SIDES, graphs, strict=True) if each.timeline is not None]
    if not dated:
        return None
    unit = "time id" if any("id" in each.precision for each in graphs) else "year"
    return times_chart([Years(side, line.first, line.width, line.counts) for side, line in dated], unit)


def precision_rows(graphs: Graphs) -> Rows:
    """How many facts are dated how exactly."""
    rows = []
    for kind, words in _PRECISION.items():
        if any(each.precision.get(kind) for each in graphs):
            counts = [(each.precision.get(kind, 0), each.facts) for each in graphs]
            rows.append((words, *(f"{count:,} ({percent(count / of if of else 0.0)})" for count, of in counts)))
    return rows


def degrees(graphs: Graphs) -> Chart:
    """How many entities have how many facts: as shares where one graph is much larger."""
    longest = max(len(each.degrees) for each in graphs)
    labels = ["0", "1", *(f"{2**power}–{2 ** (power + 1) - 1}" for power in range(1, longest))][:longest]
    sizes = [max(1, each.entities) for each in graphs]
    as_shares = max(sizes) > _SIMILAR * min(sizes)
    drawn = [
        Bars(
            side, [n / (size if as_shares else 1) for n in (*each.degrees, *[0] * (longest - len(each.degrees)))], style
        )
        for side, style, each, size in zip(_SIDES, STYLES, graphs, sizes, strict=True)
    ]
    whose = "Share of each graph's entities" if as_shares else "Entities"
    return bars(labels, drawn, f"{whose} by how many facts they have", x_label="facts", percent=as_shares)


def verdict_chart(findings: Findings) -> Chart:
    """How many source entities got which verdict."""
    return verdict_shares(len(findings.links), len(findings.undecided), len(findings.no_matches))


def reason_rows(none: Unlinked) -> Rows:
    """Why source entities are in no link."""
    return [
        (verdict, REASONS[reason], count)
        for verdict in (Verdict.UNDECIDED, Verdict.NO_MATCH)
        for reason, count in reasons_of(none, verdict is Verdict.NO_MATCH).items()
    ]


def threshold_rows(findings: Findings) -> Rows:
    """What is kept, and how much of it to expect wrong, from each confidence on; with gold, how much is wrong."""
    found, true = findings.found, findings.gold and set(findings.gold)
    wrong = np.array([link not in true for link in findings.found_links]) if true else None
    rows: list[Sequence[Child]] = []
    for threshold in _THRESHOLDS:
        kept = found >= threshold
        count = int(kept.sum())
        if not count or (rows and rows[-1][1] == count):  # a threshold that leaves nothing out is no choice
            continue
        expected = float((1 - found[kept]).sum())
        row: list[Child] = [
            f"{threshold:g}" if threshold else "all",
            count,
            f"{expected:,.1f}",
            percent(1 - expected / count, 2),
        ]
        rows.append(row if wrong is None else [*row, int(wrong[kept].sum())])
    return rows


def round_rows(rounds: Sequence[Mapping[str, Any]]) -> Rows:
    """What each round did; records of earlier versions have more fields, which are ignored."""
    return [
        (
            str(each["number"]),
            "all entities" if each["whole"] else "open entities",
            *(f"{each[name]:,}" for name in ("tokens", "candidates", "pairs", "changed")),
            percent(each["without_partner"], 0),
            f"{each['seconds']:.2f}",
        )
        for each in rounds
    ]


def distances_chart(tried: Mapping[str, float]) -> Chart:
    """D of every weight tried: over α where there is one weight, else one bar for each combination."""
    try:
        points = sorted((float(key), value) for key, value in tried.items())
    except ValueError:
        return bars([*tried], [Bars("D", [*tried.values()])], "D of the weights tried", x_label="weights")
    return lines([Line("D", points, dots=True)], "D of every α tried", x_label="α")


def relation_rows(relations: Sequence[Mapping[str, Any]]) -> Rows:
    """Relations that mean the same, the best supported first."""
    ordered = sorted(relations, key=lambda row: (-row["support"], -row["score"], row["source"], row["target"]))
    return [
        (
            shown_name(row["source"]).html(),
            shown_name(row["target"]).html(),
            row["direction"],
            f"{row['score']:.3f}",
            f"{row['support']:,}",
        )
        for row in ordered
    ]


def examples_of(findings: Findings) -> dict[str, list[Explanation]]:
    """A few explained entities of each kind: links at high, medium and low confidence, and those in no link."""
    basis = findings.basis
    if basis is None:
        return {}
    rows = np.array([basis.source.entity_rows[source] for source, _ in findings.links], dtype=np.int64)
    few = max(_EXAMPLES, min(_POOL, len(findings.found) // 3))  # of so many, the most different are shown
    kinds = {
        **{title: rows[~findings.is_seed][at[:few]] for title, at in _by_confidence(findings.found)},
        "Undecided": _nearly_linked(basis, Verdict.UNDECIDED),
        "No match": _nearly_linked(basis, Verdict.NO_MATCH),
    }
    shown: dict[str, list[Explanation]] = {}
    seen: set[int] = set()
    for title, pool in kinds.items():
        chosen = _varied(basis.source, [row for row in pool.tolist() if row not in seen])
        seen.update(chosen)
        if chosen:
            shown[title] = [explain_entity(basis, basis.source.entities[row]) for row in chosen]
    return shown


def _by_confidence(found: Floats) -> Iterator[tuple[str, Ids]]:
    """Links at high, medium and low confidence under a title; where there are none, those that come nearest."""
    low, high = _MEDIUM
    for name, words, inside, centre in (
        ("High", f"{high} and above", found >= high, 1.0),
        ("Medium", f"{low} to {high}", (found >= low) & (found < high), (low + high) / 2),
        ("Low", f"below {low}", found < low, 0.0),
    ):
        nearest = np.argsort(np.abs(found - centre), kind="stable")
        if inside.any():
            yield f"{name} confidence ({words})", nearest[inside[nearest]]
        else:
            yield f"{name} confidence ({words}: none, so the nearest)", nearest[: 2 * _EXAMPLES]


def _nearly_linked(basis: ExplanationBasis, verdict: Verdict) -> NDArray[np.int64]:
    """Entities of a verdict whose best candidates are the likeliest."""
    none = basis.unlinked
    chosen = np.flatnonzero(none.is_no_match == (verdict is Verdict.NO_MATCH))
    return none.row[chosen[np.argsort(-none.probability[chosen], kind="stable")[:_POOL]]].astype(np.int64)


def _varied(graph: TemporalGraph, pool: Sequence[int]) -> list[int]:
    """One that can be taken in at a glance, then those that have least in common with it: relations and neighbours."""
    about = {row: _surroundings(graph, row) for row in pool}
    chosen = [next((row for row in pool if len(about[row][1]) <= _FACTS), pool[0])] if pool else []
    while len(chosen) < min(_EXAMPLES, len(pool)):
        rest = [row for row in pool if row not in chosen]
        chosen.append(min(rest, key=lambda row: max([0.0, *(_overlap(about[row], about[other]) for other in chosen)])))
    return chosen


def _surroundings(graph: TemporalGraph, row: int) -> tuple[set[int], set[int]]:
    """Relations of an entity, by its end of the fact, and its neighbours."""
    out, into = np.flatnonzero(graph.head == row), np.flatnonzero(graph.tail == row)
    relations = {*graph.relation[out].tolist(), *(-1 - graph.relation[into]).tolist()}
    return relations, {*graph.tail[out].tolist(), *graph.head[into].tolist()}


def _overlap(one: tuple[set[int], set[int]], other: tuple[set[int], set[int]]) -> float:
    return sum(len(a & b) / max(1, len(a | b)) for a, b in zip(one, other, strict=True))


def log_odds_rows(of: Explanation | Candidate) -> Rows:
    """What adds up to the log-odds: shared facts, and what else counts."""
    parts = [(el("bdi", visible(str(fact), 400)), fact.weight) for fact in of.shared[:_FACTS]]
    if rest := of.shared[_FACTS:]:
        parts.append((el("i", counted(len(rest), "more shared fact")), sum(fact.weight for fact in rest)))
    if not parts:
        parts.append((el("i", "no shared fact"), 0.0))
    parts += [(el("i", words), value) for words, value in of.balance.in_words()]
    most = max(abs(value) for _, value in (*parts, ("", of.log_odds)))
    rows = [(words, _weight(value, most, "span")) for words, value in parts]
    return [*rows, (el("b", "together"), _weight(of.log_odds, most, "b"))]


def _weight(value: float, most: float, tag: str) -> Markup:
    return joined(weight_bar(value, most), " ", el(tag, signed(value)))
