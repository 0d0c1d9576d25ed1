"""One order, whatever order a file has."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.ordering import fact_order, sorted_by_name, without_repeats

NAMES = st.sampled_from(["a", "b", "c", "ä", "", " "])
FACTS = st.lists(
    st.tuples(NAMES, st.sampled_from("rs"), NAMES, st.sampled_from(["1990", "1990-01", "~", "2000"])), min_size=1
)


@given(FACTS, st.randoms(use_true_random=False))
def test_a_shuffled_graph_is_sorted_to_the_same(facts: list[tuple[str, ...]], chance: object) -> None:
    shuffled = list(facts)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    (one, _), (other, rows) = (sorted_by_name(TemporalGraph.from_facts(each)) for each in (facts, shuffled))
    assert one.entities == other.entities == tuple(sorted(one.entities))
    assert one.relations == other.relations
    for column in ("head", "relation", "tail", "begin", "end"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
    unsorted = TemporalGraph.from_facts(shuffled).entities
    assert [unsorted[row] for row in rows] == list(other.entities)


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 5), max_size=20))
def test_facts_are_in_order_by_either_way_and_without_repeats(rows: list[tuple[int, ...]]) -> None:
    columns = np.array(rows, dtype=np.int32).reshape(-1, 5).T
    packed = fact_order(*columns, n_entities=4, n_relations=4)
    plain = fact_order(*columns, n_entities=2**31, n_relations=2**31)
    for order in (packed, plain):
        assert [tuple(row) for row in columns.T[order].tolist()] == sorted(rows)
    distinct = without_repeats(packed, *columns)
    assert [tuple(row) for row in columns.T[distinct].tolist()] == sorted(set(rows))
