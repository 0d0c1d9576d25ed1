"""Method `evidence`: planted answers with and without times and seeds, mixed precision, what "same bytes" covers."""

import numpy as np
import pytest

from dualmatch import Alignment, InputError, TemporalGraph, align, evaluate
from dualmatch.graph.times import UNKNOWN
from dualmatch.simulate import VARIED, SimulatedPair, World, shuffled_copy, simulate

MIXED = World(entities=300, mean_facts=10, month_only_share=0.2, year_only_share=0.3, wrong_share=0.02, seed=5)


def timeless(graph: TemporalGraph) -> TemporalGraph:
    unknown = np.full(graph.n_facts, UNKNOWN, np.int32)
    return TemporalGraph(graph.head, graph.relation, graph.tail, unknown, unknown, graph.entities, graph.relations)


def links(alignment: Alignment) -> dict[tuple[str, str], float]:
    return {(source, target): confidence for source, target, confidence in alignment.links()}


def test_a_graph_and_its_shuffled_copy_align_completely() -> None:
    graph = simulate(World(entities=400, mean_facts=8, point_share=0.6, half_known_share=0.2, seed=11)).source
    copy, gold = shuffled_copy(graph, np.random.default_rng(5))
    evaluation = evaluate(align(graph, copy, method="evidence"), gold)
    assert evaluation.abstention.precision == evaluation.abstention.recall == 1.0
    assert evaluation.open["all"].h1 == 100.0


def test_it_beats_the_time_channel_by_far() -> None:
    pair = simulate(VARIED)
    found = {m: evaluate(align(pair.source, pair.target, method=m), pair.gold) for m in ("temporal", "evidence")}
    assert found["evidence"].open["all"].h1 > 99
    assert found["evidence"].abstention.f1 > 0.98 > found["temporal"].abstention.f1
    assert found["evidence"].calibration.ece < 0.03


def test_days_meet_years_at_the_precision_both_know() -> None:
    """One observer knows days, the other only years: no interval is equal, yet the years are."""
    exact = simulate(
        World(entities=200, mean_facts=12, years=60, common_share=0.9, unmatched_source=0, unmatched_target=0)
    )
    years = (exact.target.begin.astype(np.int64) // 416 * 416).astype(np.int32)
    target = exact.target
    coarse = TemporalGraph(target.head, target.relation, target.tail, years, years, target.entities, target.relations)
    assert evaluate(align(exact.source, coarse, method="evidence"), exact.gold).abstention.f1 > 0.9


@pytest.mark.parametrize(("entities", "share"), [(300, 0.2), (300, 0.1), (1000, 0.05)])
def test_graphs_without_times_align_from_seeds(entities: int, share: float) -> None:
    pair = simulate(World(entities=entities, mean_facts=12, common_share=0.8, seed=3))
    source, target = timeless(pair.source), timeless(pair.target)
    evaluation = evaluate(align(source, target, pair.gold[: int(share * entities)], method="evidence"), pair.gold)
    assert evaluation.abstention.f1 > 0.95


def test_graphs_without_times_need_seeds() -> None:
    pair = simulate(World(entities=40))
    with pytest.raises(InputError, match="give seed pairs to start from"):
        align(timeless(pair.source), timeless(pair.target), method="evidence")


def test_seeds_stay_in_and_are_no_less_right() -> None:
    pair = simulate(MIXED)
    alignment = align(pair.source, pair.target, pair.gold[:30], method="evidence")
    assert alignment.is_seed.sum() == 30
    assert (alignment.confidence[alignment.is_seed] == 1).all()
    seeded, alone = (
        evaluate(alignment, pair.gold),
        evaluate(align(pair.source, pair.target, method="evidence"), pair.gold),
    )
    assert seeded.abstention.precision >= alone.abstention.precision - 0.02


def shuffled_pair(pair: SimulatedPair, seed: int) -> tuple[TemporalGraph, TemporalGraph]:
    rng = np.random.default_rng(seed)
    return shuffled_copy(pair.source, rng)[0], shuffled_copy(pair.target, rng)[0]


@pytest.mark.parametrize("world", [MIXED, MIXED.model_copy(update={"common_share": 0.15})])
def test_row_order_changes_no_link(world: World) -> None:
    pair = simulate(world)
    plain = links(align(pair.source, pair.target, method="evidence"))
    permuted = links(align(*shuffled_pair(pair, 9), method="evidence"))
    assert permuted == plain


def test_swapping_the_graphs_transposes_the_result() -> None:
    pair = simulate(World(entities=250, unmatched_source=0.2, seed=2))
    forward = links(align(pair.source, pair.target, method="evidence"))
    backward = links(align(pair.target, pair.source, method="evidence"))
    assert {(t, s) for s, t in backward} == set(forward)
    assert [backward[t, s] for s, t in forward] == pytest.approx(list(forward.values()), abs=1e-6)


def test_relations_that_say_the_same_end_in_one_class() -> None:
    pair = simulate(
        World(entities=400, mean_facts=20, relations_source=12, relations_target=12, relations_inverse=3, seed=1)
    )
    relations = align(pair.source, pair.target).relations
    assert relations is not None
    n_source, n_target = pair.source.n_relations, pair.target.n_relations
    for source, target, inverse in pair.relation_gold.tolist():
        assert relations.source_class[source] == relations.target_class[target + n_target * inverse]
        assert relations.source_class[source + n_source] == relations.target_class[target + n_target * (1 - inverse)]
