"""The mixture behind beliefs: planted ones, a null alone, and that a higher score is never less likely."""

import numpy as np
import pytest

from dualmatch.decode.mixture import fit_two_normals


def test_a_planted_mixture_is_found_and_its_posterior_is_right() -> None:
    rng = np.random.default_rng(0)
    is_true = rng.random(4000) < 0.7
    scores = np.where(is_true, rng.normal(4, 1, 4000), rng.normal(0, 1, 4000))
    fit = fit_two_normals(scores, rng.normal(0, 1, 800))
    assert fit.without == pytest.approx(0.3, abs=0.02)
    assert (fit.mean_without, fit.mean_with) == pytest.approx((0, 4), abs=0.15)
    chance = fit.chance_of_partner(scores)
    middle = (chance > 0.2) & (chance < 0.8)
    assert middle.sum() > 30
    assert is_true[middle].mean() == pytest.approx(chance[middle].mean(), abs=0.12)


def test_scores_that_look_like_those_without_partner_are_not_believed() -> None:
    rng = np.random.default_rng(1)
    fit = fit_two_normals(rng.normal(0, 1, 1000), rng.normal(0, 1, 200))
    assert fit.without > 0.85
    assert fit.chance_of_partner(np.array([1.0]))[0] < 0.5


@pytest.mark.parametrize(("width_without", "width_with"), [(1.0, 0.4), (0.4, 1.0)])
def test_a_higher_score_is_never_less_likely(width_without: float, width_with: float) -> None:
    rng = np.random.default_rng(2)
    scores = np.concatenate([rng.normal(0, width_without, 500), rng.normal(3, width_with, 500)])
    chance = fit_two_normals(scores, rng.normal(0, width_without, 300)).chance_of_partner(np.linspace(-9, 30, 500))
    assert (np.diff(chance) >= -1e-12).all()
    assert chance[0] < 0.1
    assert chance[-1] > 0.9
