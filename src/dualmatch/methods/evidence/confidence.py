"""Confidence: what log-odds are worth, learnt from a trial; for pairs, and for having no partner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from dualmatch.channels.evidence.ties import Ids
from dualmatch.decode.one_to_one import chance_of, on_grid
from dualmatch.methods.evidence.trial import Trial

Floats = NDArray[np.float64]

_STRONGEST: Final = 12.0  # log-odds beyond this are all the same
_AS_THEY_ARE: Final = np.array([0.0, 1.0, 1.0, 0.0])
_HELD: Final = np.array([10.0, 30.0, 30.0, 10.0])  # how firmly: as if by so many pairs
_ALONE_AS_IT_IS: Final = np.array([0.0, 1.0])
_ALONE_HELD: Final = np.array([10.0, 100.0])  # entities that turn out to be alone are fewer than pairs
_LEAST_SLOPE: Final = 0.05
_FEWEST: Final = 50  # donors that a trial needs to speak of entities without a partner at all


@dataclass(frozen=True, eq=False)
class Confidence:
    """Corrections of log-odds.

    Attributes
    ----------
    pairs: (4,) float64
        Intercept, slope of positive and slope of negative log-odds, and what poverty adds (the inverse of the ties of
        the poorer entity); (0, 1, 1, 0) leaves log-odds as they are.
    alone: (2,) float64 or None
        Intercept and slope for the log-odds of having no partner; None where too little is known to speak of it.
    """

    pairs: Floats
    alone: Floats | None

    @classmethod
    def as_they_are(cls) -> Self:
        """No trial: the log-odds themselves, and nothing about entities without a partner."""
        return cls(_AS_THEY_ARE, None)

    @classmethod
    def of(cls, trial: Trial) -> Self:
        """By logistic regression on the trial, drawn towards leaving things as they are."""
        pairs = _fitted(_features(trial.log_odds, trial.ties), trial.is_right, _AS_THEY_ARE, _HELD)
        if trial.donors < _FEWEST:
            return cls(pairs, None)
        return cls(pairs, _fitted(_logit(trial.alone)[:, None], trial.is_alone, _ALONE_AS_IT_IS, _ALONE_HELD))

    def of_pairs(self, log_odds: Floats, ties: Ids) -> Floats:
        """Chance of pairs to be right, by their log-odds and the ties of the poorer entity."""
        return chance_of(on_grid(self.pairs[0] + (_features(log_odds, ties) * self.pairs[1:]).sum(axis=1)))

    def of_alone(self, chance: Floats) -> Floats:
        """Chance of entities in no link to have no partner; nan where too little is known.

        A trial can show that entities which seem alone have a partner. It cannot show that more are alone than seem so:
        how many of its donors lost their partner was its own choice. So it corrects downwards only.
        """
        if self.alone is None:
            return np.full(len(chance), np.nan)
        return np.minimum(on_grid(chance), chance_of(on_grid(self.alone[0] + self.alone[1] * _logit(chance))))

    def as_dict(self) -> dict[str, Any]:
        return {"pairs": self.pairs.tolist(), "alone": None if self.alone is None else self.alone.tolist()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        alone = data["alone"]
        return cls(np.array(data["pairs"], dtype=np.float64), None if alone is None else np.array(alone, np.float64))


def _features(log_odds: Floats, ties: Ids) -> Floats:
    bounded = np.clip(log_odds, -_STRONGEST, _STRONGEST)
    return np.stack([np.maximum(bounded, 0.0), np.minimum(bounded, 0.0), 1.0 / np.maximum(ties, 1)], axis=1)


def _logit(chance: Floats) -> Floats:
    bounded = np.clip(chance, 1e-4, 1 - 1e-4)
    log_odds: Floats = np.log(bounded) - np.log1p(-bounded)
    return log_odds


def _fitted(features: Floats, outcome: NDArray[np.bool_], prior: Floats, held: Floats) -> Floats:
    """Logistic regression with an intercept, drawn towards a prior."""
    x = np.concatenate([np.ones((len(features), 1)), features], axis=1)
    y = outcome.astype(np.float64)

    def loss(weights: Floats) -> tuple[float, Floats]:
        log_odds = (x * weights).sum(axis=1)
        missed = np.sum(np.logaddexp(0.0, log_odds) - y * log_odds)
        pull = held * (weights - prior)
        gradient = (x * (chance_of(log_odds) - y)[:, None]).sum(axis=0) + pull
        return float(missed + 0.5 * np.sum(pull * (weights - prior))), gradient

    # More evidence never means less confidence: slopes stay positive.
    bounds = [(None, None), *[(_LEAST_SLOPE, None) if each > 0 else (None, None) for each in prior[1:].tolist()]]
    found: Floats = minimize(loss, prior, jac=True, method="L-BFGS-B", bounds=bounds).x
    return np.round(found, 6)
