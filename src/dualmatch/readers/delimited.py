"""CSV and TSV: tables of facts as text.

Lines without quotes are split by polars in blocks, at full speed. Where a block is not what it should be (a line with
a column too many, say), it is split again line by line, slowly, to say which. Quoted CSV goes through Python's reader.

TSV has no quotes: names are taken as they are. CSV is that of RFC 4180.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain, compress, islice, repeat
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl

from dualmatch.errors import InputError, counted
from dualmatch.files.compressed import blocks, shown
from dualmatch.files.text_lines import LINE
from dualmatch.readers.columns import NAMES, TableShape
from dualmatch.readers.facts import Collector
from dualmatch.readers.rows import Rows

ROWS_AT_ONCE: Final = 100_000
_SEPARATORS: Final = (b",", b";", b"\t", b"|")  # of CSV, the likeliest first
_SAID: Final = re.compile(rb"sep=([,;\t|])\r?\n")


def csv_separator(start: bytes) -> tuple[str, int]:
    """The separator of a CSV file by how it starts, and the length of the line in which Excel says it; mostly 0.

    >>> csv_separator(b"id;name, in full\\n"), csv_separator(b"sep=;\\nid;name\\n"), csv_separator(b"id;name\\n")
    ((',', 0), (';', 6), (';', 0))
    """
    if said := _SAID.match(start):
        return said[1].decode(), said.end()
    content = start.lstrip()
    first_line = content[: content.find(b"\n") + 1 or None]
    return next((each for each in _SEPARATORS if each in first_line), b",").decode(), 0


def read_delimited(file: BinaryIO, path: Path, collector: Collector, separator: str) -> None:
    """Collect the rows of a TSV file, or of a CSV file (with a comma as separator; semicolons are recognised).

    Lines of another width than the first are rejected.
    """
    table = _Table(path, collector, separator)
    is_csv = separator == ","
    remaining = blocks(file, longest=collector.options.longest_line)
    for block in remaining:
        if is_csv and table.shape is None:
            table.separator, length = csv_separator(block)
            block, table.number = block[length:], table.number + bool(length)
        if is_csv and b'"' in block:
            table.add_quoted(chain([block], remaining))
        else:
            table.add_block(block)
    if table.shape is not None and table.undated and not table.has_full_rows:
        raise InputError(
            f"{shown(path)}: every row has {table.shape.undated_width} columns, so there is none for a time; give "
            "--columns without begin, end and time"
        )
    if table.undated:
        words = counted(
            table.undated, "row ends before its time: an undated fact", "rows end before their time: undated facts"
        )
        collector.note(f"{shown(path)}: {words}")


@dataclass
class _Table:
    """A table that is being read; `number` is that of the next line."""

    path: Path
    collector: Collector
    separator: str
    shape: TableShape | None = None
    number: int = 1
    undated: int = 0
    """Rows that end before their times."""
    has_full_rows: bool = False

    def add_block(self, block: bytes) -> None:
        """Collect the rows of whole lines without quotes."""
        self._check_text(block, self.number)
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n").removesuffix(b"\r")
        if self.shape is None:
            start = block.rfind(b"\n", 0, len(block) - len(block.lstrip())) + 1  # behind blank lines
            block, self.number = block[start:], self.number + block.count(b"\n", 0, start)
        if self.shape is None and block and not block.isspace():
            end = block.find(b"\n") + 1 or len(block)
            first = block[:end].removesuffix(b"\n").decode()
            self.shape = self.collector.shape_of(first.split(self.separator), self.path, self.number)
            if self.shape.has_header:
                block, self.number = block[end:], self.number + 1
        if block and self.shape is not None:
            self.collector.add_table(self.rows_of_block(block, self.shape), self.shape)
            self.number += block.count(b"\n")

    def rows_of_block(self, block: bytes, shape: TableShape) -> Rows:
        lines = cache(lambda: block.decode("utf-8").removesuffix("\n").split("\n"))  # mostly not needed
        table = _split_at_once(block, self.separator, shape)
        if table is not None:
            self.has_full_rows = True
            return Rows(self.path, table.with_row_index(LINE, offset=self.number), lambda row: lines()[row])
        records = [line.split(self.separator) for line in lines()]
        numbers = range(self.number, self.number + len(records))
        return self._rows_of_records(records, numbers, shape, self.separator.join)

    def add_quoted(self, data: Iterable[bytes]) -> None:
        """Collect the rows of the rest of a CSV file, from the first block that has quotes."""
        reader = csv.reader(self._text_lines(data, self.number), delimiter=self.separator, strict=True)
        while True:
            before = reader.line_num
            try:
                records = list(islice(reader, ROWS_AT_ONCE))
            except csv.Error as error:
                line = self.number + max(reader.line_num - before - 1, 0)
                raise InputError(
                    f"{shown(self.path)}:{line}: not valid CSV up to here ({error}); fix the quotes"
                ) from None
            if not records:
                return
            # A quoted field may hold line breaks; mostly none does, and each line is a record.
            heights: Iterable[int] = repeat(1, len(records))
            if reader.line_num - before != len(records):
                heights = (1 + sum(field.count("\n") for field in record) for record in records)
            *numbers, self.number = accumulate(heights, initial=self.number)
            if self.shape is None:
                start = next((row for row, record in enumerate(records) if _is_filled(record)), None)
                if start is None:
                    continue
                self.shape = self.collector.shape_of(records[start], self.path, numbers[start])
                start += self.shape.has_header
                records, numbers = records[start:], numbers[start:]
            self.collector.add_table(self._rows_of_records(records, numbers, self.shape, self._as_csv), self.shape)

    def _rows_of_records(
        self,
        records: Sequence[Sequence[str]],
        numbers: Sequence[int],
        shape: TableShape,
        as_text: Callable[[Sequence[str]], str],
    ) -> Rows:
        """Rows of split lines: blank ones are left out, ones of another width rejected."""
        if shape.may_end_early:
            least = 1 + max(shape.places[name] for name in NAMES)
            records = [[*each, *[""] * (shape.width - len(each))] if len(each) >= least else each for each in records]
        if (short := shape.undated_width) is not None:
            missing = [""] * (shape.width - short)
            self.has_full_rows |= any(len(each) == shape.width for each in records)
            self.undated += sum(len(each) == short and _is_filled(each) for each in records)
            records = [[*each, *missing] if len(each) == short and _is_filled(each) else each for each in records]
        fits = [len(record) == shape.width for record in records]
        if not all(fits):
            given = records
            expected = f"the first line has {shape.width}"
            if short is not None:
                expected = f"rows have {shape.width}, or {short} without a time"
            self.collector.rejections.add(
                self.path,
                [(row, number) for row, number in enumerate(numbers) if not fits[row] and _is_filled(given[row])],
                lambda row: f"{len(given[row])} columns where {expected}",
                lambda row: as_text(given[row]),
            )
            records, numbers = list(compress(records, fits)), list(compress(numbers, fits))
        columns = list(zip(*records, strict=True)) or [()] * shape.width
        texts = [pl.Series(role, columns[place], dtype=pl.String) for role, place in shape.places.items()]
        table = pl.DataFrame([pl.Series(LINE, numbers, dtype=pl.UInt32), *texts])
        return Rows(self.path, table, lambda row: as_text(records[row]))

    def _check_text(self, block: bytes, number: int) -> None:
        """Refuse what is not UTF-8 text, with its line."""
        at = block.find(b"\0")
        why = "a NUL byte, which no text has; is this a table, and its --format right?"
        if number == 1 and (block[:2] in (b"\xff\xfe", b"\xfe\xff") or at in (0, 1)):
            at, why = 0, "UTF-16; save it as UTF-8"
        elif at < 0:
            try:
                block.decode("utf-8")
                return
            except UnicodeDecodeError as error:
                at, why = error.start, "not UTF-8 text; convert the file to UTF-8"
        line = number + block.count(b"\n", 0, at)
        raise InputError(f"{shown(self.path)}:{line}: {why}")

    def _text_lines(self, data: Iterable[bytes], number: int) -> Iterator[str]:
        for block in data:
            self._check_text(block, number)
            number += block.count(b"\n")
            yield from io.StringIO(block.decode("utf-8"), newline="\n")

    def _as_csv(self, record: Sequence[str]) -> str:
        line = io.StringIO()
        csv.writer(line, delimiter=self.separator, lineterminator="").writerow(record)
        return line.getvalue()


def _split_at_once(block: bytes, separator: str, shape: TableShape) -> pl.DataFrame | None:
    """The wanted columns; None where any line is blank or has another width than it should."""
    not_delimiters = bytes(range(256)).translate(None, b"\n" + separator.encode())
    delimiters = block.translate(None, not_delimiters)
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


def _is_filled(record: Sequence[str]) -> bool:
    return any(field.strip() for field in record)
