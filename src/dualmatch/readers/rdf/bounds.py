"""Bounds for what the RDF parser is given: nesting that would overflow its stack, entities that expand without end.

The parser is native code: what it does not survive ends the process. Nesting is counted piece by piece, by tokens and
not by grammar; no data comes near these limits.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.errors import InputError
from dualmatch.files.compressed import shown

DEEPEST: Final = 1000
"""Elements, brackets or triple terms within each other."""
_PIECE: Final = 1 << 16
_ENTITY: Final = b"<!ENTITY"
_LONGEST_ENTITY: Final = 1000
_MOST_ENTITIES: Final = 1000
_DECLARED: Final = re.compile(rb"<!ENTITY\s+(?:%\s*)?[^\s\"']+\s+(?:(SYSTEM|PUBLIC)\b|\"([^\"]*)\"|'([^']*)')")
_REFERENCE: Final = re.compile(rb"&(?!#)|%")
_LARGEST_EXPANSION: Final = 1 << 28


class BoundedFile:
    """A file for the parser, refused in words where it would break it."""

    def __init__(self, file: BinaryIO, path: Path, format: str) -> None:
        self._file, self._name, self._format = file, shown(path), format
        self._ready, self._before = memoryview(b""), b""
        self._depth = self._lines = self._entities = self._longest = self._expanded = self._total = 0

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; as many as come at once where that is negative."""
        if not self._ready:
            self._ready = memoryview(self._checked())
        size = len(self._ready) if size < 0 else size
        given, self._ready = self._ready[:size], self._ready[size:]
        return bytes(given)

    def _checked(self) -> bytes:
        data = self._file.read(_PIECE)
        if self._format == "rdfxml":
            data = self._with_whole_declarations(data)
            self._check_entities(data)
        self._depth += self._deeper_in(self._before + data if self._format != "jsonld" else data, len(data))
        if self._depth > DEEPEST:
            raise InputError(
                f"{self._name}:{self._lines + 1}: more than {DEEPEST:,} brackets, elements or triple terms within each "
                "other; no data is nested so"
            )
        self._before = data[-2:]
        self._lines += data.count(b"\n")
        return data

    def _deeper_in(self, since: bytes, new: int) -> int:
        """By how much the nesting grows in a piece of `new` bytes; `since` begins with up to two bytes before it."""
        one = np.frombuffer(since, np.uint8)  # arrays compare bytes many times as fast as bytes.count finds pairs
        old = len(since) - new
        if self._format == "jsonld":
            return _how_many(one, b"{") + _how_many(one, b"[") - _how_many(one, b"}") - _how_many(one, b"]")
        if self._format != "rdfxml":
            return _how_many(one, b"<<(") - _how_many(one, b")>>")
        this, following = (one[max(old - 1, 0) :][part] for part in (slice(None, -1), slice(1, None)))
        is_tag, is_slash = this == ord("<"), following == ord("/")
        begins = np.count_nonzero(one[old:] == ord("<"))
        ends = 2 * np.count_nonzero(is_tag & is_slash) + np.count_nonzero((this == ord("/")) & (following == ord(">")))
        if b"!" in since or b"?" in since:  # hardly ever
            ends += np.count_nonzero(is_tag & ((following == ord("!")) | (following == ord("?"))))
        return int(begins - ends)

    def _with_whole_declarations(self, data: bytes) -> bytes:
        """With as much more as it takes not to end within the declaration of an entity."""
        while data.endswith(b"<") or b"<!" in data[-len(_ENTITY) :] or _ENTITY in data[-2 * _LONGEST_ENTITY :]:
            if len(data) > 1 << 24:
                raise InputError(f"{self._name}: no RDF/XML; is its --format right?")
            more = self._file.read(_PIECE)
            if not more:
                break
            data += more
        return data

    def _check_entities(self, data: bytes) -> None:
        at = data.find(_ENTITY) if data.find(b"!") >= 0 else -1  # far faster than to look for the whole
        while at >= 0:
            found = _DECLARED.match(data, at, at + 2 * _LONGEST_ENTITY)
            value = b"" if found is None else found[2] or found[3] or b""
            self._entities += 1
            is_long = found is None or len(value) > _LONGEST_ENTITY or self._entities > _MOST_ENTITIES
            if is_long or _REFERENCE.search(value):
                line = self._lines + data.count(b"\n", 0, at) + 1
                raise InputError(
                    f"{self._name}:{line}: an entity that refers to others, or is longer than {_LONGEST_ENTITY:,} "
                    "characters, can expand without end; write out what it stands for"
                )
            self._longest = max(self._longest, len(value))
            at = data.find(_ENTITY, at + 1)
        if self._longest:
            self._expanded += data.count(b"&") * self._longest
            self._total += len(data)
            if self._expanded > max(_LARGEST_EXPANSION, 100 * self._total):
                raise InputError(f"{self._name}: its entities expand to far more than it holds; write them out")


def _how_many(data: NDArray[np.uint8], token: bytes) -> int:
    """How often a token of one to three bytes occurs."""
    size = len(data) - len(token) + 1
    if size <= 0:
        return 0
    found = data[:size] == token[0]
    for place in range(1, len(token)):
        found &= data[place : place + size] == token[place]
    return int(np.count_nonzero(found))


def is_nested_too_deep(line: bytes) -> bool:
    """Whether a line of N-Triples or N-Quads has triple terms that the parser does not survive."""
    return line.count(b"<<(") > DEEPEST
