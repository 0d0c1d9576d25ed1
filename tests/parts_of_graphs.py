"""Parts of a graph, as files that arrive one after the other would hold them."""

import numpy as np

from dualmatch import TemporalGraph


def some_facts(graph: TemporalGraph, rows: np.ndarray) -> TemporalGraph:
    """A graph of some facts, and only the names that those need."""
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
