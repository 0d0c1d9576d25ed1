"""Wikidata's JSON, line by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dualmatch import InputError
from dualmatch.readers.read import read, read_graph
from dualmatch.readers.read_options import ReadOptions
from io_facts import facts_of


def entity_value(name: str) -> dict[str, Any]:
    return {"snaktype": "value", "datavalue": {"type": "wikibase-entityid", "value": {"id": name}}}


def time_value(time: str, precision: int) -> dict[str, Any]:
    return {"snaktype": "value", "datavalue": {"type": "time", "value": {"time": time, "precision": precision}}}


def statement(main: dict[str, Any], rank: str = "normal", **qualifiers: list[dict[str, Any]]) -> dict[str, Any]:
    return {"mainsnak": main, "rank": rank, **({"qualifiers": qualifiers} if qualifiers else {})}


ADA: dict[str, Any] = {
    "type": "item",
    "id": "Q7259",
    "labels": {"en": {"language": "en", "value": "Ada Lovelace"}, "de": {"language": "de", "value": "Ada"}},
    "claims": {
        "P551": [
            statement(
                entity_value("Q84"),
                P580=[time_value("+1835-03-00T00:00:00Z", 10)],
                P582=[time_value("+1852-11-27T00:00:00Z", 11)],
            )
        ],
        "P2": [
            statement(entity_value("Q46633"), P585=[time_value("+1833-01-01T00:00:00Z", 9)]),
            statement(entity_value("Q1"), rank="deprecated"),
            statement({"snaktype": "somevalue"}),
            statement(
                entity_value("Q2"), P580=[{"snaktype": "somevalue"}], P582=[time_value("-0044-03-15T00:00:00Z", 11)]
            ),
            statement(entity_value("Q3"), P580=[time_value("+1800-00-00T00:00:00Z", 7)]),
            statement({"snaktype": "value", "datavalue": {"type": "wikibase-entityid", "value": {"numeric-id": 4}}}),
        ],
        "P569": [statement(time_value("+1815-12-10T00:00:00Z", 11))],
        "P1": [statement({"snaktype": "value", "datavalue": {"type": "string", "value": "a text"}})],
    },
}
FACTS = [
    ("Q7259", "P2", "Q2", "?", "-0044-03-15"),
    ("Q7259", "P2", "Q3", "?", "?"),
    ("Q7259", "P2", "Q4", "?", "?"),
    ("Q7259", "P2", "Q46633", "1833", "1833"),
    ("Q7259", "P551", "Q84", "1835-03", "1852-11-27"),
]


@pytest.mark.parametrize(
    "wrap",
    [
        "{}\n",
        "[\n{},\n{}\n]\n",
        "[\r\n{}\r\n]",
        '{{"entities": {{"Q7259": {}}}}}',
        "\ufeff{}",
        '{}\n{{"id": "Q5", "claims": []}}',
    ],
)
def test_dumps_lines_and_single_entities(tmp_path: Path, wrap: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(wrap.format(json.dumps(ADA), json.dumps(ADA)))
    reading = read([path], ReadOptions())
    assert facts_of(reading.graph) == FACTS
    assert reading.notes[0].endswith("times coarser than a year are taken as unknown")


def test_labels_and_literals_on_request(tmp_path: Path) -> None:
    path, labels = tmp_path / "a.json", tmp_path / "labels.tsv"
    path.write_text(json.dumps(ADA))
    labels.write_text("Q84\tLondon\nQ999\tNobody\n")
    reading = read([path], ReadOptions(literals=True, labels=labels))
    assert reading.literals is not None
    rows = [reading.graph.entities[row] for row in reading.literals.entity]
    assert list(zip(rows, reading.literals.attribute, reading.literals.value, strict=True)) == [
        ("Q7259", "P1", "a text"),
        ("Q7259", "P569", "+1815-12-10T00:00:00Z"),
        ("Q7259", "label", "Ada"),
        ("Q7259", "label", "Ada Lovelace"),
        ("Q84", "label", "London"),
    ]
    assert repr(reading.literals) == "Literals(5 values, 2 entities with a label)"
    assert read([path], ReadOptions()).literals is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", ":2: no JSON from character 2 on; each line is an entity of its own, whole"),
        ("\udcff", ":2: not UTF-8 text; convert the file to UTF-8"),
        ("3", ":2: no Wikidata entity: a list, a number or a text where an object {…} belongs"),
        ('{"claims": {}}', ":2: no Wikidata entity: 'id' is missing"),
        ('{"id": 3}', ":2: no Wikidata entity: text is missing where 3 stands"),
        (
            '{"id": "Q1", "claims": {"P1": [{}]}}',
            ":2: no Wikidata entity: statement 1 of P1 of Q1: 'mainsnak' is missing",
        ),
        ("[" * 100_000, ":2: no Wikidata entity: brackets within brackets without end"),
        (
            json.dumps({"id": "Q1", "claims": {"P1": [statement(entity_value("Q2"), P580=[time_value("soon", 9)])]}}),
            ":2: no Wikidata entity: statement 1 of P1 of Q1: 'soon' is no date",
        ),
        (
            json.dumps(
                {
                    "id": "Q1",
                    "claims": {
                        "P1": [
                            statement(
                                entity_value("Q2"),
                                P580=[time_value("+1900-00-00T00:00:00Z", 9)],
                                P582=[time_value("+1899-00-00T00:00:00Z", 9)],
                            )
                        ]
                    },
                }
            ),
            ":2: ends in 1899, before it begins in 1900",
        ),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(f"{json.dumps(ADA)},\n{line}\n".encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        read_graph(path)
    assert str(caught.value).removeprefix(str(path)).startswith(words)
    assert facts_of(read_graph(path, on_error="skip")) == FACTS
