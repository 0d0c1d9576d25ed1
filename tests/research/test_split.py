"""A benchmark from one graph: as much in common as asked for, the truth known, nothing given away."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from conftest import refused
from dualmatch import TemporalGraph, align, evaluate, read_folder
from dualmatch.cli.main import main
from dualmatch.errors import InputError
from dualmatch.research.split import SplitPair, split_graph, write_split
from dualmatch.simulate import World, simulate

GRAPH = simulate(World(entities=300, mean_facts=14, undated_share=0.1, point_share=0.6, seed=5)).source


def facts_by_name(pair: SplitPair, side: int) -> set[tuple[str | int, ...]]:
    """Facts with entities called by their pair where they have one, and by side and row where they have none."""
    graph = (pair.source, pair.target)[side]
    number = {row: f"pair {at}" for at, row in enumerate(pair.gold[:, side].tolist())}
    name = [number.get(row, f"{side}:{row}") for row in range(graph.n_entities)]
    columns = (graph.head, graph.relation, graph.tail, graph.begin, graph.end)
    return {
        (name[h], graph.relations[r], name[t], b, e)
        for h, r, t, b, e in zip(*map(np.ndarray.tolist, columns), strict=True)
    }


@pytest.mark.parametrize("overlap", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_as_much_is_in_common_as_asked_for(overlap: float) -> None:
    pair = split_graph(GRAPH, overlap, keep_names=True)
    one, other = facts_by_name(pair, 0), facts_by_name(pair, 1)
    distinct = len({*zip(GRAPH.head, GRAPH.relation, GRAPH.tail, GRAPH.begin, GRAPH.end, strict=True)})
    assert abs(len(one) - len(other)) <= 1
    assert len(one | other) == distinct  # no fact is lost
    measured = 2 * len(one & other) / (len(one) + len(other))
    assert measured == pytest.approx(overlap, abs=0.002)
    assert pair.overlap == pytest.approx(measured)


def test_sizes_are_those_of_dicews() -> None:
    """Of the 461,329 facts of ICEWS05-15 the sides of DICEWS have 307,552 and 307,553."""
    number, names = np.arange(461_329), tuple(f"e{k}" for k in range(1000))
    graph = TemporalGraph(number % 1000, number * 0, number // 1000, number, number, names, ("r",))
    pair = split_graph(graph, 0.5)
    assert {pair.source.n_facts, pair.target.n_facts} == {307_552, 307_553}


def test_the_truth_is_planted() -> None:
    """A pair is one entity: with names kept, both sides call it the same, and every entity of both sides is a pair."""
    pair = split_graph(GRAPH, 0.5, keep_names=True)
    for source, target in pair.gold.tolist():
        assert pair.source.entities[source] == pair.target.entities[target]
    assert len(pair.gold) == len(set(pair.source.entities) & set(pair.target.entities))


def test_names_and_rows_give_nothing_away() -> None:
    pair = split_graph(GRAPH, 0.5)
    assert not set(pair.source.entities) & set(pair.target.entities)
    assert not set(pair.source.relations) & set(pair.target.relations)
    assert np.mean(pair.gold[:, 0] == pair.gold[:, 1]) < 0.05
    kept = split_graph(GRAPH, 0.5, keep_names=True)
    np.testing.assert_array_equal(pair.gold, kept.gold)  # names are all that differs
    np.testing.assert_array_equal(pair.target.head, kept.target.head)


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_entities_are_kept_apart_on_purpose(share: float) -> None:
    pair = split_graph(GRAPH, 0.4, without_partner=share)
    natural = split_graph(GRAPH, 0.4).without_partner
    for found, by_chance in zip(pair.without_partner, natural, strict=True):
        assert share - 0.01 <= found <= share + by_chance + 0.06  # entities that lose facts may go altogether
    one, other = facts_by_name(pair, 0), facts_by_name(pair, 1)
    assert pair.overlap == pytest.approx(0.4, abs=0.003)
    assert abs(len(one) - len(other)) <= 1
    for side, facts in enumerate((one, other)):
        assert sum(str(part).startswith(f"{side}:") for fact in facts for part in (fact[0], fact[2])) > 0


def test_the_same_seed_gives_the_same_folder_whatever_the_order(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(GRAPH.n_facts)
    columns = (getattr(GRAPH, name)[order] for name in ("head", "relation", "tail", "begin", "end"))
    shuffled = TemporalGraph(*columns, GRAPH.entities, GRAPH.relations, name=GRAPH.name)
    for name, graph, seed in (("a", GRAPH, 3), ("b", shuffled, 3), ("c", GRAPH, 4)):
        write_split(split_graph(graph, random_seed=seed), tmp_path / name)
    a, b, c = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "abc")
    assert a == b
    assert a["triples_1"] != c["triples_1"]


def test_the_folder_reads_back_and_aligns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "facts.csv"
    facts = simulate(World(entities=200, mean_facts=12, seed=2)).source
    rows = [
        f"{facts.entities[h]},{facts.relations[r]},{facts.entities[t]},{2000 + b % 97}-0{1 + b % 9}"
        for h, r, t, b in zip(
            *(getattr(facts, name).tolist() for name in ("head", "relation", "tail", "begin")), strict=True
        )
    ]
    table.write_text("\n".join(["head,relation,tail,time", *rows]) + "\n")
    out = tmp_path / "split"
    main(["split", str(table), "-o", str(out), "--seeds", "7", "--overlap", "0.6", "--random-seed", "1"])
    assert "60.0 % of the facts in common" in capsys.readouterr().out
    data = read_folder(out)
    seeds, test = (data.read_pairs(out / name) for name in ("sup_pairs", "ref_pairs"))
    assert len(seeds) == 7
    assert Counter(np.concatenate([seeds, test])[:, 0].tolist()).most_common(1)[0][1] == 1
    found = evaluate(align(data.source, data.target, method="evidence"), np.concatenate([seeds, test]))
    assert found.open["all"].h1 > 90  # 12 facts an entity, most of them on both sides
    assert "already exists" in refused(["split", str(table), "-o", str(out)], capsys, tmp_path)
    main(["split", str(table), "-o", str(out), "--force", "-q"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"overlap": 1.2}, "overlap: 1.2 is outside"),
        ({"without_partner": 0.95}, "without_partner: 0.95 is outside"),
        ({"overlap": 0.95, "without_partner": 0.5}, "is the most"),
        ({"seeds": 10_000}, "leave none to test"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        split_graph(GRAPH, **options)


def test_a_graph_too_small_is_refused() -> None:
    with pytest.raises(InputError, match="too few to split"):
        split_graph(TemporalGraph.from_facts([("a", "r", "b", "1990")]))
    with pytest.raises(InputError, match="no entity is on both sides"):
        split_graph(TemporalGraph.from_facts([("a", "r", "b", "1990"), ("c", "r", "d", "1990")]), overlap=0)
