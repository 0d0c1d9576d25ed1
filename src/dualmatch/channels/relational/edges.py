"""Edges of both graphs, grouped by what lies on them: the constant structure under every layer.

The vector of an edge depends only on its *set* of relations (or of times), so vectors, reflections and attention
logits belong to sets, of which there are far fewer than edges. Nothing here is trained and nothing holds a row of
floats for each edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse as sp

from dualmatch.graph.arrays import Ids
from dualmatch.graph.hashing import mixed
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN


@dataclass(frozen=True, eq=False)
class Edges:
    """Directed edges of both graphs in row order, each with its inverse; target rows follow the source rows."""

    indptr: Ids  # (n_entities + 1,)
    neighbour: Ids  # (n_edges,): the far end j of each edge (i, j), sorted within a row
    inverse: Ids  # (n_edges,): the position of (j, i)

    @property
    def n_entities(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        return len(self.neighbour)


@dataclass(frozen=True, eq=False)
class EdgeSets:
    """Which set of symbols (relations, or times) lies on each edge."""

    of_edge: Ids  # (n_edges,): the set of the edge (i, j)
    members: sp.csr_array  # (n_sets, n_symbols): means over the symbols of a set; the row of the empty set is empty

    @property
    def n_sets(self) -> int:
        return int(self.members.shape[0])


@dataclass(frozen=True, eq=False)
class Structure:
    """All that the encoder knows of the two graphs."""

    n_source: int
    n_target: int
    edges: Edges
    relation_sets: EdgeSets
    time_sets: EdgeSets
    near_entities: sp.csr_array  # (n, n): row means over i and its neighbours
    near_relations: sp.csr_array  # (n, 2 * n_relations): over the relations at i, in and out apart
    near_times: sp.csr_array  # (n, n_times): over the times at i

    @property
    def n_entities(self) -> int:
        return self.n_source + self.n_target

    @property
    def has_times(self) -> bool:
        return bool(self.near_times.nnz)


@dataclass(frozen=True, eq=False)
class JointFacts:
    """Facts of both graphs in one numbering: entities and relations of the target follow the source's."""

    head: Ids
    relation: Ids
    tail: Ids
    times: tuple[Ids, Ids]  # begin and end as numbers of distinct times, -1 where unknown
    n_entities: int
    n_relations: int
    n_times: int

    def dated(self, forth: Ids, back: Ids) -> tuple[Ids, Ids]:
        """Two columns of the facts, one below the other, beside begin and then end where they are known."""
        known = [(column[time >= 0], time[time >= 0]) for time in self.times for column in (forth, back)]
        return np.concatenate([column for column, _ in known]), np.concatenate([time for _, time in known])


def build_structure(source: TemporalGraph, target: TemporalGraph) -> Structure:
    """Group the edges of both graphs by relation set and by time set.

    Relations are never shared between the graphs; times are, because a date means the same on both sides.

    >>> graph = TemporalGraph.from_facts([("Ada", "lived in", "London", "1835", "1852")])
    >>> build_structure(graph, graph).edges.n_edges
    4
    """
    facts = join_facts(source, target)
    edges, edge_of_fact, edge_of_inverse = directed_edges(facts)
    n, n_directed, everyone = facts.n_entities, 2 * facts.n_relations, np.arange(facts.n_entities)
    directed = np.append(facts.relation, facts.relation + facts.n_relations)
    rows = np.repeat(everyone, np.diff(edges.indptr))
    return Structure(
        n_source=source.n_entities,
        n_target=target.n_entities,
        edges=edges,
        relation_sets=group_symbols(np.append(edge_of_fact, edge_of_inverse), directed, edges.n_edges, n_directed),
        time_sets=group_symbols(*facts.dated(edge_of_fact, edge_of_inverse), edges.n_edges, facts.n_times),
        near_entities=row_means(np.append(rows, everyone), np.append(edges.neighbour, everyone), (n, n)),
        near_relations=row_means(np.append(facts.head, facts.tail), directed, (n, n_directed)),
        near_times=row_means(*facts.dated(facts.head, facts.tail), (n, facts.n_times)),
    )


def known_times(source: TemporalGraph, target: TemporalGraph) -> Ids:
    """The distinct known times of both graphs in order: the rows of the encoder's time vectors."""
    codes = np.unique(np.concatenate([source.begin, source.end, target.begin, target.end])).astype(np.int64)
    known: Ids = codes[codes != UNKNOWN]
    return known


def join_facts(source: TemporalGraph, target: TemporalGraph) -> JointFacts:
    """Number entities, relations and known times of both graphs together."""

    def both(column: str, shift: int = 0) -> Ids:
        first, second = (getattr(graph, column).astype(np.int64) for graph in (source, target))
        return np.concatenate([first, second + shift])

    codes = known_times(source, target)
    begin, end = (
        np.where(column == UNKNOWN, -1, np.searchsorted(codes, column)) for column in (both("begin"), both("end"))
    )
    return JointFacts(
        head=both("head", source.n_entities),
        relation=both("relation", source.n_relations),
        tail=both("tail", source.n_entities),
        times=(begin, end),
        n_entities=source.n_entities + target.n_entities,
        n_relations=source.n_relations + target.n_relations,
        n_times=len(codes),
    )


def directed_edges(facts: JointFacts) -> tuple[Edges, Ids, Ids]:
    """The distinct directed edges, and the edge of each fact and of its inverse."""
    n = facts.n_entities
    keys = np.concatenate([facts.head * n + facts.tail, facts.tail * n + facts.head])
    distinct, position = np.unique(keys, return_inverse=True)
    row, neighbour = np.divmod(distinct, n)
    indptr = np.searchsorted(row, np.arange(n + 1))
    inverse = np.searchsorted(distinct, neighbour * n + row)
    edge_of_fact, edge_of_inverse = np.split(position.astype(np.int64), 2)
    return Edges(indptr, neighbour, inverse), edge_of_fact, edge_of_inverse


def group_symbols(edge: Ids, symbol: Ids, n_edges: int, n_symbols: int) -> EdgeSets:
    """Give edges with the same set of symbols the same number; edges without any share the empty set.

    Sets are compared by sums of their members' hashes: different ones among n edges meet with probability n² / 2^65.
    """
    pairs = np.unique(edge * n_symbols + symbol) if len(edge) else np.empty(0, np.int64)
    edge, symbol = np.divmod(pairs, max(n_symbols, 1))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed(symbol), dtype=np.uint64)])
    ends = np.searchsorted(edge, np.arange(n_edges + 1))
    of_edge = np.unique(sums[ends[1:]] - sums[ends[:-1]], return_inverse=True)[1].astype(np.int64)
    n_sets = int(of_edge.max(initial=-1)) + 1
    return EdgeSets(of_edge, row_means(of_edge[edge], symbol, (n_sets, n_symbols)))


def row_means(row: Ids, column: Ids, shape: tuple[int, int]) -> sp.csr_array:
    """Rows that take the mean over their distinct columns; a row without any stays empty."""
    matrix = sp.coo_array((np.ones(len(row), np.float32), (row, column)), shape=shape).tocsr()
    matrix.sort_indices()
    size = np.maximum(np.diff(matrix.indptr), 1).astype(np.float32)
    matrix.data = 1 / np.repeat(size, np.diff(matrix.indptr))
    return matrix
