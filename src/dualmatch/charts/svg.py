"""Charts as inline SVG: bars, steps over years, lines. Colours and fonts come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dualmatch.charts.markup import Html, el, joined

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


def bars(labels: Sequence[str], values: Sequence[float], title: str, x_label: str = "", height: int = 200) -> Html:
    """One bar a value, each with its label below and its number told on hovering."""
    x = Axis(0, len(values), _LEFT, WIDTH - _RIGHT)
    y = Axis(0, max([*values, 1]), height - _BOTTOM, _TOP)
    drawn = [
        el(
            "rect",
            el("title", f"{label}: {_number(value)}"),
            class_="bar",
            x=x(place + 0.08),
            y=y(value),
            width=round(x(0.84) - x(0), 2),
            height=round(y(0) - y(value), 2),
        )
        for place, (label, value) in enumerate(zip(labels, values, strict=True))
    ]
    widest = max((len(label) for label in labels), default=0) * _CHARACTER + _CHARACTER
    every = max(1, math.ceil(widest / (x(1) - x(0)))) if labels else 1
    words = [
        el("text", label, class_="tick", x=x(place + 0.5), y=height - _BOTTOM + 15, text_anchor="middle")
        for place, label in enumerate(labels)
        if place % every == 0
    ]
    return _figure(title, height, joined(_grid(y), *drawn, *words, _x_label(x_label, height)))


def lines(
    series: Sequence[Line],
    title: str,
    *,
    x_label: str = "",
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    percent: bool = False,
    height: int = 240,
) -> Html:
    """Lines over one pair of axes, with a legend where there are several."""
    points = [point for line in series for point in line.points]
    low_x, high_x = x_range or _range([at for at, _ in points])
    low_y, high_y = y_range or _range([at for _, at in points])
    x = Axis(low_x, high_x, _LEFT, WIDTH - _RIGHT)
    y = Axis(low_y, high_y, height - _BOTTOM, _TOP)
    drawn = []
    for line in series:
        path = " ".join(f"{x(at)},{y(value)}" for at, value in line.points)
        drawn.append(el("polyline", class_=f"line {line.style}", points=path))
        if line.dots:
            drawn += [
                el(
                    "circle",
                    el("title", f"{line.label} at {_number(at)}: {_number(value)}"),
                    class_=f"dot {line.style}",
                    cx=x(at),
                    cy=y(value),
                    r=3,
                )
                for at, value in line.points
            ]
    ticks = [
        el("text", _number(at), class_="tick", x=x(at), y=height - _BOTTOM + 15, text_anchor="middle")
        for at in x.ticks()
    ]
    chart = _figure(title, height, joined(_grid(y, percent), *ticks, *drawn, _x_label(x_label, height)))
    return chart if len(series) < 2 else joined(chart, legend([(line.label, line.style) for line in series]))


def steps(first: float, width: float, counts: Sequence[int], x_range: tuple[float, float], title: str) -> Html:
    """Counts of equal stretches of time over a range of years that several charts may share."""
    height = 130
    x = Axis(*x_range, _LEFT, WIDTH - _RIGHT)
    y = Axis(0, max([*counts, 1]), height - _BOTTOM, _TOP)
    drawn = [
        el(
            "rect",
            el("title", f"{_stretch(first + place * width, width)}: {count:,} facts"),
            class_="bar",
            x=x(first + place * width),
            y=y(count),
            width=max(0.5, round(x(first + (place + 1) * width) - x(first + place * width) - 0.5, 2)),
            height=round(y(0) - y(count), 2),
        )
        for place, count in enumerate(counts)
    ]
    ticks = [
        el("text", f"{at:g}", class_="tick", x=x(at), y=height - _BOTTOM + 15, text_anchor="middle")
        for at in x.ticks(8)
        if at == int(at)
    ]
    return _figure(title, height, joined(_grid(y, most=2), *drawn, *ticks))


def legend(entries: Sequence[tuple[str, str]]) -> Html:
    """What the colours stand for."""
    swatches = [
        el(
            "li",
            el(
                "svg",
                el("line", class_=f"line {style}", x1=0, y1=6, x2=24, y2=6),
                width=24,
                height=12,
                aria_hidden="true",
            ),
            f" {label}",
        )
        for label, style in entries
    ]
    return el("ul", *swatches, class_="legend")


def _figure(title: str, height: int, drawing: Html) -> Html:
    svg = el("svg", el("title", title), drawing, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=title)
    return el("figure", svg, el("figcaption", title))


def _grid(y: Axis, percent: bool = False, most: int = _TICKS) -> Html:
    marks = []
    for at in y.ticks(most):
        words = f"{100 * at:g} %" if percent else _number(at)
        marks += [
            el("line", class_="grid", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y(at), y2=y(at)),
            el("text", words, class_="tick", x=_LEFT - 6, y=y(at) + 4, text_anchor="end"),
        ]
    return joined(*marks)


def _x_label(text: str, height: int) -> Html | None:
    if not text:
        return None
    return el("text", text, class_="tick", x=(WIDTH + _LEFT) / 2, y=height - 3, text_anchor="middle")


def _range(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    margin = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    return low - margin, high + margin


def _stretch(first: float, width: float) -> str:
    return f"{first:g}" if width == 1 else f"{first:g} to {first + width - 1:g}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"
