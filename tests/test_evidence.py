"""Method `evidence`: planted answers with and without times and seeds, mixed precision, what "same bytes" covers."""

from dataclasses import replace

import numpy as np
import pytest

from dualmatch import Alignment, InputError, TemporalGraph, align, evaluate
from dualmatch.evidence import gather_evidence
from dualmatch.graph.times import UNKNOWN
from dualmatch.keeping import KeepsNothing, Outcome, Standing
from dualmatch.simulate import DEMO, SimulatedPair, World, shuffled_copy, simulate

MIXED = World(entities=300, mean_facts=10, month_only_share=0.2, year_only_share=0.3, wrong_share=0.02, seed=5)


def timeless(graph: TemporalGraph) -> TemporalGraph:
    unknown = np.full(graph.n_facts, UNKNOWN, np.int32)
    return TemporalGraph(graph.head, graph.relation, graph.tail, unknown, unknown, graph.entities, graph.relations)


def links(alignment: Alignment) -> dict[tuple[str, str], float]:
    return {(source, target): confidence for source, target, confidence in alignment.links()}


def test_a_graph_and_its_shuffled_copy_align_completely() -> None:
    graph = simulate(World(entities=400, mean_facts=8, point_share=0.6, half_known_share=0.2, seed=11)).source
    copy, gold = shuffled_copy(graph, np.random.default_rng(5))
    evaluation = evaluate(align(graph, copy, method="evidence"), gold)
    assert evaluation.abstention.precision == evaluation.abstention.recall == 1.0
    assert evaluation.open["all"].h1 == 100.0


def test_it_beats_the_time_channel_by_far() -> None:
    pair = simulate(DEMO)
    found = {m: evaluate(align(pair.source, pair.target, method=m), pair.gold) for m in ("temporal", "evidence")}
    assert found["evidence"].open["all"].h1 > 99
    assert found["evidence"].abstention.f1 > 0.98 > found["temporal"].abstention.f1
    assert found["evidence"].calibration.ece < 0.03


def test_days_meet_years_at_the_precision_both_know() -> None:
    """One observer knows days, the other only years: no interval is equal, yet the years are."""
    exact = simulate(
        World(entities=200, mean_facts=12, years=60, common_share=0.9, unmatched_source=0, unmatched_target=0)
    )
    years = (exact.target.begin.astype(np.int64) // 416 * 416).astype(np.int32)
    target = exact.target
    coarse = TemporalGraph(target.head, target.relation, target.tail, years, years, target.entities, target.relations)
    assert evaluate(align(exact.source, coarse, method="evidence"), exact.gold).abstention.f1 > 0.9


@pytest.mark.parametrize(("entities", "share"), [(300, 0.2), (300, 0.1), (1000, 0.05)])
def test_graphs_without_times_align_from_seeds(entities: int, share: float) -> None:
    pair = simulate(World(entities=entities, mean_facts=12, common_share=0.8, seed=3))
    source, target = timeless(pair.source), timeless(pair.target)
    evaluation = evaluate(align(source, target, pair.gold[: int(share * entities)], method="evidence"), pair.gold)
    assert evaluation.abstention.f1 > 0.95


def test_graphs_without_times_need_seeds() -> None:
    pair = simulate(World(entities=40))
    with pytest.raises(InputError, match="give seed pairs to start from"):
        align(timeless(pair.source), timeless(pair.target), method="evidence")


def test_seeds_stay_in_and_are_no_less_right() -> None:
    pair = simulate(MIXED)
    alignment = align(pair.source, pair.target, pair.gold[:30], method="evidence")
    assert alignment.is_seed.sum() == 30
    assert (alignment.confidence[alignment.is_seed] == 1).all()
    seeded, alone = (
        evaluate(alignment, pair.gold),
        evaluate(align(pair.source, pair.target, method="evidence"), pair.gold),
    )
    assert seeded.abstention.precision >= alone.abstention.precision - 0.02


def shuffled_pair(pair: SimulatedPair, seed: int) -> tuple[TemporalGraph, TemporalGraph]:
    rng = np.random.default_rng(seed)
    return shuffled_copy(pair.source, rng)[0], shuffled_copy(pair.target, rng)[0]


@pytest.mark.parametrize("world", [MIXED, MIXED.model_copy(update={"common_share": 0.15})])
def test_row_order_changes_no_link(world: World) -> None:
    pair = simulate(world)
    plain = links(align(pair.source, pair.target, method="evidence"))
    permuted = links(align(*shuffled_pair(pair, 9), method="evidence"))
    assert permuted.keys() == plain.keys()
    assert [permuted[link] for link in plain] == pytest.approx(list(plain.values()), abs=1e-5)


def test_swapping_the_graphs_transposes_the_result() -> None:
    pair = simulate(World(entities=250, unmatched_source=0.2, seed=2))
    forward = links(align(pair.source, pair.target, method="evidence"))
    backward = links(align(pair.target, pair.source, method="evidence"))
    assert {(t, s) for s, t in backward} == set(forward)


def test_relations_that_say_the_same_end_in_one_class() -> None:
    pair = simulate(
        World(entities=400, mean_facts=20, relations_source=12, relations_target=12, relations_inverse=3, seed=1)
    )
    relations = gather_evidence(pair.source, pair.target).relations
    n_source, n_target = pair.source.n_relations, pair.target.n_relations
    for source, target, inverse in pair.relation_gold.tolist():
        assert relations.source_class[source] == relations.target_class[target + n_target * inverse]
        assert relations.source_class[source + n_source] == relations.target_class[target + n_target * (1 - inverse)]


def test_each_part_can_be_switched_off_and_only_that() -> None:
    pair = simulate(MIXED)
    seeds = pair.gold[:30]
    whole, no_relations, no_background = (
        gather_evidence(pair.source, pair.target, seeds, without=parts)
        for parts in ((), ("relations",), ("background",))
    )
    for evidence, aligned, background in (
        (whole, True, True),
        (no_relations, False, True),
        (no_background, True, False),
    ):
        knowledge = evidence.knowledge
        assert knowledge is not None
        common = np.intersect1d(knowledge.source_class, knowledge.target_class)
        assert bool(len(common)) == aligned
        assert evidence.settled.background == evidence.plan.background == background


class StoppedError(Exception):
    """What stands for a kill."""


class StopsAfter(KeepsNothing):
    """Keeps everything in memory; each life ends once it has kept one more thing, the last one never."""

    def __init__(self, lives: int) -> None:
        super().__init__()
        self.lives = lives
        self.latest: Standing | None = None
        self.last: Outcome | None = None

    def _stop(self) -> None:
        self.lives -= 1
        if self.lives >= 0:
            raise StoppedError

    def standing(self) -> Standing | None:
        return self.latest

    def keep_standing(self, standing: Standing) -> None:
        self.latest = standing
        self._stop()

    def outcome(self) -> Outcome | None:
        return self.last

    def keep_outcome(self, outcome: Outcome) -> None:
        self.last = outcome
        self._stop()


@pytest.mark.parametrize("n_seeds", [0, 30])
def test_rounds_that_are_stopped_after_each_go_on_to_the_same_bytes(n_seeds: int) -> None:
    pair = simulate(MIXED)
    seeds = pair.gold[:n_seeds]
    whole = gather_evidence(pair.source, pair.target, seeds)
    keeper, stops = StopsAfter(100), 0
    while True:
        try:
            stopped = gather_evidence(pair.source, pair.target, seeds, keeper=keeper)
            break
        except StoppedError:
            stops += 1
    assert stops == len(whole.rounds) + 1
    for one, other in (
        (whole.beliefs.pairs, stopped.beliefs.pairs),
        (whole.beliefs.confidence, stopped.beliefs.confidence),
        (whole.beliefs.probability.data, stopped.beliefs.probability.data),
        (whole.plan.entries.data, stopped.plan.entries.data),
        (whole.settled.entries.data, stopped.settled.entries.data),
        (whole.first_pairs, stopped.first_pairs),
        (whole.relations.similarity.data, stopped.relations.similarity.data),
    ):
        assert one.tobytes() == other.tobytes()
    assert [replace(each, seconds=0) for each in whole.rounds] == [replace(each, seconds=0) for each in stopped.rounds]
