"""A look at the headers of a Parquet file before polars reads it: one wrong number in them ends the process.

polars asks for as much memory as a page says it has values, and a negative number of values is a huge one. So sizes and
counts of the footer and of every page are checked against each other; the pages themselves are not read. Both are in
Thrift's compact protocol.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any, Final

from dualmatch.files.bounded import is_bomb
from dualmatch.memory import machine_bytes

_MAGIC: Final = b"PAR1"
_MOST_FIELDS: Final = 1_000_000
_BYTES_A_ROW: Final = 64
_LARGEST_PAGE: Final = 1 << 30
_MOST_ROWS_A_BYTE: Final = 64  # of the file; a fact takes a byte at the very least
_FEW_ROWS: Final = 1 << 20
_DEEPEST: Final = 32
_STRUCT: Final = 12
Fields = dict[int, Any]


def check_parquet(source: Path | bytes, memory_limit: int | None = None) -> None:
    """Raise a ValueError where the headers of a file, or of its bytes, cannot be right; an OSError as opening does.

    Nor may it hold far more than its size, as no data does, or more than the memory limit, or the machine, has room
    for.
    """
    limit = machine_bytes() if memory_limit is None else memory_limit
    if isinstance(source, bytes):
        _check(source, limit)
        return
    with source.open("rb") as file:
        if not file.read(1):
            raise ValueError("it is empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            _check(data, limit)


def _check(data: bytes | mmap.mmap, limit: int) -> None:
    try:
        _check_chunks(data, limit)
    except (IndexError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"its headers are damaged ({type(error).__name__})") from None


def _check_chunks(data: bytes | mmap.mmap, limit: int) -> None:
    size = len(data)
    if size < 12 or data[:4] != _MAGIC or data[-4:] != _MAGIC:
        raise ValueError("it does not begin and end as Parquet does")
    start = size - 8 - int.from_bytes(data[-8:-4], "little")
    if start < 4:
        raise ValueError("its footer is longer than the file")
    footer = _Compact(data, start, size - 8).struct()
    groups, rows, unpacked, texts = footer[4], 0, 0, 0
    for group in groups:
        rows += _within(group[3], 0, 2**40, "rows")
        for chunk in group[1]:
            pages, values = _check_pages(data, chunk[3], start)
            unpacked, texts = unpacked + pages, texts + values
    if rows != footer[3]:
        raise ValueError("its row groups do not add up")
    if is_bomb(unpacked, size) or is_bomb(texts // 2, size) or rows > max(_FEW_ROWS, _MOST_ROWS_A_BYTE * size):
        raise ValueError("it holds far more than its size, which real data never does")
    if max(rows * _BYTES_A_ROW, unpacked) > limit:
        raise ValueError(f"{rows:,} rows, {unpacked / 1e9:.1f} GB, do not fit into memory")


def _check_pages(data: bytes | mmap.mmap, chunk: Fields, footer: int) -> tuple[int, int]:
    """The bytes that the pages of a chunk unpack to, and those of its values, as long as its dictionary has them."""
    values = _within(chunk[5], 0, 2**40, "values")
    first = min(chunk[9], chunk.get(11) or chunk[9])
    end = _within(first + _within(chunk[7], 0, footer, "bytes"), 4, footer, "bytes")
    at, seen, total, length = _within(first, 4, end, "bytes"), 0, 0, 0
    while at < end and seen < values:
        reader = _Compact(data, at, end)
        page = reader.struct()
        at = reader.at + _within(page[3], 0, end - reader.at, "bytes of a page")
        unpacked = _within(page[2], 0, _LARGEST_PAGE, "bytes of a page")
        total += unpacked
        if 7 in page:
            length = unpacked // max(1, _within(page[7][1], 0, unpacked, "values of a dictionary"))
            continue
        header = page[5] if 5 in page else page[8]
        seen += _within(header[1], 0, values - seen, "values of a page")
        if 8 in page:
            _within(header[2], 0, header[1], "nulls of a page")
            _within(header[3], 0, header[1], "rows of a page")
            levels = _within(header[5], 0, unpacked, "levels"), _within(header[6], 0, unpacked, "levels")
            _within(sum(levels), 0, min(unpacked, page[3]), "levels")
    if seen != values:
        raise ValueError("its pages do not add up")
    return total, values * length


def _within(value: Any, low: int, high: int, what: str) -> int:
    if not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"an impossible number of {what}: {value!r}"[:100])
    return value


class _Compact:
    """Reads structs of Thrift's compact protocol, as fields by their number."""

    def __init__(self, data: bytes | mmap.mmap, at: int, end: int) -> None:
        self._data, self.at, self._end, self._left = data, at, end, _MOST_FIELDS

    def struct(self, depth: int = 0) -> Fields:
        fields: Fields = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._whole()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ValueError("it has too many columns or row groups")
        if depth > _DEEPEST:
            raise ValueError("its headers are nested too deep")
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._whole()
        if kind in (7, 8):
            length = 8 if kind == 7 else self._varint()
            self._skip(length)
            return None  # names and statistics do not matter here
        if kind in (9, 10):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            item = head & 15
            return [self._byte() if item in (1, 2) else self._value(item, depth + 1) for _ in range(count)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ValueError("its headers are damaged")  # Parquet has no maps there

    def _byte(self) -> int:
        at = self.at
        self._skip(1)
        return self._data[at]

    def _skip(self, length: int) -> None:
        if self.at + length > self._end:
            raise ValueError("its headers are cut off")
        self.at += length

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("its headers are damaged")

    def _whole(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
