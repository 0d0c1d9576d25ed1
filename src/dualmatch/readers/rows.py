"""Rows: a part of a file as a table, with the place of each row and its text for messages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.files.text_lines import LINE
from dualmatch.readers.rejected_lines import OfRow

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a file."""

    path: Path
    table: pl.DataFrame
    """``line`` (its number, null where a format has none), ``head``, ``relation``, ``tail`` as text, and ``begin``,
    ``end`` or ``time`` (a point), where there are any, as text or as time codes (int32)."""
    text: OfRow
    """The row as the file has it, for the file of rejected lines."""
    place: OfRow = lambda _: "its line is not known"
    """For rows without a line number: where to look for a row, in words."""
    date_column: str | None = None
    """What to call the column ``time`` in messages, where it has a name of its own."""

    def split(self, column: str, separator: str | None) -> Rows:
        """With a row for each value of a cell that holds several, without white space around it; none is empty."""
        if separator is None:
            return self
        part = pl.element().str.strip_chars()
        values = pl.col(column).str.split(separator).list.eval(part.filter(part != ""))
        table = self.table.with_row_index("row").with_columns(values).explode(column)
        at = table["row"].to_numpy()
        text, place = ((lambda row, of=of: of(int(at[row]))) for of in (self.text, self.place))
        return replace(self, table=table.drop("row"), text=text, place=place)

    def part(self, where: Mask, *columns: pl.Expr, date_column: str | None = None) -> Rows:
        """Some of the rows, with other columns."""
        at = np.flatnonzero(where)
        table = self.table.select(LINE, *columns).filter(where)
        text, place = ((lambda row, of=of: of(int(at[row]))) for of in (self.text, self.place))
        return Rows(self.path, table, text, place, date_column)


def is_filled(column: pl.Series) -> Mask:
    """Where a text column holds more than white space."""
    return (column.str.strip_chars() != "").fill_null(False).to_numpy()
