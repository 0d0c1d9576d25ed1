"""The first rows of a table, column by column: to choose which holds what."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl

from dualmatch.errors import InputError
from dualmatch.files.compressed import is_packed, opened
from dualmatch.files.parquet_check import check_parquet
from dualmatch.readers.delimited import csv_separator
from dualmatch.readers.read import FORMATS, format_of
from dualmatch.readers.read_options import ReadOptions

_ROWS: Final = 3
_BYTES: Final = 1 << 18
_MOST_COLUMNS: Final = 200


@dataclass(frozen=True)
class ColumnHead:
    """A column by its name, with its first values."""

    name: str
    values: tuple[str, ...]


def table_head(path: Path, options: ReadOptions) -> tuple[ColumnHead, ...] | None:
    """The columns of a table; None where the file is not a table, or cannot be read.

    Names are those of the header, or what stands in the first line where there is none.
    """
    format = format_of(path, options.format)
    tables = {name: FORMATS[name] for name in ("csv", "tsv", "parquet")}
    if format not in tables.values():
        return None
    try:
        rows = _parquet_rows(path) if format is tables["parquet"] else _text_rows(path, format is tables["csv"])
    except (InputError, pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, csv.Error):
        return None
    if not rows or len(rows[0]) > _MOST_COLUMNS:
        return None
    header, *first = rows
    return tuple(
        ColumnHead(name.strip(), tuple(row[place] for row in first if place < len(row)))
        for place, name in enumerate(header)
    )


def _text_rows(path: Path, is_csv: bool) -> list[list[str]]:
    with opened(path) as file:
        text = file.read(_BYTES).decode("utf-8", "replace")
    lines = (text.rpartition("\n")[0] or text).lstrip("\ufeff \r\n")
    if not is_csv:
        return [line.rstrip("\r").split("\t") for line in islice(lines.split("\n"), _ROWS + 1)]
    separator, length = csv_separator(lines.encode())
    return list(islice(csv.reader(io.StringIO(lines[length:], newline=""), delimiter=separator), _ROWS + 1))


def _parquet_rows(path: Path) -> list[list[str]]:
    data: Any = path
    if is_packed(path):
        with opened(path) as file:
            data = io.BytesIO(file.read())
    check_parquet(data if data is path else data.getvalue())
    table = pl.read_parquet(data, n_rows=_ROWS, glob=False)
    return [table.columns, *(["" if value is None else str(value) for value in row] for row in table.iter_rows())]
