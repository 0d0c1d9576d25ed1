"""A pair as a reviewer sees it: the facts of both entities, which of them match, their timeline, other candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from markupsafe import Markup

from dualmatch.charts.markup import el, visible
from dualmatch.charts.svg import Axis, tick
from dualmatch.decode.shortlist import ordered
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.explain.explain import fact_of, shared_in_words, sides_of_entity, time_rows
from dualmatch.explain.explanation import Fact, SharedFact
from dualmatch.graph.arrays import Ids
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.shown_name import ShownName
from dualmatch.graph.times import UNKNOWN, encode_date
from dualmatch.methods.evidence.pair_evidence import Balance, PairEvidence

_YEAR, _MONTH = encode_date(1), encode_date(0, 1)
MOST_FACTS: Final = 30
"""Facts of an entity that are shown; hubs have thousands."""
MOST_REASONS: Final = 12
"""Matching facts that are shown; the others add little each."""
MOST_CANDIDATES: Final = 6
_WIDTH, _LABEL, _RIGHT = 720, 190, 12
_LANE, _GAP, _TOP = 18, 34, 8
_MOST_LANES: Final = 12
_MOST_LETTERS: Final = 25


@dataclass(frozen=True)
class ShownFact:
    """A fact of one of the two entities.

    `span`: when it holds, in years and parts of them (ids where times have no calendar); None where nothing is known.
    """

    fact: Fact
    span: tuple[float, float] | None
    match: int | None  # the number of the matching facts it is one of, from 1; None where nothing matches it


@dataclass(frozen=True)
class CandidateLine:
    """A candidate of the source entity."""

    row: int
    name: ShownName
    probability: float


@dataclass(frozen=True, eq=False)
class PairView:
    """What a reviewer sees of a source entity and a target entity, or of a source entity alone.

    `reasons`: matching facts with what each adds to the log-odds, the weightiest first; `left` and `right` refer to
    them by number. `log_odds`: the sum of all of these; None where reasons, and with them matching facts, are not
    prepared yet. `more_left`, `more_right`, `more_reasons`: how many are left out.
    """

    source: int
    target: int | None
    left: tuple[ShownFact, ...]
    right: tuple[ShownFact, ...]
    more_left: int
    more_right: int
    reasons: tuple[SharedFact, ...] = ()
    more_reasons: int = 0
    rest: float = 0.0  # what the matching facts add that are not shown
    balance: Balance = field(default_factory=Balance)  # what counts besides matching facts
    log_odds: float | None = None

    @property
    def span(self) -> tuple[float, float] | None:
        """The stretch of time that holds all that is shown."""
        spans = [each.span for each in (*self.left, *self.right) if each.span is not None]
        return (min(low for low, _ in spans), max(high for _, high in spans)) if spans else None


def candidates_of(basis: ExplanationBasis, source: int) -> list[CandidateLine]:
    """The likeliest targets of a source entity, the best first."""
    listed = ordered(basis.candidates[[source]], basis.target_ranks)
    return [
        CandidateLine(row, basis.target.shown(row), min(1.0, value))
        for row, value in zip(listed.column.tolist(), listed.value.tolist(), strict=True)
    ][:MOST_CANDIDATES]


def pair_view(basis: ExplanationBasis, source: int, target: int | None) -> PairView:
    """Set two entities side by side."""
    if target is None:
        return replace(bare_view(basis, source, None), log_odds=0.0)
    (evidence,) = basis.evidence(np.array([[source, target]]))
    first = evidence.first(MOST_REASONS)
    return replace(
        bare_view(basis, source, target, first),
        reasons=shared_in_words(basis, first),
        more_reasons=len(evidence.weight) - len(first.weight),
        rest=float(evidence.weight[MOST_REASONS:].sum()),
        balance=evidence.balance,
        log_odds=evidence.log_odds,
    )


def bare_view(basis: ExplanationBasis, source: int, target: int | None, shared: PairEvidence | None = None) -> PairView:
    """Two entities side by side, without reasons; facts that match are known only where `shared` is given."""
    left_all = sides_of_entity(basis.source, source)
    right_all = np.zeros(0, np.int64) if target is None else sides_of_entity(basis.target, target)
    for_it = None if shared is None else shared.weight >= 0  # dates that contradict each other do not match
    left = _shown(basis.source, left_all, [] if shared is None else shared.source_side[for_it].tolist())
    right = _shown(basis.target, right_all, [] if shared is None else shared.target_side[for_it].tolist())
    return PairView(source, target, left, right, len(left_all) - len(left), len(right_all) - len(right))


def _shown(graph: TemporalGraph, sides: Ids, matched: list[int]) -> tuple[ShownFact, ...]:
    """Matching facts first, by weight; then the others, dated ones first, by time."""
    number = {side: place for place, side in reversed(list(enumerate(matched, start=1)))}
    others = sides[~np.isin(sides, matched)]
    begin, end = (times[time_rows(graph, others)].astype(np.int64) for times in graph.times)
    time = np.where(begin != UNKNOWN, begin, end)
    in_order = others[np.argsort(np.where(time == UNKNOWN, np.iinfo(np.int64).max, time), kind="stable")]
    chosen = [*number, *in_order[:MOST_FACTS].tolist()][:MOST_FACTS]
    return tuple(
        ShownFact(fact_of(graph, side), _span(graph, side), number.get(side))
        for side in sorted(chosen, key=lambda side: number.get(side, MOST_FACTS + 1))
    )


def _span(graph: TemporalGraph, side: int) -> tuple[float, float] | None:
    begin, end = (int(times[time_rows(graph, np.array([side]))[0]]) for times in graph.times)
    if begin == end == UNKNOWN:
        return None
    low = _place(begin if begin != UNKNOWN else end, graph.opaque_times)[0]
    high = _place(end if end != UNKNOWN else begin, graph.opaque_times)[1]
    return (low, high) if low <= high else (high, low)


def _place(code: int, opaque: bool) -> tuple[float, float]:
    """Where a date lies, in years: from where it may begin to where it may end.

    >>> from dualmatch.graph.times import parse_date
    >>> _place(parse_date("1833"), False), _place(parse_date("1833-07"), False)
    ((1833.0, 1834.0), (1833.5, 1833.583))
    """
    if opaque:
        return float(code), float(code)
    year, rest = divmod(code, _YEAR)
    month, day = divmod(rest, _MONTH)
    start = year + max(0, month - 1) / 12 + max(0, day - 1) / 372
    length = 1 / 372 if day else 1 / 12 if month else 1.0
    return round(start, 3), round(start + length, 3)


def timeline(view: PairView) -> Markup | None:
    """Facts of both entities over the same years, matching ones joined; None where no fact that is shown has a time."""
    if view.span is None:
        return None
    low, high = view.span
    margin = max((high - low) * 0.02, 0.5)
    x = Axis(low - margin, high + margin, _LABEL, _WIDTH - _RIGHT)
    left, right = ([fact for fact in facts if fact.span][:_MOST_LANES] for facts in (view.left, view.right))
    middle = _TOP + len(left) * _LANE
    height = middle + _GAP + len(right) * _LANE + _TOP
    above = [(fact, _TOP + (at + 0.5) * _LANE) for at, fact in enumerate(left)]
    below = [(fact, middle + _GAP + (at + 0.5) * _LANE) for at, fact in enumerate(right)]
    drawn = [
        *_years(x, middle),
        *_joins(above, below, x),
        *(_lane(fact, y, x, "source") for fact, y in above),
        *(_lane(fact, y, x, "target") for fact, y in below),
    ]
    words = f"Facts of the source (above) and of the target (below), {low:.0f} to {high:.0f}; matching ones are joined"
    svg = el("svg", el("title", words), *drawn, viewBox=f"0 0 {_WIDTH} {height}", role="img")
    return el("figure", svg, el("figcaption", words), class_="timeline", tabindex="0")


def _years(x: Axis, middle: int) -> list[Markup]:
    marks = []
    for at in x.ticks(7):
        if at == int(at):
            marks.append(el("line", class_="grid", x1=x(at), x2=x(at), y1=middle + 6, y2=middle + _GAP - 6))
            marks.append(tick(f"{at:g}", x(at), middle + _GAP / 2 + 4))
    return marks


def _lane(shown: ShownFact, y: float, x: Axis, side: str) -> Markup:
    low, high = shown.span or (0.0, 0.0)
    number = "" if shown.match is None else f"{shown.match}. "
    return el(
        "g",
        el("title", visible(f"{number}{shown.fact}", 300)),
        tick(_short(f"{number}{shown.fact.shown_relation.text}"), _LABEL - 8, y + 4, "end"),
        el("rect", x=x(low), y=y - 5, width=max(4.0, round(x(high) - x(low), 2)), height=10, rx=3),
        class_=f"fact {side}" + (" matching" if number else ""),
    )


def _short(label: str) -> str:
    """As much of a label as there is room for; hovering shows the whole, as does the list of facts.

    >>> _short("1. member of political party")
    '1. member of political p…'
    """
    return visible(label if len(label) <= _MOST_LETTERS else f"{label[: _MOST_LETTERS - 1]}…")[: 2 * _MOST_LETTERS]


def _joins(above: Sequence[tuple[ShownFact, float]], below: Sequence[tuple[ShownFact, float]], x: Axis) -> list[Markup]:
    """A line between the middles of facts that match."""
    ends = {fact.match: (x(sum(fact.span or ()) / 2), y) for fact, y in below if fact.match is not None}
    joins = []
    for fact, y1 in above:
        if fact.match in ends:
            x1, (x2, y2) = x(sum(fact.span or ()) / 2), ends[fact.match]
            bend = (y1 + y2) / 2
            joins.append(el("path", class_="join", d=f"M{x1},{y1} C{x1},{bend} {x2},{bend} {x2},{y2}"))
    return joins
