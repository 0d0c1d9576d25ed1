"""The temporal channel against a dense twin of its recipe."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualmatch import InputError, TemporalGraph
from dualmatch.channels import temporal
from dualmatch.channels.temporal import temporal_features, temporal_similarity
from dualmatch.graph.matrices import propagation_matrices, shared_intervals, time_adjacency, time_counts
from dualmatch.simulate import World, simulate

TIMES = st.sampled_from(["", "1999", "2000", "2000-05", "2001-02-03"])
FACTS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("rst"), st.sampled_from("abcdef"), TIMES, TIMES),
    min_size=1,
    max_size=25,
)


def unit_rows(matrix: np.ndarray) -> np.ndarray:
    norm = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.divide(matrix, norm, out=np.zeros_like(matrix), where=norm > 0)


def twin(source: TemporalGraph, target: TemporalGraph, hops: int) -> np.ndarray:
    intervals = shared_intervals(source, target)
    features = []
    for graph, interval, A in zip(
        (source, target), (intervals.source, intervals.target), propagation_matrices(source, target), strict=True
    ):
        hop = unit_rows(time_adjacency(time_counts(graph, interval, intervals.count)).toarray().astype(np.float64))
        parts = [hop]
        for _ in range(hops):
            hop = unit_rows(A.toarray() @ hop)
            parts.append(hop)
        features.append(parts)
    return np.mean([s @ t.T for s, t in zip(*features, strict=True)], axis=0)


@settings(max_examples=50, deadline=None)
@given(FACTS, FACTS, st.integers(0, 3), st.sampled_from([0, 2**30]))
def test_equals_the_dense_twin(source_facts: list, target_facts: list, hops: int, memory_limit: int) -> None:
    """Whether the features fit into dense memory or not."""
    source, target = TemporalGraph.from_facts(source_facts), TemporalGraph.from_facts(target_facts)
    similarity = temporal_similarity(source, target, hops, memory_limit=memory_limit)
    rows = similarity.rows(np.arange(source.n_entities))
    np.testing.assert_allclose(rows, twin(source, target, hops), rtol=1e-4, atol=1e-6)


def test_a_larger_world_equals_the_twin_with_part_of_the_columns_dense() -> None:
    pair = simulate(World(entities=300, years=2, undated_share=0.1, year_only_share=0.3, seed=3))
    expected = twin(pair.source, pair.target, 2)
    for memory_limit in (0, 300 * 2 * 4 * 2 * 100, 2**30):
        similarity = temporal_similarity(pair.source, pair.target, memory_limit=memory_limit)
        np.testing.assert_allclose(similarity.rows(np.arange(300)), expected, rtol=1e-3, atol=1e-5)


def test_features_keep_within_their_room_or_are_refused() -> None:
    pair = simulate(World(entities=300, mean_facts=6, seed=1))
    free = temporal_similarity(pair.source, pair.target, memory_limit=0)
    needed = 0

    def count(n_bytes: int) -> None:
        nonlocal needed
        needed += n_bytes

    intervals = shared_intervals(pair.source, pair.target)
    for graph, interval, matrix in zip(
        (pair.source, pair.target),
        (intervals.source, intervals.target),
        propagation_matrices(pair.source, pair.target),
        strict=True,
    ):
        adjacency = time_adjacency(time_counts(graph, interval, intervals.count))
        features = temporal_features(adjacency, matrix, 2, 0, take=count)
        assert sum(part.data.nbytes + part.indices.nbytes for part in features) <= needed
    fits = temporal_similarity(pair.source, pair.target, memory_limit=0, room=needed)
    rows = np.arange(len(pair.source.entities))
    np.testing.assert_array_equal(fits.rows(rows), free.rows(rows))
    for room in (needed - 1, needed // 2, 1000):
        with pytest.raises(InputError, match=r"the temporal features of these graphs take more than .* MiB, a third"):
            temporal_similarity(pair.source, pair.target, memory_limit=0, room=room)


def test_products_in_slices_are_the_whole_product(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = simulate(World(entities=120, mean_facts=6, seed=2))
    whole = temporal_similarity(pair.source, pair.target, memory_limit=0).rows(np.arange(50))
    monkeypatch.setattr(temporal, "_ENTRIES_AT_ONCE", 7)
    np.testing.assert_allclose(
        temporal_similarity(pair.source, pair.target, memory_limit=0).rows(np.arange(50)), whole, atol=1e-6
    )
