"""Hashes: the filter that comes before a search never leaves out what is there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualmatch.graph import hashing
from dualmatch.graph.hashing import may_be_in

NUMBERS = st.lists(st.integers(0, 2**62) | st.integers(0, 50), max_size=60)


@given(NUMBERS, NUMBERS)
def test_all_that_is_there_may_be_there(known: list[int], wanted: list[int]) -> None:
    held, sought = np.unique(np.array(known, np.int64)), np.array(wanted, np.int64)
    assert set(np.flatnonzero(np.isin(sought, held)).tolist()) <= set(may_be_in(held, sought).tolist())


def test_next_to_nothing_else_may_be() -> None:
    rng = np.random.default_rng(0)
    known, wanted = np.unique(rng.integers(0, 2**60, 2000)), rng.integers(0, 2**60, 50_000)
    assert len(may_be_in(known, wanted)) < 0.15 * len(wanted)


def test_tables_that_would_be_too_large_filter_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "_LARGEST", 5)
    assert may_be_in(np.arange(0, 2000, 2), np.arange(5000)).tolist() == list(range(5000))
