"""CSV and TSV: tables of facts as text.

Lines without quotes are split by polars in blocks, at full speed. Where a block is not what it should be (a line with
a column too many, say), it is split again line by line, slowly, to say which. Quoted CSV goes through Python's reader.

TSV has no quotes: names are taken as they are. CSV is that of RFC 4180.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl

from dualmatch.errors import InputError
from dualmatch.files.compressed import blocks, shown
from dualmatch.files.text_lines import LINE
from dualmatch.readers.columns import TableShape, table_shape
from dualmatch.readers.facts import Rows
from dualmatch.readers.rejected_lines import Rejections

Note = Callable[[str], None]
ROWS_AT_ONCE: Final = 100_000


def table_rows(
    file: BinaryIO,
    path: Path,
    separator: str,
    columns: Mapping[str, str] | None,
    rejections: Rejections,
    note: Note,
) -> Iterator[Rows]:
    """Rows of a CSV or TSV file; lines of another width than the first are rejected.

    Parameters
    ----------
    separator:
        A tab, or a comma for CSV, where semicolons are noticed.
    columns:
        Role → column name or number; guessed from the header where None.
    note:
        Told what was guessed.
    """
    number = 1
    shape: TableShape | None = None
    has_quotes = separator == ","
    remaining = blocks(file)
    for block in remaining:
        if has_quotes and shape is None:
            separator = _comma_or_semicolon(block)
        if has_quotes and b'"' in block:
            rest_of_file = chain([block], remaining)
            yield from _quoted_rows(rest_of_file, path, number, separator, shape, columns, rejections, note)
            return
        _check_text(block, path, number)
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n").removesuffix(b"\r")
        if shape is None:
            block, number = _without_blank_start(block, number)
            if not block:
                continue
            first, _, rest = block.partition(b"\n")
            shape = _told(table_shape(first.decode().split(separator), columns, shown(path)), note)
            if shape.has_header:
                block, number = rest, number + 1
        if block:
            yield _block_rows(block, path, number, separator, shape, rejections)
            number += block.count(b"\n")


def _block_rows(
    block: bytes, path: Path, number: int, separator: str, shape: TableShape, rejections: Rejections
) -> Rows:
    """Rows of a block of whole lines that begins with line `number`."""
    lines = _lines_of(block)
    table = _split_at_once(block, separator, shape)
    if table is not None:
        return Rows(path, table.with_row_index(LINE, offset=number), lambda row: lines()[row])
    records = [line.split(separator) for line in lines()]
    numbers = range(number, number + len(records))
    return _record_rows(records, numbers, path, shape, rejections, separator.join)


def _split_at_once(block: bytes, separator: str, shape: TableShape) -> pl.DataFrame | None:
    """The wanted columns; None where any line is blank or has another width than it should."""
    delimiters = block.translate(None, _other_bytes(separator))
    if not block.endswith(b"\n"):
        delimiters += b"\n"
    height = delimiters.count(b"\n")
    # Line by line: polars does not look behind the last column it is asked for.
    if shape.width == 1 or delimiters != (separator.encode() * (shape.width - 1) + b"\n") * height:
        return None
    try:
        table = pl.read_csv(
            block,
            has_header=False,
            separator=separator,
            quote_char=None,
            schema={str(place): pl.String for place in range(shape.width)},
            columns=sorted({*shape.places.values()}),
        )
    except pl.exceptions.PolarsError:
        return None
    if table.height != height:
        return None
    return table.select(pl.col(str(place)).alias(role) for role, place in shape.places.items())


@cache
def _other_bytes(separator: str) -> bytes:
    """All bytes that end neither a field nor a line."""
    return bytes(range(256)).translate(None, b"\n" + separator.encode())


def _quoted_rows(
    data: Iterable[bytes],
    path: Path,
    number: int,
    separator: str,
    shape: TableShape | None,
    columns: Mapping[str, str] | None,
    rejections: Rejections,
    note: Note,
) -> Iterator[Rows]:
    """Rows of the rest of a CSV file, from the first block that has quotes."""
    reader = csv.reader(_text_lines(data, path, number), delimiter=separator, strict=True)
    while records := _next_records(reader, path, number):
        numbers = _first_lines(records, number)
        number = numbers[-1] + 1 + sum(field.count("\n") for field in records[-1])
        if shape is None:
            start = next((row for row, record in enumerate(records) if _is_filled(record)), None)
            if start is None:
                continue
            shape = _told(table_shape(records[start], columns, shown(path)), note)
            start += shape.has_header
            records, numbers = records[start:], numbers[start:]
        yield _record_rows(records, numbers, path, shape, rejections, partial(_as_csv, separator=separator))


def _next_records(reader: Any, path: Path, number: int) -> list[list[str]]:
    before = reader.line_num
    try:
        return list(islice(reader, ROWS_AT_ONCE))
    except csv.Error as error:
        line = number + max(reader.line_num - before - 1, 0)
        raise InputError(f"{shown(path)}:{line}: no CSV up to here ({error}); mend the quotes") from None


def _first_lines(records: Sequence[Sequence[str]], number: int) -> Sequence[int]:
    """The number of the first line of each record; a quoted field may hold line breaks."""
    numbers = []
    for record in records:
        numbers.append(number)
        number += 1
        for field in record:
            if "\n" in field:
                number += field.count("\n")
    return numbers


def _record_rows(
    records: Sequence[Sequence[str]],
    numbers: Sequence[int],
    path: Path,
    shape: TableShape,
    rejections: Rejections,
    as_text: Callable[[Sequence[str]], str],
) -> Rows:
    """Rows of split lines: blank ones are left out, ones of another width rejected."""
    if any(len(record) != shape.width for record in records):
        odd = [(row, numbers[row]) for row, record in enumerate(records) if len(record) != shape.width]
        odd = [(row, number) for row, number in odd if _is_filled(records[row])]
        rejections.add(
            path,
            odd,
            lambda row: f"{len(records[row])} columns where the first line has {shape.width}",
            lambda row: as_text(records[row]),
        )
        good = [row for row, record in enumerate(records) if len(record) == shape.width]
        return _record_rows(
            [records[row] for row in good], [numbers[row] for row in good], path, shape, rejections, as_text
        )
    columns = list(zip(*records, strict=True)) or [()] * shape.width
    table = pl.DataFrame(
        [
            pl.Series(LINE, numbers, dtype=pl.UInt32),
            *(pl.Series(role, columns[place], dtype=pl.String) for role, place in shape.places.items()),
        ]
    )
    return Rows(path, table, lambda row: as_text(records[row]))


def _is_filled(record: Sequence[str]) -> bool:
    return any(field.strip() for field in record)


def _check_text(block: bytes, path: Path, number: int) -> None:
    """Refuse what is no UTF-8 text, with its line."""
    at = block.find(b"\0")
    why = "a NUL byte, which no text has; is this a table, and its --format right?"
    if at < 0:
        try:
            block.decode("utf-8")
            return
        except UnicodeDecodeError as error:
            at, why = error.start, "not UTF-8 text; convert the file to UTF-8"
    line = number + block.count(b"\n", 0, at)
    raise InputError(f"{shown(path)}:{line}: {why}")


def _text_lines(data: Iterable[bytes], path: Path, number: int) -> Iterator[str]:
    for block in data:
        _check_text(block, path, number)
        number += block.count(b"\n")
        yield from io.StringIO(block.decode("utf-8"), newline="\n")


def _without_blank_start(block: bytes, number: int) -> tuple[bytes, int]:
    while block:
        first, _, rest = block.partition(b"\n")
        if first.strip():
            break
        block, number = rest, number + 1
    return block, number


def _lines_of(block: bytes) -> Callable[[], list[str]]:
    """The lines of a block, split when first asked for: only rejected lines and odd blocks need them."""
    return cache(lambda: block.decode("utf-8").removesuffix("\n").split("\n"))


def _as_csv(record: Sequence[str], separator: str) -> str:
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="").writerow(record)
    return line.getvalue()


def _comma_or_semicolon(block: bytes) -> str:
    first = block.lstrip().partition(b"\n")[0]
    return ";" if b";" in first and b"," not in first else ","


def _told(shape: TableShape, note: Note) -> TableShape:
    if shape.note:
        note(shape.note)
    return shape
