"""Charts by public names: what they show is what the object holds, and notebooks can show them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from conftest import lives
from dualmatch import Alignment, Chart, InputError, TemporalGraph, align, evaluate, explain
from dualmatch.charts.svg import Line, lines
from dualmatch.charts.timeline import span_of
from html_check import Page


@pytest.fixture(scope="module")
def alignment() -> Alignment:
    return align(*lives())


def counts(chart: Chart) -> list[int]:
    return [int(number) for number in re.findall(r'class="count"[^>]*>(\d+)<', chart.drawing)]


def sums_of(chart: Chart) -> list[float]:
    return [float(number) for number in re.findall(r'class="count"[^>]*>([+-][\d.]+)<', chart.drawing)]


def test_confidence_and_verdicts_count_every_entity_once(alignment: Alignment) -> None:
    assert sum(counts(alignment.plot_confidence())) == len(alignment.pairs)
    shown = re.findall(r">(linked|undecided|no match) ([\d,]+)<", alignment.plot_verdicts().drawing)
    assert {name: int(count) for name, count in shown} == {
        verdict: alignment.verdicts.count(verdict) for verdict in ("linked", "undecided", "no match")
    }


def test_calibration_has_a_point_for_each_bin(alignment: Alignment) -> None:
    gold = [(source, target) for source, target, _ in alignment.links()]
    found = evaluate(alignment, gold)
    assert counts(found.plot_calibration()) == [each.pairs for each in found.calibration.bins]
    nothing = evaluate(align(*lives(), min_confidence=1.0), gold)
    assert counts(nothing.plot_calibration()) == []


def test_rounds_have_two_points_each(alignment: Alignment) -> None:
    assert alignment.rounds
    shown = re.findall(r"pairs believed at (\d+): ([\d,]+)<", alignment.plot_rounds().drawing)
    assert [(int(number), int(pairs)) for number, pairs in shown] == [(r.number, r.pairs) for r in alignment.rounds]
    assert alignment.plot_rounds().drawing.count("<circle") == 2 * len(alignment.rounds)
    with pytest.raises(InputError, match="method temporal takes no rounds"):
        align(*lives(), method="temporal").plot_rounds()


def test_labels_of_the_scale_fit_on_a_phone() -> None:
    """There they are drawn with 15 px, of which a wide font takes 9.5 for a digit and less for a point or a blank."""
    chart = lines([Line("", [(0, 0.0), (1, 0.0035)])], "shares", y_range=(0, 0.0035), percent=True)
    labels = re.findall(r'x="([\d.]+)"[^>]*text-anchor="end">([^<]*)<', chart.drawing)
    assert "0.25 %" in [words for _, words in labels] or "0.3 %" in [words for _, words in labels]
    long = lines([Line("", [(0, 0.0), (1, 0.0008)])], "shares", y_range=(0, 0.0008), percent=True)
    labels += re.findall(r'x="([\d.]+)"[^>]*text-anchor="end">([^<]*)<', long.drawing)
    widths = {words: sum({".": 4.8, " ": 4.8, "%": 14.3}.get(each, 9.5) for each in words) for _, words in labels}
    assert [words for end, words in labels if float(end) < widths[words]] == []


def test_times_of_one_graph_or_of_two() -> None:
    source, target = lives()
    one, both = source.plot_times(), source.plot_times(target)
    assert one.drawing.count("<polyline") == 1
    assert both.drawing.count("<polyline") == 2
    assert "one view" in both.drawing
    assert "share of the graph" in one.title
    undated = TemporalGraph.from_facts([("Ada", "met", "Charles")], "undated")
    with pytest.raises(InputError, match="no fact of undated has a time"):
        undated.plot_times()
    assert undated.plot_times(source).drawing.count("<polyline") == 1


def test_a_waterfall_adds_up(alignment: Alignment) -> None:
    source = alignment.links()[0][0]
    why = explain(alignment, source)
    *parts, total = sums_of(why.plot())
    assert sum(parts) == pytest.approx(total, abs=0.01 * len(parts))
    assert total == pytest.approx(why.log_odds, abs=0.005)
    assert len(sums_of(why.plot(top=0))) == len(parts) + 1 - len(why.shared) + (1 if why.shared else 0)
    undecided = [explain(alignment, alignment.source.entities[row]) for row in alignment.unmatched.tolist()]
    for each in (each for each in undecided if each.others):
        assert sums_of(each.plot())[-1] == pytest.approx(each.others[0].log_odds, abs=0.005)
    with pytest.raises(InputError, match="Nobody has no candidate"):
        explain(alignment, "Nobody").plot()


def test_notebooks_show_them(alignment: Alignment, tmp_path: Path) -> None:
    source, target = lives()
    charts = [alignment.plot_confidence(), alignment.plot_verdicts(), source.plot_times(target)]
    charts.append(explain(alignment, alignment.links()[0][0]).plot())
    for number, chart in enumerate(charts):
        page = Page(chart._repr_html_())
        assert page.unbalanced == []
        assert page.count("figcaption") == 1
        assert chart._repr_svg_().startswith("<svg")
        chart.save(tmp_path / f"{number}.svg")
    assert len([*tmp_path.iterdir()]) == 4
    assert alignment.plot_confidence() == alignment.plot_confidence()
    empty = align(*lives(), min_confidence=1.0)
    assert isinstance(empty.plot_confidence(), Chart)
    assert np.array_equal(empty.pairs, np.zeros((0, 2)))


def test_a_timeline_has_a_lane_for_each_shared_fact_with_a_time(alignment: Alignment) -> None:
    source = alignment.links()[0][0]
    why = explain(alignment, source)
    dated = [fact for fact in why.shared if fact.fact.begin or fact.fact.end]
    chart = why.plot_timeline()
    assert chart.drawing.count('class="fact') == len(dated) > 0
    assert why.plot_timeline(top=1).drawing.count('class="fact') == 1
    assert Page(chart._repr_svg_()).unbalanced == []
    with pytest.raises(InputError, match="Nobody has no candidate"):
        explain(alignment, "Nobody").plot_timeline()
    seeds = [("Ada", "Q1"), ("Bob", "Q2")]
    undated = align([("Ada", "met", "Bob")], [("Q1", "P", "Q2")], seeds=seeds)
    with pytest.raises(InputError, match="Ada shares no fact that has a time"):
        explain(undated, "Ada").plot_timeline()


@pytest.mark.parametrize(
    ("begin", "end", "span"),
    [
        ("1970", "1970", (0.0, 365.0)),
        ("1970-12", "1970-12", (334.0, 365.0)),
        ("1970-12-31", None, (364.0, None)),
        (None, "1970-12-31", (None, 365.0)),
        ("-0044-03-15", "-0043", None),
    ],
)
def test_spans_end_with_the_day_after(begin: str | None, end: str | None, span: tuple[float, float] | None) -> None:
    found = span_of(begin, end)
    assert found is not None
    if span is not None:
        assert (found.begin, found.end) == span
    else:
        assert found.begin is not None
        assert found.end is not None
        assert 365 < found.end - found.begin < 731
