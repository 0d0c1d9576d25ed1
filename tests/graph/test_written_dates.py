"""Dates as people write them: what each form means, and that no text is anything but a span or a refusal."""

from __future__ import annotations

import calendar
import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualmatch.graph.times import UNKNOWN, encode_date, format_date, parse_date
from dualmatch.graph.written_dates import parse_span


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("1830s", "1830", "1839"),
        ("1830's", "1830", "1839"),
        ("1800s", "1800", "1899"),
        ("183X", "1830", "1839"),
        ("18xx", "1800", "1899"),
        ("199u", "1990", "1999"),
        ("-18XX", "-1899", "-1800"),
        ("183?", "1830", "1839"),
        ("18??", "1800", "1899"),
        ("-183?", "-1839", "-1830"),
        ("1830/1831", "1830", "1831"),
        ("1984-06/2004-08", "1984-06", "2004-08"),
        ("1984?/2004~", "1984", "2004"),
        ("../1985", "?", "1985"),
        ("1985/..", "1985", "?"),
        ("1985/", "1985", "?"),
        ("/1985", "?", "1985"),
        ("183X/1850", "1830", "1850"),
        ("1830-1835", "1830", "1835"),
        ("1830 \u2013 1835", "1830", "1835"),
        ("1830-35", "1830", "1835"),
        ("1830\u201335", "1830", "1835"),
        ("1805-13", "1805", "1813"),
        ("1805\u201321", "1805", "1821"),
        ("2019/20", "2019", "2020"),
        ("c. 1830-35", "1830", "1835"),
    ],
)
def test_a_text_may_mean_several_dates(text: str, first: str, last: str) -> None:
    assert tuple(map(format_date, parse_span(text))) == (first, last)


def each(date: str, *texts: str) -> list[tuple[str, str]]:
    return [(text, date) for text in texts]


@pytest.mark.parametrize(
    ("text", "date"),
    [
        *each("1830", "circa 1830", "Circa 1830", "c. 1830", "c1830", "ca. 1830", "~1830", "about 1830"),
        *each("1830", "1830?", "1830~", "1830%", "1830 ?", "c. 1830?", "1830-XX", "1830-xx-XX", "1830-22"),
        *each("1805", "1805-21", "1805-24"),
        *each("1799", "b. 1799", "d. 1799", "fl. 1799", "est. 1799", "b.1799"),
        *each("?", "n.d.", "s.d.", "Undated", "no date"),
        *each("1805-12", "1805-12"),
        *each("2019-01-01", "01 January 2019", "1 Jan 2019", "1 Jan. 2019", "January 1, 2019", "20190101"),
        *each("2019-01-01", "1st January 2019", "Jan 1st, 2019", "01-JAN-2019", "2019 January 1"),
        *each("2019-09", "September 2019", "Sept. 2019", "sep 2019", "2019-09-XX", "about Sept 2019"),
        *each("-44", "c. 44 BC", "44 BCE?"),
        *each("1066", "AD 1066", "1066 AD", "1066 CE"),
        ("15 March 44 BC", "-0044-03-15"),
        ("20190100", "2019-01"),
        *each("1830", "1830.0", "1830??"),
        ("+12000", "+12000"),
        *each("?", "0000", "0000-00-00", "0000-00-00 00:00:00", "n/a", "-", "Living"),
        ("2005-03-01T12:30:00Z", "2005-03-01"),
        *each("?", "t123", "_:b0", "http://www.wikidata.org/.well-known/genid/0a1b", "..", "~", "../.."),
    ],
)  # fmt: skip
def test_a_text_means_one_date(text: str, date: str) -> None:
    assert tuple(map(format_date, parse_span(text))) == (date, date)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("01/02/2019", "'01/02/2019' is not a date"),
        ("05/2019", "is not a date"),
        ("2019/05", "is not a date"),
        ("1 Jan 19", "is not a date"),
        ("circa", "'circa' is not a date"),
        ("c5", "'c5' is not a date"),
        ("c. soon", "'c. soon' is not a date"),
        ("soon/1985", "'soon/1985' is not a date"),
        ("1985/1980", "'1985/1980' ends before it begins"),
        ("1835-1830", "ends before it begins"),
        ("31 February 2019", "'31 February 2019': month 2 of 2019 has no day 31"),
        ("20191301", "there is no month 13"),
        ("May", "is not a date"),
        *[(text, "is not a date") for text in ("45%", "12?", "183~", "18?", "1830.5", "0028-0836", "2345-6789")],
        ("1500-1900", "'1500-1900' is not a date"),  # 400 years: two numbers
        ("201304", "'201304' is not a date; a year has four digits, or a sign: +201304"),
        ("43466", "'43466' is not a date"),
        ("x" * 10**6, "is not a date"),
        ("c. " * 10**5 + "1830", "is not a date"),
    ],
)
def test_what_is_no_date_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        parse_span(text)
    assert len(str(caught.value)) < 200


@given(st.dates())
def test_all_ways_to_write_a_day_say_the_same(day: datetime.date) -> None:
    code = encode_date(day.year, day.month, day.day)
    month, year = calendar.month_name[day.month], f"{day.year:04d}"
    for text in (
        day.isoformat(),
        f"{day.day} {month} {year}",
        f"{month} {day.day}, {year}",
        f"{day.day:02d}-{month[:3].upper()}-{year}",
        f"{year}{day.month:02d}{day.day:02d}",
        f"circa {day.day} {month[:3]}. {year}",
        f"{day.isoformat()}?",
    ):
        assert parse_span(text) == (code, code), text


@given(st.text("0123456789XxUu-/.~?% scaBCEJan:T", max_size=24) | st.text(max_size=12))
def test_any_text_is_a_span_or_refused(text: str) -> None:
    try:
        first, last = parse_span(text)
    except ValueError:
        return
    for code in (first, last):
        assert code == UNKNOWN or parse_date(format_date(code)) == code
    assert UNKNOWN in (first, last) or first <= last or format_date(last) in format_date(first)
