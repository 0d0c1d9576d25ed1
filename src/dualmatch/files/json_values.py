"""JSON files of any layout: their values one by one, so that a long array need not fit into memory."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dualmatch.errors import InputError
from dualmatch.files.compressed import shown

HALF_CHARACTER: Final = re.compile(rb"\\u[dD][89a-fA-F]")
"""What may be half of a character, which no text has."""
_LONGEST_VALUE: Final = 1 << 28
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NEAR_END: Final = 1 << 16
"""An error this close to the end of what was read may be a value that is cut off, and not wrong."""


_decode: Final = json.JSONDecoder().raw_decode


@dataclass(frozen=True)
class JsonPlace:
    """Where a value stands: the line it begins on, and its text, unless that is one line.

    >>> JsonPlace(3, '{"a": [1,\\n 2],\\n "b": 3}').line_of("a", 1)
    4
    """

    line: int
    text: str = ""

    def line_of(self, *parts: str | int) -> int:
        """The line of a part, given by keys and numbers from 0; as far as there are such parts."""
        at = 0
        for part in parts if self.text else ():
            at = next((start for key, start in self._parts(at) if key == part), at)
        return self.line + self.text.count("\n", 0, at)

    def _parts(self, at: int) -> Iterator[tuple[str | int, int]]:
        """Keys or numbers of what the object or list at a place holds, and where each of its values begins."""
        is_object, number = self.text[at] == "{", 0
        at = self._after_space(at + 1)
        while self.text[at] not in "]}":
            key: str | int = number
            if is_object:
                key, at = _decode(self.text, at)
                at = self._after_space(self._after_space(at) + 1)
            yield key, at
            at = self._after_space(_decode(self.text, at)[1])
            at = self._after_space(at + (self.text[at] == ","))
            number += 1

    def _after_space(self, at: int) -> int:
        return _SPACE.match(self.text, at).end()  # type: ignore[union-attr]


def json_values(pieces: Iterable[bytes], path: Path) -> Iterator[tuple[JsonPlace, Any]]:
    """The elements of an array, or values one after the other, each with its place.

    JSON that is broken has no sound place to read on from: it ends in an `InputError`.

    >>> [(place.line, value) for place, value in json_values([b'[{"a": 1},', b' {"b": [2]}]'], Path("a.json"))]
    [(1, {'a': 1}), (1, {'b': [2]})]
    """
    buffer = _Buffer(pieces, path)
    is_open = False
    while buffer.skip_space():
        text, at = buffer.text, buffer.at
        if text[at] == "[" and not is_open:
            is_open = True
            buffer.move_to(at + 1)
        elif text[at] in "]," and is_open:
            is_open = text[at] == ","
            buffer.move_to(at + 1)
        else:
            try:
                value, end = _decode(text, at)
            except json.JSONDecodeError as error:
                cut_off = len(text) - error.pos < _NEAR_END or error.msg.startswith("Unterminated string")
                if cut_off and len(text) - at < _LONGEST_VALUE and buffer.read_more():
                    continue
                raise buffer.refused("not valid JSON", error.pos) from None
            except RecursionError:
                raise buffer.refused("brackets within brackets without end", at) from None
            except ValueError:  # a number of thousands of digits
                raise buffer.refused("a number too long to read", at) from None
            if end == len(text) and buffer.read_more():
                continue  # a number may be longer than what was read of it
            own_text = text[at:end]
            if HALF_CHARACTER.search(own_text.encode()):
                try:
                    json.dumps(value, ensure_ascii=False).encode()
                except UnicodeEncodeError:
                    raise buffer.refused("half a character (an unpaired surrogate)", at) from None
            yield JsonPlace(buffer.line, own_text), value
            buffer.move_to(end)
    if is_open:
        raise buffer.refused("an array that does not end", buffer.at)


class _Buffer:
    """The text around the place that was reached, and the number of its line."""

    def __init__(self, pieces: Iterable[bytes], path: Path) -> None:
        self.text, self.at, self.line = "", 0, 1
        self._pieces, self._path = iter(pieces), path
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()

    def move_to(self, place: int) -> None:
        self.line += self.text.count("\n", self.at, place)
        self.at = place

    def skip_space(self) -> bool:
        """Go to the next character that is no space; False at the end of the file."""
        while True:
            self.move_to(_SPACE.match(self.text, self.at).end())  # type: ignore[union-attr]
            if self.at < len(self.text):
                return True
            if not self.read_more():
                return False

    def read_more(self) -> bool:
        """Read as much again as there is, so that a long value costs no more than twice its length."""
        parts = [self.text[self.at :]]
        wanted = max(len(parts[0]), 1)
        while wanted > 0 and (piece := next(self._pieces, None)) is not None:
            parts.append(self._decoded(piece))
            wanted -= len(parts[-1])
        if len(parts) == 1:
            self._decoded(b"", final=True)
            return False
        self.text, self.at = "".join(parts), 0
        return True

    def refused(self, what: str, place: int) -> InputError:
        line = self.line + self.text.count("\n", self.at, place)
        column = place - self.text.rfind("\n", 0, place)
        return InputError(
            f"{shown(self._path)}:{line}: {what} from character {column} on; fetch or make the file again"
        )

    def _decoded(self, piece: bytes, final: bool = False) -> str:
        try:
            return self._decoder.decode(piece, final)
        except UnicodeDecodeError as error:
            line = self.line + self.text.count("\n", self.at) + error.object.count(b"\n", 0, error.start)
            raise InputError(f"{shown(self._path)}:{line}: not UTF-8 text; convert the file to UTF-8") from None
