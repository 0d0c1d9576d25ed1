"""Growth: a graph and the facts and entity dates that arrived since, as one graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualmatch.errors import InputError
from dualmatch.graph.arrays import Flags, Ids
from dualmatch.graph.entity_dates import EntityDates
from dualmatch.graph.model import TemporalGraph


@dataclass(frozen=True, eq=False)
class Grown:
    """A graph with more facts."""

    graph: TemporalGraph  # all facts; entities and relations in the order of their names, as files are read
    row_of: Ids  # (n_entities of the graph before,): the row of each entity now
    n_known: int  # new facts that repeat an old one or each other; they are not taken twice
    touched: Flags  # (n_entities,): entities with a new fact or date

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
    (old, old_dates, row_of), (new, new_dates, _) = (_renumbered(each, entities, relations) for each in (graph, more))
    facts, dates = _arrived(old, new), _arrived(old_dates, new_dates)
    touched = np.zeros(len(entities), dtype=bool)
    touched[facts[:, [0, 2]].ravel()] = touched[dates[:, 0]] = True
    head, relation, tail, begin, end = np.concatenate([old, facts]).astype(np.int32).T
    all_dates = EntityDates.of_rows(np.concatenate([old_dates, dates]))
    opaque = graph.opaque_times if graph.has_times or not more.has_times else more.opaque_times
    columns = head, relation, tail, begin, end, tuple(entities), tuple(relations)
    labels = {**graph.labels, **more.labels}
    whole = TemporalGraph(*columns, name=graph.name, opaque_times=opaque, dates=all_dates, labels=labels)
    return Grown(whole, row_of, len(new) - len(facts) + len(new_dates) - len(dates), touched)


def _arrived(old: Ids, new: Ids) -> Ids:
    """New rows that repeat neither an old one nor each other, in their order."""
    rows = np.concatenate([old, new])
    order = np.lexsort(rows.T[::-1])
    known = np.zeros(len(rows), dtype=bool)
    # Sorting is stable: of equal rows the old ones come first.
    known[order[1:]] = (rows[order[1:]] == rows[order[:-1]]).all(axis=1)
    return new[~known[len(old) :]]


def _renumbered(graph: TemporalGraph, entities: list[str], relations: list[str]) -> tuple[Ids, Ids, Ids]:
    """Facts (head, relation, tail, begin, end) and entity dates in a new numbering; the new row of each entity."""
    entity_row, relation_row = ({name: row for row, name in enumerate(names)} for names in (entities, relations))
    row_of = np.array([entity_row[name] for name in graph.entities], dtype=np.int64)
    relation_of = np.array([relation_row[name] for name in graph.relations], dtype=np.int64)
    columns = row_of[graph.head], relation_of[graph.relation], row_of[graph.tail], graph.begin, graph.end
    dates = graph.dates.renumbered(row_of, relation_of).rows
    return np.stack(columns, axis=1).astype(np.int64), dates, row_of
