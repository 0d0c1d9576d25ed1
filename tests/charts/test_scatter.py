"""Named points: where they lie, and names that do not cover one another."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from dualmatch.charts.scatter import Point, _box, _named, scatter
from dualmatch.charts.svg import Axis

KEY = (("ours", "one"), ("theirs", "two"), ("others", "rest"))


def test_points_lie_by_the_logarithm_and_have_names() -> None:
    points = [Point("a", 10.0, 50.0), Point("b", 100.0, 75.0, "two"), Point("<c>", 1000.0, 100.0, "rest")]
    drawn = str(scatter(points, KEY, "title", "CPU seconds", "H@1")._repr_svg_())
    circles = [float(x) for x in re.findall(r'<circle[^>]*cx="([\d.]+)"[^>]*><title>', drawn)]
    square = re.search(r'<rect[^>]*x="([\d.]+)"[^>]*><title>', drawn)
    assert square is not None
    assert circles[1] - circles[0] == pytest.approx(float(square[1]) + 3.5 - circles[1], abs=0.05)
    assert "&lt;c&gt;</text>" in drawn
    assert all(f">{number}</text>" in drawn for number in ("10", "100", "1,000", "0", "20"))
    assert "prefers-color-scheme: dark" in drawn


def test_names_of_close_points_do_not_cover_one_another() -> None:
    points = [Point(f"method {at}", 10.0 + at, 70.0 + at) for at in range(5)]
    x, y = Axis(0, 3, 40, 540), Axis(0, 100, 360, 34)
    boxes = []
    for name in _named(points, x, y)[1::2]:
        words = re.fullmatch(r'<text class="count" x="(.*)" y="(.*)" text-anchor="(.*)">(.*)</text>', str(name))
        assert words is not None
        right = {"start": 1, "middle": 0, "end": -1}[words[3]]
        boxes.append(_box(words[4], float(words[1]) - right, float(words[2]), right, 0))
    assert len(boxes) == len(points)
    assert not any(one.common(other) for one, other in combinations(boxes, 2))
