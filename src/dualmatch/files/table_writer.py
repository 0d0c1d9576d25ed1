"""Write tables as TSV, CSV or Parquet."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl
import polars.selectors as cs

from dualmatch.errors import OutputError
from dualmatch.files.atomic import STANDARD_OUTPUT, Transaction, open_output

DECIMALS: Final = 6
TABLE_EXTENSIONS: Final = {
    **dict.fromkeys((".tsv", ".tab", ".txt"), "tsv"),
    **dict.fromkeys((".csv",), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
}


def format_by_name(path: Path, extensions: Mapping[str, str]) -> str:
    """The format that a file's name gives; TSV where it has no extension, as standard output.

    >>> format_by_name(Path("links.csv"), TABLE_EXTENSIONS)
    'csv'
    """
    for extension, format in extensions.items():
        if path.name.lower().endswith(extension):
            return format
    if path.suffix:
        raise OutputError(f"{path}: its name does not show its format; end it with one of {', '.join(extensions)}")
    return "tsv"


def write_table(table: pl.DataFrame, path: Path, together: Transaction | None = None) -> None:
    """Write a table in the format of its name; ``-`` is standard output, as TSV."""
    write = TABLE_WRITERS[format_by_name(path, TABLE_EXTENSIONS)]
    check_table(table, path)
    with open_output(path, together) as file:
        write(table, file)


def check_table(table: pl.DataFrame, path: Path, format: str | None = None) -> None:
    """Refuse a text that would break a line of a TSV file; `format` is by the file's name where None."""
    if (format or format_by_name(path, TABLE_EXTENSIONS)) != "tsv":
        return
    for column in table.select(cs.string()).get_columns():
        torn = column.filter(column.str.contains("[\t\n\r]"))
        if len(torn):
            where = "standard output" if path == STANDARD_OUTPUT else path
            raise OutputError(
                f"{where}: {torn[0]!r} holds a tab or line break, which a TSV line cannot carry; rename it or write CSV"
            )


def _write_parquet(table: pl.DataFrame, out: BinaryIO) -> None:
    try:
        table.write_parquet(out)
    except pl.exceptions.ComputeError as error:  # a full disk, say, which polars calls no OSError here
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error


_write_csv: Final = partial(pl.DataFrame.write_csv, float_precision=DECIMALS)
TABLE_WRITERS: Final[dict[str, Callable[[pl.DataFrame, BinaryIO], object]]] = {
    "tsv": partial(_write_csv, separator="\t", quote_style="never"),  # names as they are, quotes and all
    "csv": _write_csv,
    "parquet": _write_parquet,
}
