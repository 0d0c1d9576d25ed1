"""Gaps between dates, by hand and against a twin that looks at every pair of facts."""

from collections import Counter

import numpy as np
import pytest

from dualmatch import TemporalGraph
from dualmatch.channels.evidence import dates
from dualmatch.channels.evidence.agreement import RelationOdds, Side, bayes_factors, sides_of, widest_gap
from dualmatch.channels.evidence.dates import N_GAPS, DateGaps, gap_class, gaps_by_chance
from dualmatch.channels.evidence.ties import Ties
from dualmatch.graph.times import Precision


def sides(source: list[tuple[str, ...]], target: list[tuple[str, ...]]) -> tuple[Side, Side]:
    return sides_of(Ties.of(TemporalGraph.from_facts(source)), Ties.of(TemporalGraph.from_facts(target)), False)


def gap_of(source: tuple[str, ...], target: tuple[str, ...]) -> tuple[int, int]:
    level, gap = widest_gap(sides([source], [target]), np.array([0]), np.array([0]))
    return int(level[0]), int(gap[0])


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (("1900-02-28",), ("1900-03-01",), (Precision.DAY, 0)),  # 1900 was no leap year
        (("1904-02-28",), ("1904-03-01",), (Precision.DAY, 1)),
        (("1999-12-31",), ("2000-01",), (Precision.MONTH, 0)),
        (("1999-12-31",), ("2003",), (Precision.YEAR, 2)),
        (("1999",), ("1999-12-31",), (-1, -1)),
        (("",), ("1999",), (-1, -1)),
        (("1900", "1904"), ("1901", "1914"), (Precision.YEAR, 3)),  # the wider one counts
        (("1900", "1904"), ("1900", "1905"), (Precision.YEAR, 0)),
        (("-44",), ("44",), (Precision.YEAR, 6)),
    ],
)
def test_gaps_are_counted_in_what_both_dates_are_known_to(
    source: tuple[str, ...], target: tuple[str, ...], expected: tuple[int, int]
) -> None:
    assert gap_of(("a", "r", "b", *source), ("x", "p", "y", *target)) == expected


@pytest.mark.parametrize("seed", range(3))
def test_gaps_by_chance_are_those_of_other_facts_of_a_neighbour(seed: int) -> None:
    rng = np.random.default_rng(seed)
    facts = [(f"e{rng.integers(6)}", "r", f"n{rng.integers(3)}", str(1900 + rng.integers(40))) for _ in range(60)]
    ties = Ties.of(TemporalGraph.from_facts(facts), most_facts=100)
    side, _ = sides_of(ties, ties, False)
    found = gaps_by_chance(ties, side.begin)
    expected = np.zeros(N_GAPS)
    years = ties.begin // 416
    for f in range(ties.n_facts):
        neighbour = ties.neighbour[ties.tie[f]]
        others = [
            int(gap_class(np.array([years[f] - years[g]]))[0])
            for g in range(ties.n_facts)
            if ties.neighbour[ties.tie[g]] == neighbour and ties.tie[g] != ties.tie[f] and years[f] != years[g]
        ]
        for gap, count in Counter(others).items():
            expected[gap] += count / len(others)
    expected = np.maximum(expected / expected.sum(), 1e-3)
    assert found[Precision.YEAR] == pytest.approx(expected / expected.sum())
    assert found[Precision.DAY] == pytest.approx(1 / N_GAPS)  # no such dates


def test_a_sample_shows_much_the_same_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    facts = [
        (f"e{rng.integers(300)}", "r", f"n{rng.integers(300)}", str(1800 + rng.integers(200))) for _ in range(4000)
    ]
    ties = Ties.of(TemporalGraph.from_facts(facts))
    side, _ = sides_of(ties, ties, False)
    whole = gaps_by_chance(ties, side.begin)
    monkeypatch.setattr(dates, "_MOST_SAMPLED", 2000)
    part = gaps_by_chance(ties, side.begin)
    assert not np.array_equal(part, whole)
    assert part == pytest.approx(whole, abs=0.03)


def test_what_was_seen_more_often_than_by_chance_speaks_for_a_pair() -> None:
    by_chance = np.full((3, N_GAPS), 1 / N_GAPS)
    seen = np.zeros((3, N_GAPS))
    seen[Precision.YEAR, 0] = 80
    gaps = DateGaps.learnt(0.1, seen, by_chance)
    near = (80 + 20 / N_GAPS) / (80 + 20) * N_GAPS
    far = (20 / N_GAPS) / (80 + 20) * N_GAPS
    assert gaps.ratio[Precision.YEAR] == pytest.approx([near] + [far] * (N_GAPS - 1))
    assert gaps.ratio[Precision.DAY] == pytest.approx(1)
    pair = sides([("a", "r", "b", "1900")], [("x", "p", "y", "1901"), ("x", "p", "z", "1950")])
    odds = RelationOdds.unknown(pair[0].ties, pair[1].ties)
    j = np.array([int(np.flatnonzero(pair[1].ties.side == row)[0]) for row in (0, 1)])
    factors = bayes_factors(pair, odds, gaps, np.zeros(2, int), j)[0]
    assert factors == pytest.approx([0.1 * near, 0.1 * far])


def test_times_without_a_calendar_have_no_gaps() -> None:
    columns = [np.array(column, np.int32) for column in ([0, 0], [0, 0], [1, 2], [7, 8], [7, 8])]
    ties = Ties.of(TemporalGraph(*columns, ("a", "b", "c"), ("r",), opaque_times=True))
    pair = sides_of(ties, ties, True)
    everything = np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4)
    assert set(widest_gap(pair, *everything)[1].tolist()) == {-1, 0}
    seen = np.zeros((3, N_GAPS))
    seen[0, 0] = 1000
    assert DateGaps.learnt(0.2, seen, gaps_by_chance(pair[0].ties, pair[0].begin)).ratio[0, 0] == pytest.approx(
        1, abs=0.01
    )
