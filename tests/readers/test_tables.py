"""CSV, TSV, Parquet and data frames: any shape of table, and the exact line of what is wrong."""

from __future__ import annotations

import datetime
import gzip
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import zstandard

from dualmatch import InputError, TemporalGraph
from dualmatch.files.compressed import blocks
from dualmatch.readers import delimited
from dualmatch.readers.read import read, read_graph
from dualmatch.readers.read_options import ReadOptions
from io_facts import dates_of, facts_of

ADA = [("Ada", "lived in", "London", "1835-03", "1852-11-27"), ("Ada", "met", "Charles", "1833", "?")]
TSV = "subject\tpredicate\tobject\tstart\tend\nAda\tlived in\tLondon\t1835-03\t1852-11-27\nAda\tmet\tCharles\t1833\t\n"
CSV = TSV.replace("\t", ",")


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(path: Path, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read_graph(path, **options)
    message = str(caught.value)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


FORMS = {
    "tsv": ("a.tsv", TSV),
    "csv": ("a.csv", CSV),
    "quoted csv": ("a.csv", CSV.replace("subject", '"subject"').replace("Charles", '"Charles"')),
    "semicolons": ("a.csv", CSV.replace(",", ";")),
    "semicolons, quoted": ("a.csv", CSV.replace(",", ";").replace("London", '"London"')),
    "gz": ("a.tsv.gz", gzip.compress(TSV.encode(), mtime=0)),
    "zst": ("a.csv.zst", zstandard.compress(CSV.encode())),
    "crlf": ("a.tsv", TSV.replace("\n", "\r\n")),
    "crlf, quoted": ("a.csv", CSV.replace("Ada", '"Ada"').replace("\n", "\r\n")),
    "bom": ("a.csv", "\ufeff" + CSV),
    "bom, quoted": ("a.csv", "\ufeff" + CSV.replace("subject", '"subject"')),
    "blank lines": ("a.tsv", "\n\n" + TSV.replace("\n", "\n\n  \n")),
    "blank lines, quoted": ("a.csv", "\n" + CSV.replace("Ada", '"Ada"').replace("\n", "\n\n")),
    "no last newline": ("a.tsv", TSV.rstrip("\n")),
    "more columns": ("a.csv", "".join(f"x,{line},y\n" for line in CSV.splitlines())),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content"), FORMS.values(), ids=FORMS)
def test_all_of_these_say_the_same(tmp_path: Path, name: str, content: str | bytes) -> None:
    assert facts_of(read_graph(write(tmp_path / name, content))) == ADA


@pytest.mark.parametrize("size", [1, 7, 40, 10**6])
@pytest.mark.parametrize("quote", ["", '"'])
def test_blocks_of_any_size_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, quote: str
) -> None:
    monkeypatch.setattr(delimited, "blocks", lambda file, **_: blocks(file, size))
    monkeypatch.setattr(delimited, "ROWS_AT_ONCE", 2)
    lines = [f"{quote}e{i}{quote},r,e{i + 1},{1900 + i}" for i in range(20)]
    path = write(tmp_path / "a.csv", "head,relation,tail,year\n" + "\n".join(lines) + "\nx,r,y,soon")
    assert refusal(path, on_error="stop").split("\n") == [
        ":22: 'soon' is not a date; write YYYY, YYYY-MM or YYYY-MM-DD, or -inf for unknown",
        "fix this line, or leave it out with --on-error skip",
    ]
    assert read_graph(path, on_error="skip").n_facts == 20


def test_columns_by_name_by_number_and_guessed(tmp_path: Path) -> None:
    odd = write(tmp_path / "odd.csv", "wen,von,was,wer\nCharles,1833,met,Ada\n")
    columns = {"head": "wer", "relation": "was", "tail": "wen", "begin": "von"}
    assert facts_of(read_graph(odd, columns=columns)) == [("Ada", "met", "Charles", "1833", "?")]
    bare = write(tmp_path / "bare.tsv", "Ada\tmet\tCharles\t1833\n")
    by_number = {"head": "1", "relation": "2", "tail": "3", "time": "4"}
    assert facts_of(read_graph(bare, columns=by_number)) == [("Ada", "met", "Charles", "1833", "1833")]
    ids = write(tmp_path / "ids.tsv", "2\t1\t3\t2001\n9\t1\t8\t2002\n")
    numbers = {"head": "1", "relation": "2", "tail": "3", "time": "4"}
    assert facts_of(read_graph(ids, columns=numbers)) == [
        ("2", "1", "3", "2001", "2001"),
        ("9", "1", "8", "2002", "2002"),
    ]
    reading = read([write(tmp_path / "a.tsv", TSV)], ReadOptions(columns={"end": "end", "head": "subject"}))
    assert reading.notes == (
        f"{tmp_path}/a.tsv: guessed that relation is 'predicate', tail is 'object', begin is 'start'",
    )


@pytest.mark.parametrize(
    ("header", "columns", "words"),
    [
        ("a,b,c", None, ": cannot tell which column is the head; the columns are 'a', 'b', 'c': say so with --columns"),
        ("head,x,tail", None, ": cannot tell which column is the relation; "),
        ("head,rel,tail", {"begin": "von"}, ": no column 'von'; the columns are 'head', 'rel', 'tail'"),
        ("head,rel,tail,d,d", {"begin": "d"}, ": 2 columns are called 'd'; give each its own name"),
        ("head,rel,tail", {"head": "1", "relation": "2", "tail": "4"}, ":1: has 3 columns, there is no column 4"),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_found(tmp_path: Path, header: str, columns: dict[str, str] | None, words: str) -> None:
    path = write(tmp_path / "a.csv", header + "\n1,2,3,4,5\n")
    assert refusal(path, columns=columns).startswith(words)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.tsv", TSV + "Ada\tmet\n", ":4: 2 columns where the first line has 5"),
        ("a.tsv", TSV + "\nAda\tmet\tx\t1\t2\t3\n", ":5: 6 columns where the first line has 5"),
        ("a.csv", CSV + 'Ada,"met\n you",x,1\n', ":4: 4 columns where the first line has 5"),
        ("a.csv", CSV.replace("London", '"Lon\ndon"') + "Ada,met,x,soon,\n", ":5: 'soon' is not a date"),
        ("a.csv", CSV + 'Ada,"met\n', ":4: not valid CSV up to here (unexpected end of data)"),
        ("a.tsv", TSV + "\tmet\tx\t1\t2\n", ":4: no head; every fact needs one"),
        ("a.tsv", TSV + "Ada\tmet\t \t1\t2\n", ":4: no tail; every fact needs one"),
        ("a.tsv", TSV + "Ada\tmet\tx\t1900\t1899-12\n", ":4: ends in 1899-12, before it begins in 1900;"),
        ("a.tsv", TSV.encode() + b"Ada\tmet\t\xff\t1\t2\n", ":4: not UTF-8 text; convert the file to UTF-8"),
        ("a.csv", CSV.encode() + b'Ada,"met",\xff,1,2\n', ":4: not UTF-8 text; convert the file to UTF-8"),
        ("a.tsv", TSV + "Ada\tmet\tx\0\t1\t2\n", ":4: a NUL byte, which no text has"),
        ("a.tsv", TSV.encode("utf-16"), ":1: UTF-16; save it as UTF-8"),
        ("a.csv", CSV.encode("utf-16-le"), ":1: UTF-16; save it as UTF-8"),
        ("a.tsv", "", ": no facts; an empty graph cannot be aligned"),
        ("a.tsv", "head\trelation\ttail\n", ": no facts; an empty graph cannot be aligned"),
        ("a.tsv", "x" * 10**7, ": cannot tell which column is the head; the columns are 'xxxx"),
        ("a.tsv", TSV + "y" * 10**7, ":4: 1 columns where the first line has 5"),
        ("a.csv", CSV + 'Ada,met,"' + "y" * 10**7, ":4: not valid CSV up to here (field larger than field limit"),
        ("a.tsv.gz", gzip.compress(TSV.encode() * 99, mtime=0)[:-20], ": broken or cut off, it cannot be unpacked"),
        ("a.tsv.zst", zstandard.compress(TSV.encode() * 99)[:-3], ": broken or cut off, it cannot be unpacked"),
        ("a.parquet", b"PAR1", ": not a readable Parquet file"),
        ("a.xyz", TSV, ": its name does not show its format; give --format (csv, tsv, parquet"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_reported_with_its_line(tmp_path: Path, name: str, content: str | bytes, words: str) -> None:
    assert refusal(write(tmp_path / name, content)).startswith(words)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("last", ["Eve,met,1850,Carl\n", "Eve,met,1850,Carl"])
def test_a_long_and_a_short_line_do_not_make_up_for_each_other(tmp_path: Path, separator: str, last: str) -> None:
    lines = "head,relation,time,tail,note\nAda,met,1833,Mary,x\nBob,met,1840,Smith, Jr.,y\n"
    path = write(tmp_path / ("a.tsv" if separator == "\t" else "a.csv"), (lines + last).replace(",", separator))
    long, short, _ = refusal(path).split("\n")
    assert long == ":3: 6 columns where the first line has 5"
    assert short == f"{path}:4: 4 columns where the first line has 5"
    assert facts_of(read_graph(path, on_error="skip")) == [("Ada", "met", "Mary", "1833", "1833")]


def test_all_problems_are_counted_and_the_first_five_shown(tmp_path: Path) -> None:
    bad = ["Ada\tmet\n", "Ada\tmet\tx\tsoon\t2\n"] * 10
    said = refusal(write(tmp_path / "a.tsv", TSV + "".join(bad)), on_error="stop").split("\n")
    assert [line.split(": ")[0].rpartition(":")[2] for line in said[:5]] == ["4", "5", "6", "7", "8"]
    assert said[5:] == ["… and 15 more problems", "fix these lines, or leave them out with --on-error skip"]


def test_lines_left_out_are_kept_with_the_reason(tmp_path: Path) -> None:
    bad = 'Ada,met\nAda,met,x,soon,\n"Ada",met,,,\n'
    reading = read([write(tmp_path / "a.csv", CSV + bad)], ReadOptions(on_error="skip"))
    assert facts_of(reading.graph) == ADA
    reading.rejections.write(tmp_path / "rejected.tsv")
    lines = (tmp_path / "rejected.tsv").read_text().splitlines()
    assert [line.split("\t")[1:] for line in lines] == [
        ["line", "problem", "text"],
        ["4", "2 columns where the first line has 5", "Ada,met"],
        ["5", "'soon' is not a date; write YYYY, YYYY-MM or YYYY-MM-DD, or -inf for unknown", "Ada,met,x,soon,"],
        ["6", "no tail; every fact needs one", "Ada,met,,,"],
    ]
    too_many = refusal(tmp_path / "a.csv", on_error="skip", max_errors=2)
    assert too_many.endswith("more than 2 lines cannot be used; fix the file or raise --max-errors")


@pytest.mark.parametrize(
    ("time_format", "text", "date"),
    [
        ("%d.%m.%Y", "27.11.1852", "1852-11-27"),
        ("%m/%Y", "11/1852", "1852-11"),
        ("year %Y", "year 1852", "1852"),
        ("%d.%m.%Y", "present", "?"),
        ("epoch", "0", "1970-01-01"),
        ("epoch", "-86400", "1969-12-31"),
        ("epoch-ms", "1109635200000", "2005-03-01"),
        (None, "44 BCE", "-44"),
        (None, "2005-##-##", "2005"),
        (None, "2005-00-00", "2005"),
        (None, "+1541-00-00T00:00:00Z", "1541"),
        (None, "2005-03-01T23:59:59.5+02:00", "2005-03-01"),
        (None, "0999-01-02", "0999-01-02"),
        ("%d.%m.%Y", "1899-12-31", "1899-12-31"),
        ("%d.%m.%Y", "31 Dec 1899", "1899-12-31"),
        ("%Y%m", "201304", "2013-04"),
    ],
)
def test_times_in_the_users_own_form(tmp_path: Path, time_format: str | None, text: str, date: str) -> None:
    path = write(tmp_path / "a.csv", f"head,relation,tail,time\na,r,b,{text}\n")
    assert facts_of(read_graph(path, time_format=time_format)) == [("a", "r", "b", date, date)]


@pytest.mark.parametrize("time_format", ["%d.%m", "%Q %Y", "%Y %Y", "year"])
def test_a_time_format_that_cannot_be_is_refused(time_format: str) -> None:
    with pytest.raises(InputError, match="time_format"):
        read_graph([("a", "r", "b", "1")], time_format=time_format)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TSV.encode())))
    assert facts_of(read_graph("-", format="tsv")) == ADA
    with pytest.raises(InputError, match="standard input: has no name that shows its format; give --format"):
        read_graph("-")


@pytest.mark.parametrize("library", ["polars", "lazy polars", "polars categories", "pandas", "pyarrow"])
def test_data_frames_of_any_library(library: str) -> None:
    columns = {"head": ["Ada", "Ada"], "rel": ["met", "saw"], "tail": ["Charles", "Mary"], "year": [1833, None]}
    make = {
        "polars": pl.DataFrame,
        "lazy polars": pl.LazyFrame,
        "polars categories": lambda columns: pl.DataFrame(columns).with_columns(pl.col("head").cast(pl.Categorical)),
        "pandas": lambda columns: pytest.importorskip("pandas").DataFrame(columns),
        "pyarrow": lambda columns: pytest.importorskip("pyarrow").table(columns),
    }[library]
    assert facts_of(read_graph(make(columns))) == [
        ("Ada", "met", "Charles", "1833", "1833"),
        ("Ada", "saw", "Mary", "?", "?"),
    ]


@pytest.mark.parametrize("role", ["head", "relation", "tail"])
@pytest.mark.parametrize("kind", ["object", "str", "category", "float64", "Int64"])
@pytest.mark.parametrize("as_tuples", [False, True])
def test_a_missing_name_is_a_rejected_row(role: str, kind: str, as_tuples: bool) -> None:
    pandas = pytest.importorskip("pandas")
    names = {"head": ["1", "2"], "relation": ["1", "2"], "tail": ["3", "4"], "year": ["1833", "1834"]}
    frame = pandas.DataFrame(names)
    is_number = kind in ("float64", "Int64")
    frame[role] = pandas.Series([1 if is_number else "1", None], dtype=kind)
    given = [*frame.itertuples(index=False, name=None)] if as_tuples else frame
    if as_tuples and given[1][2] is None:  # a date of the entity itself
        assert dates_of(read_graph(given)) == [("2", "2", "1834", "1834")]
        return
    with pytest.raises(InputError, match=f":2: no {role}; every fact needs one"):
        read_graph(given)
    graph = read_graph(given, on_error="skip")
    assert graph.n_facts == 1
    assert not {"nan", "NaN", "<NA>", "None", "2"} & {*graph.entities, *graph.relations}


def test_a_missing_name_is_no_name_in_tuples_of_texts() -> None:
    for missing in (None, float("nan")):
        with pytest.raises(InputError, match="graph: fact 2: no head; every fact needs one"):
            TemporalGraph.from_facts([("Ada", "met", "Charles"), (missing, "met", "Mary")])


def test_duckdb_relations() -> None:
    pytest.importorskip("duckdb")
    code = """
import duckdb
from dualmatch import read_graph
print(read_graph(duckdb.sql("select 'Ada' as head, 'met' as relation, 'Charles' as tail, 1833 as year")).entities)
"""  # in a process of its own: duckdb complains of leaks at the end of the tests'
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout == "('Ada', 'Charles')\n", run.stderr


def test_typed_columns(tmp_path: Path) -> None:
    day = datetime.date(2005, 3, 1)
    table = pl.DataFrame(
        {"head": [1, 2], "relation": ["r", "r"], "tail": [2, 3], "start": [day, None], "end": [None, day]}
    )
    for frame in (table, table.with_columns(pl.col("start", "end").cast(pl.Datetime))):
        frame.write_parquet(tmp_path / "a.parquet")
        assert facts_of(read_graph(tmp_path / "a.parquet")) == [
            ("1", "r", "2", "2005-03-01", "?"),
            ("2", "r", "3", "?", "2005-03-01"),
        ]
    for values, words in (
        ([0.5, 1.5], "holds fractions"),
        ([[1], [2]], r"holds List\(Int64\)"),
        ([b"x", b"y"], "Binary"),
    ):
        with pytest.raises(InputError, match=words):
            read_graph(table.with_columns(start=pl.Series(values)))


def test_tuples() -> None:
    facts = [("a", "r", "b"), ["b", "r", "c", 2000], ("c", "r", "d", None, "2001-05")]
    assert facts_of(read_graph(facts)) == [
        ("a", "r", "b", "?", "?"),
        ("b", "r", "c", "2000", "2000"),
        ("c", "r", "d", "?", "2001-05"),
    ]
    for wrong, words in (
        ([("a", "b")], "number 1 is not a fact"),
        (["abc"], "number 1 is not a fact"),
        (3, "cannot be read from int"),
    ):
        with pytest.raises(InputError, match=words):
            read_graph(wrong)  # type: ignore[arg-type]


def test_several_files_are_one_graph_and_rows_count_again(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a.tsv", TSV), write(tmp_path / "b.csv", CSV)]
    assert facts_of(read_graph(*paths)) == sorted(ADA * 2)


def test_the_order_of_a_file_does_not_matter() -> None:
    facts = [(f"e{i}", f"r{i % 3}", f"e{i // 2}", 1900 + i % 7, 1950 + i % 5) for i in range(100)]
    one, other = read_graph(facts), read_graph(facts[::-1])
    assert one.entities == other.entities == tuple(sorted(one.entities))
    for column in ("head", "relation", "tail", "begin", "end"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))


def test_a_million_rows(tmp_path: Path) -> None:
    rows = pl.select(i=pl.int_range(10**6)).select(
        head=pl.format("e{}", pl.col("i") % 1000),
        rel=pl.format("r{}", pl.col("i") % 7),
        tail=pl.format("e{}", pl.col("i") // 1000),
        year=1000 + pl.col("i") % 1000,
    )
    rows.write_csv(tmp_path / "a.tsv", separator="\t")
    rows.write_parquet(tmp_path / "a.parquet")
    one, other = read_graph(tmp_path / "a.tsv"), read_graph(tmp_path / "a.parquet")
    assert one.n_facts == 10**6
    assert one.statistics == other.statistics


@pytest.mark.parametrize("limit", [0, 2, 3])
def test_the_first_problems_come_first_however_many_may_be_left_out(tmp_path: Path, limit: int) -> None:
    path = tmp_path / "a.csv"
    path.write_text("head,relation,tail,begin,end\na,r,b,2000,1999\nc,r,d,2001,\n,r,d,2001,\nq,r\nx,y,z,20x1,\n")
    with pytest.raises(InputError) as caught:
        read_graph(path, on_error="skip", max_errors=limit)
    *problems, last = str(caught.value).splitlines()
    assert [each.removeprefix(f"{path}:").split(":")[0] for each in problems] == ["2", "4", "5", "6"]
    assert last.startswith(f"more than {limit} lines cannot be used")


def test_tuples_may_be_dates_of_an_entity() -> None:
    facts = [("a", "born", None, "1815"), ("a", "met", "b", "1833"), ("b", "lived", None, "1815", "1820")]
    assert dates_of(read_graph(facts)) == dates_of(TemporalGraph.from_facts(facts)) == [
        ("a", "born", "1815", "1815"), ("b", "lived", "1815", "1820")
    ]  # fmt: skip
    assert facts_of(read_graph(facts)) == [("a", "met", "b", "1833", "1833")]
    with pytest.raises(InputError, match="facts:3: no tail; every fact needs one"):
        read_graph([*facts[:2], ("a", "born", None)])
