"""Numbers of names, by hash and, should hashes ever meet, by text."""

from __future__ import annotations

import polars as pl
import pytest

from dualmatch.readers.columns import numbered

NAMES = pl.Series(["b", "a", "ä", "b", "", "a"])


@pytest.mark.parametrize("colliding", [False, True])
def test_distinct_names_in_order(monkeypatch: pytest.MonkeyPatch, colliding: bool) -> None:
    if colliding:
        monkeypatch.setattr(pl.Series, "hash", lambda names: names.str.len_bytes().cast(pl.UInt64))
    distinct, rows = numbered(NAMES)
    assert distinct.to_list() == ["", "a", "b", "ä"]
    assert [distinct[row] for row in rows.tolist()] == NAMES.to_list()


def test_no_names() -> None:
    distinct, rows = numbered(pl.Series([], dtype=pl.String))
    assert len(distinct) == len(rows) == 0
