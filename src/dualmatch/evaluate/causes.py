"""Why a true pair was not found: how much its entities have in common."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dualmatch.graph.arrays import Ids
from dualmatch.graph.model import TemporalGraph

CAUSES: Final = (
    "one of the two is in no fact",
    "no neighbour of one is the true partner of a neighbour of the other",
    "the neighbours they share were not linked either",
    "a neighbour they share is linked, which was not enough",
)


def cause_of(
    source: TemporalGraph, target: TemporalGraph, gold: NDArray[np.integer], found: NDArray[np.integer]
) -> Ids:
    """For each true pair of gold, (n, 2), the place in `CAUSES` of what makes it hard to find: the first that holds.

    Of the pairs that were found, (m, 2), the true ones count as aligned.

    Examples
    --------
    >>> graph = TemporalGraph.from_facts([("Ada", "met", "Charles"), ("Mary", "met", "Percy")])
    >>> every = np.array([[0, 0], [1, 1], [2, 2], [3, 3]])
    >>> [CAUSES[cause] for cause in cause_of(graph, graph, every, every[:1])[1:3]]
    ['a neighbour they share is linked, which was not enough', 'the neighbours they share were not linked either']
    """
    shape = source.n_entities, target.n_entities
    truth, believed = (sparse.csr_array((np.ones(len(p)), (p[:, 0], p[:, 1])), shape) for p in (gold, found))
    ours, theirs = _neighbours(source)[gold[:, 0]], _neighbours(target)[gold[:, 1]]
    shared = np.asarray((ours @ truth).multiply(theirs).sum(axis=1)).ravel()
    aligned = np.asarray((ours @ sparse.csr_array(believed.multiply(truth))).multiply(theirs).sum(axis=1)).ravel()
    in_facts = source.is_in_a_fact[gold[:, 0]] & target.is_in_a_fact[gold[:, 1]]
    return np.select([~in_facts, shared == 0, aligned == 0], [0, 1, 2], 3).astype(np.int64)


def _neighbours(graph: TemporalGraph) -> sparse.csr_array:
    head, tail = np.concatenate([graph.head, graph.tail]), np.concatenate([graph.tail, graph.head])
    matrix = sparse.csr_array((np.ones(len(head)), (head, tail)), (graph.n_entities, graph.n_entities))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix
