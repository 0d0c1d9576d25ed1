"""The timeline and the waterfall: right places, whole labels, and bars that can be told from paper and each other."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualmatch.charts.svg import waterfall
from dualmatch.charts.timeline import Lane, Span, timeline

NAMES = ("here", "there")
SHEETS = ("review/static/review.css",)


def drawn(*lanes: Lane, days: bool = True) -> str:
    figure = timeline(lanes, "title", names=NAMES, days=days)
    assert figure is not None
    return str(figure)


def ticks(figure: str, kind: str = "wide") -> list[str]:
    svg = next(part for part in figure.split("<svg") if f'class="{kind}"' in part[:200])
    return re.findall(r'<line class="grid"[^>]*></line><text[^>]*>([^<]*)</text>', svg)


def year(number: float) -> float:
    return (number - 1970) * 365.2425


def test_the_axis_has_years_months_or_days_as_facts_need() -> None:
    assert ticks(drawn(Lane("a", "a", Span(year(1900), year(2000))))) == [
        "1900",
        "1920",
        "1940",
        "1960",
        "1980",
        "2000",
    ]
    months = ticks(
        drawn(Lane("a", "a", Span(year(2009), year(2009.5))), Lane("b", "b", Span(year(2009.2), year(2010))))
    )
    assert months[0] == "Jan 2009"
    assert {"Mar", "Sep"} <= set(months)
    days = ticks(drawn(Lane("a", "a", Span(14_245.0, 14_250.0), Span(14_245.0, 14_247.0))))  # 2009-01-01 to 06
    assert days[0] == "31 Dec 2008"
    assert "3 Jan" in days
    assert len(ticks(drawn(Lane("a", "a", Span(year(1900), year(2000)))), "narrow")) <= 4
    assert ticks(drawn(Lane("a", "a", Span(3.0, 90.0)), days=False))[:2] == ["20", "40"]
    assert ticks(drawn(Lane("a", "a", Span(year(-5_000), year(12_000)))))[:2] == ["-5000", "-2500"]


def bars(figure: str, kind: str = "wide") -> list[tuple[float, float]]:
    svg = next(part for part in figure.split("<svg") if f'class="{kind}"' in part[:200])
    found = re.findall(r'<rect class="bar[^>]*x="([^"]*)"[^>]*width="([^"]*)"', svg)
    return [(float(x), float(width)) for x, width in found]


def legend(figure: str) -> list[str]:
    return re.findall(r"</svg> ([^<]*)</li>", figure)


@pytest.mark.parametrize("time", [Span(year(1813), year(1814)), Span(100.0, 101.0), Span(100.0, 131.0)])
def test_a_short_time_alone_has_room_around_it(time: Span) -> None:
    for figure in (drawn(Lane("a", "a", time)), drawn(Lane("a", "a", time, time))):
        for x, width in bars(figure):
            assert 100.0 < width < 790.0 / 4
            assert x > 330.0 + width
    ((_, whole),) = bars(drawn(Lane("a", "a", Span(year(1813), year(1853)))))
    assert whole > 700.0
    assert {"1812", "1813", "1814"} <= {*ticks(drawn(Lane("a", "a", Span(year(1813), year(1814)))))}


def test_a_match_with_one_time_has_words_for_the_other() -> None:
    time = Span(year(1813), year(1814))
    for lane, words, side in (
        (Lane("a", "a", time, None, True), "target", "here"),
        (Lane("a", "a", None, time, True), "source", "there"),
    ):
        figure = drawn(lane)
        assert figure.count(f">no time given in the {words}</text>") == 2
        assert figure.count('<g class="fact matching">') == 2 + 1  # and in the legend
        assert "join" not in figure
        assert legend(figure) == [side]
    assert legend(drawn(Lane("a", "a", time, None, True), Lane("b", "b", time))) == ["here", "only one has it"]
    assert "no time given" not in drawn(Lane("a", "a", time, time, True))


def test_the_legend_has_what_is_drawn() -> None:
    time = Span(year(1813), year(1814))
    assert legend(drawn(Lane("a", "a", time))) == ["here"]
    assert legend(drawn(Lane("a", "a", None, Span(0.0, None)))) == ["there", "end not known"]
    assert legend(drawn(Lane("a", "a", time), Lane("b", "b", None, time))) == ["here", "there", "only one has it"]
    assert legend(drawn(Lane("a", "a", time, time))) == ["here", "there"]


def test_open_ends_fade_and_others_do_not() -> None:
    figure = drawn(
        Lane("known", "k", Span(0.0, 900.0), Span(0.0, 900.0)),
        Lane("since", "s", Span(300.0, None)),
        Lane("until", "u", None, Span(None, 600.0)),
    )
    assert figure.count('mask="url(#timeline-right)"') == 2 + 1  # for wide and narrow screens, and in the legend
    assert figure.count('mask="url(#timeline-left)"') == 2
    assert figure.count('class="join"') == 2
    assert figure.count('fill="url(#timeline-hatch)"') == 2 + 1  # the second of a match differs in grey, too
    assert {"here", "there", "only one has it", "end not known"} == set(re.findall(r"</svg> ([^<]*)</li>", figure))
    assert "style=" not in figure


def test_labels_are_whole_or_end_in_an_ellipsis_and_nothing_is_drawn_without_times() -> None:
    long = "member of a political party that has a name which no lane has room for, neither here nor there"
    figure = drawn(Lane(long, long, Span(0.0, 10.0)), Lane("<b>", "</title><script>", Span(0.0, 10.0)))
    assert figure.count("…</text>") == 2
    assert f"<title>{long}</title>" in figure
    assert "<script>" not in figure
    assert timeline([Lane("a", "a")], "title", names=NAMES) is None
    assert timeline([], "title", names=NAMES) is None


numbers = st.floats(-1e6, 1e6)
SPANS = st.one_of(
    st.builds(lambda *ends: Span(*sorted(ends)), numbers, numbers),
    st.builds(lambda end: Span(end, None), numbers),
    st.builds(lambda end: Span(None, end), numbers),
)
TICK = re.compile(r'<text class="tick" x="([^"]*)"[^>]*text-anchor="(middle|end)">([^<]*)<')


@given(st.lists(SPANS, min_size=1, max_size=5), st.booleans())
def test_every_bar_and_label_lies_inside_the_drawing(spans: list[Span], days: bool) -> None:
    figure = drawn(*(Lane("a", "a", span) for span in spans), days=days)
    drawings = re.findall(r'viewBox="0 0 (\d+) \d+"[^>]*>(.*?)</svg>', figure)
    assert len(drawings) == 2
    for width, body in drawings:
        for x, wide in re.findall(r'<rect class="bar[^>]*x="([^"]*)"[^>]*width="([^"]*)"', body):
            assert float(x) >= 0.0
            assert 0.0 < float(wide) <= float(width) - float(x) + 0.02
        for x, anchor, words in TICK.findall(body):
            assert float(x) + (len(words) * 6.4 / 2 if anchor == "middle" else 0.0) <= float(width)


def test_a_waterfall_adds_up() -> None:
    steps = [3.0, 1.0, -5.0, 2.5]
    bars = [re.findall(r'class="(plus|minus)" x="([^"]*)" y="3" width="([^"]*)"', bar)[0] for bar in waterfall(steps)]
    assert [kind for kind, *_ in bars] == ["plus", "plus", "minus", "plus", "plus"]
    spans = [(float(x), float(x) + float(width)) for _, x, width in bars]
    assert spans[0][1] == pytest.approx(spans[1][0], abs=0.1)  # each begins where the last one ended
    assert spans[1][1] == pytest.approx(spans[2][1], abs=0.1)
    assert spans[2][0] == pytest.approx(spans[3][0], abs=0.1)
    assert spans[3][1] == pytest.approx(spans[4][1], abs=0.1)
    assert waterfall([])


def luminance(colour: str) -> float:
    whole = colour * 2 if len(colour) == 3 else colour
    parts = [int(whole[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("sheet", SHEETS)
def test_bars_stand_out_from_paper_in_light_and_dark(sheet: str) -> None:
    text = (files("dualmatch") / sheet).read_text(encoding="utf-8")
    schemes = [
        dict(re.findall(r"--(\w+): #([0-9a-fA-F]{3,6})\b", part)) for part in re.findall(r":root \{(.*?)\}", text, re.S)
    ]
    light, dark = schemes[:2]
    assert light["paper"] != dark["paper"]
    for scheme in (light, dark):
        for colour in ("one", "two", "edge"):
            assert contrast(scheme[colour], scheme["paper"]) >= 3.0, (sheet, colour)
        for colour in ("ink", "faint", "one", "no", "yes"):
            assert contrast(scheme[colour], scheme["paper"]) >= 4.5, (sheet, colour)
    # Every kind of bar is filled or lined with one of these.
    assert re.search(r"\.bar\.source \{ stroke: var\(--one\)", text)
    assert re.search(r"\.bar\.target \{ stroke: var\(--two\)", text)
    assert contrast("000", "fff") == pytest.approx(21.0)
