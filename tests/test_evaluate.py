"""Rankings, abstention and calibration on alignments small enough to count by hand."""

import numpy as np
import pytest
from scipy import sparse

from dualmatch import Alignment, Config, TemporalGraph
from dualmatch.decode.forbidden import Forbidden
from dualmatch.decode.sparse_sinkhorn import sparse_sinkhorn
from dualmatch.evaluate import Verdicts, calibration, evaluate, link_quality, ranking
from dualmatch.graph.arrays import NO_PARTNER

NAMES = "abcdef"
GRAPH = TemporalGraph.from_facts([(name, "r", name, "2000") for name in NAMES])


def alignment(pairs: list[tuple[int, int]], confidence: list[float], seeds: int = 0, **options: object) -> Alignment:
    """Six sources and targets; the soft scores hold 0–0, 1–1 and 2–3 as the only candidates."""
    similarity = sparse.csr_array((np.ones(3), ([0, 1, 2], [0, 1, 3])), shape=(6, 6))
    rows, sure = np.array(pairs, dtype=np.int32).reshape(-1, 2), np.array(confidence)
    is_seed = np.arange(len(pairs)) < seeds
    given: dict[str, object] = {
        "all_pairs": rows[~is_seed],
        "all_confidence": sure[~is_seed],
        "plan": sparse_sinkhorn(similarity, 10.0),
        "config": Config(method="temporal"),
    }
    return Alignment(GRAPH, GRAPH, rows, sure, is_seed, **{**given, **options})  # type: ignore[arg-type]


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


def test_known_counts_links_of_tested_entities_only() -> None:
    """4–4 and 5–5 touch no tested pair: strictly they are wrong, of what is known nothing is."""
    found = evaluate(alignment([(0, 0), (1, 1), (2, 4), (4, 2), (5, 5)], [0.9] * 5), GOLD).abstention
    assert found.precision == pytest.approx(2 / 5)
    assert found.known is not None
    assert (found.known.precision, found.known.recall, found.known.f1) == (2 / 4, 2 / 4, 0.5)


def test_calibration_of_all_takes_in_what_was_not_emitted() -> None:
    """Three pairs were found for tested entities, and one for others; one of them was emitted."""
    found = np.array([[0, 0], [1, 1], [2, 3], [4, 4]], np.int32)
    chance = np.array([0.9, 0.004, 0.0004, 0.3])
    everything = evaluate(alignment([(0, 0)], [0.9], all_pairs=found, all_confidence=chance), GOLD).calibration.all
    assert everything is not None
    assert everything.pairs == 3
    assert everything.coverage == pytest.approx(4 / 6)
    assert [(each.low, each.high, each.pairs, each.precision) for each in everything.bins] == [
        (0.0, 0.001, 1, 0.0),
        (0.001, 0.01, 1, 1.0),
        (0.9, 0.99, 1, 1.0),
    ]
    assert everything.ece == pytest.approx((0.1 + 0.996 + 0.0004) / 3)
    assert everything.brier == pytest.approx((0.1**2 + 0.996**2 + 0.0004**2) / 3)


def test_the_last_bin_of_all_includes_certainty() -> None:
    sure = evaluate(alignment([(0, 0), (1, 1)], [1.0, 0.99]), GOLD).calibration.all
    assert sure is not None
    assert [(each.low, each.high, each.pairs) for each in sure.bins] == [(0.99, 1.0, 2)]


def test_seeds_are_no_part_of_the_calibration_of_all() -> None:
    everything = evaluate(alignment([(0, 0), (1, 1)], [1.0, 0.8], seeds=1), GOLD).calibration.all
    assert everything is not None
    assert everything.pairs == 1
    assert everything.coverage == pytest.approx(1 / 5)


def test_verdicts_are_counted_and_no_match_is_judged_alone() -> None:
    """Sources 3 and 4 were told to have no partner, 4 rightly; 2 and 5 are undecided."""
    told = Forbidden(np.array([[3, NO_PARTNER], [4, NO_PARTNER]]))
    found = evaluate(alignment([(0, 0), (1, 1)], [0.9, 0.8], forbidden=told), GOLD)
    assert found.verdicts == Verdicts(2, 2, 2, no_match_precision=0.5, no_match_recall=0.5)
    # strictly, everything without a pair counts as "no match": 2 and 3 wrongly, 4 and 5 rightly
    assert (found.abstention.no_match_precision, found.abstention.no_match_recall) == (0.5, 1.0)


def test_links_of_a_file_are_judged_by_name() -> None:
    """Of the sources without a partner, b is linked, c is said to have none and d is undecided."""
    gold = {("a", "x"), ("e", "y")}
    quality = link_quality([("a", "x"), ("b", "z")], np.array([0.9, 0.6]), gold, ["c", "e"], ["d"])
    assert (quality.abstention.precision, quality.abstention.recall) == (0.5, 0.5)
    assert quality.abstention.no_match_precision == 0.5
    assert quality.abstention.no_match_recall == pytest.approx(1 / 3)


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
