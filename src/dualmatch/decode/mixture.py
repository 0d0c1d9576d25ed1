"""Scores of two kinds, with a partner and without: a mixture of two normal distributions, one of them partly known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualmatch.decode.sinkhorn import Vector

_ITERATIONS = 100
_FEW = 12  # high scores to start from; with fewer, all scores
# Widths below this are not to be had from samples of such sizes, and a width of 0 would never leave 0.
_LEAST_VARIANCE = 0.05


@dataclass(frozen=True)
class TwoNormals:
    """Scores with and without a partner."""

    mean_without: float
    width_without: float
    mean_with: float
    width_with: float
    without: float

    def chance_of_partner(self, score: Vector) -> Vector:
        """Posterior of "with a partner", never falling as the score rises."""
        low, high = self.mean_without, self._peak()
        at = np.clip(score, low, high)
        z_with, z_without = (at - self.mean_with) / self.width_with, (at - low) / self.width_without
        log_odds = 0.5 * (z_without**2 - z_with**2) + np.log(self.width_without / self.width_with)
        odds = (1.0 - self.without) * np.exp(np.minimum(log_odds, 700.0))
        chance: Vector = odds / (odds + self.without)
        return chance

    def _peak(self) -> float:
        """Where the likelihood ratio stops rising: the narrower of two normal distributions falls off first."""
        if self.width_with >= self.width_without:
            return np.inf
        precise, wide = self.width_with**-2, self.width_without**-2
        return (self.mean_with * precise - self.mean_without * wide) / (precise - wide)


def fit_two_normals(scores: Vector, without: Vector) -> TwoNormals:
    """Expectation–maximisation; the scores of `without` are known to be without a partner and weigh as much as all.

    The share without a partner is at least what the low scores show (Storey's estimate): were all with a partner,
    a quarter of the null's range could not hold more of the scores than of the null.
    """
    least = max(float((scores <= np.quantile(without, q)).mean()) / q for q in (0.25, 0.5, 0.75))
    least = min(least, 0.9)
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
