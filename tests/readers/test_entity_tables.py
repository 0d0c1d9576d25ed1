"""Tables with a row for each entity, and facts whose relation is in no column: what each column becomes."""

from __future__ import annotations

import io
import re
import tempfile
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dualmatch import InputError
from dualmatch.files.compressed import blocks
from dualmatch.graph.times import format_date
from dualmatch.readers import delimited
from dualmatch.readers.columns import parse_columns
from dualmatch.readers.read import Reading, read
from dualmatch.readers.read_options import ReadOptions
from io_facts import facts_of

PEOPLE = (
    "id,name,born,died,place,mother,children,note\n"
    "p1, Ada Lovelace ,1815-12-10,27 November 1852,London,p3,3,wrote notes\n"
    "p2,Charles Babbage,1791,1871-10-18,London,,8,\n"
    "p3,Anne Isabella Byron,1792-05-17,,Seaham,,1,knew algebra\n"
    "p4,George Byron,1788-01-22,1824-04-19, London ,,3,wrote Don Juan\n"
    "p5,,,,,,,\n"
)
FACTS = {("p1", "place", "London"), ("p2", "place", "London"), ("p4", "place", "London")}
DATES = {
    ("p1", "born", "1815-12-10"),
    ("p1", "died", "1852-11-27"),
    ("p2", "born", "1791"),
    ("p2", "died", "1871-10-18"),
    ("p3", "born", "1792-05-17"),
    ("p4", "born", "1788-01-22"),
    ("p4", "died", "1824-04-19"),
}
MEMBERS = "person,area,party,start_date,end_date,source\n"


def reading(text: str | bytes, columns: str | None = None, name: str = "a.csv", **options: object) -> Reading:
    with tempfile.TemporaryDirectory() as here:
        path = Path(here) / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        asked = parse_columns(columns) if columns else None
        try:
            return read([path], ReadOptions(columns=asked, names="auto", **options))  # type: ignore[arg-type]
        except InputError as error:
            raise InputError(str(error).replace(str(path), name)) from None


def facts(found: Reading) -> set[tuple[str, str, str]]:
    graph = found.graph
    columns = zip(graph.head, graph.relation, graph.tail, strict=True)
    return {(graph.entities[h], graph.relations[r], graph.entities[t]) for h, r, t in columns}


def dates(found: Reading) -> set[tuple[str, str, str]]:
    graph = found.graph
    columns = zip(graph.dates.entity, graph.dates.relation, graph.dates.begin, strict=True)
    return {(graph.entities[e], graph.relations[r], format_date(int(begin))) for e, r, begin in columns}


def labels(found: Reading) -> dict[str, str]:
    assert found.literals is not None
    return {found.graph.entities[row]: label for row, label in found.literals.labels.items()}


def refusal(text: str, columns: str | None = None, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        reading(text, columns, **options)
    return str(caught.value)


def as_parquet(text: str) -> bytes:
    buffer = io.BytesIO()
    pl.read_csv(text.encode(), infer_schema=False).write_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", PEOPLE),
        ("a.tsv", PEOPLE.replace(",", "\t")),
        ("a.txt", PEOPLE.replace(",", "\t")),
        ("b.txt", PEOPLE),
        ("a.csv", PEOPLE.replace("p1,", '"p1",')),
        ("a.csv", PEOPLE.replace(",", ";")),
        ("a.parquet", as_parquet(PEOPLE)),
    ],
)
def test_columns_are_what_their_values_are(name: str, content: str | bytes) -> None:
    found = reading(content, name=name)
    assert facts(found) == FACTS | {("p3", "place", "Seaham"), ("p1", "mother", "p3")}
    assert dates(found) == DATES
    names = {"p1": "Ada Lovelace", "p2": "Charles Babbage", "p3": "Anne Isabella Byron", "p4": "George Byron"}
    assert labels(found) == names | {"London": "London", "Seaham": "Seaham"}
    assert "p5" in found.graph.entities
    guessed, typed = (note.split(": ", 1)[1] for note in found.notes)
    assert guessed == "guessed that id is 'id', label is 'name'"
    assert typed.startswith(
        "each row is an entity; dates: 'born', 'died'; neighbours: 'place', 'mother'; text, not compared: 'children', "
        "'note' (to change that: --columns id=NAME"
    )


def test_what_a_column_is_can_be_said() -> None:
    found = reading(PEOPLE.replace("p5,", "p5,Nobody"), "id=name,text=place,date=born,tail=died,tail=note,text=id")
    assert dates(found) >= {("Ada Lovelace", "born", "1815-12-10")}
    assert facts(found) >= {
        ("Ada Lovelace", "died", "27 November 1852"),
        ("Ada Lovelace", "note", "wrote notes"),
    }
    assert "place" not in found.graph.relations
    assert found.rejections.total == 0


def test_a_row_without_an_id_is_rejected() -> None:
    assert refusal(PEOPLE + ",Mary,1797,,,,,\n").startswith("a.csv:7: no id; every row needs one")
    assert reading(PEOPLE + ",Mary,1797,,,,,\n", on_error="skip").rejections.total == 1
    assert refusal(PEOPLE, "id=name").startswith("a.csv:6: no id")


def test_a_name_is_an_id_where_there_is_no_other() -> None:
    found = reading("name,born,place\nAda,1815,London\nCharles,1791,London\n")
    assert facts(found) == {("Ada", "place", "London"), ("Charles", "place", "London")}
    assert labels(found) == {"Ada": "Ada", "Charles": "Charles", "London": "London"}


def test_an_id_and_a_name_of_one_thing_make_a_table_of_entities() -> None:
    found = reading("company_id,company_name,founded,city\nC1,Acme,1990,York\nC2,Bolt,1991,York\n")
    assert labels(found) == {"C1": "Acme", "C2": "Bolt", "York": "York"}
    assert dates(found) == {("C1", "founded", "1990"), ("C2", "founded", "1991")}
    for two in ("company_id,company_name,city_id,city_name", "person_id,party_name,since"):
        assert "cannot tell which column is the head" in refusal(f"{two}\n{',' * two.count(',')}\n")


LISTS = (
    "id,name,born,occupation,alive\n"
    "p1,Ada; Augusta,1815,writer; mathematician,1833\n"
    "p2,Charles,1791, ;engineer;writer ,\n"
    "p3,George,1788,poet,1801; soon\n"
    "p4,Anne,1792,mathematician; poet,1801;1802\n"
)


def test_several_values_in_a_cell() -> None:
    """Without a separator a cell is one value, and a note says that it looks like several."""
    one = reading(LISTS, "id=id,label=name,date=born,tail=occupation,text=alive")
    assert ("p1", "occupation", "writer; mathematician") in facts(one)
    assert "cells of 'occupation' may hold several values: if so, say --list-separator ';'" in one.notes[-1]
    found = reading(LISTS, "id=id,date=born,date=alive", list_separator=";")
    people = {"p1": "writer mathematician", "p2": "engineer writer", "p3": "poet", "p4": "mathematician poet"}
    assert facts(found) == {(who, "occupation", each) for who, did in people.items() for each in did.split()}
    assert {each for each in dates(found) if each[1] == "alive"} == {
        ("p1", "alive", "1833"),
        ("p3", "alive", "1801"),
        ("p4", "alive", "1801"),
        ("p4", "alive", "1802"),
    }
    assert "line 4: 'soon' is not a date" in found.notes[-1]
    assert found.left_out == {"dates that cannot be read": 1}
    assert found.literals is not None
    assert {*found.literals.value} >= {"Ada", "Augusta", "poet"}
    assert not any("several values" in note for note in found.notes)


def test_several_tails_in_a_cell_of_a_table_of_facts() -> None:
    text = "head,relation,tail,time\na,met,b | c,1833\nd,met,,1834\n"
    found = reading(text, list_separator="|", on_error="skip")
    assert facts(found) == {("a", "met", "b"), ("a", "met", "c")}
    assert [str(each).partition(":")[2] for each in found.rejections.kept] == ["3: no tail; every fact needs one"]
    assert found.rejections.kept[0].text == "d,met,,1834"
    found = reading("who,area,party\na,x|y,p\nb,,q|\n", "head=who,tail=area,tail=party", list_separator="|")
    assert facts(found) == {("a", "area", "x"), ("a", "area", "y"), ("a", "party", "p"), ("b", "party", "q")}
    with pytest.raises(InputError, match="--list-separator: write what separates"):
        reading(text, list_separator=" ")


SINCE = """\
<Ada>\t<bornIn>\t<London>
<Ada>\t<worksAt>\t<Royal>\t<occursSince>\t"1830-##-##"
<Ada>\t<worksAt>\t<Royal>\t<occursUntil>\t"1835-02-##"
<Bo>\t<worksAt>\t<Royal>\tsince\t1830
<Bo>\t<worksAt>\t<Royal>\tsince\t1840
<Bo>\t<worksAt>\t<Royal>\tuntil\t1850
<Cy>\t<met>\t<Bo>\tdate\t1851
"""
REVERSED = "<Cy>\t<in>\t<Rome>\tsince\t1852\n<Cy>\t<in>\t<Rome>\tuntil\t1851\n"


def test_a_column_that_says_what_the_time_is() -> None:
    """Rows without a time may end early; begin and end of one fact in two rows are one interval."""
    columns = "head=1,relation=2,tail=3,role=4,time=5"
    found = reading(SINCE, columns, "a.tsv")
    assert [fact for fact in facts_of(found.graph) if fact[1] != "in"] == [
        ("<Ada>", "<bornIn>", "<London>", "?", "?"),
        ("<Ada>", "<worksAt>", "<Royal>", "1830", "1835-02"),
        ("<Bo>", "<worksAt>", "<Royal>", "1830", "?"),
        ("<Bo>", "<worksAt>", "<Royal>", "1840", "?"),
        ("<Bo>", "<worksAt>", "<Royal>", "?", "1850"),
        ("<Cy>", "<met>", "<Bo>", "1851", "1851"),
    ]
    with pytest.raises(InputError) as caught:
        reading(SINCE + REVERSED, columns, "a.tsv")
    assert str(caught.value).splitlines() == [
        "a.tsv:9: ends in 1851, before it begins in 1852; fix one of the two",
        "1 of 2 intervals end before they begin; is begin the end, and end the begin? Or leave them out with "
        "--on-error skip",
    ]
    more = "".join(f"e{at}\tin\tRome\t{role}\n" for at in range(4) for role in ("since\t1830", "until\t1831"))
    found = reading(SINCE + REVERSED + more, columns, "a.tsv")
    assert ("<Cy>", "<in>", "<Rome>", "?", "?") in facts_of(found.graph)
    assert found.left_out == {"reversed intervals": 1}
    assert any("1 of 6 intervals ends before it begins and is unknown; line 9: ends" in note for note in found.notes)
    left = reading(SINCE + REVERSED + more, columns, "a.tsv", on_error="skip")
    assert left.left_out == {"lines": 1}
    assert not any(fact[0] == "<Cy>" and fact[1] == "<in>" for fact in facts_of(left.graph))
    with pytest.raises(InputError) as caught:
        reading(SINCE + "a\tb\tc\tbeing\t1850\nd\te\nd\te\tf\tsince\t1\t2\n", columns, "a.tsv")
    assert str(caught.value).splitlines()[:3] == [
        "a.tsv:8: 'being' does not say whether its time is a begin, an end or a point; write since, until or at",
        "a.tsv:9: 2 columns where the first line has 5",
        "a.tsv:10: 6 columns where the first line has 5",
    ]
    with pytest.raises(InputError, match="columns: role says whether a time is a begin or an end; give time=NAME, too"):
        reading(SINCE, "head=1,relation=2,tail=3,role=4", "a.tsv")


def test_texts_alone_are_no_facts_and_a_note_in_the_error_says_what_they_are() -> None:
    with pytest.raises(InputError, match=r"labels \(2\); text, not compared: 'height'; if it holds dates or"):
        reading("id,name,height\n1,A,190\n2,B,170\n")


def test_what_each_column_was_taken_for() -> None:
    found = reading(PEOPLE, "id=id,text=note")
    roles = {"id": "id", "name": "label", "born": "date", "died": "date", "place": "tail"}
    roles |= {"mother": "tail", "children": "text", "note": "text"}
    assert {each.column: " ".join(each.roles) for each in found.columns} == roles
    assert [each.column for each in found.columns if not each.guessed] == ["id", "note"]
    found = reading("x,subject,did,object\n1,a,b,c\n", "relation=did")
    assert [(each.column, each.roles, each.guessed) for each in found.columns] == [
        ("x", (), False),
        ("subject", ("head",), True),
        ("did", ("relation",), False),
        ("object", ("tail",), True),
    ]


def test_rows_of_one_id_are_one_entity() -> None:
    found = reading("id,born,party\na,1815,red\na,1815-02,blue\nb,1816,red\nc,,blue\n")
    assert facts(found) == {
        ("a", "party", "red"),
        ("a", "party", "blue"),
        ("b", "party", "red"),
        ("c", "party", "blue"),
    }
    assert "; 1 row repeats an id and adds to the same entity" in found.notes[1]


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("x", "1815 1791 1792", "text"),
        ("population", "1000 1020 1040", "text"),
        ("founded", "1000 1020 1040", "date"),
        ("birthyear", "1815.0 1791.0 1792.0", "date"),
        ("P569", "1815 1791 1792", "date"),
        ("issn", "0028-0836 0092-8674 1515-1600", "text"),
        ("share", "45% 50% 45%", "tail"),
        ("died", "1900 n/a living 1901", "date"),
        ("birthPlace", "Rome Rome 1900", "tail"),
        ("x", "1815-01-02 unknown 1815", "date"),
        ("x", "18150203 17910304", "date"),
        ("x", "1830s 183X 1831", "date"),
        ("x", "12 180 7", "text"),
        ("x", "12000 15000 12000 12000", "text"),
        ("x", "1.5 2.5 1.5", "text"),
        ("year", "12 180 7", "date"),
        ("dateOfBirth", "unknown unknown 1815 unknown", "date"),
        ("x", "unknown unknown 1815 unknown", "text"),
        ("birth_place", "Rome Rome Bonn", "tail"),
        ("x", "red red blue green", "tail"),
        ("x", "red blue green", "text"),
        ("x", "i1 i0 rome", "tail"),
        ("x", "", "text"),
    ],
)
def test_kinds_of_columns(name: str, values: str, kind: str) -> None:
    texts = values.split() or [""] * 3
    rows = "".join(f"i{row},{text},same\n" for row, text in enumerate(texts))
    note = reading(f"id,{name},other\n{rows}", "id=id,tail=other").notes[0]
    words = {"date": "dates", "tail": "neighbours", "text": "text, not compared"}
    assert [f"{words[each]}: '{name}'" in note for each in words] == [each == kind for each in words], note


def test_dates_in_another_form_are_refused_with_the_format() -> None:
    said = refusal("id,born,x\na,13/02/1815,u\nb,14/02/1815,u\n")
    assert said.startswith("a.csv:2: '13/02/1815' is not a date")
    assert said.endswith("2 of 2 dates in 'born' cannot be read; add --time-format %d/%m/%Y")
    assert len(reading("id,born,x\na,13/02/1815,u\nb,14/02/1815,u\n", time_format="%d/%m/%Y").graph.dates) == 2


def test_a_column_called_after_a_date_is_refused_rather_than_taken_for_neighbours() -> None:
    rows = "".join(f"p{row},{'before ' * (row % 2)}18{row:02d},{'Hull' if row % 3 else 'York'}\n" for row in range(20))
    said = refusal(f"id,born,place\n{rows}")
    assert said.startswith("a.csv:3: 'before 1801' is not a date")
    assert said.endswith(
        "10 of 20 dates in 'born' cannot be read; fix them, or say how they are written with --time-format; or "
        "leave them out with --on-error skip; if it holds no dates: --columns text=born"
    )
    assert facts(reading(f"id,born,place\n{rows}", "text=born"))
    assert "3 of 3 dates in 'died' cannot be read" in refusal("id,died\na,1850-02-30\nb,1850-02-30\nc,1850-02-30\n")


def test_values_and_lines_that_are_left_out_are_counted_apart() -> None:
    rows = "a,1815-02-30,soon\nb,1816,later\nc,1817,1890\n"
    rejections = reading(f"id,born,died\n{rows},1818,1891\n", "date=born,date=died", on_error="skip").rejections
    assert rejections.in_words == "1 line and 3 values were left out"
    assert (rejections.total, rejections.values) == (4, 3)
    said = refusal(f"id,born,died\n{rows}", "date=born,date=died", on_error="skip", max_errors=1)
    assert said.endswith("more than 1 value cannot be used; fix the file or raise --max-errors")
    said = refusal(f"id,born,died\n{rows},1,2\n", "date=born,date=died", on_error="skip", max_errors=2)
    assert said.endswith("more than 2 lines or values cannot be used; fix the file or raise --max-errors")
    assert refusal(f"id,born,died\n{rows}", "date=born,date=died", on_error="stop").endswith(
        "fix these values, or leave them out with --on-error skip"
    )


def test_one_columns_format_leaves_the_other_dates() -> None:
    found = reading("id,born,died\na,31.12.1799,1899-12-31\nb,01.01.1801,1900\n", time_format="%d.%m.%Y")
    assert dates(found) == {
        ("a", "born", "1799-12-31"),
        ("a", "died", "1899-12-31"),
        ("b", "born", "1801-01-01"),
        ("b", "died", "1900"),
    }


def test_numbers_that_may_be_years_are_mentioned() -> None:
    text = "id,born,height\na,1815,1620\nb,1791,1800\n"
    assert "; text, not compared: 'height'; 'height' may be years: if so, say date=height (" in reading(text).notes[1]
    assert "may be years" not in reading(text, "text=height").notes[1]
    assert dates(reading(text, "date=height")) >= {("a", "height", "1620")}


def test_numbers_of_other_rows_are_neighbours() -> None:
    found = reading("id,name,born,father_id,spouse,children\n1,Ann,1830,3,,2\n2,Bob,1831,3,3,1\n3,Cy,1802,,2,2\n")
    fathers = {("1", "father_id", "3"), ("2", "father_id", "3")}
    assert facts(found) == fathers | {("2", "spouse", "3"), ("3", "spouse", "2")}
    assert "text, not compared: 'children'" in found.notes[1]


def test_words_for_nothing_are_no_neighbours() -> None:
    found = reading("id,place,party\na,Unknown,n/a\nb,unknown,-\nc,York,Whig\nd,York,?\ne,Hull,Whig\n")
    assert {tail for _, _, tail in facts(found)} == {"York", "Hull", "Whig"}
    assert "; 5 of their cells name no neighbour ('unknown', '?' and the like) (" in found.notes[1]


def test_a_table_that_arrives_later_is_read_as_the_first_was() -> None:
    first = reading("id,born,place\na,1815,Rome\nb,1816,Rome\n").graph
    later = pl.DataFrame({"id": ["c"], "born": ["1817"], "place": ["Bonn"]})
    assert facts(read([later], ReadOptions())) == set()
    assert facts(read([later], ReadOptions(), known=first)) == {("c", "place", "Bonn")}


def test_a_few_wrong_dates_are_unknown() -> None:
    rows = "".join(f"i{row},18{row:02d}\n" for row in range(20))
    found = reading(f"id,born\n{rows}j,1815-02-30\n")
    assert len(found.graph.dates) == 20
    assert "j" in found.graph.entities
    assert found.notes[-1].split("a.csv: ")[1] == (
        "1 of 21 dates cannot be read and is unknown; line 22: '1815-02-30': month 2 of 1815 has no day 30"
    )


def test_a_frame_of_any_types() -> None:
    frame = pl.DataFrame(
        {
            "id": [1, 2, 3],
            "born": [1815, 1791, None],
            "height": [1.62, 1.8, None],
            "alive": [False, False, True],
            "tags": [["a"], ["b"], []],
        }
    )
    found = read([frame], ReadOptions())
    assert dates(found) == {("1", "born", "1815"), ("2", "born", "1791")}
    assert facts(found) == {("1", "alive", "false"), ("2", "alive", "false"), ("3", "alive", "true")}


def test_several_tails_in_a_row_are_facts_of_their_own_relations() -> None:
    rows = "Ada , North,Red,1815,1820,http://x\nBob,South,,1816,,http://x\nEve,,,,,\n"
    found = reading(MEMBERS + rows, "head=person,tail=area,tail=party,begin=start_date,end=end_date")
    assert facts(found) == {("Ada", "area", "North"), ("Ada", "party", "Red"), ("Bob", "area", "South")}
    assert [format_date(int(code)) for code in found.graph.end] == ["1820", "1820", "?"]


def test_a_relation_that_is_the_same_for_all() -> None:
    rows = "Ada,North,Red,1815,1820,http://x\n"
    found = reading(MEMBERS + rows, "head=person,relation==member of,tail=party,label=source")
    assert facts(found) == {("Ada", "member of", "Red")}
    assert labels(found) == {"Ada": "http://x"}
    assert "begin is 'start_date'" in found.notes[0]
    bare = reading("Ada\tRed\t1815\n", "head=1,relation==in,tail=2,time=3", "a.tsv")
    assert facts(bare) == {("Ada", "in", "Red")}
    both = reading("s,p,o1,o2\nAda,knew,Bob,Eve\n", "head=s,relation=p,tail=o1,tail=o2")
    assert facts(both) == {("Ada", "knew", "Bob"), ("Ada", "knew", "Eve")}


def test_a_date_of_a_row_with_two_facts_is_counted_once() -> None:
    rows = "".join(f"Ada,North,Red,18{row:02d},,\n" for row in range(20)) + "Ada,North,Red,1815-02-30,,\nx,,,soon,,\n"
    found = reading(MEMBERS + rows, "head=person,tail=area,tail=party")
    assert "2 of 22 dates cannot be read and are unknown; line 22" in found.notes[-1]
    assert found.graph.n_facts == 42
    assert refusal(MEMBERS + ",North,Red,1815,,\n", "head=person,tail=area,tail=party").startswith("a.csv:2: no head")


def test_the_label_of_a_query_result_is_found() -> None:
    found = reading("item,itemLabel,p,o\nQ7259,Ada Lovelace,P26,Q1\n", "head=item")
    assert labels(found) == {"Q7259": "Ada Lovelace"}


def test_where_a_fact_comes_from_is_no_head() -> None:
    said = refusal(MEMBERS + "Ada,North,Red,1815,1820,http://x\n")
    assert said == (
        "a.csv: cannot tell which column is the head; the columns are 'person', 'area', 'party', 'start_date', "
        "'end_date', 'source': say so with --columns head=person,tail=area,tail=party,begin=start_date,end=end_date, "
        "or, if each row is an entity, --columns id=person (facts without a header: numbers from 1, as head=1)"
    )
    assert reading(MEMBERS + "Ada,North,Red,1815,1820,http://x\n", said.split("--columns ")[1].split(", or")[0])
    assert facts(reading("source,rel,target\na,r,b\n")) == {("a", "r", "b")}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("id=id,head=name", "columns: id is for a table with a row for each entity, head for one with"),
        ("id=id,id=name", "--columns: id is given 2 times; only date, tail or text may be"),
        ("colour=name", "columns: there is no 'colour'; a row that is a fact has head, relation"),
        ("id=1,tail=2", "columns: numbers for a table of entities; it needs a header"),
        ("head=1,tail=2", "columns: no number for relation; a table without a header needs head, relation"),
        ("id=nobody", "a.csv: no column 'nobody'; the columns are 'id', 'name'"),
        ("date=born,text=id,text=name", "a.csv: cannot tell which column is the id"),
        ("head=id,tail=", "--columns 'tail=': write head=NAME"),
    ],
)  # fmt: skip
def test_columns_that_cannot_be(columns: str, words: str) -> None:
    assert refusal("id,name,born\na,b,1815\n", columns).startswith(words)


def test_rows_of_another_width_are_reported_by_their_line() -> None:
    assert refusal("Ada\tmet\tBob\nAda\tmet\tEve\tsince\t1815\n", "head=1,relation=2,tail=3,time=5", name="a.tsv") == (
        "a.tsv:1: has 3 columns, there is no column 5 for time"
    )
    rows = "Ada\tmet\tBob\tsince\t1815\nAda\tmet\tEve\n"
    columns = "head=1,relation=2,tail=3,time=5"
    assert refusal(rows, columns, name="a.tsv").startswith("a.tsv:2: 3 columns where rows have 5, or 4 without a")
    assert reading(rows, columns, "a.tsv", on_error="skip").graph.n_facts == 1


DATED, UNDATED = "Ada\tmet\tBob\t1815\t1816\n", "Ada\tmet\tEve\n"


@pytest.mark.parametrize("rows", [DATED + UNDATED, UNDATED + DATED, UNDATED + "\n" + DATED])
@pytest.mark.parametrize("separator", ["\t", ","])
def test_rows_of_numbered_columns_may_end_before_their_times(rows: str, separator: str) -> None:
    columns, name = "head=1,relation=2,tail=3,begin=4,end=5", "a.tsv" if separator == "\t" else "a.csv"
    for text in (rows, rows.replace("Bob", '"Bob"') if separator == "," else rows):
        found = reading(text.replace("\t", separator), columns, name)
        assert facts_of(found.graph) == [("Ada", "met", "Bob", "1815", "1816"), ("Ada", "met", "Eve", "?", "?")]
        assert [note.partition(": ")[2] for note in found.notes] == ["1 row ends before its time: an undated fact"]
    for wrong in ("Ada\tmet\n", "Ada\tmet\tBo\t1815\n", "Ada\tmet\tBo\t1815\t1816\tx\n"):
        text = (rows + wrong).replace("\t", separator)
        said = f"{name}:{text.count(chr(10))}: {wrong.count(chr(9)) + 1} columns where rows have 5, or 3 without a time"
        assert refusal(text, columns, name=name).splitlines()[0] == said


def test_a_time_in_a_column_that_no_row_has_is_refused() -> None:
    assert refusal(UNDATED * 3, "head=1,relation=2,tail=3,begin=4,end=5", name="a.tsv") == (
        "a.tsv: every row has 3 columns, so there is none for a time; give --columns without begin, end and time"
    )


def test_rows_end_early_only_where_times_are_the_last_columns_and_there_is_no_header() -> None:
    other = "Ada\tmet\tBob\t1815\tx\n"
    for rows, columns, words in (
        (other + UNDATED, "head=1,relation=2,tail=3,time=4", ":2: 3 columns where the first line has 5"),
        ("1815\tAda\tmet\tBob\n" + UNDATED, "head=2,relation=3,tail=4,time=1", ":2: 3 columns where the first line"),
        ("a\tb\tc\td\n" + UNDATED, "head=a,relation=b,tail=c,time=d", ":2: 3 columns where the first line has 4"),
    ):
        assert refusal(rows, columns, name="a.tsv").startswith(f"a.tsv{words}")


def test_options_with_several_columns_are_kept() -> None:
    options = ReadOptions(columns=parse_columns("id=id,date=born,date=died"))
    assert ReadOptions.from_dict(options.as_dict()) == options


CELLS = st.sampled_from(["", "a", "b", "Rome", "1815", "1830s", "2/3/1815", "7", "unknown", " ", "t1", "1815-02-30"])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.sampled_from(["id", "name", "born", "place", "x", "", "source", "date", "label"]), min_size=1, max_size=5
    ),
    st.lists(st.lists(CELLS | st.text(max_size=3), min_size=1, max_size=5), max_size=8),
    st.sampled_from(
        [
            *(None, "id=id", "id=name,date=born", "head=id,tail=place", "label=name", "head=id,relation==r,tail=x"),
            "head=1,relation=2,tail=3,role=4,time=5",
            "head=id,relation=x,tail=name,role=label,time=date",
        ]
    ),
    st.sampled_from(["dates", "stop", "skip"]),
    st.sampled_from([None, ";", "1", "né"]),
)
def test_any_table_is_a_graph_or_a_refusal(
    header: list[str], rows: list[list[str]], columns: str | None, on_error: str, separator: str | None
) -> None:
    text = "\n".join(",".join(row) for row in [header, *rows])
    try:
        found = reading(text.encode("utf-8", "replace"), columns, on_error=on_error, list_separator=separator)
    except InputError as error:
        refused = str(error)
    else:
        refused = "a.csv:"
        assert not found.graph.is_empty
    assert refused.startswith(("a.csv:", "columns:"))


@pytest.mark.parametrize(
    ("header", "example"),
    [
        ("item,itemLabel,party,start,end", "head=item,label=itemLabel,tail=party,begin=start,end=end"),
        ("no,member,district,faction,elected,url", "head=member,tail=district,tail=faction,time=elected"),
        ("the member,the party,since", "'head=the member,tail=the party,begin=since'"),
        ("alone", "head=alone,tail=NAME"),
        ("person,area,party,start_date,end_date", "head=person,tail=area,tail=party,begin=start_date,end=end_date"),
        ("id,name,party,start_date,end_date", "head=id,label=name,tail=party,begin=start_date,end=end_date"),
        ("who,did,whom,day", "head=who,relation=did,tail=whom,time=day"),
    ],
)
def test_the_example_has_the_names_of_the_table(header: str, example: str) -> None:
    said = refusal(f"{header}\n{','.join('abcdefg'[: header.count(',') + 1])}\n")
    assert f"say so with --columns {example}, or, if each row is an entity, --columns " in said


def test_people_of_one_name_are_kept_apart_by_an_id_of_an_unusual_name() -> None:
    rows = "17,John Smith,1801,Leeds\n18,John Smith,1850,York\n19,Ann Lee,1850,York\n"
    found = reading(f"pid,full_name,born,town\n{rows}")
    assert found.graph.n_entities == 5
    assert found.notes[0].endswith(
        "a.csv: guessed that id is 'pid' (to change that, --columns id=full_name), label is 'full_name'"
    )
    assert {use.column: use.roles for use in found.columns} == {
        "pid": ("id",), "full_name": ("label",), "born": ("date",), "town": ("tail",)
    }  # fmt: skip
    with pytest.raises(InputError) as error:
        reading(f"slug,full_name,born,town\n{rows}")
    assert str(error.value) == (
        "a.csv: 'full_name' repeats; is 'slug' the id? say --columns id=slug,label=full_name, or, if rows of one name "
        "are one entity, --columns id=full_name,label=full_name"
    )
    assert reading(f"slug,full_name,born,town\n{rows}", "id=full_name,label=full_name").graph.n_entities == 4


def test_a_code_that_repeats_is_no_id() -> None:
    found = reading("name,country_code,born\nAda,GB,1815\nCharles,GB,1791\nBlaise,FR,1623\n")
    assert {"Ada", "Charles", "Blaise"} <= {*found.graph.entities}
    assert found.notes[0].endswith("a.csv: guessed that label is 'name', id is 'name'")


def test_rows_that_list_each_value_with_each_other_say_a_neighbour_once() -> None:
    rows = "".join(f"p1,Ada,{place},{child}\n" for place in ("London", "Kent") for child in ("Anne", "Ralph"))
    assert facts_of(reading(f"id,name,place,child\n{rows}", "id=id,tail=place,tail=child").graph) == [
        ("p1", "child", "Anne", "?", "?"), ("p1", "child", "Ralph", "?", "?"),
        ("p1", "place", "Kent", "?", "?"), ("p1", "place", "London", "?", "?"),
    ]  # fmt: skip


def test_ids_that_pandas_wrote_as_fractions() -> None:
    """A column of numbers with gaps becomes one of fractions there: 12.0 is the entity 12."""
    people = "id,name,born,father,height\n10,Ada,1815.0,12.0,180.0\n11,Bo,,12.0,175.0\n12,Cy,1791.0,,\n"
    found = reading(people)
    assert facts(found) == {("10", "father", "12"), ("11", "father", "12")}
    assert dates(found) == {("10", "born", "1815"), ("12", "born", "1791")}
    note = "a.csv: whole numbers that were written as fractions: 'father'; 12.0 is read as the id 12"
    assert found.notes[-1].endswith(note)
    ids = reading(re.sub("(1[012]),([ABC])", r" \1.0,\2", people))
    assert facts(ids) == facts(found)
    assert any("written as fractions: 'id', 'father'; 12.0" in note for note in ids.notes)
    mixed = reading("id,name,version\na,Ada,1.0\nb,Bo,1.0\nc,Cy,1.1\nd,Di,1.1\n", "id=id,tail=version")
    assert {tail for _, _, tail in facts(mixed)} == {"1.0", "1.1"}


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_ids_written_as_fractions_in_a_table_of_facts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns by themselves, and as a whole: what one block shows may not hold for the next."""
    monkeypatch.setattr(delimited, "blocks", partial(blocks, size=64))
    rows = "".join(f"{at},{at % 3}.0,{'' if at % 2 else f'{at % 4}.0'},1.5,1830,n{at}\n" for at in range(40))
    text = "person,area,party,odd,start_date,label\n" + rows
    content = as_parquet(text) if name.endswith("parquet") else text
    found = reading(content, "head=person,tail=area,tail=party,tail=odd,label=label", name)
    assert {tail for _, relation, tail in facts(found) if relation != "odd"} == {"0", "1", "2"}
    assert {tail for _, relation, tail in facts(found) if relation == "odd"} == {"1.5"}
    assert any(f"{name}: whole numbers" in note and "'area', 'party'; 12.0" in note for note in found.notes)
    whole = "person,relation,area,label\n" + "".join(f"{at}.0,in,Rome,n{at}\n" for at in range(40))
    named = reading(whole, "head=person,relation=relation,tail=area,label=label")
    assert {head for head, _, _ in facts(named)} == {str(at) for at in range(40)}
    assert labels(named)["7"] == "n7"
    broken = reading(whole + "x,in,Rome,n\n", "head=person,relation=relation,tail=area,label=label")
    assert "7.0" in broken.graph.entities
    assert not any("fractions" in note for note in broken.notes)


def test_cells_that_hold_several_dates_get_a_hint() -> None:
    people = "id,name,offices\n" + "".join(f"p{at},n{at},18{at}0-01-02; 18{at}5\n" for at in range(1, 8))
    assert (
        "cells of 'offices' may hold several values: if so, say --list-separator ';'"
        in reading(people + "x,y,z\n", "id=id,text=name,tail=offices").notes[-1]
    )
    assert refusal(people.replace("offices", "elected")).endswith(
        "7 of 7 dates in 'elected' cannot be read; cells hold several: add --list-separator ';'"
    )
    assert len(dates(reading(people.replace("offices", "elected"), list_separator=";"))) == 14


def test_a_table_that_arrives_later_has_the_ids_that_the_first_had() -> None:
    """Whatever the new rows look like by themselves: names that repeat, codes that do not."""
    first = reading("member_no,name,town\n1,Ada,Rome\n2,Ada,Rome\n3,Bo,Rome\n")
    assert {"1", "2", "3"} <= {*first.graph.entities}
    again = later("member_no,name,town\n3,Bo,Paris\n3,Bo,Rome\n", first)
    assert {"3"} == {head for head, _, _ in facts(again)}
    by_name = reading("member_no,name,town\n1,Ada,Rome\n1,Bo,Rome\n2,Cy,Rome\n", "id=name,label=name,text=member_no")
    assert "Ada" in by_name.graph.entities
    again = later("member_no,name,town\n1,Ada,Paris\n2,Cy,Paris\n", by_name)
    assert {"Ada", "Cy"} == {head for head, _, _ in facts(again)}
    new = later("member_no,name,town\n8,Zoe,Paris\n9,Xi,Paris\n", first)
    assert {"8", "9"} == {head for head, _, _ in facts(new)}


def later(text: str, first: Reading) -> Reading:
    with tempfile.TemporaryDirectory() as here:
        path = Path(here) / "a.csv"
        path.write_text(text)
        return read([path], ReadOptions(names="auto"), known=first.graph)


def test_dates_in_a_column_whose_name_does_not_say_so_get_the_format_that_reads_them() -> None:
    people = "id,Name,geboren am\n" + "".join(f"p{at},N{at},1{at}.03.181{at}\n" for at in range(9))
    with pytest.raises(InputError, match="no facts"):
        reading(people)
    found = reading(people.replace("\n", ",Rome\n").replace("am,Rome", "am,town"))
    assert "'geboren am' may be dates: if so, add --time-format %d.%m.%Y" in found.notes[-1]
    assert len(dates(reading(people, time_format="%d.%m.%Y"))) == 9
