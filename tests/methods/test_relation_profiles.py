"""Which relations say the same, read off the facts of known pairs whose neighbours are unknown."""

import numpy as np
import pytest

from dualmatch import TemporalGraph
from dualmatch.channels.evidence.ties import Ties
from dualmatch.methods.evidence.learning import profile_counts


def twins(seed: int, shared: float) -> tuple[Ties, Ties, np.ndarray, np.ndarray]:
    """40 pairs of entities; a fact of relation i is one of relation 5 - i in the other graph, where it is there."""
    rng = np.random.default_rng(seed)
    source, target = [], []
    for entity in range(40):
        for fact in range(8):
            relation = int(rng.integers(6))
            there = rng.random() < shared
            source.append((f"s{entity}", f"r{relation}", f"u{entity}.{fact}"))
            other = 5 - relation if there else int(rng.integers(6))
            target.append((f"t{entity}", f"p{other}", f"v{entity}.{fact}"))
    graphs = TemporalGraph.from_facts(source), TemporalGraph.from_facts(target)
    names = [{name: row for row, name in enumerate(graph.relations)} for graph in graphs]
    pairs = [(graphs[0].entity_rows[f"s{e}"], graphs[1].entity_rows[f"t{e}"]) for e in range(40)]
    meant = np.zeros((12, 12), dtype=bool)
    for relation in range(6):
        meant[names[0][f"r{relation}"], names[1][f"p{5 - relation}"]] = True
    return Ties.of(graphs[0]), Ties.of(graphs[1]), np.array(pairs), meant


@pytest.mark.parametrize("seed", range(4))
def test_relations_find_their_translation(seed: int) -> None:
    source, target, pairs, meant = twins(seed, 0.7)
    counts = profile_counts((source, target), pairs).toarray()
    best = counts[:6, :6].argmax(axis=1)
    assert (meant[:6, :6][np.arange(6), best]).all()
    assert counts[6:].sum() == 0  # read backwards, no listed entity has them
    assert counts.sum(axis=1).max() <= 5 + 1e-5
    assert counts.sum(axis=0).max() <= 5 + 1e-5


def test_swapping_the_graphs_transposes_the_counts() -> None:
    source, target, pairs, _ = twins(0, 0.5)
    forward = profile_counts((source, target), pairs)
    backward = profile_counts((target, source), pairs[:, ::-1])
    np.testing.assert_allclose(forward.toarray(), backward.toarray().T, atol=2e-6)


def test_no_pairs_tell_nothing() -> None:
    source, target, pairs, _ = twins(0, 0.5)
    assert profile_counts((source, target), pairs[:0]).nnz == 0
