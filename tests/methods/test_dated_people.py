"""Dates of entities as evidence: planted people, what stays undecided, and that neither order nor side matters."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dated_people import People, links, people
from dualmatch import Alignment, InputError, TemporalGraph, align, evaluate
from dualmatch.explain.basis import ExplanationBasis, basis_of
from dualmatch.explain.explain import explain_entity, reasons
from dualmatch.graph.growth import grown
from dualmatch.graph.ordering import sorted_by_name
from dualmatch.inspection import inspect_graph
from dualmatch.merge import merge
from dualmatch.methods.update import UpdateBasis, update
from dualmatch.readers.benchmark_folder import read_folder
from dualmatch.readers.read import read_graph
from dualmatch.research.split import split_graph, write_split
from dualmatch.review.pair_view import pair_view, timeline
from dualmatch.runs.stages import about_state, state_as_arrays, state_of
from dualmatch.simulate import World, shuffled_copy, simulate
from dualmatch.simulate.benchmark_writer import write_benchmark_files


@pytest.fixture(scope="module")
def world() -> People:
    return people()


@pytest.fixture(scope="module")
def found(world: People) -> Alignment:
    return align(world.source, world.target)


def scores(alignment: Alignment, world: People) -> tuple[float, float]:
    """Precision, and recall among the pairs that share a date known to the day."""
    made = links(alignment)
    right = {source for source, target in made.items() if world.gold.get(source) == target}
    return len(right) / max(len(made), 1), len(right & world.findable) / len(world.findable)


def test_people_are_found_by_their_dates_alone(found: Alignment, world: People) -> None:
    precision, recall = scores(found, world)
    assert precision > 0.98
    assert recall > 0.96
    evaluation = evaluate(found, np.array([(world.source.entity_rows[s], world.target.entity_rows[t])
                                           for s, t in world.gold.items()]))  # fmt: skip
    assert evaluation.calibration.ece < 0.03


def test_which_relations_say_the_same_is_found_out(found: Alignment, world: People) -> None:
    assert found.evidence is not None
    row, column, _, support = found.evidence.relations.links()
    named = {(world.source.relations[r], world.target.relations[s]) for r, s in zip(row, column, strict=True)}
    assert named == {("born", "P569"), ("died", "P570")}
    assert (support > 150).all()


@pytest.mark.parametrize("seed", [1, 2])
def test_dates_that_are_missing_cost_only_what_they_would_have_shown(seed: int) -> None:
    world = people(missing=0.1, seed=seed)
    made = align(world.source, world.target)
    precision, recall = scores(made, world)
    assert precision > 0.95
    assert recall > 0.95
    wrong = sum(world.gold.get(source) != target for source, target in links(made).items())
    assert abs(wrong - float((1.0 - made.confidence).sum())) < 8  # they are as many as the run expects


def test_years_alone_decide_where_two_of_them_agree_and_only_there() -> None:
    world = people(years_only=1.0, wrong=0.0)
    made = align(world.source, world.target)
    right = sum(world.gold.get(source) == target for source, target in links(made).items())
    assert right / len(links(made)) > 0.93
    assert right > 0.7 * len(world.gold)


def test_strangers_are_not_linked() -> None:
    world = people(shared=1, alone=500)
    assert len(links(align(world.source, world.target))) <= 5


def test_twins_stay_undecided(world: People) -> None:
    twins = [[(f"{side} twin {at}", relation, None, date) for at in (1, 2) for relation, date in dates]
             for side, dates in (("s", (("born", "1810-05-05"), ("died", "1880-06-06"))),
                                 ("t", (("P569", "1810-05-05"), ("P570", "1880-06-06"))))]  # fmt: skip
    source, target = (TemporalGraph.from_facts([*rows, *more]) for rows, more in zip(world.rows, twins, strict=True))
    alignment = align(source, target, min_confidence=0.6)
    assert not [name for name in links(alignment) if "twin" in name]
    words = str(explain_entity(align(source, target, min_confidence=0.6), "s twin 1"))
    assert "undecided" in words


def test_neither_the_order_of_rows_nor_of_names_matters(found: Alignment, world: People) -> None:
    copy, _ = shuffled_copy(world.target, np.random.default_rng(3))
    again = align(world.source, copy)
    assert sorted(links(again).items()) == sorted(links(found).items())
    rng = np.random.default_rng(4)
    tables = []
    for at in range(2):
        order = rng.permutation(len(world.rows[0])) if at else np.arange(len(world.rows[0]))
        rows = [world.rows[0][row] for row in order.tolist()]
        tables.append(TemporalGraph.from_facts(rows))
    one, other = (sorted_by_name(graph)[0] for graph in tables)
    first, second = (align(graph, world.target) for graph in (one, other))
    assert first.pairs.tobytes() == second.pairs.tobytes()
    assert first.confidence.tobytes() == second.confidence.tobytes()


def test_source_and_target_may_change_places(found: Alignment, world: People) -> None:
    back = align(world.target, world.source)
    assert {(t, s) for s, t in links(back).items()} == {*links(found).items()}


def test_a_few_seeds_are_enough_to_learn_from(world: People) -> None:
    seeds = [*world.gold.items()][:20]
    precision, recall = scores(align(world.source, world.target, seeds), world)
    assert precision > 0.98
    assert recall > 0.96


def test_dates_help_where_facts_are_few() -> None:
    pair = simulate(World(entities=300, mean_facts=3, min_facts=1, common_share=0.4, seed=3))
    plain = evaluate(align(pair.source, pair.target), pair.gold).abstention
    rng = np.random.default_rng(0)
    partner = dict(pair.gold.tolist())
    born = {row: str(np.datetime64("1900-01-01") + rng.integers(30_000)) for row in range(pair.source.n_entities)}
    there = {partner[row]: date for row, date in born.items() if row in partner}

    def with_dates(graph: TemporalGraph, dates: dict[int, str], relation: str) -> TemporalGraph:
        more = [(graph.entities[row], relation, None, date) for row, date in dates.items() if rng.random() < 0.7]
        return grown(graph, TemporalGraph.from_facts(more)).graph

    source, target = with_dates(pair.source, born, "born"), with_dates(pair.target, there, "P569")
    gold = [(pair.source.entities[s], pair.target.entities[t]) for s, t in pair.gold]
    rows = np.array([(source.entity_rows[s], target.entity_rows[t]) for s, t in gold])
    dated = evaluate(align(source, target), rows).abstention
    assert 1.0 - dated.recall < 0.6 * (1.0 - plain.recall)
    assert dated.precision > 0.97


@pytest.mark.parametrize("method", ["dualmatch", "fused"])
def test_an_encoder_needs_edges(world: People, method: str) -> None:
    with pytest.raises(InputError, match=f"from which method {method} could learn; use method evidence"):
        align(world.source, world.target, method=method)


def test_dates_are_columns_of_the_time_matrix() -> None:
    world = people(wrong=0.0, years_only=0.0)
    precision, recall = scores(align(world.source, world.target, method="temporal"), world)
    assert precision > 0.98
    assert recall > 0.98


def test_a_link_is_explained_by_its_dates(found: Alignment, world: People) -> None:
    said = {name: str(explain_entity(found, name)) for name in [*links(found)][:60]}
    assert any("  both: born (= P569), on " in words for words in said.values())
    assert any("  differ: " in words for words in said.values())
    name = next(iter(said))
    explanation = explain_entity(found, name)
    parts = sum(fact.weight for fact in explanation.shared) + explanation.balance.total
    assert parts == pytest.approx(explanation.log_odds)
    assert explanation.log_odds == pytest.approx(
        np.log(explanation.confidence) - np.log1p(-explanation.confidence), abs=0.01
    )
    assert reasons(found)[world.source.entity_rows[name]].startswith(("born (= P569), ", "died (= P570), "))
    backwards = str(explain_entity(found, links(found)[name], target=True))
    assert "P569 (= born), " in backwards or "P570 (= died), " in backwards


def test_dates_that_agree_are_never_called_a_difference(
    found: Alignment, world: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where few pairs support that two relations mean the same, a date that agrees may count against a pair."""
    evidence_of = ExplanationBasis.evidence
    monkeypatch.setattr(
        ExplanationBasis,
        "evidence",
        lambda self, pairs: [replace(each, weight=-abs(each.weight)) for each in evidence_of(self, pairs)],
    )
    shared = [fact for name in [*links(found)][:80] for fact in explain_entity(found, name).shared]
    coarser = {fact.fact.begin: fact.counterpart.begin for fact in shared if fact.fact.begin != fact.counterpart.begin}
    for fact in shared:
        assert fact.differ is not str(fact.fact.begin).startswith(str(fact.counterpart.begin)), fact
    assert {len(date or "") for date in coarser.values()} == {4, 10}  # years and days, some of which contradict
    name = next(name for name in links(found) if not any(fact.differ for fact in explain_entity(found, name).shared))
    said = str(explain_entity(found, name))
    assert "  both: " in said
    assert "  differ: " not in said
    view = pair_view(basis_of(found), world.source.entity_rows[name], world.target.entity_rows[links(found)[name]])
    assert [row.number for row in view.rows] == [*range(1, len(view.rows) + 1)]
    assert not any(row.differ for row in view.rows)
    assert not view.only_source


def test_a_reviewer_sees_dates_on_the_timeline(found: Alignment) -> None:
    at = int(np.argmax(found.confidence))
    view = pair_view(basis_of(found), *found.pairs[at].tolist())
    seen = [row.left for row in view.rows] + [*view.only_source]
    assert {shown.fact.relation for shown in seen} == {"born", "died"}
    assert view.rows
    drawn = timeline(view)
    assert drawn is not None
    assert "P569" in drawn


def test_a_round_that_was_kept_is_the_same_again(found: Alignment) -> None:
    assert found.evidence is not None
    state = found.evidence.state
    again = state_of(about_state(state), state_as_arrays(state))
    assert again.model.dates is not None
    assert state.model.dates is not None
    assert all(np.array_equal(*rates) for rates in zip(again.model.dates.rate, state.model.dates.rate, strict=True))
    assert np.array_equal(again.log_odds, state.log_odds)


def test_dates_that_arrive_later_bring_what_a_whole_run_brings(world: People) -> None:
    late = {*[*world.gold][:25]}
    partners = {world.gold[name] for name in late}
    parts = [
        ([row for row in rows if row[0] not in names], [row for row in rows if row[0] in names])
        for rows, names in zip(world.rows, (late, partners), strict=True)
    ]
    (source, new_source), (target, new_target) = (tuple(map(TemporalGraph.from_facts, part)) for part in parts)
    before = align(source, target)
    grown_source, grown_target = grown(source, new_source), grown(target, new_target)
    after = update(UpdateBasis.of(before), grown_source, grown_target, before.config)
    whole = links(align(grown_source.graph, grown_target.graph))
    assert len(whole.items() & links(after).items()) >= 0.97 * len(whole)
    assert len(late & {*links(after)}) >= 0.8 * len(late & world.findable)
    nothing = TemporalGraph.from_facts([])
    same = update(UpdateBasis.of(before), grown(source, nothing), grown(target, nothing), before.config)
    assert same.confidence.tobytes() == before.confidence.tobytes() or links(same) == links(before)


def test_a_benchmark_folder_carries_dates(tmp_path: Path, world: People) -> None:
    seeds = np.zeros((0, 2), np.int32)
    write_benchmark_files(tmp_path, world.source, world.target, seeds, seeds)
    folder = read_folder(tmp_path)
    for read, graph in ((folder.source, world.source), (folder.target, world.target)):
        assert read.n_facts == 0
        assert read.entities == graph.entities
        assert np.array_equal(read.dates.rows, graph.dates.rows)
    (tmp_path / "dates_1").write_text("0\t0\t7777777\n")
    with pytest.raises(InputError, match="dates_1:1: time 7777777 is not in time_id"):
        read_folder(tmp_path)


def test_a_merged_table_is_read_again_with_its_dates(tmp_path: Path) -> None:
    source = TemporalGraph.from_facts([("Ada", "born", None, "1815-12-10"), ("Ada", "met", "Charles", "1833")])
    target = TemporalGraph.from_facts([("Q7", "P569", None, "1815-12-10"), ("Q7", "P570", None, "1852")])
    merged = merge(source, target, [("Ada", "Q7")]).facts
    assert merged.filter(pl.col("tail").is_null())["relation"].to_list() == ["P569", "P570", "born"]
    for name in ("merged.tsv", "merged.csv", "merged.parquet"):
        path = tmp_path / name
        if name.endswith("parquet"):
            merged.write_parquet(path)
        else:
            merged.write_csv(path, separator="\t" if name.endswith("tsv") else ",")
        graph = read_graph(path)
        assert (graph.n_facts, len(graph.dates), graph.entities) == (1, 3, ("Ada", "Charles"))
    path = tmp_path / "plain.tsv"
    merged.drop("said_by").write_csv(path, separator="\t")
    with pytest.raises(InputError, match="no tail; every fact needs one"):  # not a table of ours: it may be a slip
        read_graph(path)
    without_date = merged.with_columns(begin=pl.lit(None, pl.String), end=pl.lit(None, pl.String))
    without_date.write_csv(path, separator="\t")
    with pytest.raises(InputError, match="no tail; every fact needs one"):
        read_graph(path)


def test_a_split_shares_dates_as_it_shares_facts() -> None:
    pair = simulate(World(entities=200, seed=2))
    born = [(name, "born", None, f"{1800 + at}-01-01") for at, name in enumerate(pair.source.entities)]
    graph = grown(pair.source, TemporalGraph.from_facts(born)).graph
    halves = split_graph(graph, overlap=0.5, keep_names=True)
    dates = [
        {(part.entities[e], part.relations[r], b) for e, r, b, _ in part.dates.rows.tolist()}
        for part in (halves.source, halves.target)
    ]
    assert len(dates[0] | dates[1]) == len(born)
    assert 2 * len(dates[0] & dates[1]) / sum(map(len, dates)) == pytest.approx(0.5, abs=0.1)


def test_a_split_with_dates_is_written_whole(tmp_path: Path) -> None:
    pair = simulate(World(entities=60, seed=2))
    born = TemporalGraph.from_facts([(name, "born", None, "1850") for name in pair.source.entities])
    halves = split_graph(grown(pair.source, born).graph)
    for force in (False, True):
        write_split(halves, tmp_path / "halves", force)
    assert len(read_folder(tmp_path / "halves").target.dates) == len(halves.target.dates)


def test_inspect_counts_dates(world: People) -> None:
    seen = inspect_graph(world.source)
    assert (seen.facts, seen.entity_dates, seen.isolated_entities) == (0, len(world.source.dates), 0)
    assert seen.dated_entities == world.source.n_entities
    assert {(each.name, each.facts) for each in seen.most_frequent_relations} == {("born", 500), ("died", 500)}
    assert seen.degree["median"] == 2
    assert not seen.suspicious
