"""The result of the rounds: probabilities, rankings, and evidence that adds up to the confidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dualmatch.channels.evidence.candidates import find_candidates
from dualmatch.graph.literals import Literals
from dualmatch.methods.evidence import EvidenceResult, RankedCandidates, align_by_evidence
from dualmatch.methods.evidence import rounds as rounds_module
from dualmatch.methods.evidence import search as search_module
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.methods.evidence.pair_evidence import PairEvidence, pair_evidence
from dualmatch.methods.evidence.problem import Problem
from dualmatch.methods.evidence.rounds import Rounds
from dualmatch.methods.evidence.search import Found
from dualmatch.methods.evidence.state import Round, RoundState
from dualmatch.methods.run_store import NullStore
from dualmatch.simulate import SimulatedPair, World, simulate

WORLD = World(
    entities=250, mean_facts=6, common_share=0.45, point_share=0.6, half_known_share=0.2, year_only_share=0.3, seed=8
)


@pytest.fixture(scope="module")
def pair() -> SimulatedPair:
    return simulate(WORLD)


@pytest.fixture(scope="module")
def result(pair: SimulatedPair) -> EvidenceResult:
    return align_by_evidence(Problem.of(pair.source, pair.target))


def logit(chance: np.ndarray) -> np.ndarray:
    bounded = np.clip(chance, 1e-9, 1 - 1e-9)
    return np.log(bounded) - np.log1p(-bounded)


def evidence_of(result: EvidenceResult, pairs: np.ndarray) -> list[PairEvidence]:
    return pair_evidence(result.problem, result.state, result.confidence, pairs)


def labelled(pair: SimulatedPair) -> Problem:
    partner = dict(pair.gold[:, ::-1].tolist())
    labels = (
        Literals.of_labels({name: f"person {row:03}" for row, name in enumerate(pair.source.entities)}, pair.source),
        Literals.of_labels(
            {name: f"person {partner.get(row, 999 - row):03}" for row, name in enumerate(pair.target.entities)},
            pair.target,
        ),
    )
    return Problem.of(pair.source, pair.target, literals=labels)


def test_every_pair_is_one_to_one_and_has_its_candidate_s_probability(result: EvidenceResult) -> None:
    pairs, confidence = result.pairs
    assert len(np.unique(pairs[:, 0])) == len(np.unique(pairs[:, 1])) == len(pairs) > 200
    assert confidence == pytest.approx(result.probability.toarray()[pairs[:, 0], pairs[:, 1]], abs=0)
    assert (result.settled == pairs[confidence > 0.9]).all()


def test_evidence_adds_up_to_the_confidence(result: EvidenceResult) -> None:
    pairs, confidence = result.pairs
    total = [each.log_odds for each in evidence_of(result, pairs)]
    assert total == pytest.approx(logit(confidence), abs=1e-6)


def test_evidence_of_what_is_no_candidate_adds_up_to_as_good_as_nothing(result: EvidenceResult) -> None:
    listed = result.probability.toarray() > 0
    pairs = np.argwhere(~listed)[::97]
    pairs = pairs[np.random.default_rng(1).permutation(len(pairs))]
    assert len(pairs) > 100
    corrected = result.confidence.of_pairs(np.full(len(pairs), np.log(1e-9)), np.full(len(pairs), 5))
    for each, chance in zip(evidence_of(result, pairs), corrected, strict=True):
        assert each.log_odds == pytest.approx(logit(chance), abs=0.1)
        assert each.log_odds < -5


def test_evidence_comes_in_the_order_asked_for(result: EvidenceResult) -> None:
    pairs = result.pairs[0][:40]
    plain, turned = evidence_of(result, pairs), evidence_of(result, pairs[::-1])
    for one, other in zip(plain, turned[::-1], strict=True):
        assert one.weight.tolist() == other.weight.tolist()
        assert one.balance.rivals == other.balance.rivals


def test_shared_facts_are_facts_of_the_two_entities_weightiest_first(
    pair: SimulatedPair, result: EvidenceResult
) -> None:
    pairs, confidence = result.pairs
    links = pairs[confidence > 0.5]
    shared = 0
    for (source, target), each in zip(links.tolist(), evidence_of(result, links), strict=True):
        for graph, entity, sides in ((pair.source, source, each.source_side), (pair.target, target, each.target_side)):
            row = sides % graph.n_facts
            assert (np.where(sides < graph.n_facts, graph.head[row], graph.tail[row]) == entity).all()
        assert (np.diff(each.weight) <= 1e-9).all()
        assert (each.weight > 0).all()
        assert each.first(1).weight.tolist() == each.weight[:1].tolist()
        shared += len(each.weight)
    assert shared > 2 * len(links)


def test_what_labels_add_is_told_apart(pair: SimulatedPair) -> None:
    result = align_by_evidence(labelled(pair))
    pairs, confidence = result.pairs
    found = evidence_of(result, pairs)
    assert [each.log_odds for each in found] == pytest.approx(logit(confidence), abs=1e-6)
    true = {tuple(each) for each in pair.gold.tolist()}
    right = np.array([tuple(each) in true for each in pairs.tolist()])
    names = np.array([each.balance.names for each in found])
    assert (names[right] > 1).all()
    assert names[~right].mean() < 0


def test_seeds_add_up_too(pair: SimulatedPair) -> None:
    result = align_by_evidence(Problem.of(pair.source, pair.target, pair.gold[:30]))
    pairs, confidence = result.pairs
    assert [each.log_odds for each in evidence_of(result, pairs)] == pytest.approx(logit(confidence), abs=1e-6)


def test_pairs_of_targets_that_may_be_shared_add_up_too(pair: SimulatedPair) -> None:
    result = align_by_evidence(Problem.of(pair.source, pair.target, many_to_one=True))
    pairs, confidence = result.pairs
    assert [each.log_odds for each in evidence_of(result, pairs)] == pytest.approx(logit(confidence), abs=1e-6)


def test_candidates_are_ranked_by_log_odds_and_others_behind_them(pair: SimulatedPair, result: EvidenceResult) -> None:
    plan = result.plan
    scores, listed = plan.scores.toarray(), plan.log_odds.toarray()
    is_candidate = np.zeros(listed.shape, dtype=bool)
    is_candidate[result.state.candidates.row, result.state.candidates.column] = True
    assert (scores[is_candidate] > 1).all()
    assert (scores[~is_candidate] <= 1).all()
    order = np.argsort(listed[is_candidate], kind="stable")
    assert (np.diff(scores[is_candidate][order]) >= 0).all()
    forward, backward = plan.ranks(pair.gold)
    for at, (source, target) in enumerate(pair.gold[:50].tolist()):
        for rank, row, place in ((forward, scores[source], target), (backward, scores[:, target], source)):
            better, equal = (row > row[place]).sum(), (row == row[place]).sum()
            assert rank[at] == pytest.approx(1 + better + (equal - 1) / 2)


def test_the_best_of_each_row_is_its_likeliest_candidate(result: EvidenceResult) -> None:
    best = result.plan.best()
    pairs, confidence = result.pairs
    sure = pairs[confidence > 0.9]
    assert (best.column_of_row[sure[:, 0]] == sure[:, 1]).all()
    assert (best.row_of_column[sure[:, 1]] == sure[:, 0]).all()


def test_within_the_square_of_tested_pairs_everyone_has_a_partner(pair: SimulatedPair, result: EvidenceResult) -> None:
    """Ranks in the square of true pairs are no worse than in the open."""
    square = result.plan.restricted(pair.gold[:, 0].astype(np.intp), pair.gold[:, 1].astype(np.intp))
    assert isinstance(square, RankedCandidates)
    diagonal = np.repeat(np.arange(len(pair.gold))[:, None], 2, axis=1)
    closed, opened = square.ranks(diagonal)[0], result.plan.ranks(pair.gold)[0]
    assert (closed == 1).mean() >= (opened == 1).mean()
    assert (closed == 1).mean() > 0.9


class StoppedError(Exception):
    """What stands for a kill."""


class StopsAfter(NullStore):
    """Keeps everything in memory; each life ends once it has kept one more thing."""

    def __init__(self, lives: int) -> None:
        super().__init__()
        self.lives = lives
        self.latest: Rounds | None = None
        self.told: Confidence | None = None
        self.found: tuple[Found, int] | None = None

    def kept_search(self, number: int) -> Found | None:
        return self.found[0] if self.found is not None and self.found[1] == number else None

    def keep_search(self, found: Found, number: int) -> None:
        self.found = found, number
        self._stop()

    def _stop(self) -> None:
        self.lives -= 1
        if self.lives >= 0:
            raise StoppedError

    def kept_round(self) -> Rounds | None:
        return self.latest

    def keep_round(self, state: RoundState, log: tuple[Round, ...], first_pairs: np.ndarray) -> None:
        self.latest = Rounds(state, first_pairs, log, converged=False)
        self._stop()

    def kept_confidence(self) -> Confidence | None:
        return self.told

    def keep_confidence(self, confidence: Confidence) -> None:
        self.told = confidence
        self._stop()


@pytest.mark.parametrize("n_seeds", [0, 30])
def test_rounds_that_are_stopped_after_each_go_on_to_the_same_bytes(pair: SimulatedPair, n_seeds: int) -> None:
    seeds = pair.gold[:n_seeds] if n_seeds else None
    whole = align_by_evidence(Problem.of(pair.source, pair.target, seeds))
    store, stops = StopsAfter(50), 0
    while True:
        try:
            stopped = align_by_evidence(Problem.of(pair.source, pair.target, seeds), store=store)
            break
        except StoppedError:
            stops += 1
    assert stops == len(whole.rounds) + 1
    for one, other in (
        (whole.pairs[0], stopped.pairs[0]),
        (whole.pairs[1], stopped.pairs[1]),
        (whole.probability.data, stopped.probability.data),
        (whole.first_pairs, stopped.first_pairs),
        (whole.no_partner[0], stopped.no_partner[0]),
        (whole.similarity.data, stopped.similarity.data),
        (whole.relations.similarity.data, stopped.relations.similarity.data),
    ):
        assert one.tobytes() == other.tobytes()
    assert [replace(each, seconds=0) for each in whole.rounds] == [replace(each, seconds=0) for each in stopped.rounds]
    assert stopped.converged == whole.converged


def test_what_a_round_has_found_is_not_searched_again(pair: SimulatedPair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds_module, "LEAST_KEPT_SEARCH", 1)
    searches = 0

    def counted(*given: Any, **options: Any) -> Any:
        nonlocal searches
        searches += 1
        return find_candidates(*given, **options)

    monkeypatch.setattr(search_module, "find_candidates", counted)
    whole = align_by_evidence(Problem.of(pair.source, pair.target))
    after_rounds = searches - len(whole.rounds)  # of the trial and the closing rounds
    store, lives = StopsAfter(50), []
    while True:
        searches = 0
        try:
            stopped = align_by_evidence(Problem.of(pair.source, pair.target), store=store)
            break
        except StoppedError:
            lives.append(searches)
    assert lives[:-1] == [1, 0] * len(whole.rounds)
    assert lives[-1] + searches == after_rounds
    assert stopped.pairs[0].tobytes() == whole.pairs[0].tobytes()
    assert stopped.probability.data.tobytes() == whole.probability.data.tobytes()
