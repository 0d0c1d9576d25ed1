"""Rankings, abstention and calibration on alignments small enough to count by hand."""

import numpy as np
import pytest
from scipy import sparse

from dualmatch import Alignment, Config, TemporalGraph
from dualmatch.decode.sparse_sinkhorn import sparse_sinkhorn
from dualmatch.evaluate import calibration, evaluate, ranking

NAMES = "abcdef"
GRAPH = TemporalGraph.from_facts([(name, "r", name, "2000") for name in NAMES])


def alignment(pairs: list[tuple[int, int]], confidence: list[float], seeds: int = 0) -> Alignment:
    """Six sources and targets; the soft scores hold 0–0, 1–1 and 2–3 as the only candidates."""
    similarity = sparse.csr_array((np.ones(3), ([0, 1, 2], [0, 1, 3])), shape=(6, 6))
    return Alignment(
        GRAPH,
        GRAPH,
        np.array(pairs, dtype=np.int32).reshape(-1, 2),
        np.array(confidence),
        np.arange(len(pairs)) < seeds,
        sparse_sinkhorn(similarity, 10.0),
        Config(),
    )


GOLD = np.array([[0, 0], [1, 1], [2, 2], [3, 3]], dtype=np.int32)


def test_abstention_counts_pairs_of_partnerless_sources_as_wrong() -> None:
    found = evaluate(alignment([(0, 0), (1, 1), (2, 3), (4, 4)], [0.9, 0.8, 0.6, 0.5]), GOLD).abstention
    assert (found.emitted, found.precision, found.recall, found.f1) == (4, 0.5, 0.5, 0.5)
    # 3 and 5 are left alone; of the partnerless 4 and 5, one is left alone.
    assert (found.no_match_precision, found.no_match_recall) == (0.5, 0.5)


def test_seeds_are_neither_emitted_nor_tested() -> None:
    evaluation = evaluate(alignment([(0, 0), (1, 1), (2, 3)], [1.0, 0.8, 0.6], seeds=1), GOLD)
    assert evaluation.open["all"].pairs == 3
    assert (evaluation.abstention.emitted, evaluation.abstention.precision) == (2, 0.5)
    assert evaluation.abstention.recall == pytest.approx(1 / 3)


def test_ranks_of_open_and_paper_protocols() -> None:
    evaluation = evaluate(alignment([(0, 0)], [0.9]), GOLD, {"odd": GOLD[[1, 3]], "none": GOLD[:0]})
    # 0 and 1 come first. 2's partner stands behind one candidate, tied with five: 1 + 1 + 4/2. 3 has no candidate: 3.5.
    assert evaluation.open["all"].h1 == 50.0
    assert evaluation.open["all"].mrr == pytest.approx((1 + 1 + 1 / 4 + 1 / 3.5) / 4)
    # Column 3 has candidate 2, so source 3 stands behind it: 1 + 1 + 4/2.
    assert evaluation.open_reverse["all"].mrr == pytest.approx((1 + 1 + 1 / 3.5 + 1 / 4) / 4)
    # On the square of the four tested pairs: 2's partner at 1 + 1 + 2/2, 3's at 1 + 3/2.
    assert evaluation.paper["all"].mrr == pytest.approx((1 + 1 + 1 / 3 + 1 / 2.5) / 4)
    assert evaluation.paper["odd"].pairs == 2
    assert evaluation.paper["odd"].mrr == pytest.approx((1 + 1 / 1.5) / 2)
    assert evaluation.open["none"].pairs == 0


def test_a_tie_at_the_top_is_no_hit_at_one() -> None:
    assert ranking(np.array([1.5])).h1 == 0.0


def test_nothing_emitted_has_no_precision() -> None:
    found = evaluate(alignment([], []), GOLD)
    assert found.abstention.precision is None
    assert found.abstention.f1 is None
    assert found.calibration.ece is None


def test_calibration_weighs_bins_by_size() -> None:
    confidence = np.array([0.95, 0.95, 0.95, 0.95, 0.15, 1.0])
    right = np.array([True, True, True, False, False, True])
    result = calibration(confidence, right)
    assert [b.pairs for b in result.bins] == [1, 5]
    assert result.ece == pytest.approx((5 * abs((4 * 0.95 + 1) / 5 - 0.8) + 1 * 0.15) / 6)


def test_perfect_calibration_has_no_error() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.random(200_000)
    assert calibration(confidence, rng.random(200_000) < confidence).ece < 0.01
