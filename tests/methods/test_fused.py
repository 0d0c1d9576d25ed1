"""Method `fused`: evidence decides, the paper's channels rank what it leaves open."""

import numpy as np
import pytest
from scipy import sparse

from dualmatch import align, evaluate
from dualmatch.decode.fusion import fuse
from dualmatch.decode.graph_matching import matching_problem
from dualmatch.simulate import World, simulate

pytest.importorskip("torch", reason="method fused needs the extra [gnn]")

HARD = World(entities=300, mean_facts=6, common_share=0.3, seed=1)


def test_links_are_those_of_evidence_and_ranking_is_no_worse() -> None:
    pair = simulate(HARD)
    evidence, fused = align(pair.source, pair.target), align(pair.source, pair.target, method="fused", dimension=32)
    np.testing.assert_array_equal(evidence.pairs, fused.pairs)
    np.testing.assert_array_equal(evidence.confidence, fused.confidence)
    alone, together = (evaluate(alignment, pair.gold).open["all"] for alignment in (evidence, fused))
    assert together.h1 >= alone.h1 - 1
    assert set(fused.weights) == {"evidence", "temporal", "relational"}
    chosen = ", ".join(str(fused.weights[name]) for name in ("temporal", "relational"))
    assert fused.distances[chosen] == min(fused.distances.values())
    assert fused.method == "fused"


def test_where_evidence_is_sure_of_nothing_there_is_nothing_to_train_on(caplog: pytest.LogCaptureFixture) -> None:
    pair = simulate(World(entities=30, mean_facts=3, common_share=0.0, years=1, seed=3))
    alignment = align(pair.source, pair.target, method="fused")
    assert (alignment.confidence <= 0.9).all()
    assert "nothing to train on" in caplog.text
    assert alignment.weights is None


class Given:
    """A channel whose similarities are given."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values.astype(np.float32)

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape

    def rows(self, index: np.ndarray) -> np.ndarray:
        return self.values[index].copy()


def test_swapping_the_graphs_transposes_what_is_fused() -> None:
    """Candidates are the best of rows and of columns: a hub's column may be in no row's list and has its own."""
    rng = np.random.default_rng(0)
    evidence = sparse.random_array((70, 50), density=0.05, rng=rng, format="csr")
    channel = rng.random((70, 50)) ** 4
    rows, columns = np.arange(5, 70), np.arange(3, 50)
    forward = fuse(evidence, {"c": Given(channel)}, rows, columns, None, 20.0).plan.similarity
    backward = fuse(sparse.csr_array(evidence.T), {"c": Given(channel.T)}, columns, rows, None, 20.0).plan.similarity
    np.testing.assert_allclose(forward.toarray(), backward.toarray().T, atol=1e-7)
    listed = forward.toarray()[5:, 3:] > 0
    assert (listed.sum(axis=1) >= 20).all()
    assert (listed.sum(axis=0) >= 20).all()
    assert not listed.all()


def test_a_channel_that_knows_the_truth_is_weighed_in_by_the_distance() -> None:
    """Evidence says nothing of the open part, the relational channel is right: D must not choose weight 0 for it."""
    pair = simulate(World(entities=120, mean_facts=8, common_share=0.9, unmatched_source=0, unmatched_target=0, seed=6))
    n = pair.source.n_entities
    truth, noise = np.zeros((n, n)), np.random.default_rng(2)
    truth[pair.gold[:, 0], pair.gold[:, 1]] = 1.0
    channels = {"temporal": Given(noise.random((n, n)) * 0.5), "relational": Given(truth)}
    known = pair.gold[:60]
    evidence = sparse.csr_array((np.ones(60), (known[:, 0], known[:, 1])), shape=(n, n))
    rows, columns = np.sort(pair.gold[60:, 0]), np.sort(pair.gold[60:, 1])
    problem = matching_problem(pair.source, pair.target, known, 2)
    fused = fuse(evidence, channels, rows, columns, problem, 20.0)
    assert fused.weights["relational"] > 0
    best = fused.plan.best().column_of_row
    assert (best[pair.gold[:, 0]] == pair.gold[:, 1]).mean() > 0.95
