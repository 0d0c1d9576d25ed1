"""Growth: a graph and the facts that arrived since, as one graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualmatch.errors import InputError
from dualmatch.graph.arrays import Flags, Ids
from dualmatch.graph.model import TemporalGraph


@dataclass(frozen=True, eq=False)
class Grown:
    """A graph with more facts."""

    graph: TemporalGraph  # all facts; entities and relations in the order of their names, as files are read
    row_of: Ids  # (n_entities of the graph before,): the row of each entity now
    n_known: int  # new facts that repeat an old one or each other; they are not taken twice
    touched: Flags  # (n_entities,): entities with a new fact

    @property
    def is_as_before(self) -> bool:
        """Whether no fact is new, and no row has moved."""
        return np.array_equal(self.row_of, np.arange(self.graph.n_entities)) and not bool(self.touched.any())

    @property
    def is_new(self) -> Flags:
        """(n_entities,) bool: entities that were not there before."""
        new = np.ones(self.graph.n_entities, dtype=bool)
        new[self.row_of] = False
        return new


def grown(graph: TemporalGraph, more: TemporalGraph) -> Grown:
    """Add facts to a graph; entities and relations are known by their names.

    >>> old = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833")])
    >>> new = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833"), ("Ada", "met", "Babbage", "1834")])
    >>> all_of_it = grown(old, new)
    >>> all_of_it.graph.entities, all_of_it.graph.n_facts, all_of_it.row_of.tolist(), all_of_it.touched.tolist()
    (('Ada', 'Babbage', 'Charles'), 2, [0, 2], [True, True, False])
    """
    if graph.has_times and more.has_times and graph.opaque_times != more.opaque_times:
        raise InputError(
            f"{more.name}: its times are {'bare ids' if more.opaque_times else 'dates'} and those of the run are not; "
            "align again, with all facts in one kind of time"
        )
    entities, relations = sorted({*graph.entities, *more.entities}), sorted({*graph.relations, *more.relations})
    (old, row_of), (new, _) = (_renumbered(each, entities, relations) for each in (graph, more))
    facts = np.concatenate([old, new])
    order = np.lexsort(facts.T[::-1])
    repeats = np.zeros(len(facts), dtype=bool)
    repeats[order[1:]] = (facts[order[1:]] == facts[order[:-1]]).all(axis=1)
    # Sorting is stable: of equal facts the old ones come first. Repeats within the old graph stay.
    known = repeats & (np.arange(len(facts)) >= graph.n_facts)
    arrived = facts[graph.n_facts :][~known[graph.n_facts :]]
    touched = np.zeros(len(entities), dtype=bool)
    touched[arrived[:, [0, 2]].ravel()] = True
    head, relation, tail, begin, end = np.concatenate([old, arrived]).astype(np.int32).T
    opaque = graph.opaque_times if graph.has_times or not more.has_times else more.opaque_times
    names = tuple(entities), tuple(relations)
    whole = TemporalGraph(head, relation, tail, begin, end, *names, name=graph.name, opaque_times=opaque)
    return Grown(whole, row_of, int(known.sum()), touched)


def _renumbered(graph: TemporalGraph, entities: list[str], relations: list[str]) -> tuple[Ids, Ids]:
    """Facts in a new numbering, (n, 5): head, relation, tail, begin, end; and the new row of each entity."""
    entity_row, relation_row = ({name: row for row, name in enumerate(names)} for names in (entities, relations))
    row_of = np.array([entity_row[name] for name in graph.entities], dtype=np.int64)
    relation_of = np.array([relation_row[name] for name in graph.relations], dtype=np.int64)
    columns = row_of[graph.head], relation_of[graph.relation], row_of[graph.tail], graph.begin, graph.end
    return np.stack(columns, axis=1).astype(np.int64), row_of
