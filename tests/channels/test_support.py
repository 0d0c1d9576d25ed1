"""Support against a slow twin: loops over candidates, ties and facts of small random graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse as sp

from dualmatch import TemporalGraph
from dualmatch.channels.evidence import support
from dualmatch.channels.evidence.agreement import RelationOdds, Side, sides_of
from dualmatch.channels.evidence.dates import DateGaps, Dates
from dualmatch.channels.evidence.support import Support, find_support
from dualmatch.channels.evidence.ties import Ties
from dualmatch.decode.one_to_one import Candidates
from dualmatch.graph.times import UNKNOWN, encode_date

DIFFER = 0.05
GAPS = DateGaps.unknown(DIFFER)
SEEDS = range(8)


def random_graph(rng: np.random.Generator, n_entities: int, n_facts: int) -> TemporalGraph:
    """Dates of every precision, points, intervals, unknown ends, repeated facts and self-loops."""
    begin = encode_date(
        rng.integers(1900, 1903, n_facts),
        month := rng.integers(0, 3, n_facts),
        rng.integers(0, 3, n_facts) * (month > 0),
    )
    end = np.where(rng.random(n_facts) < 0.6, begin, begin + 416 * rng.integers(0, 2, n_facts))
    begin, end = (np.where(rng.random(n_facts) < 0.2, UNKNOWN, date).astype(np.int32) for date in (begin, end))
    head, relation, tail = (rng.integers(0, size, n_facts).astype(np.int32) for size in (n_entities, 3, n_entities))
    names = tuple(f"e{i}" for i in range(n_entities))
    return TemporalGraph(head, relation, tail, begin, end, names, ("r", "s", "t"))


@dataclass(frozen=True)
class Case:
    """A random problem: graphs, candidates and what is known of them."""

    sides: tuple[Side, Side]
    odds: RelationOdds
    candidates: Candidates
    live: np.ndarray
    unknown: tuple[np.ndarray, np.ndarray]

    @classmethod
    def drawn(cls, seed: int) -> Case:
        rng = np.random.default_rng(seed)
        shape = 7, 6
        ties = [Ties.of(random_graph(rng, size, 40)) for size in shape]
        together = sp.random(6, 6, 0.4, "csr", random_state=rng) * 20
        chosen = np.argwhere(rng.random(shape) < 0.5).astype(np.int64)
        unknown = [np.where(rng.random(size) < 0.4, 0.01, rng.random(size)) for size in shape]
        return cls(
            sides_of(ties[0], ties[1], opaque=False),
            RelationOdds.of(together, ties[0], ties[1]),
            Candidates(chosen[:, 0], chosen[:, 1], shape),
            rng.random(len(chosen)) < 0.8,
            (unknown[0], unknown[1]),
        )

    def support(self) -> Support:
        return find_support(self.candidates, self.live, self.sides, self.odds, GAPS, self.unknown)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.candidates.row.tolist(), self.candidates.column.tolist(), strict=True))


def slow_agreement(left: Dates, right: Dates, f: int, j: int) -> tuple[int, bool]:
    level = min(int(left.precision[f]), int(right.precision[j]))
    return level, level >= 0 and bool(left.numbers(level)[f] == right.numbers(level)[j])


def slow_factors(case: Case, f: int, j: int) -> tuple[float, float]:
    """The Bayes factors of two facts, thing by thing."""
    source, target = case.sides
    ratio = [float(part[0]) for part in case.odds.at(source.ties.relation[[f]], target.ties.relation[[j]])]
    level, begins_agree = slow_agreement(source.begin, target.begin, f, j)
    differ = level >= 0 and not begins_agree
    if begins_agree:
        ratio = [ratio[0] / target.begin.chance(level, j), ratio[1] / source.begin.chance(level, f)]
    points = [bool(side.ties.begin[at] == side.ties.end[at]) for side, at in ((source, f), (target, j))]
    if not all(points):
        level, ends_agree = slow_agreement(source.end, target.end, f, j)
        differ = differ or (level >= 0 and not ends_agree)
        if ends_agree:
            chances = [side.chance_of_end if begins_agree else side.end.chance for side in (source, target)]
            ratio = [ratio[0] / chances[1](level, j), ratio[1] / chances[0](level, f)]
    factor = DIFFER if differ else 1 - DIFFER
    return ratio[0] * factor, ratio[1] * factor


def facts_of(ties: Ties, wanted: Callable[[int], bool]) -> list[int]:
    return [fact for fact in range(ties.n_facts) if wanted(int(ties.tie[fact]))]


def slow_worth(case: Case, tie: int, other: int) -> tuple[float, float]:
    """All facts of one tie together, for the best fact of the other; over the facts of the entity there."""
    source, target = case.sides
    mine, yours = facts_of(source.ties, lambda t: t == tie), facts_of(target.ties, lambda t: t == other)
    by_fact = {(f, j): slow_factors(case, f, j) for f in mine for j in yours}
    forward = max(sum(by_fact[f, j][0] / target.neighbour_chance[j] for j in yours) for f in mine)
    backward = max(sum(by_fact[f, j][1] / source.neighbour_chance[f] for f in mine) for j in yours)
    a, b = source.ties.entity[tie], target.ties.entity[other]
    n_a = len(facts_of(source.ties, lambda t: source.ties.entity[t] == a))
    n_b = len(facts_of(target.ties, lambda t: target.ties.entity[t] == b))
    return forward / n_b, backward / n_a


def slow_support(case: Case) -> dict[tuple[int, int, int, int], tuple[float, float]]:
    """(candidate, supporter, tie of the source, tie of the target) → worth, seen from either side."""
    source, target = case.sides[0].ties, case.sides[1].ties
    pairs, found = case.pairs, {}
    for number, (a, b) in enumerate(pairs):
        for tie in np.flatnonzero(source.entity == a).tolist():
            for other in np.flatnonzero(target.entity == b).tolist():
                ends = int(source.neighbour[tie]), int(target.neighbour[other])
                if ends in pairs and case.live[pairs.index(ends)]:
                    found[number, pairs.index(ends), tie, other] = slow_worth(case, tie, other)
    return found


def ties_of(found: Support) -> tuple[np.ndarray, np.ndarray]:
    return found.slots[0][1][found.slot[0]], found.slots[1][1][found.slot[1]]


@pytest.mark.parametrize("seed", SEEDS)
def test_support_is_what_loops_find(seed: int) -> None:
    case = Case.drawn(seed)
    found, expected = case.support(), slow_support(case)
    ties = ties_of(found)
    keys = list(zip(*(part.tolist() for part in (found.candidate, found.supporter, *ties)), strict=True))
    assert len(keys) == len(found) > 20
    assert set(keys) == set(expected)
    for view in (0, 1):
        assert found.worth[view] == pytest.approx([expected[key][view] for key in keys])
        assert found.slots[view][0][found.slot[view]].tolist() == found.candidate.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_mirrors_point_at_what_the_candidate_does_for_its_supporter(seed: int) -> None:
    case = Case.drawn(seed)
    found = case.support()
    mirrored = 0
    for view, tie in enumerate(ties_of(found)):
        back = case.sides[view].ties.mirror[tie]
        slots = list(zip(*(part.tolist() for part in found.slots[view]), strict=True))
        assert len(set(slots)) == len(slots)
        for place, wanted in zip(
            found.mirror[view].tolist(), zip(found.supporter.tolist(), back.tolist(), strict=True), strict=True
        ):
            assert place == (slots.index(wanted) if wanted in slots else -1)
            mirrored += place >= 0
    assert mirrored


@pytest.mark.parametrize("seed", SEEDS)
def test_open_support_needs_both_neighbours_unknown_and_one_date(seed: int) -> None:
    case = Case.drawn(seed)
    found = case.support()
    source, target = case.sides
    for view in (0, 1):
        expected = []
        for number, (a, b) in enumerate(case.pairs):
            mine = facts_of(source.ties, lambda t, a=a: source.ties.entity[t] == a)
            yours = facts_of(target.ties, lambda t, b=b: target.ties.entity[t] == b)
            for f in mine:
                for j in yours:
                    ties = int(source.ties.tie[f]), int(target.ties.tie[j])
                    unknown = (
                        case.unknown[0][source.ties.neighbour[ties[0]]],
                        case.unknown[1][target.ties.neighbour[ties[1]]],
                    )
                    undated = source.begin.precision[f] < 0 and target.begin.precision[j] < 0
                    moment = "end" if undated else "begin"
                    agree = slow_agreement(getattr(source, moment), getattr(target, moment), f, j)[1]
                    worth = slow_factors(case, f, j)[view] / len(yours if view == 0 else mine)
                    if min(unknown) > 0.02 and agree and worth > 1:
                        expected.append((number, *ties, worth))
        slot = found.open_slot[view]
        listed = zip(
            found.slots[view][0][slot].tolist(),
            *(part.tolist() for part in found.open_ties[view]),
            found.open_worth[view].tolist(),
            strict=True,
        )
        assert sorted(listed) == [pytest.approx(each) for each in sorted(expected)]
        assert found.open_ties[view][view].tolist() == found.slots[view][1][slot].tolist()


def test_neighbours_that_are_known_leave_nothing_open() -> None:
    case = Case.drawn(0)
    known = np.zeros(7), np.zeros(6)
    found = find_support(case.candidates, case.live, case.sides, case.odds, GAPS, known)
    assert [len(part) for part in found.open_slot] == [0, 0]
    assert len(case.support().open_slot[0]) > 0


@pytest.mark.parametrize("at_once", [8, 64])
def test_how_much_is_looked_at_in_one_go_changes_nothing(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case.drawn(3)
    whole = case.support()
    monkeypatch.setattr(support, "_AT_ONCE", at_once)
    parts = case.support()
    for view in (0, 1):
        one, other = (
            sorted(zip(found.candidate, found.supporter, found.slot[view], found.worth[view], strict=True))
            for found in (whole, parts)
        )
        assert one == other
        np.testing.assert_array_equal(whole.slots[view], parts.slots[view])


def test_supporters_may_be_another_list() -> None:
    """Some candidates by themselves have the support that they have among all."""
    case = Case.drawn(5)
    whole = case.support()
    some = np.arange(0, len(case.candidates), 3)
    few = Candidates(case.candidates.row[some], case.candidates.column[some], case.candidates.shape)
    found = find_support(few, case.live, case.sides, case.odds, GAPS, case.unknown, case.candidates, whole.slots)
    asked = np.isin(whole.candidate, some)
    assert found.supporter.tolist() == whole.supporter[asked].tolist()
    assert some[found.candidate].tolist() == whole.candidate[asked].tolist()
    for view in (0, 1):
        assert found.worth[view].tolist() == whole.worth[view][asked].tolist()
        assert found.mirror[view].tolist() == whole.mirror[view][asked].tolist()


def test_no_candidates_have_no_support() -> None:
    case = Case.drawn(1)
    none = Candidates(np.zeros(0, np.int64), np.zeros(0, np.int64), (7, 6))
    found = find_support(none, np.zeros(0, bool), case.sides, case.odds, GAPS, case.unknown)
    assert len(found) == 0
    assert [len(part) for part in found.open_slot] == [0, 0]
