"""Distributions as charts: confidence, calibration, when facts begin, how rounds converge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualmatch.charts.chart import Chart
from dualmatch.charts.svg import Bars, Line, bars, lines, shares, stairs

STYLES: Final = ("one", "two")
"""Of the source and of the target."""
_BINS: Final = 20


class Years(NamedTuple):
    """How many facts begin in each of equal stretches of time."""

    label: str
    first: int
    width: int
    counts: Sequence[int]


def confidence_chart(confidence: NDArray[np.float64]) -> Chart:
    """How many links have how much confidence, from the lowest on."""
    first = min(_BINS - 1, int(confidence.min(initial=1.0) * _BINS))
    counts = np.histogram(confidence, bins=_BINS - first, range=(first / _BINS, 1.0))[0]
    labels = [f"{place / _BINS:.2f}" for place in range(first, _BINS)]
    return bars(labels, [Bars("links", counts.tolist())], "Links by confidence", x_label="confidence from")


def verdict_shares(linked: int, undecided: int, no_match: int) -> Chart:
    """How many source entities got which verdict."""
    parts = [("linked", linked, "one"), ("undecided", undecided, "two"), ("no match", no_match, "rest")]
    return shares(parts, "Source entities by verdict")


def calibration_chart(points: Sequence[tuple[float, float]], counts: Sequence[int]) -> Chart:
    """(confidence, share of right links) against the diagonal, with the number of links at each point."""
    low = max(0.0, math.floor(10 * min((min(point) for point in points), default=0.5) - 0.5) / 10)
    return lines(
        [
            Line("if confidence were exact", [(low, low), (1.0, 1.0)], "ideal"),
            Line("links", points, "one", dots=True, counts=counts),
        ],
        "Share of right links against their confidence, with the number of links",
        x_label="confidence",
        x_range=(low, 1.0),
        y_range=(low, 1.0),
        percent=True,
    )


def times_chart(graphs: Sequence[Years], unit: str = "year") -> Chart:
    """When the facts of one or two graphs begin, as shares of each graph's dated facts, over the same years."""
    drawn = []
    for each, style in zip(graphs, STYLES, strict=False):
        by_year = [count / each.width / sum(each.counts) for count in each.counts]
        drawn.append(Line(each.label, stairs(each.first, each.width, by_year), style))
    points = [point for line in drawn for point in line.points]
    years, highest = [at for at, _ in points], max(share for _, share in points)
    whose = "the graph's" if len(graphs) == 1 else "each graph's"
    return lines(
        drawn,
        f"When facts begin: share of {whose} dated facts, by {unit}",
        x_range=(min(years), max(years)),
        y_range=(0.0, 1.05 * highest),
        percent=True,
        whole=True,
    )


def rounds_chart(rounds: Sequence[Mapping[str, Any]]) -> Chart:
    """Pairs after each round, and how many of them changed."""
    return lines(
        [
            Line("pairs believed", [(each["number"], each["pairs"]) for each in rounds], "one", dots=True),
            Line("pairs changed", [(each["number"], each["changed"]) for each in rounds], "two", dots=True),
        ],
        "Pairs believed after each round, and how many of them changed",
        x_label="round",
        whole=True,
        y_range=(0.0, 1.05 * max(1, *(max(each["pairs"], each["changed"]) for each in rounds))),
    )
