"""Figures and charts of the report's sections; the words around them are in ``templates/sections.html``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from dualmatch.charts.markup import Child, el, name_of, percent, visible
from dualmatch.charts.svg import Line, bars, lines, steps
from dualmatch.decode.verdicts import Reason, Unlinked, Verdict
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.explain.explain import explain_entity
from dualmatch.explain.explanation import Candidate, Explanation
from dualmatch.graph.profile import GraphProfile
from dualmatch.graph.shown_name import shown_name
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
_BINS: Final = 20
_REASONS: Final = {
    Reason.TIED: "several candidates are equally likely",
    Reason.TOO_LITTLE: "too little evidence",
    Reason.TAKEN: "its best candidate is linked to another",
    Reason.BELOW_ASKED: "its best candidate is below the threshold",
    Reason.NOTHING_SHARED: "nothing shared with any entity",
    Reason.NO_FACTS: "no facts",
    Reason.NO_PARTNER: "what it would share is not there",
    Reason.TOLD: "given as having none",
}
_THRESHOLDS: Final = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
_EXAMPLES: Final = 3
_FACTS: Final = 5


def graph_rows(graphs: Graphs) -> Rows:
    """Counts of both graphs."""
    return [
        (side, name_of(graph.name), graph.entities, graph.relations, graph.facts, percent(_dated(graph)))
        for side, graph in zip(_SIDES, graphs, strict=True)
    ]


def _dated(graph: GraphProfile) -> float | None:
    return 1 - graph.precision["none"] / graph.facts if graph.facts else None


def timelines(graphs: Graphs) -> list[Markup]:
    """When facts begin, over the same years for both graphs."""
    dated = [(side, each.timeline) for side, each in zip(_SIDES, graphs, strict=True) if each.timeline]
    low = min((line.first for _, line in dated), default=0)
    high = max((line.first + line.width * len(line.counts) for _, line in dated), default=0)
    return [
        steps(line.first, line.width, line.counts, (low, high), f"When the facts of the {side} begin")
        for side, line in dated
    ]


def precision_rows(graphs: Graphs) -> Rows:
    """How many facts are dated how exactly."""
    rows = []
    for kind, words in _PRECISION.items():
        if any(kind in each.precision for each in graphs):
            counts = [(each.precision.get(kind, 0), each.facts) for each in graphs]
            rows.append((words, *(f"{count:,} ({percent(count / of if of else 0.0)})" for count, of in counts)))
    return rows


def degrees(side: str, graph: GraphProfile) -> Markup:
    """How many entities have how many facts."""
    labels = ["0", "1", *(f"{2**power}–{2 ** (power + 1) - 1}" for power in range(1, len(graph.degrees)))]
    return bars(labels[: len(graph.degrees)], graph.degrees, f"Facts an entity of the {side} has", "facts")


def verdict_rows(findings: Findings) -> Rows:
    """How many source entities got which verdict."""
    links, seeds = len(findings.links), int(findings.is_seed.sum())
    entities = links + len(findings.unlinked)
    counts = {
        "linked": links,
        "– found": links - seeds,
        "– given as seeds": seeds,
        "undecided": len(findings.undecided),
        "no match": len(findings.no_matches),
    }
    return [(words, count, percent(count / entities if entities else None)) for words, count in counts.items()]


def reason_rows(none: Unlinked) -> Rows:
    """Why source entities are in no link."""
    rows = []
    for verdict, chosen in ((Verdict.UNDECIDED, ~none.is_no_match), (Verdict.NO_MATCH, none.is_no_match)):
        counts = np.bincount(none.reason[chosen], minlength=len(Reason)).tolist()
        rows += [(verdict, words, counts[reason]) for reason, words in _REASONS.items() if counts[reason]]
    return rows


def confidences(found: NDArray[np.float64]) -> Markup:
    """The distribution of confidence."""
    counts = np.histogram(found, bins=_BINS, range=(0.0, 1.0))[0]
    labels = [f"{place / _BINS:.2f}" for place in range(_BINS)]
    return bars(labels, counts.tolist(), "Links by confidence", "confidence from")


def thresholds(found: NDArray[np.float64]) -> tuple[Rows, Markup]:
    """The precision to expect of the links from a confidence on: a table, and a curve."""
    ordered = np.sort(found)[::-1]
    expected = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
    kept = [(threshold, int((ordered >= threshold).sum())) for threshold in _THRESHOLDS]
    rows = [(f"{threshold:g}", n, percent(float(expected[n - 1]), 2)) for threshold, n in kept if n]
    places = np.unique(np.linspace(0, len(ordered) - 1, 200).astype(int))
    # Every place stands for all links as sure as it: a threshold cannot separate equals.
    last = np.searchsorted(-ordered, -ordered[places], side="right") - 1
    curve = lines(
        [Line("estimated precision", [(float(ordered[at]), float(expected[at])) for at in last])],
        "Estimated precision of the links from a confidence on",
        x_label="confidence from",
        y_range=(min(0.9, float(expected[-1]) - 0.01), 1.0),
        percent=True,
    )
    return rows, curve


def rounds_chart(rounds: Sequence[Mapping[str, Any]]) -> Markup:
    """Pairs after each round, and how many of them changed."""
    return lines(
        [
            Line("pairs believed", [(each["number"], each["pairs"]) for each in rounds], "one", dots=True),
            Line("pairs changed", [(each["number"], each["changed"]) for each in rounds], "two", dots=True),
        ],
        "Pairs after each round, and how many of them changed",
        x_label="round",
        y_range=(0.0, 1.05 * max(1, *(max(each["pairs"], each["changed"]) for each in rounds))),
    )


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


def distances_chart(tried: Mapping[str, float]) -> Markup:
    """D of every weight tried: over α where there is one weight, else one bar for each combination."""
    try:
        points = sorted((float(key), value) for key, value in tried.items())
    except ValueError:
        return bars(list(tried), list(tried.values()), "D of the weights tried", "weights")
    return lines([Line("D", points, dots=True)], "D of every α tried", x_label="α")


def relation_rows(relations: Sequence[Mapping[str, Any]]) -> Rows:
    """Relations that say the same, the best supported first."""
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
    names = [source for source, _ in findings.links]
    order = np.flatnonzero(~findings.is_seed)[np.argsort(-findings.found, kind="stable")]
    middle = max(0, (len(order) - _EXAMPLES) // 2)
    doubtful = int(np.searchsorted(-findings.confidence[order], -0.75)) if len(order) else 0
    start = doubtful if _EXAMPLES <= doubtful < len(order) - 2 * _EXAMPLES else middle
    kinds = {
        "High confidence": [names[at] for at in order[:_EXAMPLES].tolist()],
        "Medium confidence": [names[at] for at in order[start : start + _EXAMPLES].tolist()],
        "Low confidence": [names[at] for at in order[::-1][:_EXAMPLES].tolist()],
        "Undecided": _nearly_linked(basis, Verdict.UNDECIDED),
        "No match": _nearly_linked(basis, Verdict.NO_MATCH),
    }
    return {
        title: [explain_entity(basis, name) for name in dict.fromkeys(chosen)]
        for title, chosen in kinds.items()
        if chosen
    }


def _nearly_linked(basis: ExplanationBasis, verdict: Verdict) -> list[str]:
    """Entities of a verdict whose best candidate is the likeliest."""
    none = basis.unlinked
    chosen = np.flatnonzero(none.is_no_match == (verdict is Verdict.NO_MATCH))
    first = chosen[np.argsort(-none.probability[chosen], kind="stable")[:_EXAMPLES]]
    return [basis.source.entities[row] for row in none.row[first].tolist()]


def log_odds_rows(of: Explanation | Candidate) -> Rows:
    """What adds up to the log-odds: shared facts, and what else counts."""
    parts = [(el("bdi", visible(str(fact), 400)), fact.weight) for fact in of.shared[:_FACTS]]
    if rest := of.shared[_FACTS:]:
        parts.append((el("i", f"{len(rest):,} more shared facts"), sum(fact.weight for fact in rest)))
    if not parts:
        parts.append((el("i", "no shared fact"), 0.0))
    parts += [(el("i", words), value) for words, value in of.balance.in_words()]
    rows = [(words, f"{value:+.2f}") for words, value in parts]
    return [*rows, (el("b", "together"), el("b", f"{of.log_odds:+.2f}"))]
