"""Which column is what: guesses are reported, what could be two things is said or refused, hints for times."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualmatch import InputError
from dualmatch.readers.columns import parse_columns, table_shape
from dualmatch.readers.read import read, read_graph
from dualmatch.readers.read_options import ReadOptions
from dualmatch.readers.table_head import table_head
from dualmatch.readers.usual_names import columns_option


def test_another_column_that_could_be_it_is_reported() -> None:
    shape = table_shape(["source", "subject", "predicate", "object", "target", "year", "date"], None, "a.csv")
    assert [*shape.places.items()] == [("head", 1), ("relation", 2), ("tail", 3), ("time", 6)]
    assert shape.note == (
        "a.csv: guessed that head is 'subject' (not 'source': to change that, --columns head=NAME), "
        "relation is 'predicate', tail is 'object' (not 'target': to change that, --columns tail=NAME), "
        "time is 'date' (not 'year': to change that, --columns time=NAME)"
    )


def test_what_was_asked_for_leaves_nothing_to_report() -> None:
    asked = {"head": "source", "relation": "rel", "tail": "target", "time": "year"}
    shape = table_shape(["subject", "source", "rel", "target", "object", "year", "date"], asked, "a.csv")
    assert (dict(shape.places), shape.note) == ({"head": 1, "relation": 2, "tail": 3, "time": 5}, "")


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (["head", "relation", "tail", "Start Date", "start_date"],
         "a.csv: columns 'Start Date', 'start_date' could each be the begin; say which with --columns begin=NAME"),
        (["head", "head", "relation", "tail"],
         "a.csv: columns 'head', 'head' could each be the head; say which with --columns head=NAME, and give each its"),
    ],
)  # fmt: skip
def test_two_columns_of_one_name_are_refused(header: list[str], words: str) -> None:
    with pytest.raises(InputError) as caught:
        table_shape(header, None, "a.csv")
    assert str(caught.value).startswith(words)


def test_a_column_is_taken_once() -> None:
    shape = table_shape(["s", "p", "o", "from_date", "until", "date"], {"begin": "date"}, "a.csv")
    assert dict(shape.places) == {"head": 0, "relation": 1, "tail": 2, "begin": 5, "end": 4}


def test_the_other_column_is_said_aloud(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("subject,predicate,object,source,year\na,r,b,web,1900\n")
    (note,) = read([path], ReadOptions()).notes
    assert "head is 'subject' (not 'source': to change that, --columns head=NAME)" in note


@pytest.mark.parametrize(
    ("texts", "hint"),
    [
        ("1109635200 946684800 1109635200.5", "epoch"),
        ("1109635200000", "epoch-ms"),
        ("27.11.1852 01.02.1853", "%d.%m.%Y"),
        ("27/11/1852 1/2/1853", "%d/%m/%Y"),
        ("11/27/1852 1/2/1853", "%m/%d/%Y"),
        ("01/02/2019", "%d/%m/%Y, or %m/%d/%Y"),
        ("27-11-1852", "%d-%m-%Y"),
        ("05/2019", "%m/%Y"),
        ("2019/05", "%Y/%m"),
        ("2019/05/13", "%Y/%m/%d"),
        ("1830-5-1 1830-12-1", "%Y-%m-%d"),
        ("27/11/1852 1/2/1853 1/2/1854 3/2/1853 3/4/1866 ?1850? 7/8/1850", "%d/%m/%Y"),
        ("27/11/1852T12:30", "%d/%m/%YT%H:%M"),
        ("27/11/1852T12:30:59", "%d/%m/%YT%H:%M:%S"),
    ],
)
def test_times_in_another_form_get_a_hint_that_helps(tmp_path: Path, texts: str, hint: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("head,relation,tail,time\n" + "".join(f"a,r,b,{text}\n" for text in texts.split()))
    for on_error in ("dates", "stop"):
        with pytest.raises(InputError) as caught:
            read_graph(path, on_error=on_error)
        said = str(caught.value).splitlines()
        assert said[0].startswith(f"{path}:2: {texts.split()[0]!r}")
        assert "; or add --time-format " in said[0]
    with pytest.raises(InputError, match=f"cannot be read; add --time-format {re.escape(hint)}$"):
        read_graph(path)
    assert read_graph(path, time_format=hint.split(",")[0]).has_times


def test_a_time_that_looks_like_nothing_gets_no_format(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("head,relation,tail,time\na,r,b,soon\n")
    with pytest.raises(InputError) as caught:
        read_graph(path)
    assert str(caught.value).splitlines() == [
        f"{path}:2: 'soon' is not a date; write YYYY, YYYY-MM or YYYY-MM-DD, or -inf for unknown",
        "1 of 1 dates in 'time' cannot be read; fix them, or say how they are written with --time-format; or leave "
        "them out with --on-error skip",
    ]


def test_from_and_to_are_begin_and_end_where_there_are_both() -> None:
    names = ["subject", "predicate", "object", "From", "to"]
    assert dict(table_shape(names, None, "a.csv").places)["begin"] == 3
    assert dict(table_shape(names, None, "a.csv").places)["end"] == 4
    with pytest.raises(InputError, match=r"cannot tell.*begin=from,end=to"):
        table_shape(["person", "office", "from", "to"], None, "a.csv")
    edges = table_shape(["from", "predicate", "to"], {"head": "from", "tail": "to"}, "a.csv")
    assert dict(edges.places) == {"head": 0, "relation": 1, "tail": 2}


@pytest.mark.parametrize(
    ("names", "note"),
    [
        (["from"], "'from' is not read; if it holds times: --columns begin=from"),
        (["start", "until date"], "'until date' is not read; if it holds times: --columns 'end=until date'"),
        (["date_to"], None),
        (["start", "end", "updated"], None),
        (["place"], None),
    ],
)  # fmt: skip
def test_a_column_that_is_not_read_though_it_is_called_a_date_is_reported(names: list[str], note: str | None) -> None:
    found = table_shape(["subject", "predicate", "object", *names], None, "a.csv").note
    assert found.startswith("a.csv: guessed that head is 'subject'")
    assert found.endswith(f"; {note}") if note else "is not read" not in found


def test_a_relation_of_all_rows_means_that_they_are_facts() -> None:
    with pytest.raises(InputError, match="cannot tell which column is the head"):
        table_shape(["id", "name", "party"], {"relation": "=member of"}, "a.csv")
    shape = table_shape(["subject", "object"], {"relation": "=member of"}, "a.csv")
    assert (shape.kinds, dict(shape.relations)) == (None, {"1": "member of"})


def proposal(header: list[str], columns: dict[str, str] | None = None) -> str:
    with pytest.raises(InputError) as caught:
        table_shape(header, columns, "a.csv")
    return str(caught.value).split("say so with --columns ")[1].split(" (facts without")[0]


MEMBER = "=member of"


@pytest.mark.parametrize(
    ("header", "columns", "option"),
    [
        ("person,organisation,start,end", {"relation": MEMBER},
         "'head=person,relation==member of,tail=organisation,begin=start,end=end'"),
        ("Ann,1830,Rome", {"relation": MEMBER}, "'head=1,relation==member of,tail=3,time=2', as its first line looks "
         "like a fact and not like a header"),
        ("head,tail,label,begin", None, "head=head,label=label,tail=tail,begin=begin, or, if each row is an entity, "
         "--columns id=head"),
        ("who,whom,whoLabel,whomLabel,until", {"relation": MEMBER},
         "'head=who,label=whoLabel,relation==member of,tail=whom,end=until'"),
        ("who,whom,last_day,first_day", {"relation": MEMBER},
         "'head=who,relation==member of,tail=whom,begin=first_day,end=last_day'"),
        ("a,b,c,day", {"begin": "day"}, "head=a,tail=b,tail=c,begin=day"),
        ("a,b,c,start,last_day", {"tail": "c"},
         "head=a,relation=b,tail=c,begin=start,end=last_day, or, if each row is an entity, --columns id=a,tail=c"),
        ("source,target,weight", None, "head=source,tail=target, or, if each row is an entity, --columns id=source"),
        ("head,x,tail", None, "head=head,relation=x,tail=tail, or, if each row is an entity, --columns id=head"),
        ("a,b,kind,when", {"time": "when", "role": "kind"}, "head=a,tail=b,time=when,role=kind"),
    ],
)  # fmt: skip
def test_a_proposal_keeps_what_was_given_or_is_known(header: str, columns: dict[str, str] | None, option: str) -> None:
    names = header.split(",")
    assert proposal(names, columns) == option
    [text] = shlex.split(option.split(", or")[0].split(", as")[0])
    assert table_shape(names, parse_columns(text), "a.csv").kinds is None


def test_a_workbook_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"a.xlsx: an Excel workbook; save it as CSV \(UTF-8\)"):
        read_graph(tmp_path / "a.xlsx")


def test_text_alone_is_reported_without_stray_signs(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,note\na,x\nb,y\n")
    with pytest.raises(InputError, match=r"cannot be aligned \(text, not compared: 'note'"):
        read_graph(tmp_path / "a.csv")


NAME = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30).map(str.strip).filter(bool)


@given(names=st.lists(NAME, min_size=1, max_size=4))
def test_names_of_any_letters_can_be_given(names: list[str]) -> None:
    """What a message proposes is read back, through a shell."""
    option = columns_option([("date", name) for name in names])
    [_, text] = shlex.split(option)
    found = parse_columns(text)["date"]
    assert (found if isinstance(found, tuple) else (found,)) == tuple(names)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('id=qid,date="born, or baptised",tail=place', {"id": "qid", "date": "born, or baptised", "tail": "place"}),
        ('head=a,relation=="in, or of",tail=b', {"head": "a", "relation": "=in, or of", "tail": "b"}),
        ('id=5" pipe,tail=a"b', {"id": '5" pipe', "tail": 'a"b'}),
        ('id="say ""ah"", twice"', {"id": 'say "ah", twice'}),
    ],
)  # fmt: skip
def test_a_name_with_a_comma_goes_in_quotes(text: str, columns: dict[str, str]) -> None:
    assert parse_columns(text) == columns


def test_a_comma_without_quotes_gets_a_hint() -> None:
    with pytest.raises(InputError, match='a name with a comma goes in double quotes: date="born, or baptised"'):
        parse_columns("id=qid,date=born, or baptised")
    for text in ("", "id=a,", ",id=a", "id="):
        with pytest.raises(InputError, match=r"write head=NAME.*, or, if each row is an entity, id=NAME,label=NAME"):
            parse_columns(text)


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("Ada\tmet\tBo\t1833-05-01", "head=1,relation=2,tail=3,time=4"),
        ("17\t20130401\tUSA\tmeets\tFrance", "head=3,relation=4,tail=5,time=2"),
        ("3\t7\t5\t2014-01-02\t2015", "head=1,relation=2,tail=3,begin=4,end=5"),
        ("Ada\tmet\tBo\t1833", "head=1,relation=2,tail=3,time=4"),
        ("Ann\t1830\tRome", "head=1,relation==WORDS,tail=3,time=2"),
        ("Ann\tRome\t1830\t1832", "head=1,relation==WORDS,tail=2,begin=3,end=4"),
    ],
)
def test_a_table_without_a_header_gets_numbers_that_read_it(tmp_path: Path, line: str, option: str) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(f"{line}\n" * 3)
    with pytest.raises(InputError, match=f"say so with --columns {option}, as its first line looks like a fact"):
        read_graph(path)
    assert read_graph(path, columns=parse_columns(option)).has_times


def test_columns_called_by_years_are_a_header(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("land\t2019\t2020\t2021\n" * 3)
    with pytest.raises(InputError) as caught:
        read_graph(path)
    assert "looks like a fact" not in str(caught.value)


@pytest.mark.parametrize("separator", [";", ",", "\t", "|"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_the_separator_that_excel_writes_first(tmp_path: Path, separator: str, quote: str) -> None:
    path = tmp_path / "a.csv"
    rows = [["id", "name", "born"], ["p1", f"{quote}Ada{quote}", "1815"], ["p2", "Bo", "soon"]]
    text = f"\ufeffsep={separator}\r\n" + "".join(separator.join(row) + "\r\n" for row in rows)
    path.write_bytes(text.encode())
    with pytest.raises(InputError, match=r"a\.csv:4: 'soon' is not a date"):
        read_graph(path)
    assert [column.name for column in table_head(path, ReadOptions()) or ()] == rows[0]
    path.write_bytes(text.encode()[len(f"\ufeffsep={separator}\r\n".encode()) :])
    with pytest.raises(InputError, match=r"a\.csv:3: 'soon' is not a date"):
        read_graph(path)
    assert [column.name for column in table_head(path, ReadOptions()) or ()] == rows[0]
