"""Simulated worlds: what is planted can be measured, and nothing else can be read off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dualmatch.errors import ConfigError, OutputError
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, Precision, precision_of
from dualmatch.readers.benchmark_folder import read_folder
from dualmatch.simulate import (
    VARIED,
    SimulatedPair,
    World,
    benchmark_writer,
    scale_world,
    shuffled_copy,
    simulate,
    write_folder,
)
from dualmatch.simulate.history import NO_DAY, draw_vocabularies
from dualmatch.simulate.planted_pair import draw_calendar, observe_dates

COLUMNS = ("head", "relation", "tail", "begin", "end")
RICH = World(
    entities=3000,
    mean_facts=9,
    degree_skew=0.7,
    common_share=0.55,
    unmatched_source=0.2,
    unmatched_target=0.1,
    relations_source=20,
    relations_target=15,
    relations_split=4,
    relations_inverse=5,
    point_share=0.6,
    undated_share=0.1,
    half_known_share=0.2,
    month_only_share=0.15,
    year_only_share=0.25,
    wrong_share=0.04,
    missing_share=0.06,
    seed=11,
)


@pytest.fixture(scope="module")
def rich() -> SimulatedPair:
    return simulate(RICH)


def facts_per_entity(graph: TemporalGraph) -> NDArray[np.int64]:
    """Rows of facts each entity stands in; a fact with itself would count once."""
    counts = np.bincount(graph.head, minlength=graph.n_entities)
    return counts + np.bincount(graph.tail[graph.head != graph.tail], minlength=graph.n_entities)


def facts_table(graph: TemporalGraph) -> pl.DataFrame:
    return pl.DataFrame({name: getattr(graph, name) for name in COLUMNS}).with_row_index("fact")


def common_facts(pair: SimulatedPair) -> pl.DataFrame:
    """Facts of both sides that are the same by the true pairs of entities and relations, joined; dates are not used."""
    partner = np.full(pair.source.n_entities, -1, dtype=np.int32)
    partner[pair.gold[:, 0]] = pair.gold[:, 1]
    words = pl.DataFrame(pair.relation_gold, schema=["relation", "relation_t", "turned"], orient="row")
    source = facts_table(pair.source).with_columns(
        pl.Series("head", partner[pair.source.head]), pl.Series("tail", partner[pair.source.tail])
    )
    turned = pl.col("turned") == 1
    source = source.filter((pl.col("head") >= 0) & (pl.col("tail") >= 0)).join(words, on="relation")
    source = source.with_columns(
        pl.when(turned).then("tail").otherwise("head").alias("head"),
        pl.when(turned).then("head").otherwise("tail").alias("tail"),
    )
    keys = ["head", "relation_t", "tail"]
    return source.join(facts_table(pair.target).rename({"relation": "relation_t"}), on=keys, suffix="_t")


# What is planted is there.


def test_share_of_common_facts_is_as_asked(rich: SimulatedPair) -> None:
    joined = common_facts(rich)
    shares = [
        joined[name].n_unique() / graph.n_facts for name, graph in (("fact", rich.source), ("fact_t", rich.target))
    ]
    assert np.mean(shares) == pytest.approx(RICH.common_share, abs=0.02)


def test_sizes_and_pairs_are_as_asked(rich: SimulatedPair) -> None:
    sizes = RICH.sizes
    assert rich.source.n_entities == 3000
    assert len(rich.gold) == sizes.both == 2400
    assert rich.target.n_entities == pytest.approx(2400 / 0.9, abs=1)
    assert (rich.source.n_facts, rich.target.n_facts) == (sizes.source_facts, sizes.target_facts)
    assert 2 * rich.source.n_facts / rich.source.n_entities == pytest.approx(RICH.mean_facts, rel=0.001)
    assert len(rich.seeds) == round(0.1 * len(rich.gold))
    assert len(rich.seeds) + len(rich.test) == len(rich.gold)


def test_every_entity_has_the_minimum_of_facts_and_none_with_itself(rich: SimulatedPair) -> None:
    for graph in (rich.source, rich.target):
        assert facts_per_entity(graph).min() == RICH.min_facts
        assert not (graph.head == graph.tail).any()


@pytest.mark.parametrize("skew", [0.0, 0.6])
def test_entities_without_partner_have_facts_at_the_same_rate(skew: float) -> None:
    pair = simulate(World(entities=20_000, unmatched_source=0.3, common_share=0.6, degree_skew=skew, seed=5))
    counts = facts_per_entity(pair.source)
    alone = np.ones(len(counts), dtype=bool)
    alone[pair.gold[:, 0]] = False
    assert alone.mean() == pytest.approx(0.3, abs=0.001)
    assert counts[alone].mean() == pytest.approx(counts[~alone].mean(), rel=0.04)
    assert np.median(counts[alone]) == pytest.approx(np.median(counts[~alone]), abs=1)


def test_fame_is_a_power_law_and_zero_skew_is_even() -> None:
    even, skewed = (facts_per_entity(simulate(World(entities=20_000, degree_skew=skew)).source) for skew in (0.0, 0.8))
    assert even.max() < 30
    rank = np.unique(np.geomspace(5, 500, 30).astype(int))
    slope = np.polyfit(np.log(rank), np.log(np.sort(skewed)[::-1][rank] - 3.0), 1)[0]
    assert slope == pytest.approx(-0.8, abs=0.1)


def test_common_dates_differ_as_often_as_observers_err() -> None:
    pair = simulate(World(entities=5000, wrong_share=0.1, relations_source=200, relations_target=150, seed=3))
    joined = common_facts(pair)
    once = joined.filter(pl.col("fact").is_unique() & pl.col("fact_t").is_unique())
    assert once.height > 0.55 * pair.source.n_facts
    assert (once["begin"] != once["begin_t"]).mean() == pytest.approx(1 - 0.9**2, abs=0.015)


def test_an_observers_dates_have_the_shares_asked_for() -> None:
    world = RICH
    calendar, rng, n = draw_calendar(world), np.random.default_rng(0), 100_000
    first, second = np.sort(rng.integers(calendar.shape[1], size=(2, n), dtype=np.int32), axis=0)
    second[: n // 2] = first[: n // 2]  # points
    exact = world.model_copy(update={"month_only_share": 0.0, "year_only_share": 0.0})
    begin, end = observe_dates(first, second, calendar, exact, rng)
    for seen, true in ((begin, first), (end, second)):
        known = seen != UNKNOWN
        assert 1 - known.mean() == pytest.approx(world.missing_share, abs=0.004)
        assert (seen != calendar[Precision.DAY, true])[known].mean() == pytest.approx(world.wrong_share, abs=0.004)
    assert (begin == end)[: n // 2].all()
    assert (end >= begin)[(begin != UNKNOWN) & (end != UNKNOWN)].all()

    begin, end = observe_dates(first, second, calendar, world, rng)
    for seen in (begin, end):
        shares = np.bincount(precision_of(seen[seen != UNKNOWN]), minlength=3) / (seen != UNKNOWN).sum()
        assert shares == pytest.approx([0.25, 0.15, 0.6], abs=0.008)
    nothing = np.full(5, NO_DAY, dtype=np.int32)
    assert (observe_dates(nothing, nothing, calendar, world, rng)[0] == UNKNOWN).all()


def test_kinds_of_time_have_the_shares_asked_for() -> None:
    world = World(entities=20_000, point_share=0.6, undated_share=0.1, half_known_share=0.2)
    graph = simulate(world).source
    begin, end = graph.begin != UNKNOWN, graph.end != UNKNOWN
    assert (~begin & ~end).mean() == pytest.approx(0.1, abs=0.005)
    assert (begin & (graph.begin == graph.end)).mean() == pytest.approx(0.9 * 0.6, abs=0.006)
    assert (begin & ~end).mean() == pytest.approx(0.9 * 0.4 * 0.1, abs=0.004)
    assert (~begin & end).mean() == pytest.approx(0.9 * 0.4 * 0.1, abs=0.004)
    assert graph.statistics.reversed_intervals == 0


def test_vocabularies_merge_split_and_turn_as_asked() -> None:
    for seed in range(20):
        words = draw_vocabularies(RICH, np.random.default_rng(seed))
        pairs = words.pairs()
        assert set(words.source) == set(range(20))
        assert set(words.target) == set(range(15))
        assert words.inverse.sum() == 5
        assert len(pairs) == len(np.unique(pairs[:, :2], axis=0)) == 24
        assert np.bincount(np.bincount(pairs[:, 0])).tolist() == [0, 16, 4]  # four source relations are split


def test_presets_are_as_described() -> None:
    world = scale_world(10_000)
    pair = simulate(world)
    counts = facts_per_entity(pair.source)
    assert (counts.min(), counts.mean()) == (3, pytest.approx(10))
    assert len(pair.gold) == 9000
    assert (pair.source.n_relations, pair.target.n_relations) == (200, 150)
    assert (precision_of(pair.target.begin) == Precision.YEAR).mean() == pytest.approx(0.3, abs=0.01)
    assert common_facts(pair)["fact"].n_unique() / pair.source.n_facts == pytest.approx(0.6, abs=0.01)
    assert VARIED.entities == 1500
    assert simulate(VARIED).target.n_entities == 1500


# Nothing else can be read off.


def test_rows_and_names_tell_nothing(rich: SimulatedPair) -> None:
    assert abs(np.corrcoef(rich.gold[:, 0], rich.gold[:, 1])[0, 1]) < 0.1
    assert rich.source.entities[7] == "s-0007"
    assert rich.target.entities[-1] == f"t-{rich.target.n_entities - 1:04d}"
    alone = np.setdiff1d(np.arange(rich.source.n_entities), rich.gold[:, 0])
    assert alone.mean() == pytest.approx(rich.source.n_entities / 2, rel=0.1)
    common = common_facts(rich)["fact"].unique()
    assert common.mean() == pytest.approx(rich.source.n_facts / 2, rel=0.05)


def test_shuffled_copy_is_the_same_graph(rich: SimulatedPair) -> None:
    graph = rich.source
    copy, gold = shuffled_copy(graph, np.random.default_rng(1))
    assert [graph.entities[i] for i in gold[:, 0]] == [copy.entities[i] for i in gold[:, 1]]

    def named(g: TemporalGraph) -> list[tuple[str, str, str, int, int]]:
        rows = zip(*(getattr(g, name).tolist() for name in COLUMNS), strict=True)
        return sorted((g.entities[h], g.relations[r], g.entities[t], b, e) for h, r, t, b, e in rows)

    assert named(graph) == named(copy)
    assert not np.array_equal(graph.head, copy.head)
    assert graph.relations != copy.relations


# Options.


def test_all_wrong_options_are_listed_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        World(entities=1, min_facts=20, common_share=1.5, colour="red", month_only_share=0.7, year_only_share=0.6)  # type: ignore[call-arg]
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "entities",
        "common_share",
        "colour",
        "min_facts",
        "year_only_share",
    ]
    assert "lower it or raise mean_facts" in lines[3]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"common_share": 0.95}, "common_share"),
        ({"unmatched_target": 0.9}, "common_share"),
        ({"relations_target": 41}, "relations_target"),
        ({"relations_split": 30}, "relations_split"),
        ({"relations_inverse": 31}, "relations_inverse"),
        ({"first_year": 9990, "years": 11}, "years"),
        ({"entities": 10**9}, "entities"),
        ({"seed": -1}, "seed"),
        ({"wrong_share": float("nan")}, "wrong_share"),
    ],
)
def test_each_limit_is_named(options: dict[str, float], name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: [^\n]*$"):
        World.model_validate(options)


def test_every_option_is_described_and_none_can_be_changed() -> None:
    assert all(option.description for option in World.model_fields.values())
    with pytest.raises(ValueError, match="frozen"):
        VARIED.entities = 3


# Any world.


@st.composite
def worlds(draw: st.DrawFn) -> World:
    share = st.floats(0, 1)
    shape: dict[str, Any] = {
        "entities": draw(st.integers(4, 60)),
        "mean_facts": (mean := draw(st.floats(1, 9))),
        "min_facts": draw(st.integers(1, int(mean))),
        "degree_skew": draw(st.floats(0, 2)),
        "unmatched_source": draw(st.floats(0, 0.9)),
        "unmatched_target": draw(st.floats(0, 0.9)),
        "common_share": 0.0,
        "relations_source": (source := draw(st.integers(1, 12))),
        "relations_target": (target := draw(st.integers(1, source))),
        "relations_split": draw(st.integers(0, target - 1)),
        "relations_inverse": draw(st.integers(0, target)),
        "first_year": draw(st.integers(1, 3000)),
        "years": draw(st.integers(1, 3)),
        "month_only_share": (month := draw(share)),
        "year_only_share": draw(st.floats(0, 1 - month)),
        **{name: draw(share) for name in ("point_share", "undated_share", "half_known_share", "seed_share")},
        **{name: draw(share) for name in ("wrong_share", "missing_share", "relation_skew")},
        "seed": draw(st.integers(0, 2**64)),
    }
    most = World(**shape).largest_common_share
    return World(**{**shape, "common_share": draw(st.floats(0, most))})


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_any_world_keeps_its_promises(world: World) -> None:
    pair, sizes = simulate(world), world.sizes
    sides = (pair.source, sizes.source_facts, sizes.source_only), (pair.target, sizes.target_facts, sizes.target_only)
    for column, (graph, n_facts, alone) in enumerate(sides):
        assert facts_per_entity(graph).min() >= world.min_facts
        assert not (graph.head == graph.tail).any()
        assert graph.n_facts >= n_facts
        assert graph.n_entities == sizes.both + alone
        assert len(np.unique(pair.gold[:, column])) == sizes.both
        assert graph.statistics.reversed_intervals == 0
        known = graph.begin[graph.begin != UNKNOWN]
        assert np.isin(known, draw_calendar(world)).all()
    assert len(np.unique(pair.relation_gold[:, 1])) == world.relations_target


# The folder.


def assert_equal_graphs(one: TemporalGraph, other: TemporalGraph) -> None:
    assert (one.entities, one.relations) == (other.entities, other.relations)
    for name in COLUMNS:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(world=worlds())
def test_any_folder_is_read_back_equal(world: World, tmp_path: Path) -> None:
    pair = simulate(world)
    read = read_folder(write_folder(pair, tmp_path / "any", force=True))
    if any((graph.begin != UNKNOWN).any() or (graph.end != UNKNOWN).any() for graph in (pair.source, pair.target)):
        assert not read.source.opaque_times
    assert_equal_graphs(read.source, pair.source)
    assert_equal_graphs(read.target, pair.target)


def test_folder_holds_the_truth_and_the_options(rich: SimulatedPair, tmp_path: Path) -> None:
    read = read_folder(write_folder(rich, tmp_path / "world"))
    assert_equal_graphs(read.target, rich.target)
    assert np.array_equal(read.read_pairs(read.path / "sup_pairs"), rich.seeds)
    assert np.array_equal(read.read_pairs(read.path / "ref_pairs"), rich.test)
    assert read.target_ids[0] == rich.source.n_entities
    options = json.loads((read.path / "world.json").read_text())
    assert World(**options["world"]) == RICH
    assert options["dualmatch"]
    assert sorted(contents(read.path)) == sorted(benchmark_writer.SIMULATION_FILES)


def test_same_seed_same_bytes_other_seed_other_bytes(tmp_path: Path) -> None:
    world = RICH.model_copy(update={"entities": 200})
    other = world.model_copy(update={"seed": 12})
    one, two, three = (
        contents(write_folder(simulate(w), tmp_path / name)) for name, w in (("1", world), ("2", world), ("3", other))
    )
    assert one == two
    assert all(one[name] != three[name] for name in ("triples_1", "triples_2", "sup_pairs", "ref_pairs", "world.json"))


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize(("step", "at"), [("write_table", 2), ("sync", 1)])
def test_interrupted_write_leaves_nothing_behind(
    interruption: BaseException, step: str, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(entities=50)
    before = contents(write_folder(simulate(world), tmp_path / "old"))
    calls, real = [0], getattr(benchmark_writer, step)

    def break_off(*arguments: object) -> None:
        calls[0] += 1
        if calls[0] == at:
            raise interruption
        real(*arguments)

    monkeypatch.setattr(benchmark_writer, step, break_off)
    expected = OutputError if isinstance(interruption, OSError) else KeyboardInterrupt
    for name in ("new", "old"):
        calls[0] = 0
        with pytest.raises(expected):
            write_folder(simulate(world.model_copy(update={"seed": 1})), tmp_path / name, force=True)
    assert [item.name for item in tmp_path.iterdir()] == ["old"]
    assert contents(tmp_path / "old") == before


def test_failed_exchange_brings_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(write_folder(simulate(World(entities=50)), tmp_path / "old"))
    rename = Path.rename

    def fail_for_drafts(self: Path, target: Path) -> Path:
        if self.name.endswith(".draft"):
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_for_drafts)
    with pytest.raises(OutputError, match="Permission denied"):
        write_folder(simulate(World(entities=50, seed=1)), tmp_path / "old", force=True)
    assert [item.name for item in tmp_path.iterdir()] == ["old"]
    assert contents(tmp_path / "old") == before


def test_what_is_there_already_stays(tmp_path: Path) -> None:
    pair = simulate(World(entities=50))
    path = write_folder(pair, tmp_path / "world")
    with pytest.raises(OutputError, match="already exists"):
        write_folder(pair, path)
    (path / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"holds notes\.txt"):
        write_folder(pair, path, force=True)
    assert (path / "notes.txt").read_text() == "mine"
    with pytest.raises(OutputError, match="is not a folder"):
        write_folder(pair, path / "notes.txt", force=True)
    with pytest.raises(OutputError, match="make it first"):
        write_folder(pair, tmp_path / "nowhere" / "world")
    (path / "notes.txt").unlink()
    changed = simulate(World(entities=60))
    assert_equal_graphs(read_folder(write_folder(changed, path, force=True)).source, changed.source)
