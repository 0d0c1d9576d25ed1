"""The file of changes: which links an update found, lost or moved, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from dualmatch.explain.link_changes import LinkChange

CHANGES: Final = "changes.tsv"
"""Its name in the folder of a run."""
_NUMBERS: Final = ("confidence_before", "confidence")
_COLUMNS: Final = ("source", "before", "after", "kind", *_NUMBERS, "why")


def change_table(changes: Sequence[LinkChange]) -> pl.DataFrame:
    """A row a change, in their order."""
    return pl.DataFrame(
        {
            name: pl.Series(
                [getattr(change, name) for change in changes], dtype=pl.Float64 if name in _NUMBERS else pl.String
            )
            for name in _COLUMNS
        }
    )
