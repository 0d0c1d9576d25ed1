"""Dates as people and archives write them: a text gives the first and the last date that it may mean.

ISO dates are those of `dualmatch.graph.times`. Beyond them: month names, decades and centuries, approximate dates, and
levels 0 and 1 of the Extended Date/Time Format (EDTF, part of ISO 8601-2:2019).
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from dualmatch.graph.times import UNKNOWN, checked_date, encode_date, ends_before_begin, parse_date

Span = tuple[int, int]

LONGEST: Final = 60
_LAST_OF_FOUR_DIGITS: Final = encode_date(9999, 12, 31)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH: Final = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY: Final = r"(?P<day>\d\d?)(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>\d{3,4}|\d\d?(?= ?bc))(?P<bce> ?bce?)?"
_SEASONS: Final = "2[1-4]"
_SEASON: Final = re.compile(rf"\d{{4}}-{_SEASONS}", re.ASCII)
_CALENDAR: Final = tuple(
    re.compile(pattern, re.ASCII | re.IGNORECASE)
    for pattern in (
        rf"{_DAY}\.?[ -]{_MONTH},?[ -]{_YEAR}",
        rf"{_MONTH} {_DAY},? {_YEAR}",
        rf"{_MONTH},?[ -]{_YEAR}",
        rf"(?P<year>\d{{4}})[ -]{_MONTH}(?:[ -]{_DAY})?",
        r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)",
        r"(?P<year>-?\d{1,4})\.0",  # how programs write whole numbers in a column with gaps
        rf"(?P<year>-?\d{{4}})-(?:{_SEASONS}|xx|xx-xx|uu|uu-uu)",  # or a month that is not known
        r"(?P<year>-?\d{4})-(?P<month>\d\d)-(?:xx|uu)",
    )
)
_MASKED: Final = re.compile(r"(?P<sign>-?)(?P<known>\d{1,3})(?P<masked>[xu?]{1,3})", re.ASCII | re.IGNORECASE)
_DECADE: Final = re.compile(r"(?P<first>\d{2,3}0)'?s", re.ASCII)
_ABOUT: Final = re.compile(
    r"(?:circa|ca?\.?|about|abt\.?|around|approx(?:imately|\.)?|AD|b\.|d\.|fl\.|est\.|~) ?"
    r"(?=-?\d{3}|\d+(?:st|nd|rd|th)?[. -]*[a-z]|[a-z]{3})",
    re.IGNORECASE,
)
_DOUBT: Final = re.compile(r" ?[?~%]{1,2}\Z| ?(?:AD|CE)\Z")
_YEARS: Final = re.compile(r"(\d{4}) ?[-\u2013\u2014] ?(\d{4})", re.ASCII)
_SHORT_YEARS: Final = re.compile(r"((\d\d)(\d\d)) ?[-\u2013\u2014/] ?(\d\d)", re.ASCII)
_SHORT_NUMBER: Final = re.compile(r"[+-]?\d{1,3}", re.ASCII)
_LONG_NUMBER: Final = re.compile(r"\d{5,7}", re.ASCII)
_PLAUSIBLE: Final = range(1000, 2101)
_LONGEST_SPAN: Final = 150
"""Two numbers with a hyphen are years only in this range, and so near each other: telephone numbers are not."""
_HAS_YEAR: Final = re.compile(r"\d[\dXxUu]{3}", re.ASCII)
_UNKNOWN_VALUE: Final = re.compile(r"t\d+|_:\S+|\S+/\.well-known/genid/\S+", re.ASCII)
"""How results of SPARQL queries show a value that exists but is not known."""


def parse_span(text: str) -> Span:
    """The first and the last date that a text may mean, as codes; the same code twice for an ordinary date.

    Raises a `ValueError`, in words that a user can act on, where a text is not a date.

    >>> from dualmatch.graph.times import format_date
    >>> [[format_date(code) for code in parse_span(text)] for text in ("1830s", "1 May 1833", "1985/..")]
    [['1830', '1839'], ['1833-05-01', '1833-05-01'], ['1985', '?']]
    """
    text = text.strip()
    try:
        code = parse_date(text)
        if code > _LAST_OF_FOUR_DIGITS and (day := _date(text)):  # 08330501 is no year
            return day
        if code > _LAST_OF_FOUR_DIGITS and _LONG_NUMBER.fullmatch(text):
            raise ValueError(f"{text!r} is not a date; a year has four digits, or a sign: +{text}")
    except ValueError:
        if _UNKNOWN_VALUE.fullmatch(text):
            return UNKNOWN, UNKNOWN
        span = None if len(text) > LONGEST else _interval(text) or _years(text) or _qualified(text) or _date(text)
        if span is None:
            raise
        return span
    return code, code


def _tried(part: str) -> Span | None:
    try:
        return parse_span(part)
    except ValueError:  # what is reported is the whole text
        return None


def _interval(text: str) -> Span | None:
    """``1984-06/2004-08``, ``1984/..``, ``1830-1835`` and ``1830-35``; None where a text is not an interval."""
    short = _SHORT_YEARS.fullmatch(text)
    if short and max(12, int(short[3])) < int(short[4]) and not _SEASON.fullmatch(text):  # else a month, or nothing
        text = f"{short[1]}-{short[2]}{short[4]}"
    if years := _YEARS.fullmatch(text):
        parts: list[str] = [*years.groups()]
        if not all(int(part) in _PLAUSIBLE for part in parts) or int(parts[1]) - int(parts[0]) > _LONGEST_SPAN:
            return None
    else:
        parts = [part.strip() for part in text.split("/")]
        # What has no four digits may be a month or a day: 05/2019.
        if len(parts) != 2 or not all(part in ("", "..") or _HAS_YEAR.search(part) for part in parts):
            return None
    spans = [_tried(part) for part in parts]
    if spans[0] is None or spans[1] is None:
        return None
    first, last = spans[0][0], spans[1][1]
    if ends_before_begin(np.array([first], np.int32), np.array([last], np.int32))[0]:
        raise ValueError(f"{text!r} ends before it begins")
    return first, last


def _qualified(text: str) -> Span | None:
    """``circa 1830``, ``1830?``, ``1830~``: the date without its doubt."""
    certain = _DOUBT.sub("", _ABOUT.sub("", text, count=1) if _ABOUT.match(text) else text)
    if text.endswith(("?", "~", "%")) and _SHORT_NUMBER.fullmatch(certain):  # a share, a count
        return None
    return _tried(certain) if certain and certain != text else None


def _years(text: str) -> Span | None:
    """``1830s``, ``183X``, ``18XX``, ``183?``: first and last year; ``1800s`` may be a decade or a century."""
    if decade := _DECADE.fullmatch(text):
        first = int(decade["first"])
        return encode_date(first), encode_date(first + (99 if first % 100 == 0 else 9))
    masked = _MASKED.fullmatch(text)
    if masked and ("?" not in text or len(text.lstrip("-")) == 4):
        size = 10 ** len(masked["masked"])
        first = int(masked["known"]) * size
        years = (-first - size + 1, -first) if masked["sign"] else (first, first + size - 1)
        return encode_date(years[0]), encode_date(years[1])
    return None


def _date(text: str) -> Span | None:
    """``1 May 1833``, ``May 1833``, ``18330501``, ``1833-05-XX``, ``1833-21`` (a season: the year)."""
    for pattern in _CALENDAR:
        if found := pattern.fullmatch(text):
            parts = found.groupdict()
            month = 1 + _MONTHS.index(parts["name"][:3].lower()) if parts.get("name") else int(parts.get("month") or 0)
            year = int(parts["year"]) * (-1 if parts.get("bce") else 1)
            code = checked_date(year, month, int(parts.get("day") or 0), text)
            return code, code
    return None
