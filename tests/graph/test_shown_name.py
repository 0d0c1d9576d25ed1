"""Names as people see them: short, whole, and never something that a terminal or page would obey."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualmatch
from dualmatch import TemporalGraph, align
from dualmatch.graph.growth import grown
from dualmatch.graph.ordering import sorted_by_name
from dualmatch.graph.shown_name import search_text, shown_name

WIKIDATA = "http://www.wikidata.org/entity/"


@pytest.mark.parametrize(
    ("name", "text", "id"),
    [
        (f"{WIKIDATA}Q1394", "wd:Q1394", None),
        (f"<{WIKIDATA}Q1394>", "wd:Q1394", None),
        ("<United_States>", "United States", None),
        ("<1._FC_Köln>", "1. FC Köln", None),
        ("http://dbpedia.org/resource/Ada_Lovelace", "Ada Lovelace", "dbr:Ada_Lovelace"),
        ("http://ja.dbpedia.org/resource/東京", "東京", "ja_dbpedia:東京"),
        ("http://dbpedia.org/resource/AC/DC", "dbr:AC/DC", None),
        ("http://www.wikidata.org/prop/direct/P54", "wdt:P54", None),
        ("http://rdf.freebase.com/ns/m.0f8l9c", "fb:m.0f8l9c", None),
        ("https://www.example.org/person/12", "example:12", None),
        ("urn:isbn:123", "isbn:123", None),
        ("https://example.org/", "https://example.org/", None),
        ("http://e.org/%1B%5B31mred", "%1B%5B31mred", "e:%1B%5B31mred"),
        ("_:b0", "_:b0", None),
        ("s-0122", "s-0122", None),
        ("___", "___", None),
        ("", "", None),
    ],
)
def test_without_a_label_a_short_form_is_shown(name: str, text: str, id: str | None) -> None:
    assert shown_name(name) == (text, id, name)


def test_a_label_comes_first_and_the_id_stays_beside_it() -> None:
    lenin = shown_name(f"{WIKIDATA}Q1394", "Vladimir Lenin")
    assert str(lenin) == "Vladimir Lenin [wd:Q1394]"
    assert str(shown_name("<Ada_Lovelace>", "Ada Lovelace")) == "Ada Lovelace"
    assert shown_name("Q7", "  ") == shown_name("Q7")
    assert shown_name("Q7", "two\nlines").text == "two lines"
    html = str(lenin.html())
    assert '<small class="id"' in html
    assert f'title="{WIKIDATA}Q1394"' in html
    assert str(shown_name("register:R<7>").html()) == '<bdi class="name">register:<wbr>R&lt;7&gt;</bdi>'
    assert "<b>" not in str(shown_name("Q1", "<b>bold</b>").html())
    assert "⟨U+202E⟩" in str(shown_name("Q1", "a\u202eb").html())


@given(st.text(max_size=40), st.none() | st.text(max_size=20), st.sampled_from(("", "http://e.org/", "<", WIKIDATA)))
def test_whatever_a_name_holds_it_can_be_shown_and_found(rest: str, label: str | None, start: str) -> None:
    name = start + rest
    shown = shown_name(name, label)
    assert shown.name == name
    assert shown.text or not name
    assert shown.text != shown.id
    assert shown.html()
    assert str(shown) or not name
    assert name.casefold() in search_text(name, label)
    assert shown.text.casefold() in search_text(name, label)
    if name.isprintable() and (label is None or label.isprintable()):
        assert str(shown).isprintable()


def test_labels_stay_with_a_graph_that_grows_or_is_sorted() -> None:
    old = TemporalGraph.from_facts([("Q2", "P1", "Q1")]).with_labels({"Q1": "one", "P1": "knows", "Q9": "not there"})
    new = TemporalGraph.from_facts([("Q3", "P1", "Q1")]).with_labels({"Q1": "One", "Q3": "three"})
    assert dict(old.labels) == {"Q1": "one", "P1": "knows"}
    assert dict(sorted_by_name(old)[0].labels) == dict(old.labels)
    assert dict(grown(old, new).graph.labels) == {"Q1": "One", "P1": "knows", "Q3": "three"}
    assert old.shown("P1").text == "knows"


def test_no_method_reads_labels_that_are_shown() -> None:
    yago = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833"), ("Charles", "wrote", "Book", "1864")])
    wiki = TemporalGraph.from_facts([("Q9", "P50", "Q8", "1864"), ("Q7", "P2", "Q9", "1833")])
    misleading = wiki.with_labels({"Q7": "Charles", "Q8": "Ada", "Q9": "Book"})
    for method in ("evidence", "temporal"):
        plain, labelled = (align(yago, each, method=method).links() for each in (wiki, misleading))
        assert [*plain] == [*labelled]
    # `Literals.labels` are those that are compared; nothing else of that name is read where links are made.
    rooms = [path for room in ("channels", "decode") for path in (Path(dualmatch.__file__).parent / room).rglob("*.py")]
    assert rooms
    for path in rooms:
        names = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
        assert not names & {"labels", "shown", "with_labels"}, path
