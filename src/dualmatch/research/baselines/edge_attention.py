"""Attention with a weight of its own on every edge, over vectors that belong to the set on the edge.

Σ_j w_ij (h_j − 2 (h_j·v_ij) v_ij) splits into W h and −2 Q V, Q entity × set, as in `channels/relational/sparse.py`;
there weights belong to sets, too. Dots of features with edge vectors are sampled products: no edge has a row of
floats.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dualmatch.channels.relational.edges import Edges, EdgeSets
from dualmatch.graph.arrays import Ids
from dualmatch.research.baselines.training import WeightedPattern, dots, weighted_sum


class EdgeGraph:
    """Directed edges (i, j) of both graphs, and sums and softmaxes over the edges of a row."""

    def __init__(self, edges: Edges) -> None:
        self.n = edges.n_entities
        self.near_rows = np.repeat(np.arange(self.n), np.diff(edges.indptr))
        self.far_rows = edges.neighbour
        self.pattern = WeightedPattern(self.near_rows, self.far_rows, (self.n, self.n))

    def near(self, values: Tensor) -> Tensor:
        """A number an entity to one an edge: that of its near end i."""
        return values.index_select(0, self.pattern.row)

    def far(self, values: Tensor) -> Tensor:
        """That of its far end j."""
        return values.index_select(0, self.pattern.column)

    def softmax(self, logits: Tensor) -> Tensor:
        """Over the edges of each row."""
        rows = self.pattern.row
        top = logits.detach().new_full((self.n,), -torch.inf)
        top = top.scatter_reduce(0, rows, logits.detach(), "amax")
        weight = torch.exp(logits - top.index_select(0, rows))
        return weight / weight.new_zeros(self.n).index_add(0, rows, weight).index_select(0, rows)

    def gather(self, weight: Tensor, h: Tensor) -> Tensor:
        """Σ_j w_ij h_j."""
        return weighted_sum(self.pattern, weight, h)


class EdgeVectors:
    """The sets on the edges, whose vectors v are trained."""

    def __init__(self, graph: EdgeGraph, sets: EdgeSets) -> None:
        self.graph, self.n_sets = graph, sets.n_sets
        self.set_of_edge = torch.from_numpy(sets.of_edge)
        self._near, self._edge_near = self._meetings(graph.near_rows, sets)
        self._far, self._edge_far = self._meetings(graph.far_rows, sets)

    def _meetings(self, entity: Ids, sets: EdgeSets) -> tuple[WeightedPattern, Tensor]:
        """Distinct (entity, set), and which of them an edge has."""
        distinct, of_edge = np.unique(entity * sets.n_sets + sets.of_edge, return_inverse=True)
        row, column = np.divmod(distinct, max(sets.n_sets, 1))
        return WeightedPattern(row, column, (self.graph.n, sets.n_sets)), torch.from_numpy(of_edge)

    def on_edges(self, values: Tensor) -> Tensor:
        """A number a set to one an edge."""
        return values.index_select(0, self.set_of_edge)

    def project(self, h: Tensor, v: Tensor) -> Tensor:
        """h_j · v_ij for each edge."""
        return dots(self._far, h, v).index_select(0, self._edge_far)

    def reflect(self, weight: Tensor, h: Tensor, v: Tensor, along: Tensor) -> Tensor:
        """Σ_j w_ij (h_j − 2 (h_j·v_ij) v_ij), `along` the projections."""
        by_set = weight.new_zeros(len(self._near.column)).index_add(0, self._edge_near, weight * along)
        return self.graph.gather(weight, h) - 2 * weighted_sum(self._near, by_set, v)
