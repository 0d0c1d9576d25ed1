"""A timeline of two things as inline SVG: a lane a fact, matching facts in one lane, one above the other.

The bars of the first are plain and those of the second hatched, so that they differ in grey; bars without a match are
hollow; an end that is not known fades out; where one of two matching facts has no time, words say so in its place.
Colours come from the page's style sheet.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from markupsafe import Markup

from dualmatch.charts.chart import Chart
from dualmatch.charts.markup import el, joined, visible
from dualmatch.charts.svg import Axis

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_YEAR: Final = 365.2425
_DATE: Final = re.compile(r"(-?\d+)(?:-(\d\d))?(?:-(\d\d))?")
_EPOCH: Final = date(1970, 1, 1).toordinal()
_BAR, _GAP, _PAD, _LETTER = 9, 5, 5, 6.4
_KEY: Final = 22  # the height of the key above a chart
_FADE: Final = 0.14  # of the width: how long a bar is whose end is not known
_SHORT: Final = 366.0  # days: a time that is alone and no longer gets room around it
_LEAST: Final = 4.0  # pixels of a bar, however short its time


@dataclass(frozen=True)
class Span:
    """When a fact holds: in days since 1970, or in bare numbers; None where that end is not known."""

    begin: float | None
    end: float | None


@dataclass(frozen=True)
class Lane:
    """A fact of the first, of the second, or of both."""

    label: str
    words: str  # shown on hovering
    first: Span | None = None
    second: Span | None = None
    is_match: bool = False  # also where only one of the two has a time

    @property
    def rows(self) -> list[tuple[Span | None, str]]:
        """Each span with its side, from above; None where the fact of a match has no time."""
        both = (self.first, "source"), (self.second, "target")
        return [(span, side) for span, side in both if self.is_match or span is not None]

    @property
    def bars(self) -> list[tuple[Span, str]]:
        """Those that are drawn."""
        return [(span, side) for span, side in self.rows if span is not None]


@dataclass(frozen=True)
class _Frame:
    """Where things lie, in pixels."""

    kind: str
    width: int
    left: int  # where the lanes begin
    above: int  # room for a label above a lane; 0 where it stands before it
    ticks: int

    @property
    def letters(self) -> int:
        """How long a label may be."""
        return int(((self.width if self.above else self.left) - 12) / _LETTER)

    def height(self, lane: Lane) -> int:
        return self.above + len(lane.rows) * (_BAR + _GAP) - _GAP + 2 * _PAD


_FRAMES: Final = (_Frame("wide", 1120, 330, 0, 8), _Frame("narrow", 360, 4, 17, 3))
_OF_CHARTS: Final = _Frame("chart", 640, 200, 0, 5)


def timeline(
    lanes: Sequence[Lane], title: str, *, names: tuple[str, str], days: bool = True, id: str = "timeline"
) -> Markup | None:
    """The lanes over one axis, drawn for wide and for narrow screens; None where no lane has a time.

    `names` of the two; `days`: whether times have a calendar; `id` distinguishes the timelines of one page.
    """
    drawn = [_drawn(lanes, frame, days, id) for frame in _FRAMES]
    if not lanes or drawn[0] is None:
        return None
    svgs = [
        el("svg", el("title", title), body, viewBox=f"0 0 {frame.width} {height}", role="img", class_=frame.kind)
        for frame, (body, height) in zip(_FRAMES, (each for each in drawn if each is not None), strict=True)
    ]
    return el("figure", _defs(id), *svgs, el("figcaption", title), _legend(names, lanes, id), class_="timeline")


def timeline_chart(lanes: Sequence[Lane], title: str) -> Chart | None:
    """The same as a chart of its own, with its key; None where no lane has a time."""
    frame = _OF_CHARTS
    drawn = _drawn(lanes, frame, True, "chart")
    if drawn is None:
        return None
    key = []
    for x, side, words in ((frame.left, "source", "this graph"), (frame.left + 130, "target", "the other graph")):
        bar = _bar(Span(0.0, 1.0), side, (x, x + 26), 3, "chart", True)
        key.append(el("g", bar, el("text", words, class_="tick", x=x + 33, y=12), class_="key fact matching"))
    lanes_below = el("g", drawn[0], transform=f"translate(0,{_KEY})")
    return Chart(title, frame.width, drawn[1] + _KEY, joined(_defs("chart"), *key, lanes_below))


def span_of(begin: str | None, end: str | None) -> Span | None:
    """When something holds that begins and ends with these days, months or years; None where neither is known.

    >>> span_of("1970-01-02", "1970-02"), span_of(None, None)
    (Span(begin=1.0, end=59.0), None)
    """
    if begin is None and end is None:
        return None
    return Span(None if begin is None else _first_day(begin), None if end is None else _first_day(end, after=True))


def _first_day(written: str, after: bool = False) -> float:
    """The first day of a day, month or year, or of the one after it."""
    parts = _DATE.fullmatch(written)
    if parts is None:
        raise ValueError(f"{written!r} is not a date")
    year, month, day = (None if part is None else int(part) for part in parts.groups())
    if year is None or month is None:
        return _day(int(parts[1]) + after)
    months = 12 * year + month - 1 + (after and day is None)
    return _day(months // 12, months % 12 + 1) + ((day or 1) - 1) + (after and day is not None)


def _drawn(lanes: Sequence[Lane], frame: _Frame, days: bool, id: str) -> tuple[Markup, int] | None:
    """The lanes in a frame, and their height; None where no lane has a time."""
    spans = [span for lane in lanes for span, _ in lane.bars]
    ends = [end for span in spans for end in (span.begin, span.end) if end is not None]
    if not ends:
        return None
    low, high = min(ends), max(ends)
    is_alone = days and len(set(ends)) <= 2 and high - low <= _SHORT  # over the whole width it would look long
    margin = max((high - low) * (2.0 if is_alone else 0.02), 1.0 if days else 0.5)
    axis = Axis(low - margin, high + margin, frame.left, frame.width - 8)
    y, body = 2, []
    for lane in lanes:
        body.append(_lane(lane, axis, frame, y, id))
        y += frame.height(lane)
    grid = []
    for at, words in _ticks(axis, frame.ticks, days):
        grid.append(el("line", class_="grid", x1=axis(at), x2=axis(at), y1=2, y2=y))
        grid.append(_tick(words, axis(at), y + 14, frame))
    return joined(*grid, *body), y + 20


def _ticks(axis: Axis, most: int, days: bool) -> list[tuple[float, str]]:
    """Round times along an axis with their labels: days, months or years where there is a calendar."""
    low, high = axis.low, axis.high
    if not days:
        return [(at, f"{at:g}") for at in axis.ticks(most) if at == int(at)]
    span = high - low
    has_months = low >= 1 - _EPOCH and high < date.max.toordinal() - _EPOCH
    if not has_months or span > most * _YEAR / 3:
        years = Axis(low / _YEAR + 1970, high / _YEAR + 1970, 0, 1).ticks(most)
        found = [(_day(int(year)), f"{year:g}") for year in years if year == int(year)]
        return [(at, words) for at, words in found if low <= at <= high]
    if span > most * 10:
        return _months(low, high, next((step for step in (1, 2, 3) if step * _YEAR / 12 * most >= span), 6))
    days_at = range(math.ceil(low), math.floor(high) + 1, max(1, math.ceil(span / most)))
    dates = (date.fromordinal(_EPOCH + day) for day in days_at)
    return [
        (float(each.toordinal() - _EPOCH), f"{each.day} {_MONTHS[each.month - 1]}{f' {each.year}' * (place == 0)}")
        for place, each in enumerate(dates)
    ]


def _months(low: float, high: float, step: int) -> list[tuple[float, str]]:
    """The first of every so many months; the first of them, and each January, with its year."""
    start = date.fromordinal(_EPOCH + math.floor(low))
    found: list[tuple[float, str]] = []
    month = 12 * start.year + (start.month - 1) // step * step
    while (at := _day(month // 12, month % 12 + 1)) <= high:
        if at >= low:
            with_year = not found or month % 12 == 0
            found.append((at, f"{_MONTHS[month % 12]}{f' {month // 12}' * with_year}"))
        month += step
    return found


def _day(year: int, month: int = 1) -> float:
    """Days from 1970 to the first of a month, in any year: the calendar repeats every 400.

    >>> _day(1970), _day(2000, 3), _day(-44)
    (0.0, 11017.0, -735599.0)
    """
    cycles, within = divmod(year - 1, 400)
    return float(date(within + 1, month, 1).toordinal() + cycles * 146_097 - _EPOCH)


def _tick(words: str, x: float, y: float, frame: _Frame) -> Markup:
    """A label below the axis, moved inwards where it would be cut off."""
    half = len(words) * _LETTER / 2
    anchor = "end" if x + half > frame.width else "start" if x - half < 0 else "middle"
    return el("text", words, class_="tick", x=frame.width - 1 if anchor == "end" else x, y=y, text_anchor=anchor)


def _lane(lane: Lane, axis: Axis, frame: _Frame, y: int, id: str) -> Markup:
    matched = len(lane.rows) == 2
    label = lane.label if len(lane.label) <= frame.letters else f"{lane.label[: frame.letters - 1]}…"
    place = (0, y + 13, "start") if frame.above else (frame.left - 10, y + frame.height(lane) / 2 + 4, "end")
    words = el("text", visible(label, 2 * frame.letters), class_="tick", x=place[0], y=place[1], text_anchor=place[2])
    top = y + frame.above + _PAD
    drawn, places = [], []
    for number, (span, side) in enumerate(lane.rows):
        above = top + number * (_BAR + _GAP)
        if span is None:
            drawn.append(el("text", f"no time given in the {side}", class_="tick", x=frame.left + 2, y=above + _BAR))
        else:
            places.append(_extent(span, axis))
            drawn.append(_bar(span, side, places[-1], above, id, matched))
    if len(places) == 2:
        (a, b), (c, d) = places
        upper, lower = top + _BAR, top + _BAR + _GAP
        drawn.insert(0, el("path", class_="join", d=f"M{a},{upper} H{b} L{d},{lower} H{c} Z"))
    return el("g", el("title", visible(lane.words, 400)), words, *drawn, class_=f"fact{' matching' * matched}")


def _extent(span: Span, axis: Axis) -> tuple[float, float]:
    """Where a bar begins and ends; an end that is not known lies some way off."""
    further = (axis.end - axis.start) * _FADE
    if span.begin is None:
        end = axis(span.end or 0.0)
        return max(axis.start, round(end - further, 2)), max(end, axis.start + _LEAST)
    start = axis(span.begin)
    if span.end is None:
        return start, max(min(axis.end + 8, round(start + further, 2)), start + _LEAST)
    return start, max(axis(span.end), round(start + _LEAST, 2))


def _bar(span: Span, side: str, at: tuple[float, float], y: float, id: str, matched: bool) -> Markup:
    fade = "left" if span.begin is None else "right" if span.end is None else None
    return el(
        "rect",
        class_=f"bar {side}",
        x=at[0],
        y=y,
        width=round(at[1] - at[0], 2),
        height=_BAR,
        fill=f"url(#{id}-hatch)" if matched and side == "target" else None,
        mask=None if fade is None else f"url(#{id}-{fade})",
    )


def _defs(id: str) -> Markup:
    """What bars are filled with and how they fade; not in a drawing that a screen may hide, where nobody finds it."""
    square = {"width": 5, "height": 5}
    hatch = el("rect", class_="hatch", **square), el("line", class_="hatch", x1=0, x2=0, y1=0, y2=5)
    turned = {"patternUnits": "userSpaceOnUse", "patternTransform": "rotate(45)"}
    parts = [el("pattern", *hatch, id=f"{id}-hatch", **square, **turned)]
    for side, opacity in (("right", (1, 0)), ("left", (0, 1))):
        stops = (el("stop", offset=at, stop_color="#fff", stop_opacity=value) for at, value in enumerate(opacity))
        parts.append(el("linearGradient", *stops, id=f"{id}-{side}-shade"))
        box: dict[str, float] = {"x": -0.2, "y": -0.2, "width": 1.4, "height": 1.4}  # a stroke lies half outside
        shade = el("rect", **box, fill=f"url(#{id}-{side}-shade)")
        parts.append(el("mask", shade, id=f"{id}-{side}", maskContentUnits="objectBoundingBox", **box))
    return el("svg", el("defs", *parts), width=0, height=0, class_="defs", aria_hidden="true")


def _legend(names: tuple[str, str], lanes: Sequence[Lane], id: str) -> Markup:
    """What kinds of bars there are."""
    known, entries = Span(0.0, 1.0), []
    bars = [(span, side, len(lane.rows) == 2) for lane in lanes for span, side in lane.bars]
    kinds = {(side, matched) for _, side, matched in bars}
    for name, side in zip(names, ("source", "target"), strict=True):
        if kinds & {(side, True), (side, False)}:
            entries.append((visible(name, 60), side, (side, True) in kinds, known))
    if len(kinds) > 1 and (alone := [side for _, side, matched in bars if not matched]):
        entries.append(("only one has it", alone[0], False, known))
    if fading := [each for each in bars if None in (each[0].begin, each[0].end)]:
        entries.append(("end not known", *fading[0][1:], Span(0.0, None)))
    items = []
    for words, side, matched, span in entries:
        group = el("g", _bar(span, side, (1.0, 27.0), 2, id, matched), class_=f"fact{' matching' * matched}")
        items.append(el("li", el("svg", group, width=28, height=13, aria_hidden="true"), f" {words}"))
    return el("ul", *items, class_="legend")
