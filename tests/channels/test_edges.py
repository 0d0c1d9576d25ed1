"""Grouping of edges against a dictionary twin."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_gradients import random_graph

from dualmatch.channels.relational.edges import build_structure
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN


def twin(source: TemporalGraph, target: TemporalGraph) -> dict[tuple[int, int], tuple[set[int], set[int]]]:
    """Relations and times on each directed edge, fact by fact; an inverse relation is its own relation."""
    on_edge: dict[tuple[int, int], tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
    n_relations = source.n_relations + target.n_relations
    for graph, shift, relation_shift in ((source, 0, 0), (target, source.n_entities, source.n_relations)):
        for h, r, t, begin, end in zip(graph.head, graph.relation, graph.tail, graph.begin, graph.end, strict=True):
            forth, back = on_edge[h + shift, t + shift], on_edge[t + shift, h + shift]
            forth[0].add(int(r) + relation_shift)
            back[0].add(int(r) + relation_shift + n_relations)
            for times in (forth[1], back[1]):
                times.update(int(time) for time in (begin, end) if time != UNKNOWN)
    return on_edge


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_sets_against_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    source, target = random_graph(rng), random_graph(rng, n=7, facts=25)
    structure = build_structure(source, target)
    expected = twin(source, target)
    codes = sorted(set().union(*(times for _, times in expected.values())))
    edges = structure.edges
    row = np.repeat(np.arange(structure.n_entities), np.diff(edges.indptr))
    assert list(zip(row.tolist(), edges.neighbour.tolist(), strict=True)) == sorted(expected)
    assert (row[edges.inverse] == edges.neighbour).all()
    assert (edges.neighbour[edges.inverse] == row).all()
    for sets, which in ((structure.relation_sets, 0), (structure.time_sets, 1)):
        members = [set(sets.members[[k]].indices.tolist()) for k in range(sets.n_sets)]
        assert len({frozenset(m) for m in members}) == sets.n_sets  # no set has two numbers
        for edge, key in enumerate(zip(row.tolist(), edges.neighbour.tolist(), strict=True)):
            symbols = expected[key][which]
            assert members[sets.of_edge[edge]] == (symbols if which == 0 else {codes.index(code) for code in symbols})


def test_means_over_neighbourhoods() -> None:
    graph = TemporalGraph.from_facts([("a", "r", "b", "2000", "2001"), ("a", "r", "c"), ("c", "s", "a", "2000")])
    structure = build_structure(graph, graph)
    assert structure.near_entities[[0]].toarray()[0] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 0, 0])
    assert sorted(structure.near_relations[[0]].indices) == [0, 5]  # r out, s in: an inverse relation is its own
    assert structure.near_times[[0]].toarray()[0] == pytest.approx([1 / 2, 1 / 2])
    assert structure.near_times[[2]].toarray()[0] == pytest.approx([1, 0])


def test_graph_without_times_has_one_empty_set() -> None:
    graph = TemporalGraph.from_facts([("a", "r", "b"), ("b", "r", "c")])
    structure = build_structure(graph, graph)
    assert not structure.has_times
    assert structure.time_sets.n_sets == 1
    assert structure.time_sets.members.nnz == 0
