"""Bytes of a file, whatever it is packed in: plain, ``.gz``, ``.zst`` or standard input, in blocks of whole lines."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

import zstandard

from dualmatch.errors import InputError

STANDARD_INPUT: Final = Path("-")
PACKED: Final = (".gz", ".zst")
BLOCK_BYTES: Final = 1 << 26


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
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file for reading, unpacked on the fly; what goes wrong inside the block ends in an `InputError`."""
    with _in_words(path):
        if path == STANDARD_INPUT:
            yield sys.stdin.buffer
            return
        with path.open("rb") as file:
            if path.suffix.lower() == ".gz":
                with gzip.open(file) as unpacked:
                    yield unpacked  # type: ignore[misc]
            elif path.suffix.lower() == ".zst":
                yield io.BufferedReader(_ZstdFile(file), 1 << 20)
            else:
                yield file


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


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    broken = f"{shown(path)}: broken or cut off, it cannot be unpacked"
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{shown(path)}: no such file; check the path") from None
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise InputError(f"{broken} ({error}); fetch or make it again") from None
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"{shown(path)}: cannot be read ({why}); give a readable file") from None


class _ZstdFile(io.RawIOBase):
    """Frames of a ``.zst`` file, one after the other; unlike the library's own reader, a cut-off frame is an error."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._within_frame = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            packed = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
                self._within_frame = False
            packed = packed or self._file.read(1 << 20)
            if not packed:
                if self._within_frame:
                    raise EOFError("it ends in the middle of a frame")
                return 0
            self._within_frame = True
            self._ready = memoryview(self._frame.decompress(packed))
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size
