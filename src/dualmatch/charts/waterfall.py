"""A waterfall: a sum step by step, each a bar from where the last one ended. Colours are the page's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from markupsafe import Markup

from dualmatch.charts.markup import el
from dualmatch.charts.svg import Axis


def waterfall(steps: Sequence[float]) -> list[Markup]:
    """A bar for each step of a sum, and one for the sum: plain where it adds, hollow where it takes away.

    >>> [bar.count("minus") for bar in waterfall([3.0, -1.0])]
    [0, 1, 0]
    """
    sums = [0.0, *accumulate(steps)]
    x = Axis(min(sums), max(sums), 2.0, 98.0)
    return [_bar(x, start, end) for start, end in (*pairwise(sums), (0.0, sums[-1]))]


def _bar(x: Axis, start: float, end: float) -> Markup:
    left, right = sorted((x(start), x(end)))
    zero = el("line", class_="zero", x1=x(0.0), x2=x(0.0), y1=0, y2=14)
    kind, width = "plus" if end >= start else "minus", max(1.5, round(right - left, 2))
    bar = el("rect", class_=kind, x=left, y=3, width=width, height=8)
    return el("svg", zero, bar, viewBox="0 0 100 14", preserveAspectRatio="none", class_="step", aria_hidden="true")
