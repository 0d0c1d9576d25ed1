"""Placebo: what the bereaved find is what entities without partner find, and nothing of the hidden ones is left."""

import numpy as np

from dualmatch.decode.belief import scores_of
from dualmatch.decode.forbidding import NO_PARTNER, Forbidden
from dualmatch.encode.evidence.sides import fact_sides
from dualmatch.engine import InProcess
from dualmatch.placebo import without_partners
from dualmatch.rounds import Look, Looking
from dualmatch.simulate import SimulatedPair, World, simulate

NONE = np.zeros((0, 2), dtype=np.int64)


def looked(pair: SimulatedPair, seeds: np.ndarray = NONE) -> tuple[Looking, Look]:
    looking = Looking(*fact_sides(pair.source, pair.target), seeds.astype(np.int64), InProcess())
    look = looking.first()
    for _ in range(3):
        look = looking.again(look, whole=True)
    return looking, look


def chance(looking: Looking, look: Look, seeds: np.ndarray = NONE) -> np.ndarray:
    sides = looking.left, looking.right
    return without_partners(sides, looking.kinds, look.plan, look.weights, look.beliefs, seeds, look.scale).score


def test_the_bereaved_reach_what_entities_without_partner_reach() -> None:
    world = World(entities=800, mean_facts=5, common_share=0.4, unmatched_source=0.3, unmatched_target=0.3, seed=4)
    pair = simulate(world)
    looking, look = looked(pair)
    null = chance(looking, look)
    gold = {(int(s), int(t)) for s, t in pair.gold}
    wrong = np.array([(s, t) not in gold for s, t in look.beliefs.pairs.tolist()])
    reached = scores_of(look.plan, look.weights, look.beliefs.pairs).score
    assert len(null) > 300
    assert (null < np.median(reached[~wrong])).mean() > 0.85
    for quantile in (0.5, 0.75, 0.9, 0.95):
        assert abs(np.quantile(null, quantile) - np.quantile(reached[wrong], quantile)) < 0.35


def test_seeds_are_never_hidden() -> None:
    """All pairs but a few are seeds: only those few can be bereaved."""
    pair = simulate(World(entities=200, mean_facts=8, unmatched_source=0, unmatched_target=0, seed=2))
    seeds = pair.gold[:180].astype(np.int64)
    looking, look = looked(pair, seeds)
    assert len(chance(looking, look, seeds)) <= 40


def test_a_side_without_some_entities_has_none_of_their_facts() -> None:
    pair = simulate(World(entities=60, seed=1))
    left, _, _ = fact_sides(pair.source, pair.target)
    gone = np.zeros(left.n_entities, dtype=bool)
    gone[::3] = True
    rest = left.without(gone)
    assert 0 < len(rest.entity) < len(left.entity)
    assert not gone[rest.entity].any()
    assert not gone[rest.other].any()
    kept = ~(gone[left.entity] | gone[left.other])
    assert len(rest.entity) == kept.sum()


def test_what_the_round_may_not_use_the_placebo_may_not_either() -> None:
    """Where every source is barred, nobody finds anything; and classes of relations move the scores."""
    pair = simulate(World(entities=300, mean_facts=6, seed=5))
    looking, look = looked(pair)
    sides = looking.left, looking.right
    arguments = sides, looking.kinds, look.plan, look.weights, look.beliefs, NONE, look.scale
    free = without_partners(*arguments)
    all_sources = np.stack([np.arange(pair.source.n_entities), np.full(pair.source.n_entities, NO_PARTNER)], axis=1)
    assert len(free.score) > 50
    assert len(without_partners(*arguments, forbidden=Forbidden(all_sources)).score) == 0
    assert not np.array_equal(without_partners(*arguments, relations=False).score, free.score)
