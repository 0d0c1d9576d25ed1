"""A Wikibase's entities give one graph, whether they come as JSON or as RDF."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dualmatch.graph.times import encode_date, format_date
from dualmatch.readers.read import Reading, read
from dualmatch.readers.read_options import ReadOptions
from dualmatch.readers.wikibase_time import time_code
from io_facts import dates_of, facts_of

W = "http://www.wikidata.org/"
PREFIXES = f"""@prefix wd: <{W}entity/> . @prefix wds: <{W}entity/statement/> . @prefix v: <{W}value/> .
@prefix p: <{W}prop/> . @prefix ps: <{W}prop/statement/> . @prefix psv: <{W}prop/statement/value/> .
@prefix pq: <{W}prop/qualifier/> . @prefix pqv: <{W}prop/qualifier/value/> . @prefix wdt: <{W}prop/direct/> .
@prefix wikibase: <http://wikiba.se/ontology#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix schema: <http://schema.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix data: <{W}wiki/Special:EntityData/> .
"""
JULIAN, GREGORIAN = "Q1985786", "Q1985727"


@dataclass(frozen=True)
class Time:
    year: int
    month: int = 1
    day: int = 1
    precision: int = 11
    julian: bool = False

    def as_json(self) -> dict[str, Any]:
        month, day = (self.month if self.precision > 9 else 0), (self.day if self.precision > 10 else 0)
        value = {
            "time": f"{self.year:+05d}-{month:02d}-{day:02d}T00:00:00Z",
            "precision": self.precision,
            "calendarmodel": f"{W}entity/{JULIAN if self.julian else GREGORIAN}",
        }
        return {"snaktype": "value", "datavalue": {"type": "time", "value": value}}

    def as_text(self) -> str:
        """As RDF has it: Gregorian where a day is known, with a year 0."""
        year, month, day = self.year + (self.year < 0), self.month, self.day
        if self.precision < 11:
            month, day = (month if self.precision == 10 else 1), 1
        elif self.julian:
            lengths = (31, 28 + (year % 4 == 0), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
            # The first of January of the year 1, Julian, is two days before that of the Gregorian calendar.
            number = 365 * (year - 1) + (year - 1) // 4 + sum(lengths[: month - 1]) + day - 2
            gregorian = date.fromordinal(number)
            year, month, day = gregorian.year, gregorian.month, gregorian.day
        return f"{'-' if year < 0 else ''}{abs(year):04d}-{month:02d}-{day:02d}T00:00:00Z"

    def as_turtle(self, node: str, direct: str, exact: str, name: str) -> str:
        return (
            f'{node} {direct} "{self.as_text()}"^^xsd:dateTime ; {exact} v:{name} .\n'
            f'v:{name} a wikibase:TimeValue ; wikibase:timeValue "{self.as_text()}"^^xsd:dateTime ; '
            f'wikibase:timePrecision "{self.precision}"^^xsd:integer ; wikibase:timeTimezone 0 ; '
            f"wikibase:timeCalendarModel wd:{JULIAN if self.julian else GREGORIAN} .\n"
        )


@dataclass(frozen=True)
class Statement:
    head: str
    property: str
    value: str | Time | None
    """An entity, a time, a text in quotes, an IRI in angles, or None for an unknown value."""
    rank: str = "normal"
    times: dict[str, tuple[Time, ...]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        if self.value is None:
            main: dict[str, Any] = {"snaktype": "somevalue"}
        elif isinstance(self.value, Time):
            main = self.value.as_json()
        else:
            is_entity = self.value[0] == "Q"
            value = {"id": self.value} if is_entity else self.value[1:-1]
            kind = "wikibase-entityid" if is_entity else "string"
            main = {"snaktype": "value", "datavalue": {"type": kind, "value": value}}
        qualifiers = {name: [time.as_json() for time in times] for name, times in self.times.items()}
        return {"mainsnak": main, "rank": self.rank, "qualifiers": qualifiers}

    def as_turtle(self, number: int) -> str:
        node, property = f"wds:{number}", self.property
        lines = f"wd:{self.head} p:{property} {node} .\n{node} wikibase:rank wikibase:{self.rank.title()}Rank .\n"
        if isinstance(self.value, Time):
            lines += self.value.as_turtle(node, f"ps:{property}", f"psv:{property}", f"m{number}")
        else:
            value = "_:u" if self.value is None else f"wd:{self.value}" if self.value[0] == "Q" else self.value
            lines += f"{node} ps:{property} {value} .\nwd:{self.head} wdt:{property} {value} .\n"
        for name, times in self.times.items():
            for place, time in enumerate(times):
                lines += time.as_turtle(node, f"pq:{name}", f"pqv:{name}", f"q{number}{name}{place}")
        return lines


def both(
    folder: Path, statements: list[Statement], more: str = "", indent: int | None = None
) -> tuple[Reading, Reading]:
    claims: dict[str, dict[str, list[Any]]] = {}
    for each in statements:
        claims.setdefault(each.head, {}).setdefault(each.property, []).append(each.as_json())
    entities = {head: {"id": head, "claims": said} for head, said in claims.items()}
    (folder / "a.json").write_text(json.dumps({"entities": entities}, indent=indent))
    turtle = "".join(each.as_turtle(number) for number, each in enumerate(statements))
    (folder / "a.ttl").write_text(PREFIXES + turtle + more)
    options = ReadOptions(namespaces=(f"{W}entity/",))
    from_json, from_turtle = (read([folder / name], options) for name in ("a.json", "a.ttl"))
    return from_json, from_turtle


def test_what_is_no_entity_and_what_is_two_facts(tmp_path: Path) -> None:
    statements = [
        Statement("Q1", "P551", "Q84", times={"P582": (Time(2012, precision=9),)}),
        Statement("Q1", "P551", "Q84", times={"P580": (Time(2025, precision=9),)}),
        Statement("Q1", "P551", "Q84"),
        Statement("Q1", "P39", "Q3", times={"P580": (Time(306, 7, 25, julian=True),)}),
        Statement("Q1", "P39", "Q4", times={"P585": (Time(-44, 3, 15),)}),
        Statement("Q1", "P18", "<http://commons.wikimedia.org/wiki/Special:FilePath/A.jpg>"),
        Statement("Q1", "P856", "<https://example.org/>"),
        Statement("Q1", "P973", f"<{W}entity/Q5>"),
        Statement("Q1", "P214", '"12345"'),
        Statement("Q1", "P40", None),
        Statement("Q1", "P26", "Q6", rank="deprecated"),
        Statement("Q1", "P569", Time(1815, 12, 10)),
        Statement("Q1", "P569", Time(1800, precision=7)),
        Statement("Q1", "P570", Time(1852, precision=9)),
    ]
    more = """wd:P973 wikibase:propertyType wikibase:Url . wd:P551 wikibase:propertyType wikibase:WikibaseItem .
        data:Q1 a schema:Dataset ; schema:about wd:Q1 ; schema:version 12 ; schema:dateModified
        "2020-01-01T00:00:00Z"^^xsd:dateTime .
        wd:Q1 rdfs:label "Ada"@en , "x"@zh-classical ; skos:altLabel "A. L."@en ."""
    from_json, from_turtle = both(tmp_path, statements, more)
    assert facts_of(from_json.graph) == facts_of(from_turtle.graph) == [
        ("Q1", "P39", "Q3", "0306-07-26", "?"),
        ("Q1", "P39", "Q4", "-0044-03-15", "-0044-03-15"),
        ("Q1", "P551", "Q84", "2025", "?"),
        ("Q1", "P551", "Q84", "?", "2012"),
        ("Q1", "P551", "Q84", "?", "?"),
    ]  # fmt: skip
    assert dates_of(from_json.graph) == dates_of(from_turtle.graph) == [
        ("Q1", "P569", "1815-12-10", "1815-12-10"),
        ("Q1", "P570", "1852", "1852"),
    ]  # fmt: skip
    ttl = tmp_path / "a.ttl"
    left = "deprecated statements (1), literals (4), unknown values (1)"
    left_of_turtle = left.replace("literals (4)", "labels (3), links of records (2), literals (5)")
    assert from_json.notes[-1] == f"{tmp_path / 'a.json'}: left out: {left}"
    assert from_turtle.notes == (
        f"{ttl}: language tags longer than the standard allows were read all the same: zh-classical",
        f"{ttl}: 1 time coarser than a year is taken as unknown",
        f"{ttl}: left out: dates of records (1), {left_of_turtle}",
    )


def test_times_that_cannot_be_cost_themselves_only(tmp_path: Path) -> None:
    statements = [
        Statement("Q1", "P1", "Q2", times={"P580": (Time(2025),), "P582": (Time(2012),)}),
        Statement("Q1", "P1", "Q3", times={"P585": (Time(-13_798_000_000, precision=3),)}),
        Statement("Q1", "P2", Time(-13_798_000_000, precision=9)),
    ]
    from_json, from_turtle = both(tmp_path, statements)
    assert facts_of(from_json.graph) == facts_of(from_turtle.graph) == [
        ("Q1", "P1", "Q2", "?", "?"), ("Q1", "P1", "Q3", "?", "?")
    ]  # fmt: skip
    for reading in (from_json, from_turtle):
        said = "\n".join(reading.notes)
        assert "1 time that is not a date is taken as unknown" in said
        assert "1 interval that ends before it begins is taken as unknown" in said
        assert "ends in 2012-01-01, before it begins in 2025-01-01" in said


def test_truthy_triples_alone(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(
        PREFIXES + 'wd:Q1 wdt:P31 wd:Q5 ; wdt:P18 <http://e/a.jpg> ; wdt:P569 "1815-12-10T00:00:00Z"^^xsd:dateTime ; '
        f'wdt:P570 "1852-01-01T00:00:00Z"^^xsd:dateTime ; wdt:P40 <{W}.well-known/genid/x> ; wdt:P1 "text" .'
    )
    graph = read([tmp_path / "a.ttl"], ReadOptions(namespaces=(f"{W}entity/",))).graph
    assert facts_of(graph) == [("Q1", "P31", "Q5", "?", "?")]
    # Without a precision, a first of January may well be a year.
    assert dates_of(graph) == [("Q1", "P569", "1815-12-10", "1815-12-10"), ("Q1", "P570", "1852", "1852")]


def test_what_a_file_says_besides_its_wikibase(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(
        PREFIXES
        + """@prefix prov: <http://www.w3.org/ns/prov#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix : <http://e/> .
        :Ada schema:knows :Bob ; schema:birthDate "1815-12-10"^^xsd:date ; wdt:P31 wd:Q5 .
        :Bob schema:knows [ :whom :Cy ; :begin "1833" ] ; prov:wasDerivedFrom :Cy . :Cy :saw :Ada .
        :Book schema:about wd:Q1 , :Ada . << :Ada :met :Bob >> :begin "1830" .
        wd:Q1 p:P26 wds:1 ; schema:birthPlace :Rome ; owl:sameAs wd:Q2 . wds:1 ps:P26 wd:Q3 ; pq:P580
        "1840-02-03T00:00:00Z"^^xsd:dateTime ; prov:wasDerivedFrom :reference . :reference :stated :Book .
        <https://en.wikipedia.org/wiki/X> a schema:Article ; schema:about wd:Q1 ; schema:isPartOf :wiki ."""
    )
    reading = read([tmp_path / "a.ttl"], ReadOptions(namespaces=(f"{W}entity/", "http://e/", "http://schema.org/")))
    assert facts_of(reading.graph) == [
        ("Ada", "P31", "Q5", "?", "?"),
        ("Ada", "knows", "Bob", "?", "?"),
        ("Ada", "met", "Bob", "1830", "?"),
        ("Bob", "http://www.w3.org/ns/prov#wasDerivedFrom", "Cy", "?", "?"),
        ("Bob", "knows", "Cy", "1833", "?"),
        ("Book", "about", "Ada", "?", "?"),
        ("Cy", "saw", "Ada", "?", "?"),
        ("Q1", "P26", "Q3", "1840-02-03", "?"),
        ("Q1", "birthPlace", "Rome", "?", "?"),
    ]
    assert dates_of(reading.graph) == [("Ada", "birthDate", "1815-12-10", "1815-12-10")]
    assert reading.notes[-1] == f"{tmp_path / 'a.ttl'}: left out: links of records (7)"


@pytest.mark.parametrize(
    ("julian", "gregorian"),
    [
        ("+1582-10-05", "1582-10-15"),
        ("+1752-09-03", "1752-09-14"),
        ("+1900-02-29", "1900-03-13"),
        ("-0044-03-15", "-0044-03-13"),
        ("-0001-12-31", "-0001-12-29"),
        ("+0001-01-01", "-0001-12-30"),
        ("-4713-01-01", "-4714-11-24"),
    ],
)
def test_days_of_the_julian_calendar(julian: str, gregorian: str) -> None:
    assert format_date(time_code(f"{julian}T00:00:00Z", 11, f"{W}entity/{JULIAN}")) == gregorian
    assert format_date(time_code(f"{julian}T00:00:00Z", 9, f"{W}entity/{JULIAN}")) == format_date(
        time_code(f"{julian}T00:00:00Z", 9)
    )


TIMES = st.builds(
    Time,
    st.integers(5, 2100),
    st.integers(1, 12),
    st.integers(1, 28),
    st.sampled_from([7, 9, 10, 11, 14]),
    st.booleans(),
) | st.builds(Time, st.integers(-900, -1), st.integers(1, 12), st.integers(1, 28), st.sampled_from([7, 9, 10, 11]))
ENTITIES = st.integers(1, 4).map("Q{}".format)
STATEMENTS = st.builds(
    Statement,
    ENTITIES,
    st.integers(1, 3).map("P{}".format),
    ENTITIES | ENTITIES | TIMES | st.sampled_from(['"text"', "<http://e/x.jpg>", None]),
    st.sampled_from(["normal", "preferred", "deprecated"]),
    st.dictionaries(
        st.sampled_from(["P580", "P582", "P585", "P9"]), st.lists(TIMES, min_size=1, max_size=2).map(tuple), max_size=3
    ),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(statements=st.lists(STATEMENTS, max_size=6), indent=st.sampled_from([None, 2]))
def test_json_and_rdf_give_the_same_graph(tmp_path: Path, statements: list[Statement], indent: int | None) -> None:
    certain = [Statement("Q9", "P9", "Q8"), *statements]
    from_json, from_turtle = both(tmp_path, certain, indent=indent)
    assert facts_of(from_json.graph) == facts_of(from_turtle.graph)
    assert dates_of(from_json.graph) == dates_of(from_turtle.graph)
    assert from_json.graph.entities == from_turtle.graph.entities
    counted = [
        sorted(note.partition(": ")[2].split(",")[0] for note in each.notes if " left out" not in note)
        for each in (from_json, from_turtle)
    ]
    assert counted[0] == counted[1]


def test_a_day_that_is_none_is_reported_with_its_own_year() -> None:
    assert time_code("+1700-02-29T00:00:00Z", 11, JULIAN) == encode_date(1700, 3, 11)
    for year, calendar in (("+1700", GREGORIAN), ("+1703", JULIAN), ("-0044", JULIAN), ("-0101", GREGORIAN)):
        with pytest.raises(ValueError, match=f"month 2 of {int(year)} has no day 29"):
            time_code(f"{year}-02-29T00:00:00Z", 11, calendar)
