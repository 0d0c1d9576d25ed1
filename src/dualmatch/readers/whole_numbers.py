"""Ids that a program wrote as fractions: in a column of numbers with gaps, pandas makes ``12.0`` of the id 12."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from dualmatch.readers.rows import is_filled
from dualmatch.readers.usual_names import listed

_WRITTEN: Final = r"^\s*[+-]?[0-9]+\.0\s*$"
_FEW: Final = 100


def are_fractions(column: pl.Series) -> bool | None:
    """Whether every value of a column of text is a whole number with ``.0``; None where it has no value.

    >>> [are_fractions(pl.Series(values, dtype=pl.String)) for values in (["12.0", None], ["12.0", "12"], [""])]
    [True, False, None]
    """
    values = column
    for part in (column.head(_FEW), column):  # most columns show it soon
        values = part.filter(is_filled(part))
        if len(values) and not values.str.contains(_WRITTEN).all():
            return False
    return True if len(values) else None


def as_whole_numbers(column: str) -> pl.Expr:
    """The ids of such a column without the fraction."""
    return pl.col(column).str.strip_chars().str.strip_suffix(".0")


def whole_numbers_note(names: Sequence[str]) -> str:
    """Says which columns were read so."""
    return f"whole numbers that were written as fractions: {listed(names)}; 12.0 is read as the id 12"


class FractionIds:
    """Columns of ids of one table that comes in blocks: whether all of a column are whole numbers with ``.0``.

    Blocks are kept as they come, in the `lists`; at the end such ids are written as whole numbers there.
    """

    def __init__(self, names: Mapping[str, str], lists: Sequence[list[pl.DataFrame]]) -> None:
        self._names, self._lists = names, lists
        self._starts = [len(tables) for tables in lists]
        self._are: dict[str, bool] = {}

    def see(self, table: pl.DataFrame) -> None:
        """Look at the columns of a block that hold ids."""
        for column in self._names:
            if column in table.columns and self._are.get(column, True):
                found = are_fractions(table[column])
                self._are |= {} if found is None else {column: found}

    def write(self, column_of: Mapping[str, Sequence[str]]) -> str:
        """Write such ids as whole numbers, and say so; empty where there are none.

        `column_of` has, by the name of a column of what is kept, the columns it comes from, in turn.
        """
        columns = {column for column, are in self._are.items() if are}
        for tables, start in zip(self._lists, self._starts, strict=True) if columns else ():
            for at in range(start, len(tables)):
                found = [
                    kept
                    for kept, of in column_of.items()
                    if kept in tables[at].columns and of[(at - start) % len(of)] in columns
                ]
                tables[at] = tables[at].with_columns(map(as_whole_numbers, found))
        names = [name for column, name in self._names.items() if column in columns]
        return whole_numbers_note(names) if names else ""
