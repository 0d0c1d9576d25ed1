"""Decoys: what chance reaches, where much is in common and where nothing is."""

import numpy as np
import pytest

from dualmatch.encode.evidence.candidates import find_candidates, scored_tokens
from dualmatch.encode.evidence.decoys import decoy_scores
from dualmatch.encode.evidence.sides import fact_sides
from dualmatch.encode.evidence.tokens import build_tokens
from dualmatch.simulate import World, simulate


@pytest.mark.parametrize(("common", "low", "high"), [(0.0, 0.7, 1.4), (0.8, 0.05, 0.6)])
def test_decoys_score_like_entities_only_where_nothing_is_in_common(common: float, low: float, high: float) -> None:
    pair = simulate(World(entities=300, mean_facts=8, common_share=common, unmatched_source=0, unmatched_target=0))
    left, right, kinds = fact_sides(pair.source, pair.target)
    tokens = build_tokens(left, right, kinds, None)
    scored = scored_tokens(tokens)
    best = find_candidates(scored).max(axis=1).toarray().ravel()
    scores, weights = decoy_scores(left, right, kinds, None, tokens, scored)
    assert len(scores) == len(weights) > 300
    assert np.isfinite(weights).all()
    assert low < np.median(scores) / np.median(best) < high
