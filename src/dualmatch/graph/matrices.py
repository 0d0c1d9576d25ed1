"""The matrices of the paper: A^t (eq. time_adj), A (eq. rel_adj) and the propagation matrix of the temporal channel.

All are float32 CSR with one row an entity. A^t has two parts side by side: a column for each interval in which the
entity is head, then one for each in which it is tail. Intervals are shared by both graphs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dualmatch.graph.arrays import Floats, Ids, Rows
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN

NO_INTERVAL = -1


@dataclass(frozen=True, eq=False)
class Intervals:
    """Distinct (begin, end) of two graphs, half-known ones included; facts with neither end known have none."""

    # (n_facts + n_dates,): interval of each fact, `NO_INTERVAL` for facts without time; then of each entity date
    source: Ids
    target: Ids
    count: int


def shared_intervals(source: TemporalGraph, target: TemporalGraph) -> Intervals:
    """Number the distinct intervals of both graphs together."""
    times = source.times, target.times
    keys = [(begin.astype(np.int64) << 32) + (end.astype(np.int64) - UNKNOWN) for begin, end in times]
    undated = UNKNOWN << 32
    distinct = np.unique(np.concatenate([key[key != undated] for key in keys]))
    of_source, of_target = (np.where(key != undated, np.searchsorted(distinct, key), NO_INTERVAL) for key in keys)
    return Intervals(of_source, of_target, len(distinct))


def time_counts(graph: TemporalGraph, interval: Ids, n_intervals: int, tails: bool = True) -> sparse.csr_array:
    """Count |Q_et|, the facts of entity e that carry interval t; a repeated fact counts again.

    (n_entities, n_intervals); with `tails`, facts in which the entity is tail follow in as many columns of their own.
    A date of an entity is a fact with the entity as its head.
    """
    of_fact, of_date = np.split(interval, [graph.n_facts])
    dated = of_fact != NO_INTERVAL
    rows, columns = [graph.head[dated], graph.dates.entity], [of_fact[dated], of_date]
    if tails:
        rows.append(graph.tail[dated])
        columns.append(of_fact[dated] + n_intervals)
    row, column = np.concatenate(rows), np.concatenate(columns)
    shape = (graph.n_entities, n_intervals * (2 if tails else 1))
    counts = sparse.coo_array((np.ones(len(row), dtype=np.float32), (row, column)), shape=shape).tocsr()
    counts.sum_duplicates()
    return counts


def time_adjacency(counts: sparse.csr_array, zero_counts: bool = False) -> sparse.csr_array:
    """A^t (eq. time_adj): softmax of each row of counts, both parts together.

    With `zero_counts`, an interval without a fact enters with exp(0) = 1, as the equation is printed (every entry is
    then stored: small graphs only); without, not at all, as in the program behind the published figures.
    """
    if zero_counts:
        dense = counts.toarray().astype(np.float64)
        weights = np.exp(dense - dense.max(axis=1, keepdims=True))
        return sparse.csr_array((weights / weights.sum(axis=1, keepdims=True)).astype(np.float32))
    row = row_numbers(counts)
    # exp of a count overflows at 89. The largest of each row is subtracted first, which leaves the softmax the same.
    largest = np.zeros(counts.shape[0], dtype=np.float32)
    np.maximum.at(largest, row, counts.data)
    weights = np.exp((counts.data - largest[row]).astype(np.float64))
    total = np.bincount(row, weights, minlength=counts.shape[0])
    shares = (weights / total[row]).astype(np.float32)
    return sparse.csr_array((shares, counts.indices, counts.indptr), shape=counts.shape)


def relation_weights(graphs: tuple[TemporalGraph, ...], inverses: bool = True) -> tuple[list[Floats], int]:
    """ln(N / N_r) of each relation of each graph, and N: distinct (h, r, t) of all graphs, doubled with inverses."""
    counts = [np.bincount(distinct_triples(graph)[:, 1], minlength=graph.n_relations) for graph in graphs]
    total = max(int(sum(count.sum() for count in counts)), 1) * (2 if inverses else 1)  # 1: entity dates alone
    return [np.log(total / np.maximum(count, 1)) for count in counts], total


def distinct_triples(graph: TemporalGraph) -> Ids:
    """(n, 3) int64: head, relation, tail, each combination once, sorted."""
    key = (graph.head.astype(np.int64) * graph.n_relations + graph.relation) * graph.n_entities + graph.tail
    rest, tail = np.divmod(np.unique(key), graph.n_entities)
    head, relation = np.divmod(rest, graph.n_relations)
    return np.stack([head, relation, tail], axis=1)


def propagation_matrices(source: TemporalGraph, target: TemporalGraph) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Matrices that carry temporal features to neighbours: ln(N/N_r) summed over the relations between i and j.

    Relations count both ways (an inverse relation is a relation of its own), over the distinct triples of both
    graphs; the diagonal is ln(N / (|E_s| + |E_t|)), clipped at 0. Rows are not normalised: the encoder does that
    after each hop.
    """
    weights, total = relation_weights((source, target))
    loop = max(0.0, float(np.log(total / (source.n_entities + target.n_entities))))
    of_source, of_target = (
        sparse.csr_array(
            _weighted_edges(graph, weight, inverses=True)
            + sparse.diags_array(np.full(graph.n_entities, loop, np.float32)),
            dtype=np.float32,
        )
        for graph, weight in zip((source, target), weights, strict=True)
    )
    return of_source, of_target


def relational_adjacency(graph: TemporalGraph, inverses: bool = True) -> sparse.csr_array:
    """A (eq. rel_adj): ln(|Q|/|Q_r|) summed over the relations from i to j, rows divided by their sums; no loops."""
    (weight,), _ = relation_weights((graph,), inverses)
    if not weight.any():  # a single relation: ln 1 = 0 everywhere, so count it as 1
        weight = np.ones_like(weight)
    edges = _weighted_edges(graph, weight, inverses)
    edges.setdiag(0.0)
    edges.eliminate_zeros()
    total = np.asarray(edges.sum(axis=1)).ravel()
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    return sparse.csr_array(sparse.diags_array(scale) @ edges, dtype=np.float32)


def l2_rows(matrix: sparse.csr_array) -> sparse.csr_array:
    """Each row divided by its Euclidean norm; empty rows stay empty."""
    row = row_numbers(matrix)
    norm = np.sqrt(np.bincount(row, matrix.data.astype(np.float64) ** 2, minlength=matrix.shape[0]))
    data = matrix.data / np.where(norm > 0, norm, 1.0)[row]
    return sparse.csr_array((data.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)


def _weighted_edges(graph: TemporalGraph, weight: Floats, inverses: bool) -> sparse.csr_array:
    head, relation, tail = distinct_triples(graph).T
    if inverses:
        head, relation, tail = np.append(head, tail), np.tile(relation, 2), np.append(tail, head)
    shape = (graph.n_entities, graph.n_entities)
    edges = sparse.coo_array((weight[relation], (head, tail)), shape=shape).tocsr()
    edges.sum_duplicates()
    return edges


def row_numbers(matrix: sparse.csr_array) -> Rows:
    """(nnz,): the row of each stored entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
