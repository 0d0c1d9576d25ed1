"""The mixture behind beliefs: planted ones, a null alone, its tail, and that a higher score is never less likely."""

import numpy as np
import pytest

from dualmatch.decode.mixture import Scores, fit_two_normals, learn, learn_from_decoys


def scores(values: np.ndarray, share: float | np.ndarray = 0.5) -> Scores:
    return Scores(values, np.zeros(len(values)), np.broadcast_to(np.asarray(share, float), values.shape))


def test_a_planted_mixture_is_found_and_its_posterior_is_right() -> None:
    rng = np.random.default_rng(0)
    is_true = rng.random(4000) < 0.7
    values = np.where(is_true, rng.normal(4, 1, 4000), rng.normal(0, 1, 4000))
    learnt = learn_from_decoys(scores(values), scores(rng.normal(0, 1, 800)))
    fit = learnt.normals
    assert fit.without == pytest.approx(0.3, abs=0.03)
    assert (fit.mean_without, fit.mean_with) == pytest.approx((0, 4), abs=0.15)
    chance = learnt.chance_of_partner(scores(values))
    middle = (chance > 0.2) & (chance < 0.8)
    assert middle.sum() > 30
    assert is_true[middle].mean() == pytest.approx(chance[middle].mean(), abs=0.12)


def test_scores_that_look_like_those_without_partner_are_not_believed() -> None:
    rng = np.random.default_rng(1)
    learnt = learn_from_decoys(scores(rng.normal(0, 1, 1000)), scores(rng.normal(0, 1, 200)))
    assert learnt.without > 0.85
    assert learnt.chance_of_partner(scores(np.array([1.0])))[0] < 0.5


@pytest.mark.parametrize(("width_without", "width_with"), [(1.0, 0.4), (0.4, 1.0)])
def test_a_higher_score_is_never_less_likely(width_without: float, width_with: float) -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.normal(0, width_without, 500), rng.normal(3, width_with, 500)])
    learnt = learn(scores(values), scores(rng.normal(0, width_without, 300)), final=True)
    chance = learnt.chance_of_partner(scores(np.linspace(-9, 30, 500)))
    assert (np.diff(chance) >= -1e-12).all()
    assert chance[0] < 0.1
    assert chance[-1] > 0.9


def test_chance_that_now_and_then_looks_true_caps_what_can_be_believed() -> None:
    """A tenth of those without partner score like true ones, half of all have none: at best 10 of 11 are right."""
    rng = np.random.default_rng(3)

    def without(n: int) -> np.ndarray:
        return np.where(rng.random(n) < 0.1, rng.normal(5, 1, n), rng.normal(0, 1, n))

    found = scores(np.concatenate([rng.normal(5, 1, 2000), without(2000)]))
    bold, exact = (learn(found, scores(without(600)), final=final) for final in (False, True))
    top = scores(np.array([6.0]))
    assert bold.tail == 0
    assert exact.tail == pytest.approx(0.1, abs=0.03)
    assert bold.chance_of_partner(top)[0] > 0.98
    assert exact.chance_of_partner(top)[0] == pytest.approx(10 / 11, abs=0.03)


def test_an_unseen_tail_is_half_a_pair_and_not_nothing() -> None:
    rng = np.random.default_rng(4)
    found = scores(np.concatenate([rng.normal(9, 0.5, 200), rng.normal(0, 0.5, 200)]))
    few, many = (learn(found, scores(rng.normal(0, 0.5, n)), final=True).tail for n in (20, 2000))
    assert few == pytest.approx(0.5 / 21, rel=0.01)
    assert many == pytest.approx(0.5 / 2001, rel=0.01)


def test_a_clear_winner_is_likelier_to_be_right_where_chance_has_none() -> None:
    rng = np.random.default_rng(5)
    is_true = rng.random(3000) < 0.5
    values, share = np.where(is_true, 1.0, 0.0) + rng.normal(0, 1, 3000), np.where(is_true, 0.95, 0.4)
    learnt = learn(scores(values, share), scores(rng.normal(0, 1, 500), 0.4), final=True)
    clear, vague = (learnt.chance_of_partner(scores(np.array([1.0]), s))[0] for s in (0.95, 0.4))
    assert clear > 0.9 > 0.5 > vague


def test_the_share_without_partner_is_never_below_what_low_scores_show() -> None:
    """Storey: nine tenths of the null lie below its 0.9 quantile, so as many of those without partner do."""
    rng = np.random.default_rng(6)
    values = np.concatenate([rng.normal(0, 1, 700), rng.normal(1.5, 3, 300)])
    null = rng.normal(0, 1, 1000)
    fit = fit_two_normals(values, null)
    assert fit.without >= (values <= np.quantile(null, 0.9)).mean() / 0.9 - 1e-9


def test_true_pairs_of_which_more_is_known_than_of_any_chance_pair_are_still_told_apart() -> None:
    """Chance of two kinds, next to nothing for light entities and more for heavy ones: its slope means nothing."""
    rng = np.random.default_rng(7)
    light, heavy = rng.normal(-4.6, 0.1, 60), rng.normal(-2, 0.5, 60)
    null = Scores(np.append(light, heavy), np.append(rng.normal(10, 0.3, 60), rng.normal(12, 0.3, 60)), np.ones(120))
    found = Scores(rng.normal(0.5, 0.7, 200), rng.normal(13.5, 0.5, 200), np.ones(200))
    chance = learn(found, null, final=True).chance_of_partner(found)
    assert np.median(chance) > 0.9
