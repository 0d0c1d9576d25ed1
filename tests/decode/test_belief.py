"""Beliefs: planted mixtures, worlds where many have no partner or little is in common, what is certain or tiny."""

import numpy as np
import pytest
from scipy import sparse

from dualmatch import align, evaluate
from dualmatch.decode.belief import believe, fit_two_normals
from dualmatch.decode.sparse_sinkhorn import sparse_sinkhorn
from dualmatch.simulate import World, simulate

NONE = np.zeros((0, 2), dtype=np.int64)


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


@pytest.mark.parametrize(
    ("facts", "common", "alone", "least_f1"), [(20, 0.5, 0.5, 0.99), (5, 0.5, 0.3, 0.97), (5, 0.9, 0.1, 0.99)]
)
def test_entities_without_partner_get_none(facts: float, common: float, alone: float, least_f1: float) -> None:
    """Sinkhorn alone believes a quarter too many here: what is left over pairs up and supports one another."""
    pair = simulate(
        World(entities=500, mean_facts=facts, common_share=common, unmatched_source=alone, unmatched_target=alone)
    )
    evaluation = evaluate(align(pair.source, pair.target, method="evidence"), pair.gold)
    assert evaluation.abstention.f1 > least_f1
    assert evaluation.calibration.ece < 0.03


def test_where_nothing_is_in_common_next_to_nothing_is_believed(caplog: pytest.LogCaptureFixture) -> None:
    """Each entity chooses the best of chance; Sinkhorn alone believes 300 of these 500."""
    pair = simulate(World(entities=500, mean_facts=5, common_share=0.0))
    assert len(align(pair.source, pair.target, method="evidence").pairs) < 50
    assert "look like chance" in caplog.text


def test_certain_pairs_are_certain_and_tiny_plans_stay_as_they_are() -> None:
    rng = np.random.default_rng(3)
    similarity = sparse.csr_array(np.diag(np.linspace(0.3, 0.9, 120)) + 0.1 * rng.random((120, 120)))
    ones = np.ones(120)
    free = believe(sparse_sinkhorn(similarity, 30.0), ones, ones, NONE)
    assert free.learnt
    assert 0 < free.confidence[0] < 1
    seeded = similarity.tolil()
    seeded[0, :] = 0
    seeded[:, 0] = 0
    seeded[0, 0] = 1
    known = believe(sparse_sinkhorn(sparse.csr_array(seeded), 30.0), ones, ones, np.array([[0, 0]]))
    assert known.confidence[0] == 1.0
    few = sparse_sinkhorn(similarity[:5][:, :5], 30.0)
    tiny = believe(few, ones[:5], ones[:5], NONE)
    assert not tiny.learnt
    np.testing.assert_array_equal(tiny.probability.data, np.minimum(few.entries.data, 1))
