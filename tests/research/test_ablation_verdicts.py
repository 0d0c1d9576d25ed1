"""What the ablation says a part is worth: no more than its figures bear."""

from __future__ import annotations

import pytest

from dualmatch.research.experiments.ablation import verdict_of
from dualmatch.research.experiments.results import Spread, spread


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ([-2.0], "helps"),
        ([-0.2], "is within chance"),
        ([0.4], "does not help"),
        ([-2.0, -2.2, -1.9], "helps"),
        ([0.38, 0.41, 0.37], "does not help"),
        # Two standard errors would call this certain; of three seeds Student's interval is more than twice as wide.
        ([-0.1, -0.3, -0.5], "is within chance"),
        ([0.01, -0.01, 0.02], "makes no difference"),
        ([-0.06, -0.05, -0.07], "makes no difference"),
    ],
)
def test_a_trained_part_is_judged_by_its_spread(changes: list[float], kind: str) -> None:
    change = spread(changes)
    assert isinstance(change, Spread)
    assert verdict_of(change, trained=True).kind == kind


def test_without_chance_the_pairs_are_counted() -> None:
    found = verdict_of(Spread(-0.19, None, 1, 1), trained=False, pairs=8366)
    assert found.kind == "helps"
    assert "(-16 of 8,366 pairs; no randomness)" in found.words


def test_the_interval_is_said() -> None:
    words = "H@1 -0.50 ± 0.25 points without it (95 % interval over 3 seeds), so it helps"
    assert verdict_of(Spread(-0.5, 0.1, 3, 3), trained=True).words == words
