"""Bounds for what the RDF parser is given: nesting that would overflow its stack, entities that expand without end.

The parser is native code: what it does not survive ends the process. Nesting is counted piece by piece, by tokens and
not by grammar; no data comes near these limits.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from dualmatch.errors import InputError
from dualmatch.files.compressed import shown

DEEPEST: Final = 1000
"""Elements, brackets or triple terms within each other."""
_PIECE: Final = 1 << 16
_LONGEST_NAME: Final = 1 << 20
_LAST_MARK: Final = re.compile(rb"[\s\"'][^\s\"']*\Z")
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
        self._ready, self._nesting = memoryview(b""), _NESTINGS.get(format, _TripleTerms)()
        self._has_markup = False  # of entities, which would be counted where they are declared
        self._lines = self._entities = self._longest = self._expanded = self._total = self._name_bytes = 0
        self._before = b""

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; as many as come at once where that is negative."""
        if not self._ready:
            self._ready = memoryview(self._checked())
        size = len(self._ready) if size < 0 else size
        given, self._ready = self._ready[:size], self._ready[size:]
        return bytes(given)

    def _checked(self) -> bytes:
        data = self._file.read(_PIECE)
        if self._format in _HAS_TERMS and data and not data.endswith(b"\n"):
            data += self._file.readline(_PIECE)  # no comment and no IRI is cut
            self._check_name(data)
        if self._format == "rdfxml":
            data = self._with_whole_declarations(data)
            self._check_entities(data)
        if self._nesting.deepest_in(data) > DEEPEST:
            raise InputError(
                f"{self._name}:{self._lines + 1}: more than {DEEPEST:,} brackets, elements or triple terms within each "
                "other; real data is not nested that deep"
            )
        if not data and isinstance(self._nesting, _Elements) and self._nesting.is_open() and not self._has_markup:
            raise InputError(  # the parser would take what there is as all
                f"{self._name}:{self._lines + 1}: ends within an element, as if cut off; fetch or make the file again"
            )
        self._lines += data.count(b"\n")
        return data

    def _check_name(self, data: bytes) -> None:
        """Refuse a name without end, which the parser begins anew with every piece; texts in quotes it does not."""
        if b" " in data or b"\n" in data or _LAST_MARK.search(data):
            self._name_bytes, self._before = 0, data
            return
        mark = _LAST_MARK.search(self._before)
        self._name_bytes += len(data)
        if self._name_bytes > _LONGEST_NAME and (mark is None or mark[0][:1].isspace()):
            raise InputError(
                f"{self._name}:{self._lines + 1}: a name of more than {_LONGEST_NAME >> 20} MiB; is this the right "
                "file, and its --format right?"
            )

    def _with_whole_declarations(self, data: bytes) -> bytes:
        """With as much more as it takes not to end within the declaration of an entity."""
        while data.endswith(b"<") or b"<!" in data[-len(_ENTITY) :] or _ENTITY in data[-2 * _LONGEST_ENTITY :]:
            if len(data) > 1 << 24:
                raise InputError(f"{self._name}: not valid RDF/XML; is its --format right?")
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
            self._has_markup |= b"<" in value
            at = data.find(_ENTITY, at + 1)
        if self._longest:
            self._expanded += data.count(b"&") * self._longest
            self._total += len(data)
            if self._expanded > max(_LARGEST_EXPANSION, 100 * self._total):
                raise InputError(f"{self._name}: its entities expand to far more than it holds; write them out")


_QUOTE: Final = 2
_JSON: Final = np.zeros(256, np.int8)  # what a byte of JSON means for its nesting
_JSON[list(b'{["}]')] = [1, 1, _QUOTE, -1, -1]


class _Nesting(Protocol):
    def deepest_in(self, data: bytes) -> int:
        """How deep the next piece goes."""
        ...


class _Brackets:
    """Nesting of JSON: brackets outside strings."""

    def __init__(self) -> None:
        self._depth, self._in_string, self._escaped = 0, 0, False

    def deepest_in(self, data: bytes) -> int:
        if self._escaped:
            data, self._escaped = data[1:], False
        if b"\\" in data:
            data = re.sub(rb"\\.", b"", data, flags=re.DOTALL)
            if data.endswith(b"\\"):
                data, self._escaped = data[:-1], True
        kind = _JSON[np.frombuffer(data, np.uint8)]
        kind = kind[kind != 0]
        if not len(kind):
            return self._depth
        is_quote = kind == _QUOTE
        inside = (np.cumsum(is_quote) + self._in_string) & 1
        self._in_string = int(inside[-1])
        depth = self._depth + np.cumsum(np.where((inside == 1) | is_quote, 0, kind))
        self._depth = max(int(depth[-1]), 0)
        return int(depth.max())


class _Tokens(ABC):
    """Nesting of what begins and ends with tokens, in a text whose comments are left out."""

    def __init__(self) -> None:
        self._depth, self._before = 0, b""

    def deepest_in(self, data: bytes) -> int:
        """How deep the next piece goes. It never goes below nothing: what ends more than began hides nothing."""
        text = self._before + self._without_comments(data)
        cut = max(len(text) - 2, 0)  # a token may begin in the last two bytes
        one, self._before = np.frombuffer(text, np.uint8), text[cut:]
        place, step = self._steps(one, cut)
        if not len(step):
            return self._depth
        order = np.argsort(place, kind="stable")
        walk = self._depth + np.cumsum(step[order])
        low = np.minimum(np.minimum.accumulate(walk), 0)
        self._depth = int(walk[-1] - low[-1])
        return int((walk - low).max())

    @abstractmethod
    def _without_comments(self, data: bytes) -> bytes: ...

    @abstractmethod
    def _steps(self, one: NDArray[np.uint8], end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where something begins (1) or ends (-1), before some place."""


class _TripleTerms(_Tokens):
    """Triple terms of Turtle and TriG."""

    _IGNORED: Final = re.compile(rb"<(?!\()[^<>\s]*>|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|#[^\n]*")

    def __init__(self) -> None:
        super().__init__()
        self._last = b"\n"

    def _without_comments(self, data: bytes) -> bytes:
        may_hide = b"#" in data and (self._depth > 0 or b"<<(" in data) and not _are_in_iris(self._last + data)
        self._last = data[-1:]
        return self._IGNORED.sub(b"", data) if may_hide else data

    def _steps(self, one: NDArray[np.uint8], end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        begins, ends = (np.flatnonzero(_at(one, token)[:end]) for token in (b"<<(", b")>>"))
        return np.append(begins, ends), np.repeat([1, -1], [len(begins), len(ends)])


_DELIMITS: Final = np.zeros(256, bool)  # what no IRI holds
_DELIMITS[list(b"<>\"' \t\r\n")] = True


def _are_in_iris(data: bytes) -> bool:
    """Whether every ``#`` is part of an IRI, so that there is no comment; far faster than to leave out comments."""
    one = np.frombuffer(data, np.uint8)
    hashes, marks = np.flatnonzero(one == ord("#")), np.flatnonzero(_DELIMITS[one])
    after = np.searchsorted(marks, hashes)
    if not after[0] or after[-1] == len(marks):
        return False
    begin, end = marks[after - 1], marks[after]
    are_brackets = (one[begin] == ord("<")) & (one[end] == ord(">"))
    # A comment may follow "<<" and "<<(".
    alone = (one[begin + 1] != ord("(")) & (one[np.maximum(begin - 1, 0)] != ord("<")) & (begin > 0)
    return bool((are_brackets & alone).all())


class _Elements(_Tokens):
    """Elements of XML."""

    _IGNORED: Final = re.compile(rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL)
    _ENDS: Final = {b"<!--": b"-->", b"<![C": b"]]>", b"<?": b"?>"}
    _AFTER_ITS_END: Final = re.compile(rb"/>[^<>]*>")  # perhaps an attribute that holds the end of an element
    _VALUE: Final = re.compile(rb"\"[^\"<]*\"|'[^'<]*'")

    def __init__(self) -> None:
        super().__init__()
        self._inside = b""  # the end of the comment, CDATA or instruction that the last piece ended in
        self._tail = b""

    def is_open(self) -> bool:
        """Whether some element has not ended, at the end of the file."""
        self.deepest_in(b"  ")  # for what begins in the last two bytes
        return self._depth > 0

    def _without_comments(self, data: bytes) -> bytes:
        if self._inside:
            data = self._tail + data
            at = data.find(self._inside)
            if at < 0:
                self._tail = data[-2:]
                return b""
            data, self._inside = data[at + len(self._inside) :], b""
        if b"<!" in data or b"<?" in data:
            data = self._IGNORED.sub(self._ignored, data)
        return self._VALUE.sub(b"", data) if self._AFTER_ITS_END.search(data) else data

    def _ignored(self, found: re.Match[bytes]) -> bytes:
        text = found[0]
        end = next(end for begin, end in self._ENDS.items() if text.startswith(begin))
        if not text.endswith(end) or len(text) < len(end) + 2:
            self._inside, self._tail = end, text[-2:]
        return b""

    def _steps(self, one: NDArray[np.uint8], end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        slash = one == ord("/")
        tag, after = _at(one, b"<")[:end], np.append(one, [0, 0])[1 : end + 1]
        is_end = after == ord("/")
        other = (after == ord("!")) | (after == ord("?"))  # a declaration
        begins, ends = np.flatnonzero(tag & ~is_end & ~other), np.flatnonzero(tag & is_end)
        closed = np.flatnonzero(slash[:end] & (after == ord(">")))
        sizes = [len(begins), len(ends) + len(closed)]
        return np.concatenate([begins, ends, closed]), np.repeat([1, -1], sizes)


_HAS_TERMS: Final = ("turtle", "trig")
_NESTINGS: Final[dict[str, Callable[[], _Nesting]]] = {
    "jsonld": _Brackets,
    "rdfxml": _Elements,
    **dict.fromkeys(_HAS_TERMS, _TripleTerms),
}


def _at(data: NDArray[np.uint8], token: bytes) -> NDArray[np.bool_]:
    """Where a token of one to three bytes begins: (n_bytes,)."""
    found: NDArray[np.bool_] = data == token[0]
    for place in range(1, len(token)):
        found[: len(data) - place] &= data[place:] == token[place]
        found[max(len(data) - place, 0) :] = False
    return found


def is_nested_too_deep(line: bytes) -> bool:
    """Whether a line of N-Triples or N-Quads has triple terms that the parser does not survive."""
    return line.count(b"<<(") > DEEPEST
