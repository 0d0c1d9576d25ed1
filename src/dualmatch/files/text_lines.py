"""Tab-separated text as polars columns, with the line number of every row kept for messages."""

from __future__ import annotations

import csv
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl

from dualmatch.errors import SHOWN_PROBLEMS, FileProblem, InputError, input_error
from dualmatch.files.compressed import opened, unpacked_name

logger = logging.getLogger(__name__)

LINE: Final = "line"
LARGEST_ID: Final = 2**63 - 1
_BLOCK_BYTES: Final = 2**22  # of a file that are turned into columns at once: they take ten times as much


def read_lines(path: Path, where_missing: str = "check the path") -> pl.DataFrame:
    """The non-blank lines of a UTF-8 file: columns ``line`` (from 1) and ``text`` (without CR)."""
    return pl.concat(line_blocks(path, where_missing))


def line_blocks(path: Path, where_missing: str = "check the path") -> Iterator[pl.DataFrame]:
    """As `read_lines`, a part of the file at a time: a frame each, one at least."""
    n_lines = 0
    with opened(path, where_missing) as file:
        for number, data in enumerate(_byte_blocks(file)):
            try:
                text = data.decode("utf-8" if number else "utf-8-sig")
            except UnicodeDecodeError as error:
                line = n_lines + data.count(b"\n", 0, error.start) + 1
                is_wide = number == 0 and data[:2] in (b"\xff\xfe", b"\xfe\xff")
                why = "UTF-16; save it as UTF-8" if is_wide else "not UTF-8 text; convert the file to UTF-8"
                raise InputError(f"{path}:{line}: {why}") from None
            lines = pl.select(pl.lit(text).str.split("\n").alias("text")).explode("text")
            yield (
                lines.with_row_index(LINE, offset=n_lines + 1)
                .with_columns(pl.col("text").str.strip_suffix("\r"))
                .filter(pl.col("text").str.strip_chars() != "")
            )
            n_lines += lines.height - 1  # the last one is empty, except at the end of the file


def _byte_blocks(file: BinaryIO) -> Iterator[bytes]:
    """What a file holds, in parts that end with a line; one at least."""
    rest = b""
    while data := file.read(_BLOCK_BYTES):
        end = data.rfind(b"\n") + 1
        if end:
            yield rest + data[:end]
            rest = data[end:]
        else:
            rest += data
    yield rest


def read_fields(
    path: Path,
    names: Sequence[str],
    required: int,
    meaning: str,
    where_missing: str = "check the path",
    change: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """Split the lines of a file at tabs into text columns `names`; missing fields are null.

    Lines with fewer than `required` or more than ``len(names)`` fields end in an `InputError`: one problem where all
    lines are as wrong as the first, which is a file of another kind, else one a line. `change` is applied to a part of
    the file at a time, as soon as it is read.
    """
    width = (pl.col("text").str.count_matches("\t", literal=True) + 1).alias("width")
    fields = pl.col("text").str.split_exact("\t", len(names) - 1).struct.rename_fields(list(names))
    tables, wrong_lines, n_lines = [], [], 0
    for block in line_blocks(path, where_missing):
        lines = block.with_columns(width)
        wrong_lines.append(lines.filter((pl.col("width") < required) | (pl.col("width") > len(names))))
        n_lines += lines.height
        if not wrong_lines[-1].height:
            table = lines.select(LINE, fields.alias("fields")).unnest("fields")
            tables.append(table if change is None else change(table))
    wrong = pl.concat(wrong_lines)
    same = wrong.height == n_lines > 1 and wrong["width"].n_unique() == 1
    span = str(required) if required == len(names) else f"{required} to {len(names)}"
    refuse(
        wrong.head(1) if same else wrong,
        "width",
        path,
        lambda found: (
            f"{found} tab-separated column{'s' * (found != 1)}{', as in all lines' * same}; {meaning} has {span}: "
            f"{', '.join(names)}"
        ),
    )
    return pl.concat(tables)


def read_pair_fields(path: Path) -> pl.DataFrame:
    """A file of pairs as columns ``line``, ``source`` and ``target``: TSV, or CSV by its name; a header is left out."""
    names = ("source", "target")
    lines = read_lines(path) if unpacked_name(path).endswith(".csv") else None
    if lines is None or lines["text"].str.contains("\t", literal=True).any():
        table = read_fields(path, names, len(names), "a pair")
    else:
        try:
            fields = [next(csv.reader([text])) for text in lines["text"].to_list()]
        except csv.Error as error:
            raise InputError(f"{path}: not valid CSV ({error}); fix the quotes") from None
        wrong = [len(each) != len(names) for each in fields]
        widths = lines.with_columns(width=pl.Series([len(each) for each in fields], dtype=pl.Int64)).filter(wrong)
        refuse(widths, "width", path, lambda found: f"{found} columns; a pair has 2: source, target (quote commas)")
        texts = pl.DataFrame(fields, schema=dict.fromkeys(names, pl.String), orient="row")
        table = pl.concat([lines.select(LINE), texts], how="horizontal")
    if table.height and tuple(name.strip().lower() for name in table.row(0)[1:]) == names:
        logger.warning("%s: the first line names the columns and is not a pair", path)
        return table.slice(1)
    return table


def as_ids(
    table: pl.DataFrame, columns: Mapping[str, str], path: Path, smallest: int = 0, largest: int = LARGEST_ID
) -> pl.DataFrame:
    """Turn text columns into whole numbers; anything else ends in an `InputError`.

    `columns` maps each column to what messages call its ids. Those that are numbers already are only checked.
    """
    span = "from 0 up, below 2^63" if (smallest, largest) == (0, LARGEST_ID) else f"from {smallest} to {largest}"
    texts = [name for name in columns if table.schema[name] == pl.String]
    numbers = table.with_columns(whole_numbers(pl.col(name)) for name in texts)
    for name, words in columns.items():
        usable = numbers[name].is_between(smallest, largest).fill_null(False)
        why = f"is not {'an' if words[0] in 'aeiou' else 'a'} {words}; write a whole number {span}"
        refuse(table.filter(table[name].is_not_null() & ~usable), name, path, lambda value, why=why: f"{value!r} {why}")  # type: ignore[misc]
    return numbers


def refuse(wrong: pl.DataFrame, column: str, path: Path, why: Callable[[Any], str]) -> None:
    """End in an `InputError` where there are wrong rows: the first of them, each with what `why` says of its value."""
    if wrong.height:
        rows = wrong.head(SHOWN_PROBLEMS).select(LINE, column).iter_rows()
        raise input_error([FileProblem(path, line, why(value)) for line, value in rows], wrong.height)


def whole_numbers(text: pl.Expr) -> pl.Expr:
    """Text as int64, null where it is not a whole number."""
    return text.str.strip_chars().cast(pl.Int64, strict=False)
