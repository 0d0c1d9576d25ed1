"""Files made to break readers: bombs, endless lines, deep nesting, half characters. All end in words, and soon."""

from __future__ import annotations

import gzip
import io
import json
import time
import zlib
from collections.abc import Callable
from datetime import date
from pathlib import Path

import polars as pl
import pytest
import zstandard

from conftest import refused
from dualmatch import InputError, read_graph
from dualmatch.files import bounded, compressed
from dualmatch.files.bounded import gzip_pieces, zstd_pieces
from dualmatch.readers.read import read
from dualmatch.readers.read_options import ReadOptions

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XML = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://e/">{{}}</rdf:RDF>'
TRIPLE = "<http://e/s> <http://e/p> <http://e/o> .\n"


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that are met in a few MiB instead of hundreds."""
    monkeypatch.setattr(bounded, "_LEAST", 1 << 21)
    for module in (bounded, compressed):
        monkeypatch.setattr(module, "LONGEST_LINE", 1 << 20)


@pytest.mark.usefixtures("small_bounds")
@pytest.mark.parametrize("name", ["bomb.csv", "bomb.tsv", "bomb.nt", "bomb.nq", "bomb.json"])
@pytest.mark.parametrize(("piece", "words"), [(b"a", "a line of more than"), (b"\n", "500 times its size")])
def test_bombs_of_one_line_or_of_line_breaks_are_refused(tmp_path: Path, name: str, piece: bytes, words: str) -> None:
    for pack, ending in ((gzip.compress, ".gz"), (zstandard.ZstdCompressor().compress, ".zst")):
        path = written(tmp_path / (name + ending), pack(piece * (1 << 23)))
        with pytest.raises(InputError, match=f"{words}|500 times its size"):
            read_graph(path)
    if piece == b"a":
        with pytest.raises(InputError, match=f"{name}:1: ({words}|not valid JSON)"):
            read_graph(written(tmp_path / name, piece * (1 << 21)))


def test_zstd_is_unpacked_in_small_steps_whatever_the_frames() -> None:
    many = zstandard.ZstdCompressor(write_checksum=True, write_content_size=False)
    text = b"".join(b"%d\n" % number for number in range(200_000))
    skipped = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc"
    packed = many.compress(b"x" * (1 << 24)) + skipped + zstandard.compress(text) + zstandard.compress(b"")
    pieces = [*zstd_pieces(io.BytesIO(packed))]
    assert b"".join(pieces) == b"x" * (1 << 24) + text
    assert max(map(len, pieces)) <= 1 << 20
    for cut in (1, 5, 9, len(packed) // 2, len(packed) - 1):
        with pytest.raises((EOFError, zstandard.ZstdError)):
            b"".join(zstd_pieces(io.BytesIO(packed[:cut])))


def test_gzip_is_unpacked_in_small_steps_whatever_the_members() -> None:
    text = b"".join(b"%d\n" % number for number in range(200_000))
    members = [b"x" * (1 << 24), text, b"", b"y" * ((1 << 20) + 1)]
    packed = b"\0\0\0".join(map(gzip.compress, members))
    for after in (b"", b"\0" * (1 << 21)):
        pieces = [*gzip_pieces(io.BytesIO(packed + after))]
        assert b"".join(pieces) == b"".join(members)
        assert max(map(len, pieces)) <= 1 << 20
    wrong_sum = packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:]
    for broken in (*(packed[:cut] for cut in (1, 5, 20, len(packed) // 2, len(packed) - 1)), packed + b"x", wrong_sum):
        with pytest.raises((EOFError, zlib.error)):
            b"".join(gzip_pieces(io.BytesIO(broken)))


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (f'<!DOCTYPE r [<!ENTITY l0 "lol">{LAUGHS}]>' + XML.format("<e:a/>"), ":1: an entity that refers to others"),
        (f"<!DOCTYPE r [<!ENTITY l0 '{'x' * 100_000}'>]>" + XML.format("&l0;" * 1000), "can expand without end"),
        (
            "<!DOCTYPE r [\n<!ENTITY % p \"&#x3c;!ENTITY q '&#37;p;'>\">%p;]>" + XML.format(""),
            ":2: an entity|not valid RDF/XML",
        ),
        (XML.format("<e:a><e:b>" * 10_000), "within each other"),
        (XML.format("<" * 100_000), "rdfxml|within each other"),
    ],
)
def test_xml_that_expands_or_nests_without_end_is_refused(tmp_path: Path, document: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_graph(written(tmp_path / "laughs.rdf", document))


def test_many_uses_of_an_entity_are_refused_once_they_are_absurd(tmp_path: Path) -> None:
    document = f'<!DOCTYPE r [<!ENTITY a "{"x" * 900}">]>' + XML.format(
        f'<e:s rdf:about="http://e/s"><e:p>{"&a;" * 400_000}</e:p></e:s>'
    )
    with pytest.raises(InputError, match="expand to far more than it holds"):
        read_graph(written(tmp_path / "quadratic.rdf", document))


def test_entities_for_namespaces_are_read(tmp_path: Path) -> None:
    document = '<!DOCTYPE r [<!ENTITY e "http://e/"><!ENTITY quot2 "&#34;">]>' + XML.format(
        '<rdf:Description rdf:about="&e;s"><e:p rdf:resource="&e;o"/></rdf:Description>'
    )
    graph = read_graph(written(tmp_path / "namespaces.rdf", document))
    assert graph.entities == ("http://e/o", "http://e/s")


_COMMENTED = "<<( <http://e/a> <http://e/c> #)>>\n"
_DEEP = {
    "brackets.jsonld": '{"http://e/a":' * 3000 + "1" + "}" * 3000,
    "lists.jsonld": "[" * 3000 + "]" * 3000,
    "strings.jsonld": '{"http://e/x":"}\\\\\\"}","http://e/a":' * 3000 + "1" + "}" * 3000,
    "terms.ttl": f"{TRIPLE}<http://e/s> <http://e/p> " + "<<( <http://e/s> <http://e/p> " * 1500 + "1" + " )>>" * 1500,
    "comments.ttl": f"{TRIPLE}<http://e/s> <http://e/p> " + _COMMENTED * 3000 + "1" + ")>>" * 3000,
    **{
        f"hidden-{at}.ttl": f"{TRIPLE}<http://e/s#t> <http://e/p#q> " + hiding * 3000 + "1" + ")>>" * 3000
        for at, hiding in enumerate(
            ["<<(#)>>\n:s :p\n", "<<( <http://e/a#b>#)>>\n:p ", "<<( :s#<a#b> )>>\n:p ", "<<( :s :p#<a#b>)>>\n"]
        )
    },
    "before.ttl": f"{TRIPLE}<http://e/s> <http://e/p> '{')>>' * 3000}' . <http://e/s> <http://e/p> "
    + "<<( :s :p " * 3000,
    "elements.rdf": XML.format("<e:a><e:b>" * 700 + "</e:b></e:a>" * 700),
    "comments.rdf": XML.format("<e:A><e:p><!-- </ </ -->" * 1500 + "</e:p></e:A>" * 1500),
    "long-comment.rdf": XML.format("<e:A><e:p><!--" + " " * 70_000 + "</" * 9 + "-->" + "<e:A><e:p>" * 600),
    "cdata.rdf": XML.format("<e:A><e:p><![CDATA[</ </]]>" * 1500),
    "attributes.rdf": XML.format("<e:A e:x='/>'><e:p>" * 1500),
}


@pytest.mark.parametrize("name", _DEEP)
def test_what_is_nested_within_a_piece_or_hides_its_ends_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="within each other"):
        read_graph(written(tmp_path / name, _DEEP[name]))


def test_what_only_looks_nested_is_read(tmp_path: Path) -> None:
    term = "<http://e/s> <http://e/p#q> <<( <http://e/a> <http://e/b#c> 'x # )>> y' )>> . # <<( <<(\n"
    read_graph(written(tmp_path / "many.ttl", TRIPLE + term * 5000))
    element = "<e:A rdf:about='http://e/s'><!-- <e:B> <e:B> --><e:p rdf:resource='http://e/o'/><e:q>a > b</e:q></e:A>"
    assert read_graph(written(tmp_path / "many.rdf", XML.format(element * 5000))).n_facts == 2  # and its class
    node = '{"@id": "http://e/s%d", "http://e/p": [{"@id": "http://e/o"}], "http://e/q": "[{[{\\"[{"}'
    whole = "[" + ",".join(node % number for number in range(3000)) + "]"
    assert read_graph(written(tmp_path / "many.jsonld", whole)).n_facts == 3000


@pytest.mark.parametrize("name", ["deep.nt", "deep.ttl", "deep.trig"])
def test_nested_triple_terms_are_refused(tmp_path: Path, name: str) -> None:
    deep = "<<( <http://e/s> <http://e/p> " * 20_000 + "<http://e/o>" + " )>>" * 20_000
    with pytest.raises(InputError, match=r"triple terms"):
        read_graph(written(tmp_path / name, f"{TRIPLE}<http://e/s> <http://e/p> {deep} .\n"))


@pytest.mark.parametrize("name", ["long.nt", "long.ttl"])
def test_a_literal_beyond_what_the_parser_takes_is_named(tmp_path: Path, name: str) -> None:
    literal = '<http://e/s> <http://e/p> "' + "\\u0041" * (3 << 20) + '" .\n'
    with pytest.raises(InputError, match="more than 16 MiB"):
        read_graph(written(tmp_path / name, TRIPLE + literal))


def in_time(read: Callable[[], object], seconds: float = 15.0) -> None:
    """What took minutes before takes a moment, also on a busy machine: CPU time is counted."""
    start = time.process_time()
    read()
    assert time.process_time() - start < seconds


@pytest.mark.parametrize("name", ["junk.ttl", "junk.trig"])
def test_junk_on_one_line_is_refused_soon(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, TRIPLE + "ǅ" * 200_000 + "\n")

    def refused() -> None:
        with pytest.raises(InputError, match=f"{name}:2"):
            read_graph(path)

    in_time(refused)


@pytest.mark.parametrize("name", ["blank.csv", "blank.tsv"])
def test_blank_lines_before_the_header_are_skipped_soon(tmp_path: Path, name: str) -> None:
    separator = "," if name.endswith("csv") else "\t"
    facts = "head,relation,tail,begin\na,b,c,1900\n".replace(",", separator)
    path = written(tmp_path / name, "\n \r\n" * 2_000_000 + facts)
    in_time(lambda: read_graph(path))
    assert read_graph(path).n_facts == 1
    with pytest.raises(InputError, match=f"{name}:{4_000_003}: "):
        read_graph(written(tmp_path / name, "\n \r\n" * 2_000_000 + facts + f"x{separator}y\n"))


def test_a_million_columns_are_refused_soon(tmp_path: Path) -> None:
    path = written(tmp_path / "wide.csv", ",".join(f"c{n}" for n in range(1_000_000)) + "\n")

    def refused() -> None:
        with pytest.raises(InputError, match="1,000,000 columns"):
            read_graph(path)

    in_time(refused)


@pytest.mark.parametrize("place", ["id", "tail", "property"])
def test_half_a_character_is_rejected_and_can_be_skipped(tmp_path: Path, place: str) -> None:
    half = {name: f"Q{n}\ud800" if name == place else f"Q{n}" for n, name in enumerate(("id", "tail", "property"))}

    def entity(head: str, tail: str, relation: str) -> str:
        value = {"type": "wikibase-entityid", "value": {"id": tail}}
        claims = {relation: [{"rank": "normal", "mainsnak": {"snaktype": "value", "datavalue": value}}]}
        return json.dumps({"id": head, "claims": claims}) + "\n"

    content = entity(half["id"], half["tail"], half["property"]) + entity("Q5😀", "Q6", "P1")
    path = written(tmp_path / "half.json", content)
    with pytest.raises(InputError, match=r"half.json:1: half a character, \\ud800"):
        read_graph(path)
    assert read_graph(path, on_error="skip").entities == ("Q5😀", "Q6")


@pytest.mark.parametrize(
    "times",
    [
        pl.Series([2**31 - 1, -(2**31)], dtype=pl.Int32).cast(pl.Date),
        pl.Series([2**63 - 1, 0], dtype=pl.Int64).cast(pl.Datetime("ms")),
        pl.Series([1e300, 1900.0]),
        pl.Series([float("inf"), 1900.0]),
    ],
)
def test_parquet_times_out_of_range_are_refused(
    tmp_path: Path, times: pl.Series, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "times.parquet"
    pl.DataFrame({"head": ["a", "b"], "relation": ["r", "r"], "tail": ["c", "d"], "begin": times}).write_parquet(path)
    with pytest.raises(InputError, match=r"times\.parquet"):
        read_graph(path)
    assert capfd.readouterr().err == ""  # nothing of a panic in Rust
    good = pl.DataFrame({"head": ["a"], "relation": ["r"], "tail": ["c"], "begin": [date(1833, 6, 5)]})
    good.write_parquet(path)
    assert read_graph(path).n_facts == 1


def test_millions_of_empty_lines_are_skipped_soon_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "empty.json", "\n" * 5_000_000 + "no entity\n")

    def refused() -> None:
        with pytest.raises(InputError, match=r"empty\.json:5000001: not valid JSON"):
            read_graph(path)

    in_time(refused, 5.0)


def test_a_note_on_endless_language_tags_is_short(tmp_path: Path) -> None:
    path = written(tmp_path / "tags.ttl", TRIPLE + f'<http://e/s> <http://e/name> "Ada"@zh-cl{"9" * 5000}assical .\n')
    reading = read([path], ReadOptions())
    assert any("language tags longer than" in note for note in reading.notes)
    assert sum(map(len, reading.notes)) < 500


def test_a_table_of_entities_with_thousands_of_columns_is_refused(tmp_path: Path) -> None:
    header = "id,name," + ",".join(f"c{number}" for number in range(1500))
    path = written(tmp_path / "wide.csv", header + "\n" + "".join(f"e{n},Ada{',x' * 1500}\n" for n in range(3)))
    with pytest.raises(InputError, match=r"wide\.csv: .* in 1,50\d columns; name those to read, 1,000 at most"):
        read_graph(path)
    assert read_graph(path, columns={"id": "id", "tail": "c7"}).n_facts == 3


@pytest.mark.parametrize("name", ["empty.nt", "empty.nq"])
def test_millions_of_empty_lines_of_triples_take_no_memory(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, "\n" * 9_000_000 + TRIPLE.strip() + "\n" + "\n" * 3_000_000 + "wrong\n")

    def refused() -> None:
        with pytest.raises(InputError, match=rf"{name}:12000002: "):
            read_graph(path)

    in_time(refused, 5.0)
    written(path, "\n" * 5_000_000 + TRIPLE.strip() + "\n" * 5_000_000)
    assert read_graph(path).n_facts == 1


def test_a_file_of_wrong_triples_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = written(tmp_path / "wrong.nt", "no triple\n" * 400_000)
    with pytest.raises(InputError, match=r"wrong\.nt:1: .*(?s:.*)and 10\d,\d\d\d more problems"):
        read_graph(path)


def test_a_name_without_end_is_refused_and_a_long_text_is_not(tmp_path: Path) -> None:
    path = written(tmp_path / "name.ttl", TRIPLE + "a" * (3 << 20))

    def refused() -> None:
        with pytest.raises(InputError, match=r"name\.ttl:2: a name of more than 1 MiB"):
            read_graph(path)

    in_time(refused, 10.0)
    written(path, f'{TRIPLE}<http://e/s> <http://e/text> "{"A" * (9 << 20)}" .\n')
    assert read_graph(path).n_facts == 1


@pytest.mark.parametrize("name", ["long.csv", "long.tsv", "long.nt", "long.json"])
def test_a_line_is_bounded_by_the_memory_limit(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = {
        ".csv": "head,relation,tail",
        ".tsv": "head\trelation\ttail",
        ".nt": TRIPLE.strip(),
        ".json": '{"id": "Q1"}',
    }
    written(tmp_path / name, first[Path(name).suffix] + "\n" + "a" * 5 * 2**20 + "\n")
    for limit, bound in (("64MiB", "4 MiB"), ("72MiB", "4 MiB")):
        said = refused(["align", name, name, "-o", "links.tsv", "--memory-limit", limit], capsys, tmp_path)
        assert f"{name}:2: a line of more than {bound}" in said
    said = refused(["align", name, name, "-o", "links.tsv", "--memory-limit", "8GB"], capsys, tmp_path)
    assert "a line of more than" not in said
    written(tmp_path / "l.tsv", "source\ttarget\tconfidence\na\tb\t0.9\n")
    for call in (
        ["inspect", name],
        ["split", name, "-o", "out"],
        ["merge", name, name, "--links", "l.tsv", "-o", "m.tsv"],
    ):
        assert "of more than 4 MiB" in refused([*call, "--memory-limit", "64MiB"], capsys, tmp_path)


@pytest.mark.parametrize("name", ["much.csv", "much.nt", "people.csv"])
def test_what_is_read_stays_within_the_memory_limit(tmp_path: Path, name: str) -> None:
    header, row = {
        "much.csv": ("head,relation,tail\n", "Ada{0},met,Charles\n"),
        "much.nt": ("", "<http://e/s{0}> <http://e/p> <http://e/o> .\n"),
        "people.csv": ("id,name,born\n", "p{0},Ada,1815\n"),
    }[name]
    path = written(tmp_path / name, header + "".join(row.format(number) for number in range(10_000)))
    assert read([path], ReadOptions(memory_limit=2**26)).graph.n_entities >= 10_000
    with pytest.raises(InputError, match=r"more than the memory limit of 0\.0 GB has room for; give it more"):
        read([path], ReadOptions(memory_limit=100_000))
