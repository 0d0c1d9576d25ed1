"""Inspection: what is said of a graph is so, and slips are noticed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from dualmatch import Config, InputError, TemporalGraph, align, read_graph
from dualmatch.cli.main import main
from dualmatch.config import Method
from dualmatch.graph.times import parse_date
from dualmatch.inspection import inspect_graph, time_overlap
from dualmatch.methods.resources import check_memory, estimate, least_bytes
from dualmatch.simulate import World, simulate

FACTS = [
    ("Ada", "met", "Charles", "1833", "1833"),
    ("Ada", "lived in", "London", "1835-03", "1852-11-27"),
    ("Mary", "met", "Ada", "1830", None),
    ("Mary", "knew", "Ada"),
]


def test_what_is_said_of_a_graph() -> None:
    said = inspect_graph(read_graph(FACTS))
    assert (said.facts, said.entities, said.relations) == (4, 4, 3)
    assert (said.dated_share, said.half_dated_share, said.points_share) == (0.75, 0.25, 0.25)
    assert said.precision == {"day": 0.2, "month": 0.2, "year": 0.6}
    assert (said.first_time, said.last_time, said.distinct_times) == ("1830", "1852-11-27", 4)
    assert said.degree == {"median": 1.5, "p90": pytest.approx(3.4), "most": 4.0}
    assert [(each.name, each.facts, each.dated_facts) for each in said.most_frequent_relations] == [
        ("met", 2, 2),
        ("knew", 1, 0),
        ("lived in", 1, 1),
    ]
    assert said.suspicious == ()


def facts(count: int = 40, **changes: object) -> TemporalGraph:
    """Facts about which nothing is odd, but for what is changed."""
    rows = []
    for i in range(count):
        row = {"head": f"a{i}", "relation": f"r{i % 3}", "tail": f"b{i}", "begin": 1900 + i, "end": 1960 + i}
        row |= {name: value(i) if callable(value) else value for name, value in changes.items()}
        rows.append(tuple(row.values()))
    return TemporalGraph.from_facts(rows)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"begin": None, "end": None}, "no fact has a time: were the time columns or predicates found?"),
        ({"begin": lambda i: 1900 if i % 2 else 1901 + i}, "50% of the begins are 1900: a placeholder?"),
        ({"end": lambda i: "9999-12-31" if i == 5 else 1960 + i}, "1 ends are after 2100, such as 9999-12-31"),
        ({"begin": lambda i: f"{1900 + i}-01-01"}, "100% of the begins given to the day are a first of January"),
        ({"relation": lambda i: "x" if i else "y"}, "98% of the facts have the relation 'x'"),
        ({"tail": lambda i: "unknown" if i % 2 else f"b{i}"}, "50% of the facts are about 'unknown': a placeholder?"),
        ({"tail": lambda i: f"b{i} "}, "40 entity names have a space at an end"),
        ({"head": "a", "tail": lambda i: f"b{i % 20}", "relation": "r", "begin": None, "end": lambda i: 1950 + i % 20},
         "50% of the facts repeat another"),
    ],
)  # fmt: skip
def test_slips_are_noticed(changes: dict[str, object], words: str | None) -> None:
    said = inspect_graph(facts(**changes)).suspicious
    if words is None:
        assert said == ()
    else:
        assert any(each.startswith(words) for each in said), said


def test_how_far_times_meet() -> None:
    source = read_graph([("a", "r", "b", "1990", "1995"), ("a", "r", "c", "2000"), ("a", "r", "d")])
    target = read_graph([("x", "r", "y", "1990", "1995"), ("x", "r", "z", "1995-03"), ("x", "r", "w", "1999-12")])
    overlap = time_overlap(source, target)
    assert (overlap.first, overlap.last) == ("1990", "1999")
    assert (overlap.source_share, overlap.target_share) == (0.5, pytest.approx(1 / 3))
    assert overlap.year_share == pytest.approx(2 / 3)
    apart = time_overlap(source, read_graph([("x", "r", "y", "1066")]))
    assert (apart.first, apart.last, apart.source_share, apart.year_share) == (None, None, 0.0, 0.0)


def test_a_run_above_its_memory_limit_is_refused_before_it_begins() -> None:
    columns = {name: np.zeros(800_000, np.int32) for name in ("head", "relation", "tail")}
    times = {name: np.full(800_000, parse_date("1833"), np.int32) for name in ("begin", "end")}
    graph = replace(facts(1), **columns, **times)
    words = (
        r"a run of method evidence on 1,600,000 facts takes at least about 0\.5 GB, and the memory limit is 0\.1 GB; "
        r"give it more \(memory_limit, --memory-limit 1GB\)"
    )
    with pytest.raises(InputError, match=words):
        align(graph, graph, method="evidence", memory_limit=10**8)
    check_memory(graph, graph, Config(method="evidence", memory_limit=5 * 10**8))
    larger = Config(method="dualmatch", dimension=4096, memory_limit=10**8)
    many = facts(1000)
    with pytest.raises(InputError, match="a run of method dualmatch on 2,000 facts"):
        check_memory(many, many, larger)


def test_the_least_memory_is_what_is_held_at_once() -> None:
    # a, b and c each have one time as heads and one as tails, but for a repeated fact and one without time.
    graph = read_graph(
        [
            ("a", "r", "b", "1900"),
            ("b", "r", "c", "1901"),
            ("c", "r", "a", "1900"),
            ("a", "s", "c", "1900"),
            ("a", "r", "c"),
        ]
    )
    entries = {("a", 0), ("b", 1), ("c", 0)}, {("b", 0), ("c", 1), ("a", 0), ("c", 0)}
    expected = 2 * 3 * 8 * sum(map(len, entries))
    assert least_bytes(graph, graph, Config(method="temporal")) == expected
    one, two = (least_bytes(graph, graph, Config(method="dualmatch", dimension=size)) for size in (100, 200))
    assert (one, two) == (4 * 100 * 54 * 6, 4 * 200 * 54 * 6)
    assert least_bytes(graph, graph, Config(method="fused", dimension=100)) == one
    assert least_bytes(graph, graph, Config(method="dualmatch", dimension=100, time_aspect=False)) == 4 * 100 * 43 * 6


def test_method_temporal_is_refused_where_its_features_do_not_fit() -> None:
    pair = simulate(World(entities=2000, mean_facts=10, seed=4))
    with pytest.raises(InputError, match=r"take more than 21 MiB, a third of the memory limit.*use method evidence"):
        align(pair.source, pair.target, method="temporal", memory_limit="64MiB")


def test_estimates_grow_with_the_graphs_and_stop_at_the_limit() -> None:
    small, large = facts(40), facts(400)
    config = Config(method="temporal", memory_limit=2**26)
    little, much = estimate(small, small, config, unit=1.0), estimate(large, large, config, unit=1.0)
    assert much.seconds[0] == pytest.approx(100 * little.seconds[0])
    assert much.gigabytes[1] <= (2**26 + 2.5e8) / 2**30
    evidence = estimate(large, large, Config(method="evidence"), unit=1.0)
    assert evidence.seconds[0] == pytest.approx(800 * 3e-5)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], small_world: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("head,relation,tail,year\nAda,met,Charles,1833\n")
    main(["inspect", str(path)])
    shown = capsys.readouterr()
    assert "What was understood" in shown.out
    assert "Together" not in shown.out
    assert (
        shown.err
        == f"note: {path}: guessed that head is 'head', relation is 'relation', tail is 'tail', time is 'year'\n"
    )
    main(["inspect", str(small_world)])
    assert "a run of method temporal takes about" in capsys.readouterr().out
    main(["inspect", str(path), str(path), "--json", "-"])
    report = json.loads(capsys.readouterr().out)
    assert [graph["facts"] for graph in report["graphs"]] == [1, 1]
    assert report["overlap"]["source_share"] == 1.0
    assert {each["method"] for each in report["estimates"]} == set(get_args(Method)) - {"fused"}


def test_dates_of_entities_stand_beside_the_facts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    people, facts = Path("people.csv"), Path("facts.csv")
    people.write_text("id,name,born,died\n1,Ada,1815-12-10,1852\n2,Mary,1797,\n")
    facts.write_text("head,relation,tail,year\nAda,met,Charles,1833\n")

    def rows(*paths: Path) -> list[list[str]]:
        main(["inspect", *map(str, paths)])
        shown = capsys.readouterr().out.partition("What was understood")[2]
        lines = (line.strip("│ ").split("│") for line in shown.splitlines() if line.startswith("│"))
        return [[cell.strip() for cell in line] for line in lines]

    assert rows(people)[:3] == [["facts", "0"], ["dates of entities themselves", "3 (2 entities)"], ["entities", "2"]]
    both = rows(people, facts)
    assert both[0] == ["facts", "0", "1"]
    assert both[1] == ["dates of entities", "3 (2 entities)", "0 (0 entities)"]  # and "themselves" in the next line
    assert ["facts with a time", "–", "100.0 %"] in both
    assert rows(facts)[:2] == [["facts", "1"], ["facts with a time", "100.0 %"]]


def test_lines_left_out_are_told_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rejected = tmp_path / "a.csv", tmp_path / "rejected.tsv"
    path.write_text("head,relation,tail,year\nAda,met,Charles,1833\nAda,met,Mary,soon\n")
    main(["inspect", str(path), "--on-error", "skip", "--rejected", str(rejected)])
    shown = capsys.readouterr()
    assert f"note: 1 line was left out; see {rejected} for the reasons" in shown.err
    assert rejected.read_text().splitlines()[1].split("\t")[1] == "3"


def test_relations_that_no_fact_has_are_not_listed() -> None:
    graph = read_graph(FACTS)
    said = inspect_graph(replace(graph, relations=(*graph.relations, "never")))
    assert [each.facts for each in said.most_frequent_relations] == [2, 1, 1]
