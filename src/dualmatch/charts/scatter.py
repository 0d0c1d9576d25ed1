"""Named points over two axes, the one across logarithmic: what a thing is worth against what it costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from markupsafe import Markup

from dualmatch.charts.chart import Chart
from dualmatch.charts.markup import el, joined
from dualmatch.charts.svg import WIDTH, Axis, tick

_LEFT, _RIGHT, _TOP, _BOTTOM, _HEIGHT = 40, 16, 34, 38, 400
_CHARACTER: Final = 6.2  # about the width of one in a point's name
_LINE: Final = 11
_DOT: Final = 4.0
_BESIDE: Final = tuple((right, down) for down in (4, 12, -4, 20, -12) for right in (8, -8))
_PLACES: Final = (*_BESIDE, (0, -8), (0, 16), (0, -19), (0, 27))


@dataclass(frozen=True)
class Point:
    """A point with its name; `style` is "one" (a full dot), "two" (a ring) or "rest" (a square)."""

    label: str
    x: float
    y: float
    style: str = "one"


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def common(self, other: _Box) -> float:
        """How much of the plane both cover."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        return max(0.0, wide) * max(0.0, min(self.bottom, other.bottom) - max(self.top, other.top))


def scatter(points: Sequence[Point], key: Sequence[tuple[str, str]], title: str, x_label: str, y_label: str) -> Chart:
    """Points from 0 to 100 over a logarithmic scale; `key` has what each style means: (label, style)."""
    logs = [math.log10(point.x) for point in points]
    x = Axis(min(logs) - 0.1, max(logs) + 0.25, _LEFT, WIDTH - _RIGHT)
    y = Axis(0, 100, _HEIGHT - _BOTTOM, _TOP)
    lines = [
        joined(
            el("line", class_="grid", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y(at), y2=y(at)),
            tick(f"{at:g}", _LEFT - 6, y(at) + 4, "end"),
        )
        for at in y.ticks()
    ]
    for value in _round_numbers(x.low, x.high):
        across = x(math.log10(value))
        lines.append(el("line", class_="grid", x1=across, x2=across, y1=y.start, y2=y.end))
        lines.append(tick(f"{value:,g}", across, y.start + 15))
    words = [tick(x_label, (WIDTH + _LEFT) / 2, _HEIGHT - 6), tick(y_label, 2, 24, "start")]
    left = float(WIDTH - _RIGHT)
    for label, style in reversed(key):
        left -= _CHARACTER * len(label)
        words += [tick(label, round(left, 2), 12, "start"), _mark(style, round(left - 9, 2), 8)]
        left -= 28
    return Chart(title, WIDTH, _HEIGHT, joined(*lines, *words, *_named(points, x, y)))


def _named(points: Sequence[Point], x: Axis, y: Axis) -> list[Markup]:
    """The points, each with its name where it covers least of the others."""
    at = [(x(math.log10(point.x)), y(point.y)) for point in points]
    taken = [_Box(left - _DOT, top - _DOT, left + _DOT, top + _DOT) for left, top in at]
    drawn = []
    for point, place in zip(points, at, strict=True):
        boxes = [_box(point.label, *place, *offset) for offset in _PLACES]
        covered = [sum(box.common(other) for other in taken) + _outside(box) for box in boxes]
        best = covered.index(min(covered))
        taken.append(boxes[best])
        right, down = _PLACES[best]
        name = el(
            "text",
            point.label,
            class_="count",
            x=round(place[0] + right, 2),
            y=round(place[1] + down, 2),
            text_anchor=_anchor(right),
        )
        drawn += [_mark(point.style, *place, f"{point.label}: {point.y:.1f}, {point.x:,.0f}"), name]
    return drawn


def _anchor(right: float) -> str:
    return "middle" if not right else "start" if right > 0 else "end"


def _box(label: str, x: float, y: float, right: float, down: float) -> _Box:
    """Where a name would stand."""
    wide = _CHARACTER * len(label)
    left = x + right - {"start": 0.0, "middle": wide / 2, "end": wide}[_anchor(right)]
    return _Box(left, y + down - _LINE + 2, left + wide, y + down + 2)


def _outside(box: _Box) -> float:
    """A name beyond the frame is worse than one that covers others."""
    beyond = max(0.0, _LEFT - box.left) + max(0.0, box.right - WIDTH) + max(0.0, box.bottom - (_HEIGHT - _BOTTOM))
    return 1e3 * beyond


def _mark(style: str, x: float, y: float, words: str = "") -> Markup:
    title = el("title", words) if words else None
    if style == "rest":
        return el("rect", title, class_="dot rest", x=x - 3.5, y=y - 3.5, width=7, height=7)
    return el("circle", title, class_="bar one" if style == "one" else f"dot {style}", cx=x, cy=y, r=_DOT)


def _round_numbers(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, … or, over many powers of ten, these alone; the bounds are logarithms.

    >>> _round_numbers(0.9, 2.1)
    [10, 20, 50, 100]
    """
    factors = (1, 2, 5) if high - low < 3 else (1,)
    powers = range(math.floor(low), math.ceil(high) + 1)
    numbers = [factor * 10**power for power in powers for factor in factors]
    return [number for number in numbers if low <= math.log10(number) <= high]
