"""Times of a Wikibase: a date, how exactly it is known, and the calendar it is written in."""

from __future__ import annotations

import re
from calendar import isleap
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.graph.times import (
    UNKNOWN,
    Precision,
    checked_date,
    coarsen,
    encode_date,
    ends_before_begin,
    format_date,
)
from dualmatch.readers.time_column import WRONG, Codes

YEAR, MONTH, DAY = 9, 10, 11
"""``timePrecision``: 9 is a year, 10 a month, 11 a day; less is a decade, a century …, more a time of day."""
_JULIAN: Final = "Q1985786"
# Old dumps pad years to eleven digits.
_TIME: Final = re.compile(r"([+-]?)(\d{1,16})-(\d\d)-(\d\d)(?:T[\d:.]+Z?)?\Z", re.ASCII)


def time_code(time: str, precision: int, calendar: str | None = None) -> int:
    """The code of a time value; `UNKNOWN` where it is known less exactly than to the year, whatever its date.

    Days of the Julian calendar become Gregorian, as a Wikibase's own RDF has them; its months and years stay.

    >>> time_code("+00000001917-12-06T00:00:00Z", DAY) == encode_date(1917, 12, 6)
    True
    >>> time_code("+0306-07-25T00:00:00Z", DAY, "http://www.wikidata.org/entity/Q1985786") == encode_date(306, 7, 26)
    True
    >>> time_code("-13798000000-00-00T00:00:00Z", 3) == UNKNOWN
    True
    """
    if precision < YEAR:
        return UNKNOWN
    match = _TIME.match(time)
    if match is None:
        raise ValueError(f"{time[:60]!r} is not a time of a Wikibase; it writes +1815-12-10T00:00:00Z")
    year, month, day = int(match[1] + match[2]), int(match[3]), int(match[4])
    month, day = (0, 0) if precision == YEAR else (month, 0) if precision == MONTH else (month, day)
    is_julian = day and calendar is not None and calendar.endswith(_JULIAN)
    # There is no year 0: the leap years before the common era are 1, 5, 9 … BCE.
    leap_year = year + (year < 0)
    checked_date(year, month, day, time, leap_year % 4 == 0 if is_julian else isleap(leap_year))
    return encode_date(*(_gregorian(year, month, day) if is_julian else (year, month, day)))


def _gregorian(year: int, month: int, day: int) -> tuple[int, int, int]:
    """A day of the Julian calendar in the Gregorian one, by its Julian day number (Richards 2013)."""
    before_march = (14 - month) // 12
    years = year + (year < 0) + 4800 - before_march
    number = day + (153 * (month + 12 * before_march - 3) + 2) // 5 + 365 * years + years // 4 - 32083
    days = number + 32044
    centuries = (4 * days + 3) // 146097
    days -= 146097 * centuries // 4
    years = (4 * days + 3) // 1461
    days -= 1461 * years // 4
    months = (5 * days + 2) // 153
    year = 100 * centuries + years - 4800 + months // 10
    return year - (year <= 0), months + 3 - 12 * (months // 10), days - (153 * months + 2) // 5 + 1


def at_precision(codes: Codes, precision: NDArray[np.integer]) -> Codes:
    """Times cut to their precision; `UNKNOWN` where that is less than a year, which no time code can express.

    >>> cut = at_precision(np.array([encode_date(1541, 1, 1)] * 2, np.int32), np.array([YEAR, 7]))
    >>> cut.tolist() == [encode_date(1541), UNKNOWN]
    True
    """
    cut = np.where(precision == MONTH, coarsen(codes, Precision.MONTH), codes)
    cut = np.where(precision == YEAR, coarsen(codes, Precision.YEAR), cut)
    cut = np.where(codes == WRONG, WRONG, cut)
    return np.where(precision < YEAR, UNKNOWN, cut).astype(np.int32)


def reversed_intervals(table: pl.DataFrame) -> list[tuple[int, str]]:
    """Rows of ``head``, ``relation``, ``tail``, ``begin``, ``end`` that end before they begin, each in words."""
    begin, end = table["begin"].to_numpy(), table["end"].to_numpy()
    rows = np.flatnonzero((end < begin) & (end != UNKNOWN))
    rows = rows[ends_before_begin(begin[rows], end[rows])]
    names = table.select("head", "relation", "tail")
    return [
        (
            row,
            f"{' '.join(names.row(row))} ends in {format_date(int(end[row]))}, before it begins in "
            f"{format_date(int(begin[row]))}",
        )
        for row in rows.tolist()
    ]


def without_times(table: pl.DataFrame, rows: list[int]) -> pl.DataFrame:
    """With begin and end unknown in some rows."""
    if not rows:
        return table
    kept = ~pl.int_range(pl.len()).is_in(rows)
    return table.with_columns(pl.when(kept).then(pl.col("begin", "end")).otherwise(UNKNOWN).cast(pl.Int32))


def without_year_zero(codes: Codes) -> Codes:
    """RDF counts a year 0, which is 1 BCE; dates here do not: -0043 is 44 BCE."""
    bce = (codes < encode_date(1)) & (codes > WRONG)
    return np.where(bce, codes - encode_date(1), codes).astype(np.int32)
