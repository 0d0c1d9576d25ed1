"""Evidence of entity dates against a slow twin, and what is learnt from planted pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dated_people import people
from dualmatch import TemporalGraph
from dualmatch.channels.evidence.date_evidence import (
    DateAgreement,
    compare_dates,
    date_evidence,
    learn_dates,
    missed_dates,
)
from dualmatch.channels.evidence.dated_entities import DatedEntities, DatedPair, dated_entities
from dualmatch.channels.evidence.dates import N_GAPS, gap_class
from dualmatch.decode.one_to_one import Candidates
from dualmatch.graph.entity_dates import EntityDates
from dualmatch.graph.times import Precision, coarsen, encode_date, on_calendar, precision_of
from dualmatch.simulate import shuffled_copy

NO_FACTS = np.zeros(0, np.int32)


def random_dates(rng: np.random.Generator, n_entities: int, n_dates: int, n_relations: int = 2) -> TemporalGraph:
    """Points of every precision, within a few years; several dates of one relation, and the same date twice."""
    month = rng.integers(0, 3, n_dates)
    code = encode_date(rng.integers(1900, 1904, n_dates), month, rng.integers(0, 3, n_dates) * (month > 0))
    rows = np.stack([rng.integers(0, n_entities, n_dates), rng.integers(0, n_relations, n_dates), code, code], axis=1)
    names = tuple(f"e{i}" for i in range(n_entities)), tuple(f"r{i}" for i in range(n_relations))
    return TemporalGraph(*[NO_FACTS] * 5, *names, dates=EntityDates.of_rows(np.unique(rows, axis=0)))


def random_model(rng: np.random.Generator, sides: DatedPair) -> DateAgreement:
    shape = sides[0].n_relations, sides[1].n_relations
    rates = rng.uniform(0.0, 0.9, shape), rng.uniform(0.0, 0.9, shape)
    present = tuple(rng.uniform(0.3, 0.9, size) for size in shape)
    return DateAgreement(rates, rng.uniform(0.2, 5.0, (len(Precision), N_GAPS)), (present[0], present[1]))


def both_sides(source: TemporalGraph, target: TemporalGraph) -> DatedPair:
    sides = dated_entities(source, target)
    assert sides is not None
    return sides


def twin_chance(side: DatedEntities, date: int, level: int) -> float:
    """Absolute discounting, precision by precision, written out for one date."""
    codes = side.begin.code.astype(np.int32)
    same = side.relation == side.relation[date]
    years = on_calendar(codes[same], Precision.YEAR)
    chance = 1.0 / (years.max() - years.min() + 1)
    for at in range(level + 1):
        precision = Precision(at)
        known = coarsen(codes[same & (precision_of(codes) >= at)], precision)
        counts = np.unique(known, return_counts=True)[1]
        once, twice = (counts == 1).sum(), (counts == 2).sum()
        less = once / (once + 2 * twice + 1)
        mine = (known == coarsen(codes[[date]], precision)[0]).sum()
        step = (1.0, 12.0, 30.44)[at]
        chance = (mine - less) / len(known) + less * len(counts) / len(known) * chance / step
    return min(chance, 1.0)


def twin_view(sides: DatedPair, a: int, b: int, model: DateAgreement, view: int) -> float:
    """What the dates of one side say about a pair of entities, in plain loops."""
    own, other = sides[view], sides[1 - view]
    mine = [int(at) for at in np.flatnonzero(own.entity == (a, b)[view])]
    theirs = [int(at) for at in np.flatnonzero(other.entity == (a, b)[1 - view])]
    weights: dict[tuple[int, int], float] = {}
    for date in mine:
        options = []
        for there in theirs:
            relations = (own.relation[date], other.relation[there])[:: 1 if view == 0 else -1]
            if max(rate[relations] for rate in model.rate) < 0.1:
                continue
            codes = np.array([own.begin.code[date], other.begin.code[there]], np.int32)
            level = int(precision_of(codes).min())
            agrees = len(set(coarsen(codes, Precision(level)).tolist())) == 1
            apart = np.diff(on_calendar(codes, Precision(level)))
            gap = -1 if agrees else int(gap_class(apart)[0])
            options.append((-model.rate[view][relations], int(other.relation[there]), gap, there, level))
        if not options or -min(options)[0] < 0.1:
            continue
        negative, _, gap, there, level = min(options)
        rate = -negative
        alike = [
            int((side.entity == side.entity[at]).astype(int) @ (side.relation == side.relation[at]))
            for side, at in ((own, date), (other, there))
        ]
        chance = alike[1] * twin_chance(own, date, level)
        if gap < 0:
            weight = math.log(rate / min(1.0, chance))
        else:
            weight = math.log((1 - rate) / (1 - min(0.9, chance)))
            weight += math.log(model.gaps[level, gap]) if alike == [1, 1] else 0.0
        key = int(own.begin.code[date]) // encode_date(1), int(other.begin.code[there]) // encode_date(1)
        if key not in weights or abs(weight) > abs(weights[key]):
            weights[key] = weight
    return sum(weights.values())


@pytest.mark.parametrize("seed", range(8))
def test_evidence_is_that_of_the_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    source, target = random_dates(rng, 6, 20), random_dates(rng, 7, 18, 3)
    sides = both_sides(source, target)
    model = random_model(rng, sides)
    row, column = np.divmod(np.arange(42), 7)
    found = date_evidence(sides, Candidates(row, column, (6, 7)), model).value(42)
    expected = [
        0.5 * (twin_view(sides, a, b, model, 0) + twin_view(sides, a, b, model, 1))
        for a, b in zip(row.tolist(), column.tolist(), strict=True)
    ]
    assert np.allclose(found, expected, atol=1e-5)
    assert np.abs(found).max() > 1.0


@pytest.mark.parametrize("seed", range(4))
def test_seen_from_the_other_side_it_is_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    source, target = random_dates(rng, 6, 20), random_dates(rng, 7, 18, 3)
    sides, swapped = both_sides(source, target), both_sides(target, source)
    model = random_model(rng, sides)
    backwards = DateAgreement((model.rate[1].T, model.rate[0].T), model.gaps, model.present[::-1])
    row, column = np.divmod(np.arange(42), 7)
    forth = date_evidence(sides, Candidates(row, column, (6, 7)), model).value(42).reshape(6, 7)
    row, column = np.divmod(np.arange(42), 6)
    back = date_evidence(swapped, Candidates(row, column, (7, 6)), backwards).value(42).reshape(7, 6)
    assert np.allclose(forth, back.T)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_permuting_entities_permutes_the_evidence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    source, target = random_dates(rng, 5, 12), random_dates(rng, 5, 12)
    copy, gold = shuffled_copy(target, rng)
    relation = np.array([target.relations.index(name) for name in copy.relations])
    plain, shuffled = dated_entities(source, target), dated_entities(source, copy)
    if plain is None or shuffled is None:
        return
    model = random_model(rng, plain)
    order = np.searchsorted(plain[1].relations, relation[shuffled[1].relations])
    moved = DateAgreement(
        (model.rate[0][:, order], model.rate[1][:, order]), model.gaps, (model.present[0], model.present[1][order])
    )
    row, column = np.divmod(np.arange(25), 5)
    first = date_evidence(plain, Candidates(row, column, (5, 5)), model).value(25).reshape(5, 5)
    second = date_evidence(shuffled, Candidates(row, column, (5, 5)), moved).value(25).reshape(5, 5)
    assert np.allclose(first, second[:, gold[:, 1]])


def test_parts_of_the_candidates_give_what_all_of_them_do(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    sides = both_sides(random_dates(rng, 6, 20), random_dates(rng, 7, 18))
    model, candidates = random_model(rng, sides), Candidates(*np.divmod(np.arange(42), 7), (6, 7))
    whole = date_evidence(sides, candidates, model).value(42)
    monkeypatch.setattr("dualmatch.channels.evidence.support._AT_ONCE", 5)
    assert np.array_equal(date_evidence(sides, candidates, model).value(42), whole)


@pytest.mark.parametrize(
    ("first", "second", "gap"),
    [
        (("1815-12-10",), ("1815-12-10",), -1),
        (("1815-12-10",), ("1815",), -1),
        (("1815-12-10",), ("1815-12-11",), 0),
        (("1815-12-10",), ("1817",), 1),
        (("1797", "1851"), ("1797-08", "1851-02-01"), -1),
        (("1797", "1851"), ("1852", "1860"), 5),
        (("1830", "1839"), ("1834-05-01",), None),  # some time in the thirties: nothing is decided
        (("1830", "1839"), ("1835", "1845"), None),
        (("1797", "?"), ("1797", "?"), -1),
        (("1797", "?"), ("?", "1851"), None),
    ],
)
def test_dates_agree_differ_or_decide_nothing(first: tuple[str, ...], second: tuple[str, ...], gap: int | None) -> None:
    graphs = [TemporalGraph.from_facts([("a", "born", None, *date)]) for date in (first, second)]
    found = compare_dates(both_sides(*graphs), np.zeros(1, np.int64), np.zeros(1, np.int64))
    assert found.gap.tolist() == ([] if gap is None else [gap])


def test_a_date_that_two_relations_repeat_counts_once() -> None:
    rate = np.full((2, 2), 0.9)
    model = DateAgreement((rate, rate), np.ones((len(Precision), N_GAPS)), (np.ones(2), np.ones(2)))
    rows = [(f"x{at}", "birth date", None, f"{1700 + at}-01-02") for at in range(50)]
    rows += [("x0", "birth year", None, "1700"), ("a", "birth date", None, "1815-12-10")]
    values = []
    for more in ([], [("a", "birth year", None, "1815")]):
        graph = TemporalGraph.from_facts([*rows, *more])
        sides, at = both_sides(graph, graph), np.array([graph.entities.index("a")])
        values.append(date_evidence(sides, Candidates(at, at, (graph.n_entities,) * 2), model).value(1)[0])
    assert values[0] > 5.0
    assert values[1] == values[0]


def test_what_agrees_in_true_pairs_is_learnt_from_them() -> None:
    world = people(wrong=0.1, missing=0.1, years_only=0.0)
    sides = both_sides(world.source, world.target)
    pairs = np.array(
        [
            (world.source.entity_rows[s], world.target.entity_rows[t])
            for s, t in world.gold.items()
            if s in world.source.entity_rows and t in world.target.entity_rows
        ]
    )
    learnt = learn_dates(sides, pairs, np.full(len(pairs), 30.0), None, 3.0)
    names = [
        [graph.relations[row] for row in side.relations]
        for graph, side in zip((world.source, world.target), sides, strict=True)
    ]
    born, died = (learnt.rate[0][names[0].index(s), names[1].index(t)] for s, t in (("born", "P569"), ("died", "P570")))
    assert born == pytest.approx(0.81, abs=0.06)
    assert died == pytest.approx(0.81, abs=0.06)
    assert learnt.rate[0][names[0].index("born"), names[1].index("P570")] < 0.02
    assert all(np.allclose(present, 0.9, atol=0.05) for present in learnt.present)
    # a pair that only its dates make believable teaches little: it is not counted in full
    doubtful = learn_dates(sides, pairs, np.full(len(pairs), 4.0), learnt, 3.0)
    assert (doubtful.rate[0] <= learnt.rate[0] + 0.2).all()


def test_gaps_of_a_day_are_learnt_to_be_the_same_date() -> None:
    days = [np.datetime64("1800-01-01") + 97 * at for at in range(400)]
    source = TemporalGraph.from_facts([(f"s{at}", "born", None, str(day)) for at, day in enumerate(days)])
    late = [str(day + (at % 4 == 0)) for at, day in enumerate(days)]
    target = TemporalGraph.from_facts([(f"t{at}", "P569", None, day) for at, day in enumerate(late)])
    sides, pairs = both_sides(source, target), np.stack([np.arange(400)] * 2, axis=1)
    learnt = learn_dates(sides, pairs, np.full(400, 30.0), None, 3.0)
    value = date_evidence(sides, Candidates(*pairs.T, (400, 400)), learnt).value(400)
    assert learnt.rate[0][0, 0] == pytest.approx(0.75, abs=0.02)
    assert value[0] > 3.0  # a day late
    assert value[1] > value[0]
    other = date_evidence(sides, Candidates(pairs[:1, 0], pairs[200:201, 1], (400, 400)), learnt).value(1)
    assert other[0] < -1.0


def test_dates_that_nobody_has_speak_for_having_no_partner() -> None:
    source = TemporalGraph.from_facts([("a", "born", None, "1801-01-01"), ("b", "born", None, "1802")])
    crowd = [(f"t{at}", "P569", None, f"1802-02-{at + 1:02}") for at in range(9)]
    sides = both_sides(source, TemporalGraph.from_facts(crowd))
    rate = np.full((1, 1), 0.9)
    model = DateAgreement((rate, rate), np.ones((len(Precision), N_GAPS)), (np.full(1, 0.8), np.full(1, 0.8)))
    assert missed_dates(sides, model, 0).tolist() == pytest.approx([math.log(1 - 0.72), 0.0])


def test_opaque_times_are_compared_as_they_are() -> None:
    graphs = [
        TemporalGraph(*[NO_FACTS] * 5, ("a", "b"), ("r",), opaque_times=True, dates=EntityDates.of_rows(rows))
        for rows in ([(0, 0, 7, 7), (1, 0, 9, 9)], [(0, 0, 7, 7), (1, 0, 8, 8)])
    ]
    found = compare_dates(both_sides(*graphs), np.array([0, 1]), np.array([0, 1]))
    assert found.gap.tolist() == [-1, 0]
