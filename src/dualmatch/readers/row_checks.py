"""Checks of rows: names that are missing, times that are not times, intervals that end before they begin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from dualmatch.files.compressed import shown
from dualmatch.files.text_lines import LINE
from dualmatch.graph.times import UNKNOWN, ends_before_begin, format_date
from dualmatch.readers.columns import INTERVAL, POINT, ColumnUse
from dualmatch.readers.read_options import ReadOptions
from dualmatch.readers.rejected_lines import OfRow, Rejections
from dualmatch.readers.rows import Mask, Rows
from dualmatch.readers.time_column import WRONG, Codes, TimeParser
from dualmatch.readers.unread_dates import INTERVALS, UnreadDates


class RowChecks:
    """Check rows as the options say; what cannot be used is counted, or its row rejected."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.rejections = Rejections(options.on_error, options.max_errors)
        self.times = TimeParser(options.time_format)
        self.unread_dates = UnreadDates(self.times)
        self.columns: list[ColumnUse] = []
        """What columns of tables were taken for."""

    def use_column(self, path: Path, name: str, *roles: str) -> None:
        """Record what a column was taken for."""
        asked = (self.options.columns or {}).values()
        guessed = bool(roles) and not any(name == each if isinstance(each, str) else name in each for each in asked)
        self.columns.append(ColumnUse(shown(path), name, roles, guessed))

    def checked(self, rows: Rows, names: tuple[str, ...], *others: str) -> pl.DataFrame:
        """Names without white space around them, begin and end, and other columns of the rows that can be used."""
        table = rows.table.select(*others, pl.col(names).str.strip_chars())
        rejected = np.zeros(table.height, dtype=bool)
        for name in names:
            blank = (table[name].str.len_bytes().fill_null(0) == 0).to_numpy()
            self.reject(rows, blank, rejected, lambda _, name=name: f"no {name}; every fact needs one")  # type: ignore[misc]
        begin, end = self.interval(rows, rejected)
        checked = table.with_columns(begin=pl.Series(begin), end=pl.Series(end))
        return checked.filter(~rejected) if rejected.any() else checked

    def interval(self, rows: Rows, rejected: Mask) -> tuple[Codes, Codes]:
        """Begin and end of rows; what is not a time is unknown or rejects its row, as the options say."""
        unknown = np.full(rows.table.height, UNKNOWN, dtype=np.int32)
        spans = {name: self._spans(rows, name, rejected) for name in (*INTERVAL, POINT) if name in rows.table.columns}
        point = spans.get(POINT, (unknown, unknown))
        begin, end = spans.get("begin", point)[0], spans.get("end", point)[1]
        known = (begin != UNKNOWN) & (end != UNKNOWN)
        is_reversed = (end < begin) & known
        at = np.flatnonzero(is_reversed)  # few: only these are looked at closely
        is_reversed[at] = ends_before_begin(begin[at], end[at])

        def ends_early(row: int) -> str:
            first, last = (format_date(int(codes[row])) for codes in (begin, end))
            return f"ends in {last}, before it begins in {first}; fix one of the two"

        self._fail_dates(rows, INTERVALS, int(known.sum()), is_reversed, rejected, ends_early, lambda _: "")
        if len(at):
            begin, end = (np.where(is_reversed, UNKNOWN, codes).astype(np.int32) for codes in (begin, end))
        return begin, end

    def _spans(self, rows: Rows, column: str, rejected: Mask) -> tuple[Codes, Codes]:
        """The first and the last date that each text of a time column may mean."""
        given = rows.table[column]
        if given.dtype == pl.Int32:
            return given.to_numpy(), given.to_numpy()
        spans = self.times.spans(given)
        own = (use.column for use in self.columns if column in use.roles and use.file == shown(rows.path))
        name = rows.date_column or next((each for each in own if not each.isdecimal()), column)
        dates, wrong = int((spans[0] != UNKNOWN).sum()), spans[0] == WRONG
        self._fail_dates(rows, name, dates, wrong, rejected, lambda row: self.times.why_wrong(given[row]), given.item)
        for codes in spans:
            codes[wrong] = UNKNOWN
        return spans

    def _fail_dates(
        self, rows: Rows, column: str, total: int, wrong: Mask, rejected: Mask, why: OfRow, text: OfRow
    ) -> None:
        """Count dates that cannot be used, or reject their rows."""
        if self.options.on_error == "dates":
            self.unread_dates.add(column, total, *_failures(rows, wrong & ~rejected, why), text)
        else:
            self.reject(rows, wrong, rejected, why)

    def reject(self, rows: Rows, wrong: Mask, rejected: Mask, why: OfRow) -> None:
        """Reject rows that are wrong, unless they were already; `rejected` is brought up to date."""
        are_values = rows.date_column is not None  # in a table of entities a date costs itself only
        self.rejections.add(rows.path, *_failures(rows, wrong & ~rejected, why), rows.text, are_values)
        rejected |= wrong


def _failures(rows: Rows, wrong: Mask, why: OfRow) -> tuple[list[tuple[int, int | None]], OfRow]:
    """Row and line of each wrong row, and why it is wrong: where a format has no lines, with where to look."""
    at = np.flatnonzero(wrong)
    if not len(at):
        return [], why
    lines = rows.table[LINE].gather(at).to_list()
    if lines[0] is not None:
        return list(zip(at.tolist(), lines, strict=True)), why
    return [(row, None) for row in at.tolist()], lambda row: f"{rows.text(row)}: {why(row)} ({rows.place(row)})"
