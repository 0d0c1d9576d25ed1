"""Entity dates: beside the facts, in the graph's own names, and never an edge."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dualmatch import TemporalGraph
from dualmatch.errors import InputError
from dualmatch.graph.entity_dates import EntityDates
from dualmatch.graph.growth import grown
from dualmatch.graph.ordering import sorted_by_name
from dualmatch.graph.profile import profile_of
from dualmatch.graph.times import UNKNOWN, format_date, parse_date
from dualmatch.readers.facts import Collector
from dualmatch.readers.read_options import ReadOptions
from dualmatch.readers.rows import Rows
from dualmatch.runs.graph_pair import GraphPair, read_graph_pair, write_graph_pair

BORN = ("Ada", "born", None, "1815-12-10")
MET = ("Ada", "met", "Charles", "1833")


def dates_of(graph: TemporalGraph) -> list[tuple[str, str, str, str]]:
    return [
        (graph.entities[e], graph.relations[r], format_date(b), format_date(c))
        for e, r, b, c in graph.dates.rows.tolist()
    ]


def collected(rows: list[dict[str, str | None]], **options: object) -> tuple[Collector, TemporalGraph]:
    collector = Collector(ReadOptions(**options))  # type: ignore[arg-type]
    table = pl.DataFrame(rows).with_row_index("line", offset=1)
    collector.add_dates(Rows(Path("people.csv"), table, lambda row: str(rows[row])))
    collector.rejections.end_of_file()
    return collector, collector.graph("people")


def test_a_graph_knows_its_entity_dates() -> None:
    graph = TemporalGraph.from_facts([MET, BORN, ("Mary", "lived", None, "1797", "1851")])
    assert dates_of(graph) == [("Ada", "born", "1815-12-10", "1815-12-10"), ("Mary", "lived", "1797", "1851")]
    assert graph.n_facts == 1
    assert graph.is_in_a_fact.all()
    statistics = graph.statistics
    assert (statistics.isolated_entities, statistics.entity_dates, statistics.dated_facts) == (0, 2, 1)
    assert (format_date(statistics.first_time), format_date(statistics.last_time)) == ("1797", "1851")
    assert (statistics.distinct_times, statistics.distinct_intervals) == (4, 3)
    assert "1 facts (100% dated), 2 entity dates, 4 times" in repr(graph)
    profile = profile_of(graph)
    assert profile.degrees == (0, 2, 1)
    assert dict(profile.precision) == {"day": 1, "month": 0, "year": 2, "none": 0}


def test_a_graph_of_dates_alone_is_not_empty_and_has_times() -> None:
    graph = TemporalGraph.from_facts([BORN])
    assert graph.has_times
    assert not graph.is_empty
    assert TemporalGraph.from_facts([]).is_empty


def test_some_facts_and_some_dates() -> None:
    graph = TemporalGraph.from_facts([MET, BORN, ("Mary", "born", None, "1797")])
    none = np.zeros(0, dtype=np.int64)
    assert len(graph.with_facts(none).dates) == 2
    assert dates_of(graph.with_facts(none, np.array([1]))) == [("Mary", "born", "1797", "1797")]


@pytest.mark.parametrize("fact", [("Ada", "born", None), ("Ada", "born", None, "-inf"), ("Ada", "born", None, "", "")])
def test_no_tail_and_no_date_is_no_fact(fact: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="fact 1: no tail; every fact needs one"):
        TemporalGraph.from_facts([fact])


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([(2, 0, 1, 1)], "dates.entity holds a number outside 0…1"),
        ([(0, 1, 1, 1)], "dates.relation holds a number outside 0…0"),
        ([(0, 0, UNKNOWN, UNKNOWN)], "neither begin nor end"),
    ],
)
def test_dates_that_cannot_be_are_refused(rows: list[tuple[int, int, int, int]], words: str) -> None:
    with pytest.raises(InputError, match=words):
        TemporalGraph([0], [0], [1], [1], [1], ("Ada", "Charles"), ("met",), dates=EntityDates.of_rows(rows))


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(InputError, match="differ in length"):
        EntityDates(np.zeros(1), np.zeros(2), np.zeros(1), np.zeros(1))


def test_sorting_by_name_takes_dates_along() -> None:
    facts = [MET, BORN, ("Mary", "born", None, "1797"), ("Ada", "died", None, "1852-11-27")]
    one, other = (sorted_by_name(TemporalGraph.from_facts(rows))[0] for rows in (facts, facts[::-1]))
    assert dates_of(one) == dates_of(other) == sorted(dates_of(one))
    assert np.array_equal(one.dates.rows, other.dates.rows)


def test_a_graph_grows_by_dates() -> None:
    old = TemporalGraph.from_facts([MET, BORN])
    more = TemporalGraph.from_facts([BORN, ("Byron", "born", None, "1788"), ("Charles", "died", None, "1871")])
    together = grown(old, more)
    assert {name for name, *_ in dates_of(together.graph)} == {"Ada", "Byron", "Charles"}
    assert together.n_known == 1
    assert np.flatnonzero(together.touched).tolist() == [1, 2]
    assert grown(old, TemporalGraph.from_facts([BORN])).is_as_before


def test_a_kept_pair_keeps_its_dates(tmp_path: Path) -> None:
    graphs = TemporalGraph.from_facts([MET, BORN]), TemporalGraph.from_facts([("Q7", "P569", None, "1815")])
    write_graph_pair(GraphPair.of(*graphs), tmp_path / "graphs.npz")
    kept = read_graph_pair(tmp_path / "graphs.npz")
    assert [dates_of(graph) for graph in (kept.source, kept.target)] == [dates_of(graph) for graph in graphs]


def test_a_collector_takes_dates() -> None:
    rows: list[dict[str, str | None]] = [
        {"head": "Mary", "relation": "born", "time": "1797"},
        {"head": "Ada", "relation": "born", "time": "1815-12-10"},
        {"head": "Ada", "relation": "born", "time": "1815-12-10"},
        {"head": "Ada", "relation": "died", "time": "unknown"},
    ]
    collector, graph = collected(rows)
    assert dates_of(graph) == [("Ada", "born", "1815-12-10", "1815-12-10"), ("Mary", "born", "1797", "1797")]
    assert (graph.entities, graph.relations, graph.n_facts) == (("Ada", "Mary"), ("born",), 0)
    assert collector.unknown_dates == 1
    assert collector.notes == ["people: 1 date of an entity is unknown, and left out"]


def test_a_collector_numbers_facts_and_dates_together() -> None:
    collector = Collector(ReadOptions())
    code = parse_date("1815-12-10")
    born = pl.DataFrame(
        {"line": [1], "head": ["Ada"], "relation": ["born"], "begin": [code], "end": [code]},
        schema_overrides={"begin": pl.Int32, "end": pl.Int32},
    )
    met = pl.DataFrame({"line": [2], "head": ["Bob"], "relation": ["met"], "tail": ["Ada"]})
    collector.add_dates(Rows(Path("x"), born, str))
    collector.add(Rows(Path("x"), met, str))
    graph = collector.graph("x")
    assert graph.entities == ("Ada", "Bob")
    assert dates_of(graph) == [("Ada", "born", "1815-12-10", "1815-12-10")]
    assert (graph.head.tolist(), graph.tail.tolist(), graph.relations) == ([1], [0], ("born", "met"))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"head": " ", "relation": "born", "time": "1797"}, "people.csv:2: no head"),
        ({"head": "Ada", "relation": None, "time": "1797"}, "people.csv:2: no relation"),
        ({"head": "Ada", "relation": "born", "time": "soon"}, "people.csv:2: 'soon' is not a date"),
    ],
)
def test_a_collector_rejects_dates_as_it_does_facts(row: dict[str, str | None], words: str) -> None:
    good: dict[str, str | None] = {"head": "Mary", "relation": "born", "time": "1797"}
    with pytest.raises(InputError, match=words):
        collected([good, row], on_error="stop")
    collector, graph = collected([good, row], on_error="skip")
    assert (len(graph.dates), collector.rejections.total) == (1, 1)


def test_only_unknown_dates_are_no_facts() -> None:
    with pytest.raises(InputError, match="people: no facts"):
        collected([{"head": "Ada", "relation": "born", "time": "?"}])
