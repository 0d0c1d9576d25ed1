"""Charts above the queue: the histogram of chances, to choose from, and the interval that a spot check found."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from dualmatch.charts.markup import el
from dualmatch.charts.svg import tick
from dualmatch.errors import counted
from dualmatch.review.filter import Filter
from dualmatch.review.spot_check import SpotCheck

_WIDTH, _HEIGHT, _FOOT = 640, 72, 20
_LEAST: Final = 3  # pixels of a bar that is not empty


def histogram(counts: NDArray[np.int64], wanted: Filter, at: str) -> Markup:
    """Every bar is a link, and a script lets one drag over several.

    A bar is as high as the square root of its count, so that few can be seen beside many.
    """
    wide, most = _WIDTH / len(counts), math.sqrt(max(1, int(counts.max())))
    step = 100 // len(counts)
    bars = []
    for place, count in enumerate(counts.tolist()):
        low, high = place * step, (place + 1) * step
        height = max(_LEAST, round(_HEIGHT * math.sqrt(count) / most, 1)) if count else 0
        words = f"{low} to {high} %: {counted(count, 'entity', 'entities')}"
        is_wanted = wanted.low <= low and high <= wanted.high
        bars.append(
            el(
                "a",
                el("title", words),
                el("rect", class_="ground", x=round(place * wide, 1), y=0, width=round(wide - 1, 1), height=_HEIGHT),
                el(
                    "rect",
                    class_="bar",
                    x=round(place * wide, 1),
                    y=_HEIGHT - height,
                    width=round(wide - 1, 1),
                    height=height,
                ),
                href=f"{at}/?{wanted.but(low=low, high=high)}",
                aria_label=words,
                data_low=low,
                data_high=high,
                class_="wanted" if is_wanted else None,
            )
        )
    marks = [
        tick(f"{percent} %", _WIDTH * percent / 100, _HEIGHT + _FOOT - 4, anchor)
        for percent, anchor in ((0, "start"), (25, "middle"), (50, "middle"), (75, "middle"), (100, "end"))
    ]
    return el(
        "svg",
        *bars,
        *marks,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT + _FOOT}",
        id="brush",
        role="group",
        aria_label="Chance of what is proposed",
    )


def interval_bar(check: SpotCheck) -> Markup:
    """The interval of a spot check on a scale from none to all."""
    low, high = check.interval
    words = f"Between {low:.0%} and {high:.0%} of the links are right"
    return el(
        "svg",
        el("title", words),
        el("rect", class_="ground", x=0, y=4, width=_WIDTH, height=8, rx=4),
        el("rect", class_="bar", x=round(low * _WIDTH, 1), y=4, width=round((high - low) * _WIDTH, 1), height=8, rx=4),
        el("circle", class_="middle", cx=round(check.precision * _WIDTH, 1), cy=8, r=5),
        tick("0 %", 0, 28, "start"),
        tick("100 %", _WIDTH, 28, "end"),
        viewBox=f"-6 0 {_WIDTH + 12} 32",  # the dot of all or none is whole
        class_="interval",
        role="img",
    )
