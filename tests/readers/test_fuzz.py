"""Whatever bytes a file holds, reading it gives a graph or an `InputError`, nothing else."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import tempfile
from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dualmatch import InputError
from dualmatch.readers.columns import TableShape
from dualmatch.readers.delimited import _Table
from dualmatch.readers.facts import Collector
from dualmatch.readers.read import read
from dualmatch.readers.read_options import ReadOptions

TURTLE = b"""@prefix : <http://e/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
:a :r :b {| :begin "1990" ; :end "2000-01" |} . :a :q [ :is :c ; :date "1991" ] . :a :name "x"@en .
[] rdf:subject :a ; rdf:predicate :r ; rdf:object :c ; :begin "-44" . << :a :r :d >> :end "1999" . :g :at "1" .
"""
NTRIPLES = b"""<http://e/a> <http://e/r> <http://e/b> .
_:x <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <http://e/a> <http://e/r> <http://e/b> )>> .
_:x <http://e/begin> "1990"^^<http://www.w3.org/2001/XMLSchema#gYear> .
"""
WIKIBASE = b"""<http://w/entity/Q1> <http://w/prop/P1> <http://w/s> .
<http://w/s> <http://w/prop/statement/P1> <http://w/entity/Q2> .
<http://w/s> <http://w/prop/qualifier/value/P580> <http://w/v> .
<http://w/v> <http://wikiba.se/ontology#timeValue> "1990-01-01T00:00:00Z" .
<http://w/v> <http://wikiba.se/ontology#timePrecision> "9" .
"""
XML = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://e/">
<rdf:Description rdf:about="http://e/a"><r rdf:resource="http://e/b"/><name>x</name></rdf:Description></rdf:RDF>"""
JSON = (
    b"""[
{"id":"Q1","labels":{"en":{"value":"x"}},"claims":{"P1":[{"mainsnak":{"snaktype":"value","datavalue":
{"type":"wikibase-entityid","value":{"id":"Q2"}}},"rank":"normal","qualifiers":{"P580":[{"snaktype":"value",
"datavalue":{"type":"time","value":{"time":"+1990-00-00T00:00:00Z","precision":9}}}]}}]}},
]""".replace(b"\n", b"")
    .replace(b"[{", b"[\n{", 1)
    .replace(b",]", b",\n]")
)
TABLE = b"head\trelation\ttail\tbegin\tend\na\tr\tb\t1990\t2000-01-01\nb\tr\tc\t\t-44\n"


def parquet() -> bytes:
    buffer = io.BytesIO()
    pl.read_csv(TABLE, separator="\t", infer_schema=False).write_parquet(buffer)
    return buffer.getvalue()


SOUND = {
    "tsv": TABLE,
    "csv": TABLE.replace(b"\t", b","),
    "quoted.csv": TABLE.replace(b"\t", b",").replace(b"a,r", b'"a,1",r'),
    "parquet": parquet(),
    "nt": NTRIPLES,
    "wikibase.nt": WIKIBASE,
    "nq": NTRIPLES.replace(b"<http://e/b> .", b"<http://e/b> <http://e/g> .", 1)
    + b'<http://e/g> <http://e/at> "1990" .\n',
    "ttl": TURTLE,
    "trig": TURTLE + b":g { :a :r :e }",
    "rdf": XML,
    "json": JSON,
    "array.json": JSON.replace(b"\n", b"").replace(b"},]", b"}]"),
    "pretty.json": json.dumps({"entities": {"Q1": json.loads(JSON.replace(b"},\n]", b"}]"))[0]}}, indent=1).encode(),
    "json.bz2": bz2.compress(JSON),
    "tsv.gz": gzip.compress(TABLE, mtime=0),
    "csv.zst": zstandard.compress(TABLE.replace(b"\t", b",")),
}
SLIPS = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 3),
        st.binary(max_size=3)
        | st.sampled_from([b'"', b"\t", b"\n", b"\r", b"\0", b"{", b"<<", b"9" * 12, b"\xff", b"-"]),
    ),
    min_size=1,
    max_size=4,
)


def outcome(content: bytes, extension: str, on_error: str) -> str:
    """What reading says: the graph, or the refusal, which names the file."""
    with tempfile.TemporaryDirectory() as here:
        path = Path(here) / f"a.{extension}"
        path.write_bytes(content)
        try:
            reading = read([path], ReadOptions(literals=True, on_error=on_error))  # type: ignore[arg-type]
        except InputError as error:
            refusal = str(error)
        else:
            return repr(reading.graph)
    assert refusal.startswith(str(path))
    return refusal


@pytest.mark.parametrize("extension", SOUND)
def test_the_sound_files_are_sound(extension: str) -> None:
    assert outcome(SOUND[extension], extension, "stop").startswith("TemporalGraph(")


@pytest.mark.parametrize("extension", SOUND)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(slips=SLIPS, on_error=st.sampled_from(["dates", "stop", "skip"]))
def test_any_slip_in_a_sound_file(extension: str, slips: list[tuple[float, int, bytes]], on_error: str) -> None:
    content = SOUND[extension]
    for share, removed, inserted in slips:
        at = int(share * len(content))
        content = content[:at] + inserted + content[at + removed :]
    assert outcome(content, extension, on_error)


@pytest.mark.parametrize(
    "extension", ["tsv", "csv", "parquet", "nt", "nq", "ttl", "trig", "rdf", "json", "tsv.gz", "csv.zst"]
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(content=st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))
@example(content=b"")
@example(content=b"\n")
@example(content=b"\xef\xbb\xbf")
@example(content=b"\0")
@example(content=b"\xff\xfeh\0")
@example(content=b'"')
def test_any_bytes(extension: str, content: bytes) -> None:
    assert outcome(content, extension, "stop")


@pytest.mark.parametrize("extension", ["tsv", "csv", "quoted.csv", "parquet", "nt", "nq", "ttl", "trig", "rdf", "json"])
def test_a_line_of_ten_megabytes(extension: str) -> None:
    content = SOUND[extension] + (b'"' if "quoted" in extension else b"<") + b"z" * 10**7
    assert len(outcome(content, extension, "stop")) < 2000


CELLS = st.text(st.characters(exclude_characters='\t\n\r\0"', exclude_categories=["Cs"]), max_size=4)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(CELLS, min_size=4, max_size=4), min_size=1, max_size=5))
def test_fast_and_slow_splitting_agree(records: list[list[str]]) -> None:
    """A line of another width at the end sends the whole block the slow way; the other lines must come out the same."""
    block = "".join("\t".join(record) + "\n" for record in records).encode()
    shape = TableShape({"head": 0, "relation": 1, "tail": 2, "time": 3}, True, 4)
    table = _Table(Path("a"), Collector(ReadOptions()), "\t", number=2)
    slow, fast = table.rows_of_block(block + b"odd\n", shape), table.rows_of_block(block, shape)
    same = pl.col(pl.String).fill_null("")
    assert fast.table.with_columns(same).rows() == slow.table.with_columns(same).rows()
    assert [fast.text(row) for row in range(fast.table.height)] == [slow.text(row) for row in range(slow.table.height)]
