"""Agreement of facts, by examples that can be computed by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse as sp

from dualmatch import TemporalGraph
from dualmatch.channels.evidence import agreement
from dualmatch.channels.evidence.agreement import (
    RelationOdds,
    Side,
    bayes_factors,
    open_facts,
    room_elsewhere,
    sides_of,
)
from dualmatch.channels.evidence.dates import DateGaps, DistinctDates, dates_of
from dualmatch.channels.evidence.ties import Ties
from dualmatch.graph.times import UNKNOWN, Precision, encode_date, parse_date

DIFFER = 0.01


def sides(source: list[tuple[str, ...]], target: list[tuple[str, ...]], opaque: bool = False) -> tuple[Side, Side]:
    return sides_of(Ties.of(TemporalGraph.from_facts(source)), Ties.of(TemporalGraph.from_facts(target)), opaque)


def fact(side: Side, graph_row: int) -> int:
    """The place of a fact of the graph, as its head sees it."""
    return int(np.flatnonzero(side.ties.side == graph_row)[0])


def factors(pair: tuple[Side, Side], row: int, other: int, odds: RelationOdds | None = None) -> tuple[float, float]:
    """Bayes factors of two facts of the graphs, seen from either side."""
    odds = RelationOdds.unknown(pair[0].ties, pair[1].ties) if odds is None else odds
    f, j = np.array([fact(pair[0], row)]), np.array([fact(pair[1], other)])
    from_source, from_target = bayes_factors(pair, odds, DateGaps.unknown(DIFFER), f, j)
    return float(from_source[0]), float(from_target[0])


FIVE_DATES = [("a", "met", "b", year) for year in ("1900", "1900", "1901", "1902", "1903")]


def test_a_date_is_as_likely_as_it_is_frequent_less_a_discount() -> None:
    """1900 twice, three years once: n1 = 3, n2 = 1, so the discount is 3 / (3 + 2 + 1) = 1/2."""
    facts = [*FIVE_DATES[1:], ("c", "met", "d", "1900")]
    source, _ = sides(facts, [("x", "p", "y", "1950")])
    at = [fact(source, row) for row in range(5)]
    assert source.begin.chance(Precision.YEAR, at) == pytest.approx([1.5 / 5, 0.5 / 5, 0.5 / 5, 0.5 / 5, 1.5 / 5])


def test_dates_that_all_occur_once_say_next_to_nothing_about_how_often_they_would() -> None:
    facts = [(f"a{year}", "met", "b", str(year)) for year in range(1900, 1910)]
    source, _ = sides(facts, [("x", "p", "y", "1950")])
    assert source.begin.chance(Precision.YEAR, np.arange(source.ties.n_facts)) == pytest.approx((1 - 10 / 11) / 10)


def test_a_date_counts_among_those_known_as_exactly() -> None:
    """Of three dates one is known to the day: among days it is the only one, among years one of two in 1900."""
    facts = [("a", "met", "b", "1900-05-01"), ("c", "met", "d", "1900"), ("e", "met", "f", "1901")]
    source, _ = sides(facts, [("x", "p", "y", "1950")])
    day = fact(source, 0)
    assert source.begin.precision[day] == Precision.DAY
    assert source.begin.chance(Precision.DAY, day) == pytest.approx(1 - 1 / 2)  # n1 = 1, n2 = 0
    assert source.begin.chance(Precision.YEAR, day) == pytest.approx((2 - 1 / 4) / 3)  # n1 = 1, n2 = 1


def test_facts_agree_at_the_precision_that_both_have() -> None:
    pair = sides(
        [("a", "met", "b", "1900-05-01"), ("c", "met", "d", "1900-05-02"), ("e", "met", "f")],
        [("x", "p", "y", "1900-05"), ("z", "p", "w", "1901-05")],
    )
    f = np.array([fact(pair[0], row) for row in (0, 0, 2)])
    j = np.array([fact(pair[1], row) for row in (0, 1, 0)])
    level, agree = agreement.compared(pair[0].begin, pair[1].begin, f, j)
    assert level.tolist() == [Precision.MONTH, Precision.MONTH, -1]
    assert agree.tolist() == [True, False, False]
    # month 1900-05 is two of two among the source's months, and one of two among the target's
    assert factors(pair, 0, 0) == pytest.approx(((1 - DIFFER) / ((1 - 2 / 3) / 2), (1 - DIFFER) / (2 / 2)))


def test_dates_that_differ_speak_against_and_unknown_ones_say_nothing() -> None:
    pair = sides([("a", "met", "b", "1900"), ("c", "met", "d")], [("x", "p", "y", "1901")])
    assert factors(pair, 0, 0) == pytest.approx((DIFFER, DIFFER))
    assert factors(pair, 1, 0) == pytest.approx((1 - DIFFER, 1 - DIFFER))


def test_an_interval_counts_by_its_begin_and_by_its_end_given_the_begin() -> None:
    spans = [("a", "held", "b", "1900", "1904"), ("c", "held", "d", "1900", "1904"), ("e", "held", "f", "1901", "1909")]
    pair = sides(spans, [("x", "p", "y", "1900", "1904")])
    f = fact(pair[0], 0)
    begin = (2 - 1 / 4) / 3  # 1900 twice, 1901 once
    end = (4 + 5 * begin) / (4 + 5)  # both facts that begin in 1900 end in 1904, and are listed twice
    assert pair[0].begin.chance(Precision.YEAR, f) == pytest.approx(begin)
    assert pair[0].end_chance[Precision.YEAR, f] == pytest.approx(end)
    assert factors(pair, 0, 0)[1] == pytest.approx((1 - DIFFER) / (begin * end))


def test_a_point_counts_once() -> None:
    """Its end is its begin over again, even where the graphs have intervals, too."""
    points = [("a", "met", "b", "1900"), ("c", "held", "d", "1910", "1920")]
    pair = sides(points, [("x", "p", "y", "1900"), ("z", "q", "w", "1930", "1940")])
    assert factors(pair, 0, 0)[0] == pytest.approx((1 - DIFFER) / ((1 - 2 / 3) / 2))


def test_intervals_whose_ends_differ_speak_against() -> None:
    pair = sides([("a", "held", "b", "1900", "1904")], [("x", "p", "y", "1900", "1905")])
    assert factors(pair, 0, 0)[0] == pytest.approx(DIFFER / (1 - 1 / 2))


def test_opaque_times_are_equal_or_not() -> None:
    codes = TemporalGraph(
        *(np.array(column, np.int32) for column in ([0, 0], [0, 0], [1, 2], [832_100, 832_101], [832_100, 832_101])),
        ("a", "b", "c"),
        ("r",),
        opaque_times=True,
    )
    pair = sides_of(Ties.of(codes), Ties.of(codes), opaque=True)
    assert pair[0].begin.n_precisions == 1
    assert factors(pair, 0, 0)[0] > 1 > factors(pair, 0, 1)[0]


def test_relation_odds_by_hand() -> None:
    """Relation r was found as p three times and as q once; p makes up 3.5 of 6 facts, halves counted."""
    source = Ties.of(TemporalGraph.from_facts([("a", "r", "b", "1900"), ("a", "s", "c", "1901")]))
    target = Ties.of(TemporalGraph.from_facts([("x", "p", "y", "1900"), ("x", "q", "z", "1901")]))
    together = sp.csr_matrix(([3.0, 1.0], ([0, 0], [0, 1])), shape=(4, 4))
    odds = RelationOdds.of(together, source, target)
    share = (1 + 0.5) / (4 + 0.5 * 4)  # every directed relation is one of four listed facts
    assert odds.chances[0] == pytest.approx([share] * 4)
    r, p, q = np.array([0]), np.array([0]), np.array([1])
    forward, backward = odds.at(r, p)
    assert (forward[0], backward[0]) == pytest.approx(((3 / share + 1) / (4 + 1), (3 / share + 1) / (3 + 1)))
    assert odds.at(r, q)[1][0] == pytest.approx((1 / share + 1) / (1 + 1))
    assert odds.at(np.array([1]), p) == (pytest.approx([1.0]), pytest.approx([1 / 4]))


def test_relations_that_were_never_seen_together_say_nothing() -> None:
    ties = Ties.of(TemporalGraph.from_facts([("a", "r", "b", "1900"), ("a", "s", "c", "1901")]))
    everything = np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4)
    for side in RelationOdds.unknown(ties, ties).at(*everything):
        assert (side == 1).all()


def test_a_large_vocabulary_is_looked_up_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    ties = Ties.of(TemporalGraph.from_facts([("a", f"r{i}", "b", str(1900 + i)) for i in range(6)]))
    together = sp.random(12, 12, 0.3, "csr", random_state=rng)
    everything = np.repeat(np.arange(12), 12), np.tile(np.arange(12), 12)
    table = RelationOdds.of(together, ties, ties).at(*everything)
    monkeypatch.setattr(agreement, "_LARGEST_TABLE", 0)
    for one, other in zip(table, RelationOdds.of(together, ties, ties).at(*everything), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_neighbour_is_as_likely_as_its_relation_makes_it() -> None:
    """Of four facts "in" three are in London; each is drawn towards its share of all ten listed facts by five."""
    facts = [
        ("a", "in", "London", "1"),
        ("b", "in", "London", "2"),
        ("c", "in", "London", "3"),
        ("d", "in", "Rome", "4"),
    ]
    source, _ = sides([*facts, ("a", "met", "Rome", "5")], [("x", "p", "y", "6")])
    london, rome, met = (fact(source, row) for row in (0, 3, 4))
    assert source.neighbour_chance[london] == pytest.approx((3 + 5 * 3 / 10) / (4 + 5))
    assert source.neighbour_chance[rome] == pytest.approx((1 + 5 * 2 / 10) / (4 + 5))
    assert source.neighbour_chance[met] == pytest.approx((1 + 5 * 2 / 10) / (1 + 5))


def test_a_tie_has_room_elsewhere_where_unknown_facts_of_its_time_are_left() -> None:
    """Three facts of 1900 look for one that is left; none is left of 1901; what has no date may be anything."""
    source = [
        ("a", "met", "b", "1900"),
        ("a", "met", "c", "1900"),
        ("a", "met", "d", "1900"),
        ("a", "met", "e", "1901"),
    ]
    pair = sides([*source, ("a", "met", "f")], [("x", "p", "y", "1900"), ("z", "q", "w", "1901")])
    unknown = np.ones(pair[0].ties.n_entities), np.array([1.0, 1.0, 0.0, 0.0])
    source_open, target_open = (open_facts(side, chance) for side, chance in zip(pair, unknown, strict=True))
    room = room_elsewhere(pair[0], source_open, target_open)
    of_a = room[pair[0].ties.entity == 0]
    assert of_a == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 1])
    assert room_elsewhere(pair[1], target_open, source_open) == pytest.approx([1, 1, 1, 1])


DATES = ("1900", "1901", "1900-03", "1900-04", "1900-03-01", "1900-03-02", "1901-03-01")


@given(st.lists(st.sampled_from(DATES), min_size=1, max_size=12), st.lists(st.sampled_from(DATES), max_size=12))
def test_room_at_a_date_is_what_its_facts_find_long_blocks(here: list[str], there: list[str]) -> None:
    """Two dates can be of one fact where one begins with the other, as text."""
    known = sorted({*here, *there})
    codes = np.array([parse_date(text) for text in known], np.int32)
    order = np.argsort(codes)
    distinct = DistinctDates.of(codes[order], opaque=False)
    texts = [known[at] for at in order]
    sought, offered = (np.array([float(side.count(text)) for text in texts]) for side in (here, there))
    room = distinct.room(sought, offered)
    for at, text in enumerate(texts):
        met = sum(other.startswith(text) or text.startswith(other) for other in there)
        rivals = sum(other.startswith(text) for other in here)
        assert room[at] == pytest.approx(min(1.0, met / max(rivals, 1e-9)))


def test_room_of_some_ties_is_that_of_all() -> None:
    source = [("a", "met", "b", "1900"), ("a", "met", "b", "1901-05"), ("a", "met", "c"), ("b", "met", "c", "1901")]
    pair = sides(source, [("x", "p", "y", "1901-05-06"), ("x", "p", "z", "1900")])
    sought, offered = (open_facts(side, np.full(side.ties.n_entities, 0.5)) for side in pair)
    whole = room_elsewhere(pair[0], sought, offered)
    for asked in (np.array([4, 1, 0]), np.zeros(0, np.int64)):
        assert room_elsewhere(pair[0], sought, offered, asked).tolist() == whole[asked].tolist()


def test_dates_of_all_codes_are_numbered() -> None:
    """The earliest and the latest date that a graph may have, one beyond the table, and none."""
    codes = np.array([encode_date(-5_000_000), UNKNOWN, encode_date(5_000_000, 12, 31), encode_date(2000, 5)], np.int32)
    source, target = dates_of((codes.astype(np.int64), codes[:2].astype(np.int64)), opaque=False)
    assert source.code.tolist() == codes.tolist()
    assert source.precision.tolist() == [0, -1, 2, 1]
    assert target.numbers(0).tolist() == [0, -1]
    assert source.on_calendar(Precision.YEAR, np.array([0, 2, 3])).tolist() == [-5_000_000, 5_000_000, 2000]
