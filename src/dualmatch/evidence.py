"""Rounds: align what the evidence settles, learn from it, and look again, until nothing changes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.decode.belief import CLOSED, SURE, Beliefs
from dualmatch.decode.forbidding import Forbidden
from dualmatch.decode.sparse_sinkhorn import SparsePlan
from dualmatch.encode.evidence.knowledge import Knowledge
from dualmatch.encode.evidence.relations import RelationAlignment, align_relations
from dualmatch.encode.evidence.sides import FactSides, Ids, fact_sides
from dualmatch.encode.evidence.texts import with_texts
from dualmatch.encode.evidence.tokens import Scale
from dualmatch.engine import Engine, InProcess
from dualmatch.graph.literals import LiteralPair
from dualmatch.graph.model import TemporalGraph
from dualmatch.keeping import EvidenceKeeper, KeepsNothing, Outcome, Standing
from dualmatch.rounds import Floats, Look, Looking, Part, Round

logger = logging.getLogger(__name__)

STABLE_SHARE: Final = 0.03
"""Where at most this share of the pairs changes, nothing more is to come."""
_SETTLING_SHARE = 0.1  # where a whole round may be the last
_WHOLE_ROUNDS = 3  # by time alone, with the first neighbours, with most; then only what is open, and all in the last


@dataclass(frozen=True, eq=False)
class Evidence:
    """Outcome of the rounds.

    Attributes
    ----------
    similarity: csr float32
        Smoothed cosine of the facts; decisions rest on it alone.
    ranking: csr float32
        The same plus context for what stayed open; rank with it.
    settled, plan: SparsePlan
        Sinkhorn of `similarity` and of `ranking`.
    beliefs: Beliefs
        One-to-one pairs and all other candidates, each with how likely it is.
    first_pairs: (n, 2) int64
        Confident pairs after round 0.
    knowledge, weights, scale:
        What the last round's tokens were built on; how much is known of each source and each target entity; and what
        all tokens together tell.
    """

    similarity: sp.csr_matrix
    ranking: sp.csr_matrix
    settled: SparsePlan
    plan: SparsePlan
    beliefs: Beliefs
    first_pairs: Ids
    relations: RelationAlignment
    knowledge: Knowledge | None
    weights: tuple[Floats, Floats]
    scale: Scale
    source: FactSides
    target: FactSides
    literals: LiteralPair | None
    rounds: tuple[Round, ...]

    @property
    def closed(self) -> Ids:
        """Pairs sure enough to be left alone, and to be learnt from: (n, 2)."""
        return self.beliefs.pairs[self.beliefs.confidence > CLOSED]


def gather_evidence(
    source: TemporalGraph,
    target: TemporalGraph,
    seeds: NDArray[np.integer] | None = None,
    max_rounds: int = 8,
    progress: Callable[[int, int], None] | None = None,
    literals: LiteralPair | None = None,
    without: Collection[Part] = (),
    forbidden: Forbidden | None = None,
    engine: Engine | None = None,
    keeper: EvidenceKeeper | None = None,
) -> Evidence:
    """Align two graphs by the facts they share.

    Parameters
    ----------
    seeds: (n, 2) int64
        Pairs known beforehand; they stay in every round. Without them, round 0 goes by time alone.
    literals:
        Labels and other literals to look at besides the facts.
    without:
        Parts to do without, to see what they are worth.
    forbidden:
        Pairs that are no candidates in any round.
    engine:
        Where blocks are computed; in this process by default. No result depends on it.
    keeper:
        Told where each round ends; what it has kept already is gone on from.
    """
    engine = InProcess() if engine is None else engine
    left, right, kinds = fact_sides(source, target)
    left, right = with_texts((left, right), literals)
    given: Ids = np.zeros((0, 2), dtype=np.int64) if seeds is None else seeds.astype(np.int64)
    looking = Looking(left, right, kinds, given, engine, without, forbidden)
    keeper = KeepsNothing() if keeper is None else keeper
    look, first_pairs, log = _all_rounds(looking, max_rounds, keeper, progress)
    outcome = keeper.outcome()
    if outcome is None:
        outcome = _outcome(looking, look, log)
        keeper.keep_outcome(outcome)
    plan = looking.balanced(outcome.ranking, look.plan.sharpness)
    return evidence_of(looking, look, outcome, plan, first_pairs, literals)


def evidence_of(
    looking: Looking,
    look: Look,
    outcome: Outcome,
    plan: SparsePlan,
    first_pairs: Ids,
    literals: LiteralPair | None = None,
) -> Evidence:
    """All that the last look and the last word on it come to; `plan` balances the outcome's ranking."""
    return Evidence(
        similarity=look.similarity,
        ranking=outcome.ranking,
        settled=look.plan,
        plan=plan,
        beliefs=outcome.beliefs,
        first_pairs=first_pairs,
        relations=outcome.relations,
        knowledge=look.knowledge,
        weights=look.weights,
        scale=look.scale,
        source=looking.left,
        target=looking.right,
        literals=literals,
        rounds=outcome.log,
    )


def _all_rounds(
    looking: Looking, max_rounds: int, keeper: EvidenceKeeper, progress: Callable[[int, int], None] | None
) -> tuple[Look, Ids, list[Round]]:
    """The last look, the confident pairs after round 0, and what each round did; on from where the keeper stands."""
    given = looking.given
    kept = keeper.standing()
    if kept is None:
        look, first_pairs, log = None, given, []
    else:
        look, first_pairs, log = kept.look(looking), kept.first_pairs, list(kept.log)
    while look is None or not _is_last(log[-1], max_rounds, bool(len(given))):
        number, start = len(log), time.perf_counter()
        if progress is not None:
            progress(number, max_rounds)
        if look is None:
            whole, before = True, given
            look = looking.first()
            first_pairs = look.sure
        else:
            whole = number < _WHOLE_ROUNDS or _is_settling(log[-1]) or number + 1 == max_rounds
            before = look.sure
            look = looking.again(look, whole)
        log.append(look.summary(number, whole, looking.changed(before, look.sure), time.perf_counter() - start))
        logger.info("%s", log[-1])
        keeper.keep_standing(Standing.of(look, first_pairs, log, looking.may_be_chance))
    return look, first_pairs, log


def _is_last(done: Round, max_rounds: int, seeded: bool) -> bool:
    # A first round that adds nothing to the seeds may still have taught what relations mean.
    stable = done.changed <= STABLE_SHARE * done.pairs and (done.number > 0 or not seeded)
    return (stable and done.whole) or done.number + 1 >= max_rounds


def _is_settling(done: Round) -> bool:
    return done.changed <= _SETTLING_SHARE * done.pairs


def _outcome(looking: Looking, look: Look, log: list[Round]) -> Outcome:
    """The last word on what the last round saw."""
    start = time.perf_counter()
    beliefs = looking.final_beliefs(look)
    pairs, closed = (beliefs.pairs[beliefs.confidence > least] for least in (SURE, CLOSED))
    seconds = log[-1].seconds + time.perf_counter() - start
    last = replace(log[-1], pairs=len(pairs), without_partner=beliefs.without_partner, seconds=seconds)
    ranking = looking.forbidden.left_out_of(looking.ranking(look, closed))
    return Outcome(
        beliefs, ranking, align_relations(looking.left, looking.right, pairs, looking.engine), (*log[:-1], last)
    )
