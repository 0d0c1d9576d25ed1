"""The shared timeline: facts of both entities over the same years, matching ones joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dualmatch.charts.markup import Html, el, joined, visible
from dualmatch.charts.svg import Axis
from dualmatch.review.pair import PairView, ShownFact

_WIDTH, _LABEL, _RIGHT = 720, 190, 12
_LANE, _GAP, _TOP = 18, 34, 8
_MOST_LANES: Final = 12
_MOST_LETTERS: Final = 25


def timeline(view: PairView) -> Html | None:
    """None where no fact that is shown has a time."""
    if view.span is None:
        return None
    left, right = (_dated(facts) for facts in (view.left, view.right))
    low, high = view.span
    margin = max((high - low) * 0.02, 0.5)
    x = Axis(low - margin, high + margin, _LABEL, _WIDTH - _RIGHT)
    middle = _TOP + len(left) * _LANE
    height = middle + _GAP + len(right) * _LANE + _TOP
    lanes = [
        {id(fact): _TOP + (at + 0.5) * _LANE for at, fact in enumerate(left)},
        {id(fact): middle + _GAP + (at + 0.5) * _LANE for at, fact in enumerate(right)},
    ]
    drawn = [
        *_joins(left, right, lanes, x),
        *(_lane(fact, lanes[0][id(fact)], x, "source") for fact in left),
        *(_lane(fact, lanes[1][id(fact)], x, "target") for fact in right),
    ]
    words = f"Facts of the source (above) and of the target (below), {low:.0f} to {high:.0f}; matching ones are joined"
    svg = el("svg", el("title", words), _years(x, middle), *drawn, viewBox=f"0 0 {_WIDTH} {height}", role="img")
    return el("figure", svg, el("figcaption", words), class_="timeline", tabindex="0")


def _dated(facts: Sequence[ShownFact]) -> list[ShownFact]:
    return [fact for fact in facts if fact.span is not None][:_MOST_LANES]


def _years(x: Axis, middle: int) -> Html:
    marks = [
        joined(
            el("line", class_="grid", x1=x(at), x2=x(at), y1=middle + 6, y2=middle + _GAP - 6),
            el("text", f"{at:g}", class_="tick", x=x(at), y=middle + _GAP / 2 + 4, text_anchor="middle"),
        )
        for at in x.ticks(7)
        if at == int(at)
    ]
    return joined(*marks)


def _lane(fact: ShownFact, y: float, x: Axis, side: str) -> Html:
    low, high = fact.span or (0.0, 0.0)
    number = "" if fact.match is None else f"{fact.match}. "
    kind = f"fact {side}" + (" matching" if fact.match is not None else "")
    return el(
        "g",
        el("title", visible(f"{number}{fact.fact}", 300)),
        el(
            "text",
            _short(f"{number}{fact.fact.relation}"),
            class_="tick",
            x=_LABEL - 8,
            y=y + 4,
            text_anchor="end",
        ),
        el("rect", x=x(low), y=y - 5, width=max(4.0, round(x(high) - x(low), 2)), height=10, rx=3),
        class_=kind,
    )


def _short(label: str) -> str:
    """As much of a label as there is room for; the whole is told on hovering, and in the list of facts.

    >>> _short("1. member of political party")
    '1. member of political p…'
    """
    return visible(label if len(label) <= _MOST_LETTERS else f"{label[: _MOST_LETTERS - 1]}…")[: 2 * _MOST_LETTERS]


def _joins(
    left: Sequence[ShownFact], right: Sequence[ShownFact], lanes: Sequence[dict[int, float]], x: Axis
) -> list[Html]:
    """A line between the middles of facts that match."""
    there = {fact.match: fact for fact in right if fact.match is not None}
    joins = []
    for fact in left:
        other = there.get(fact.match) if fact.match is not None else None
        if other is not None and fact.span is not None and other.span is not None:
            (x1, y1), (x2, y2) = (
                (x(sum(each.span or (0.0, 0.0)) / 2), lanes[side][id(each)]) for side, each in enumerate((fact, other))
            )
            bend = (y1 + y2) / 2
            joins.append(el("path", class_="join", d=f"M{x1},{y1} C{x1},{bend} {x2},{bend} {x2},{y2}"))
    return joins
