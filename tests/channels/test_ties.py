"""Ties: facts listed from both ends, each once, and cut alike in both graphs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualmatch import TemporalGraph
from dualmatch.channels.evidence.ties import MOST_FACTS, Places, Ties, expanded, find_pairs, numbered, places_in
from dualmatch.simulate import World, shuffled_copy, simulate

FACTS = st.lists(
    st.tuples(
        st.sampled_from("abcd"), st.sampled_from("rs"), st.sampled_from("abcd"), st.sampled_from(["1900", "1901"])
    ),
    max_size=14,
)


def graph_of(facts: list[tuple[str, str, str, str]]) -> TemporalGraph:
    """A graph that has every name, whatever the facts."""
    names = [("a", "r", "b", "1800"), ("c", "s", "d", "1800")]
    return TemporalGraph.from_facts([*names, *facts])


def listed(graph: TemporalGraph, ties: Ties) -> set[tuple[str, str, str, str, int, int]]:
    """Every listed fact by names: entity, neighbour, relation, which end the entity is, and the dates."""
    rows = zip(ties.tie.tolist(), ties.relation.tolist(), ties.begin.tolist(), ties.end.tolist(), strict=True)
    return {
        (
            graph.entities[ties.entity[tie]],
            graph.entities[ties.neighbour[tie]],
            graph.relations[relation % graph.n_relations],
            "tail" if relation >= graph.n_relations else "head",
            begin,
            end,
        )
        for tie, relation, begin, end in rows
    }


@given(FACTS)
def test_every_fact_is_listed_from_both_ends_and_once(facts: list[tuple[str, str, str, str]]) -> None:
    graph = graph_of(facts)
    ties = Ties.of(graph, most_facts=100)
    expected = set()
    for head, relation, tail, begin, end in zip(
        graph.head, graph.relation, graph.tail, graph.begin.tolist(), graph.end.tolist(), strict=True
    ):
        names = graph.entities[head], graph.entities[tail], graph.relations[relation]
        if head != tail:
            expected.add((names[0], names[1], names[2], "head", begin, end))
            expected.add((names[1], names[0], names[2], "tail", begin, end))
    assert listed(graph, ties) == expected
    assert ties.n_facts == len(expected)


@given(FACTS)
def test_ties_need_no_names_of_a_graph(facts: list[tuple[str, str, str, str]]) -> None:
    graph = graph_of([*facts, *(("a", "r", "b", str(year)) for year in range(1900, 1906))])  # a tie that is cut
    by_name, by_column = Ties.of(graph), Ties.indexed(graph.columns)
    for column in ("entity", "neighbour", "mirror", "first_tie", "first_fact", "tie", "relation", "begin", "end"):
        assert getattr(by_name, column).tolist() == getattr(by_column, column).tolist()


@given(FACTS)
def test_sums_are_those_over_the_facts_of_each_tie(facts: list[tuple[str, str, str, str]]) -> None:
    ties = Ties.of(graph_of(facts))
    values = np.arange(ties.n_facts) + 0.5
    assert ties.sums(values).tolist() == np.bincount(ties.tie, values, minlength=ties.n_ties).tolist()


@pytest.mark.parametrize("largest", [9, 2**24, 2**40])
def test_keys_are_numbered_in_order(largest: int) -> None:
    known, number = numbered(np.array([7, largest, 7, 0]))
    assert known.tolist() == [0, 7, largest]
    assert number.tolist() == [1, 2, 1, 0]


@given(FACTS)
def test_ties_are_sorted_and_mirror_each_other(facts: list[tuple[str, str, str, str]]) -> None:
    ties = Ties.of(graph_of(facts))
    pairs = list(zip(ties.entity.tolist(), ties.neighbour.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    assert (ties.entity[ties.mirror] == ties.neighbour).all()
    assert (ties.neighbour[ties.mirror] == ties.entity).all()
    assert (ties.facts_of(np.arange(ties.n_ties)) == ties.facts_of(ties.mirror)).all()
    assert ties.ties_of(np.arange(ties.n_entities)).tolist() == np.bincount(ties.entity, minlength=4).tolist()
    assert np.repeat(np.arange(4), np.diff(ties.first_fact_of_entity)).tolist() == ties.entity[ties.tie].tolist()


@given(FACTS, st.integers(0, 2**16))
def test_some_ties_are_those_of_a_graph_with_their_facts(facts: list[tuple[str, str, str, str]], draw: int) -> None:
    graph = graph_of(facts)
    ties = Ties.of(graph)
    kept = ((draw >> np.minimum(ties.entity * 4 + ties.neighbour, ties.neighbour * 4 + ties.entity)) & 1).astype(bool)
    part = ties.at(kept)
    both = {tuple(sorted(pair)) for pair in zip(part.entity.tolist(), part.neighbour.tolist(), strict=True)}
    rows = [row for row in range(graph.n_facts) if tuple(sorted((graph.head[row], graph.tail[row]))) in both]
    expected = Ties.of(graph.with_facts(np.array(rows, dtype=np.int64)))
    for name in ("entity", "neighbour", "mirror", "first_tie", "first_fact", "tie"):
        assert getattr(part, name).tolist() == getattr(expected, name).tolist()
    # facts of one tie and one date are ordered by their words only where some tie of the graph is too long
    of_part, of_expected = (
        sorted(zip(*(getattr(each, name).tolist() for name in ("tie", "relation", "begin", "end")), strict=True))
        for each in (part, expected)
    )
    assert of_part == of_expected
    assert set(part.side.tolist()) <= set(ties.side.tolist())


@given(FACTS)
def test_side_numbers_point_back_to_the_facts_of_the_graph(facts: list[tuple[str, str, str, str]]) -> None:
    graph = graph_of(facts)
    ties = Ties.of(graph)
    row, from_tail = ties.side % graph.n_facts, ties.side >= graph.n_facts
    own, other = (
        np.where(from_tail, graph.tail[row], graph.head[row]),
        np.where(from_tail, graph.head[row], graph.tail[row]),
    )
    assert own.tolist() == ties.entity[ties.tie].tolist()
    assert other.tolist() == ties.neighbour[ties.tie].tolist()
    assert (ties.relation == graph.relation[row] + graph.n_relations * from_tail).all()
    assert (ties.begin == graph.begin[row]).all()
    assert (ties.end == graph.end[row]).all()


def test_a_graph_of_self_loops_has_no_ties() -> None:
    ties = Ties.of(TemporalGraph.from_facts([("a", "is", "a", "1900"), ("a", "is", "a", "1901")]))
    assert (ties.n_ties, ties.n_facts, ties.first_tie.tolist()) == (0, 0, [0, 0])
    assert ties.find(np.array([0]), np.array([0])).tolist() == [-1]


def test_a_long_tie_keeps_the_same_dates_in_both_graphs_whatever_the_order() -> None:
    years = [str(year) for year in range(1900, 1920)]
    one = TemporalGraph.from_facts([("a", "met", "b", year) for year in years])
    other = TemporalGraph.from_facts([("x", "p", "y", "1800"), *[("z", "q", "w", year) for year in reversed(years)]])
    kept = Ties.of(one)
    assert kept.n_facts == 2 * MOST_FACTS
    again = Ties.of(other)
    long = again.facts_of(again.tie) > 1
    assert sorted(again.begin[long]) == sorted(kept.begin)


@pytest.mark.parametrize("seed", [1, 2])
def test_shuffling_a_graph_keeps_the_same_facts(seed: int) -> None:
    """Six relations and two years among 30 entities: ties are long, and many of their facts have one date."""
    graph = simulate(
        World(entities=30, mean_facts=60, relations_source=6, relations_target=6, years=2, year_only_share=1, seed=seed)
    ).source
    copy = shuffled_copy(graph, np.random.default_rng(seed))[0]
    assert Ties.of(graph).n_facts < Ties.of(graph, most_facts=1000).n_facts
    assert listed(copy, Ties.of(copy)) == listed(graph, Ties.of(graph))


def test_both_ends_of_a_long_tie_keep_the_same_facts_where_dates_are_equal() -> None:
    facts = [("a", f"r{i}", "b", "2000") for i in range(3)] + [("b", f"s{i}", "a", "2000") for i in range(3)]
    graph = TemporalGraph.from_facts(facts)
    ties = Ties.of(graph)
    from_a, from_b = (set(ties.side[ties.tie == tie] % graph.n_facts) for tie in (0, 1))
    assert len(from_a) == MOST_FACTS
    assert from_a == from_b


def test_pairs_are_found_where_they_are_and_nowhere_else() -> None:
    row, column = np.array([0, 0, 2]), np.array([1, 3, 0])
    wanted = np.array([[0, 3], [0, 2], [2, 0], [1, 1]])
    assert find_pairs(row, column, 4, wanted[:, 0], wanted[:, 1]).tolist() == [1, -1, 2, -1]
    assert find_pairs(row[:0], column[:0], 4, wanted[:, 0], wanted[:, 1]).tolist() == [-1] * 4


def test_expanding_skips_what_is_empty() -> None:
    which, number = expanded(np.array([5, 9, 0]), np.array([0, 2, 1]))
    assert (which.tolist(), number.tolist()) == ([1, 1, 2], [9, 10, 0])


@given(st.sets(st.integers(-(2**40), 2**40)), st.lists(st.integers(-(2**41), 2**41)), st.integers(0, 3))
def test_places_are_those_of_a_list(known: set[int], others: list[int], spread: int) -> None:
    listed = np.array(sorted(number >> 12 * spread for number in known), dtype=np.int64)
    listed = np.unique(listed)
    wanted = np.array([*others, *listed.tolist()], dtype=np.int64)
    of = {number: place for place, number in enumerate(listed.tolist())}
    assert Places(listed).of(wanted).tolist() == [of.get(number, -1) for number in wanted.tolist()]


def test_places_of_long_lists() -> None:
    draw = np.random.default_rng(0)
    known = np.unique(draw.integers(0, 2**45, 3 * 2**16))
    wanted = np.concatenate([known[::7], draw.integers(-5, 2**45 + 5, 2**16)])
    found = places_in(known, wanted)
    expected = np.searchsorted(known, wanted)
    expected[expected == len(known)] = 0
    assert np.array_equal(found, np.where(known[expected] == wanted, expected, -1))
    assert np.array_equal(places_in(known, wanted[:100]), found[:100])
