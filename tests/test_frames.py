"""Results for notebooks and data frames, and what Python callers get wrong."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from conftest import lives
from dualmatch import (
    Alignment,
    DualMatchError,
    InputError,
    Literals,
    MissingExtraError,
    ReadOptions,
    TemporalGraph,
    align,
    evaluate,
    explain,
    merge,
    read,
    read_graph,
    read_links,
    read_name_pairs,
    show_progress,
    write_alignment,
)
from html_check import Page

FACTS = [("Ada", "met", "<b>Charles</b>", "1833", "~"), ("Ada", "saw", "Mary"), ("Ada", "born", None, "1815-12-10")]


@pytest.fixture(scope="module")
def alignment() -> Alignment:
    return align(*lives())


def test_a_graph_becomes_a_frame_and_one_again() -> None:
    graph = TemporalGraph.from_facts(FACTS)
    frame = graph.to_polars()
    assert frame.rows() == [
        ("Ada", "met", "<b>Charles</b>", "1833", None),
        ("Ada", "saw", "Mary", None, None),
        ("Ada", "born", None, "1815-12-10", "1815-12-10"),
    ]
    again = TemporalGraph.from_facts(frame.rows())
    assert again.to_polars().equals(frame)
    opaque = TemporalGraph(*np.zeros((3, 1), int), np.array([7]), np.array([7]), ("a",), ("r",), opaque_times=True)
    assert opaque.to_polars().row(0) == ("a", "r", "a", "7", "7")


def test_an_alignment_becomes_the_table_that_is_written(alignment: Alignment, tmp_path: Path) -> None:
    write_alignment(alignment, tmp_path / "links.parquet")
    assert alignment.to_polars().equals(pl.read_parquet(tmp_path / "links.parquet"))
    frame = alignment.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert [*frame.columns] == alignment.to_polars().columns
    linked = frame[frame["verdict"] == "linked"]
    assert [*zip(linked["source"], linked["target"], strict=True)] == [link[:2] for link in alignment.links()]
    assert alignment.relations_to_polars().columns == ["source", "target", "direction", "score", "support"]
    with pytest.raises(InputError, match="learns no relation alignment"):
        align(*lives(), method="temporal").relations_to_polars()


def test_pandas_is_asked_for_only_where_it_is_used(alignment: Alignment, monkeypatch: pytest.MonkeyPatch) -> None:
    find = builtins.__import__

    def without_pandas(name: str, *more: object) -> object:
        if name == "pandas":
            raise ImportError(name)
        return find(name, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    monkeypatch.delitem(sys.modules, "pandas")
    with pytest.raises(MissingExtraError, match="to_pandas needs pandas; install it, or use to_polars"):
        alignment.to_pandas()


def test_notebooks_show_tables_and_escape_names(alignment: Alignment) -> None:
    names = [f"<i>{number}</i>" for number in range(30)]
    graph = TemporalGraph.from_facts([(name, "met", "Ada\u202e", "1833") for name in names])
    for shown in (graph, TemporalGraph.from_facts(FACTS), alignment, explain(alignment, "Ada")):
        html = shown._repr_html_()
        page = Page(html)
        assert not page.unbalanced
        assert not page.open
        assert "<i>" not in html
        assert "<b>" not in html
        assert "\u202e" not in html
    assert "… and 20 more rows" in graph._repr_html_()
    assert "more rows" not in TemporalGraph.from_facts(FACTS)._repr_html_()
    assert "both: " in explain(alignment, "Ada")._repr_html_()


def test_progress_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    align(*lives(), progress=show_progress)
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.split("\r")
    assert "\n" not in said.err
    assert any(line.startswith("weighing shared evidence, 1 of ") for line in lines)
    assert {len(line) for line in lines[1:]} == {72}
    show_progress("some stage", 3, 0, "x" * 100)
    assert len(capsys.readouterr().err) == 73


def test_seeds_and_gold_come_as_frames() -> None:
    source, target = lives()
    pairs = {"source": ["Ada", "Charles"], "target": ["Q1", "Q2"]}
    by_tuples = align(source, target, [("Ada", "Q1"), ("Charles", "Q2")]).links()
    for frame in (
        pl.DataFrame(pairs),
        pd.DataFrame(pairs),
        pl.DataFrame(pairs).lazy(),
        pl.DataFrame({"a": ["Ada", "Charles"], "b": ["Q1", "Q2"]}),
    ):
        assert align(source, target, frame).links() == by_tuples
    alignment = align(source, target)
    assert evaluate(alignment, alignment.to_polars()).abstention.f1 == 1.0
    assert align(source, target, forbid=pd.DataFrame(pairs)).links() != alignment.links()


def test_labels_come_as_frames_and_with_the_graphs(tmp_path: Path) -> None:
    facts = pd.DataFrame({"head": ["a", "b"], "relation": ["r", "r"], "tail": ["b", "c"]})
    graph = read_graph(facts)
    frame = pd.DataFrame({"name": ["a", "b", "c"], "label": ["Ada", "Babbage", None]})
    assert Literals.of_labels(frame, graph).labels == {0: "Ada", 1: "Babbage"}
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    for side, other in (("left", "x"), ("right", "y")):
        lines = [f'<http://{other}/{at}> <{label}> "{name}" .' for at, name in enumerate(("Ada", "Babbage", "Boole"))]
        lines += [f"<http://{other}/{at}> <http://e/knows> <http://{other}/{at + 1}> ." for at in range(2)]
        (tmp_path / f"{side}.nt").write_text("\n".join(lines) + "\n")
    files = tmp_path / "left.nt", tmp_path / "right.nt"
    found = {source: target for source, target, _ in align(*files).links()}
    assert found == {f"http://x/{at}": f"http://y/{at}" for at in range(3)}
    with pytest.raises(InputError, match="no fact has a time"):
        align(*files, names="none")
    for given, options in (([files[0]], ReadOptions(names="auto")), (str(files[0]), None), (files[0], None)):
        reading = read(given, options)
        assert reading.literals is not None
        assert sorted(reading.literals.labels.values()) == ["Ada", "Babbage", "Boole"]
    assert read(files[0], ReadOptions()).literals is None
    assert read(facts, ReadOptions()).graph.entities == ("a", "b", "c")
    readings = tuple(read(path) for path in files)
    assert {source: target for source, target, _ in align(*readings).links()} == found
    assert merge(*readings, [*found.items()]).facts.height == 2
    with pytest.raises(InputError, match="no fact has a time"):
        align(*readings, names="none")
    with pytest.raises(InputError, match="no fact has a time"):
        align(readings[0], readings[1].graph)
    assert len(align(*readings, names="ids").links()) == 3  # http://x/0 is called 0, as http://y/0 is
    same = [("Ada Lovelace", "met", "Charles Babbage"), ("Ada Lovelace", "saw", "Mary Somerville")]
    assert len(align(same, same, names="ids").links()) == 3


def test_the_same_ids_are_seeds() -> None:
    source, target = ([(f"{at}", relation, f"{at + 1}") for at in range(3)] for relation in ("r", "P1"))
    with pytest.raises(InputError, match="no fact has a time"):
        align(source, target)
    found = align(source, target, same_ids=True)
    assert found.is_seed.all()
    assert [link[:2] for link in found.links()] == [(f"{at}", f"{at}") for at in range(4)]
    found = align(source, target, [("1", "3")], same_ids=True, forbid=[("0", "0")])
    assert {found.source.entities[s] + found.target.entities[t] for s, t in found.pairs[found.is_seed]} == {"13", "22"}


def test_a_point_that_is_no_date_is_reported_once() -> None:
    facts = [("Ada", "met", "Charles", f"18{at}") for at in range(20, 30)]
    spans = [("Ada", "knew", "Mary", "1820s"), ("Ada", "wrote", "Notes", "1842", "1843"), ("Ada", "born", None, 1815)]
    reading = read([[*facts, ("Ada", "met", "Mary", "soon"), *spans]], ReadOptions())
    (note,) = reading.notes
    assert note.startswith("facts: 1 of 13 dates cannot be read and is unknown; line 11: 'soon' is not a date")
    assert reading.left_out == {"dates that cannot be read": 1}
    said = {row[1:] for row in reading.graph.to_polars().rows() if row[2] in ("Mary", "Notes", None)}
    assert said == {
        ("met", "Mary", None, None),
        ("knew", "Mary", "1820", "1829"),
        ("wrote", "Notes", "1842", "1843"),
        ("born", None, "1815", "1815"),
    }


GRAPH = TemporalGraph.from_facts(FACTS)
WRONG = {
    "labels of a list": lambda: Literals.of_labels([("Ada", "x")], GRAPH),  # type: ignore[arg-type]
    "labels of three columns": lambda: Literals.of_labels(pl.DataFrame({"a": ["x"], "b": ["y"], "c": [1]}), GRAPH),
    "labels that are lists": lambda: Literals.of_labels({"Ada": ["x"]}, GRAPH),  # type: ignore[dict-item]
    "labels of no graph": lambda: Literals.of_labels({"Ada": "x"}, pd.DataFrame()),
    "seeds of one column": lambda: align(GRAPH, GRAPH, pd.DataFrame({"x": ["Ada"]})),
    "seeds as dicts": lambda: align(GRAPH, GRAPH, [{"source": "Ada"}]),  # type: ignore[list-item]
    "seeds as a number": lambda: align(GRAPH, GRAPH, 5),  # type: ignore[arg-type]
    "forbidden as a number": lambda: align(GRAPH, GRAPH, forbid=5),  # type: ignore[arg-type]
    "literals as a number": lambda: align(GRAPH, GRAPH, literals=5),  # type: ignore[arg-type]
    "names of another kind": lambda: align(GRAPH, GRAPH, names="all"),  # type: ignore[arg-type]
    "facts as dicts": lambda: align([{"head": "Ada"}], GRAPH),  # type: ignore[list-item]
    "columns of other names": lambda: read_graph(pd.DataFrame({"a": [1], "b": [2]})),
    "periods": lambda: read_graph(
        pd.DataFrame({"head": ["a"], "relation": ["r"], "tail": ["b"], "time": [pd.Period("2020")]})
    ),
    "an entity by number": lambda: explain(align(GRAPH, GRAPH), 5),  # type: ignore[arg-type]
    "links in no file": lambda: read_links("nowhere.tsv"),
    "pairs in no file": lambda: read_name_pairs("nowhere.tsv"),
    "labels in no file": lambda: read([FACTS[:1]], ReadOptions(labels="nowhere.tsv")),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_every_slip_is_reported_in_words_of_python(call: object) -> None:
    with pytest.raises(DualMatchError) as caught:
        call()  # type: ignore[operator]
    assert "--" not in str(caught.value)
    assert len(str(caught.value)) > 20
