"""Every error a user can cause: one root, and messages that say what, where and how to fix it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SHOWN_PROBLEMS = 5
_LONGEST_LINE: Final = 500
_LONGEST_TEXT: Final = 3000
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")  # all but tab and line break


class DualMatchError(Exception):
    """Root of all errors that dualmatch raises on purpose. No message is longer than a screen, whatever it quotes."""

    def __init__(self, words: str) -> None:
        super().__init__(on_one_screen(words))


class InputError(DualMatchError):
    """What was given cannot be used; the message says where and what to do."""


class ConfigError(DualMatchError):
    """One or more options are out of range; all of them are listed at once."""


class OutputError(DualMatchError):
    """A result could not be written; what was there before is untouched, unless the message says otherwise."""


class MissingExtraError(DualMatchError):
    """A method needs an optional dependency that is not installed."""


@dataclass(frozen=True)
class FileProblem:
    """One thing wrong in one place of a file."""

    path: Path
    line: int | None
    what: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line is not None else str(self.path)
        return f"{place}: {self.what}"


def input_error(problems: Sequence[FileProblem], total: int | None = None) -> InputError:
    """Gather problems into one error: the first few in words, the rest as a count.

    >>> str(input_error([FileProblem(Path("triples_1"), 3, "two columns; a fact has three to five")]))
    'triples_1:3: two columns; a fact has three to five'
    """
    total = len(problems) if total is None else total
    lines = [str(problem) for problem in problems[:SHOWN_PROBLEMS]]
    if total > len(lines):
        lines.append(f"… and {counted(total - len(lines), 'more problem')} of this kind")
    return InputError("\n".join(lines))


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number of things in words; `many` adds an s where it is not given.

    >>> counted(1, "new fact"), counted(1200, "new fact"), counted(0, "entity", "entities")
    ('1 new fact', '1,200 new facts', '0 entities')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def on_one_screen(text: str) -> str:
    """A text without the middle of lines that are too long, and without the lines that are too many.

    >>> len(on_one_screen("triples_1:3: " + "x" * 10_000 + " is not a date"))
    500
    >>> on_one_screen("\\n".join(["x" * 400] * 20)).splitlines()[-1]
    '… and 13 lines more'
    """
    lines: list[str] = []
    length = 0
    for line in (every := text.split("\n")):
        kept = line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 153]} … {line[-150:]}"
        length += len(kept)
        if length > _LONGEST_TEXT:
            lines.append(f"… and {len(every) - len(lines):,} lines more")
            break
        lines.append(kept)
    return "\n".join(lines)


def in_brief(error: BaseException) -> str:
    """What an error of a library says, in one short line: never the file it was reading.

    >>> in_brief(KeyError("format"))
    "it holds no 'format'"
    """
    if isinstance(error, UnicodeError):
        return "it is not UTF-8 text"
    if isinstance(error, KeyError) and " " not in str(error):  # a key alone; other texts are sentences
        return f"it holds no {error}"[:200]
    listed: Any = getattr(error, "errors", None)
    if callable(listed):  # pydantic's: the first of all that is wrong
        first = listed(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg'].removeprefix('Value error, ')}"[:_LONGEST_LINE]
    first_line, _, _ = str(error).partition("\n")
    return first_line[:200] or type(error).__name__


def visible_text(text: str) -> str:
    """A text for a terminal: without control characters, which could clear it, retitle it or type into it.

    >>> visible_text("Ada\\x1b]0;root\\x07\\n")
    'Ada⟨1B⟩]0;root⟨07⟩\\n'
    """
    if text.isprintable():  # nearly always
        return text
    return _CONTROLS.sub(lambda found: f"⟨{ord(found[0]):02X}⟩", text)
