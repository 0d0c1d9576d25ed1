"""Lines that cannot be used: counted and reported, or left out and kept for the user to fix."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import groupby, islice
from pathlib import Path
from typing import Final, Literal

from dualmatch.errors import SHOWN_PROBLEMS, FileProblem, InputError
from dualmatch.files.atomic import replacing
from dualmatch.files.compressed import STANDARD_INPUT, opened, shown

OnError = Literal["dates", "stop", "skip"]
OfRow = Callable[[int], str]
"""A text for the row of this number."""
DEFAULT_LIMIT: Final = 1000
LONGEST_TEXT: Final = 1000


@dataclass(frozen=True)
class Rejected:
    """A line that cannot be used, why, and its text (its first thousand characters)."""

    path: Path
    line: int | None
    why: str
    text: str

    def __str__(self) -> str:
        return str(FileProblem(Path(shown(self.path)), self.line, self.why))


class Rejections:
    """What to do about lines that cannot be used.

    Parameters
    ----------
    on_error:
        ``"stop"``, and ``"dates"``, which differs for dates only: read on to count them all, then end in an
        `InputError`. ``"skip"``: leave them out and keep them.
    limit:
        How many may be left out.

    Examples
    --------
    >>> rejections = Rejections("skip")
    >>> rejections.add(Path("facts.tsv"), [(3, 3)], lambda row: "no tail", lambda row: "Ada")
    >>> [str(rejected) for rejected in rejections.kept]
    ['facts.tsv:3: no tail']
    >>> rejections.in_words
    '1 line was left out'
    """

    def __init__(self, on_error: OnError = "dates", limit: int = DEFAULT_LIMIT) -> None:
        self.on_error, self.limit = on_error, limit
        self.total = 0
        self.values = 0
        """How many of them are values only: the rest of their line was read."""
        self.kept: list[Rejected] = []

    def add(
        self, path: Path, rows: Iterable[tuple[int, int | None]], why: OfRow, text: OfRow, are_values: bool = False
    ) -> None:
        """Reject rows given as (row, line number); `why` and `text` are called only for those that will be shown."""
        space = SHOWN_PROBLEMS if self._is_refused else max(self.limit, SHOWN_PROBLEMS)
        for row, line in rows:
            self.total += 1
            self.values += are_values
            if space > 0:
                self.kept.append(Rejected(path, line, why(row), text(row)[:LONGEST_TEXT]))
                space -= 1
        if self._is_refused:  # only the first few will be shown
            self.kept = self.in_order()[:SHOWN_PROBLEMS]

    @property
    def _is_refused(self) -> bool:
        return self.total > (self.limit if self.on_error == "skip" else 0)

    def in_order(self) -> list[Rejected]:
        """What was rejected by line, whatever was wrong with it, file after file; what has no line comes last."""
        files = {path: place for place, path in enumerate(dict.fromkeys(each.path for each in self.kept))}
        return sorted(self.kept, key=lambda each: (files[each.path], each.line is None, each.line or 0))

    @property
    def in_words(self) -> str:
        """How many lines, and values of lines that were kept, were left out."""
        counts = {"line": self.total - self.values, "value": self.values}
        parts = [f"{count:,} {noun}{'s' * (count != 1)}" for noun, count in counts.items() if count]
        return f"{' and '.join(parts)} {'was' if self.total == 1 else 'were'} left out"

    def end_of_file(self) -> None:
        """End in an `InputError` where lines were rejected and may not be left out."""
        if not self._is_refused:
            return
        lines = [str(rejected) for rejected in self.in_order()[:SHOWN_PROBLEMS]]
        more = self.total - len(lines)
        if more:
            lines.append(f"… and {more:,} more problem{'s' * (more != 1)}")
        if self.on_error == "skip":
            noun, s = "value" if self.values == self.total else "line", "s" * (self.limit != 1)
            count = f"{self.limit:,} {noun}{s}" + f" or value{s}" * (0 < self.values < self.total)
            lines.append(f"more than {count} cannot be used; fix the file or raise --max-errors")
        else:
            noun = "value" if self.values == self.total else "line"
            these, them = (f"this {noun}", "it") if self.total == 1 else (f"these {noun}s", "them")
            lines.append(f"fix {these}, or leave {them} out with --on-error skip")
        raise InputError("\n".join(lines))

    def write(self, path: Path) -> None:
        """Write what was left out: file, line, what is wrong, and the line itself, tab-separated, with a header."""
        with replacing(path) as replaced, TextIOWrapper(replaced, encoding="utf-8", newline="\n") as out:
            out.write("file\tline\tproblem\ttext\n")
            for file, group in groupby(self.in_order(), key=lambda each: each.path):
                rejected = list(group)
                texts = _texts(file, {each.line for each in rejected if each.line and not each.text})
                for each in rejected:
                    text = (each.text or texts.get(each.line, "")).replace("\r", "\\r").replace("\n", "\\n")
                    out.write(f"{shown(file)}\t{each.line or ''}\t{' '.join(each.why.split())}\t{text}\n")


def _texts(path: Path, lines: set[int]) -> dict[int | None, str]:
    """Lines of a file read again, for formats whose parser does not give them."""
    if not lines or path == STANDARD_INPUT:
        return {}
    with opened(path) as file:
        return {
            number: line.decode("utf-8", "replace").rstrip("\r\n")[:LONGEST_TEXT]
            for number, line in enumerate(islice(file, max(lines)), start=1)
            if number in lines
        }
