"""What is learnt from believed pairs: how well entities are covered."""

from __future__ import annotations

import numpy as np
import pytest

from dualmatch import TemporalGraph
from dualmatch.channels.evidence.ties import Ties
from dualmatch.decode.one_to_one import Candidates
from dualmatch.methods.evidence import learning
from dualmatch.methods.evidence.learning import coverage_weights
from dualmatch.methods.evidence.state import COVERAGES


def wheel(n: int) -> Ties:
    """Every entity knows its three successors."""
    facts = [(f"e{i:04}", "knows", f"e{(i + step) % n:04}") for i in range(n) for step in (1, 2, 3)]
    return Ties.of(TemporalGraph.from_facts(facts))


def keys_of(n: int) -> tuple[np.ndarray, np.ndarray]:
    keys = np.random.default_rng(7).integers(0, 2**63, n).astype(np.uint64)
    return keys, keys[::-1].copy()


def judged(
    shares: dict[float, float], n: int, before: np.ndarray, seed: int = 0, tries: int = 20, overlap: float = 0.8
) -> tuple[Candidates, np.ndarray]:
    """Pairs whose coverage follows some shares, and what each pair's found ties make of the coverages."""
    rng = np.random.default_rng(seed)
    drawn = rng.choice(list(shares), n, p=list(shares.values()))
    found = rng.binomial(tries, drawn * overlap)[:, None]
    likelihood = (COVERAGES * overlap) ** found * (1 - COVERAGES * overlap) ** (tries - found)
    posterior = before * likelihood
    rows = np.arange(n)
    return Candidates(rows, rows, (n, n)), posterior / posterior.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("shares", [{1.0: 1.0}, {0.1: 0.3, 1.0: 0.7}, {0.2: 0.5, 0.7: 0.5}])
def test_a_planted_mixture_of_coverages_is_recovered_in_one_go(shares: dict[float, float]) -> None:
    n, before = 2000, COVERAGES / COVERAGES.sum()
    ties = wheel(n)
    candidates, posterior = judged(shares, n, before)
    weights = coverage_weights(candidates, np.ones(n), posterior, (ties, ties), before, keys_of(n))
    expected = [shares.get(float(coverage), 0.0) for coverage in COVERAGES]
    assert weights == pytest.approx(expected, abs=0.06)
    assert weights.sum() == pytest.approx(1.0, abs=1e-6)


def test_doubtful_pairs_teach_nothing() -> None:
    n, before = 200, COVERAGES / COVERAGES.sum()
    ties = wheel(n)
    candidates, posterior = judged({0.1: 1.0}, n, before)
    assert coverage_weights(candidates, np.full(n, 0.4), posterior, (ties, ties), before, keys_of(n)) is before


def test_of_many_pairs_a_sample_teaches_that_does_not_depend_on_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    n, before, shares = 3000, COVERAGES / COVERAGES.sum(), {0.1: 0.3, 1.0: 0.7}
    ties, keys = wheel(n), keys_of(n)
    candidates, posterior = judged(shares, n, before)
    whole = coverage_weights(candidates, np.ones(n), posterior, (ties, ties), before, keys)
    monkeypatch.setattr(learning, "_MOST_FOR_COVERAGE", 1000)
    weights = coverage_weights(candidates, np.ones(n), posterior, (ties, ties), before, keys)
    assert not np.array_equal(weights, whole)
    assert weights == pytest.approx([shares.get(float(coverage), 0.0) for coverage in COVERAGES], abs=0.08)
    order = np.random.default_rng(3).permutation(n)
    # the same pairs as other rows: the wheel looks the same from everywhere
    turned = coverage_weights(
        candidates, np.ones(n), posterior[order], (ties, ties), before, (keys[0][order], keys[1][order])
    )
    np.testing.assert_array_equal(turned, weights)


def test_a_sample_is_drawn_from_pairs_with_enough_ties_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    n, n_rich, before = 3000, 100, COVERAGES / COVERAGES.sum()
    facts = [(f"e{i:04}", "knows", f"e{(i + step) % n_rich:04}") for i in range(n_rich) for step in (1, 2, 3)]
    facts += [(f"e{i:04}", "knows", f"e{i + 1:04}") for i in range(n_rich, n, 2)]
    ties = Ties.of(TemporalGraph.from_facts(facts))
    assert (ties.ties_of(np.arange(n)) >= 3).sum() == n_rich
    candidates, posterior = judged({0.1: 0.3, 1.0: 0.7}, n, before)
    whole = coverage_weights(candidates, np.ones(n), posterior, (ties, ties), before, keys_of(n))
    assert whole is not before
    monkeypatch.setattr(learning, "_MOST_FOR_COVERAGE", 500)  # of all pairs; some 17 of them would be rich
    sampled = coverage_weights(candidates, np.ones(n), posterior, (ties, ties), before, keys_of(n))
    np.testing.assert_array_equal(sampled, whole)
