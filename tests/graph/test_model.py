"""The graph itself: what it counts, and what it does not let in."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from dualmatch.errors import InputError
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, encode_date

FACTS = [
    ("Ada", "lived in", "London", "1835-03", "1852-11-27"),
    ("Ada", "met", "Charles", "1833"),
    ("Ada", "met", "Charles", "1833"),
    ("Ada", "knew", "Charles"),
    ("Charles", "lived in", "London", "~", "1871"),
    ("Charles", "lived in", "London", "1871", "1828"),
]


def columns(**changes: Any) -> dict[str, Any]:
    column = np.zeros(2, np.int32)
    given = {name: column.copy() for name in ("head", "relation", "tail", "begin", "end")}
    return {**given, "entities": ("a",), "relations": ("r",), **changes}


def test_facts_of_three_four_and_five_parts() -> None:
    graph = TemporalGraph.from_facts(FACTS)
    assert graph.entities == ("Ada", "London", "Charles")
    assert graph.relations == ("lived in", "met", "knew")
    assert graph.begin.tolist()[:5] == [encode_date(1835, 3), encode_date(1833), encode_date(1833), UNKNOWN, UNKNOWN]
    assert graph.end.tolist()[3:5] == [UNKNOWN, encode_date(1871)]
    assert graph.entity_rows == {"Ada": 0, "London": 1, "Charles": 2}


def test_statistics() -> None:
    statistics = TemporalGraph.from_facts(FACTS).statistics
    assert statistics.facts == 6
    assert statistics.repeated_facts == 1
    assert statistics.dated_facts == 5
    assert statistics.half_dated_facts == 1
    assert statistics.reversed_intervals == 1
    assert statistics.distinct_times == 5
    assert statistics.distinct_intervals == 4
    assert (statistics.first_time, statistics.last_time) == (encode_date(1828), encode_date(1871))


def test_repr_tells_the_statistics() -> None:
    assert repr(TemporalGraph.from_facts(FACTS, name="lives")) == (
        "TemporalGraph('lives': 3 entities (0 in no fact), 3 relations, 6 facts (83% dated), "
        "5 times in 4 intervals, 1828 … 1871)"
    )


def test_an_empty_graph_and_one_without_times_have_a_repr_too() -> None:
    empty = TemporalGraph.from_facts([])
    assert "0 facts, 0 times in 0 intervals, none" in repr(empty)
    assert not empty.has_times
    undated = TemporalGraph.from_facts([("a", "r", "b"), ("a", "r", "c", "-inf", "~")])
    assert not undated.has_times
    assert undated.statistics.first_time == UNKNOWN


def test_opaque_times_are_shown_as_they_are() -> None:
    graph = TemporalGraph(**columns(begin=[7, 3], end=[3, 9]), opaque_times=True)
    assert repr(graph).endswith("3 … 9)")
    assert graph.reversed_intervals == 0


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (("a", "r"), "graph: fact 2 has 2 parts; give"),
        (("a", "r", "b", "1", "2", "3"), "graph: fact 2 has 6 parts; give"),
        (("a", "r", "b", "soon"), "graph: fact 2: 'soon' is not a date; write YYYY"),
    ],
)
def test_a_bad_fact_is_told_by_number(fact: tuple[str, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        TemporalGraph.from_facts([("a", "r", "b"), fact])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"head": [0]}, "the fact columns differ in length"),
        ({"head": [0, 1]}, "column head holds a number outside 0…0"),
        ({"tail": [0, -1]}, "column tail holds a number outside 0…0"),
        ({"relation": [0, 1]}, "column relation holds a number outside 0…0"),
        ({"head": [0, 2**32]}, "column head is not an array of whole numbers that fit into 32 bits"),
        ({"begin": [0.5, 1.0]}, "column begin is not an array of whole numbers"),
        ({"end": [[0, 1]]}, "column end is not an array of whole numbers"),
        ({"entities": ("a", "a")}, "entity names repeat; give each entity a name of its own"),
        ({"relations": ("r", "r")}, "relation names repeat; give each relation a name of its own"),
    ],
)
def test_columns_that_do_not_fit_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=f"graph: {words}"):
        TemporalGraph(**columns(**changes))


def test_a_graph_keeps_its_own_columns() -> None:
    given = columns()
    graph = TemporalGraph(**given)
    given["begin"][0] = 5
    assert graph.begin[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        graph.begin[0] = 1


def test_some_facts_of_a_graph_are_as_if_it_had_been_built_of_them() -> None:
    rows = [("a", "r", "b", "1833"), ("b", "s", "c", "1834", "1840"), ("c", "r", "a"), ("a", "born", None, "1815")]
    graph = TemporalGraph.from_facts(rows)
    cached = [name for name in dir(type(graph)) if isinstance(getattr(type(graph), name), cached_property)]
    assert len(cached) >= 4
    for name in cached:
        getattr(graph, name)
    part = graph.with_facts(np.array([2, 0]), np.zeros(0, dtype=np.int64))
    fresh = replace(
        graph,
        **{name: getattr(graph, name)[[2, 0]] for name in ("head", "relation", "tail", "begin", "end")},
        dates=graph.dates.at(np.zeros(0, dtype=np.int64)),
    )
    for name in cached:
        one, other = getattr(part, name), getattr(fresh, name)
        same = np.array_equal(one, other) if isinstance(one, np.ndarray) else str(one) == str(other)
        assert same, name
    assert repr(part) == repr(fresh)
