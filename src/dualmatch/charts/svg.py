"""Charts as inline SVG: bars, steps over years, lines. Colours and fonts come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from dualmatch.charts.markup import el, joined

WIDTH: Final = 640
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 10, 34
_TICKS: Final = 5
_CHARACTER: Final = 9.0  # about the width of one in a tick's label, on a narrow screen


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers laid over a stretch of pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        span = (self.high - self.low) or 1.0
        return round(self.start + (value - self.low) / span * (self.end - self.start), 2)

    def ticks(self, most: int = _TICKS) -> list[float]:
        """Round numbers along the axis.

        >>> Axis(0, 103, 0, 1).ticks()
        [0.0, 25.0, 50.0, 75.0, 100.0]
        """
        span = self.high - self.low
        if span <= 0 or not math.isfinite(span):
            return [self.low]
        rough = span / most
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(number * step, 10) for number in range(first, last + 1)]


@dataclass(frozen=True)
class Line:
    """Points joined in their order; `dots` marks each."""

    label: str
    points: Sequence[tuple[float, float]]
    style: str = "one"
    dots: bool = False


def bars(labels: Sequence[str], values: Sequence[float], title: str, x_label: str = "") -> Markup:
    """One bar a value, each with its label below and its number shown on hovering."""
    height = 200
    x, y = _across(0, len(values)), _up(0, max([*values, 1]), height)
    width = round(x(0.84) - x(0), 2)
    drawn = [
        _bar(f"{label}: {_number(value)}", x(place + 0.08), width, y, value)
        for place, (label, value) in enumerate(zip(labels, values, strict=True))
    ]
    widest = (max(map(len, labels), default=0) + 1) * _CHARACTER
    every = math.ceil(widest / (x(1) - x(0)))
    ticks = [tick(labels[place], x(place + 0.5), y.start + 15) for place in range(0, len(labels), every)]
    return _figure(title, height, _grid(y), *drawn, *ticks, _x_label(x_label, height))


def lines(
    series: Sequence[Line],
    title: str,
    *,
    x_label: str = "",
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    percent: bool = False,
) -> Markup:
    """Lines over one pair of axes, with a legend where there are several."""
    height = 240
    points = [point for line in series for point in line.points]
    x = _across(*(x_range or _range([at for at, _ in points])))
    y = _up(*(y_range or _range([value for _, value in points])), height)
    drawn = []
    for line in series:
        path = " ".join(f"{x(at)},{y(value)}" for at, value in line.points)
        drawn.append(el("polyline", class_=f"line {line.style}", points=path))
        for at, value in line.points if line.dots else ():
            words = el("title", f"{line.label} at {_number(at)}: {_number(value)}")
            drawn.append(el("circle", words, class_=f"dot {line.style}", cx=x(at), cy=y(value), r=3))
    ticks = [tick(_number(at), x(at), y.start + 15) for at in x.ticks()]
    chart = _figure(title, height, _grid(y, percent), *ticks, *drawn, _x_label(x_label, height))
    return chart if len(series) < 2 else joined(chart, _legend(series))


def steps(first: float, width: float, counts: Sequence[int], x_range: tuple[float, float], title: str) -> Markup:
    """Counts of equal stretches of time over a range of years that several charts may share."""
    height = 130
    x, y = _across(*x_range), _up(0, max([*counts, 1]), height)
    drawn = []
    for place, count in enumerate(counts):
        begin = first + place * width
        years = f"{begin:g}" if width == 1 else f"{begin:g} to {begin + width - 1:g}"
        wide = max(0.5, round(x(first + (place + 1) * width) - x(begin) - 0.5, 2))
        drawn.append(_bar(f"{years}: {count:,} facts", x(begin), wide, y, count))
    ticks = [tick(f"{at:g}", x(at), y.start + 15) for at in x.ticks(8) if at == int(at)]
    return _figure(title, height, _grid(y, most=2), *drawn, *ticks)


def tick(words: str, x: float, y: float, anchor: str = "middle") -> Markup:
    """A small label."""
    return el("text", words, class_="tick", x=x, y=y, text_anchor=anchor)


def _across(low: float, high: float) -> Axis:
    return Axis(low, high, _LEFT, WIDTH - _RIGHT)


def _up(low: float, high: float, height: int) -> Axis:
    return Axis(low, high, height - _BOTTOM, _TOP)


def _bar(words: str, x: float, width: float, y: Axis, value: float) -> Markup:
    high = round(y(0) - y(value), 2)
    return el("rect", el("title", words), class_="bar", x=x, y=y(value), width=width, height=high)


def _legend(series: Sequence[Line]) -> Markup:
    """The colour of each line."""
    entries = []
    for line in series:
        stroke = el("line", class_=f"line {line.style}", x1=0, y1=6, x2=24, y2=6)
        entries.append(el("li", el("svg", stroke, width=24, height=12, aria_hidden="true"), f" {line.label}"))
    return el("ul", *entries, class_="legend")


def _figure(title: str, height: int, *drawing: Markup | None) -> Markup:
    svg = el("svg", el("title", title), *drawing, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=title)
    return el("figure", svg, el("figcaption", title))


def _grid(y: Axis, percent: bool = False, most: int = _TICKS) -> Markup:
    marks = []
    for at in y.ticks(most):
        words = f"{100 * at:g} %" if percent else _number(at)
        marks += [
            el("line", class_="grid", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y(at), y2=y(at)),
            tick(words, _LEFT - 6, y(at) + 4, "end"),
        ]
    return joined(*marks)


def _x_label(text: str, height: int) -> Markup | None:
    return tick(text, (WIDTH + _LEFT) / 2, height - 3) if text else None


def _range(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    margin = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    return low - margin, high + margin


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"
