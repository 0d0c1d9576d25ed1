"""Tables out: tab-separated, with a header, names as they are."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import polars.selectors as cs

from dualmatch.errors import OutputError
from dualmatch.io.atomic import replacing


def checked_table(table: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The table, unless a tab or line break in a text would tear a line of `path`."""
    for column in table.select(cs.string()).get_columns():
        torn = column.filter(column.str.contains("[\t\n\r]"))
        if len(torn):
            raise OutputError(
                f"{path}: {torn[0]!r} holds a tab or line break, which a TSV line cannot carry; rename it"
            )
    return table


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table, quotes in names and all; numbers with six decimals."""
    with replacing(path) as temporary:
        table.write_csv(temporary, separator="\t", quote_style="never", float_precision=6)
