"""The trial: donors lose the same ties on both sides, some lose their partner, and what that teaches."""

from __future__ import annotations

import numpy as np
import pytest

from dualmatch.channels.evidence.ties import Ties
from dualmatch.decode.one_to_one import chance_of
from dualmatch.methods.evidence import align_by_evidence
from dualmatch.methods.evidence.confidence import (
    DONOR_LOG_ODDS,
    Confidence,
    Trial,
    _thinned,
    _without_donors,
    run_trial,
)
from dualmatch.methods.evidence.problem import Problem
from dualmatch.methods.evidence.rounds import Rounds, run_rounds
from dualmatch.simulate import SimulatedPair, World, shuffled_copy, simulate

WORLD = World(entities=600, mean_facts=10, common_share=0.6, unmatched_source=0.2, unmatched_target=0.2, seed=2)


@pytest.fixture(scope="module")
def pair() -> SimulatedPair:
    return simulate(WORLD)


@pytest.fixture(scope="module")
def problem(pair: SimulatedPair) -> Problem:
    return Problem.of(pair.source, pair.target)


@pytest.fixture(scope="module")
def rounds(problem: Problem) -> Rounds:
    return run_rounds(problem)


def neighbours(ties: Ties, entity: int) -> set[int]:
    return set(ties.neighbour[ties.first_tie[entity] : ties.first_tie[entity + 1]].tolist())


def test_donors_are_settled_pairs_with_facts_to_spare(problem: Problem, rounds: Rounds) -> None:
    thin = _thinned(problem, rounds.state, 0)
    settled = rounds.state.pairs.above(DONOR_LOG_ODDS).pairs
    assert 50 < len(thin.donors) < 0.5 * len(settled)
    assert {*map(tuple, thin.donors.tolist())} <= {*map(tuple, settled.tolist())}
    for side in (0, 1):
        assert (problem.ties[side].ties_of(thin.donors[:, side]) >= 3).all()
        assert np.flatnonzero(thin.is_donor[side]).tolist() == sorted(thin.donors[:, side].tolist())


def test_both_sides_of_a_donor_keep_the_same_ties(problem: Problem, rounds: Rounds) -> None:
    """Of a tie to another settled pair that is still there, both graphs have what they had, or neither has it."""
    thin = _thinned(problem, rounds.state, 0)
    settled = rounds.state.pairs.above(DONOR_LOG_ODDS).pairs
    partner = dict(settled[~np.isin(settled[:, 0], thin.donors[~thin.both, 0])].tolist())
    kept = lost = 0
    for source, target in thin.donors[thin.both].tolist():
        before, after = problem.ties, thin.problem.ties
        for neighbour in neighbours(before[0], source) & partner.keys():
            if partner[neighbour] in neighbours(before[1], target):
                stays = neighbour in neighbours(after[0], source)
                assert stays == (partner[neighbour] in neighbours(after[1], target))
                kept, lost = kept + stays, lost + (not stays)
    assert min(kept, lost) > 20


def test_all_facts_of_a_tie_share_its_fate(problem: Problem, rounds: Rounds) -> None:
    thin = _thinned(problem, rounds.state, 0)
    before, after = Ties.of(problem.source, 100), Ties.of(thin.problem.source, 100)
    place = before.find(after.entity, after.neighbour)
    assert (place >= 0).all()
    np.testing.assert_array_equal(before.facts_of(place), after.facts_of(np.arange(after.n_ties)))
    assert after.n_ties < before.n_ties


def test_donors_are_as_poor_as_entities_usually_are(problem: Problem, rounds: Rounds) -> None:
    thin = _thinned(problem, rounds.state, 0)
    there = thin.donors[thin.both]
    before, after = (ties.ties_of(there[:, 0]).mean() for ties in (problem.ties[0], thin.problem.ties[0]))
    assert after < 0.9 * before


def test_some_donors_lose_their_partner_and_never_both(problem: Problem, rounds: Rounds) -> None:
    thin = _thinned(problem, rounds.state, 0)
    lost_source, lost_target = ~thin.is_there[0], ~thin.is_there[1]
    for lost, other in ((lost_source, lost_target), (lost_target, lost_source)):
        assert 0 < (lost & ~other).sum() < 0.3 * len(thin.donors)
    for side, graph in enumerate((thin.problem.source, thin.problem.target)):
        gone = thin.donors[~thin.is_there[side], side]
        assert not np.isin(gone, np.append(graph.head, graph.tail)).any()


def test_donors_are_forgotten_before_the_trial_begins(problem: Problem, rounds: Rounds) -> None:
    thin = _thinned(problem, rounds.state, 0)
    now = _without_donors(rounds.state, thin)
    assert not np.isin(now.candidates.row, thin.donors[:, 0]).any()
    assert not np.isin(now.candidates.column, thin.donors[:, 1]).any()
    assert (now.alone[0][thin.donors[:, 0]] == 0.5).all()
    assert len(now.candidates) > 0.5 * len(rounds.state.candidates)


def test_the_trial_tells_right_from_wrong() -> None:
    """Pairs with higher log-odds are right more often, and those without a partner seem more alone."""
    poor = simulate(WORLD.model_copy(update={"entities": 1000, "mean_facts": 6, "common_share": 0.35}))
    problem = Problem.of(poor.source, poor.target)
    trial = run_trial(problem, run_rounds(problem).state)
    sure, unsure = trial.is_right[trial.log_odds > 3], trial.is_right[trial.log_odds < 0]
    assert min(len(sure), len(unsure)) > 10
    assert sure.mean() > 0.97
    assert unsure.mean() < 0.5
    assert trial.is_alone.any()
    assert not trial.is_alone.all()
    assert trial.alone[trial.is_alone].mean() > trial.alone[~trial.is_alone].mean()


def test_the_order_of_rows_changes_nothing(pair: SimulatedPair, problem: Problem, rounds: Rounds) -> None:
    rng = np.random.default_rng(4)
    source, target = shuffled_copy(pair.source, rng)[0], shuffled_copy(pair.target, rng)[0]
    shuffled = Problem.of(source, target)
    one, other = run_trial(problem, rounds.state), run_trial(shuffled, run_rounds(shuffled).state)
    assert one.donors == other.donors
    assert sorted(one.log_odds) == sorted(other.log_odds)
    assert one.is_right.sum() == other.is_right.sum()
    assert sorted(one.alone) == pytest.approx(sorted(other.alone), abs=1e-12)


def test_seeds_are_no_donors(pair: SimulatedPair) -> None:
    problem = Problem.of(pair.source, pair.target, pair.gold[:200])
    thin = _thinned(problem, run_rounds(problem).state, 0)
    assert len(thin.donors) > 20
    assert not problem.is_given(thin.donors[:, 0], thin.donors[:, 1]).any()


def test_too_few_donors_say_nothing_of_entities_without_a_partner() -> None:
    few = simulate(World(entities=60, mean_facts=8, unmatched_source=0.3, seed=1))
    result = align_by_evidence(Problem.of(few.source, few.target))
    assert (result.pairs[1] > 0.5).sum() > 30
    assert result.confidence.alone is None
    assert np.isnan(result.no_partner[0]).all()
    assert np.isnan(result.no_partner[1]).all()


def test_no_match_is_right_where_it_is_said(pair: SimulatedPair, problem: Problem) -> None:
    result = align_by_evidence(problem)
    pairs, confidence = result.pairs
    linked = pairs[confidence > 0.5]
    for side in (0, 1):
        free = np.setdiff1d(np.arange(problem.shape[side]), linked[:, side])
        said = free[result.no_partner[side][free] >= 0.75]
        assert len(said) > 20
        assert (~np.isin(said, pair.gold[:, side])).mean() > 0.8


def synthetic(rng: np.random.Generator, slope: float, intercept: float, n: int = 20_000) -> Trial:
    """Pairs and entities whose truth follows other log-odds than those the rounds gave."""
    log_odds, alone = rng.normal(0, 4, n), rng.random(n)
    true = chance_of(intercept + slope * log_odds)
    truly_alone = chance_of(intercept + slope * (np.log(alone) - np.log1p(-alone)))
    return Trial(log_odds, rng.random(n) < true, np.full(n, 1000), alone, rng.random(n) < truly_alone, donors=n)


@pytest.mark.parametrize(("slope", "intercept"), [(0.5, 0.0), (1.0, -1.0), (0.7, 0.8)])
def test_a_known_miscalibration_is_recovered(slope: float, intercept: float) -> None:
    learnt = Confidence.of(synthetic(np.random.default_rng(3), slope, intercept))
    log_odds = np.linspace(-6, 6, 13)
    expected = chance_of(intercept + slope * log_odds)
    assert learnt.of_pairs(log_odds, np.full(13, 1000)) == pytest.approx(expected, abs=0.03)
    never_more = np.minimum(expected, chance_of(log_odds))
    assert learnt.of_alone(chance_of(log_odds)) == pytest.approx(never_more, abs=0.03)


def test_what_is_calibrated_stays_as_it_is() -> None:
    learnt = Confidence.of(synthetic(np.random.default_rng(4), 1.0, 0.0))
    assert learnt.pairs[:3] == pytest.approx([0, 1, 1], abs=0.07)
    assert learnt.alone == pytest.approx([0, 1], abs=0.07)


def test_poor_pairs_are_corrected_by_themselves() -> None:
    """Pairs with one tie are worse than their log-odds say, pairs with many are as good as they say."""
    rng = np.random.default_rng(5)
    log_odds, ties = rng.normal(0, 3, 20_000), rng.choice([1, 50], 20_000)
    right = rng.random(20_000) < chance_of(log_odds - 2.0 * (ties == 1))
    learnt = Confidence.of(Trial(log_odds, right, ties, np.zeros(0), np.zeros(0, bool), donors=0))
    poor, rich = learnt.of_pairs(np.array([2.0, 2.0]), np.array([1, 50]))
    assert poor == pytest.approx(0.5, abs=0.04)
    assert rich == pytest.approx(chance_of(np.array([2.0]))[0], abs=0.04)


def test_without_a_trial_log_odds_are_taken_as_they_are() -> None:
    nothing = Trial(np.zeros(0), np.zeros(0, bool), np.zeros(0, int), np.zeros(0), np.zeros(0, bool), donors=0)
    log_odds, ties = np.array([-11.0, -1.0, 0.0, 2.0, 11.0]), np.array([1, 1, 2, 3, 100])
    for plain in (Confidence.as_they_are(), Confidence.of(nothing)):
        assert plain.of_pairs(log_odds, ties) == pytest.approx(chance_of(log_odds), abs=1e-6)
        assert np.isnan(plain.of_alone(np.array([0.1, 0.9]))).all()


@pytest.mark.parametrize(("donors", "speaks"), [(49, False), (50, True)])
def test_fifty_donors_are_enough_to_speak_of_no_partner(donors: int, speaks: bool) -> None:
    trial = synthetic(np.random.default_rng(6), 1.0, 0.0, donors)
    assert (Confidence.of(trial).alone is not None) == speaks


def test_confidence_survives_as_json() -> None:
    for confidence in (Confidence.as_they_are(), Confidence.of(synthetic(np.random.default_rng(7), 0.6, 0.2, 500))):
        again = Confidence.from_dict(confidence.as_dict())
        assert again.pairs.tobytes() == confidence.pairs.tobytes()
        assert (again.alone is None) == (confidence.alone is None)
        assert again.alone is None or again.alone.tobytes() == confidence.alone.tobytes()
