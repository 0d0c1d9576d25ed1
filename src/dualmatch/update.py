"""Update: align again after new facts have arrived, from what a finished run knows.

Pairs that the run was sure of stay, and are the evidence for the rest. What it left open, and what is new, looks for a
partner once more, with tokens weighed over all facts, old and new. How likely a score is to be a true pair was learnt
by the run and is not learnt again. (The paper's open-world setting.)
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.alignment import Alignment
from dualmatch.config import Config
from dualmatch.decode.forbidding import NO_PARTNER, Forbidden
from dualmatch.encode.evidence.relations import align_relations
from dualmatch.encode.evidence.sides import Ids, fact_sides
from dualmatch.engine import Engine, InProcess
from dualmatch.errors import InputError
from dualmatch.evidence import STABLE_SHARE, Evidence, evidence_of
from dualmatch.graph.growing import Grown
from dualmatch.graph.model import TemporalGraph
from dualmatch.keeping import EvidenceKeeper, KeepsNothing, Outcome, Standing
from dualmatch.rounds import Basis, Looking, Round
from dualmatch.run import Run
from dualmatch.stages import Progress, Stages

logger = logging.getLogger(__name__)

_MAX_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Known:
    """What a finished run of method evidence knows, by the row numbers of its graphs.

    Attributes
    ----------
    basis:
        Its last round, with the final beliefs.
    first_pairs: (n, 2)
        Confident pairs after its round 0.
    seeds, forbidden: (n, 2)
        What it was given.
    """

    basis: Basis
    first_pairs: Ids
    seeds: Ids
    forbidden: Ids

    @classmethod
    def of(cls, alignment: Alignment) -> Self:
        """What an alignment knows that is still in memory."""
        evidence = alignment.evidence
        if evidence is None:
            raise InputError(f"an update goes on from method evidence; {alignment.method} keeps nothing to go on from")
        return cls(
            Basis(evidence.scale, evidence.weights, evidence.similarity, evidence.beliefs),
            evidence.first_pairs,
            alignment.pairs[alignment.is_seed].astype(np.int64),
            alignment.forbidden.pairs.astype(np.int64),
        )

    @classmethod
    def from_run(
        cls,
        standing: Standing,
        outcome: Outcome,
        seeds: NDArray[np.integer] | None,
        forbidden: NDArray[np.integer] | None,
    ) -> Self:
        """What a finished run has kept."""
        none = np.zeros((0, 2), dtype=np.int64)
        return cls(
            Basis(standing.scale, standing.weights, standing.similarity, outcome.beliefs),
            standing.first_pairs,
            none if seeds is None else seeds.astype(np.int64),
            none if forbidden is None else forbidden.astype(np.int64),
        )

    def at(self, source: Grown, target: Grown) -> Known:
        """The same by the row numbers of the graphs that have grown."""
        shape = source.graph.n_entities, target.graph.n_entities
        rows = source.row_of, target.row_of

        def moved(pairs: Ids) -> Ids:
            target_row = np.where(pairs[:, 1] == NO_PARTNER, NO_PARTNER, rows[1][pairs[:, 1]])
            return np.stack([rows[0][pairs[:, 0]], target_row], axis=1)

        basis, old = self.basis, self.basis.beliefs
        pairs = moved(old.pairs)
        order = np.argsort(pairs[:, 0], kind="stable")
        probability = _moved(old.probability, rows, shape)
        beliefs = replace(
            old,
            pairs=pairs[order],
            confidence=old.confidence[order],
            probability=sp.csr_array(probability),
            partner=np.ones(probability.nnz),  # the next round says it anew
        )
        weights = [np.full(size, basis.scale.smoothing) for size in shape]
        for side in (0, 1):
            weights[side][rows[side]] = basis.weights[side]
        similarity = _moved(basis.similarity, rows, shape)
        now = Basis(basis.scale, (weights[0], weights[1]), similarity, beliefs)
        return Known(now, moved(self.first_pairs), moved(self.seeds), moved(self.forbidden))


def update(
    known: Known,
    source: Grown,
    target: Grown,
    config: Config,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
    keeper: EvidenceKeeper | None = None,
) -> Alignment:
    """The alignment of two graphs that have grown, from what a finished run knows; options are those of the run.

    Examples
    --------
    >>> from dualmatch import TemporalGraph, align
    >>> from dualmatch.graph.growing import grown
    >>> from dualmatch.simulate import World, simulate
    >>> pair = simulate(World(entities=100, seed=1))
    >>> before = align(pair.source, pair.target)
    >>> more = TemporalGraph.from_facts([("Ada", "met", pair.source.entities[0], "1833")])
    >>> nothing = TemporalGraph.from_facts([])
    >>> after = update(
    ...     Known.of(before), grown(pair.source, more), grown(pair.target, nothing), before.config
    ... )
    >>> len(after.pairs) == len(before.pairs)
    True
    """
    stages = Stages(progress)
    now = known.at(source, target)
    seeds, forbidden = now.seeds.astype(np.int32), Forbidden(now.forbidden)
    run = Run(source.graph, target.graph, seeds, config, stages, KeepsNothing(), None, forbidden, engine)
    with stages("evidence"):
        evidence = gather_again(
            source.graph,
            target.graph,
            now,
            many_to_one=config.many_to_one,
            engine=engine,
            progress=stages.step,
            keeper=keeper,
        )
    return run.of_evidence(evidence)


def gather_again(
    source: TemporalGraph,
    target: TemporalGraph,
    known: Known,
    *,
    many_to_one: bool = False,
    engine: Engine | None = None,
    progress: Callable[[int, int], None] | None = None,
    keeper: EvidenceKeeper | None = None,
) -> Evidence:
    """Align two graphs that have grown.

    Parameters
    ----------
    known:
        What the run knows, by the rows of the graphs as they are now.
    many_to_one:
        Whether a target that stands in a sure pair may be another's partner, too.
    keeper:
        Told what the update came to, so that the next one can go on from there.

    Returns
    -------
    Evidence
        Like that of a whole run; rankings go by facts alone, without context.
    """
    engine = InProcess() if engine is None else engine
    left, right, kinds = fact_sides(source, target)
    looking = Looking(
        left,
        right,
        kinds,
        known.seeds,
        engine,
        forbidden=Forbidden(known.forbidden),
        model=known.basis.beliefs.model,
        columns_close=not many_to_one,
    )
    looking.may_be_chance = False
    log: list[Round] = []
    before = known.basis
    while True:
        if progress is not None:
            progress(len(log), _MAX_ROUNDS)
        start = time.perf_counter()
        look = looking.again(before, whole=False)
        changed = looking.changed(before.sure, look.sure)
        log.append(look.summary(len(log), False, changed, time.perf_counter() - start))
        logger.info("%s", log[-1])
        if changed <= STABLE_SHARE * len(look.sure) or len(log) == _MAX_ROUNDS:
            break
        before = look
    relations = align_relations(left, right, look.sure, engine)
    outcome = Outcome(look.beliefs, look.similarity, relations, tuple(log))
    if keeper is not None:
        keeper.keep_standing(Standing.of(look, known.first_pairs, log, may_be_chance=False))
        keeper.keep_outcome(outcome)
    return evidence_of(looking, look, outcome, look.plan, known.first_pairs)


def _moved(matrix: sp.csr_matrix | sp.csr_array, rows: tuple[Ids, Ids], shape: tuple[int, int]) -> sp.csr_matrix:
    """A sparse matrix with its rows and columns in other places."""
    entries = matrix.tocoo()
    moved = sp.csr_matrix((entries.data, (rows[0][entries.row], rows[1][entries.col])), shape=shape)
    moved.sort_indices()
    return moved
