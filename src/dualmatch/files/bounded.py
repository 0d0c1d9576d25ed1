"""Reading with bounds: a longest line, unpacking in small steps, and an end to what unpacks without one."""

from __future__ import annotations

import bz2
import io
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final

import zstandard

from dualmatch.errors import InputError

LONGEST_LINE: Final = 1 << 26
_LEAST: Final = 1 << 25  # bytes, before it matters how well they were packed
_LARGEST_RATIO: Final = 500  # text of graphs packs to a hundredth at best, a bomb to a thousandth
_STEP: Final = 1 << 20
_PACKED_STEP: Final = 1 << 16  # a bomb shows after so much
_BLOCK: Final = 1 << 17  # a block of zstd unpacks to so much at most
_BLOCKS_AT_ONCE: Final = 8


class LongLineError(Exception):
    """A line is longer than any should be."""

    def __init__(self, line: int, longest: int) -> None:
        self.line, self.longest = line, longest


def longest_line(memory_limit: int | None) -> int:
    """How long a line may be: 64 MiB, or a sixteenth of the memory there is, since what is made of it takes more."""
    return LONGEST_LINE if memory_limit is None else min(LONGEST_LINE, memory_limit // 16)


def lines_of(file: BinaryIO, before: int = 0, longest: int = LONGEST_LINE) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not empty, with their numbers, after some that were read; none is too long."""
    number = before
    while line := file.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise LongLineError(number, longest)
        if line == b"\n":
            number += skip_empty_lines(file)
        else:
            yield number, line


def skip_empty_lines(file: BinaryIO) -> int:
    """Skip empty lines that are at hand, all at once; gives how many they were."""
    if not isinstance(file, io.BufferedReader):
        return 0
    ahead = file.peek()
    return len(file.read(len(ahead) - len(ahead.lstrip(b"\n"))))


class Counted(io.RawIOBase):
    """A file that counts what was read of it."""

    def __init__(self, file: Any) -> None:
        self._file, self.total = file, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._file.readinto(buffer) or 0
        self.total += size
        return int(size)


def is_bomb(unpacked: int, packed: int) -> bool:
    """Whether so much cannot be data that was packed to so little."""
    return unpacked > _LEAST and unpacked > _LARGEST_RATIO * packed


def bounded_pieces(pieces: Iterator[bytes], name: str, packed_bytes: Callable[[], int]) -> Iterator[bytes]:
    """Pieces of an unpacked file, which end in an `InputError` where it is a bomb."""
    total = 0
    for piece in pieces:
        total += len(piece)
        if is_bomb(total, packed_bytes()):
            raise InputError(
                f"{name}: unpacks to more than {_LARGEST_RATIO} times its size, unlike real data; unpack it yourself "
                "if you trust it"
            )
        yield piece


def gzip_pieces(file: BinaryIO) -> Iterator[bytes]:
    """What the members of a ``.gz`` file hold, a MiB at a time at most; zeros may follow a member, as on tapes."""
    data = file.read(_PACKED_STEP)
    while data:
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)  # which checks length and sum at the end of each
        while not member.eof:
            if piece := member.decompress(data, _STEP):
                yield piece
            data = member.unconsumed_tail
            if not data and len(piece) < _STEP and not member.eof and not (data := file.read(_PACKED_STEP)):
                raise EOFError("it ends in the middle of a member")
        data = member.unused_data.lstrip(b"\0")
        while not data and (more := file.read(_PACKED_STEP)):
            data = more.lstrip(b"\0")


def bzip2_pieces(file: BinaryIO) -> Iterator[bytes]:
    """What a ``.bz2`` file holds; dumps are packed as many streams, one after the other."""
    with bz2.BZ2File(file) as unpacked:
        try:
            while piece := unpacked.read(_STEP):
                yield piece
        except OSError as error:
            raise EOFError(error.strerror or str(error)) from None


def zstd_pieces(file: BinaryIO) -> Iterator[bytes]:
    """What the frames of a ``.zst`` file hold, about a MiB at a time; a cut-off frame is an error.

    The library unpacks all of what it is given. So it is given a few blocks at a time, each of which unpacks to 128 KiB
    at most (RFC 8878, 3.1.1).
    """
    while magic := file.read(4):
        if len(magic) == 4 and magic[1:] == b"\x2a\x4d\x18" and magic[0] >> 4 == 5:  # to be skipped
            _skip(file, int.from_bytes(_exactly(file, 4), "little"))
            continue
        frame = zstandard.ZstdDecompressor().decompressobj()
        descriptor = _exactly(file, 1)[0]
        is_single, has_checksum = descriptor >> 5 & 1, descriptor >> 2 & 1
        size_bytes = (is_single, 2, 4, 8)[descriptor >> 6]
        header = _exactly(file, (not is_single) + (0, 1, 2, 4)[descriptor & 3] + size_bytes)
        yield frame.decompress(magic + bytes([descriptor]) + header)
        is_last = False
        while not is_last:
            waiting: list[bytes] = []
            while len(waiting) < _BLOCKS_AT_ONCE and not is_last:
                start = _exactly(file, 3)
                number = int.from_bytes(start, "little")
                is_last, is_repeated, size = bool(number & 1), number >> 1 & 3 == 1, number >> 3
                if size > _BLOCK:
                    raise zstandard.ZstdError("a block is too large")
                waiting.append(start + _exactly(file, 1 if is_repeated else size))
            yield frame.decompress(b"".join(waiting))
        if has_checksum:
            yield frame.decompress(_exactly(file, 4))
        if not frame.eof:
            raise EOFError("it ends in the middle of a frame")


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise EOFError("it ends in the middle of a frame")
    return data


def _skip(file: BinaryIO, size: int) -> None:
    while size:
        size -= len(_exactly(file, min(size, _BLOCK)))
