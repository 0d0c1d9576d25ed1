"""Parquet files, and data frames of any library that exports Arrow: polars, pandas, pyarrow, duckdb."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl

from dualmatch.errors import InputError
from dualmatch.files.bounded import is_bomb
from dualmatch.files.compressed import STANDARD_INPUT, is_packed, shown
from dualmatch.files.panics import panics_unprinted
from dualmatch.files.parquet_check import check_parquet
from dualmatch.files.text_lines import LINE
from dualmatch.graph.frames import ArrowFrame, frame_of
from dualmatch.readers.columns import TableShape
from dualmatch.readers.facts import Collector
from dualmatch.readers.rows import Rows

_TICKS_A_DAY: Final = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_BROKEN: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)


def read_parquet(file: BinaryIO, path: Path, collector: Collector) -> None:
    """Collect the rows of a Parquet file; only the columns of a fact are read."""
    # Parquet is read from its end: what cannot be searched is held in memory.
    plain = path != STANDARD_INPUT and not is_packed(path)
    limit = collector.options.memory_limit
    data: Any = path if plain else io.BytesIO(file.read(-1 if limit is None else limit + 1))
    try:
        size = path.stat().st_size if plain else len(data.getbuffer())
        if limit is not None and size > limit:
            raise ValueError("it does not fit into memory")
        check_parquet(path if plain else data.getvalue(), limit)
        with panics_unprinted():
            names = list(pl.read_parquet_schema(data))
        if not plain:
            data.seek(0)
        shape = _shape(names, path, collector)
        columns = [*dict.fromkeys(names[place] for place in shape.places.values())]
        with panics_unprinted():
            table = pl.read_parquet(data, columns=columns, glob=False)
        _check_texts(table, size, limit)
    except _BROKEN as error:
        raise InputError(f"{shown(path)}: not a readable Parquet file ({_first_line(error)}); write it again") from None
    _add(table, shape, names, path, collector)


def _check_texts(table: pl.DataFrame, size: int, limit: int | None) -> None:
    """Refuse a long text that a dictionary repeats without end: polars keeps it once, all that works on it does not."""
    texts = 0
    for column in table:
        if column.dtype == pl.String:
            texts += int(column.str.len_bytes().cast(pl.Int64).sum())
        elif isinstance(column.dtype, pl.Categorical | pl.Enum):
            counts = column.value_counts()
            lengths = counts.to_series(0).cast(pl.String).str.len_bytes().cast(pl.Int64)
            texts += int((lengths * counts.to_series(1)).sum())
    if is_bomb(texts // 2, size) or (limit is not None and texts > limit):
        raise ValueError("its texts are far longer than the file, which real data never is")


def read_frame(frame: ArrowFrame, path: Path, collector: Collector) -> None:
    """Collect the rows of a data frame."""
    table = frame_of(frame, path)
    _add(table, _shape(table.columns, path, collector), table.columns, path, collector)


def _shape(names: list[str], path: Path, collector: Collector) -> TableShape:
    shape = collector.shape_of(names, path)
    if not shape.has_header:
        raise InputError(f"{shown(path)}: its columns have names; give those, not numbers")
    return shape


def _add(table: pl.DataFrame, shape: TableShape, names: list[str], path: Path, collector: Collector) -> None:
    columns = []
    for role, place in shape.places.items():
        column = table[names[place]]
        if shape.kinds is not None and role in shape.kinds and shape.kinds[role] != "date":
            column = _as_any_text(column)
        columns.append(_as_text(column, role, shown(path)))
    texts = pl.DataFrame(columns).with_row_index(LINE, offset=1)
    collector.add_table(Rows(path, texts, lambda row: "\t".join(value or "" for value in texts.row(row)[1:])), shape)


def _as_any_text(column: pl.Series) -> pl.Series:
    """What is known of entities may be of any type: fractions and truth values are texts, lists are left out."""
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        return pl.Series(column.name, [None] * len(column), dtype=pl.String)
    if column.dtype == pl.Boolean or isinstance(column.dtype, pl.Time | pl.Duration):
        return column.cast(pl.String)
    if column.dtype.is_decimal() or (column.dtype.is_float() and (column.fill_nan(None) % 1 != 0).any()):
        return column.fill_nan(None).cast(pl.String) if column.dtype.is_float() else column.cast(pl.String)
    return column


def _as_text(column: pl.Series, role: str, where: str) -> pl.Series:
    """A column of names, numbers or dates as text; a number kept as 2005.0, as pandas does beside NaN, is 2005."""
    kind = column.dtype
    if kind == pl.String:
        return column.alias(role)
    if isinstance(kind, pl.Datetime):
        days = (column.to_physical() // _TICKS_A_DAY[kind.time_unit]).fill_null(0)
        if not days.is_between(-(2**31), 2**31 - 1).all():  # polars would take them for other days
            raise InputError(f"{where}: column {column.name!r} holds times that are not dates; fix or leave them out")
        column = column.dt.date()
    elif kind.is_float():
        numbers = column.fill_nan(None)
        whole = numbers.cast(pl.Int64, strict=False)
        if whole.null_count() != numbers.null_count() or not (whole.cast(kind) == numbers).fill_null(True).all():
            raise InputError(f"{where}: column {column.name!r} holds fractions; a {role} is text or a whole number")
        column = whole
    elif not (kind.is_integer() or kind in (pl.Date, pl.Null) or isinstance(kind, pl.Categorical | pl.Enum)):
        raise InputError(f"{where}: column {column.name!r} holds {kind}; a {role} is text, a number or a date")
    try:
        with panics_unprinted():
            return column.cast(pl.String).alias(role)
    except _BROKEN as error:
        raise InputError(f"{where}: column {column.name!r} cannot be read ({_first_line(error)})") from None


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
