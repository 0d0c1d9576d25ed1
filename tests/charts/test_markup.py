"""Markup and charts: nothing that is given can become markup, and charts stay within their frame."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from dualmatch.charts.markup import el, joined, name_of, visible
from dualmatch.charts.svg import WIDTH, Axis, Line, bars, lines, steps
from html_check import Page


@given(st.text(), st.text())
def test_any_text_stays_text(text: str, value: str) -> None:
    page = Page(el("p", text, el("b", "x"), title=value))
    assert [name for name, _ in page.tags] == ["p", "b"]
    assert page.unbalanced == []
    assert set(page.tags[0][1]) == {"title"}


def test_made_markup_stays_markup_and_joins() -> None:
    assert joined(el("i", "a"), "<b>", None, 3) == "<i>a</i>&lt;b&gt;3"
    assert isinstance(joined("x"), Markup)
    assert el("input", disabled=True, value=None, checked=False, tabindex=0) == '<input disabled tabindex="0">'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Ada\u202eadA", "Ada⟨U+202E⟩adA"),
        ("a\x00b\nc", "a⟨U+0000⟩b⟨U+000A⟩c"),
        ("\u200bAda", "⟨U+200B⟩Ada"),
        ("\ud800", "⟨U+D800⟩"),
        ("می‌خواهم", "می‌خواهم"),
        ("x" * 100_000, "x" * 120 + "… (100,000 characters)"),
    ],
)
def test_names_are_short_and_hide_nothing(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_labels_of_bars_do_not_run_into_each_other() -> None:
    labels = ["0", "1", *(f"{2**power}–{2 ** (power + 1) - 1}" for power in range(1, 14))]
    chart = bars(labels, [1] * len(labels), "Facts")
    shown = [(float(x), label) for x, label in re.findall(r'<text[^>]* x="([\d.]+)"[^>]*middle">([\d–]+)<', chart)]
    assert len(shown) > 3
    for (here, first), (there, second) in itertools.pairwise(shown):
        assert there - here > 6 * (len(first) + len(second)) / 2


def test_an_empty_name_is_shown_as_such() -> None:
    assert "(empty name)" in name_of("")


@given(
    st.floats(-1e6, 1e6, allow_nan=False), st.floats(0.001, 1e6, allow_nan=False), st.integers(min_value=1, max_value=9)
)
def test_ticks_lie_on_the_axis_in_order(low: float, span: float, most: int) -> None:
    ticks = Axis(low, low + span, 0, 100).ticks(most)
    assert ticks == sorted(set(ticks))
    assert all(low - 1e-6 * span <= tick <= low + 1.000001 * span for tick in ticks)  # a millionth is less than a pixel
    assert len(ticks) <= most + 2


def test_charts_stay_in_their_frame_and_say_what_they_show() -> None:
    charts = (
        bars(["a<b", "c"], [3, 0], "two <bars>"),
        lines([Line("up", [(0, 0), (1, 5)], dots=True), Line("down", [(0, 5), (1, 0)], "two")], "lines"),
        steps(1900, 10, [1, 0, 7], (1890, 1940), "years"),
        lines([Line("none", [])], "nothing"),
        bars(["one"], [0], "flat"),
    )
    for chart in charts:
        page = Page(chart)
        assert page.unbalanced == []
        assert page.count("script") == 0
        svg = next(attributes for tag, attributes in page.tags if tag == "svg")
        assert svg["role"] == "img"
        assert svg["aria-label"]
        height = float((svg["viewbox"] or "").split()[3])
        for tag, attributes in page.tags:
            for name, most in (("x", WIDTH), ("cx", WIDTH), ("y", height), ("cy", height)):
                if attributes.get(name) and tag != "svg":
                    assert 0 <= float(attributes[name] or "") <= most
            if tag == "rect":
                assert float(attributes["height"] or "") >= 0
    assert "style=" not in "".join(charts)
    assert "two &lt;bars&gt;" in charts[0]


def test_bars_are_as_high_as_their_values() -> None:
    heights = [float(value) for value in re.findall(r'<rect[^>]* height="([\d.]+)"', bars(["a", "b"], [10, 5], "x"))]
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.02)
