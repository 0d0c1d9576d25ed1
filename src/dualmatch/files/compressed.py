"""Bytes of a file or of standard input, plain, gzip, bzip2 or zstd, in blocks of whole lines."""

from __future__ import annotations

import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

import zstandard

from dualmatch.errors import InputError
from dualmatch.files.bounded import (
    LONGEST_LINE,
    Counted,
    LongLineError,
    bounded_pieces,
    bzip2_pieces,
    gzip_pieces,
    zstd_pieces,
)

STANDARD_INPUT: Final = Path("-")
PACKED: Final = {".gz": rb"\x1f\x8b", ".zst": rb"\x28\xb5\x2f\xfd", ".bz2": rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"}
"""Extension → first bytes of packed files, as a pattern; the bytes decide, whatever a file is called."""
_UNPACKERS: Final = {".gz": gzip_pieces, ".zst": zstd_pieces, ".bz2": bzip2_pieces}
BLOCK_BYTES: Final = 1 << 26
_NOT_READ: Final = {"xz": rb"\xfd7zXZ\x00", "zip": rb"PK\x03\x04"}
_LONGEST: Final = 10


def shown(path: Path) -> str:
    """What messages call a file."""
    return "standard input" if path == STANDARD_INPUT else str(path)


def unpacked_name(path: Path) -> str:
    """The lower-case name of a file without ``.gz``, ``.bz2`` or ``.zst``.

    >>> unpacked_name(Path("facts.NT.gz"))
    'facts.nt'
    """
    return path.stem.lower() if path.suffix.lower() in PACKED else path.name.lower()


@contextmanager
def opened(path: Path, where_missing: str = "check the path") -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked on the fly; `where_missing` says what to do where there is none.

    Whatever goes wrong inside the block becomes an `InputError`.
    """
    with as_input_error(path, where_missing):
        if path == STANDARD_INPUT:
            counted = Counted(sys.stdin.buffer)
            yield _unpacked(io.BufferedReader(counted), path, lambda: counted.total)
            return
        with path.open("rb") as file:
            yield _unpacked(file, path, file.tell)


@contextmanager
def as_input_error(path: Path, where_missing: str = "check the path") -> Iterator[None]:
    """Turn what can go wrong while a file is read into an `InputError`."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{shown(path)}: no such file; {where_missing}") from None
    except (EOFError, zlib.error, zstandard.ZstdError) as error:
        raise InputError(
            f"{shown(path)}: broken or cut off, it cannot be unpacked ({error}); fetch or make it again"
        ) from None
    except LongLineError as error:
        raise InputError(
            f"{shown(path)}:{error.line}: a line of more than {error.longest >> 20} MiB; is this the right file, "
            "and its --format right?"
        ) from None
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"{shown(path)}: cannot be read ({why}); give a readable file") from None


def check_there(paths: Iterable[Path | None]) -> None:
    """Refuse files that do not exist, all at once and before anything is read."""
    missing = [path for path in dict.fromkeys(paths) if path not in (None, STANDARD_INPUT) and not os.path.exists(path)]
    if missing:
        raise InputError("\n".join(f"{path}: no such file; check the path" for path in missing))


def is_packed(path: Path) -> bool:
    """Whether the bytes of a file are packed; False where there is no file."""
    try:
        with path.open("rb") as file:
            return _packing(file.peek(_LONGEST)) is not None
    except OSError:
        return False


def _unpacked(file: io.BufferedReader, path: Path, packed_bytes: Callable[[], int]) -> BinaryIO:
    """What a file holds, refused where it unpacks to far more than any data does."""
    start = file.peek(_LONGEST)
    packing, ending = _packing(start), path.suffix.lower()
    if packing is None and ending == ".zst" and start:
        packing = ending  # its frames may begin with others, to be skipped
    if packing is not None:
        return as_file(bounded_pieces(_UNPACKERS[packing](file), shown(path), packed_bytes))
    for name, magic in _NOT_READ.items():
        if re.match(magic, start):
            raise InputError(
                f"{shown(path)}: is packed with {name}, which is not supported; unpack it, or pack it as .gz or .zst"
            )
    if ending in PACKED and start:
        raise InputError(
            f"{shown(path)}: is not compressed as its name says; rename it without {ending}, or make it again"
        )
    return file


def _packing(start: bytes) -> str | None:
    return next((ending for ending, magic in PACKED.items() if re.match(magic, start)), None)


def blocks(file: BinaryIO, size: int = BLOCK_BYTES, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    """About `size` bytes at a time, or `longest` where that is less, cut after a line break. No byte-order mark.

    A longer line comes in one piece, up to `longest`; beyond, it is an error.
    """
    size = min(size, longest)
    kept: list[bytes] = []
    first, length, lines = True, 0, 0
    while data := file.read(size):
        if first:
            data, first = data.removeprefix(b"\xef\xbb\xbf"), False
        cut = data.rfind(b"\n") + 1
        if length + (data.find(b"\n") if cut else len(data)) > longest:
            raise LongLineError(lines + 1, longest)
        if cut:
            lines += data.count(b"\n")
            yield b"".join((*kept, data[:cut]))
            kept, length = [], 0
        kept.append(data[cut:])
        length += len(data) - cut
    if rest := b"".join(kept):
        yield rest


def as_file(pieces: Iterator[bytes]) -> io.BufferedReader:
    """Pieces of bytes as a file to read from."""
    return io.BufferedReader(_Pieces(pieces), 1 << 20)


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and (piece := next(self._pieces, None)) is not None:
            self._ready = memoryview(piece)
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size
