"""Rounds on simulated worlds: planted pairs are found, and nothing depends on order, side or blocks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dualmatch import TemporalGraph
from dualmatch.decode.forbidden import Forbidden
from dualmatch.decode.one_to_one import chance_of
from dualmatch.engine import InProcess
from dualmatch.graph.literals import Literals
from dualmatch.graph.times import UNKNOWN
from dualmatch.methods.evidence import EvidenceResult, align_by_evidence
from dualmatch.methods.evidence.problem import Part, Problem
from dualmatch.methods.evidence.propagation import _telling_overlap
from dualmatch.methods.evidence.rounds import changed, closing_round, next_round, run_rounds
from dualmatch.methods.evidence.search import first_state
from dualmatch.methods.evidence.state import CERTAIN, Believed, Model, RoundState
from dualmatch.simulate import SimulatedPair, World, shuffled_copy, simulate

WORLDS = {
    "rich": World(entities=300, mean_facts=10, month_only_share=0.2, year_only_share=0.3, wrong_share=0.02, seed=5),
    "thin": World(entities=400, mean_facts=4, common_share=0.5, unmatched_source=0.2, unmatched_target=0.2, seed=3),
    "intervals": World(
        entities=300,
        mean_facts=6,
        point_share=0.5,
        half_known_share=0.2,
        year_only_share=0.3,
        undated_share=0.1,
        seed=7,
    ),
}


@cache
def aligned_world(name: str) -> tuple[SimulatedPair, EvidenceResult]:
    """A world and what is found in it: several tests compare with that."""
    pair = simulate(WORLDS[name])
    return pair, align_by_evidence(Problem.of(pair.source, pair.target))


@pytest.fixture(scope="module", params=list(WORLDS))
def aligned(request: pytest.FixtureRequest) -> tuple[SimulatedPair, EvidenceResult]:
    return aligned_world(request.param)


def links(result: EvidenceResult) -> dict[tuple[str, str], float]:
    """Pairs more likely right than not, by name, with their confidence."""
    source, target = result.problem.source.entities, result.problem.target.entities
    pairs, confidence = result.pairs
    return {
        (source[s], target[t]): chance
        for (s, t), chance in zip(pairs.tolist(), confidence.tolist(), strict=True)
        if chance > 0.5
    }


def truth(pair: SimulatedPair) -> set[tuple[str, str]]:
    return {(pair.source.entities[s], pair.target.entities[t]) for s, t in pair.gold.tolist()}


def timeless(graph: TemporalGraph) -> TemporalGraph:
    unknown = np.full(graph.n_facts, UNKNOWN, np.int32)
    return replace(graph, begin=unknown, end=unknown)


def test_planted_pairs_are_found(aligned: tuple[SimulatedPair, EvidenceResult]) -> None:
    pair, result = aligned
    found, true = set(links(result)), truth(pair)
    assert len(found & true) > 0.97 * len(true)
    assert len(found & true) > 0.99 * len(found)
    assert result.converged


def test_links_fed_back_as_seeds_stay(aligned: tuple[SimulatedPair, EvidenceResult]) -> None:
    """A fixed point: what was found, taken for granted, finds no more and no less."""
    pair, result = aligned
    pairs, confidence = result.pairs
    again = align_by_evidence(Problem.of(pair.source, pair.target, pairs[confidence > 0.5]))
    assert len(links(again).keys() ^ links(result).keys()) < 0.02 * len(links(result))


def test_swapping_the_graphs_transposes_pairs_and_confidences(aligned: tuple[SimulatedPair, EvidenceResult]) -> None:
    pair, result = aligned
    swapped = align_by_evidence(Problem.of(pair.target, pair.source))
    pairs, confidence = result.pairs
    turned, confidence_turned = swapped.pairs
    order = np.argsort(turned[:, 1])
    np.testing.assert_array_equal(turned[order][:, ::-1], pairs)
    assert confidence_turned[order] == pytest.approx(confidence, abs=1e-6)
    assert swapped.no_partner[1] == pytest.approx(result.no_partner[0], abs=1e-6, nan_ok=True)
    assert set(map(tuple, swapped.first_pairs[:, ::-1].tolist())) == set(map(tuple, result.first_pairs.tolist()))


def test_the_order_of_rows_changes_no_bit(aligned: tuple[SimulatedPair, EvidenceResult]) -> None:
    pair, result = aligned
    rng = np.random.default_rng(9)
    source, target = (shuffled_copy(graph, rng)[0] for graph in (pair.source, pair.target))
    shuffled = align_by_evidence(Problem.of(source, target))
    assert links(shuffled) == links(result)
    for side, graph in enumerate((source, target)):
        original = (pair.source, pair.target)[side]
        rows = original.rows_of(graph.entities)
        np.testing.assert_array_equal(shuffled.no_partner[side], result.no_partner[side][rows])


@pytest.mark.parametrize("engine", [InProcess(threads=2), InProcess(threads=2, block_rows=37)])
def test_threads_and_blocks_change_no_bit(engine: InProcess, aligned: tuple[SimulatedPair, EvidenceResult]) -> None:
    pair, result = aligned
    other = align_by_evidence(Problem.of(pair.source, pair.target, engine=engine))
    for one, two in zip(result.pairs, other.pairs, strict=True):
        assert one.tobytes() == two.tobytes()
    assert result.state.log_odds.tobytes() == other.state.log_odds.tobytes()


@pytest.mark.parametrize("mean_facts", [4, 10])
@pytest.mark.parametrize("seeds", [(1, 2), (3, 4)])
def test_unrelated_graphs_are_hardly_linked(mean_facts: int, seeds: tuple[int, int]) -> None:
    one, other = (simulate(World(entities=300, mean_facts=mean_facts, seed=seed)) for seed in seeds)
    result = align_by_evidence(Problem.of(one.source, other.target))
    assert len(links(result)) <= 0.01 * 300
    assert result.rounds[-1].without_partner > 0.7
    assert np.isnan(result.no_partner[0]).all()


def test_seeds_stay_and_are_certain() -> None:
    pair = simulate(WORLDS["thin"])
    wrong = np.stack([pair.gold[:6, 0], np.roll(pair.gold[:6, 1], 1)], axis=1)
    seeds = np.concatenate([wrong, pair.gold[6:30]])
    pairs, confidence = align_by_evidence(Problem.of(pair.source, pair.target, seeds)).pairs
    found = {tuple(each): chance for each, chance in zip(pairs.tolist(), confidence.tolist(), strict=True)}
    assert {found.get(tuple(seed)) for seed in seeds.tolist()} == {1.0}


@pytest.mark.parametrize(("entities", "facts", "share"), [(500, 6, 0.05), (500, 20, 0.02), (1000, 12, 0.02)])
def test_few_seeds_without_any_date_find_the_rest(entities: int, facts: int, share: float) -> None:
    pair = simulate(World(entities=entities, mean_facts=facts, common_share=0.5, undated_share=1.0))
    rows = np.random.default_rng(0).permutation(len(pair.gold))[: round(share * len(pair.gold))]
    result = align_by_evidence(Problem.of(pair.source, pair.target, pair.gold[rows]))
    found, true = set(links(result)), truth(pair)
    assert len(found & true) > 0.9 * len(true)
    assert len(found & true) > 0.99 * len(found)


@pytest.mark.parametrize("many_to_one", [False, True])
def test_forbidden_pairs_never_come_out(many_to_one: bool) -> None:
    """Not as links, and not as candidates, names and all."""
    pair = simulate(World(entities=100, mean_facts=8, seed=5))
    free = align_by_evidence(Problem.of(pair.source, pair.target)).pairs[0]
    rejected, alone = free[:20], free[40:45, 0]
    forbidden = Forbidden(np.concatenate([rejected, np.stack([alone, np.full(5, -1)], axis=1)]))
    labels = [{name: f"person {name[-3:]}" for name in graph.entities} for graph in (pair.source, pair.target)]
    literals = Literals.of_labels(labels[0], pair.source), Literals.of_labels(labels[1], pair.target)
    result = align_by_evidence(
        Problem.of(pair.source, pair.target, forbidden=forbidden, literals=literals, many_to_one=many_to_one)
    )
    candidates = np.stack([result.state.candidates.row, result.state.candidates.column], axis=1)
    for listed in (candidates, result.pairs[0], np.argwhere(result.similarity.toarray() > 0)):
        assert len(listed) > 50
        assert forbidden.allows(listed).all()


@pytest.mark.parametrize("share", [0.1, 0.2])
def test_graphs_without_times_align_from_seeds(share: float) -> None:
    pair = simulate(World(entities=300, mean_facts=12, common_share=0.8, seed=3))
    seeds = pair.gold[: int(share * 300)]
    result = align_by_evidence(Problem.of(timeless(pair.source), timeless(pair.target), seeds))
    found, true = set(links(result)), truth(pair)
    assert len(found & true) > 0.95 * len(true)
    assert len(found & true) > 0.95 * len(found)


def label(row: int, spelling: str) -> str:
    """Two words of random letters, the same for the same number, and how the second one ends."""
    letters = np.random.default_rng(row).choice([*"abcdefghiklmnoprstu"], 12).tolist()
    return f"{''.join(letters[:5])} {''.join(letters[5:])}{spelling}"


def test_names_alone_find_partners() -> None:
    """No times and no seeds: labels, spelt differently in the two graphs, have to do."""
    pair = simulate(World(entities=200, mean_facts=8, common_share=0.8, seed=2))
    source, target = timeless(pair.source), timeless(pair.target)
    partner = dict(pair.gold[:, ::-1].tolist())
    labels = (
        Literals.of_labels({name: label(row, "") for row, name in enumerate(source.entities)}, source),
        Literals.of_labels(
            {name: label(partner.get(row, 500 + row), "s") for row, name in enumerate(target.entities)}, target
        ),
    )
    found, true = set(links(align_by_evidence(Problem.of(source, target, literals=labels)))), truth(pair)
    assert len(found & true) > 0.9 * len(true)
    assert len(found & true) > 0.95 * len(found)


def test_labels_help_where_facts_are_poor() -> None:
    pair = simulate(World(entities=300, mean_facts=4, common_share=0.25, seed=6))
    partner = dict(pair.gold[:, ::-1].tolist())
    labels = (
        Literals.of_labels({name: label(row, "") for row, name in enumerate(pair.source.entities)}, pair.source),
        Literals.of_labels(
            {name: label(partner.get(row, 500 + row), "") for row, name in enumerate(pair.target.entities)}, pair.target
        ),
    )
    true = truth(pair)
    without, with_labels = (
        set(links(align_by_evidence(Problem.of(pair.source, pair.target, literals=literals))))
        for literals in (None, labels)
    )
    assert len(with_labels & true) > 1.1 * len(without & true)
    assert len(with_labels & true) > 0.95 * len(with_labels)


def test_targets_that_many_may_share_are_shared() -> None:
    """Every source entity is there twice, under two names; both find the one target."""
    pair = simulate(World(entities=80, mean_facts=10, common_share=0.8, unmatched_source=0, unmatched_target=0, seed=4))
    graph, n = pair.source, pair.source.n_entities
    twice = TemporalGraph(
        *(
            np.concatenate([column, column + n]) if column is not graph.relation else np.tile(column, 2)
            for column in (graph.head, graph.relation, graph.tail)
        ),
        np.tile(graph.begin, 2),
        np.tile(graph.end, 2),
        (*graph.entities, *(f"{name} again" for name in graph.entities)),
        graph.relations,
    )
    partner = dict(pair.gold.tolist())
    expected = {row: partner[row % n] for row in range(2 * n)}
    result = align_by_evidence(Problem.of(twice, pair.target, many_to_one=True))
    pairs, confidence = result.pairs
    assert len(np.unique(pairs[:, 0])) == len(pairs)
    found = [(s, t) for (s, t), chance in zip(pairs.tolist(), confidence.tolist(), strict=True) if chance > 0.5]
    assert sum(expected[s] == t for s, t in found) > 0.8 * 2 * n


@pytest.mark.parametrize("many_to_one", [False, True])
def test_a_closing_round_keeps_seeds_and_what_only_they_could_teach(many_to_one: bool) -> None:
    """And whoever is left may still have a partner that no search has listed, as far as targets are left for them."""
    pair = simulate(WORLDS["thin"])
    problem = Problem.of(pair.source, pair.target, many_to_one=many_to_one)
    state = run_rounds(problem, max_rounds=4).state
    seeds = state.believed.above(2.0).pairs
    granted = problem.granting(seeds)
    before = first_state(granted)
    before = replace(before, model=state.model, alone=state.alone, elsewhere=state.elsewhere)
    after = closing_round(granted, before)
    assert (after.log_odds[after.find(seeds[:, 0], seeds[:, 1])] == CERTAIN).all()
    assert after.model.coverage.tolist() == state.model.coverage.tolist()
    assert after.model.overlap[0].tolist() != state.model.overlap[0].tolist()
    is_left = ~np.isin(np.arange(problem.shape[0]), seeds[:, 0])
    beside_seeds = after.find(np.arange(problem.shape[0])[is_left], np.full(int(is_left.sum()), seeds[0, 1])) >= 0
    assert many_to_one or not beside_seeds.any()
    usual = next_round(granted, before, whole=False)[0]  # in which seeds are weighed as all others
    assert after.elsewhere[0][is_left].mean() == pytest.approx(usual.elsewhere[0][is_left].mean(), rel=0.1)
    assert np.abs(chance_of(after.log_odds) - chance_of(usual.log_odds_of(*ends(after), -50.0))).max() < 0.2


def ends(state: RoundState) -> tuple[np.ndarray, np.ndarray]:
    return state.candidates.row, state.candidates.column


@pytest.mark.parametrize("part", ["relations", "cavity", "open support"])
def test_each_part_can_be_done_without(part: Part) -> None:
    pair, whole = aligned_world("intervals")
    less = align_by_evidence(Problem.of(pair.source, pair.target, without=(part,)))
    assert not np.array_equal(whole.state.value[:50], less.state.value[:50])
    assert (less.state.model.odds.together.nnz == 0) == (part == "relations")
    assert len(set(links(less)) & truth(pair)) > 0.8 * len(pair.gold)


def test_without_open_support_nobody_s_partner_counts_as_unknown() -> None:
    """Only pairs support each other then, so that a first round from seeds reaches their neighbours alone."""
    pair = simulate(WORLDS["rich"])
    problem = Problem.of(pair.source, pair.target, pair.gold[:10], without=["open support"])
    state = run_rounds(problem, max_rounds=2).state
    ties = problem.ties[0]
    near = {*pair.gold[:10, 0].tolist(), *ties.neighbour[np.isin(ties.entity, pair.gold[:10, 0])].tolist()}
    candidates = state.candidates.row[state.slots[0][0]]
    assert len(candidates) > 0
    assert set(candidates.tolist()) <= near


def test_the_first_state_knows_the_seeds_or_what_dates_say() -> None:
    pair = simulate(WORLDS["rich"])
    seeded = first_state(Problem.of(pair.source, pair.target, pair.gold[:20]))
    assert {*map(tuple, seeded.believed.pairs.tolist())} == {*map(tuple, pair.gold[:20].tolist())}
    by_dates = first_state(Problem.of(pair.source, pair.target)).believed.pairs
    right = {*map(tuple, by_dates.tolist())} & {*map(tuple, pair.gold.tolist())}
    assert len(right) > 0.9 * len(by_dates) > 0.2 * len(pair.gold)


def test_what_changed_is_what_stands_in_one_list_only() -> None:
    assert changed(np.array([[0, 1], [1, 0]]), np.array([[0, 1], [1, 2], [2, 0]])) == 3
    assert changed(np.zeros((0, 2), np.int64), np.zeros((0, 2), np.int64)) == 0


def test_a_state_of_pairs_has_them_in_order() -> None:
    row, column = np.array([0, 0, 2]), np.array([1, 3, 0])
    log_odds, order = np.array([-1.0, 2.0, 3.0]), [2, 0, 1]
    states = [
        RoundState.of_pairs(row[at], column[at], log_odds[at], (3, 4), Model.of_sizes(2, 2))
        for at in ([0, 1, 2], order)
    ]
    for state in states:
        assert state.candidates.row.tolist() == row.tolist()
        assert state.candidates.column.tolist() == column.tolist()
        assert state.log_odds.tolist() == log_odds.tolist()
        assert state.believed.pairs.tolist() == [[0, 3], [2, 0]]
        assert state.with_model(Model.of_sizes(3, 3)).believed is state.believed


def test_believed_pairs_are_those_above_a_bound() -> None:
    believed = Believed(np.array([[0, 0], [1, 1], [2, 2]]), np.array([3.0, 0.0, -1.0]))
    assert believed.above(0.0).pairs.tolist() == [[0, 0]]


@pytest.mark.parametrize("undated", [0.0, 0.3])
def test_absence_tells_less_where_only_some_facts_are_dated(undated: float) -> None:
    pair = simulate(World(entities=60, mean_facts=5, undated_share=undated, seed=4))
    problem = Problem.of(pair.source, pair.target)
    side, model = problem.sides[0], Model.of_sizes(*(2 * graph.n_relations for graph in (pair.source, pair.target)))
    missed = np.log1p(-model.overlap[0])[side.ties.relation]
    dated = (side.begin.precision >= 0) | (side.end.precision >= 0)
    weight = np.where(dated, 1.0, 1.0 - dated.mean())
    expected = -np.expm1(np.bincount(side.ties.tie, weight * missed, minlength=side.ties.n_ties))
    overlap = model.tie_overlap(side.ties, 0)
    found = _telling_overlap(side, model, 0, overlap)
    assert found.tobytes() == expected.tobytes()
    assert (found is overlap) == (undated == 0.0)
    assert (found < overlap).any() == (undated > 0.0)


@pytest.mark.parametrize("target", [[("x", "p", "y")], [("x", "p", "y", "1950")]])
def test_graphs_with_nothing_in_common_end_without_a_pair(target: list[tuple[str, ...]]) -> None:
    source = TemporalGraph.from_facts([("a", "r", "b", "1900")])
    result = align_by_evidence(Problem.of(source, TemporalGraph.from_facts(target)))
    assert len(result.pairs[0]) == len(result.pairs[1]) == 0
    assert np.isnan(result.no_partner[0]).all()
    assert result.settled.shape == (0, 2)
    assert (result.probability.data < 0.5).all()
