"""Dates that cannot be used: each costs its date only, as long as they are few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import polars as pl

from dualmatch.errors import SHOWN_PROBLEMS, FileProblem, InputError
from dualmatch.files.compressed import shown
from dualmatch.readers.rejected_lines import OfRow
from dualmatch.readers.time_column import WRONG, TimeParser, format_hint
from dualmatch.readers.usual_names import columns_option

FEWEST: Final = 5
"""Where more than one date in so many cannot be used, the column is written in another form than expected."""
INTERVALS: Final = "intervals"
"""In place of a column's name: begin and end together."""
NOT_A_DATE, REVERSED = "dates that cannot be read", "reversed intervals"
SEPARATORS: Final = ("|", ";")
"""What often stands between the values of a cell; a comma is part of too many names."""
_KEPT_TEXTS: Final = 100


@dataclass
class _Tally:
    total: int = 0
    failed: int = 0
    first: list[tuple[int | None, str]] = field(default_factory=list)  # line, why
    texts: list[str] = field(default_factory=list)

    @property
    def are_many(self) -> bool:
        return self.failed * FEWEST > self.total


class UnreadDates:
    """Count the dates of a file that cannot be used, by column.

    >>> unread = UnreadDates(TimeParser())
    >>> unread.add("born", 9, [(3, 4)], lambda row: "month 2 of 1987 has no day 30", lambda row: "1987-02-30")
    >>> unread.end_of_file(Path("a.csv"))
    ['a.csv: 1 of 9 dates cannot be read and is unknown; line 4: month 2 of 1987 has no day 30']
    """

    def __init__(self, times: TimeParser, can_skip: bool = True) -> None:
        self._times, self._can_skip = times, can_skip
        self._tallies: dict[str, _Tally] = {}
        self.counts: Counter[str] = Counter()
        """How many of the files read so far cannot be used: dates, and intervals."""
        self.guessed: set[str] = set()
        """Columns of which only their name or their values say that they hold dates."""
        self.may_be_lists: set[str] = set()
        """Columns whose cells could hold several dates, if ``--list-separator`` said so."""

    @property
    def total(self) -> int:
        """How many dates of the file that is being read cannot be used."""
        return sum(tally.failed for tally in self._tallies.values())

    def add(self, column: str, total: int, rows: Iterable[tuple[int, int | None]], why: OfRow, text: OfRow) -> None:
        """Count the dates of a column, or of `INTERVALS`, and those of rows (row, line) that cannot be used.

        `why` is called for the first few only; `text` gives the date as it is written.
        """
        tally = self._tallies.setdefault(column, _Tally())
        tally.total += total
        for row, line in rows:
            tally.failed += 1
            if len(tally.first) < SHOWN_PROBLEMS:
                tally.first.append((line, why(row)))
            if len(tally.texts) < _KEPT_TEXTS:
                tally.texts.append(text(row))

    def end_of_file(self, path: Path) -> list[str]:
        """What to report of a file that was read; an `InputError` where a column has too many."""
        failed = {name: tally for name, tally in self._tallies.items() if tally.failed}
        self._tallies = {}
        refusals = [
            line for name, tally in failed.items() if tally.are_many for line in self._refusal(name, tally, path)
        ]
        if refusals:
            raise InputError("\n".join(refusals))
        for name, tally in failed.items():
            self.counts[REVERSED if name == INTERVALS else NOT_A_DATE] += tally.failed
        intervals = failed.pop(INTERVALS, None)
        notes = [_note("dates", "cannot be read and is", "cannot be read and are", failed, path)] if failed else []
        if intervals:
            one, many = "ends before it begins and is", "end before they begin and are"
            notes.append(_note(INTERVALS, one, many, {INTERVALS: intervals}, path))
        return notes

    def _refusal(self, name: str, tally: _Tally, path: Path) -> list[str]:
        lines = [str(FileProblem(Path(shown(path)), line, why)) for line, why in tally.first]
        more = tally.failed - len(lines)
        if more:
            lines.append(f"… and {more:,} more problem{'s' * (more != 1)}")
        count = f"{tally.failed:,} of {tally.total:,}"
        if name == INTERVALS:
            return [
                *lines,
                f"{count} intervals end before they begin; is begin the end, and end the begin? Or leave "
                "them out with --on-error skip",
            ]
        separator = dates_separator(tally.texts, self._times) if name in self.may_be_lists else None
        if separator is not None:
            option = f"--list-separator '{separator}'"
            return [*lines, f"{count} dates in {name!r} cannot be read; cells hold several: add {option}"]
        formats = self._times.formats_of(tally.texts)
        hint = format_hint(formats) if formats else "fix them, or say how they are written with --time-format"
        if self._can_skip and not formats:
            hint += "; or leave them out with --on-error skip"
        if name in self.guessed and not formats:
            hint += f"; if it holds no dates: {columns_option([('text', name)])}"
        return [*lines, f"{count} dates in {name!r} cannot be read; {hint}"]


def dates_separator(texts: Sequence[str], times: TimeParser) -> str | None:
    """What stands between the dates of texts that are lists of them, four in five at least; None where they are not.

    >>> dates_separator(["1830; 1841-05", "1835;1836"], TimeParser())
    ';'
    """
    for separator in SEPARATORS:
        lists = [text for text in texts if separator in text]
        if lists and len(lists) * FEWEST >= len(texts) * (FEWEST - 1):
            parts = pl.Series([part.strip() for text in lists for part in text.split(separator)])
            if (times.codes(parts) == WRONG).sum() * FEWEST <= len(parts):
                return separator
    return None


def _note(noun: str, one: str, many: str, tallies: dict[str, _Tally], path: Path) -> str:
    failed, total = (sum(getattr(each, part) for each in tallies.values()) for part in ("failed", "total"))
    columns = f" ({', '.join(f'{name} {each.failed:,}' for name, each in tallies.items())})" if len(tallies) > 1 else ""
    line, why = next(iter(tallies.values())).first[0]
    first = why if line is None else f"line {line}: {why}"
    return f"{shown(path)}: {failed:,} of {total:,} {noun} {one if failed == 1 else many} unknown{columns}; {first}"
