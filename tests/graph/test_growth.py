"""Growing: nothing lost, nothing twice, and every row where it belongs."""

import numpy as np
import pytest

from dualmatch import TemporalGraph
from dualmatch.errors import InputError
from dualmatch.graph.growth import grown
from dualmatch.simulate import World, simulate
from parts_of_graphs import some_facts


def facts(graph: TemporalGraph) -> list[tuple[str, str, str, int, int]]:
    columns = graph.head, graph.relation, graph.tail, graph.begin, graph.end
    return sorted(
        (graph.entities[h], graph.relations[r], graph.entities[t], b, e)
        for h, r, t, b, e in zip(*(column.tolist() for column in columns), strict=True)
    )


def test_a_graph_cut_in_two_grows_together_again() -> None:
    whole = simulate(World(entities=80, seed=4)).source
    shuffled = np.random.default_rng(1).permutation(whole.n_facts)
    old, new = some_facts(whole, np.sort(shuffled[:250])), some_facts(whole, np.sort(shuffled[200:]))
    together = grown(old, new)
    assert facts(together.graph) == facts(some_facts(whole, np.arange(whole.n_facts)))
    assert together.n_known == 50
    assert [together.graph.entities[row] for row in together.row_of] == list(old.entities)
    assert {together.graph.entities[row] for row in np.flatnonzero(together.is_new)} == {*new.entities} - {
        *old.entities
    }
    arrived = set(facts(together.graph)) - set(facts(old))
    assert {together.graph.entities[row] for row in np.flatnonzero(together.touched)} == {
        name for head, _, tail, _, _ in arrived for name in (head, tail)
    }


def test_facts_said_twice_before_stay_and_new_ones_count_once() -> None:
    fact, other = ("Ada", "met", "Charles", "1833"), ("Ada", "met", "Mary", "1834")
    together = grown(TemporalGraph.from_facts([fact, fact]), TemporalGraph.from_facts([fact, other, other]))
    assert together.graph.n_facts == 3
    assert together.n_known == 2
    assert not together.touched[together.graph.entities.index("Charles")]


def test_times_of_another_kind_are_refused() -> None:
    dated = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833")])
    opaque = TemporalGraph([0], [0], [1], [7], [7], ("Ada", "Charles"), ("met",), opaque_times=True)
    with pytest.raises(InputError, match="in one kind of time"):
        grown(dated, opaque)


def test_facts_without_times_go_with_any_kind() -> None:
    timeless = TemporalGraph.from_facts([("Ada", "knew", "Mary")])
    opaque = TemporalGraph([0], [0], [1], [7], [7], ("Ada", "Charles"), ("met",), opaque_times=True)
    for old, new in ((opaque, timeless), (timeless, opaque)):
        together = grown(old, new).graph
        assert together.n_facts == 2
        assert together.opaque_times
