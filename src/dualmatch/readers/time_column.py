"""Time columns to time codes: each distinct text is read once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.errors import InputError
from dualmatch.graph.times import UNKNOWN, UNKNOWN_WORDS, encode_date
from dualmatch.graph.written_dates import Span, parse_span
from dualmatch.readers.columns import numbered

Codes = NDArray[np.int32]

EPOCHS: Final = {"epoch": 1, "epoch-ms": 1000}
WRONG: Final = UNKNOWN + 1
"""Stands for a text that is not a time; no date has this code."""

_PLAIN_DAY: Final = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?$"
)
_ALIKE: Final = tuple(
    (re.compile(pattern, re.ASCII), formats.split(" | "))
    for pattern, formats in {
        r"-?\d{9,10}(\.\d+)?": "epoch",
        r"-?\d{12,13}(\.\d+)?": "epoch-ms",
        r"\d{1,2}\.\d{1,2}\.\d{4}": "%d.%m.%Y | %m.%d.%Y",
        r"\d{1,2}/\d{1,2}/\d{4}": "%d/%m/%Y | %m/%d/%Y",
        r"\d{1,2}-\d{1,2}-\d{4}": "%d-%m-%Y | %m-%d-%Y",
        r"\d{1,2}/\d{1,2}/\d{2}": "%d/%m/%y | %m/%d/%y",
        r"\d{1,2}/\d{4}": "%m/%Y",
        r"\d{4}/\d{1,2}": "%Y/%m",
        r"(1\d|20)\d\d(0[1-9]|1[0-2])": "%Y%m",
        r"\d{4}-\d{1,2}-\d{1,2}": "%Y-%m-%d",
        r"\d{4}/\d{1,2}/\d{1,2}": "%Y/%m/%d",
        r"\d{4}\.\d{1,2}\.\d{1,2}": "%Y.%m.%d",
    }.items()
)
"""How times are often written, and the formats that may read them, the likelier first."""
_DAY_WITH_TIME: Final = r"^\s*[-+]?[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9]"
_TIME_OF_DAY: Final = re.compile(r"(?P<space>[ T])\d{1,2}:\d\d(?P<seconds>:\d\d)?\Z", re.ASCII)
_DIRECTIVES: Final = re.compile(r"%[-_0^#]?([a-zA-Z%])")
_DATE_PARTS: Final = {"year": set("YyGcxDFs"), "month": set("mbBjUWVcxDFs"), "day": set("djuwaAcxDFs")}


class TimeParser:
    """Read times as the user writes them.

    Parameters
    ----------
    time_format:
        None for dates as `parse_span` reads them, ISO's among them; ``"epoch"`` or ``"epoch-ms"`` for seconds or
        milliseconds since 1970; otherwise a `datetime.strptime` format, which also says how exactly times are known:
        ``"%d.%m.%Y"`` to the day, ``"%m/%Y"`` to the month. What is not written like that is read as with None: in one
        table, columns may be written in different ways.

    Examples
    --------
    >>> TimeParser("%d.%m.%Y").codes(pl.Series(["01.03.2005", None])).tolist() == [encode_date(2005, 3, 1), UNKNOWN]
    True
    """

    def __init__(self, time_format: str | None = None) -> None:
        self.time_format = time_format
        self._read = parse_span if time_format is None else _reader_of(time_format)
        self._known: dict[str, Span] = {}

    def codes(self, texts: pl.Series) -> Codes:
        """(n,) codes; `UNKNOWN` for nulls and words that say so, `WRONG` where a text is not a time.

        Of a text that may mean several dates, such as ``1830s``, the first.
        """
        return self._spans(texts)[0]

    def spans(self, texts: pl.Series) -> tuple[Codes, Codes]:
        """The first and the last date that texts of a table may mean; the same array twice where they are the same.

        Years before the common era that have a time of day count as XSD's, as in results of SPARQL queries.
        """
        first, last = self._spans(texts)
        for codes in (first,) if last is first else (first, last):
            early = np.flatnonzero((codes < encode_date(1)) & (codes > WRONG))
            if len(early):
                codes[early[texts.gather(early).str.contains(_DAY_WITH_TIME).to_numpy()]] -= encode_date(1)
        return first, last

    def _spans(self, texts: pl.Series) -> tuple[Codes, Codes]:
        if not len(texts):
            codes = np.empty(0, dtype=np.int32)
            return codes, codes
        distinct, rows = numbered(texts.fill_null(""), in_order=False)
        first = _plain_days(distinct) if self.time_format is None else np.full(len(distinct), WRONG, np.int32)
        odd = np.flatnonzero(first == WRONG)
        if len(odd) == 0:
            codes = first[rows]
            return codes, codes
        spans = np.array([self._span(text) for text in distinct.gather(odd).to_list()], dtype=np.int32)
        first[odd] = spans[:, 0]
        codes = first[rows]
        if (spans[:, 0] == spans[:, 1]).all():
            return codes, codes
        last = first.copy()
        last[odd] = spans[:, 1]
        return codes, last[rows]

    def why_wrong(self, text: str) -> str:
        """Why a text is not a time, with the time format it looks like."""
        try:
            self._read(text)
        except ValueError as error:
            formats = self.formats_of([text])
            return f"{error}; or {format_hint(formats)}" if formats else str(error)
        return ""

    def formats_of(self, texts: Sequence[str]) -> list[str]:
        """Formats that read the most of the texts, and four in five, the likeliest first; none where one is set."""
        if self.time_format is not None or not texts:
            return []
        counts = {each: sum(map(_can_read(each), texts)) for text in texts for each in _formats_like(text)}
        most = max(counts.values(), default=0)
        return [each for each, count in counts.items() if count == most] if 5 * most >= 4 * len(texts) else []

    def _span(self, text: str) -> Span:
        span = self._known.get(text)
        if span is None:
            try:
                span = self._read(text)
            except ValueError:
                span = self._ordinary(text)
            self._known[text] = span
        return span

    def _ordinary(self, text: str) -> Span:
        try:
            return (WRONG, WRONG) if self.time_format is None else parse_span(text)
        except ValueError:
            return WRONG, WRONG


def format_hint(formats: Sequence[str]) -> str:
    """Which formats to try.

    >>> format_hint(["%d/%m/%Y", "%m/%d/%Y"])
    'add --time-format %d/%m/%Y, or %m/%d/%Y'
    """
    shown = [repr(each) if " " in each else each for each in formats]
    return f"add --time-format {', or '.join(shown)}"


def _formats_like(text: str) -> list[str]:
    time = _TIME_OF_DAY.search(text.strip())
    tail = "" if time is None else f"{time['space']}%H:%M{':%S' if time['seconds'] else ''}"
    day = _TIME_OF_DAY.sub("", text.strip())
    return [f"{each}{tail}" for pattern, formats in _ALIKE if pattern.fullmatch(day) for each in formats]


def _can_read(time_format: str) -> Callable[[str], bool]:
    read = _reader_of(time_format)

    def can_read(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return can_read


def _plain_days(texts: pl.Series) -> Codes:
    """Codes of ``2005-03-01`` and ``2005-03-01T12:30:00Z``, the forms big files have; `WRONG` for all others."""
    days = texts.str.extract(_PLAIN_DAY).str.to_date("%Y-%m-%d", strict=False)
    year, month, day = (
        part.cast(pl.Int32).fill_null(0).to_numpy() for part in (days.dt.year(), days.dt.month(), days.dt.day())
    )
    return np.where(days.is_not_null().to_numpy(), encode_date(year, month, day), np.int32(WRONG))


def _reader_of(time_format: str) -> Callable[[str], Span]:
    """A function from text to codes, as `parse_span` is; a ValueError, in words, where the text is not a time."""
    if time_format in EPOCHS:
        has_month = has_day = True
        meaning = f"an {time_format} time between the years 1 and 9999"
    else:
        has_month, has_day = _check_format(time_format)
        meaning = f"a time of the form {time_format}, nor -inf for unknown"

    def read(text: str) -> Span:
        text = text.strip()
        if text.lower() in UNKNOWN_WORDS:
            return UNKNOWN, UNKNOWN
        try:
            if time_format in EPOCHS:
                date = datetime.fromtimestamp(float(text) / EPOCHS[time_format], UTC)
            else:
                date = datetime.strptime(text, time_format)
        except (ValueError, OverflowError, OSError):
            raise ValueError(f"{text[:60]!r} is not {meaning}") from None
        code = encode_date(date.year, date.month if has_month else 0, date.day if has_month and has_day else 0)
        return code, code

    return read


def _check_format(time_format: str) -> tuple[bool, bool]:
    """Refuse a format without a year, or that `strptime` cannot read; whether it has a month and a day."""
    parts = set(_DIRECTIVES.findall(time_format))
    try:
        if not parts & _DATE_PARTS["year"]:
            raise ValueError("has no year")
        datetime.strptime(datetime(2005, 3, 1).strftime(time_format), time_format)
    except (ValueError, re.error) as error:
        raise InputError(f"--time-format {time_format!r}: {error}; write, for example, %d.%m.%Y or epoch") from None
    return bool(parts & _DATE_PARTS["month"]), bool(parts & _DATE_PARTS["day"])
