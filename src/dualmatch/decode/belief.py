"""Belief: how likely each candidate is to be right, learnt without labels from partners that were taken away.

Sinkhorn says how a row divides its choice among candidates; it cannot say whether the right one is among them at all.
That is read off the similarities. Some settled entities lose their partner and everything is decided anew: what they
get then is how an entity *without* a partner scores. The similarities of all pairs are a mixture of such scores and of
those of true pairs; two normal distributions on the logit scale tell them apart, and
probability = (share among the candidates) × (chance that score and share are those of a true pair).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dualmatch.decode.assign import assign
from dualmatch.decode.mixture import TwoNormals, fit_two_normals
from dualmatch.decode.sinkhorn import Vector
from dualmatch.decode.sparse_sinkhorn import SparsePlan

Ids = NDArray[np.int64]

_HIDDEN_SHARE = 0.1  # this share of the pairs loses its target, another one its source
# With fewer there is nothing to learn from; the plan's own probability has to do.
_LEAST_SAMPLE = 12
_SHARE_EDGES = np.array([0.1, 0.3, 0.5, 0.7, 0.9, 0.97])
_SHARE_ITERATIONS = 10
_GOLDEN_RATIO = 0.6180339887498949  # its multiples spread evenly, whatever share is taken


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
    """

    pairs: Ids
    confidence: Vector
    probability: sparse.csr_array
    partner: Vector
    without_partner: float | None

    @property
    def learnt(self) -> bool:
        """Whether there was enough to learn from; else the probabilities are the plan's own."""
        return self.without_partner is not None


def believe(
    plan: SparsePlan,
    weight_source: Vector,
    weight_target: Vector,
    known: Ids,
    decoys: tuple[Vector, Vector] | None = None,
) -> Beliefs:
    """Beliefs about the candidates of a plan.

    Parameters
    ----------
    plan:
        Its similarities must lie on a grid, so that equal sums are equal whatever their order.
    weight_source, weight_target:
        How much is known of each entity, above 0. Chance similarities depend on it, so they are compared net of it.
    known: (n, 2) int64
        Pairs that are certain: they teach nothing about the others.
    decoys:
        Similarities that made-up entities reach, and the log weights of the two they are between. Where most pairs look
        like theirs, they stand for the entities without partner.
    """
    pairs, entry = assign(plan.entries)
    certain = np.isin(pairs[:, 0], known[:, 0])
    row = np.repeat(np.arange(plan.shape[0]), np.diff(plan.entries.indptr))
    column = plan.entries.indices
    share = _share(plan.entries)
    weight = np.log(weight_source), np.log(weight_target)
    settled, others = pairs[(entry >= _settled_from(entry[~certain])) & ~certain], pairs[~certain]
    learnt: _Learnt | None = None
    if len(others) >= _LEAST_SAMPLE:
        known_of = weight[0][settled[:, 0]] + weight[1][settled[:, 1]]
        left_behind, share_then = _left_behind(plan, settled, known_of)
        if len(left_behind) >= _LEAST_SAMPLE:
            learnt = _learn(plan, (others, left_behind), (_at(share, others), share_then), weight)
        if decoys is not None and len(decoys[0]) >= _LEAST_SAMPLE:
            learnt = _more_sceptical(learnt, _learn_from_decoys(plan, others, weight, *decoys))
    if learnt is None:
        return _beliefs(plan, pairs, np.minimum(plan.entries.data, 1.0), np.ones(len(row)), known, None)
    partner = learnt.chance_of_partner(_logit(plan.similarity.data), weight[0][row] + weight[1][column], share.data)
    return _beliefs(plan, pairs, _rounded(share.data * partner), partner, known, learnt.scores.without)


def _beliefs(
    plan: SparsePlan, pairs: Ids, value: Vector, partner: Vector, known: Ids, without_partner: float | None
) -> Beliefs:
    row = np.repeat(np.arange(plan.shape[0]), np.diff(plan.entries.indptr))
    is_known = np.isin(row, known[:, 0])  # a known pair stands alone in its row
    value, partner = np.where(is_known, 1.0, value), np.where(is_known, 1.0, partner)
    probability = sparse.csr_array((value, plan.entries.indices, plan.entries.indptr), plan.shape)
    return Beliefs(pairs, _at(probability, pairs), probability, partner, without_partner)


@dataclass(frozen=True, eq=False)
class _Learnt:
    """What tells entities with a partner from those without: their score net of chance, and their share."""

    scores: TwoNormals
    expected: _Expected
    share_odds: Vector

    def chance_of_partner(self, score: Vector, weight: Vector, share: Vector) -> Vector:
        chance = self.scores.chance_of_partner(score - self.expected.at(weight))
        odds = chance / np.maximum(1.0 - chance, 1e-12) * self.share_odds[_bin(share)]
        updated: Vector = odds / (1.0 + odds)
        return updated


def _learn(
    plan: SparsePlan, pairs: tuple[Ids, Ids], shares: tuple[Vector, Vector], weight: tuple[Vector, Vector]
) -> _Learnt:
    """Compare all pairs with those of entities whose partner was hidden, given in this order."""
    known = [weight[0][some[:, 0]] + weight[1][some[:, 1]] for some in pairs]
    scores = [_logit(_at(plan.similarity, some)) for some in pairs]
    expected = _Expected.fit(scores[1], known[1])
    mixture = fit_two_normals(scores[0] - expected.at(known[0]), scores[1] - expected.at(known[1]))
    learnt = _Learnt(mixture, expected, np.ones(len(_SHARE_EDGES) + 1))
    without = _frequencies(shares[1], np.ones(len(shares[1])))
    for _ in range(_SHARE_ITERATIONS):
        chance = learnt.chance_of_partner(scores[0], known[0], shares[0])
        odds = np.maximum.accumulate(_frequencies(shares[0], chance) / without)
        learnt = _Learnt(mixture, expected, odds)
    return learnt


def _learn_from_decoys(
    plan: SparsePlan, pairs: Ids, weight: tuple[Vector, Vector], similarity: Vector, known_of: Vector
) -> _Learnt:
    score = _logit(similarity)
    expected = _Expected.fit(score, known_of)
    found = _logit(_at(plan.similarity, pairs)) - expected.at(weight[0][pairs[:, 0]] + weight[1][pairs[:, 1]])
    mixture = fit_two_normals(found, score - expected.at(known_of))
    return _Learnt(mixture, expected, np.ones(len(_SHARE_EDGES) + 1))


def _more_sceptical(hidden: _Learnt | None, decoys: _Learnt) -> _Learnt | None:
    """Decoys know nothing of how alike real entities are, so they have the say only where most pairs look like them."""
    most = decoys.scores.without > max(0.5, 0.0 if hidden is None else hidden.scores.without)
    return decoys if most else hidden


def _frequencies(share: Vector, weight: Vector) -> Vector:
    """How often a share falls between two edges; one more is counted everywhere, so that none is 0."""
    counts = np.bincount(_bin(share), weight, minlength=len(_SHARE_EDGES) + 1) + 1.0
    frequencies: Vector = counts / counts.sum()
    return frequencies


def _bin(share: Vector) -> Ids:
    return np.searchsorted(_SHARE_EDGES, share, side="right")


def chosen_by_row(plan: SparsePlan, beliefs: Beliefs) -> sparse.csr_array:
    """Probability of each candidate where a column may be taken by several rows."""
    by_row = plan.by_row()
    if not beliefs.learnt:
        return by_row
    row = np.repeat(np.arange(plan.shape[0]), np.diff(by_row.indptr))
    share = by_row.data / np.bincount(row, by_row.data, minlength=plan.shape[0]).clip(1e-300)[row]
    return sparse.csr_array((_rounded(share * beliefs.partner), by_row.indices, by_row.indptr), plan.shape)


@dataclass(frozen=True)
class _Expected:
    """What chance scores on average, by how much is known of both entities."""

    at_0: float
    slope: float

    @classmethod
    def fit(cls, score: Vector, weight: Vector) -> _Expected:
        centred = weight - weight.mean()
        slope = float(centred @ score) / max(float(centred @ centred), 1e-9)
        return cls(float(score.mean() - slope * weight.mean()), slope)

    def at(self, weight: Vector) -> Vector:
        expected: Vector = self.at_0 + self.slope * weight
        return expected


def _settled_from(entry: Vector) -> float:
    """Pairs above one half; where those are few, the best 120 or so: a wrong pair taken apart does no harm."""
    enough = round(_LEAST_SAMPLE / _HIDDEN_SHARE)
    return min(0.5, float(np.partition(entry, -enough)[-enough])) if len(entry) > enough else 0.0


def _left_behind(plan: SparsePlan, pairs: Ids, weight: Vector) -> tuple[Ids, Vector]:
    """Pairs of entities whose partner was hidden: what they choose in its absence, and with what share.

    Some pairs lose their target and others their source in the same run, as entities without partner exist on both
    sides and choose one another; then the roles change, which keeps it symmetric. Who is hidden depends on the
    order of the similarities and not on row numbers: the order of the input changes nothing.
    """
    place = np.empty(len(pairs))
    place[np.lexsort((weight, _at(plan.similarity, pairs)))] = (np.arange(len(pairs)) * _GOLDEN_RATIO) % 1.0
    one, other = pairs[place < _HIDDEN_SHARE], pairs[(place >= _HIDDEN_SHARE) & (place < 2 * _HIDDEN_SHARE)]
    found, shares = [], []
    for without_target, without_source in ((one, other), (other, one)):
        rows = np.setdiff1d(np.arange(plan.shape[0]), without_source[:, 0])
        columns = np.setdiff1d(np.arange(plan.shape[1]), without_target[:, 1])
        entries = plan.restricted(rows, columns).entries
        again, _ = assign(entries)
        named = np.stack([rows[again[:, 0]], columns[again[:, 1]]], axis=1)
        kept = np.isin(named[:, 0], without_target[:, 0]) | np.isin(named[:, 1], without_source[:, 1])
        found.append(named[kept])
        shares.append(_at(_share(entries), again[kept]))
    return np.concatenate(found).astype(np.int64), np.concatenate(shares)


def _share(entries: sparse.csr_array) -> sparse.csr_array:
    """What part of its row's and of its column's choice an entry has, the smaller of the two."""
    row = np.repeat(np.arange(entries.shape[0]), np.diff(entries.indptr))
    in_row = np.bincount(row, entries.data, minlength=entries.shape[0]).clip(1e-300)
    in_column = np.bincount(entries.indices, entries.data, minlength=entries.shape[1]).clip(1e-300)
    share = entries.data / np.maximum(in_row[row], in_column[entries.indices])
    return sparse.csr_array((share, entries.indices, entries.indptr), shape=entries.shape)


def _at(matrix: sparse.csr_array, pairs: Ids) -> Vector:
    if len(pairs) == 0:  # scipy gives a sparse array then
        return np.zeros(0)
    return np.asarray(matrix[pairs[:, 0], pairs[:, 1]], dtype=np.float64).ravel()


def _logit(similarity: Vector) -> Vector:
    inside = np.clip(similarity, 1e-4, 1.0 - 1e-4)
    logit: Vector = np.log(inside / (1.0 - inside))
    return logit


def _rounded(values: Vector) -> Vector:
    """To nine decimals: sums of the same numbers in another order differ in their last bits."""
    rounded: Vector = np.rint(values * 1e9) / 1e9
    return rounded
