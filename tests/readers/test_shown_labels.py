"""Labels to show: one of each name, in the language that is most likely read, whether or not names are compared."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from dualmatch import InputError, ReadOptions, TemporalGraph
from dualmatch.readers.read import read
from dualmatch.readers.shown_labels import labels_to_show, preferred, with_files_shown

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
GRAPH = TemporalGraph.from_facts([("a", "r", "b"), ("c", "r", "b")])


def table(*rows: tuple[str, str, str | None]) -> pl.DataFrame:
    columns = ["entity", "value", "language"]
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row").with_columns(
        attribute=pl.lit("label")
    )


@pytest.mark.parametrize(
    ("labels", "asked", "shown"),
    [
        ({"de": "Wien", "en": "Vienna", "fr": "Vienne"}, (), "Vienna"),
        ({"de": "Wien", "en-GB": "Vienna"}, (), "Vienna"),
        ({"de": "Wien", "en": "Vienna"}, ("DE",), "Wien"),
        ({"fr": "Vienne", "de-at": "Wien", "en": "Vienna"}, ("it", "de"), "Wien"),
        ({"de": "Wien", "mul": "Vindobona"}, (), "Vindobona"),
    ],
)
def test_languages_that_are_asked_for_come_first_then_english(
    labels: dict[str, str], asked: tuple[str, ...], shown: str
) -> None:
    rows = [("a", text, language) for language, text in labels.items()]
    assert labels_to_show([table(*rows)], GRAPH, asked) == {"a": shown}
    assert labels[preferred(labels, asked) or ""] == shown


def test_of_other_languages_the_commonest_is_shown_and_of_equals_the_first() -> None:
    rows = [("a", "Firenze", "it"), ("a", "Florenz", "de"), ("b", "Wien", "de"), ("r", "z", None), ("r", "y", None)]
    assert labels_to_show([table(*rows, ("stranger", "x", "de"))], GRAPH) == {"a": "Florenz", "b": "Wien", "r": "y"}
    assert labels_to_show([table(("a", "Firenze", "it"), ("a", "ohne", None))], GRAPH) == {"a": "ohne"}
    assert labels_to_show([], GRAPH) == {}


@pytest.mark.parametrize("names", ["auto", "none", None])
def test_files_give_labels_of_entities_and_relations_whether_or_not_they_are_compared(
    names: str | None, tmp_path: Path
) -> None:
    options = ReadOptions(names=names)
    (tmp_path / "a.nt").write_text(
        "<http://e/a> <http://e/r> <http://e/b> .\n"
        f'<http://e/a> <{LABEL}> "Ada"@en .\n<http://e/a> <{LABEL}> "Gräfin"@de .\n<http://e/r> <{LABEL}> "met" .\n'
    )
    reading = read([tmp_path / "a.nt"], options)
    assert dict(reading.graph.labels) == {"http://e/a": "Ada", "http://e/r": "met"}
    claim = {"mainsnak": {"snaktype": "value", "datavalue": {"type": "wikibase-entityid", "value": {"id": "Q2"}}}}
    labels = {code: {"language": code, "value": text} for code, text in (("de", "Gräfin"), ("en", "Ada"))}
    entities = [
        {"id": "Q1", "labels": labels, "aliases": {"en": [{"value": "AL"}]}, "claims": {"P1": [claim]}},
        {"id": "P1", "labels": {"en": {"value": "knows"}}, "claims": {}},
    ]
    (tmp_path / "a.json").write_text(json.dumps(entities))
    reading = read([tmp_path / "a.json"], options)
    assert dict(reading.graph.labels) == {"Q1": "Ada", "P1": "knows"}
    assert (reading.literals is not None) == (names == "auto")
    (tmp_path / "a.csv").write_text("id,name,born\n1,Ada,1815\n2,Charles,1791\n")
    assert dict(read([tmp_path / "a.csv"], options).graph.labels) == {"1": "Ada", "2": "Charles"}


def test_a_file_of_labels_is_for_both_sides_or_for_each(tmp_path: Path) -> None:
    other = TemporalGraph.from_facts([("a", "s", "d")], name="other").with_labels({"a": "before"})
    both, mine, empty = tmp_path / "both.tsv", tmp_path / "mine.tsv", tmp_path / "none.tsv"
    both.write_text("a\tAda\nb\t \nd\tDora\n")
    mine.write_text("a\tAnna\n")
    empty.write_text("x\tXaver\n")
    source, target = with_files_shown(GRAPH, other, [both])
    assert (dict(source.labels), dict(target.labels)) == ({"a": "Ada"}, {"a": "Ada", "d": "Dora"})
    source, target = with_files_shown(GRAPH, other, [mine, both])
    assert (dict(source.labels), dict(target.labels)) == ({"a": "Anna"}, {"a": "Ada", "d": "Dora"})
    assert with_files_shown(GRAPH, other, []) == (GRAPH, other)
    for files, words in (
        ([empty], "either graph"),
        ([mine, empty], "relation of other"),
        ([mine] * 3, "given 3 times"),
    ):
        with pytest.raises(InputError, match=words):
            with_files_shown(GRAPH, other, files)
