"""Placebo: the last round again in a world where some partners never were.

Hiding a partner after the candidates are scored shows too little. What an entity shares with its partner still counts
as knowledge of it, and two entities left over on one day by chance do not yet support each other. So here the hidden
entities leave the graphs, facts and all; what else is settled stays, and all that is open looks for a partner anew.
What the bereaved find is what entities without partner find: final beliefs are measured against it.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dualmatch.decode.assign import assign
from dualmatch.decode.belief import SURE, Beliefs, scores_of
from dualmatch.decode.forbidding import Forbidden
from dualmatch.decode.hiding import LEAST_SETTLED, hidden
from dualmatch.decode.mixture import Scores
from dualmatch.decode.sparse_sinkhorn import SparsePlan, sparse_sinkhorn
from dualmatch.encode.evidence.candidates import find_candidates, scored_tokens
from dualmatch.encode.evidence.knowledge import Knowledge, SoftPairs
from dualmatch.encode.evidence.relations import align_relations
from dualmatch.encode.evidence.sides import FactSides, Ids, TimeKind
from dualmatch.encode.evidence.tokens import Scale, build_tokens
from dualmatch.engine import Engine


def without_partners(
    sides: tuple[FactSides, FactSides],
    kinds: tuple[TimeKind, ...],
    plan: SparsePlan,
    weights: tuple[np.ndarray, np.ndarray],
    beliefs: Beliefs,
    known: Ids,
    scale: Scale,
    engine: Engine | None = None,
    *,
    relations: bool = True,
    forbidden: Forbidden | None = None,
) -> Scores:
    """What entities reach whose partner has left.

    Parameters
    ----------
    plan, weights, beliefs:
        Of the last round: whom to hide, and what is settled.
    known: (n, 2) int64
        Seeds; none of them is hidden.
    scale:
        Of the last round's tokens.
    relations:
        Whether relations are aligned, as they were in the round.
    forbidden:
        Pairs that are no candidates here either.
    """
    barred = Forbidden(known[:0]) if forbidden is None else forbidden
    free = np.flatnonzero(~np.isin(beliefs.pairs[:, 0], known[:, 0]))
    sure = free[beliefs.confidence[free] > SURE]
    if len(sure) < LEAST_SETTLED:
        best = np.argsort(-beliefs.confidence[free], kind="stable")
        sure = np.sort(free[best[:LEAST_SETTLED]])
    pairs = beliefs.pairs[sure]
    found = []
    for lose_target, lose_source in hidden(scores_of(plan, weights, pairs), weights, pairs):
        stays = beliefs.confidence > SURE
        stays[sure[lose_target | lose_source]] = False
        found.append(
            _bereaved(
                sides,
                kinds,
                plan,
                (pairs[lose_target], pairs[lose_source]),
                (beliefs.pairs[stays], beliefs.confidence[stays]),
                engine,
                scale,
                relations,
                barred,
            )
        )
    return Scores.joined(found)


def _bereaved(
    sides: tuple[FactSides, FactSides],
    kinds: tuple[TimeKind, ...],
    plan: SparsePlan,
    parted: tuple[Ids, Ids],
    settled: tuple[Ids, np.ndarray],
    engine: Engine | None,
    scale: Scale,
    align_them: bool,
    forbidden: Forbidden,
) -> Scores:
    """One fold; `parted` pairs have lost their target and their source."""
    lost_target, lost_source = parted
    pairs, confidence = settled
    gone = _marked(plan.shape[0], lost_source[:, 0]), _marked(plan.shape[1], lost_target[:, 1])
    source, target = (side.without(which) for side, which in zip(sides, gone, strict=True))
    relations = align_relations(source, target, pairs if align_them else pairs[:0], engine)
    soft = SoftPairs(pairs[:, 0], pairs[:, 1], confidence)
    rows, columns = (np.flatnonzero(~(which | _marked(len(which), pairs[:, side]))) for side, which in enumerate(gone))
    knowledge = Knowledge(soft, relations.source_class, relations.target_class)
    tokens = build_tokens(source, target, kinds, knowledge, (rows, columns), scale.smoothing)
    scored = scored_tokens(tokens, dearest=scale.dearest)
    similarity = forbidden.left_out_of(find_candidates(scored, plan.shape, engine=engine))
    again = sparse_sinkhorn(sparse.csr_array(similarity), plan.sharpness, plan.iterations, plan.background, engine)
    chosen, _ = assign(again.entries)
    alone = np.isin(chosen[:, 0], lost_target[:, 0]) | np.isin(chosen[:, 1], lost_source[:, 1])
    weights = np.ones(plan.shape[0]), np.ones(plan.shape[1])
    weights[0][rows], weights[1][columns] = scored.known
    return scores_of(again, weights, chosen[alone])


def _marked(size: int, places: Ids) -> np.ndarray:
    marked = np.zeros(size, dtype=bool)
    marked[places] = True
    return marked
