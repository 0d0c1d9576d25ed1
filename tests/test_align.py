"""The one call: planted answers, seeds, invariance, and what it refuses."""

import numpy as np
import pytest

from dualmatch import Alignment, ConfigError, InputError, TemporalGraph, align, evaluate
from dualmatch.simulate import DEMO, World, shuffled_copy, simulate

# Enough facts on enough days that no two entities have the same times at the same distance.
DISTINCT = World(entities=400, mean_facts=8, years=10, point_share=0.6, half_known_share=0.2, seed=11)


def test_a_graph_and_its_shuffled_copy_align_completely() -> None:
    graph = simulate(DISTINCT).source
    copy, gold = shuffled_copy(graph, np.random.default_rng(5))
    alignment = align(graph, copy)
    evaluation = evaluate(alignment, gold)
    assert evaluation.abstention.precision == evaluation.abstention.recall == 1.0
    assert evaluation.open["all"].h1 == evaluation.paper["all"].h1 == evaluation.open_reverse["all"].h1 == 100.0


def test_the_demo_world_is_aligned_well_by_time_alone() -> None:
    pair = simulate(DEMO)
    evaluation = evaluate(align(pair.source, pair.target), pair.gold)
    assert evaluation.open["all"].h1 > 85
    assert evaluation.abstention.precision > 0.9


def name_links(alignment: Alignment) -> set[tuple[str, str]]:
    return {(source, target) for source, target, _ in alignment.links()}


def test_permuting_both_graphs_permutes_the_result() -> None:
    pair = simulate(World(entities=250, seed=2))
    rng = np.random.default_rng(9)
    source, target = shuffled_copy(pair.source, rng)[0], shuffled_copy(pair.target, rng)[0]
    assert name_links(align(source, target)) == name_links(align(pair.source, pair.target))


def test_swapping_the_graphs_transposes_the_pseudo_seeds() -> None:
    pair = simulate(World(entities=250, unmatched_source=0.2, seed=2))
    forward, backward = align(pair.source, pair.target), align(pair.target, pair.source)
    assert {(t, s) for s, t in name_links(backward)} == name_links(forward)


def test_same_input_same_bytes() -> None:
    pair = simulate(World(entities=200, seed=4))
    first, second = align(pair.source, pair.target), align(pair.source, pair.target)
    assert first.pairs.tobytes() == second.pairs.tobytes()
    assert first.confidence.tobytes() == second.confidence.tobytes()


def test_a_small_memory_limit_changes_time_not_results() -> None:
    """3,000² float32 numbers do not fit into the kernel's half of 64 MiB: rows are computed again on every pass."""
    pair = simulate(World(entities=3000, mean_facts=4, years=2, seed=6))
    roomy, tight = align(pair.source, pair.target), align(pair.source, pair.target, memory_limit=2**26)
    agree = name_links(roomy) & name_links(tight)
    assert len(agree) >= 0.999 * len(name_links(roomy))


def test_seeds_stand_as_given_by_rows_or_names() -> None:
    pair = simulate(World(entities=120, seed=8))
    wrong = np.stack([pair.gold[:5, 0], np.roll(pair.gold[:5, 1], 1)], axis=1)
    names = [(pair.source.entities[s], pair.target.entities[t]) for s, t in wrong.tolist()]
    by_row, by_name = align(pair.source, pair.target, wrong), align(pair.source, pair.target, names)
    assert by_row.links() == by_name.links()
    assert set(names) <= name_links(by_row)
    assert by_row.is_seed.sum() == 5
    assert (by_row.confidence[by_row.is_seed] == 1).all()
    assert len(np.unique(by_row.pairs[:, 0])) == len(np.unique(by_row.pairs[:, 1])) == len(by_row.pairs)


GRAPH = TemporalGraph.from_facts([("a", "r", "b", "2000"), ("b", "r", "c", "2001")], name="left")


@pytest.mark.parametrize(
    ("source", "seeds", "words"),
    [
        (TemporalGraph.from_facts([], name="nothing"), None, "nothing: no facts"),
        (TemporalGraph.from_facts([("a", "r", "b")], name="timeless"), None, "timeless: no fact has a time"),
        (TemporalGraph.from_facts([("a", "r", "b", "1850")], name="old"), None, "no time in common"),
        (GRAPH, [("a", "a"), ("a", "b")], "'a' stands in 2 pairs"),
        (GRAPH, [("a", "a"), ("b", "a")], "target entity 'a' stands in 2 pairs"),
        (GRAPH, [("x", "a")], "1 source entities are not in left, 'x' among them"),
        (GRAPH, np.array([[0, 7]]), "target row lies outside"),
    ],
)
def test_what_cannot_be_aligned_is_refused_in_words(source: TemporalGraph, seeds: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        align(source, GRAPH, seeds)


def test_all_wrong_options_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        align(GRAPH, GRAPH, hops=-1, sharpness=0.0, colour="red")
    assert all(f"option {name}" in str(caught.value) for name in ("hops", "sharpness", "colour"))


def test_entities_in_no_fact_get_no_link() -> None:
    """Sinkhorn leaves mass for them, but there is no evidence for any pair of theirs."""
    source = TemporalGraph.from_facts([("Ada", "lived in", "London", "2005")])
    lonely = TemporalGraph(
        source.head,
        source.relation,
        source.tail,
        source.begin,
        source.end,
        (*source.entities, "Lonely"),
        source.relations,
    )
    target = TemporalGraph.from_facts([("Q7", "P1", "Q84", "2005"), ("Q7", "P1", "Q46", "2006")])
    for left, right in ((lonely, target), (target, lonely)):
        assert all("Lonely" not in link for link in align(left, right).links())
    assert {("Ada", "Q7"), ("London", "Q84")} <= name_links(align(lonely, target))
