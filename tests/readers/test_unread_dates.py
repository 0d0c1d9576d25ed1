"""A date that cannot be used costs its date only; too many of them, and the file is refused with what to do."""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualmatch import InputError
from dualmatch.graph.times import format_date
from dualmatch.readers.read import Reading, read
from dualmatch.readers.read_options import ReadOptions


def reading(path: Path, rows: list[str], header: str = "head,relation,tail,begin,end", **options: object) -> Reading:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return read([path], ReadOptions(**options))  # type: ignore[arg-type]


def intervals(read_: Reading) -> list[tuple[str, str]]:
    graph = read_.graph
    return [(format_date(begin), format_date(end)) for begin, end in zip(graph.begin, graph.end, strict=True)]


def sound(count: int) -> list[str]:
    return [f"a,r,b{row},1900-0{1 + row % 9}-01,1901" for row in range(count)]


def test_an_impossible_date_costs_its_date_only(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    found = reading(path, [*sound(20), "a,r,c,1987-02-30,1990", "a,r,d,1987,soon"])
    assert intervals(found)[-2:] == [("?", "1990"), ("1987", "?")]
    assert found.notes[1:] == (
        f"{path}: 2 of 44 dates cannot be read and are unknown (begin 1, end 1); line 22: '1987-02-30': month 2 of "
        "1987 has no day 30",
    )
    assert found.rejections.total == 0


def test_a_reversed_interval_costs_its_dates_only(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    found = reading(path, [*sound(9), "a,r,c,1990,1987"])
    assert intervals(found)[-1] == ("?", "?")
    assert found.notes[1:] == (
        f"{path}: 1 of 10 intervals ends before it begins and is unknown; line 11: ends in 1987, before it begins "
        "in 1990; fix one of the two",
    )


@pytest.mark.parametrize("row", ["a,r,c,1987-02-30,1990", "a,r,c,1990,1987"])
def test_stop_refuses_and_skip_leaves_out(tmp_path: Path, row: str) -> None:
    path = tmp_path / "a.csv"
    with pytest.raises(InputError, match=r"a\.csv:22: .*\nfix this line, or leave it out with --on-error skip$"):
        reading(path, [*sound(20), row], on_error="stop")
    skipped = reading(path, [*sound(20), row], on_error="skip")
    assert (skipped.graph.n_facts, skipped.rejections.total) == (20, 1)


def test_more_than_a_fifth_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    assert reading(path, [*sound(4), "a,r,c,soon,"]).graph.n_facts == 5
    with pytest.raises(InputError) as caught:
        reading(path, [*sound(20), *["a,r,c,13/02/1987,"] * 6])
    said = str(caught.value).splitlines()
    assert [line.split(": ")[0] for line in said[:5]] == [f"{path}:{line}" for line in range(22, 27)]
    assert said[5:] == ["… and 1 more problem", "6 of 26 dates in 'begin' cannot be read; add --time-format %d/%m/%Y"]
    with pytest.raises(InputError, match="2 of 6 intervals end before they begin; is begin the end, and end the begin"):
        reading(path, [*sound(4), "a,r,c,1990,1987", "a,r,d,1990,1987"])


def test_empty_dates_are_no_dates(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1 of 4 dates in 'begin'"):
        reading(tmp_path / "a.csv", [*sound(3), "a,r,c,soon,", *["a,r,x,,unknown"] * 20])


def test_broken_lines_and_dates_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        reading(tmp_path / "a.csv", ["a,r", "a,r,c,soon,"])
    lines = str(caught.value).splitlines()
    assert "csv:2: 2 columns where the first line has 5" in lines[0]
    assert "csv:3: 'soon' is not a date" in lines[2]


@pytest.mark.parametrize(
    ("header", "text", "expected"),
    [
        ("time", "1830s", ("1830", "1839")),
        ("begin", "1830s", ("1830", "?")),
        ("end", "1830s", ("?", "1839")),
        ("time", "1984-06/2004-08", ("1984-06", "2004-08")),
        ("time", "../1985", ("?", "1985")),
        ("time", "circa 1830", ("1830", "1830")),
        ("time", "-0043-03-15T00:00:00Z", ("-0044-03-15", "-0044-03-15")),
        ("time", "0000-03-15T00:00:00Z", ("-0001-03-15", "-0001-03-15")),
        ("time", "-0043-03-15", ("-0043-03-15", "-0043-03-15")),
        ("time", "http://www.wikidata.org/.well-known/genid/0a1b", ("?", "?")),
        ("time", "t1234", ("?", "?")),
    ],
)
def test_what_a_text_means_in_its_column(tmp_path: Path, header: str, text: str, expected: tuple[str, str]) -> None:
    assert intervals(reading(tmp_path / "a.csv", [f"a,r,b,{text}"], f"head,relation,tail,{header}")) == [expected]


WRITTEN = st.one_of(
    st.dates().map(datetime.date.isoformat),
    st.dates().map(lambda day: day.strftime("%d %B %Y")),
    st.sampled_from(
        ["", "1830s", "18XX", "1830/1831", "1985/..", "soon", "1987-02-30", "2/3/1999", "t1", "1990/1980", "/"]
    ),
    st.text(st.characters(exclude_characters=',"\n\r\0', exclude_categories=["Cs"]), max_size=8),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(WRITTEN, WRITTEN), min_size=1, max_size=12), st.sampled_from(["dates", "stop", "skip"]))
def test_any_dates_give_a_graph_or_a_refusal_with_its_line(rows: list[tuple[str, str]], on_error: str) -> None:
    with tempfile.TemporaryDirectory() as here:
        path = Path(here) / "a.csv"
        try:
            found = reading(path, [f"a,r,b,{begin},{end}" for begin, end in rows], on_error=on_error)
        except InputError as error:
            refusal = str(error)
        else:
            refusal = f"{path}:"
            assert on_error == "skip" or found.graph.n_facts == len(rows)
            assert found.graph.reversed_intervals == 0
    assert refusal.startswith(f"{path}:")


def test_a_refusal_names_the_column_of_the_table_and_a_way_out(tmp_path: Path) -> None:
    path, header = tmp_path / "a.csv", "head,relation,tail,first_day"
    columns = {"begin": "first_day"}
    rows = ["a,r,b,soon", "a,r,c,1850"]
    with pytest.raises(
        InputError, match=r"1 of 2 dates in 'first_day' cannot.*; or leave them out with --on-error skip$"
    ):
        reading(path, rows, header, columns=columns)
    assert reading(path, rows, header, columns=columns, on_error="skip").graph.n_facts == 1
