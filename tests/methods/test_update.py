"""Update: new facts bring what a whole run would bring, confident pairs stay, and every change has a reason."""

from dataclasses import replace

import numpy as np
import pytest

from dualmatch import TemporalGraph, align
from dualmatch.engine.pages import is_mapped
from dualmatch.errors import InputError
from dualmatch.graph.growth import Grown, grown
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.evidence.search import SETTLED, open_entities
from dualmatch.methods.update import UpdateBasis, changes_since, reopened, update
from dualmatch.simulate import SimulatedPair, World, simulate
from parts_of_graphs import some_facts

NOTHING = TemporalGraph.from_facts([])


@pytest.fixture(scope="module")
def pair() -> SimulatedPair:
    return simulate(World(entities=400, mean_facts=8, common_share=0.6, unmatched_source=0.1, seed=6))


def earlier_and_later(graph: TemporalGraph, share: float) -> tuple[TemporalGraph, TemporalGraph]:
    order = np.argsort(graph.begin, kind="stable")
    cut = int((1 - share) * graph.n_facts)
    return some_facts(graph, np.sort(order[:cut])), some_facts(graph, np.sort(order[cut:]))


def updated(pair: SimulatedPair, share: float) -> tuple[Alignment, Alignment, Grown, Grown]:
    (old_source, new_source), (old_target, new_target) = (
        earlier_and_later(graph, share) for graph in (pair.source, pair.target)
    )
    before = align(old_source, old_target)
    source, target = grown(old_source, new_source), grown(old_target, new_target)
    return before, update(UpdateBasis.of(before), source, target, before.config), source, target


def links(alignment: Alignment) -> dict[str, str]:
    return {source: target for source, target, _ in alignment.links()}


def test_an_update_agrees_with_a_whole_run(pair: SimulatedPair) -> None:
    before, after, source, target = updated(pair, 0.1)
    whole = links(align(source.graph, target.graph))
    same = links(after).items() & whole.items()
    assert len(same) >= 0.99 * len(whole)
    assert len(same) > len(links(before).items() & whole.items())


def test_pairs_that_were_sure_stay(pair: SimulatedPair) -> None:
    before, after, _, _ = updated(pair, 0.1)
    sure = {(s, t) for s, t, confidence in before.links() if confidence > 0.9}
    assert len(sure) > 200
    assert sure <= links(after).items()


def test_new_entities_find_their_partners(pair: SimulatedPair) -> None:
    """All facts of a few entities arrive late, on both sides."""
    late = {(int(s), int(t)) for s, t in pair.gold[:15]}
    parts = []
    for side, graph in enumerate((pair.source, pair.target)):
        members = [pair_[side] for pair_ in late]
        is_late = np.isin(graph.head, members) | np.isin(graph.tail, members)
        parts.append((some_facts(graph, np.flatnonzero(~is_late)), some_facts(graph, np.flatnonzero(is_late))))
    before = align(parts[0][0], parts[1][0])
    source, target = (grown(*part) for part in parts)
    after = update(UpdateBasis.of(before), source, target, before.config)
    truth = {(pair.source.entities[s], pair.target.entities[t]) for s, t in late}
    assert not truth & links(before).items()
    assert len(truth & links(after).items()) >= 12
    changes = {change.source: change for change in changes_since(_named(before), after, source, target)}
    found = {s for s, t in truth if links(after).get(s) == t}
    assert all(changes[name].kind == "new" for name in found)
    assert {changes[name].why for name in found} == {"the entity is new"}


def _named(alignment: Alignment) -> dict[str, tuple[str, float]]:
    return {source: (target, confidence) for source, target, confidence in alignment.links()}


def test_nothing_new_changes_nothing(pair: SimulatedPair) -> None:
    before = align(pair.source, pair.target)
    source, target = grown(pair.source, NOTHING), grown(pair.target, NOTHING)
    after = update(UpdateBasis.of(before), source, target, before.config)
    assert links(after) == links(before)
    assert changes_since(_named(before), after, source, target) == []


def test_an_update_can_be_updated(pair: SimulatedPair) -> None:
    before, once, source, target = updated(pair, 0.2)
    newcomer, friend = source.graph.entities[0], target.graph.entities[0]
    again = update(
        UpdateBasis.of(once),
        grown(source.graph, TemporalGraph.from_facts([("Ada", "met", newcomer, "1833-02-03")])),
        grown(target.graph, TemporalGraph.from_facts([("Q7259", "met", friend, "1833-02-03")])),
        before.config,
    )
    assert len(links(again).items() & links(once).items()) >= 0.99 * len(once.pairs)
    assert again.source.n_facts == source.graph.n_facts + 1


def test_seeds_and_forbidden_pairs_are_those_of_the_run(pair: SimulatedPair) -> None:
    seed, forbidden, alone = (tuple(map(int, row)) for row in pair.gold[:3])
    before = align(pair.source, pair.target, [seed], forbid=[forbidden, (alone[0], -1)])
    source = grown(pair.source, TemporalGraph.from_facts([("A", "met", pair.source.entities[alone[0]], "1833")]))
    after = update(UpdateBasis.of(before), source, grown(pair.target, NOTHING), before.config)
    names = [(pair.source.entities[s], pair.target.entities[t]) for s, t in (seed, forbidden, alone)]
    found = links(after)
    assert found[names[0][0]] == names[0][1]
    assert found.get(names[1][0]) != names[1][1]
    assert names[2][0] not in found
    assert after.is_seed.sum() == 1


def test_a_target_that_is_taken_is_there_for_others_where_many_may_share_it() -> None:
    pair = simulate(World(entities=200, mean_facts=8, common_share=0.8, seed=6))
    before = align(pair.source, pair.target, many_to_one=True)
    degree = np.bincount(np.append(pair.source.head, pair.source.tail))
    known = {name: target for name, target, confidence in before.links() if confidence > 0.99}
    name = max(known, key=lambda each: degree[pair.source.entity_rows[each]])
    row = pair.source.entity_rows[name]
    about = some_facts(pair.source, np.flatnonzero((pair.source.head == row) | (pair.source.tail == row)))
    again = replace(about, entities=tuple("again" if each == name else each for each in about.entities))
    after = links(update(UpdateBasis.of(before), grown(pair.source, again), grown(pair.target, NOTHING), before.config))
    assert after[name] == after["again"] == known[name]


def test_only_method_evidence_can_be_updated(pair: SimulatedPair) -> None:
    with pytest.raises(InputError, match="needs a run of method evidence"):
        UpdateBasis.of(align(pair.source, pair.target, method="temporal"))


def test_settled_pairs_with_new_facts_of_their_own_are_searched_again(pair: SimulatedPair) -> None:
    evidence = align(pair.source, pair.target).evidence
    assert evidence is not None
    problem, state = evidence.problem, evidence.open_state
    settled = state.believed.above(SETTLED).pairs
    assert len(settled) > 100
    row, column = (int(number) for number in settled[0])
    for side, number in ((0, row), (1, column)):
        touched = np.zeros(problem.shape[0], dtype=bool), np.zeros(problem.shape[1], dtype=bool)
        touched[side][number] = True
        opened = open_entities(problem, reopened(problem, state, touched))
        assert row in opened[0]
        assert column in opened[1]
        assert len(opened[0]) == 1 + len(open_entities(problem, state)[0])
    assert row not in open_entities(problem, state)[0]


def test_an_update_within_a_memory_limit_changes_no_link(pair: SimulatedPair, monkeypatch: pytest.MonkeyPatch) -> None:
    (old_source, new_source), (old_target, new_target) = (
        earlier_and_later(graph, 0.1) for graph in (pair.source, pair.target)
    )
    before = align(old_source, old_target)
    parts = grown(old_source, new_source), grown(old_target, new_target)
    free = update(UpdateBasis.of(before), *parts, before.config)
    monkeypatch.setattr("dualmatch.methods.align.expected_bytes", lambda *_: 1e15)
    monkeypatch.setattr("dualmatch.engine.pages.LEAST_BYTES", 1)
    limited = update(UpdateBasis.of(before), *parts, before.config)
    assert limited.evidence is not None
    assert is_mapped(limited.evidence.problem.ties[0].neighbour)
    assert limited.links() == free.links()
