"""Belief: how likely each candidate is to be right, learnt without labels from partners that were taken away.

Sinkhorn says how a row divides its choice among candidates; it cannot say whether the right one is among them at all.
That is read off the similarities. Some settled entities lose their partner and everything is decided anew: what they
get then is how an entity *without* a partner scores. The similarities of all pairs are a mixture of such scores and of
those of true pairs (`mixture.py`), and
probability = (share among the candidates) × (chance that score and share are those of a true pair).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dualmatch.decode.assign import assign
from dualmatch.decode.hiding import LEAST_SETTLED, hidden
from dualmatch.decode.mixture import Learnt, Scores, learn, learn_from_decoys
from dualmatch.decode.sinkhorn import Vector
from dualmatch.decode.sparse_sinkhorn import SparsePlan
from dualmatch.engine import Engine

Ids = NDArray[np.int64]

LEAST_SAMPLE: Final = 12
"""With fewer there is nothing to learn from; the plan's own probability has to do."""
SURE: Final = 0.5
"""Pairs above this probability are more likely than all other outcomes together."""
CLOSED: Final = 0.9
"""What is this sure needs no context, and can be learnt from."""
MOST_LIKE_DECOYS: Final = 0.5
"""Where more of the pairs than this look like decoys, decoys stand for the entities without partner."""
_NEXT_TO_NOTHING = 0.01


@dataclass(frozen=True, eq=False)
class Beliefs:
    """How likely the candidates of a plan are.

    Attributes
    ----------
    pairs: (n, 2) int64
        One-to-one pairs without any threshold, sorted by source.
    confidence: (n,) float64
        The probability of each.
    probability: csr of the plan's pattern
    partner: (nnz,) float64
        For each candidate, the chance that its score is one of a true pair, whatever its rivals.
    without_partner: float | None
        Estimated share of the pairs whose entities have no partner; None where there was too little to learn from.
    like_decoys: float
        Share of the pairs that look like decoys; 0 where there were none.
    model: Learnt | None
        What the probabilities follow from, to judge other pairs by; None where there was too little to learn from.
    """

    pairs: Ids
    confidence: Vector
    probability: sparse.csr_array
    partner: Vector
    without_partner: float | None = None
    like_decoys: float = 0.0
    model: Learnt | None = None

    @property
    def learnt(self) -> bool:
        """Whether there was enough to learn from; else the probabilities are the plan's own."""
        return self.without_partner is not None


def believe(
    plan: SparsePlan,
    weights: tuple[Vector, Vector],
    known: Ids,
    *,
    decoys: Scores | None = None,
    chance: Scores | None = None,
    model: Learnt | None = None,
    engine: Engine | None = None,
) -> Beliefs:
    """Beliefs about the candidates of a plan.

    Parameters
    ----------
    plan:
        Its similarities must lie on a grid, so that equal sums are equal whatever their order.
    weights:
        How much is known of each source and each target entity, above 0. Chance similarities depend on it, so they are
        compared net of it.
    known: (n, 2) int64
        Pairs that are certain: they teach nothing about the others.
    decoys:
        What made-up entities reach. Where most pairs look like theirs, they stand for the entities without partner.
    chance:
        What entities without partner reach, where that is known better than by hiding partners within the plan: for
        the last word on a plan.
    model:
        What was learnt before: then nothing is learnt again.
    engine:
        Where Sinkhorn is computed.
    """
    pairs, entry = assign(plan.entries)
    certain = np.isin(pairs[:, 0], known[:, 0])
    share = share_of_rivals(plan.entries)
    found = scores_of(plan, weights, pairs[~certain], share)
    learnt, final = model, chance is not None
    if chance is None and model is None:
        settled = pairs[~certain][entry[~certain] >= _settled_from(entry[~certain])]
        chance = _left_behind(plan, weights, settled, engine)
    like_decoys = 0.0
    if chance is not None and len(found.score) >= LEAST_SAMPLE:
        if len(chance.score) >= LEAST_SAMPLE:
            learnt = learn(found, chance, final=final)
        if decoys is not None and len(decoys.score) >= LEAST_SAMPLE:
            by_decoys = learn_from_decoys(found, decoys)
            like_decoys, learnt = by_decoys.without, _more_sceptical(learnt, by_decoys)
    if learnt is None:
        return _beliefs(plan, pairs, np.minimum(plan.entries.data, 1.0), np.ones(plan.entries.nnz), known)
    row = np.repeat(np.arange(plan.shape[0]), np.diff(plan.entries.indptr))
    weight = np.log(weights[0])[row] + np.log(weights[1])[plan.entries.indices]
    partner = learnt.chance_of_partner(Scores(logit(plan.similarity.data), weight, share.data))
    beliefs = _beliefs(plan, pairs, _rounded(share.data * partner), partner, known)
    return replace(beliefs, without_partner=learnt.without, like_decoys=like_decoys, model=learnt)


def _beliefs(plan: SparsePlan, pairs: Ids, value: Vector, partner: Vector, known: Ids) -> Beliefs:
    row = np.repeat(np.arange(plan.shape[0]), np.diff(plan.entries.indptr))
    is_known = np.isin(row, known[:, 0])  # a known pair stands alone in its row
    value, partner = np.where(is_known, 1.0, value), np.where(is_known, 1.0, partner)
    probability = sparse.csr_array((value, plan.entries.indices, plan.entries.indptr), plan.shape)
    return Beliefs(pairs, at_pairs(probability, pairs), probability, partner)


def scores_of(
    plan: SparsePlan, weights: tuple[Vector, Vector], pairs: Ids, share: sparse.csr_array | None = None
) -> Scores:
    """What some pairs of a plan reach."""
    share = share_of_rivals(plan.entries) if share is None else share
    weight = np.log(weights[0])[pairs[:, 0]] + np.log(weights[1])[pairs[:, 1]]
    return Scores(logit(at_pairs(plan.similarity, pairs)), weight, at_pairs(share, pairs))


def _more_sceptical(hidden: Learnt | None, decoys: Learnt) -> Learnt | None:
    """Decoys know nothing of how alike real entities are, so they have the say only where most pairs look like them."""
    most = decoys.without > max(MOST_LIKE_DECOYS, 0.0 if hidden is None else hidden.without)
    return decoys if most else hidden


def chosen_by_row(plan: SparsePlan, beliefs: Beliefs) -> sparse.csr_array:
    """Probability of each candidate where a column may be taken by several rows."""
    by_row = plan.by_row()
    if not beliefs.learnt:
        return by_row
    row = np.repeat(np.arange(plan.shape[0]), np.diff(by_row.indptr))
    share = by_row.data / np.bincount(row, by_row.data, minlength=plan.shape[0]).clip(1e-300)[row]
    return sparse.csr_array((_rounded(share * beliefs.partner), by_row.indices, by_row.indptr), plan.shape)


def _settled_from(entry: Vector) -> float:
    """Pairs above one half; where those are few, the best 120 or so: a wrong pair taken apart does no harm."""
    if len(entry) <= LEAST_SETTLED:
        return 0.0
    return min(SURE, float(np.partition(entry, -LEAST_SETTLED)[-LEAST_SETTLED]))


def _left_behind(plan: SparsePlan, weights: tuple[Vector, Vector], pairs: Ids, engine: Engine | None) -> Scores:
    """What entities reach whose partner was hidden: whom they choose in its absence, and with what share.

    Some pairs lose their target and others their source in the same run, as entities without partner exist on both
    sides and choose one another.
    """
    found = []
    for lose_target, lose_source in hidden(scores_of(plan, weights, pairs), weights, pairs):
        rows = np.setdiff1d(np.arange(plan.shape[0]), pairs[lose_source, 0])
        columns = np.setdiff1d(np.arange(plan.shape[1]), pairs[lose_target, 1])
        again = plan.restricted(rows, columns, engine)
        chosen, _ = assign(again.entries)
        alone = np.isin(rows[chosen[:, 0]], pairs[lose_target, 0]) | np.isin(
            columns[chosen[:, 1]], pairs[lose_source, 1]
        )
        found.append(scores_of(again, (weights[0][rows], weights[1][columns]), chosen[alone]))
    return Scores.joined(found)


def share_of_rivals(entries: sparse.csr_array) -> sparse.csr_array:
    """What part of its row's and of its column's choice an entry has, the smaller of the two."""
    row = np.repeat(np.arange(entries.shape[0]), np.diff(entries.indptr))
    in_row = np.bincount(row, entries.data, minlength=entries.shape[0]).clip(1e-300)
    in_column = np.bincount(entries.indices, entries.data, minlength=entries.shape[1]).clip(1e-300)
    share = entries.data / np.maximum(in_row[row], in_column[entries.indices])
    return sparse.csr_array((share, entries.indices, entries.indptr), shape=entries.shape)


def at_pairs(matrix: sparse.csr_array, pairs: Ids) -> Vector:
    """Entries of a sparse matrix at (n, 2) row and column numbers."""
    if len(pairs) == 0:  # scipy gives a sparse array then
        return np.zeros(0)
    return np.asarray(matrix[pairs[:, 0], pairs[:, 1]], dtype=np.float64).ravel()


def logit(similarity: Vector) -> Vector:
    """ln(s / (1 − s)), s kept within (0.01, 1): below that all is next to nothing, whatever the logit makes of it."""
    inside = np.clip(similarity, _NEXT_TO_NOTHING, 1.0 - 1e-4)
    value: Vector = np.log(inside / (1.0 - inside))
    return value


def _rounded(values: Vector) -> Vector:
    """To nine decimals: sums of the same numbers in another order differ in their last bits."""
    rounded: Vector = np.rint(values * 1e9) / 1e9
    return rounded
