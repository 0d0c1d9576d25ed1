"""Method evidence: rounds of shared dated facts; pairs and candidates with a confidence, and rankings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.channels.evidence.candidates import find_candidates, scored_tokens
from dualmatch.channels.evidence.neighbourhood import with_context
from dualmatch.channels.evidence.relations import RelationAlignment, align_relations
from dualmatch.decode.assignment import assign_listed
from dualmatch.decode.one_to_one import Candidates, match
from dualmatch.decode.sinkhorn import Best
from dualmatch.decode.sparse_sinkhorn import ranks_in_rows, row_best
from dualmatch.graph.arrays import Floats, Ids, Rows
from dualmatch.methods.evidence.confidence import Confidence, run_trial
from dualmatch.methods.evidence.problem import Problem
from dualmatch.methods.evidence.propagation import Priors
from dualmatch.methods.evidence.rounds import MAX_ROUNDS, WHOLE_ROUNDS, Rounds, closed, run_rounds
from dualmatch.methods.evidence.search import knowledge_of, open_entities
from dualmatch.methods.evidence.state import Round, RoundState, both
from dualmatch.methods.run_store import NullStore, RunStore

_N_RANKED: Final = 20  # candidates of an open entity that are ranked, beyond those that were judged
MORE_LIKELY_THAN_NOT: Final = 0.5
"""The confidence above which a pair is a link, unless a user asks for more or less."""
_PARTNER: Final = 0.99  # in the square of tested pairs, everyone is known to have a partner


@dataclass(frozen=True, eq=False)
class EvidenceResult:
    """The result of the rounds."""

    problem: Problem
    state: RoundState  # after the closing rounds
    open_state: RoundState  # before them: an update begins there
    confidence: Confidence  # the calibration of log-odds
    first_pairs: Ids  # (n, 2): believed after the first round
    rounds: tuple[Round, ...]
    converged: bool  # whether the last round changed next to nothing

    @cached_property
    def probability(self) -> sp.csr_array:
        """Of each candidate to be right: (n_source, n_target)."""
        c = self.state.candidates
        chance = self.confidence.of_candidates(self.problem, c, self.state.log_odds)
        return sp.csr_array((chance, (c.row, c.column)), shape=c.shape)

    @cached_property
    def pairs(self) -> tuple[Ids, Floats]:
        """Every entity's likeliest pair that others leave over, however unlikely, and its confidence."""
        return self.problem.engine.call(
            _likeliest, self.state.candidates, self.probability.data, self.problem.many_to_one
        )

    @cached_property
    def no_partner(self) -> tuple[Floats, Floats]:
        """Chance of each source and each target that is in no link to have no partner; nan where nothing is known."""
        return both(lambda side: self.confidence.of_alone(self.state.alone[side]))

    @property
    def share_alone(self) -> float:
        """Estimated share of the source entities without a partner."""
        return float(self.open_state.alone[0].mean())

    @cached_property
    def settled(self) -> Ids:
        """Pairs sure enough to learn from: (n, 2)."""
        pairs, confidence = self.pairs
        return pairs[confidence > 0.9]

    @cached_property
    def relations(self) -> RelationAlignment:
        """Which relations say the same, by the pairs more likely right than not."""
        pairs, confidence = self.pairs
        believed = pairs[confidence > MORE_LIKELY_THAN_NOT]
        if "relations" in self.problem.without:
            believed = believed[:0]
        return align_relations(*self.problem.views, believed, self.problem.engine)

    @cached_property
    def similarity(self) -> sp.csr_matrix:
        """Similarity of open entities by what they and their neighbours share: to rank what was not judged."""
        problem, state = self.problem, self.state
        tokens = problem.builder.build(knowledge_of(problem, state))
        scored = scored_tokens(tokens)
        found = find_candidates(scored, problem.shape, _N_RANKED, engine=problem.engine)
        among = open_entities(problem, state)
        settled = both(lambda side: np.setdiff1d(np.arange(problem.shape[side]), among[side]))
        closed = np.full((max(map(len, settled)), 2), -1, dtype=np.int64)
        closed[: len(settled[0]), 0], closed[: len(settled[1]), 1] = settled
        ranked = with_context(found, problem.views, scored, closed, problem.engine)
        return problem.forbidden.left_out_of(ranked)

    @cached_property
    def plan(self) -> RankedCandidates:
        """Rankings of all candidates."""
        c = self.state.candidates
        priors = Priors.of(self.state.model, self.problem.classes)
        weight = sp.csr_array((self.state.value + priors.share, (c.row, c.column)), shape=c.shape)
        return RankedCandidates(
            sp.csr_array((self.state.log_odds, (c.row, c.column)), shape=c.shape), weight, lambda: self.similarity
        )


def _likeliest(candidates: Candidates, chance: Floats, many_to_one: bool) -> tuple[Ids, Floats]:
    return assign_listed(candidates.row, candidates.column, chance, candidates.shape, many_to_one)


class RankedCandidates:
    """Candidates ordered by log-odds, and behind them what was not judged, by similarity (made when first needed).

    `log_odds` and `weight`, csr of one pattern, hold each candidate's log-odds with its rivals and without them.
    """

    def __init__(self, log_odds: sp.csr_array, weight: sp.csr_array, similarity: Callable[[], sp.csr_matrix]) -> None:
        self.log_odds, self.weight, self._similarity = log_odds, weight, similarity

    @cached_property
    def scores(self) -> sp.csr_array:
        """Above 1 for candidates, between 0 and 1 for what stands behind them."""
        return _behind(self.log_odds, sp.csr_array(self._similarity()))

    def best(self) -> Best:
        column, value = row_best(self.log_odds)
        row, value_of_column = row_best(sp.csr_array(self.log_odds.T))
        return Best(column, value, row, value_of_column, np.ones(len(column), dtype=np.float32))

    def ranks(self, pairs: NDArray[np.integer]) -> tuple[Floats, Floats]:
        """Average rank of each pair in its row and in its column."""
        forward = ranks_in_rows(self.scores, pairs[:, 0], pairs[:, 1])
        return forward, ranks_in_rows(sp.csr_array(self.scores.T), pairs[:, 1], pairs[:, 0])

    def restricted(self, rows: Rows, columns: Rows) -> RankedCandidates:
        """The matching of some rows and columns alone, each of which has its partner among them."""
        weight = sp.csr_array(self.weight[rows][:, columns])
        weight.sort_indices()
        entries = weight.tocoo()
        candidates = Candidates(entries.row.astype(np.int64), entries.col.astype(np.int64), weight.shape)
        has_partner = np.log(_PARTNER) - np.log1p(-_PARTNER)
        least = np.zeros(weight.shape[0]), np.zeros(weight.shape[1])
        found = match(candidates, entries.data + 2.0 * has_partner, least)
        log_odds = sp.csr_array((found.log_odds, (entries.row, entries.col)), shape=weight.shape)
        return RankedCandidates(log_odds, weight, lambda: self._similarity()[rows][:, columns])


def _behind(first: sp.csr_array, second: sp.csr_array) -> sp.csr_array:
    """All entries of one matrix, all above 1, and those of the other that it lacks, all below."""
    top, rest = first.tocoo(), second.tocoo()
    keys = top.row.astype(np.int64) * first.shape[1] + top.col
    others = rest.row.astype(np.int64) * first.shape[1] + rest.col
    new = ~np.isin(others, keys) & (rest.data > 0)
    scale = 1.0 / max(float(rest.data.max(initial=0.0)), 1e-9)
    values = np.append(top.data - top.data.min(initial=0.0) + 2.0, rest.data[new] * scale)
    row, column = np.append(top.row, rest.row[new]), np.append(top.col, rest.col[new])
    merged = sp.csr_array((values, (row, column)), shape=first.shape)
    merged.sort_indices()
    return merged


def align_by_evidence(
    problem: Problem,
    *,
    start: RoundState | None = None,
    first_pairs: Ids | None = None,
    confidence: Confidence | None = None,
    max_rounds: int = MAX_ROUNDS,
    progress: Callable[[int, int], None] | None = None,
    store: RunStore | None = None,
) -> EvidenceResult:
    """Run all rounds, the trial and the closing rounds.

    Parameters
    ----------
    start, first_pairs, confidence:
        Of a run on an earlier version of the graphs: a state to continue from, the pairs it began with, and what its
        trial calibrated. Without `confidence` there is a new trial.
    store:
        Keeps the state after each round, and the calibration; what it has kept already is not computed again.
    """
    store = NullStore() if store is None else store
    kept = store.kept_round()
    if kept is not None:
        start, first_pairs = kept.state, kept.first_pairs
    rounds = run_rounds(
        problem,
        start,
        () if kept is None else kept.log,
        first_pairs,
        whole_rounds=WHOLE_ROUNDS if start is None or kept is not None else 0,
        max_rounds=max_rounds,
        progress=progress,
        store=store,
    )
    calibrated = store.kept_confidence()
    if calibrated is None:
        calibrated = Confidence.of(run_trial(problem, rounds.state)) if confidence is None else confidence
        store.keep_confidence(calibrated)
    return _closed_result(problem, rounds, calibrated)


def same_as_before(
    problem: Problem, state: RoundState, first_pairs: Ids, confidence: Confidence, store: RunStore | None = None
) -> EvidenceResult:
    """The result of an earlier run on the same graphs, from where its rounds ended."""
    if store is not None:
        store.keep_round(state, (), first_pairs)
        store.keep_confidence(confidence)
    return _closed_result(problem, Rounds(state, first_pairs, (), converged=True), confidence)


def _closed_result(problem: Problem, rounds: Rounds, confidence: Confidence) -> EvidenceResult:
    state = rounds.state
    found = EvidenceResult(problem, state, state, confidence, rounds.first_pairs, rounds.log, rounds.converged)
    pairs, chance = found.pairs
    return replace(found, state=closed(problem, state, pairs[chance > MORE_LIKELY_THAN_NOT]))
