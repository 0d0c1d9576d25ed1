"""H@1 and D over α: which α is best, which has the smallest D, and what is said where the two differ."""

from __future__ import annotations

import pytest

from dualmatch.research.experiments.cells import Result
from dualmatch.research.experiments.decoder import curve_of, rank_correlation, why_not_best


def decoded(hits: list[float], relational: list[float], temporal: list[float]) -> Result:
    """A decoded cell with α = 0, 1, 2 …, 1,000 pairs ranked."""
    alphas = {
        str(float(at)): {
            "paper": {"all": {"h1": h1, "pairs": 1000}},
            "distance": {"total": r + t, "relational": r, "temporal": t},
        }
        for at, (h1, r, t) in enumerate(zip(hits, relational, temporal, strict=True))
    }
    smallest = min(alphas, key=lambda alpha: alphas[alpha]["distance"]["total"])
    return {"alphas": alphas, "chosen": smallest}


def test_a_distance_that_follows_h1_finds_the_best() -> None:
    curve = curve_of(decoded([90, 95, 93], [30, 20, 25], [30, 20, 25]))
    assert (curve.best, curve.chosen, curve.short(curve.chosen)) == (1, 1, 0)
    assert curve.follows_hits() == -1
    assert why_not_best(curve) is None


def test_the_temporal_term_is_named_where_it_makes_the_choice() -> None:
    """It falls with every α, against the relational term, which alone would be right."""
    curve = curve_of(decoded([90, 95, 94, 93.5], [30, 20, 22, 24], [50, 45, 38, 30]))
    assert (curve.alphas[curve.best], curve.alphas[curve.chosen]) == (1, 3)
    why = why_not_best(curve)
    assert why is not None
    assert "α = 3 is 1.50 points (15 of 1,000 pairs) short of the best, α = 1." in why
    assert "D falls by 11.0 (16.92 %): relational term +4.0, temporal term -15.0" in why
    assert "the choice is the temporal term's, against the relational one" in why
    assert "the relational term would choose α = 1 (0.00 short of the best)" in why
    assert "falls at 3 of 3 steps of α, H@1 rises at 1" in why
    assert "built from the times" in why


def test_another_choice_has_another_reason() -> None:
    curve = curve_of(decoded([90, 95, 94], [30, 20, 10], [40, 41, 42]))
    why = why_not_best(curve)
    assert why is not None
    assert "the relational term's, against the temporal one" in why
    assert "built from the times" not in why
    both = why_not_best(curve_of(decoded([90, 95, 94], [30, 20, 10], [40, 39, 38])))
    assert both is not None
    assert "mostly the relational term's" in both


def test_nothing_follows_a_constant() -> None:
    assert rank_correlation([1.0, 1.0], [1.0, 2.0]) is None
    assert rank_correlation([1.0, 2.0, 4.0], [9.0, 8.0, 3.0]) == -1
    assert rank_correlation([5.0, 3.0, 5.0], [2.5, 1.0, 2.5]) == 1  # equal values share the mean of their ranks
    curve = curve_of(decoded([90, 90], [3, 2], [3, 2]))
    assert curve.follows_hits() is None
    assert curve.follows_alpha("total") == pytest.approx(-1)
    assert (curve.best, curve.chosen) == (0, 1)
    assert why_not_best(curve) is None
