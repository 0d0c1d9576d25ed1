"""Beliefs: worlds where many have no partner or little is in common, what is certain, what is tiny."""

import numpy as np
import pytest
from scipy import sparse

from dualmatch import align, evaluate
from dualmatch.decode.belief import believe
from dualmatch.decode.sparse_sinkhorn import sparse_sinkhorn
from dualmatch.simulate import World, simulate, uniform_world

NONE = np.zeros((0, 2), dtype=np.int64)


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


@pytest.mark.parametrize(("n", "seed"), [(60, 8), (60, 11), (150, 2), (300, 1)])
def test_worlds_of_another_kind(n: int, seed: int) -> None:
    """No hubs, six relations, days over sixty years, each graph with more than half of the facts."""
    source, target, _ = uniform_world(n, 0.8 if n == 60 else 0.6, seed)
    links = list(align(source, target).links())
    right = sum(s[1:] == t[1:] for s, t, _ in links)
    assert right > 0.95 * len(links)
    assert right > 0.6 * n


def test_where_nothing_is_in_common_next_to_nothing_is_believed(caplog: pytest.LogCaptureFixture) -> None:
    """Each entity chooses the best of chance; Sinkhorn alone believes 300 of these 500."""
    pair = simulate(World(entities=500, mean_facts=5, common_share=0.0))
    assert len(align(pair.source, pair.target, method="evidence").pairs) < 15
    assert "look like chance" in caplog.text


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_estimate_of_wrong_links_holds_where_little_is_known_and_many_are_alone(seed: int) -> None:
    """Two leftovers that meet on one day by chance support each other; partners hidden before that show it."""
    world = World(entities=1500, mean_facts=4, common_share=0.3, unmatched_source=0.3, unmatched_target=0.3, seed=seed)
    pair = simulate(world)
    alignment = align(pair.source, pair.target, method="evidence")
    wrong = 1 - evaluate(alignment, pair.gold).abstention.precision
    assert alignment.estimated_fdr > 0.003
    assert abs(alignment.estimated_fdr - wrong) < 0.025


def test_certain_pairs_are_certain_and_tiny_plans_stay_as_they_are() -> None:
    rng = np.random.default_rng(3)
    similarity = sparse.csr_array(np.diag(np.linspace(0.3, 0.9, 120)) + 0.1 * rng.random((120, 120)))
    ones = np.ones(120)
    free = believe(sparse_sinkhorn(similarity, 30.0), (ones, ones), NONE)
    assert free.learnt
    assert 0 < free.confidence[0] < 1
    seeded = similarity.tolil()
    seeded[0, :] = 0
    seeded[:, 0] = 0
    seeded[0, 0] = 1
    known = believe(sparse_sinkhorn(sparse.csr_array(seeded), 30.0), (ones, ones), np.array([[0, 0]]))
    assert known.confidence[0] == 1.0
    few = sparse_sinkhorn(similarity[:5][:, :5], 30.0)
    tiny = believe(few, (ones[:5], ones[:5]), NONE)
    assert not tiny.learnt
    np.testing.assert_array_equal(tiny.probability.data, np.minimum(few.entries.data, 1))
