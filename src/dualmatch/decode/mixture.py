"""Scores of two kinds, with a partner and without: a mixture of two normal distributions, one of them partly known.

Three signs tell them apart: the score net of what chance gives for so much knowledge, the share among rivals, and how
often an entity without partner looks as if it had one (the tail: two unrelated facts on one day, say).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dualmatch.decode.sinkhorn import Vector

_ITERATIONS = 100
_FEW = 12  # high scores to start from; with fewer, all scores
# Widths below this are not to be had from samples of such sizes, and a width of 0 would never leave 0.
_LEAST_VARIANCE = 0.05
_STOREY_AT = 0.9
_MOST_WITHOUT = 0.95
_SHARE_EDGES = np.array([0.1, 0.3, 0.5, 0.7, 0.9, 0.97])
_SHARE_ITERATIONS = 10
_TAIL_ITERATIONS = 50


@dataclass(frozen=True, eq=False)
class Scores:
    """What pairs reach, an array entry each.

    Attributes
    ----------
    score:
        Logit of the similarity.
    weight:
        Log of how much is known of the two, added.
    share:
        Part of the choice among rivals, 0 to 1.
    """

    score: Vector
    weight: Vector
    share: Vector

    @classmethod
    def joined(cls, parts: list[Scores]) -> Scores:
        nothing = [np.zeros(0)]
        return cls(
            np.concatenate([part.score for part in parts] or nothing),
            np.concatenate([part.weight for part in parts] or nothing),
            np.concatenate([part.share for part in parts] or nothing),
        )


@dataclass(frozen=True)
class TwoNormals:
    """Scores with and without a partner."""

    mean_without: float
    width_without: float
    mean_with: float
    width_with: float
    without: float

    def likelihood_ratio(self, score: Vector) -> Vector:
        """How much likelier a score is with a partner than without, never falling as the score rises."""
        low, high = self.mean_without, self._peak()
        at = np.clip(score, low, high)
        z_with, z_without = (at - self.mean_with) / self.width_with, (at - low) / self.width_without
        log_ratio = 0.5 * (z_without**2 - z_with**2) + np.log(self.width_without / self.width_with)
        ratio: Vector = np.exp(np.minimum(log_ratio, 300.0))
        return ratio

    def _peak(self) -> float:
        """Where the likelihood ratio stops rising: the narrower of two normal distributions falls off first."""
        if self.width_with >= self.width_without:
            return np.inf
        precise, wide = self.width_with**-2, self.width_without**-2
        return (self.mean_with * precise - self.mean_without * wide) / (precise - wide)


@dataclass(frozen=True, eq=False)
class Learnt:
    """What tells pairs of entities with a partner from those without."""

    normals: TwoNormals
    expected: Expected
    share_odds: Vector
    tail: float

    @property
    def without(self) -> float:
        """Share of the pairs whose entities have no partner."""
        return self.normals.without

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        parts = {"normals": asdict(self.normals), "expected": asdict(self.expected)}
        return {**parts, "share_odds": self.share_odds.tolist(), "tail": self.tail}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What `as_dict` gave."""
        normals, expected = TwoNormals(**data["normals"]), Expected(**data["expected"])
        return cls(normals, expected, np.array(data["share_odds"]), data["tail"])

    def chance_of_partner(self, scores: Scores) -> Vector:
        """Posterior of "with a partner"."""
        ratio = self.likelihood_ratio(scores)
        ratio = ratio / (1.0 - self.tail + self.tail * ratio)
        odds = (1.0 - self.without) * ratio
        chance: Vector = odds / (odds + self.without)
        return chance

    def likelihood_ratio(self, scores: Scores) -> Vector:
        """By score and share, the tail left out."""
        net = scores.score - self.expected.at(scores.weight)
        ratio: Vector = self.normals.likelihood_ratio(net) * self.share_odds[_bin(scores.share)]
        return ratio


def learn(found: Scores, chance: Scores, *, final: bool) -> Learnt:
    """Compare all pairs found with what chance reaches.

    Parameters
    ----------
    final:
        Whether to count the tail. Rounds that are not the last do without: what chance supports now, the facts of the
        next round may refute, and where little is in common nothing would begin otherwise.
    """
    learnt = _by_score(found, chance)
    without = _frequencies(chance.share, np.ones(len(chance.share)))
    for _ in range(_SHARE_ITERATIONS):
        with_partner = _frequencies(found.share, learnt.chance_of_partner(found))
        learnt = replace(learnt, share_odds=np.maximum.accumulate(with_partner / without))
    return replace(learnt, tail=_tail(learnt.likelihood_ratio(chance))) if final else learnt


def learn_from_decoys(found: Scores, decoys: Scores) -> Learnt:
    """The same by score alone: decoys have no rivals."""
    return _by_score(found, decoys)


def _by_score(found: Scores, chance: Scores) -> Learnt:
    expected = Expected.fit(chance.score, chance.weight)
    normals = fit_two_normals(found.score - expected.at(found.weight), chance.score - expected.at(chance.weight))
    return Learnt(normals, expected, np.ones(len(_SHARE_EDGES) + 1), 0.0)


def _tail(ratio: Vector) -> float:
    """Share of chance's pairs that look like true ones, by expectation–maximisation; half a pair more than seen."""
    tail = 0.05
    for _ in range(_TAIL_ITERATIONS):
        alike = tail * ratio / (1.0 - tail + tail * ratio)
        tail = (float(alike.sum()) + 0.5) / (len(ratio) + 1.0)
    return tail


def _frequencies(share: Vector, weight: Vector) -> Vector:
    """How often a share falls between two edges; one more is counted everywhere, so that none is 0."""
    counts = np.bincount(_bin(share), weight, minlength=len(_SHARE_EDGES) + 1) + 1.0
    frequencies: Vector = counts / counts.sum()
    return frequencies


def _bin(share: Vector) -> NDArray[np.int64]:
    return np.searchsorted(_SHARE_EDGES, share, side="right")


@dataclass(frozen=True)
class Expected:
    """What chance scores on average, by how much is known of both entities.

    Similarity is what two entities share over the root of what is known of both. What they share by chance is the same
    for all (slope −½) at one extreme and as that root (slope 0) at the other. Beyond lie accidents of the sample, and
    true pairs, of which more is known than of most in it, must not be measured by those.
    """

    at_0: float
    slope: float

    @classmethod
    def fit(cls, score: Vector, weight: Vector) -> Expected:
        centred = weight - weight.mean()
        slope = min(max(float(centred @ score) / max(float(centred @ centred), 1e-9), -0.5), 0.0)
        return cls(float(score.mean() - slope * weight.mean()), slope)

    def at(self, weight: Vector) -> Vector:
        expected: Vector = self.at_0 + self.slope * weight
        return expected


def fit_two_normals(scores: Vector, without: Vector) -> TwoNormals:
    """Expectation–maximisation; the scores of `without` are known to be without a partner and weigh as much as all.

    The share without a partner is at least what the low scores show (Storey's estimate): were all with a partner,
    nine tenths of the null's range could not hold more of the scores than of the null.
    """
    least = min(float((scores <= np.quantile(without, _STOREY_AT)).mean()) / _STOREY_AT, _MOST_WITHOUT)
    mean_0, width_0 = float(without.mean()), float(without.std()) + 0.05
    high = scores[scores > np.quantile(without, 0.9)]
    high = high if len(high) >= _FEW else scores
    mean_1, width_1, share_0 = float(high.mean()), max(float(high.std()), 0.1), max(0.5, least)
    weight = len(scores) / len(without)
    for _ in range(_ITERATIONS):
        density_0, density_1 = (
            share_0 * _normal(scores, mean_0, width_0),
            (1 - share_0) * _normal(scores, mean_1, width_1),
        )
        is_0 = (density_0 + 1e-300) / (density_0 + density_1 + 1e-300)
        is_1 = 1.0 - is_0
        share_0 = max(float(is_0.mean()), least)
        total = float(is_0.sum()) + weight * len(without)
        mean_0 = (float((is_0 * scores).sum()) + weight * float(without.sum())) / total
        spread = float((is_0 * (scores - mean_0) ** 2).sum()) + weight * float(((without - mean_0) ** 2).sum())
        width_0 = np.sqrt(spread / total + 1e-6)
        if is_1.sum() > 1:
            mean_1 = max(float((is_1 * scores).sum() / is_1.sum()), mean_0 + 0.5 * width_0)
            width_1 = np.sqrt(float((is_1 * (scores - mean_1) ** 2).sum() / is_1.sum()) + _LEAST_VARIANCE)
    return TwoNormals(mean_0, float(width_0), mean_1, float(width_1), share_0)


def _normal(x: Vector, mean: float, width: float) -> Vector:
    exponent = np.maximum(-0.5 * ((x - mean) / width) ** 2, -600.0)  # numbers next to 0 are slow, and no different
    density: Vector = np.exp(exponent) / (width * np.sqrt(2.0 * np.pi))
    return density
