"""What a baseline is given: both graphs in one numbering, the seeds, its settings and its randomness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse as sp

from dualmatch.channels.relational.edges import JointFacts, Structure, build_structure, join_facts
from dualmatch.graph.arrays import Floats, Ids, Pairs
from dualmatch.graph.matrices import distinct_triples
from dualmatch.graph.model import TemporalGraph

FEW_SEEDS = 0.05  # of the entities of the smaller graph: below, a published setting for few seeds is taken


@dataclass(frozen=True, eq=False)
class Task:
    """Entities and relations of the target follow the source's; times are shared."""

    source: TemporalGraph
    target: TemporalGraph
    given: Pairs  # seed pairs, each graph in its own numbering
    dimension: int
    epochs: int
    seed: int = 0
    step: Callable[[int, int, str], None] = field(default=lambda _done, _total, _note: None)

    @cached_property
    def rng(self) -> np.random.Generator:
        """The one source of randomness of a run."""
        return np.random.default_rng(self.seed)

    @property
    def n_source(self) -> int:
        return self.source.n_entities

    @property
    def n(self) -> int:
        return self.source.n_entities + self.target.n_entities

    @property
    def n_relations(self) -> int:
        return self.source.n_relations + self.target.n_relations

    @cached_property
    def seeds(self) -> Ids:
        """(n_seeds, 2): seed pairs in the joint numbering."""
        seeds: Ids = np.asarray(self.given, dtype=np.int64) + np.array([0, self.n_source])
        return seeds

    def by_seeds(self, many: float, few: float) -> float:
        """One of two published settings, by how many seeds there are."""
        return many if len(self.given) >= FEW_SEEDS * min(self.n_source, self.n - self.n_source) else few

    @cached_property
    def facts(self) -> JointFacts:
        """All facts, repeats included."""
        return join_facts(self.source, self.target)

    @cached_property
    def triples(self) -> Ids:
        """(m, 3): distinct head, relation, tail, those of the source first."""
        own, other = distinct_triples(self.source), distinct_triples(self.target)
        return np.concatenate([own, other + np.array([self.n_source, self.source.n_relations, self.n_source])])

    @cached_property
    def both_ways(self) -> Ids:
        """The triples, then their inverses under relations of their own."""
        head, relation, tail = self.triples.T
        inverse = np.stack([tail, relation + self.n_relations, head], axis=1)
        return np.concatenate([self.triples, inverse])

    @cached_property
    def structure(self) -> Structure:
        """Edges, grouped by their relations and times, and row means."""
        return build_structure(self.source, self.target)

    def counts(self, row: Ids, column: Ids, shape: tuple[int, int]) -> sp.csr_array:
        """How often each (row, column) occurs."""
        matrix = sp.coo_array((np.ones(len(row), np.float32), (row, column)), shape=shape).tocsr()
        matrix.sum_duplicates()
        return matrix

    @cached_property
    def neighbours(self) -> sp.csr_array:
        """(n, n): 1 where a fact of either direction joins two different entities."""
        edges = self.structure.edges
        ones = np.ones(edges.n_edges, np.float32)
        matrix = sp.csr_array((ones, edges.neighbour, edges.indptr), shape=(self.n, self.n))
        matrix.setdiag(0.0)
        matrix.eliminate_zeros()
        return matrix


def functionality(first: Ids, relation: Ids, n_relations: int) -> Floats:
    """Distinct first arguments of each relation / its facts."""
    size = int(first.max(initial=0)) + 1
    distinct = np.bincount(np.unique(relation * size + first) // size, minlength=n_relations)
    return np.asarray(distinct / np.maximum(np.bincount(relation, minlength=n_relations), 1), dtype=np.float64)


def symmetric(matrix: sp.csr_array) -> sp.csr_array:
    """D^−½ A D^−½, D the column sums; entities without neighbours keep rows of 0."""
    total = np.asarray(matrix.sum(axis=0)).ravel()
    scale = np.divide(1.0, np.sqrt(total), out=np.zeros(len(total)), where=total > 0)
    scaled = sp.diags_array(scale) @ matrix @ sp.diags_array(scale)
    return sp.csr_array(scaled, dtype=np.float32)


def bridged_adjacency(task: Task) -> sp.csr_array:
    """D^−½ A D^−½ with loops; an edge between two seeds is in both graphs."""
    shared = np.arange(task.n)
    shared[task.seeds[:, 0]], shared[task.seeds[:, 1]] = task.seeds[:, 1], task.seeds[:, 0]
    edges = task.neighbours.tocoo()
    both = (shared[edges.row] != edges.row) & (shared[edges.col] != edges.col)
    row, column = np.append(edges.row, shared[edges.row[both]]), np.append(edges.col, shared[edges.col[both]])
    matrix = task.counts(row, column, (task.n, task.n))
    matrix.data[:] = 1.0
    return symmetric(sp.csr_array(matrix + sp.eye_array(task.n)))
