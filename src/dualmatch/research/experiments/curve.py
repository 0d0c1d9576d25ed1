"""H@1 and the distance D over the weights α of one training, and why the smallest D is where it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.research.experiments.cells import Result

TERMS: Final = {"total": "D", "relational": "relational term", "temporal": "temporal term"}
"""D and the two terms it is the sum of, weighted: k^r d^r and k^t d^t."""
LEAST_REGRET: Final = 0.05
"""Points of H@1 below which the chosen α counts as the best: half a digit of the paper's tables."""


@dataclass(frozen=True)
class Curve:
    """What each α gives, in the order of α.

    Attributes
    ----------
    hits:
        H@1 in percent, by the protocol of the paper's tables.
    distances:
        D and its terms, by the names of `TERMS`.
    chosen:
        Place of the α of smallest D.
    pairs:
        Pairs that were ranked.
    """

    alphas: tuple[float, ...]
    hits: tuple[float, ...]
    distances: Mapping[str, tuple[float, ...]]
    chosen: int
    pairs: int

    @property
    def best(self) -> int:
        """Place of the highest H@1; the smaller α where two have it."""
        return int(np.argmax(self.hits))

    def short(self, at: int) -> float:
        """Points of H@1 by which a place falls short of the best."""
        return self.hits[self.best] - self.hits[at]

    def smallest(self, term: str) -> int:
        """Place of the α that a term alone would choose."""
        return int(np.argmin(self.distances[term]))

    def falling_steps(self, term: str) -> int:
        """Steps from one α to the next at which a term falls."""
        return int((np.diff(self.distances[term]) < 0).sum())

    def follows_hits(self, term: str = "total") -> float | None:
        """Rank correlation of a term and H@1: −1 where the smaller one always has the higher H@1."""
        return rank_correlation(self.hits, self.distances[term])

    def follows_alpha(self, term: str) -> float | None:
        """Rank correlation of a term and α: −1 where it falls with every step, whatever H@1 does."""
        return rank_correlation(self.alphas, self.distances[term])


def curve_of(decoded: Result, group: str = "all") -> Curve:
    """The curve of a decoded cell, of all tested pairs or one group of them."""
    names = sorted(decoded["alphas"], key=float)
    at = [decoded["alphas"][name] for name in names]
    ranked = [each["paper"][group] for each in at]
    return Curve(
        tuple(float(name) for name in names),
        tuple(each["h1"] for each in ranked),
        {term: tuple(each["distance"][term] for each in at) for term in TERMS},
        names.index(decoded["chosen"]),
        int(ranked[0]["pairs"]),
    )


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's, equal values sharing the mean of their ranks; None where either is constant.

    >>> rank_correlation([1.0, 2.0, 4.0], [9.0, 8.0, 3.0])
    -1.0
    """
    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return round(float(np.corrcoef(_average_ranks(one), _average_ranks(other))[0, 1]), 12)


def _average_ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Ranks from 1 on; equal values share the mean of theirs.

    >>> _average_ranks([5.0, 3.0, 5.0]).tolist()
    [2.5, 1.0, 2.5]
    """
    given = np.array(values)
    ranks: NDArray[np.float64] = (given[:, None] > given).sum(axis=1) + ((given[:, None] == given).sum(axis=1) + 1) / 2
    return ranks


def why_not_best(curve: Curve) -> str | None:
    """By how much the chosen α falls short of the best, and which term of D made the choice; None if it does not."""
    best, chosen = curve.best, curve.chosen
    short = curve.short(chosen)
    if short < LEAST_REGRET:
        return None
    change = {term: values[chosen] - values[best] for term, values in curve.distances.items()}
    share = 100 * -change["total"] / curve.distances["total"][best]
    driver = min(("relational", "temporal"), key=lambda term: change[term])
    against = "relational" if driver == "temporal" else "temporal"
    whose = f"the {driver} term's, against the {against} one" if change[against] > 0 else f"mostly the {driver} term's"
    parts = [
        f"the chosen α = {curve.alphas[chosen]:g} is {short:.2f} points ({round(short * curve.pairs / 100):,} of "
        f"{curve.pairs:,} pairs) short of the best, α = {curve.alphas[best]:g}.",
        f"From the best to the chosen α D falls by {-change['total']:,.1f} ({share:.2f} %): relational term "
        f"{change['relational']:+,.1f}, temporal term {change['temporal']:+,.1f}; so the choice is {whose}.",
        f"Alone {_alone(curve, 'relational')}, and {_alone(curve, 'temporal')}.",
        _reason(curve, driver),
    ]
    return " ".join(parts)


def _alone(curve: Curve, term: str) -> str:
    at = curve.smallest(term)
    return f"the {term} term would choose α = {curve.alphas[at]:g} ({curve.short(at):.2f} short of the best)"


def _reason(curve: Curve, driver: str) -> str:
    """What the term that made the choice follows, as far as the curve shows it."""
    steps, falls = len(curve.alphas) - 1, curve.falling_steps(driver)
    hits = curve.follows_hits(driver)
    seen = f"The {driver} term falls at {falls} of {steps} steps of α, H@1 rises at {_rises(curve.hits)}"
    seen += "" if hits is None else f"; their rank correlation is {hits:+.2f}"
    if driver == "temporal" and falls >= steps - 1:
        return (
            f"{seen}: it falls with α whatever H@1 does, as S^t is made of the very times that this term compares, and "
            "more weight on them suits the term, right or wrong."
        )
    return f"{seen}: it tells how well all choices correspond, also of entities without a partner, not which are right."


def _rises(values: Sequence[float]) -> int:
    return int((np.diff(values) > 0).sum())
