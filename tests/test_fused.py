"""Method `fused`: evidence decides, the paper's channels rank what it leaves open."""

import numpy as np
import pytest

from dualmatch import align, evaluate
from dualmatch.simulate import World, simulate

pytest.importorskip("torch", reason="method fused needs the extra [gnn]")

HARD = World(entities=300, mean_facts=6, common_share=0.3, seed=1)


def test_links_are_those_of_evidence_and_ranking_is_no_worse() -> None:
    pair = simulate(HARD)
    evidence, fused = (align(pair.source, pair.target, method=method, dimension=32) for method in ("evidence", "fused"))
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
