"""The quoted figures hang together as the paper's own text says they do."""

from __future__ import annotations

from dualmatch.research.experiments.paper import (
    ABLATION,
    DATASETS,
    GRID_SEARCH,
    OVERALL,
    SCALABILITY,
    SENSITIVITY,
    SETTINGS,
    STATISTICS,
)


def test_twelve_baselines_and_the_method_itself() -> None:
    assert len(OVERALL) == 13
    for method, figures in OVERALL.items():
        assert len(figures) == (6 if method == "DualMatch" else 4)
        for hits in figures.values():
            assert 0 < hits.h1 < hits.h10 <= 100
            assert hits.h1 / 100 < hits.mrr < hits.h10 / 100


def test_tables_agree_with_one_another() -> None:
    """The whole of the ablation is the less-seed row of the overall table; − TE is the worst α of the grid search."""
    whole = OVERALL["DualMatch"]
    for name in ("DICEWS", "WY50K"):
        assert ABLATION["whole"][name] == whole[name, "less"]
        assert ABLATION["− TE"][name].h1 == GRID_SEARCH[name, "less"].worst
        for setting in SETTINGS:
            assert GRID_SEARCH[name, setting].chosen == whole[name, setting].h1 == GRID_SEARCH[name, setting].best


def test_gains_are_those_of_the_text() -> None:
    """H@1 3.9 to 10.7 above TREA with seeds, 2.4 to 3.2 without."""
    trea, own = OVERALL["TREA"], OVERALL["DualMatch"]
    gains = sorted(round(own[column].h1 - trea[column].h1, 1) for column in trea)
    assert (gains[0], gains[-1]) == (3.9, 10.7)
    unsupervised = [round(own[name, "unsupervised"].h1 - trea[name, "normal"].h1, 1) for name in ("DICEWS", "WY50K")]
    assert unsupervised == [3.2, 2.4]


def test_seconds_of_the_text() -> None:
    assert [SCALABILITY["DICEWS"][part][-1] for part in ("relational", "temporal", "decode")] == [7.0, 7.9, 13.8]
    assert [SCALABILITY["WY50K"][part][-1] for part in ("relational", "temporal", "decode")] == [171.1, 90.2, 385.2]


def test_every_dataset_has_statistics() -> None:
    assert set(STATISTICS) == set(DATASETS)
    assert {group for figures in SENSITIVITY.values() for group in figures} == {"high", "low"}
