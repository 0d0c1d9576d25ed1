"""A^t, A and the propagation matrix against dense twins written straight from the equations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualmatch import TemporalGraph
from dualmatch.graph.matrices import (
    l2_rows,
    propagation_matrices,
    relational_adjacency,
    shared_intervals,
    time_adjacency,
    time_counts,
)
from dualmatch.graph.times import UNKNOWN

TIMES = st.sampled_from(["", "1999", "2000", "2000-05", "2001-02-03"])
FACTS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("rst"), st.sampled_from("abcdef"), TIMES, TIMES),
    min_size=1,
    max_size=25,
)


def twin_time_counts(graph: TemporalGraph, other: TemporalGraph) -> np.ndarray:
    intervals = sorted(
        {
            (b, e)
            for g in (graph, other)
            for b, e in zip(g.begin.tolist(), g.end.tolist(), strict=True)
            if (b, e) != (UNKNOWN, UNKNOWN)
        }
    )
    counts = np.zeros((graph.n_entities, 2 * len(intervals)))
    for h, t, b, e in zip(graph.head, graph.tail, graph.begin.tolist(), graph.end.tolist(), strict=True):
        if (b, e) != (UNKNOWN, UNKNOWN):
            counts[h, intervals.index((b, e))] += 1
            counts[t, len(intervals) + intervals.index((b, e))] += 1
    return counts


def twin_softmax(counts: np.ndarray, zero_counts: bool) -> np.ndarray:
    weights = np.exp(counts) * ((counts > 0) | zero_counts)
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def twin_edges(graph: TemporalGraph, weight: dict[int, float], inverses: bool) -> np.ndarray:
    edges = np.zeros((graph.n_entities, graph.n_entities))
    for h, r, t in set(zip(graph.head.tolist(), graph.relation.tolist(), graph.tail.tolist(), strict=True)):
        edges[h, t] += weight[r]
        if inverses:
            edges[t, h] += weight[r]
    return edges


@settings(max_examples=60, deadline=None)
@given(FACTS, FACTS, st.booleans())
def test_time_adjacency_is_the_softmax_of_counts(source_facts: list, target_facts: list, zero_counts: bool) -> None:
    source, target = TemporalGraph.from_facts(source_facts), TemporalGraph.from_facts(target_facts)
    intervals = shared_intervals(source, target)
    counts = time_counts(source, intervals.source, intervals.count)
    expected = twin_time_counts(source, target)
    np.testing.assert_array_equal(counts.toarray(), expected)
    if intervals.count:
        adjacency = time_adjacency(counts, zero_counts).toarray()
        np.testing.assert_allclose(adjacency, twin_softmax(expected, zero_counts), rtol=1e-5)


def test_softmax_of_large_counts_stays_finite() -> None:
    graph = TemporalGraph.from_facts([("a", "r", "b", "2000")] * 500 + [("a", "r", "b", "2001")])
    intervals = shared_intervals(graph, graph)
    adjacency = time_adjacency(time_counts(graph, intervals.source, intervals.count)).toarray()
    np.testing.assert_allclose(adjacency.sum(axis=1), 1)


@settings(max_examples=60, deadline=None)
@given(FACTS, FACTS)
def test_propagation_weighs_relations_by_rarity(source_facts: list, target_facts: list) -> None:
    graphs = TemporalGraph.from_facts(source_facts), TemporalGraph.from_facts(target_facts)
    triples = [set(zip(g.head.tolist(), g.relation.tolist(), g.tail.tolist(), strict=True)) for g in graphs]
    total = 2 * sum(map(len, triples))
    for graph, own, matrix in zip(graphs, triples, propagation_matrices(*graphs), strict=True):
        weight = {r: np.log(total / sum(k == r for _, k, _ in own)) for _, r, _ in own}
        loop = max(0.0, np.log(total / (graphs[0].n_entities + graphs[1].n_entities)))
        expected = twin_edges(graph, weight, inverses=True) + loop * np.eye(graph.n_entities)
        np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-5, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(FACTS, st.booleans())
def test_relational_adjacency_has_unit_rows_and_no_loops(facts: list, inverses: bool) -> None:
    graph = TemporalGraph.from_facts(facts)
    adjacency = relational_adjacency(graph, inverses).toarray()
    triples = set(zip(graph.head.tolist(), graph.relation.tolist(), graph.tail.tolist(), strict=True))
    total = len(triples) * (2 if inverses else 1)
    weight = {r: np.log(total / sum(k == r for _, k, _ in triples)) for _, r, _ in triples}
    if not any(weight.values()):
        weight = dict.fromkeys(weight, 1.0)
    expected = twin_edges(graph, weight, inverses)
    np.fill_diagonal(expected, 0)
    total_row = expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        adjacency,
        np.divide(expected, total_row, out=np.zeros_like(expected), where=total_row > 0),
        rtol=1e-5,
        atol=1e-7,
    )


def test_half_known_intervals_are_columns_of_their_own() -> None:
    facts = [("a", "r", "b", "1994", "~"), ("a", "r", "b", "1994"), ("a", "r", "b", "~", "1994"), ("a", "r", "b")]
    graph = TemporalGraph.from_facts(facts)
    assert shared_intervals(graph, graph).count == 3


def test_l2_rows_leaves_empty_rows_empty() -> None:
    graph = TemporalGraph.from_facts([("a", "r", "b", "2000"), ("c", "r", "d")])
    intervals = shared_intervals(graph, graph)
    norms = np.linalg.norm(l2_rows(time_counts(graph, intervals.source, intervals.count)).toarray(), axis=1)
    assert norms.tolist() == pytest.approx([1, 1, 0, 0])
