"""`align` on files of any format: what it reads, what it refuses, and what it leaves behind."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from dualmatch.cli.main import main
from dualmatch.links.read import read_links
from dualmatch.readers.columns import parse_columns
from dualmatch.research import benchmark

LEFT = "subject,predicate,object,year\nAda,met,Charles,1833\nCharles,wrote,Book,1864\n"
RIGHT = "von\twas\tnach\twann\nQ9\tP50\tQ8\t01.05.1864\nQ7\tP2\tQ9\t02.04.1833\n"
GERMAN = ["--columns", "head=von,relation=was,tail=nach,time=wann", "--time-format", "%d.%m.%Y"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "left.csv").write_text(LEFT)
    (tmp_path / "right.csv").write_text(RIGHT.replace("\t", ",").replace("01.05.", "").replace("02.04.", ""))
    (tmp_path / "days.tsv").write_text(RIGHT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    before = {path: path.read_bytes() for path in Path.cwd().rglob("*") if path.is_file()}
    with pytest.raises(SystemExit) as caught:
        main([*arguments])
    assert caught.value.code == 2
    assert {path: path.read_bytes() for path in Path.cwd().rglob("*") if path.is_file()} == before
    return capsys.readouterr().err


def test_two_tables_of_different_shape(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = "head=subject,relation=predicate,tail=object,time=year", GERMAN[1]
    main(["align", "left.csv", "right.csv", "-o", "links.tsv", "--columns", columns[0], "--columns", columns[1]])
    assert read_links(here / "links.tsv")[0] == [("Ada", "Q7"), ("Book", "Q8"), ("Charles", "Q9")]
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.startswith("3 links written to links.tsv, ")


def test_guesses_are_told_unless_silence_is_asked_for(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["align", "left.csv", "left.csv", "-o", "links.tsv"])
    assert capsys.readouterr().err.count("note: left.csv: guessed that head is 'subject'") == 2
    main(["align", "left.csv", "left.csv", "-o", "links.tsv", "--force", "-q"])
    shown = capsys.readouterr()
    assert shown.out == shown.err == ""


def test_standard_input_and_more_files_of_a_side(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LEFT.encode())))
    main(["align", "-", "left.csv", "-o", "a.tsv", "--format", "csv", "-q"])
    rows = LEFT.splitlines(keepends=True)
    (here / "first.csv").write_text("".join(rows[:2]))
    (here / "second.csv").write_text(rows[0] + rows[2])
    main(["align", "first.csv", "left.csv", "--source", "second.csv", "-o", "b.tsv", "-q"])
    main(["align", "--source", "second.csv", "--source", "first.csv", "--target", "left.csv", "-o", "c.tsv", "-q"])
    assert (here / "a.tsv").read_bytes() == (here / "b.tsv").read_bytes() == (here / "c.tsv").read_bytes()


def test_a_run_from_standard_input_cannot_be_explained(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LEFT.encode())))
    main(["align", "-", "left.csv", "--format", "csv", "-o", "links.tsv", "-q"])
    said = refused(capsys, "explain", "links.tsv", "Ada")
    assert "a graph from standard input cannot be read again, so such a run writes none" in said


def test_lines_left_out_go_beside_the_output(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "bad.csv").write_text(LEFT + "Eve,met\nEve,met,Adam,soon\n")
    call = ["align", "bad.csv", "left.csv", "-o", "links.tsv"]
    said = refused(capsys, *call, "--on-error", "stop")
    assert said.splitlines()[:2] == [
        "dualmatch: bad.csv:4: 2 columns where the first line has 4",
        "bad.csv:5: 'soon' is not a date; write YYYY, YYYY-MM or YYYY-MM-DD, or -inf for unknown",
    ]
    assert "more than 1 line cannot be used" in refused(capsys, *call, "--on-error", "skip", "--max-errors", "1")
    main([*call, "--on-error", "skip"])
    said = capsys.readouterr().err
    assert (
        "note: left out: bad.csv:4: 2 columns where the first line has 4\nnote: left out: bad.csv:5: 'soon' is" in said
    )
    assert "note: 2 lines were left out; see links.tsv.rejected.tsv for the reasons" in said
    assert (here / "links.tsv.rejected.tsv").read_text().splitlines()[1:] == [
        "bad.csv\t4\t2 columns where the first line has 4\tEve,met",
        "bad.csv\t5\t'soon' is not a date; write YYYY, YYYY-MM or YYYY-MM-DD, or -inf for unknown\tEve,met,Adam,soon",
    ]


def test_too_many_dates_that_cannot_be_read_leave_nothing_behind(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not a fifth: they are unknown, in one line. More: refused with the format, and nothing is written."""
    rows = [f"Eve,met,Adam{row},{1 + row}/12/1850\n" for row in range(14)]
    (here / "bad.csv").write_text(LEFT + "".join(rows))
    before = sorted(here.iterdir())
    said = refused(capsys, "align", "bad.csv", "left.csv", "-o", "links.tsv")
    assert said.startswith("dualmatch: bad.csv:4: '1/12/1850' is not a date;")
    assert "14 of 16 dates in 'year' cannot be read; add --time-format %d/%m/%Y" in said
    assert sorted(here.iterdir()) == before
    (here / "bad.csv").write_text(LEFT + "Eve,met,Adam,1850\n" * 8 + rows[0])
    main(["inspect", "bad.csv"])
    noted = [line for line in capsys.readouterr().err.splitlines() if "cannot be read" in line]
    assert noted[0].startswith("note: bad.csv: 1 of 11 dates cannot be read and is unknown; line 12: '1/12/1850'")


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ("person,organisation,start,end\nA,Leeds,2001,2002\nB,York,2001,2005\n",
         "head=person,relation==member of,tail=organisation,begin=start,end=end"),
        ("A,Leeds,2001\nB,York,2001\n", 'head=1,relation=="in, or of",tail=2,time=3'),
        ("organisation,person,party\nLeeds,A,Red\n", "head=person,relation==member of,tail=organisation,tail=party"),
    ],
)  # fmt: skip
def test_columns_that_inspect_proposes_read_the_same_graph(
    here: Path, capsys: pytest.CaptureFixture[str], rows: str, columns: str
) -> None:
    (here / "f.csv").write_text(rows)
    main(["inspect", "f.csv", "--columns", columns])
    shown = capsys.readouterr().out
    option, text = shlex.split(shown.partition("to change that, adapt: ")[2].partition("\n")[0])
    assert parse_columns(text) == parse_columns(columns)
    main(["inspect", "f.csv", option, text])
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        ("1,Eve,1850\n,Adam,1851\n", [], "people.csv:3: no id; every row needs one"),
        ("1,Eve,1850\n2,Adam\n", [], "people.csv:3: 2 columns where the first line has 3"),
        ("1,Eve,1/2/1850\n", [], "people.csv:2: '1/2/1850' is not a date"),
        ("1,Eve,1850\n", ["--columns", "id=who"], "people.csv: no column 'who'; the columns are 'id', 'name', 'born'"),
        ("1,Eve,1850\n", ["--columns", "id=id,begin=born"], "columns: id is for a table with a row for each entity"),
        ("1,Eve,\n", [], "people.csv: no facts; an empty graph cannot be aligned"),
    ],
)
def test_tables_of_entities_that_cannot_be_used(
    here: Path, capsys: pytest.CaptureFixture[str], rows: str, columns: list[str], words: str
) -> None:
    (here / "people.csv").write_text("id,name,born\n" + rows)
    before = sorted(here.iterdir())
    assert refused(capsys, "align", "people.csv", "people.csv", "-o", "links.tsv", *columns).startswith(
        f"dualmatch: {words}"
    )
    assert sorted(here.iterdir()) == before


def test_rejected_rdf_is_shown_as_it_stands_in_the_file(here: Path) -> None:
    (here / "bad.nt").write_text('<http://e/a> <http://e/r> <http://e/b> .\nnonsense here\n_:x <http://e/r> "x" .\n')
    main(["inspect", "bad.nt", "--on-error", "skip", "--rejected", "rejected.tsv"])
    assert (here / "rejected.tsv").read_text().splitlines()[1].endswith("\tnonsense here")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["left.csv", "right.csv", "-o", "left.csv", "--force"], "left.csv: is already read or written by this run"),
        (["left.csv", "-o", "links.tsv"], "left.csv: is one file; give two, SOURCE and TARGET"),
        (["-o", "links.tsv"], "no source given; give SOURCE and TARGET"),
        (["left.csv", "nowhere.csv", "-o", "links.tsv"], "nowhere.csv: no such file; check the path"),
        (["left.csv", "left.csv", "-o", "links.tsv", *["--columns", "head=subject"] * 3], "--columns is given 3 times"),
        (["left.csv", "left.csv", "-o", "links.tsv", "--columns", "who=x"], "columns: there is no 'who'"),
        (["left.csv", "left.csv", "-o", "links.tsv", "--columns", "head"], "--columns 'head': write head=NAME"),
        (["left.csv", "left.csv", "-o", "links.tsv", "--columns", "time=a,begin=b"], "give begin and end, or time"),
        (["left.csv", "left.csv", "-o", "links.tsv", "--time-predicate", "x"], "--time-predicate 'x': write begin=IRI"),
        (["left.csv", "left.csv", "-o", "links.tsv", "--time-format", "%d"], "has no year"),
        (["left.csv", "left.csv", "-o", "links.tsv", "--format", "wikidata"], "left.csv:1: not valid JSON"),
        (["left.csv", "left.csv", "-o", "links.tsv", "--seeds", "days.tsv"], "days.tsv:1: 4 tab-separated columns"),
    ],
)  # fmt: skip
def test_what_is_refused(here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    said = refused(capsys, "align", *arguments)
    assert words in said
    assert "Traceback" not in said


def test_a_folder_with_dates_of_another_form(
    here: Path, small_world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gold pairs need no dates; `benchmark` is told their form as `align` is."""
    monkeypatch.setattr(benchmark, "unit_seconds", lambda: [1.0])
    world = Path(shutil.copytree(small_world, here / "world"))
    iso = (world / "time_id").read_text()
    (world / "time_id").write_text(re.sub(r"(\d{4})-(\d\d)-(\d\d)", r"\3/\2/\1", iso))
    refused(capsys, "benchmark", "world", "-q")
    assert "add --time-format %d/%m/%Y" in refused(capsys, "align", "world", "-o", "links.tsv")
    main(["align", "world", "-o", "links.tsv", "--time-format", "%d/%m/%Y", "-q"])
    main(["evaluate", "links.tsv", "--gold", "world/all_pairs", "--json", "-"])
    found = json.loads(capsys.readouterr().out)["abstention"]["f1"]
    main(["benchmark", "world", "--time-format", "%d/%m/%Y", "--json", "-"])
    assert json.loads(capsys.readouterr().out)["abstention"]["f1"] == found > 0.5
