"""The start: graphs that share only years, and graphs of which only some entities have labels."""

from __future__ import annotations

import numpy as np
import pytest

from dualmatch import Literals, TemporalGraph, align
from dualmatch.simulate import SimulatedPair, World, simulate


def right(pairs: np.ndarray, gold: np.ndarray) -> int:
    return len({*map(tuple, pairs.tolist())} & {*map(tuple, gold.tolist())})


@pytest.mark.parametrize("options", [{"mean_facts": 8, "common_share": 0.3}, {"mean_facts": 12, "common_share": 0.4}])
def test_few_distinct_years_are_a_start(options: dict[str, float]) -> None:
    """Every year is shared by hundreds of facts, so no pair is likelier than one half to begin with."""
    pair = simulate(World(entities=400, year_only_share=1.0, years=15, seed=1, **options))
    found = align(pair.source, pair.target).pairs
    assert right(found, pair.gold) > 0.8 * len(pair.gold)
    assert right(found, pair.gold) > 0.97 * len(found)


def test_a_bold_start_finds_nothing_in_unrelated_graphs() -> None:
    first, second = (simulate(World(entities=400, mean_facts=8, year_only_share=1.0, years=15, seed=s)) for s in (1, 2))
    assert len(align(first.source, second.target).pairs) <= 4


def labels(pair: SimulatedPair, graph: TemporalGraph, side: int, known: np.ndarray) -> Literals:
    return Literals.of_labels({graph.entities[row[side]]: f"label {row[0] * 7919 % 10007}" for row in known}, graph)


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_equal_labels_of_some_entities_are_enough(share: float) -> None:
    """Labels that nobody else has, and facts without a date."""
    pair = simulate(World(entities=400, mean_facts=6, common_share=0.3, undated_share=1.0))
    known = pair.gold[np.random.default_rng(1).permutation(len(pair.gold))[: int(share * len(pair.gold))]]
    both = labels(pair, pair.source, 0, known), labels(pair, pair.target, 1, known)
    found = align(pair.source, pair.target, literals=both).pairs
    assert right(found, known) == len(known)
    assert right(found, pair.gold) > 0.97 * len(found)
