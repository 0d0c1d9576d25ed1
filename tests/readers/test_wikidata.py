"""Wikidata's JSON, line by line and in any other layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dualmatch import InputError
from dualmatch.files.json_values import json_values
from dualmatch.readers.read import read, read_graph
from dualmatch.readers.read_options import ReadOptions, TimePredicates
from io_facts import dates_of, facts_of


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
    "aliases": {"en": [{"language": "en", "value": "Countess of Lovelace"}]},
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
        "[{},{}]",
        "[{},\n{}]\n",
        " [ {}\r\n,\r\n\r\n{} ] ",
        '[{{"id": "Q5", "claims": []}},{}',
    ],
)
@pytest.mark.parametrize("indent", [None, 0, 2])
def test_dumps_lines_arrays_and_single_entities(tmp_path: Path, wrap: str, indent: int | None) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        wrap.format(json.dumps(ADA, indent=indent), json.dumps(ADA, indent=indent)) + "]" * wrap.endswith(",{}")
    )
    reading = read([path], ReadOptions())
    assert facts_of(reading.graph) == FACTS
    assert dates_of(reading.graph) == [("Q7259", "P569", "1815-12-10", "1815-12-10")]
    assert reading.notes[0].endswith(("coarser than a year is taken as unknown", "are taken as unknown"))
    once = 1 if "{}" in wrap and wrap.count("{}") == 1 else 2
    left = f"deprecated statements ({once}), labels ({3 * once}), literals ({once}), unknown values ({once})"
    assert reading.notes[1] == f"{path}: left out: {left}"


def test_labels_and_literals_on_request(tmp_path: Path) -> None:
    path, labels = tmp_path / "a.json", tmp_path / "labels.tsv"
    path.write_text(json.dumps(ADA))
    labels.write_text("Q84\tLondon\nQ999\tNobody\n")
    reading = read([path], ReadOptions(literals=True, labels=labels))
    assert reading.literals is not None
    rows = [reading.graph.entities[row] for row in reading.literals.entity]
    assert list(zip(rows, reading.literals.attribute, reading.literals.value, strict=True)) == [
        ("Q7259", "P1", "a text"),
        ("Q7259", "alias", "Countess of Lovelace"),
        ("Q7259", "label", "Ada"),
        ("Q7259", "label", "Ada Lovelace"),
        ("Q84", "label", "London"),
    ]
    assert repr(reading.literals) == "Literals(5 values, 2 entities with a label)"
    assert read([path], ReadOptions()).literals is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", ":2: not valid JSON from character 2 on; fetch or make the file again"),
        ("\udcff", ":2: not UTF-8 text; convert the file to UTF-8"),
        ("3", ":2: not a Wikidata entity: a value of the wrong kind, such as a list, a number or text in place of an"),
        ('{"claims": {}}', ":2: not a Wikidata entity: 'id' is missing"),
        ('{"id": 3}', ":2: not a Wikidata entity: 3 in place of text"),
        (
            '{"id": "Q1", "claims": {"P1": [{}]}}',
            ":2: statement 1 of P1 of Q1: 'mainsnak' is missing",
        ),
        ("[" * 100_000, ":2: not a Wikidata entity: brackets nested without end"),
        (
            json.dumps({"id": "Q1", "claims": {"P1": [statement(entity_value("Q2"), P580=[time_value("soon", 9)])]}}),
            ":2: statement 1 of P1 of Q1: 'soon' is not a time of a Wikibase",
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
            ":2: statement 1 of P1 of Q1: ends in 1899, before it begins in 1900",
        ),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(f"{json.dumps(ADA)},\n{line}\n".encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        read_graph(path, on_error="stop")
    assert str(caught.value).removeprefix(str(path)).startswith(words)
    assert facts_of(read_graph(path, on_error="skip")) == FACTS


YEAR_2025 = time_value("+2025-00-00T00:00:00Z", 9)
SPOILT: dict[str, Any] = {
    "id": "Q1",
    "labels": {"en": {"value": "x"}, "de": {"value": 3}},
    "claims": {
        "P1": [
            statement(entity_value("Q2"), P580=[time_value("soon", 9)], P582=[time_value("+1900-00-00T00:00:00Z", 9)]),
            statement(entity_value("Q3"), P585=[time_value("-13798000000-00-00T00:00:00Z", 3)]),
            statement(entity_value("Q4"), P585=[time_value("+00000001917-12-06T00:00:00Z", 11)]),
            statement(entity_value("Q5"), P580=[YEAR_2025], P582=[time_value("+2012-00-00T00:00:00Z", 9)]),
            statement(entity_value("Q6"), P580=[{"snaktype": "value", "datavalue": {"value": {"time": "+1900"}}}]),
            statement({"snaktype": "value", "datavalue": {"type": "wikibase-entityid", "value": {}}}),
        ],
        "P569": [statement(time_value(f"+1987-02-{day}T00:00:00Z", exact)) for day, exact in ((30, 11), ("00", 10))],
    },
}  # fmt: skip
SPOILT_FACTS = [
    ("Q1", "P1", "Q2", "?", "1900"),
    ("Q1", "P1", "Q3", "?", "?"),
    ("Q1", "P1", "Q4", "1917-12-06", "1917-12-06"),
    ("Q1", "P1", "Q5", "?", "?"),
    ("Q1", "P1", "Q6", "?", "?"),
]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_value_that_cannot_be_used_costs_that_value(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(SPOILT, indent=indent))
    reading = read([path], ReadOptions(literals=True))
    assert facts_of(reading.graph) == SPOILT_FACTS
    assert dates_of(reading.graph) == [("Q1", "P569", "1987-02", "1987-02")]
    lines = path.read_text().splitlines()
    statements = [number for number, line in enumerate(lines, start=1) if line == "   {"]
    label, first, fourth = (1, 1, 1) if indent is None else (lines.index('  "de": {') + 1, statements[0], statements[3])
    assert [note.removeprefix(f"{path}: ") for note in reading.notes] == [
        "1 time coarser than a year is taken as unknown",
        f"2 values that cannot be read are left out, the first on line {label}: label of Q1: 3 in place of "
        "text",
        f"3 times that are not dates are taken as unknown, the first on line {first}: statement 1 of P1 of Q1: "
        "'soon' is not a time of a Wikibase; it writes +1815-12-10T00:00:00Z",
        f"1 interval that ends before it begins is taken as unknown, the first on line {fourth}: statement 4 of P1 of "
        "Q1: ends in 2012, before it begins in 2025",
    ]  # fmt: skip


def test_own_properties_for_time_and_statements_of_media_files(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    claims = {"P1": [statement(entity_value("Q2"), P9=[time_value("+1900-00-00T00:00:00Z", 9)])]}
    path.write_text(json.dumps({"id": "M1", "statements": claims}))
    predicates = TimePredicates(begin=("http://w/prop/qualifier/P9",))
    assert facts_of(read_graph(path, time_predicates=predicates)) == [("M1", "P1", "Q2", "1900", "?")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{\n "id": "Q1",\n "claims": {"P1" []}\n}', ":3: not valid JSON from character 18 on"),
        ('[{"id": "Q1"}, {"id"', ":1: not valid JSON from character 21 on"),
        ('[{"id": "Q1"}', ":1: an array that does not end from character 14 on"),
        ('[{"id": "Q1",\n "x": 1} oh]', ":2: not valid JSON from character 10 on"),
        ("{\n" + "[" * 100_000, ":2: "),
        ("[" + "9" * 10_000 + "]", ":1: a number too long to read"),
        (b'{\n"id":\n"\xff"}', ":3: not UTF-8 text; convert the file to UTF-8"),
        ("[1, {}]", ":1: not a Wikidata entity: a value of the wrong kind, such as a list"),
        ('{"@context": {}, "@id": "http://e/a"}', "add --format jsonld"),
        (
            '{\n"type": "FeatureCollection"}',
            ":1: not a Wikidata entity: 'id' is missing; JSON is read as that of a Wikibase",
        ),
    ],
)
def test_what_is_broken_in_other_layouts(tmp_path: Path, content: str | bytes, words: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_graph(path)
    assert str(caught.value).startswith(str(path))
    assert words in str(caught.value)
    assert "--on-error" not in str(caught.value), "it would not help"


def test_a_long_array_is_read_in_pieces(tmp_path: Path) -> None:
    """Values that are longer than a piece, cut anywhere, in letters of several bytes."""
    entities = [
        {"id": f"Q{i}", "claims": {"P1": [statement(entity_value(f"Qé{'é' * (i % 7) * 10}"))]}} for i in range(99)
    ]
    content = json.dumps(entities, ensure_ascii=False).encode()
    for size in (1, 7, 100, 5000):
        pieces = [content[at : at + size] for at in range(0, len(content), size)]
        assert [value for _, value in json_values(pieces, tmp_path)] == entities


BAD_STATEMENTS = {
    "P1": [
        statement(entity_value("Q2")),
        {"mainsnak": 3, "rank": "normal"},
        {"mainsnak": None},
        {},
        5,
        statement({"snaktype": "value"}),
        statement(entity_value("Q3"), P580=[{"snaktype": "value"}], P582=[time_value("+1900-00-00T00:00:00Z", 9)]),
        statement(entity_value("Q4"), P580=[7]),
        {**statement(entity_value("Q5")), "qualifiers": 5},
        {**statement(entity_value("Q6")), "qualifiers": {"P585": {"snaktype": "value"}}},
    ],
    "P2": "none",
    "P3": {"a": 1},
    "P4": [statement(entity_value("Q7"))],
}


@pytest.mark.parametrize("wrap", ["{}\n", "[\n{}\n]", '{{"entities": {{"Q1": {}}}}}', "[{}\n]"])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_statement_that_is_none_costs_itself_and_a_time_that_is_none_only_the_time(
    tmp_path: Path, wrap: str, indent: int | None
) -> None:
    """Not the entity, and not the file; labels that are no object cost the labels."""
    path = tmp_path / "a.json"
    entity = {"id": "Q1", "labels": 3, "claims": BAD_STATEMENTS}
    path.write_text(wrap.format(json.dumps(entity, indent=indent)))
    reading = read([path], ReadOptions())
    assert facts_of(reading.graph) == [
        ("Q1", "P1", "Q2", "?", "?"),
        ("Q1", "P1", "Q3", "?", "1900"),
        ("Q1", "P1", "Q4", "?", "?"),
        ("Q1", "P1", "Q5", "?", "?"),
        ("Q1", "P1", "Q6", "?", "?"),
        ("Q1", "P4", "Q7", "?", "?"),
    ]
    assert reading.left_out == {"dates that cannot be read": 4, "values that cannot be read": 8}
    with pytest.raises(InputError, match="labels of Q1: a value of the wrong kind, such as"):
        read_graph(path, on_error="stop")


def test_lines_of_statements_in_files_of_any_layout(tmp_path: Path) -> None:
    entities = {name: {"id": name, "claims": {"P1": [statement(entity_value("Q2")), 5]}} for name in ("Q1", "Q3")}
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"success": 1, "entities": entities}, indent=1))
    bad = [number for number, line in enumerate(path.read_text().splitlines(), 1) if line.strip() == "5"]
    with pytest.raises(InputError) as caught:
        read_graph(path, on_error="stop")
    assert [line.split(": ")[0] for line in str(caught.value).splitlines()[:2]] == [f"{path}:{line}" for line in bad]


def test_a_file_of_broken_statements_says_what_it_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"id": "Q1", "claims": {"P1": [{}, {}]}}))
    with pytest.raises(InputError, match=r"no facts; .*left out: values that cannot be read \(2\)"):
        read_graph(path)


def test_a_broken_first_line_of_a_dump_costs_that_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"id": "Q5", "claims": {"P1": [\n' + json.dumps(ADA) + "\n")
    assert facts_of(read_graph(path, on_error="skip")) == FACTS


@pytest.mark.parametrize(("kind", "tail"), [("item", "Q31"), ("property", "P31"), ("lexeme", "L31")])
def test_an_entity_given_by_kind_and_number(tmp_path: Path, kind: str, tail: str) -> None:
    value = {"type": "wikibase-entityid", "value": {"entity-type": kind, "numeric-id": 31}}
    entity = {"id": "Q1", "claims": {"P2": [statement({"snaktype": "value", "datavalue": value})]}}
    (tmp_path / "one.json").write_text(json.dumps(entity) + "\n")
    assert read_graph(tmp_path / "one.json").entities == tuple(sorted((tail, "Q1")))
