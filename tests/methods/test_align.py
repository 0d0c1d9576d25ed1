"""The one call: planted answers, seeds, invariance, and what it refuses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dualmatch import Alignment, ConfigError, InputError, TemporalGraph, align, evaluate, read_graph
from dualmatch.graph.times import UNKNOWN, format_date
from dualmatch.simulate import VARIED, World, shuffled_copy, simulate

# Enough facts on enough days that no two entities have the same times at the same distance.
DISTINCT = World(entities=400, mean_facts=8, years=10, point_share=0.6, half_known_share=0.2, seed=11)


def test_a_graph_and_its_shuffled_copy_align_completely() -> None:
    graph = simulate(DISTINCT).source
    copy, gold = shuffled_copy(graph, np.random.default_rng(5))
    alignment = align(graph, copy)
    evaluation = evaluate(alignment, gold)
    assert evaluation.abstention.precision == evaluation.abstention.recall == 1.0
    assert evaluation.open["all"].h1 == evaluation.paper["all"].h1 == evaluation.open_reverse["all"].h1 == 100.0


@pytest.mark.parametrize("library", ["polars", "pandas", "tuples", "files"])
def test_what_can_be_read_as_a_graph_can_be_aligned(library: str, tmp_path: Path) -> None:
    pair = simulate(World(entities=60, seed=3))
    tables = [_table(graph) for graph in (pair.source, pair.target)]
    paths = [tmp_path / name for name in ("source.csv", "target.csv")]
    for table, path in zip(tables, paths, strict=True):
        table.write_csv(path)
    if library == "pandas":
        pandas = pytest.importorskip("pandas")
    source, target = {
        "polars": lambda: tables,
        "pandas": lambda: [pandas.DataFrame(table.to_dict(as_series=False)) for table in tables],
        "tuples": lambda: [table.rows() for table in tables],
        "files": lambda: [str(path) for path in paths],
    }[library]()
    alignment = align(source, target)
    assert alignment.links() == align(*map(read_graph, paths)).links()
    if library != "files":
        assert (alignment.source.name, alignment.target.name) == ("source", "target")


def _table(graph: TemporalGraph) -> pl.DataFrame:
    columns = {
        "head": [graph.entities[row] for row in graph.head.tolist()],
        "relation": [graph.relations[row] for row in graph.relation.tolist()],
        "tail": [graph.entities[row] for row in graph.tail.tolist()],
        "begin": [None if code == UNKNOWN else format_date(code) for code in graph.begin.tolist()],
        "end": [None if code == UNKNOWN else format_date(code) for code in graph.end.tolist()],
    }
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (3, "^target: a graph cannot be read from int; give a path, a data frame or tuples"),
        (pl.DataFrame({"a": ["x"]}), "^target: data frame: cannot tell which column is the head"),
        (pl.DataFrame({"head": [None], "relation": ["r"], "tail": ["b"]}), "^target: data frame:1: no head"),
        ([], "^target: no facts; an empty graph cannot be aligned"),
        ("nowhere.csv", "^nowhere.csv: no such file"),
    ],
    ids=["number", "columns", "missing head", "empty", "no file"],
)
def test_what_cannot_be_read_is_refused_with_its_side(target: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        align(simulate(World(entities=20)).source, target)


def test_the_demo_world_is_aligned_well_by_time_alone() -> None:
    pair = simulate(VARIED)
    evaluation = evaluate(align(pair.source, pair.target), pair.gold)
    assert evaluation.open["all"].h1 > 85
    assert evaluation.abstention.precision > 0.9


def name_links(alignment: Alignment) -> set[tuple[str, str]]:
    return {(source, target) for source, target, _ in alignment.links()}


def test_permuting_both_graphs_permutes_the_result() -> None:
    pair = simulate(World(entities=250, seed=2))
    rng = np.random.default_rng(9)
    source, target = shuffled_copy(pair.source, rng)[0], shuffled_copy(pair.target, rng)[0]
    assert name_links(align(source, target)) == name_links(align(pair.source, pair.target))


def test_swapping_the_graphs_transposes_the_pseudo_seeds() -> None:
    pair = simulate(World(entities=250, unmatched_source=0.2, seed=2))
    forward, backward = align(pair.source, pair.target), align(pair.target, pair.source)
    assert {(t, s) for s, t in name_links(backward)} == name_links(forward)


def test_same_input_same_bytes() -> None:
    pair = simulate(World(entities=200, seed=4))
    first, second = align(pair.source, pair.target), align(pair.source, pair.target)
    assert first.pairs.tobytes() == second.pairs.tobytes()
    assert first.confidence.tobytes() == second.confidence.tobytes()


def test_a_small_memory_limit_changes_time_not_results() -> None:
    """3,000² float32 numbers do not fit into the kernel's half of 64 MiB: rows are computed again on every pass."""
    pair = simulate(World(entities=3000, mean_facts=4, years=2, seed=6))
    roomy, tight = align(pair.source, pair.target), align(pair.source, pair.target, memory_limit=2**26)
    agree = name_links(roomy) & name_links(tight)
    assert len(agree) >= 0.999 * len(name_links(roomy))


def test_seeds_stand_as_given_by_rows_or_names() -> None:
    pair = simulate(World(entities=120, seed=8))
    wrong = np.stack([pair.gold[:5, 0], np.roll(pair.gold[:5, 1], 1)], axis=1)
    names = [(pair.source.entities[s], pair.target.entities[t]) for s, t in wrong.tolist()]
    by_row, by_name = align(pair.source, pair.target, wrong), align(pair.source, pair.target, names)
    assert by_row.links() == by_name.links()
    assert set(names) <= name_links(by_row)
    assert by_row.is_seed.sum() == 5
    assert (by_row.confidence[by_row.is_seed] == 1).all()
    assert len(np.unique(by_row.pairs[:, 0])) == len(np.unique(by_row.pairs[:, 1])) == len(by_row.pairs)


GRAPH = TemporalGraph.from_facts([("a", "r", "b", "2000"), ("b", "r", "c", "2001")], name="left")


@pytest.mark.parametrize(
    ("source", "seeds", "words"),
    [
        (TemporalGraph.from_facts([], name="nothing"), None, "nothing: no facts"),
        (TemporalGraph.from_facts([("a", "r", "b")], name="timeless"), None, "timeless: no fact has a time"),
        (TemporalGraph.from_facts([("a", "r", "b", "1850")], name="old"), None, "no time in common"),
        (GRAPH, [("a", "a"), ("a", "b")], "'a' is in 2 pairs"),
        (GRAPH, [("a", "a"), ("b", "a")], "target entity 'a' is in 2 pairs"),
        (GRAPH, [("x", "a")], "1 source entity is not in left: 'x'; fix"),
        (GRAPH, np.array([[0, 7]]), "target row is outside"),
    ],
)
def test_what_cannot_be_aligned_is_refused_in_words(source: TemporalGraph, seeds: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        align(source, GRAPH, seeds)


def test_all_wrong_options_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        align(GRAPH, GRAPH, hops=-1, sharpness=0.0, colour="red")
    assert all(f"option {name}" in str(caught.value) for name in ("hops", "sharpness", "colour"))


def test_entities_in_no_fact_get_no_link() -> None:
    """Sinkhorn leaves mass for them, but there is no evidence for any pair of theirs."""
    source = TemporalGraph.from_facts([("Ada", "lived in", "London", "2005"), ("Ada", "met", "Charles", "2007")])
    lonely = replace(source, entities=(*source.entities, "Lonely"))
    facts = [("Q7", "P1", "Q84", "2005"), ("Q7", "P2", "Q46", "2007"), ("Q7", "P1", "Q9", "2006")]
    target = TemporalGraph.from_facts(facts)
    for left, right in ((lonely, target), (target, lonely)):
        assert all("Lonely" not in link for link in align(left, right).links())
    assert {("Ada", "Q7"), ("London", "Q84"), ("Charles", "Q46")} == name_links(align(lonely, target))
