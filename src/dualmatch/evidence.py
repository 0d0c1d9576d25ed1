"""Rounds: align what the evidence settles, learn from it, and look again, until nothing changes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.decode.belief import CLOSED, SURE, Beliefs
from dualmatch.decode.forbidding import Forbidden
from dualmatch.decode.sparse_sinkhorn import SparsePlan
from dualmatch.encode.evidence.relations import RelationAlignment, align_relations
from dualmatch.encode.evidence.sides import FactSides, Ids, fact_sides
from dualmatch.encode.evidence.texts import with_texts
from dualmatch.encode.evidence.tokens import Knowledge
from dualmatch.engine import Engine, InProcess
from dualmatch.graph.literals import LiteralPair
from dualmatch.graph.model import TemporalGraph
from dualmatch.rounds import Looking, Part, Round

logger = logging.getLogger(__name__)

# Pairs that changed: at most this share of them where nothing more is to come, and where a whole round may be the last.
_STABLE_SHARE = 0.03
_SETTLING_SHARE = 0.1
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
    knowledge: Knowledge | None
        What the last round's tokens were built on.
    """

    similarity: sp.csr_matrix
    ranking: sp.csr_matrix
    settled: SparsePlan
    plan: SparsePlan
    beliefs: Beliefs
    first_pairs: Ids
    relations: RelationAlignment
    knowledge: Knowledge | None
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
    """
    engine = InProcess() if engine is None else engine
    left, right, kinds = fact_sides(source, target)
    left, right = with_texts((left, right), literals)
    given: Ids = np.zeros((0, 2), dtype=np.int64) if seeds is None else seeds.astype(np.int64)
    looking = Looking(left, right, kinds, given, engine, without, forbidden)
    start, log, pairs, settling = time.perf_counter(), [], given, False
    look = looking.first()
    first_pairs = look.sure
    for number in range(max_rounds):
        if progress is not None:
            progress(number, max_rounds)
        whole = number < _WHOLE_ROUNDS or settling or number + 1 == max_rounds
        look = look if number == 0 else looking.again(look, whole)
        changed = len(np.setxor1d(_codes(pairs, target), _codes(look.sure, target)))
        pairs = look.sure
        log.append(look.summary(number, whole, changed, time.perf_counter() - start))
        logger.info("%s", log[-1])
        # A first round that adds nothing to the seeds may still have taught what relations mean.
        stable = changed <= _STABLE_SHARE * len(pairs) and (number > 0 or not len(given))
        if stable and whole:
            break
        settling = changed <= _SETTLING_SHARE * len(pairs)
        start = time.perf_counter()
    start = time.perf_counter()
    beliefs = looking.final_beliefs(look)
    pairs, closed = (beliefs.pairs[beliefs.confidence > least] for least in (SURE, CLOSED))
    seconds = log[-1].seconds + time.perf_counter() - start
    log[-1] = replace(log[-1], pairs=len(pairs), without_partner=beliefs.without_partner, seconds=seconds)
    ranking = looking.forbidden.left_out_of(looking.ranking(look, closed))
    return Evidence(
        similarity=look.similarity,
        ranking=ranking,
        settled=look.plan,
        plan=looking.balanced(ranking, look.plan.sharpness),
        beliefs=beliefs,
        first_pairs=first_pairs,
        relations=align_relations(left, right, pairs, engine),
        knowledge=look.knowledge,
        source=left,
        target=right,
        literals=literals,
        rounds=tuple(log),
    )


def _codes(pairs: Ids, target: TemporalGraph) -> Ids:
    return pairs[:, 0] * target.n_entities + pairs[:, 1]
