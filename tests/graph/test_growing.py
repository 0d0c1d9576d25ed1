"""Growing: nothing lost, nothing twice, and every row where it belongs."""

import numpy as np
import pytest

from dualmatch import TemporalGraph
from dualmatch.errors import InputError
from dualmatch.graph.growing import grown
from dualmatch.simulate import World, simulate


def facts(graph: TemporalGraph) -> list[tuple[str, str, str, int, int]]:
    columns = graph.head, graph.relation, graph.tail, graph.begin, graph.end
    return sorted(
        (graph.entities[h], graph.relations[r], graph.entities[t], b, e)
        for h, r, t, b, e in zip(*(column.tolist() for column in columns), strict=True)
    )


def part(graph: TemporalGraph, rows: np.ndarray) -> TemporalGraph:
    """Some facts, and only the names they need."""
    names = np.unique(np.append(graph.head[rows], graph.tail[rows]))
    kinds = np.unique(graph.relation[rows])
    return TemporalGraph(
        np.searchsorted(names, graph.head[rows]),
        np.searchsorted(kinds, graph.relation[rows]),
        np.searchsorted(names, graph.tail[rows]),
        graph.begin[rows],
        graph.end[rows],
        tuple(graph.entities[row] for row in names),
        tuple(graph.relations[row] for row in kinds),
    )


def test_a_graph_cut_in_two_grows_together_again() -> None:
    whole = simulate(World(entities=80, seed=4)).source
    shuffled = np.random.default_rng(1).permutation(whole.n_facts)
    old, new = part(whole, np.sort(shuffled[:250])), part(whole, np.sort(shuffled[200:]))
    together = grown(old, new)
    assert facts(together.graph) == facts(part(whole, np.arange(whole.n_facts)))
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
    with pytest.raises(InputError, match="times of the same kind"):
        grown(dated, opaque)
