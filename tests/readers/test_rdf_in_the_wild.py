"""RDF as people have it: dates of entities, times two steps away, records, odd tags, JSON-LD, and what is left out."""

from __future__ import annotations

import io
import re
import sys
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dualmatch import InputError
from dualmatch.readers.rdf.quads import read_quads
from dualmatch.readers.read import Reading, read
from dualmatch.readers.read_options import ReadOptions, TimePredicates
from dualmatch.readers.rejected_lines import Rejections
from io_facts import dates_of, facts_of

E = "http://e/"
PREFIXES = """@prefix : <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix time: <http://www.w3.org/2006/time#> . @prefix crm: <http://www.cidoc-crm.org/cidoc-crm/> .
@prefix prov: <http://www.w3.org/ns/prov#> . @prefix vivo: <http://vivoweb.org/ontology/core#> .
@prefix dcterms: <http://purl.org/dc/terms/> . @prefix org: <http://www.w3.org/ns/org#> . @prefix schema: <http://schema.org/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""  # noqa: E501
SPACES = (
    E,
    "http://www.w3.org/ns/org#",
    "http://www.w3.org/ns/prov#",
    "http://vivoweb.org/ontology/core#",
    "http://www.cidoc-crm.org/cidoc-crm/",
)


def reading_of(folder: Path, content: str, name: str = "a.ttl", **options: object) -> Reading:
    path = folder / name
    path.write_text((PREFIXES if path.suffix in (".ttl", ".trig") else "") + content)
    return read([path], ReadOptions(namespaces=SPACES, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("date", ['"0000"^^xsd:gYear', '"unknown"^^xsd:date', '""^^xsd:date'])
def test_typed_dates_that_say_nothing_are_counted(tmp_path: Path, date: str) -> None:
    said = reading_of(tmp_path, f':Ada :born {date} ; :died "1852"^^xsd:gYear . :Bo :met :Ada .')
    assert dates_of(said.graph) == [("Ada", "died", "1852", "1852")]
    assert said.left_out == {"unknown dates": 1}
    assert said.notes == (f"{tmp_path / 'a.ttl'}: 1 date of an entity is unknown, and left out",)
    years = ", ".join(f'"185{n}"^^xsd:gYear' for n in range(9))
    wrong = reading_of(tmp_path, f':Ada :born {date} ; :d {years}, "x"^^xsd:date .')
    assert "1 of 10 dates cannot be read" in " ".join(wrong.notes)  # nothing is wrong with the other
    with pytest.raises(InputError, match=r"no facts; .*\(left out: unknown dates \(1\)\)"):
        reading_of(tmp_path, f":Ada :born {date} .")


def test_typed_dates_are_dates_of_their_entity(tmp_path: Path) -> None:
    graph = reading_of(
        tmp_path,
        """:Ada :born "1815-12-10"^^xsd:date ; :died "1852-11-27T10:00:00Z"^^xsd:dateTime ;
           :wed "1835-07"^^xsd:gYearMonth ; :award "1843"^^xsd:gYear ;
           :note "1843" ; :height 170 ; :name "Ada"@en . :Charles :born "1791-12-26" .""",
    ).graph
    assert graph.n_facts == 0
    assert dates_of(graph) == [
        ("Ada", "award", "1843", "1843"),
        ("Ada", "born", "1815-12-10", "1815-12-10"),
        ("Ada", "died", "1852-11-27", "1852-11-27"),
        ("Ada", "wed", "1835-07", "1835-07"),
        ("Charles", "born", "1791-12-26", "1791-12-26"),
    ]


def test_spans_of_time_and_years_before_the_common_era(tmp_path: Path) -> None:
    """-0044 is 44 BCE, as in tables; with a time of day it counts as in XSD 1.1."""
    reading = reading_of(
        tmp_path,
        """@prefix edtf: <http://id.loc.gov/datatypes/edtf/> .
           :Ada :alive "1815/1852"^^edtf:EDTF ; :born "1815~"^^edtf:EDTF-level1 ; :wrote "184X"^^edtf:EDTF .
           :Caesar :died "-0044-03-15"^^xsd:date ; :slain "-0043-03-15T12:00:00Z"^^xsd:dateTime ;
           :none "0000"^^xsd:gYear . :Ada :met :Bo {| :during "1830s" |} , :Cy {| :date "1830s" |} .
           :Ada :in :Rome {| :begin "1830s" ; :end "1840s" |} .""",
    )
    assert dates_of(reading.graph) == [
        ("Ada", "alive", "1815", "1852"),
        ("Ada", "born", "1815", "1815"),
        ("Ada", "wrote", "1840", "1849"),
        ("Caesar", "died", "-0044-03-15", "-0044-03-15"),
        ("Caesar", "slain", "-0044-03-15", "-0044-03-15"),
    ]
    assert facts_of(reading.graph) == [
        ("Ada", "in", "Rome", "1830", "1849"),
        ("Ada", "met", "Bo", "?", "?"),
        ("Ada", "met", "Cy", "1830", "1839"),
    ]


def test_a_month_that_is_none_costs_its_date(tmp_path: Path) -> None:
    description = ' time:hasTime [ time:inDateTime [ time:year "1830" ; time:month "--{}" ] ] .'
    turtle = "".join(f":e{month} :in :Rome ;" + description.format(month) for month in ("01", 2, 3, 4, 5, 13))
    reading = reading_of(tmp_path, turtle)
    assert [fact[3] for fact in facts_of(reading.graph)] == [
        "1830-01",
        "?",
        *(f"1830-0{month}" for month in range(2, 6)),
    ]
    assert "dates cannot be read and is unknown; '1830-13'" in reading.notes[0]


def test_plain_texts_are_dates_where_four_in_five_of_a_predicate_are(tmp_path: Path) -> None:
    turtle = (
        ':Ada :born "1815-12-10" ; :code "1815-12-10" . :Bo :born "1815-12" ; :code "x" ; schema:name "2001-01-01" .'
    )
    assert dates_of(reading_of(tmp_path, turtle).graph) == [
        ("Ada", "born", "1815-12-10", "1815-12-10"),
        ("Bo", "born", "1815-12", "1815-12"),
    ]


def test_plain_dates_beside_years_typed_dates_and_texts(tmp_path: Path) -> None:
    days = "".join(f':p{day} :born "1815-12-{day:02d}" . ' for day in range(1, 8))
    reading = reading_of(tmp_path, days + ':Ada :born "1816" . :Bo :born "in spring" . :Cy :born "unknown" .')
    assert len(dates_of(reading.graph)) == 8
    assert ("Ada", "born", "1816", "1816") in dates_of(reading.graph)
    assert "1 of 9 dates cannot be read and is unknown" in reading.notes[0]
    typed = ':Ada :born "1816"^^xsd:gYear ; :met :Bo ; :no "1816" . :Bo :born "1817-01-02" ; :no 7 . :Cy :born "1818" .'
    assert [date[:3] for date in dates_of(reading_of(tmp_path, typed).graph)] == [
        ("Ada", "born", "1816"), ("Bo", "born", "1817-01-02"), ("Cy", "born", "1818")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("predicate", "values", "dates"),
    [
        ("schema:foundingDate", '"1800" "1835"', ["1800", "1835"]),
        ("schema:birthDate", '"1815-12-10"', ["1815-12-10"]),
        (":born", '"c. 1830" "10 December 1815" "44 BC"', ["1830", "1815-12-10", "-44"]),
        (":foundedIn", "1800 1835", ["1800", "1835"]),
        (":lastPage", '"12" "850"', []),
        (":lastPage", "12 850 1800", []),
        (":lastPage", "1234 1235", []),
        (":birthPlace", '"1800" "1801"', []),
        (":code", '"1800" "1801"', []),
        (":born", '"in spring" "at sea" "1830"', []),
    ],
)
def test_plain_years_are_dates_where_the_predicates_name_says_so(
    tmp_path: Path, predicate: str, values: str, dates: list[str]
) -> None:
    found = re.findall(r'"[^"]*"|\d+', values)
    turtle = ":a :met :b . " + " ".join(f":p{at} {predicate} {value} ." for at, value in enumerate(found))
    reading = reading_of(tmp_path, turtle)
    assert [date[2] for date in dates_of(reading.graph)] == dates
    assert reading.left_out.get("literals", 0) == (0 if dates else len(found))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "a.ttl",
            r""":a rdfs:label "文"@zh-classical , "x \"@FOO-barbarbarbar\" y"@en , 'say "@zh-Classical'@en .
            :a :met :b .""",
        ),
        (
            "a.nt",
            '<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "文"@zh-classical .\n'
            r'<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "x \"@FOO-barbarbarbar\" y"@en .' + "\n"
            r'<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "say \"@zh-Classical"@en .' + "\n"
            "<http://e/a> <http://e/met> <http://e/b> .\n",
        ),
        (
            "a.jsonld",
            '{"@context": {"@vocab": "http://schema.org/"}, "@id": "e:a", "met": {"@id": "e:b"}, "name": ['
            r'{"@value": "文", "@language": "zh-classical"}, "x \"@FOO-barbarbarbar\" y", "say \"@zh-Classical"]}',
        ),
    ],
)  # fmt: skip
def test_long_language_tags_change_no_text(tmp_path: Path, name: str, content: str) -> None:
    reading = reading_of(tmp_path, content, name, names="auto")
    assert reading.literals is not None
    assert reading.literals.value == ('say "@zh-Classical', 'x "@FOO-barbarbarbar" y', "文")
    assert reading.notes[0].endswith("read all the same: zh-classical")


@pytest.mark.parametrize("name", ["a.nt", "a.ttl"])
def test_long_texts_that_are_no_names_are_counted_and_not_held(tmp_path: Path, name: str) -> None:
    long = "é" * 300
    content = f"""<http://e/a> <http://e/met> <http://e/b> .
<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "{long}" .
<http://e/a> <http://e/abstract> "{long}"@en .\n"""
    reading = reading_of(tmp_path, content, name, names="auto")
    assert reading.literals is not None
    assert reading.literals.value == (long,)
    assert reading.left_out == {"literals": 1}
    whole = reading_of(tmp_path, content, name, literals=True)
    assert whole.literals is not None
    assert whole.literals.value == (long, long)
    path, format = tmp_path / name, {"a.nt": "ntriples", "a.ttl": "turtle"}[name]
    for keeps_texts, longest in ((True, 300), (False, 120)):
        with path.open("rb") as file:
            quads = read_quads(file, path, format, Rejections(), keeps_texts=keeps_texts)
        texts = quads.plain.filter(pl.col("p") == "http://e/abstract")["o"]
        assert texts.to_list() == ["é" * longest]


def test_named_roles_and_memberships_date_what_they_say(tmp_path: Path) -> None:
    turtle = """@prefix org: <http://www.w3.org/ns/org#> .
        :Ada :alumniOf :r . :r a schema:OrganizationRole ; :alumniOf :Uni ; schema:startDate "1830"^^xsd:gYear .
        :m a org:Membership ; :member :Ada ; :organization :Club ; org:memberDuring :i .
        :i time:hasBeginning [ time:inXSDDate "1831-02-03"^^xsd:date ] ;
           time:hasEnd [ time:inXSDDate "1832-02-03"^^xsd:date ] ."""
    graph = reading_of(tmp_path, turtle).graph
    assert [fact for fact in facts_of(graph) if "type" not in fact[1]] == [
        ("Ada", "alumniOf", "Uni", "1830", "?"),
        ("m", "member", "Ada", "1831-02-03", "1832-02-03"),
        ("m", "organization", "Club", "1831-02-03", "1832-02-03"),
    ]
    assert dates_of(graph) == []


def test_names_by_the_usual_predicates(tmp_path: Path) -> None:
    turtle = """@prefix vcard: <http://www.w3.org/2006/vcard/ns#> . @prefix dc: <http://purl.org/dc/elements/1.1/> .
        :a foaf:name "A" . :b vcard:fn "B" . :c dcterms:title "C" . :d dc:title "D" ; skos:altLabel "E" .
        :a :met :b , :c , :d ."""
    literals = reading_of(tmp_path, turtle, names="auto").literals
    assert literals is not None
    assert [literals.labels.get(row) for row in range(4)] == ["A", "B", "C", "D"]


def test_a_date_that_is_none_costs_itself(tmp_path: Path) -> None:
    dates = "".join(f':p{day} :born "1815-12-{day:02d}"^^xsd:date . ' for day in range(1, 10))
    reading = reading_of(tmp_path, dates + ':Ada :born "1815-02-30"^^xsd:date ; :met :p1 .')
    assert len(dates_of(reading.graph)) == 9
    assert facts_of(reading.graph) == [("Ada", "met", "p1", "?", "?")]
    assert reading.notes[0].startswith(f"{tmp_path / 'a.ttl'}: 1 of 10 dates cannot be read and is unknown; line 7: ")
    with pytest.raises(InputError, match=r"a.ttl:7: .*month 2 of 1815 has no day 30.* \(the time of http://e/Ada\)"):
        reading_of(tmp_path, dates + ':Ada :born "1815-02-30"^^xsd:date ; :met :p1 .', on_error="stop")


def test_with_skip_a_date_that_is_none_costs_itself_or_its_statement(tmp_path: Path) -> None:
    trig = """:Ada :born "1815-02-30"^^xsd:date ; :died "1852-11-27"^^xsd:date ; :met :Bo .
        :Ada :post [ :as :Clerk ; :begin "1830-02-30" ] , [ :as :Cook ; :begin "1831" ] .
        :flight prov:startedAtTime "1830-02-30"^^xsd:date ; prov:endedAtTime "1830-03-01"^^xsd:date ; :by :Ada .
        :g1 :begin "1830-02-30" ; :end "1840" . :g1 { :Ada :knew :Cy } """
    reading = reading_of(tmp_path, trig, "a.trig", on_error="skip")
    assert facts_of(reading.graph) == [
        ("Ada", "knew", "Cy", "?", "1840"),
        ("Ada", "met", "Bo", "?", "?"),
        ("Ada", "post", "Cook", "1831", "?"),
        ("flight", "by", "Ada", "?", "1830-03-01"),
    ]
    assert dates_of(reading.graph) == [("Ada", "died", "1852-11-27", "1852-11-27")]
    assert reading.rejections.total == 4


def test_dates_of_records_are_left_out_and_counted(tmp_path: Path) -> None:
    reading = reading_of(
        tmp_path,
        """:Ada :met :Bo ; dcterms:modified "2020-01-01"^^xsd:date .
           :Novel dcterms:issued "1830-01-01"^^xsd:date ; dcterms:creator :Ada .
           :page foaf:primaryTopic :Ada ; dcterms:created "2019-01-01"^^xsd:date ; prov:generatedAtTime
           "2019-01-01T00:00:00Z"^^xsd:dateTime .""",
    )
    assert dates_of(reading.graph) == [("Novel", "http://purl.org/dc/terms/issued", "1830-01-01", "1830-01-01")]
    assert reading.notes == (f"{tmp_path / 'a.ttl'}: left out: dates of records (3)",)


ADA = [("Ada", "in", "Rome", "1830-05-01", "1831")]
TWO_STEPS = {
    "interval of a reifier": """<< :Ada :in :Rome >> time:hasTime [ a time:ProperInterval ;
        time:hasBeginning [ a time:Instant ; time:inXSDDate "1830-05-01"^^xsd:date ] ;
        time:hasEnd [ time:inXSDgYear "1831"^^xsd:gYear ] ] .""",
    "named interval and instants": """:Ada :in :Rome {| time:hasTime :i |} . :i a time:Interval ; time:hasBeginning :b ;
        time:hasEnd :e ; time:hasTRS :calendar . :b time:inXSDDateTimeStamp "1830-05-01T00:00:00Z"^^xsd:dateTimeStamp .
        :e time:inXSDgYear "1831"^^xsd:gYear .""",
    "node in the middle with a time-span": """:Ada :in [ :place :Rome ; crm:P4_has_time-span [ a crm:E52_Time-Span ;
        crm:P2_has_type :roughly ; crm:P82a_begin_of_the_begin "1830-05-01"^^xsd:date ;
        crm:P82b_end_of_the_end "1831"^^xsd:gYear ] ] .""",
    "years, months and days apart": """<< :Ada :in :Rome >> time:hasTime [ time:hasBeginning [ time:inDateTime [
        time:unitType time:unitDay ; time:year "1830"^^xsd:gYear ; time:month "--05"^^xsd:gMonth ;
        time:day "---01"^^xsd:gDay ] ] ; time:hasEnd [ time:inDateTime [ time:year "1831"^^xsd:gYear ] ] ] .""",
    "begin and end on nodes": """:Ada :in [ :place :Rome ; :start [ :date "1830-05-01" ] ; :end [ :year "1831" ] ] .""",
    "VIVO, to the year": """:Ada :in [ :place :Rome ; vivo:dateTimeInterval :i ] . :i a vivo:DateTimeInterval ;
        vivo:start :s ; vivo:end :e . :s vivo:dateTime "1830-05-01T00:00:00"^^xsd:dateTime ;
        vivo:dateTimePrecision vivo:yearMonthDayPrecision . :e vivo:dateTimePrecision vivo:yearPrecision ;
        vivo:dateTime "1831-01-01T00:00:00"^^xsd:dateTime .""",
}  # fmt: skip


@pytest.mark.parametrize("turtle", TWO_STEPS.values(), ids=TWO_STEPS)
def test_times_two_steps_away(tmp_path: Path, turtle: str) -> None:
    graph = reading_of(tmp_path, turtle).graph
    assert facts_of(graph) == ADA
    assert dates_of(graph) == []


EVENTS = {
    "activity": (
        """:talk a prov:Activity ; prov:startedAtTime "1830-05-01T09:00:00Z"^^xsd:dateTime ; prov:used :Hall ;
           prov:endedAtTime "1830-05-02T12:00:00Z"^^xsd:dateTime . :paper prov:wasGeneratedBy :talk .""",
        [("paper", "wasGeneratedBy", "talk"), ("talk", "used", "Hall")],
    ),
    "position": (
        """:Ada vivo:relatedBy :post . :post vivo:relates :Bank ; vivo:dateTimeInterval :i .
           :i vivo:start :s ; vivo:end :e . :s vivo:dateTime "1830-05-01T00:00:00"^^xsd:dateTime .
           :e vivo:dateTime "1830-05-02T00:00:00"^^xsd:dateTime .""",
        [("Ada", "relatedBy", "post"), ("post", "relates", "Bank")],
    ),
    "membership": (
        """:m a org:Membership ; org:member :Ada ; org:organization :Bank ;
           org:memberDuring "1830-05-01/1830-05-02" .""",
        [("m", "member", "Ada"), ("m", "organization", "Bank")],
    ),
    "membership with dates": (
        """:m a org:Membership ; org:member :Ada ; schema:startDate "1830-05-01"^^xsd:date ;
           schema:endDate "1830-05-02"^^xsd:date .""",
        [("m", "member", "Ada")],
    ),
    "stamps": (
        """:e <http://semanticweb.cs.vu.nl/2009/11/sem/hasBeginTimeStamp> "1830-05-01" ; org:member :Ada ;
           <http://semanticweb.cs.vu.nl/2009/11/sem/hasEndTimeStamp> "1830-05-02"^^xsd:date .""",
        [("e", "member", "Ada")],
    ),
    "birth": (
        """:birth crm:P98_brought_into_life :Ada ; crm:P7_took_place_at :London ; crm:P4_has_time-span :t .
           :t crm:P82a_begin_of_the_begin "1830-05-01"^^xsd:date ; crm:P82b_end_of_the_end "1830-05-02"^^xsd:date .""",
        [("birth", "P7_took_place_at", "London"), ("birth", "P98_brought_into_life", "Ada")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("turtle", "facts"), EVENTS.values(), ids=EVENTS)
def test_what_is_said_of_an_event_holds_at_its_time(tmp_path: Path, turtle: str, facts: list[tuple[str, ...]]) -> None:
    graph = reading_of(tmp_path, turtle).graph
    kind = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    assert [fact for fact in facts_of(graph) if fact[1] != kind] == [
        (*each, "1830-05-01", "1830-05-02") for each in facts
    ]
    assert all(fact[3:] == ("?", "?") for fact in facts_of(graph) if fact[1] == kind)
    assert dates_of(graph) == []


def test_times_of_things_without_facts_are_their_dates(tmp_path: Path) -> None:
    turtle = (
        """:Ada :birth [ :date "1815-12-10" ] . :fair time:hasTime [ time:hasBeginning [ time:inXSDgYear "1851" ] ] ."""
    )
    assert dates_of(reading_of(tmp_path, turtle).graph) == [
        ("Ada", "birth", "1815-12-10", "1815-12-10"),
        ("fair", "http://www.w3.org/2006/time#hasTime", "1851", "?"),
    ]


def test_a_predicate_of_that_name_may_lead_to_an_entity(tmp_path: Path) -> None:
    turtle = ':trip :start :Rome ; :end :Paris . :Rome :in :Italy ; :date "-0753-04-21"^^xsd:date .'
    graph = reading_of(tmp_path, turtle).graph
    assert [fact[:3] for fact in facts_of(graph)] == [
        ("Rome", "in", "Italy"), ("trip", "end", "Paris"), ("trip", "start", "Rome")
    ]  # fmt: skip
    assert dates_of(graph) == [("Rome", "date", "-0753-04-21", "-0753-04-21")]


def test_own_predicates_lead_to_times_too(tmp_path: Path) -> None:
    turtle = ':Ada :in [ :place :Rome ; :von [ :tag "1830" ] ] .'
    reading = reading_of(tmp_path, turtle, time_predicates=TimePredicates(begin=(f"{E}von",), time=(f"{E}tag",)))
    assert facts_of(reading.graph) == [("Ada", "in", "Rome", "1830", "?")]


def test_links_to_a_node_that_reifies_are_facts(tmp_path: Path) -> None:
    turtle = """:Bo :doubts << :Ada :in :Rome >> . :Cy :said :r .
        :r rdf:subject :Ada ; rdf:predicate :met ; rdf:object :Bo ; :source :Book ."""
    assert facts_of(reading_of(tmp_path, turtle).graph) == [
        ("Ada", "in", "Rome", "?", "?"),
        ("Ada", "met", "Bo", "?", "?"),
        ("Bo", "doubts", "_:.1", "?", "?"),
        ("Cy", "said", "r", "?", "?"),
    ]


LONG_TAGS = {
    "a.ttl": ':a :r :b ; rdfs:label "x"@zh-classical , "y"@en-GB .',
    "a.trig": ':g { :a :r :b ; rdfs:label "x"@zh-classical , "y"@en-GB }',
    "a.nt": "<http://e/a> <http://e/r> <http://e/b> .\n"
    '<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "x"@zh-classical .\n'
    '<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "y"@en-GB .\n',
    "a.rdf": '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/" '
    'xmlns:s="http://www.w3.org/2000/01/rdf-schema#"><rdf:Description rdf:about="http://e/a"><e:r '
    'rdf:resource="http://e/b"/><s:label xml:lang="zh-classical">x</s:label><s:label xml:lang="en-GB">y</s:label>'
    "</rdf:Description></rdf:RDF>",
}


@pytest.mark.parametrize("name", LONG_TAGS)
def test_long_language_tags_are_read_and_reported(tmp_path: Path, name: str) -> None:
    reading = reading_of(tmp_path, LONG_TAGS[name], name, literals=True)
    assert [fact[:3] for fact in facts_of(reading.graph)] == [("a", "r", "b")]
    assert reading.literals is not None
    assert reading.literals.value == ("x", "y")
    note = "language tags longer than the standard allows were read all the same: zh-classical"
    assert reading.notes == (f"{tmp_path / name}: {note}",)
    only = reading_of(tmp_path, LONG_TAGS[name], name, literals=True, label_languages=("zh",))
    assert only.literals is not None
    assert only.literals.value == ("x",)


def test_long_tags_of_standard_input_and_other_errors_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turtle = (PREFIXES + LONG_TAGS["a.ttl"]).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(turtle)))
    assert read(["-"], ReadOptions(format="turtle")).graph.n_facts == 1
    with pytest.raises(InputError) as caught:
        reading_of(tmp_path, ':a $ :b .\n:a :r :b ; :n "x"@zh-classical .\n:a :r "y"@toolongfora .')
    assert [line.partition(": ")[0] for line in str(caught.value).splitlines()[:2]] == [
        f"{tmp_path / 'a.ttl'}:7", f"{tmp_path / 'a.ttl'}:9"
    ]  # fmt: skip


JSONLD = """{"@context": {"@vocab": "http://e/", "born": {"@type": "http://www.w3.org/2001/XMLSchema#date"}},
 "@id": "http://e/Ada", "born": "1815-12-10", "name": "Ada",
 "in": {"place": {"@id": "http://e/Rome"}, "date": "1830"}}"""


def test_json_ld(tmp_path: Path) -> None:
    reading = reading_of(tmp_path, JSONLD, "a.jsonld")
    assert facts_of(reading.graph) == [("Ada", "in", "Rome", "1830", "1830")]
    assert dates_of(reading.graph) == [("Ada", "born", "1815-12-10", "1815-12-10")]


def test_long_language_tags_as_keys_of_json_ld(tmp_path: Path) -> None:
    """Keys that only look like tags mean what they meant."""
    context = """{"@context": {"@vocab": "http://e/", "is-associated": {"@id": "http://e/with", "@type": "@id"},
        "label": {"@id": "http://www.w3.org/2000/01/rdf-schema#label", "@container": "@language"}},"""
    content = (
        context
        + """"@id": "http://e/Ada", "is-associated": "http://e/Bo", "in-somewhere": {"@id": "http://e/x"},
        "label": {"en": "Ada", "zh-classical": ["愛達"]}}"""
    )
    reading = reading_of(tmp_path, content, "a.jsonld", names="auto")
    assert [fact[:3] for fact in facts_of(reading.graph)] == [("Ada", "in-somewhere", "x"), ("Ada", "with", "Bo")]
    assert reading.literals is not None
    assert sorted(reading.literals.value) == ["Ada", "愛達"]
    assert reading.notes[0].endswith("read all the same: zh-classical")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            '{"@context": "https://example.org/context.jsonld", "name": "Ada"}',
            "a.jsonld: its context is on the web, and nothing is fetched",
        ),
        ('{"@context": ["https://schema.org", "https://e/c"], "name": "Ada"}', "a.jsonld: its context is on the web"),
        ('{"@context": {"@vocab": "http://e/"},\n"@id": "http://e/a", "q": {"p":', "a.jsonld:2: not valid JSON-LD: "),
        ('{"@id": "http://e/a", "http://e/name": "x"}', r"a.jsonld: no facts; .* \(left out: literals \(1\)\)"),
    ],
)
@pytest.mark.parametrize("on_error", ["dates", "skip"])
def test_what_is_wrong_with_json_ld(tmp_path: Path, content: str, words: str, on_error: str) -> None:
    """A file that cannot be read any further is refused, and is not proposed to be read with what is wrong left out."""
    with pytest.raises(InputError, match=words) as caught:
        reading_of(tmp_path, content, "a.jsonld", on_error=on_error)
    assert "--on-error" not in str(caught.value)


def test_xml_with_entities_that_breaks_off_is_refused(tmp_path: Path) -> None:
    start = '<!DOCTYPE rdf:RDF [<!ENTITY e "http://e/">]>\n'
    reading_of(tmp_path, start + LONG_TAGS["a.rdf"], "a.rdf")
    with pytest.raises(InputError, match=r"a\.rdf:2: ends within an element, as if cut off"):
        reading_of(tmp_path, start + LONG_TAGS["a.rdf"].removesuffix("</rdf:RDF>"), "a.rdf")


@pytest.mark.parametrize("name", ["a.rdf", "a.jsonld"])
def test_a_file_that_breaks_off_is_refused_wherever_it_does(tmp_path: Path, name: str) -> None:
    """The parser of XML would take what there is as all."""
    content = LONG_TAGS[name] if name == "a.rdf" else JSONLD
    for cut in range(1, len(content) - 1):
        with pytest.raises(InputError) as caught:
            reading_of(tmp_path, content[:cut], name, on_error="skip" if cut % 2 else "dates")
        assert "--on-error" not in str(caught.value)


@pytest.mark.parametrize(
    "context",
    [
        '"https://schema.org"',
        '"http://schema.org"',
        '"https://schema.org/"',
        '"http://www.schema.org/"',
        '"https://schema.org/docs/jsonldcontext.jsonld"',
        '[\n"https://schema.org",\n {"@language": "en"}]',
        '[{"e": "http://e/"}, "http://schema.org/"]',
    ],
)
def test_schema_orgs_context_is_known(tmp_path: Path, context: str) -> None:
    content = f"""{{"@context" : {context},
     "@graph": [{{"@id": "http://e/Ada", "type": "Person", "name": "Ada", "birthDate": "1815-12-10",
      "see": ["https://schema.org", "x"],
      "worksFor": {{"id": "http://e/Royal", "foundingDate": "1660", "@type": "Organization"}}}}]}}"""
    reading = reading_of(tmp_path, content, "a.jsonld", names="auto")
    schema = "http://schema.org/"
    assert ("Ada", f"{schema}worksFor", "Royal", "?", "?") in facts_of(reading.graph)
    assert dates_of(reading.graph) == [
        ("Ada", f"{schema}birthDate", "1815-12-10", "1815-12-10"),
        ("Royal", f"{schema}foundingDate", "1660", "1660"),
    ]
    assert reading.literals is not None
    assert reading.literals.value == ("Ada",)
    note = "was not fetched: names without a prefix are those of http://schema.org/"
    assert note in reading.notes[0]
    with pytest.raises(InputError, match=r"a\.jsonld:\d+: not valid JSON-LD") as caught:
        reading_of(tmp_path, content.replace('"Ada", "birth', '"Ada" "birth'), "a.jsonld")
    broken = content[: content.index('"birthDate"')].count("\n") + 1
    assert f"a.jsonld:{broken}: " in str(caught.value)


def test_a_context_that_a_block_cuts_is_known(tmp_path: Path) -> None:
    """Blocks are of about a million bytes; every thing has its own context."""
    thing = (
        '{{"@context":\n["https://schema.org",\n{{}}],\n"@id": "http://e/{0}",\n"knows":\n{{"@id": "http://e/{1}"}}}}'
    )
    content = "[" + ",\n".join(thing.format(number, number + 1) for number in range(20_000)) + "]"
    assert reading_of(tmp_path, content, "a.jsonld").graph.n_facts == 20_000


@pytest.mark.parametrize("literals", [False, True])
def test_a_file_without_facts_says_what_it_holds(tmp_path: Path, literals: bool) -> None:
    turtle = ':a rdfs:label "x" ; skos:altLabel "y" ; :height 3 ; dcterms:modified "2020-01-01"^^xsd:date .'
    with pytest.raises(InputError) as caught:
        reading_of(tmp_path, turtle, literals=literals)
    left = "dates of records (1), labels (2), literals (1)"
    assert str(caught.value) == f"{tmp_path / 'a.ttl'}: no facts; an empty graph cannot be aligned (left out: {left})"


SOUND = {
    "ttl": (
        PREFIXES + "".join((*TWO_STEPS.values(), *(turtle for turtle, _ in EVENTS.values()), LONG_TAGS["a.ttl"]))
    ).encode(),
    "jsonld": JSONLD.encode(),
    "rdf": LONG_TAGS["a.rdf"].encode(),
    "nt": LONG_TAGS["a.nt"].encode(),
}
SLIPS = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 9),
        st.binary(max_size=3) | st.sampled_from([b'"', b"[", b"]", b"\n", b"@", b"9" * 12, b"\xff", b":b", b":i"]),
    ),
    min_size=1,
    max_size=4,
)  # fmt: skip


@pytest.mark.parametrize("extension", SOUND)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(slips=SLIPS, on_error=st.sampled_from(["dates", "stop", "skip"]))
def test_any_slip_gives_a_graph_or_a_refusal(
    extension: str, slips: list[tuple[float, int, bytes]], on_error: str
) -> None:
    content = SOUND[extension]
    for share, removed, inserted in slips:
        at = int(share * len(content))
        content = content[:at] + inserted + content[at + removed :]
    with tempfile.TemporaryDirectory() as here:
        path = Path(here) / f"a.{extension}"
        path.write_bytes(content)
        try:
            assert not read([path], ReadOptions(literals=True, on_error=on_error)).graph.is_empty  # type: ignore[arg-type]
        except InputError as error:
            refusal = str(error)
        else:
            refusal = str(path)
        assert [each.name for each in Path(here).iterdir()] == [path.name]
    assert refusal.startswith(str(path))
