"""Time codes: order, precision and what is not a date."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualmatch.graph.times import (
    MAX_YEAR,
    UNKNOWN,
    UNKNOWN_WORDS,
    Precision,
    coarsen,
    encode_date,
    ends_before_begin,
    format_date,
    parse_date,
    precision_of,
)

DAYS = st.dates().map(lambda day: (day.year, day.month, day.day))
DATES = DAYS | DAYS.map(lambda d: (*d[:2], 0)) | st.integers(-MAX_YEAR, MAX_YEAR).map(lambda year: (year, 0, 0))


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2005", (2005, 0, 0)),
        ("2005-03", (2005, 3, 0)),
        ("2005-03-01", (2005, 3, 1)),
        (" 2005-03-01 ", (2005, 3, 1)),
        ("-44", (-44, 0, 0)),
        ("-44-03-15", (-44, 3, 15)),
        ("+7", (7, 0, 0)),
        ("0", (0, 0, 0)),
        ("0000-01", (0, 1, 0)),
        ("2005-##-##", (2005, 0, 0)),
        ("2005-03-##", (2005, 3, 0)),
        ("2005-00-00", (2005, 0, 0)),
        ("2000-02-29", (2000, 2, 29)),
        ("5000000-12-31", (5_000_000, 12, 31)),
        ("-5000000", (-5_000_000, 0, 0)),
        ("2005-03-01T12:30:00Z", (2005, 3, 1)),
        ("2005-03-01 12:30:00.25", (2005, 3, 1)),
        ("2005-03-01T12:30+02:00", (2005, 3, 1)),
        ("+1541-00-00T00:00:00Z", (1541, 0, 0)),
        ("-0044-03-15T00:00:00Z", (-44, 3, 15)),
        ("2005Z", (2005, 0, 0)),
        ("2005-03+02:00", (2005, 3, 0)),
        ("44 BCE", (-44, 0, 0)),
        ("44BC", (-44, 0, 0)),
    ],
)
def test_dates_are_read(text: str, date: tuple[int, int, int]) -> None:
    assert parse_date(text) == encode_date(*date)


@pytest.mark.parametrize("word", [*sorted(UNKNOWN_WORDS), "NaN", "Present", " ~ "])
def test_words_for_unknown(word: str) -> None:
    assert parse_date(word) == UNKNOWN
    assert format_date(parse_date(word)) == "?"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("soon", "'soon' is not a date; write YYYY, YYYY-MM or YYYY-MM-DD, or -inf for unknown"),
        ("2005-3", "is not a date; write"),
        ("2005-03-01T", "is not a date; write"),
        ("2005-03-01T1:00", "is not a date; write"),
        ("2005T12:00:00", "is not a date; write"),
        ("٢٠٠٥", "is not a date; write"),
        ("-44 BCE", "a year with BCE has no sign"),
        ("0 BCE", "a year with BCE has no sign"),
        ("x" * 10**6, f"^'{'x' * 60}'… is not a date"),
        ("2005/03/01", "is not a date; write"),
        ("2005-03-01\n2006", "is not a date; write"),
        ("2005-13", "there is no month 13"),
        ("2005-02-29", "month 2 of 2005 has no day 29"),
        ("1900-02-29", "month 2 of 1900 has no day 29"),
        ("2005-04-31", "month 4 of 2005 has no day 31"),
        ("2005-##-05", "a day without a month"),
        ("2005-00-05", "a day without a month"),
        ("20050301", "years beyond 5,000,000 are not supported; write dates as YYYY-MM-DD"),
        ("-5000001", "years beyond 5,000,000 are not supported"),
        ("99999999999", "is not a date"),
    ],
)
def test_what_is_no_date_is_told_in_words(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_date(text)


@given(DATES)
def test_a_date_comes_back_as_precise_as_it_was(date: tuple[int, int, int]) -> None:
    code = encode_date(*date)
    assert np.int32(code) == code != UNKNOWN
    assert parse_date(format_date(code)) == code
    expected = Precision.DAY if date[2] else Precision.MONTH if date[1] else Precision.YEAR
    assert precision_of(np.array([code], np.int32)).tolist() == [expected]


def test_years_before_the_common_era_have_four_digits() -> None:
    assert format_date(encode_date(-44, 3, 15)) == "-0044-03-15"
    assert format_date(encode_date(44, 3)) == "0044-03"


@given(st.lists(DATES, min_size=2, max_size=2))
def test_codes_sort_like_dates(dates: list[tuple[int, int, int]]) -> None:
    one, other = dates
    assert (encode_date(*one) < encode_date(*other)) == (one < other)


@given(DATES)
def test_coarsening_drops_what_is_finer_and_nothing_else(date: tuple[int, int, int]) -> None:
    year, month, day = date
    codes = np.array([encode_date(*date), UNKNOWN], np.int32)
    assert coarsen(codes, Precision.DAY).tolist() == [encode_date(year, month, day), UNKNOWN]
    assert coarsen(codes, Precision.MONTH).tolist() == [encode_date(year, month), UNKNOWN]
    assert coarsen(codes, Precision.YEAR).tolist() == [encode_date(year), UNKNOWN]


@given(st.dates(), st.dates())
def test_days_are_reversed_where_the_calendar_says_so(begin: datetime.date, end: datetime.date) -> None:
    codes = [np.array([parse_date(day.isoformat())], np.int32) for day in (begin, end)]
    assert ends_before_begin(*codes).tolist() == [end < begin]


@pytest.mark.parametrize(
    ("begin", "end", "is_reversed"),
    [
        ("2005-03-05", "2005", False),
        ("2005-03-05", "2005-03", False),
        ("2005-03", "2005", False),
        ("2005-03-05", "2004", True),
        ("2005-03-05", "2005-02", True),
        ("2005", "2004-12-31", True),
        ("2005", "2005-01-01", False),
        ("-43", "-44-03-15", True),
        ("-44-03-15", "-44", False),
        ("2005", "-inf", False),
        ("~", "1066", False),
        ("", "", False),
    ],
)
def test_ends_compare_at_the_coarser_precision(begin: str, end: str, is_reversed: bool) -> None:
    codes = [np.array([parse_date(text)], np.int32) for text in (begin, end)]
    assert ends_before_begin(*codes).tolist() == [is_reversed]


def test_unknown_has_no_precision() -> None:
    assert precision_of(np.array([UNKNOWN], np.int32)).tolist() == [-1]
