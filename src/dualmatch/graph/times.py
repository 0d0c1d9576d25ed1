"""Times: one int32 code a date, which keeps the date's precision.

A date is coded as ``year * 416 + month * 32 + day``; month 0 means "known to the year only" and day 0 "known to
the month only", so a year is never mistaken for its first of January. Codes sort like the dates they stand for
(a year before all of its months), and years before the common era are negative. Times without a calendar
("opaque" times, bare ids) are used as they are.
"""

from __future__ import annotations

import calendar
import re
from enum import IntEnum
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from dualmatch.graph.arrays import Flags, Ids, Ints

UNKNOWN: Final = int(np.iinfo(np.int32).min)
UNKNOWN_WORDS: Final = frozenset(
    {"", "-inf", "~", "inf", "+inf", "####-##-##"}
    | {"infinity", "-infinity", "..", "?", "*", "unknown", "open", "present", "now", "null", "none", "na", "nan", "nat"}
    | {"n/a", "-", "--", "living", "alive", "ongoing", "current", "n.d.", "s.d.", "undated", "no date"}
)
"""Words for an end that is unknown or still open, in upper or lower case."""

_MONTH: Final = 32
_YEAR: Final = 13 * _MONTH
MAX_YEAR: Final = 5_000_000
_DAYS: Final = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_Number = TypeVar("_Number", int, Ints)
_DATE = re.compile(
    r"(?P<year>[+-]?\d{1,9})(?:-(?P<month>\d\d|##)(?:-(?P<day>\d\d|##)(?:[T ]\d\d:?\d\d(?::?\d\d(?:[.,]\d+)?)?)?)?)?"
    r"(?:Z|[+-]\d\d:\d\d)?(?P<bce> ?BCE?)?\Z",
    re.ASCII,
)


class Precision(IntEnum):
    """How exactly a date is known."""

    YEAR = 0
    MONTH = 1
    DAY = 2


def encode_date(year: _Number, month: _Number | int = 0, day: _Number | int = 0) -> _Number:
    """The code of a date, or of columns of dates; month 0 and day 0 mean "not known".

    >>> encode_date(2005) < encode_date(2005, 1) < encode_date(2005, 1, 1) < encode_date(2006)
    True
    """
    return year * _YEAR + month * _MONTH + day


def parse_date(text: str) -> int:
    """Read a date as precisely as it is written.

    ``2005``, ``2005-03``, ``2005-03-01``, ``2005-##-##``, ``2005-00-00``, ``+1541-00-00T00:00:00Z``, ``-44`` and
    ``44 BCE`` are dates; times of day and zones are dropped; `UNKNOWN_WORDS` such as ``-inf`` or ``present`` mean that
    nothing is known, and so does a year ``0000`` without a month.

    Anything else is a `ValueError` with words a user can act on.

    >>> format_date(parse_date("2005-03"))
    '2005-03'
    """
    text = text.strip()
    if text.lower() in UNKNOWN_WORDS:
        return UNKNOWN
    match = _DATE.match(text)
    if match is None:
        raise ValueError(f"{_shown(text)} is not a date; write YYYY, YYYY-MM or YYYY-MM-DD, or -inf for unknown")
    year = int(match["year"])
    month = 0 if match["month"] in (None, "##") else int(match["month"])
    day = 0 if match["day"] in (None, "##") else int(match["day"])
    if not month and not day and match["year"].lstrip("+-") == "0000":  # what databases write for no date
        return UNKNOWN
    if match["bce"]:
        if year <= 0:
            raise ValueError(f"{_shown(text)}: a year with BCE has no sign and is not 0")
        year = -year
    return checked_date(year, month, day, text)


def checked_date(year: int, month: int, day: int, text: str, is_leap: bool | None = None) -> int:
    """The code of a date; a `ValueError` that quotes `text` where there is no such date.

    `is_leap`: whether the year has a February 29, where its number in the Gregorian calendar does not say so.
    """
    shown = _shown(text)
    if abs(year) > MAX_YEAR:
        raise ValueError(f"{shown}: years beyond {MAX_YEAR:,} are not supported; write dates as YYYY-MM-DD")
    if month > 12:
        raise ValueError(f"{shown}: there is no month {month}")
    if day and not month:
        raise ValueError(f"{shown}: a day without a month")
    if day > _DAYS[month] + (month == 2 and (calendar.isleap(year) if is_leap is None else is_leap)):
        raise ValueError(f"{shown}: month {month} of {year} has no day {day}")
    return encode_date(year, month, day)


def _shown(text: str, longest: int = 60) -> str:
    return repr(text) if len(text) <= longest else f"{text[:longest]!r}…"


def format_date(code: int) -> str:
    """The date of a code, as precise as it is known; ``?`` for unknown."""
    if code == UNKNOWN:
        return "?"
    year, rest = divmod(code, _YEAR)
    month, day = divmod(rest, _MONTH)
    if month == 0:
        return str(year) if year <= 9999 else f"+{year}"  # as `parse_span` wants it
    date = f"{'-' if year < 0 else ''}{abs(year):04d}-{month:02d}"
    return date if day == 0 else f"{date}-{day:02d}"


def precision_of(codes: Ints) -> NDArray[np.int8]:
    """The `Precision` of each code; -1 where the time is unknown."""
    rest = codes.astype(np.int64) % _YEAR
    precision = np.where(rest == 0, Precision.YEAR, np.where(rest % _MONTH == 0, Precision.MONTH, Precision.DAY))
    return np.where(codes == UNKNOWN, -1, precision).astype(np.int8)


def coarsen(codes: Ints, precision: Precision) -> Ints:
    """Each code at the given precision, or as it is where it is already coarser."""
    wide = codes.astype(np.int64)
    return np.where(codes == UNKNOWN, UNKNOWN, wide - wide % (_YEAR, _MONTH, 1)[precision]).astype(np.int32)


def contradict(first: Ints, second: Ints, opaque: bool = False) -> Flags:
    """Where two known dates differ, as precisely as both are known.

    >>> dates = [np.array([*map(parse_date, each)], np.int32) for each in (("1815-12-10", "1815"), ("1815", "1816-01"))]
    >>> contradict(*dates).tolist()
    [False, True]
    """
    level = np.minimum(precision_of(first), precision_of(second))
    step = 1 if opaque else np.array([_YEAR, _MONTH, 1])[level]
    differ: Flags = (level >= 0) & (first.astype(np.int64) // step != second.astype(np.int64) // step)
    return differ


def on_calendar(codes: NDArray[np.integer], precision: Precision) -> Ids:
    """Years since year 0, months since its January, or days since its first: differences are lengths of time.

    >>> days = on_calendar(np.array([encode_date(2004, 2, 28), encode_date(2004, 3, 1)]), Precision.DAY)
    >>> int(days[1] - days[0])
    2
    """
    year, rest = np.divmod(codes.astype(np.int64), _YEAR)
    if precision == Precision.YEAR:
        return year
    month, day = np.divmod(rest, _MONTH)
    months = 12 * year + np.maximum(month, 1) - 1
    if precision == Precision.MONTH:
        return months
    first = (months - 12 * 1970).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return first + np.maximum(day, 1) - 1


def ends_before_begin(begin: Ints, end: Ints) -> Flags:
    """Where a known end lies before a known begin, compared at the coarser precision of the two.

    >>> march, year = np.array([encode_date(2005, 3)], np.int32), np.array([encode_date(2005)], np.int32)
    >>> bool(ends_before_begin(march, year)[0])  # some time in 2005 may well be after March
    False
    """
    reversed_ = np.zeros(len(begin), dtype=bool)
    spans = np.flatnonzero(begin != end)  # most facts are points in time
    first, last = begin[spans], end[spans]
    coarser = np.minimum(precision_of(first), precision_of(last))
    for precision in Precision:
        reversed_[spans] |= (coarser == precision) & (coarsen(last, precision) < coarsen(first, precision))
    return reversed_
