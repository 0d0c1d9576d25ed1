"""Bytes of a file or of standard input, plain, gzip or zstd, in blocks of whole lines."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

import zstandard

from dualmatch.errors import InputError

STANDARD_INPUT: Final = Path("-")
PACKED: Final = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}
"""Extension → first bytes of packed files; the bytes decide, whatever a file is called."""
BLOCK_BYTES: Final = 1 << 26
_NOT_READ: Final = {"bzip2": rb"BZh[1-9]1AY&SY", "xz": rb"\xfd7zXZ\x00", "zip": rb"PK\x03\x04"}
_LONGEST: Final = 10


def shown(path: Path) -> str:
    """What messages call a file."""
    return "standard input" if path == STANDARD_INPUT else str(path)


def unpacked_name(path: Path) -> str:
    """The lower-case name of a file without ``.gz`` or ``.zst``.

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
            standard: Any = sys.stdin.buffer
            yield _unpacked(standard if isinstance(standard, io.BufferedReader) else io.BufferedReader(standard), path)
            return
        with path.open("rb") as file:
            yield _unpacked(file, path)


@contextmanager
def as_input_error(path: Path, where_missing: str = "check the path") -> Iterator[None]:
    """Turn what can go wrong while a file is read into an `InputError`."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{shown(path)}: no such file; {where_missing}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise InputError(
            f"{shown(path)}: broken or cut off, it cannot be unpacked ({error}); fetch or make it again"
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


def _unpacked(file: io.BufferedReader, path: Path) -> BinaryIO:
    start = file.peek(_LONGEST)
    packing, ending = _packing(start), path.suffix.lower()
    if packing == ".gz":
        return gzip.open(file)  # type: ignore[return-value]
    if packing == ".zst" or (ending == ".zst" and start):
        return io.BufferedReader(_Pieces(_zstd_pieces(file)), 1 << 20)
    for name, magic in _NOT_READ.items():
        if re.match(magic, start):
            raise InputError(
                f"{shown(path)}: is packed with {name}, which is not read; unpack it, or pack it as .gz or .zst"
            )
    if ending == ".gz" and start:
        raise InputError(f"{shown(path)}: is not packed as its name says; leave the .gz out of it, or make it again")
    return file


def _packing(start: bytes) -> str | None:
    return next((ending for ending, magic in PACKED.items() if start.startswith(magic)), None)


def blocks(file: BinaryIO, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """About `size` bytes at a time, cut after a line break; a longer line comes in one piece. No byte-order mark."""
    kept: list[bytes] = []
    first = True
    while data := file.read(size):
        if first:
            data, first = data.removeprefix(b"\xef\xbb\xbf"), False
        cut = data.rfind(b"\n") + 1
        if cut:
            yield b"".join((*kept, data[:cut]))
            kept = []
        kept.append(data[cut:])
    if rest := b"".join(kept):
        yield rest


def _zstd_pieces(file: BinaryIO) -> Iterator[bytes]:
    """What the frames of a ``.zst`` file hold; unlike in the library's own reader, a cut-off frame is an error."""
    frame = None
    while packed := file.read(1 << 20):
        while packed:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(packed)
            packed, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    if frame is not None:
        raise EOFError("it ends in the middle of a frame")


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
