"""Bounds for what the RDF parser is given: nesting that would overflow its stack, entities that expand without end.

The parser is native code: what it does not survive ends the process. Nesting is counted piece by piece, by tokens and
not by grammar; no data comes near these limits.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO, Final

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
        self._depth += self._deeper_in(self._before + data, data)
        if self._depth > DEEPEST:
            raise InputError(
                f"{self._name}:{self._lines + 1}: more than {DEEPEST:,} brackets, elements or triple terms within each "
                "other; no data is nested so"
            )
        self._before = data[-2:]
        self._lines += data.count(b"\n")
        return data

    def _deeper_in(self, since: bytes, data: bytes) -> int:
        """By how much the nesting grows in a piece; `since` begins with the last two bytes before it."""
        if self._format == "jsonld":
            return sum(data.count(each) for each in (b"{", b"[")) - sum(data.count(each) for each in (b"}", b"]"))
        if self._format != "rdfxml":
            return since.count(b"<<(") - since.count(b")>>")
        pairs = since[1:] if len(since) - len(data) == 2 else since
        ends = pairs.count(b"</")
        return data.count(b"<") - 2 * ends - sum(pairs.count(each) for each in (b"<!", b"<?", b"/>"))

    def _with_whole_declarations(self, data: bytes) -> bytes:
        """With as much more as it takes not to end within the declaration of an entity."""
        while b"<" in data[-len(_ENTITY) :] or _ENTITY in data[-2 * _LONGEST_ENTITY :]:
            if len(data) > 1 << 24:
                raise InputError(f"{self._name}: no RDF/XML; is its --format right?")
            more = self._file.read(_PIECE)
            if not more:
                break
            data += more
        return data

    def _check_entities(self, data: bytes) -> None:
        at = data.find(_ENTITY)
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


def is_nested_too_deep(line: bytes) -> bool:
    """Whether a line of N-Triples or N-Quads has triple terms that the parser does not survive."""
    return line.count(b"<<(") > DEEPEST
