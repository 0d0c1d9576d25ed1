"""Time columns to time codes: each distinct text is read once."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.errors import InputError
from dualmatch.graph.times import UNKNOWN, UNKNOWN_WORDS, encode_date, parse_date
from dualmatch.readers.columns import numbered

Codes = NDArray[np.int32]

EPOCHS: Final = {"epoch": 1, "epoch-ms": 1000}
WRONG: Final = UNKNOWN + 1
"""Stands for a text that is no time; no date has this code."""

_PLAIN_DAY: Final = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?$"
)
_LOOKS_LIKE: Final = {
    r"-?\d{9,10}(\.\d+)?": "seconds since 1970, add --time-format epoch",
    r"-?\d{12,13}(\.\d+)?": "milliseconds since 1970, add --time-format epoch-ms",
    r"\d{8}": "a day without hyphens, add --time-format %Y%m%d",
    r"\d{1,2}\.\d{1,2}\.\d{4}": "day, month and year, add --time-format %d.%m.%Y",
    r"\d{1,2}/\d{1,2}/\d{4}": "day, month and year, add --time-format %d/%m/%Y, or %m/%d/%Y",
}
_DIRECTIVES: Final = re.compile(r"%[-_0^#]?([a-zA-Z%])")
_DATE_PARTS: Final = {"year": set("YyGcxDFs"), "month": set("mbBjUWVcxDFs"), "day": set("djuwaAcxDFs")}


class TimeParser:
    """Read times as the user writes them.

    Parameters
    ----------
    time_format:
        None for ISO dates, years and months as `parse_date` reads them; ``"epoch"`` or ``"epoch-ms"`` for seconds or
        milliseconds since 1970; otherwise a `datetime.strptime` format, which also says how exactly times are known:
        ``"%d.%m.%Y"`` to the day, ``"%m/%Y"`` to the month.

    Examples
    --------
    >>> TimeParser("%d.%m.%Y").codes(pl.Series(["01.03.2005", None])).tolist() == [encode_date(2005, 3, 1), UNKNOWN]
    True
    """

    def __init__(self, time_format: str | None = None) -> None:
        self._is_calendar = time_format is None
        self._read = parse_date if time_format is None else _reader_of(time_format)
        self._known: dict[str, int] = {}

    def codes(self, texts: pl.Series) -> Codes:
        """(n,) codes; `UNKNOWN` for nulls and words that say so, `WRONG` where a text is no time."""
        distinct, rows = numbered(texts.fill_null(""))
        codes = _plain_days(distinct) if self._is_calendar else np.full(len(distinct), WRONG, np.int32)
        odd = np.flatnonzero(codes == WRONG)
        codes[odd] = [self._code(text) for text in distinct.gather(odd).to_list()]
        return codes[rows]

    def why_wrong(self, text: str) -> str:
        """Why a text is no time, with the time format it looks like."""
        try:
            self._read(text)
        except ValueError as error:
            for pattern, words in _LOOKS_LIKE.items() if self._is_calendar else ():
                if re.fullmatch(pattern, text.strip(), re.ASCII):
                    return f"{error}; if it is {words}"
            return str(error)
        return ""

    def _code(self, text: str) -> int:
        code = self._known.get(text)
        if code is None:
            try:
                code = self._read(text)
            except ValueError:
                code = WRONG
            self._known[text] = code
        return code


def _plain_days(texts: pl.Series) -> Codes:
    """Codes of ``2005-03-01`` and ``2005-03-01T12:30:00Z``, the forms big files have; `WRONG` for all others."""
    days = texts.str.extract(_PLAIN_DAY).str.to_date("%Y-%m-%d", strict=False)
    year, month, day = (
        part.cast(pl.Int32).fill_null(0).to_numpy() for part in (days.dt.year(), days.dt.month(), days.dt.day())
    )
    return np.where(days.is_not_null().to_numpy(), encode_date(year, month, day), np.int32(WRONG))


def _reader_of(time_format: str) -> Callable[[str], int]:
    """A function from text to code; it raises a ValueError, in words, where the text is no time."""
    if time_format in EPOCHS:
        has_month = has_day = True
        meaning = f"{time_format} time between the years 1 and 9999"
    else:
        has_month, has_day = _check_format(time_format)
        meaning = f"time of the form {time_format}, nor -inf for unknown"

    def read(text: str) -> int:
        text = text.strip()
        if text.lower() in UNKNOWN_WORDS:
            return UNKNOWN
        try:
            if time_format in EPOCHS:
                date = datetime.fromtimestamp(float(text) / EPOCHS[time_format], UTC)
            else:
                date = datetime.strptime(text, time_format)
        except (ValueError, OverflowError, OSError):
            raise ValueError(f"{text[:60]!r} is no {meaning}") from None
        return encode_date(date.year, date.month if has_month else 0, date.day if has_month and has_day else 0)

    return read


def _check_format(time_format: str) -> tuple[bool, bool]:
    """Refuse a format without a year, or that `strptime` cannot read; whether it has a month and a day."""
    parts = set(_DIRECTIVES.findall(time_format))
    try:
        if not parts & _DATE_PARTS["year"]:
            raise ValueError("says nothing of the year")
        datetime.strptime(datetime(2005, 3, 1).strftime(time_format), time_format)
    except (ValueError, re.error) as error:
        raise InputError(f"--time-format {time_format!r}: {error}; write, for example, %d.%m.%Y or epoch") from None
    return bool(parts & _DATE_PARTS["month"]), bool(parts & _DATE_PARTS["day"])
