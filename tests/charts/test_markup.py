"""Markup and charts: nothing that is given can become markup, and charts stay within their frame."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from dualmatch.charts.chart import Chart
from dualmatch.charts.markup import el, joined, name_of, visible
from dualmatch.charts.svg import WIDTH, Axis, Bars, Line, bars, lines, shares, stairs, weight_bar
from dualmatch.errors import InputError, OutputError
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
    chart = bars(labels, [Bars("entities", [1] * len(labels))], "Facts").drawing
    shown = [(float(x), label) for x, label in re.findall(r'class="tick" x="([\d.]+)"[^>]*middle">([\d–]+)<', chart)]
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
        bars(["a<b", "c"], [Bars("one", [3, 0])], "two <bars>"),
        lines([Line("up", [(0, 0), (1, 5)], dots=True), Line("down", [(0, 5), (1, 0)], "two")], "lines"),
        lines([Line("years", stairs(1900, 10, [0.1, 0.0, 0.7]))], "years", percent=True, whole=True),
        bars(["a", "b", "c"], [Bars("here", [1, 2, 9000]), Bars("there", [0, 3, 1], "two")], "log", x_label="x"),
        shares([("linked", 3, "one"), ("undecided", 0, "two"), ("no match, and a long label", 2, "rest")], "parts"),
        lines([Line("n", [(0.5, 0.4), (1.0, 1.0)], dots=True, counts=[3, 12_000])], "counts", y_range=(0.0, 1.0)),
        lines([Line("none", [])], "nothing"),
        bars(["one"], [Bars("one", [0])], "flat"),
        shares([], "no parts"),
    )
    for chart in charts:
        page = Page(chart.__html__())
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
        assert "style" not in chart.__html__()
    assert "two &lt;bars&gt;" in charts[0].__html__()


def test_one_bar_does_not_hide_the_others() -> None:
    """Counts that differ by orders of magnitude are drawn on a logarithmic scale, and numbered; shares never are."""
    chart = bars([*"abcd"], [Bars("links", [3, 5, 4, 8000])], "Links")
    assert chart.title == "Links (logarithmic scale)"
    heights = _heights(chart)
    assert min(heights) > 0.15 * max(heights)
    assert ">8,000</text>" in chart.drawing
    assert bars([*"abcd"], [Bars("links", [0.001, 0.002, 0.001, 0.99])], "Links", percent=True).title == "Links"
    assert bars(["a", "b"], [Bars("links", [1, 8000])], "Two").title == "Two"


def test_weights_go_to_either_side_of_the_middle() -> None:
    places = [
        re.findall(r'rect [^>]*x="([\d.]+)"[^>]* width="([\d.]+)"', weight_bar(value, 4.0))[0] for value in (2, -4)
    ]
    assert places == [("60", "29.5"), ("1", "59")]
    assert weight_bar(0.0, 0.0)


def test_a_chart_stands_by_itself(tmp_path: Path) -> None:
    chart = shares([("linked & sure", 3, "one"), ("open", 1, "two")], "</style><script>x</script>")
    for text in (chart._repr_svg_(), chart._repr_html_()):
        page = Page(text)
        assert page.unbalanced == []
        assert page.count("script") == 0
        assert "prefers-color-scheme: dark" in text
    chart.save(tmp_path / "chart.svg")
    drawn = ElementTree.parse(tmp_path / "chart.svg").getroot()
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    chart.save(str(tmp_path / "chart.html"))
    assert Page((tmp_path / "chart.html").read_text()).count("svg") == 1
    with pytest.raises(InputError, match=r"chart\.png: charts are written as \.svg or \.html"):
        chart.save(tmp_path / "chart.png")
    with pytest.raises(OutputError, match=r"cannot be written \(No such file"):
        chart.save(tmp_path / "none" / "chart.svg")


def _heights(chart: Chart) -> list[float]:
    return [float(value) for value in re.findall(r'<rect[^>]* height="([\d.]+)"', chart.drawing)]


def test_bars_are_as_high_as_their_values() -> None:
    heights = _heights(bars(["a", "b"], [Bars("n", [10, 5])], "x"))
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.02)
