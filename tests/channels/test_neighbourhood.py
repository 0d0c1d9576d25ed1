"""Context: it orders what facts leave open, finds candidates of its own where that is affordable, and nothing else."""

import numpy as np
import pytest

from dualmatch.channels.evidence import neighbourhood
from dualmatch.channels.evidence.candidates import find_candidates, scored_tokens
from dualmatch.channels.evidence.fact_views import fact_sides
from dualmatch.channels.evidence.neighbourhood import with_context
from dualmatch.channels.evidence.tokens import TokenBuilder
from dualmatch.engine import InProcess
from dualmatch.simulate import World, simulate

PAIR = simulate(World(entities=150, mean_facts=4, common_share=0.3, seed=9))
LEFT, RIGHT, KINDS = fact_sides(PAIR.source, PAIR.target)
SCORED = scored_tokens(TokenBuilder(LEFT, RIGHT, KINDS).build(None))
SIMILARITY = find_candidates(SCORED)
CLOSED = PAIR.gold[:40].astype(np.int64)


def ranked(**options: int) -> np.ndarray:
    return with_context(SIMILARITY, (LEFT, RIGHT), SCORED, CLOSED, InProcess(**options)).toarray()


def test_closed_entities_stay_as_they_are_and_open_ones_gain() -> None:
    before, after = SIMILARITY.toarray(), ranked()
    assert np.array_equal(after[CLOSED[:, 0]], before[CLOSED[:, 0]])
    assert np.array_equal(after[:, CLOSED[:, 1]], before[:, CLOSED[:, 1]])
    assert (after >= before).all()
    assert ((after > 0) & (before == 0)).any()
    assert (after - before).max() <= 0.2 + 1e-6


def test_where_pairs_are_too_many_only_candidates_are_ordered(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = ranked()
    monkeypatch.setattr(neighbourhood, "_MOST_PAIRS", 0)
    some = ranked()
    listed = SIMILARITY.toarray() > 0
    assert np.array_equal(some > 0, listed)
    assert some[listed] == pytest.approx(everything[listed], abs=1e-6)


def test_blocks_change_nothing() -> None:
    assert ranked(block_rows=17).tobytes() == ranked().tobytes()
