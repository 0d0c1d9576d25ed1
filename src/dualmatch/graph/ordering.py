"""One order of names, entities, relations and facts, whatever order a file has them in.

Sums of floating-point numbers depend on their order in the last digits; with one order, one history gives one result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.graph.arrays import Ids, Ints, Rows
from dualmatch.graph.model import TemporalGraph


def sorted_by_name(graph: TemporalGraph) -> tuple[TemporalGraph, Rows]:
    """Sort entities, relations and facts of a graph; also give the old row of each new entity row.

    >>> graph, order = sorted_by_name(TemporalGraph.from_facts([("b", "r", "a", "2000")]))
    >>> graph.entities, order.tolist()
    (('a', 'b'), [1, 0])
    """
    entity_row, relation_row = (ranks_of(names).astype(np.int32) for names in (graph.entities, graph.relations))
    entity_order, relation_order = np.argsort(entity_row), np.argsort(relation_row)
    head, relation, tail = entity_row[graph.head], relation_row[graph.relation], entity_row[graph.tail]
    order = fact_order(
        head, relation, tail, graph.begin, graph.end, n_entities=graph.n_entities, n_relations=graph.n_relations
    )
    entities = tuple(graph.entities[row] for row in entity_order)
    relations = tuple(graph.relations[row] for row in relation_order)
    head, relation, tail, begin, end = (each[order] for each in (head, relation, tail, graph.begin, graph.end))
    dates = graph.dates.renumbered(entity_row, relation_row)
    columns = head, relation, tail, begin, end, entities, relations
    name, opaque, labels = graph.name, graph.opaque_times, graph.labels
    return TemporalGraph(*columns, name=name, opaque_times=opaque, dates=dates, labels=labels), entity_order


def fact_order(
    head: Ints, relation: Ints, tail: Ints, begin: Ints, end: Ints, *, n_entities: int, n_relations: int
) -> Rows:
    """Find the order that sorts facts: by one number per triple, then by time among the few that share it."""
    if n_entities * n_relations * n_entities >= 2**63:
        return np.lexsort((end, begin, tail, relation, head))
    triple = (head.astype(np.int64) * n_relations + relation) * n_entities + tail
    return order_by(triple, begin, end)


def order_by(first: Ids, *others: NDArray[np.integer]) -> Rows:
    """Find the order that sorts by several columns; all but the first are compared only where that repeats.

    >>> order_by(np.array([3, 1, 3, 2]), np.array([5, 0, 4, 0])).tolist()
    [1, 3, 2, 0]
    """
    order = pl.Series(first).arg_sort().to_numpy().astype(np.intp)
    same = np.diff(first[order]) == 0
    shared = np.zeros(len(order), dtype=bool)
    shared[1:] |= same
    shared[:-1] |= same
    few = order[shared]
    order[shared] = few[np.lexsort((few, *(column[few] for column in reversed(others)), first[few]))]
    return order


def without_repeats(order: Rows, *columns: NDArray[np.integer]) -> Rows:
    """Of facts in order, the first of each run of equal ones."""
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for column in columns:
        new[1:] |= np.diff(column[order]) != 0
    return order[new]


def ranks_of(names: Sequence[str]) -> Ids:
    """Place of each name in the sorted list.

    >>> ranks_of(["b", "c", "a"]).tolist()
    [1, 2, 0]
    """
    rank = np.empty(len(names), dtype=np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return rank
