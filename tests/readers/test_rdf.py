"""RDF: every way to say when, in every syntax."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dualmatch import InputError
from dualmatch.readers.rdf.quads import read_quads
from dualmatch.readers.read import read, read_graph
from dualmatch.readers.read_options import ReadOptions, TimePredicates
from dualmatch.readers.rejected_lines import Rejections
from io_facts import Fact, facts_of

E = "http://e/"
PREFIXES = """
@prefix : <http://e/> . @prefix s: <http://schema.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix wd: <http://www.wikidata.org/entity/> . @prefix wds: <http://www.wikidata.org/entity/statement/> .
@prefix p: <http://www.wikidata.org/prop/> . @prefix ps: <http://www.wikidata.org/prop/statement/> .
@prefix pq: <http://www.wikidata.org/prop/qualifier/> . @prefix pqv: <http://www.wikidata.org/prop/qualifier/value/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> . @prefix wikibase: <http://wikiba.se/ontology#> .
@prefix v: <http://www.wikidata.org/value/> .
"""
ADA = ("Ada", "livedIn", "London", "1835-03", "1852-11-27")

# The same fact, said in every way a file may say it.
WAYS = {
    "annotation": ':Ada :livedIn :London {| s:startDate "1835-03"^^xsd:gYearMonth ; s:endDate "1852-11-27" |} .',
    "named reifier": ':Ada :livedIn :London ~ :r . :r :begin "1835-03" ; :end "1852-11-27" .',
    "quoted, not asserted": '<< :Ada :livedIn :London >> :begin "1835-03" ; :end "1852-11-27" .',
    "quoted, in two halves": '<< :Ada :livedIn :London >> :begin "1835-03" . '
    '<< :Ada :livedIn :London >> :end "1852-11-27" .',
    "reification": "[] a rdf:Statement ; rdf:subject :Ada ; rdf:predicate :livedIn ; rdf:object :London ; "
    ':begin "1835-03" ; :end "1852-11-27" . :Ada :livedIn :London .',
    "node in the middle": ':Ada :livedIn [ a :Residence ; :place :London ; :begin "1835-03" ; :end "1852-11-27" ] .',
    "named node with rdf:value": ':Ada :livedIn :x . :x rdf:value :London ; :begin "1835-03" ; :end "1852-11-27" ; '
    ":source :Book .",
}


def graph_of(tmp_path: Path, content: str | bytes, name: str = "facts.ttl", **options: object) -> list[Fact]:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return facts_of(read_graph(path, namespaces=(E, "http://www.wikidata.org/entity/"), **options))


@pytest.mark.parametrize("turtle", WAYS.values(), ids=WAYS)
def test_every_way_to_say_when(tmp_path: Path, turtle: str) -> None:
    assert graph_of(tmp_path, PREFIXES + turtle) == [ADA]


def test_named_graphs_date_their_triples(tmp_path: Path) -> None:
    trig = (
        PREFIXES
        + """
        :g1 { :Ada :met :Charles . :Ada :knew :Mary {| :date "1830" |} } :g2 { :Ada :met :Babbage }
        :g1 :date "1833" . :g2 :source :Book . """
    )
    assert graph_of(tmp_path, trig, "facts.trig") == [
        ("Ada", "knew", "Mary", "1830", "1830"),
        ("Ada", "met", "Babbage", "?", "?"),
        ("Ada", "met", "Charles", "1833", "1833"),
        ("g2", "source", "Book", "?", "?"),
    ]


def test_n_triples_with_triple_terms_and_n_quads(tmp_path: Path) -> None:
    reifies = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>"
    triple = "<http://e/Ada> <http://e/livedIn> <http://e/London>"
    times = '_:r <http://e/begin> "1835-03" .\n_:r <http://e/end> "1852-11-27" .\n'
    assert graph_of(tmp_path, f"{triple} .\n_:r {reifies} <<( {triple} )>> .\n{times}", "a.nt") == [ADA]
    quads = f"{triple} <http://e/g> .\n" + times.replace("_:r", "<http://e/g>")
    assert graph_of(tmp_path, quads, "a.nq") == [ADA]


def test_rdf_xml(tmp_path: Path) -> None:
    xml = """<?xml version="1.0"?>
    <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://e/">
      <rdf:Description rdf:about="http://e/Ada"><livedIn rdf:ID="r" rdf:resource="http://e/London"/></rdf:Description>
      <rdf:Description rdf:about="#r"><begin>1835-03</begin><end>1852-11-27</end></rdf:Description>
    </rdf:RDF>"""
    assert graph_of(tmp_path, xml, "a.rdf") == [ADA]


WIKIDATA = """
wd:Q7 p:P551 wds:1 ; wdt:P551 wd:Q84 ; wdt:P31 wd:Q5 ; rdfs:label "Ada"@en .
wds:1 ps:P551 wd:Q84 ; pq:P580 "1835-01-01T00:00:00Z"^^xsd:dateTime ; pqv:P580 v:a ; pqv:P582 v:b ;
      wikibase:rank wikibase:NormalRank ; pq:P1 wd:Q99 .
v:a wikibase:timeValue "1835-01-01T00:00:00Z" ; wikibase:timePrecision "9" .
v:b wikibase:timeValue "1852-11-27T00:00:00Z" ; wikibase:timePrecision 11 .
wd:Q7 p:P2 wds:2 . wds:2 ps:P2 wd:Q46 ; pq:P585 "-0043-03-15T00:00:00Z" .
wd:Q7 p:P2 wds:3 . wds:3 ps:P2 wd:Q47 ; pqv:P580 v:c .
v:c wikibase:timeValue "1800-01-01T00:00:00Z" ; wikibase:timePrecision 7 .
wd:Q7 p:P2 wds:4 . wds:4 ps:P2 wd:Q48 ; wikibase:rank wikibase:DeprecatedRank .
wd:Q7 p:P2 wds:5 . wds:5 ps:P2 _:somebody .
<https://en.wikipedia.org/wiki/Ada> s:about wd:Q7 .
"""


def test_wikidata_statements(tmp_path: Path) -> None:
    path = tmp_path / "wikidata.ttl"
    path.write_text(PREFIXES + WIKIDATA)
    reading = read([path], ReadOptions(namespaces=("http://www.wikidata.org/entity/",), literals=True))
    assert facts_of(reading.graph) == [
        ("Q7", "P2", "Q46", "-0044-03-15", "-0044-03-15"),
        ("Q7", "P2", "Q47", "?", "?"),
        ("Q7", "P31", "Q5", "?", "?"),
        ("Q7", "P551", "Q84", "1835", "1852-11-27"),
    ]
    assert reading.notes == (
        f"{path}: 1 time coarser than a year is taken as unknown",
        f"{path}: left out: deprecated statements (1), links of records (1), unknown values (1)",
    )
    assert reading.literals is not None
    assert reading.literals.labels == {reading.graph.entity_rows["Q7"]: "Ada"}


def test_two_nodes_that_date_one_triple_are_two_facts(tmp_path: Path) -> None:
    turtle = ':Ada :in :Rome ~ :a {| :begin "1830" ; :end "1831" |} ~ :b {| :begin "1840" |} .'
    assert graph_of(tmp_path, PREFIXES + turtle) == [
        ("Ada", "in", "Rome", "1830", "1831"),
        ("Ada", "in", "Rome", "1840", "?"),
    ]


def test_middle_nodes_without_a_time_are_taken_apart_where_others_have_one(tmp_path: Path) -> None:
    turtle = (
        ':Ada :post [ :as :Clerk ; :at :Bank ; :begin "1830" ] . :Mary :post [ :as :Clerk ] ; :likes [ :is :Tea ] .'
    )
    assert graph_of(tmp_path, PREFIXES + turtle) == [
        ("Ada", "as", "Clerk", "1830", "?"),
        ("Ada", "at", "Bank", "1830", "?"),
        ("Mary", "likes", "_:.3", "?", "?"),
        ("Mary", "post", "Clerk", "?", "?"),
        ("_:.3", "is", "Tea", "?", "?"),
    ]


def test_statements_about_literals_are_no_facts_and_their_nodes_no_entities(tmp_path: Path) -> None:
    turtle = """:Ada :name "Ada" {| :source :Book |} . :Ada :met :Mary .
        [] rdf:subject :Ada ; rdf:predicate :name ; rdf:object "Ada" ; :source :Book .
        :Ada :weighed [ rdf:value 50 ; :date "1830" ; :in :Rome ] ; :weighed [ :kilos 60 ; :date "1840" ] ."""
    assert graph_of(tmp_path, PREFIXES + turtle) == [("Ada", "met", "Mary", "?", "?")]


def test_said_twice_is_said_once(tmp_path: Path) -> None:
    assert graph_of(tmp_path, PREFIXES + ":a :r :b . :a :r :b . << :a :r :b >> :source :c .") == [
        ("a", "r", "b", "?", "?")
    ]


def test_a_date_of_an_entity_is_no_time_of_a_fact(tmp_path: Path) -> None:
    path = tmp_path / "a.ttl"
    path.write_text(
        PREFIXES + ':Ada :met :Mary ; :date "some day" ; :name "Ada" . :Mary :met :Ada {| :begin "1830" |} .'
    )
    reading = read([path], ReadOptions(literals=True, namespaces=(E,)))
    assert facts_of(reading.graph) == [("Ada", "met", "Mary", "?", "?"), ("Mary", "met", "Ada", "1830", "?")]
    assert reading.literals is not None
    assert list(zip(reading.literals.attribute, reading.literals.value, strict=True)) == [
        ("date", "some day"),
        ("name", "Ada"),
    ]


def test_predicates_can_be_set(tmp_path: Path) -> None:
    turtle = PREFIXES + ':Ada :met :Mary {| :von "1830" ; :begin "1900" |} .'
    predicates = TimePredicates(begin=("http://e/von",), end=("bis",), time=())
    assert graph_of(tmp_path, turtle, time_predicates=predicates) == [("Ada", "met", "Mary", "1830", "?")]


def test_blank_nodes_of_two_files_are_two(tmp_path: Path) -> None:
    for name in ("a.nt", "b.nt"):
        (tmp_path / name).write_text("_:x <http://e/r> <http://e/b> .\n")
    graph = read_graph(tmp_path / "a.nt", tmp_path / "b.nt")
    assert graph.entities == ("_:1/x", "_:x", "http://e/b")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.nt", "<http://e/a> <http://e/r> <http://e/b> .\nnonsense\n", "a.nt:2: not valid N-Triples: The subject"),
        ("a.nt", '<< <http://e/a> <http://e/r> <http://e/b> >> <http://e/at> "1" .\n', "a.nt:1: a quoted triple as a"),
        ("a.ttl", "@prefix : <http://e/> .\n:a :r :b\n", "a.ttl:3: not valid Turtle: "),
        ("a.ttl", PREFIXES + '\n:a :r :b {| :begin "soon" |} .', r"a.ttl:10: 'soon' is not a date; .*time of _:\.1"),
        ("a.ttl", PREFIXES + ':a :r :b {| :begin "1900" ; :end "1899" |} .', "a.ttl: a r b: ends in 1899, before"),
        ("a.rdf", "<rdf", "a.rdf:1: ends within an element"),
        ("a.ttl", "", "a.ttl: no facts"),
        ("a.ttl", PREFIXES + ':a :name "x" .', "a.ttl: no facts"),
        ("a.ttl", b"\xff\xfe", "a.ttl:1: not valid Turtle: not UTF-8 text"),
        ("a.nt.gz", gzip.compress(b"<http://e/a> <http://e/r> <http://e/b> .\n" * 99, mtime=0)[:-9], ": broken or"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_reported_with_its_place(tmp_path: Path, name: str, content: str | bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        graph_of(tmp_path, content, name)


def test_bad_statements_can_be_left_out(tmp_path: Path) -> None:
    lines = "<http://e/a> <http://e/r> <http://e/b> .\nnonsense\n<http://e/a> <http://e/r> <http://e/c> .\n"
    assert [fact[2] for fact in graph_of(tmp_path, lines, "a.nt", on_error="skip")] == ["b", "c"]


def test_a_fact_whose_time_is_wrong_is_left_out_whole(tmp_path: Path) -> None:
    turtle = (
        PREFIXES
        + ':a :r :b {| :begin "soon" |} . :a :r :c {| :begin "1990" ; :end "1980" |} . :a :r :d {| :at "1" |} .'
    )
    assert graph_of(tmp_path, turtle, on_error="skip") == [("a", "r", "d", "1", "1")]


def test_two_runs_agree(tmp_path: Path) -> None:
    turtle = PREFIXES + ":a :r [ :is :b ], [ :is :c ] ."
    assert graph_of(tmp_path, turtle) == graph_of(tmp_path, turtle)


def test_wrong_times_come_in_the_order_of_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    reifies = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>"
    facts = [
        f"_:{name} {reifies} <<( <http://e/{name}> <http://e/r> <http://e/b> )>> .\n"
        f'_:{name} <http://e/begin> "{name}?" .\n'
        for name in "zyxwvutsr"
    ]
    path.write_text("".join(facts))
    with pytest.raises(InputError) as caught:
        read_graph(path)
    said = str(caught.value).splitlines()
    assert [line.removeprefix(f"{path}:").split(" ")[:2] for line in said[:5]] == [
        ["2:", "'z?'"], ["4:", "'y?'"], ["6:", "'x?'"], ["8:", "'w?'"], ["10:", "'v?'"]
    ]  # fmt: skip
    assert said[5].startswith("… and 4 more problems")


def test_blank_nodes_of_two_files_are_never_one(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text("_:1-x <http://e/r> <http://e/a> .\n_:1-.1 <http://e/r> <http://e/a> .\n")
    (tmp_path / "b.ttl").write_text("_:x <http://e/r> <http://e/a> . [] <http://e/r> <http://e/a> .")
    graph = read_graph(tmp_path / "a.nt", tmp_path / "b.ttl")
    assert (graph.n_entities, graph.n_facts) == (5, 4)


def test_a_wrong_line_of_turtle_is_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "a.ttl"
    path.write_text("<a> <r> <b> .\n<a> $ % & <b> .\n<a> <r> <c> .\n")
    with path.open("rb") as file:
        read_quads(file, path, "turtle", rejections := Rejections("skip"))
    assert [each.line for each in rejections.kept] == [2]
    assert "column" not in rejections.kept[0].why


REVERSED = {
    "a.ttl": (
        PREFIXES + ":c :r :ab .\n:a :q :x ;\n  :r :b {| :begin 1900 ; :end 1899 |} .\n",
        "gives no line; look from line 10 on",
    ),
    "a.trig": (PREFIXES + ':g { :ab :r :b .\n:a :r :b }\n:g :begin "1900" ; :end "1899" .\n', "look at line 10"),
    "a.rdf": (
        f'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="{E}">\n'
        f'<rdf:Statement rdf:about="{E}n"><rdf:subject rdf:resource="{E}a"/>\n'
        f'<rdf:predicate rdf:resource="{E}r"/><rdf:object rdf:resource="{E}b"/>\n'
        "<e:begin>1900</e:begin><e:end>1899</e:end></rdf:Statement></rdf:RDF>",
        "gives no line; look from line 2 on",
    ),
}


@pytest.mark.parametrize("name", REVERSED)
def test_a_fact_that_ends_too_early_is_looked_for_in_its_file(tmp_path: Path, name: str) -> None:
    content, words = REVERSED[name]
    (tmp_path / name).write_text(content)
    predicates = TimePredicates(begin=(f"{E}begin",), end=(f"{E}end",))
    with pytest.raises(InputError) as caught:
        read_graph(tmp_path / name, time_predicates=predicates)
    assert "ends in 1899, before it begins in 1900; fix one of the two" in str(caught.value)
    assert words in str(caught.value)
