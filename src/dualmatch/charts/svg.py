"""Charts of bars, lines and shares, drawn as `dualmatch.charts.chart.Chart`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from markupsafe import Markup

from dualmatch.charts.chart import Chart
from dualmatch.charts.markup import el, joined, visible

WIDTH: Final = 560
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 16, 12, 34  # on the left, "0.075 %" on a narrow screen
_LEGEND: Final = 18  # the height of a row of the legend, above the rest
_TICKS: Final = 5
_CHARACTER: Final = 8.5  # about the width of one in a tick's label, on a narrow screen
_MOST_NUMBERED: Final = 24  # bars that have room for their number
_ROW, _LABEL = 33, 90  # of a waterfall: the height of a step, and how many letters its label may have
_LOPSIDED: Final = 20  # so many times the usual bar, the highest leaves nothing to see of the others
_LOG_FLOOR: Final = math.log10(0.5)  # of a logarithmic scale: a bar of one is still seen


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
    """Points joined in their order; `dots` marks each, and `counts` stand beside the dots."""

    label: str
    points: Sequence[tuple[float, float]]
    style: str = "one"
    dots: bool = False
    counts: Sequence[int] = ()


@dataclass(frozen=True)
class Bars:
    """One bar for each label of a chart."""

    label: str
    values: Sequence[float]
    style: str = "one"


def bars(
    labels: Sequence[str], series: Sequence[Bars], title: str, *, x_label: str = "", percent: bool = False
) -> Chart:
    """A group of bars for each label, with their numbers; on a logarithmic scale where one would hide the others."""
    values = [value for each in series for value in each.values]
    key, legend = _legend([(each.label, each.style, True) for each in series] if len(series) > 1 else [])
    height = 210 + legend
    is_log = not percent and _is_lopsided(values)
    top = max([*values, 0.0 if percent else 1.0]) or 1.0
    x = _across(0, len(labels))
    numbered = not percent and len(values) <= _MOST_NUMBERED
    y = Axis(
        *((_LOG_FLOOR, math.log10(top)) if is_log else (0.0, top)), height - _BOTTOM, _TOP + legend + 12 * numbered
    )
    width = 0.84 / max(1, len(series))
    drawn = []
    for at, each in enumerate(series):
        for place, (label, value) in enumerate(zip(labels, each.values, strict=True)):
            words = f"{label}: {_number(value, percent)}" + (f" ({each.label})" if legend else "")
            left = x(place + 0.08 + at * width)
            wide = round(x(width) - x(0) - (1 if legend else 0), 2)
            tall = y(math.log10(value)) if is_log and value > 0 else y(max(value, y.low))
            drawn.append(_bar(words, left, tall, wide, round(y.start - tall, 2), each.style))
            if numbered and value:
                drawn.append(_count(_number(value), left + wide / 2, tall - 3))
    widest = (max(map(len, labels), default=0) + 1) * _CHARACTER
    every = math.ceil(widest / (x(1) - x(0)))
    ticks = [_x_tick(labels[place], x(place + 0.5), y.start) for place in range(0, len(labels), every)]
    grid = _log_grid(y, top) if is_log else _grid(y, percent)
    words = f"{title} (logarithmic scale)" if is_log else title
    return _chart(words, height, key, grid, *drawn, *ticks, _x_label(x_label, height))


def lines(
    series: Sequence[Line],
    title: str,
    *,
    x_label: str = "",
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    percent: bool = False,
    whole: bool = False,
) -> Chart:
    """Lines over one pair of axes, with a legend where there are several; `whole`: x counts years or rounds."""
    key, legend = _legend([(each.label, each.style, False) for each in series] if len(series) > 1 else [])
    height = 240 + legend
    points = [point for line in series for point in line.points]
    x = _across(*(x_range or _range([at for at, _ in points])))
    y = Axis(*(y_range or _range([value for _, value in points])), height - _BOTTOM, _TOP + legend)
    drawn = []
    for line in series:
        path = " ".join(f"{x(at)},{y(value)}" for at, value in line.points)
        drawn.append(el("polyline", class_=f"line {line.style}", points=path))
        for at, value in line.points if line.dots else ():
            words = el("title", f"{line.label} at {_number(at)}: {_number(value, percent)}")
            drawn.append(el("circle", words, class_=f"dot {line.style}", cx=x(at), cy=y(value), r=3.5))
        for (at, value), count in zip(line.points, line.counts, strict=False):
            below = y(value) < y.end + 14
            drawn.append(_count(f"{count:,}", min(x(at), WIDTH - 14), y(value) + (16 if below else -8)))
    ticks = [
        _x_tick(f"{at:g}" if whole else _number(at), x(at), y.start) for at in x.ticks() if not whole or at % 1 == 0
    ]
    return _chart(title, height, key, _grid(y, percent), *ticks, *drawn, _x_label(x_label, height))


def shares(parts: Sequence[tuple[str, int, str]], title: str) -> Chart:
    """How a whole falls into parts (label, count, style): one bar across, with a legend that has the numbers."""
    x, whole = Axis(0, 1, 0, WIDTH), sum(count for _, count, _ in parts) or 1
    key, legend = _legend([(f"{label} {count:,}", style, True) for label, count, style in parts])
    drawn, before = [], 0.0
    for label, count, style in parts:
        wide = round(x(count / whole) - x(0), 2)
        words = f"{label}: {count:,} ({100 * count / whole:.1f} %)"
        drawn.append(_bar(words, x(before), legend + 4, max(wide - 1, 0.0), 26, style))
        before += count / whole
    return _chart(title, legend + 34, key, *drawn)


def sum_chart(steps: Sequence[tuple[str, float]], title: str) -> Chart:
    """A waterfall: what each step adds, a bar from where the last one ended, and what all come to."""
    sums = [0.0, *accumulate(value for _, value in steps)]
    x = Axis(min(sums), max(sums), 2, WIDTH - 64)
    rows = [(words, value, start) for (words, value), start in zip(steps, sums, strict=False)]
    drawn = [el("line", class_="grid", x1=x(0.0), x2=x(0.0), y1=0, y2=_ROW * (len(rows) + 1))]
    for place, (words, value, start) in enumerate([*rows, ("together", sums[-1], 0.0)]):
        top, (left, right) = place * _ROW, sorted((x(start), x(start + value)))
        style, wide = "one" if value >= 0 else "two", max(1.0, round(right - left, 2))
        label = words if len(words) <= _LABEL else f"{words[: _LABEL - 1]}…"
        drawn.append(tick(visible(label), 2, top + 12, "start"))
        drawn.append(_bar(f"{words}: {value:+.2f}", left, top + 17, wide, 10, style))
        drawn.append(el("text", f"{value:+.2f}", class_="count", x=WIDTH - 2, y=top + 26, text_anchor="end"))
    return _chart(title, _ROW * (len(rows) + 1) + 2, *drawn)


def stairs(first: float, width: float, heights: Sequence[float]) -> list[tuple[float, float]]:
    """Points of a line that keeps the height of each of equal stretches.

    >>> stairs(1900, 10, [1, 3])
    [(1900, 0.0), (1900, 1), (1910, 1), (1910, 3), (1920, 3), (1920, 0.0)]
    """
    points = [(first + step * width, height) for at, height in enumerate(heights) for step in (at, at + 1)]
    return [(first, 0.0), *points, (first + len(heights) * width, 0.0)]


def weight_bar(value: float, most: float) -> Markup:
    """A small bar for a weight: to the right of the middle where it is for, to the left where it is against."""
    x = Axis(-(most or 1.0), most or 1.0, 1, 119)
    left, right = sorted((x(0.0), x(value)))
    style = "one" if value >= 0 else "two"
    bar = el("rect", class_=f"bar {style}", x=left, y=2, width=round(right - left, 2), height=10)
    middle = el("line", class_="grid", x1=60, x2=60, y1=0, y2=14)
    return el("svg", middle, bar, class_="chart weight", viewBox="0 0 120 14", width=120, height=14, aria_hidden="true")


def tick(words: str, x: float, y: float, anchor: str = "middle") -> Markup:
    """A small label."""
    return el("text", words, class_="tick", x=x, y=y, text_anchor=anchor)


def _x_tick(words: str, x: float, base: float) -> Markup:
    """A label below the axis, which stays in the frame."""
    half = len(words) * _CHARACTER / 2
    anchor = "end" if x + half > WIDTH else "middle"
    return tick(words, WIDTH if anchor == "end" else x, base + 15, anchor)


def _count(words: str, x: float, y: float) -> Markup:
    return el("text", words, class_="count", x=round(x, 2), y=round(y, 2), text_anchor="middle")


def _across(low: float, high: float) -> Axis:
    return Axis(low, high, _LEFT, WIDTH - _RIGHT)


def _bar(words: str, x: float, y: float, width: float, height: float, style: str) -> Markup:
    title = el("title", words)
    return el("rect", title, class_=f"bar {style}", x=x, y=y, width=width, height=height)


def _is_lopsided(values: Sequence[float]) -> bool:
    seen = sorted(value for value in values if value > 0)
    return len(seen) > 2 and seen[-1] > _LOPSIDED * seen[len(seen) // 2]


def _legend(entries: Sequence[tuple[str, str, bool]]) -> tuple[Markup, int]:
    """What each style means (label, style, whether it is a bar), in as many rows as it needs; and its height."""
    drawn, x, top = [], 2.0, 0
    for label, style, is_bar in entries:
        wide = (19 if is_bar else 27) + _CHARACTER * len(label)
        if x > 2 and x + wide > WIDTH:
            x, top = 2.0, top + _LEGEND
        if is_bar:
            drawn.append(el("rect", class_=f"bar {style}", x=x, y=top + 4, width=14, height=9))
        else:
            drawn.append(el("line", class_=f"line {style}", x1=x, y1=top + 8, x2=x + 22, y2=top + 8))
        drawn.append(tick(label, x + wide - _CHARACTER * len(label), top + 12, "start"))
        x += wide + 10
    return joined(*drawn), top + _LEGEND if entries else 0


def _chart(title: str, height: int, *drawing: Markup | None) -> Chart:
    return Chart(title, WIDTH, height, joined(*drawing))


def _grid(y: Axis, percent: bool = False) -> Markup:
    return joined(*(_rule(_number(at, percent), y(at)) for at in y.ticks()))


def _log_grid(y: Axis, top: float) -> Markup:
    return joined(*(_rule(f"{10**power:,}", y(power)) for power in range(math.floor(math.log10(top)) + 1)))


def _rule(words: str, at: float) -> Markup:
    line = el("line", class_="grid", x1=_LEFT, x2=WIDTH - _RIGHT, y1=at, y2=at)
    return joined(line, tick(words, _LEFT - 6, at + 4, "end"))


def _x_label(text: str, height: int) -> Markup | None:
    return tick(text, (WIDTH + _LEFT) / 2, height - 3) if text else None


def _range(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    margin = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    return low - margin, high + margin


def _number(value: float, percent: bool = False) -> str:
    if percent:
        return f"{100 * value:.3g} %"
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"


def waterfall(steps: Sequence[float]) -> list[Markup]:
    """A bar for each step of a sum, and one for the sum: plain where it adds, hollow where it takes away.

    >>> [bar.count("minus") for bar in waterfall([3.0, -1.0])]
    [0, 1, 0]
    """
    sums = [0.0, *accumulate(steps)]
    x = Axis(min(sums), max(sums), 2.0, 98.0)
    return [_step(x, start, end) for start, end in (*pairwise(sums), (0.0, sums[-1]))]


def _step(x: Axis, start: float, end: float) -> Markup:
    left, right = sorted((x(start), x(end)))
    zero = el("line", class_="zero", x1=x(0.0), x2=x(0.0), y1=0, y2=14)
    kind, width = "plus" if end >= start else "minus", max(1.5, round(right - left, 2))
    bar = el("rect", class_=kind, x=left, y=3, width=width, height=8)
    return el("svg", zero, bar, viewBox="0 0 100 14", preserveAspectRatio="none", class_="step", aria_hidden="true")
