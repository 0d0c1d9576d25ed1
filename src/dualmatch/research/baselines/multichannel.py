"""MuGNN without rules: two channels of attention, over neighbours and over relations the other graph has, too.

Cao et al., *Multi-channel graph neural network for entity alignment*, ACL 2019. Left out: rules of AMIE+ and the facts
inferred by them, and relation seeds, as there are none. Of the triples, 20,000 are drawn an epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import torch
from scipy import sparse as sp
from torch import Tensor
from torch.nn.functional import elu, leaky_relu, normalize

from dualmatch.channels.relational.edges import Edges
from dualmatch.channels.relational.layers import drop
from dualmatch.decode.similarity import FactorSimilarity
from dualmatch.graph.arrays import Ids
from dualmatch.research.baselines.edge_attention import EdgeGraph
from dualmatch.research.baselines.scores import cosine
from dualmatch.research.baselines.training import (
    Step,
    fit,
    generator_of,
    glorot_uniform,
    manhattan,
    parameter,
)
from dualmatch.research.baselines.views import Task

_DEPTH: Final = 2
_DROPOUT: Final = 0.2
_RATE: Final = 0.001
_NEGATIVES: Final = 25
_TRUTH_MARGIN: Final = 0.12
_TRIPLES: Final = 20_000


class _Encoder:
    """Both channels on the neighbours and the entity itself; weights are shared by the graphs."""

    def __init__(self, task: Task) -> None:
        generator, d = generator_of(task), task.dimension
        self.task, self.n_own = task, task.source.n_relations
        loops = sp.csr_array(task.neighbours + sp.eye_array(task.n, dtype=np.float32, format="csr"))
        loops.sort_indices()
        self.graph = EdgeGraph(
            Edges(loops.indptr.astype(np.int64), loops.indices.astype(np.int64), np.zeros(0, np.int64))
        )
        self.relation = torch.from_numpy(self._relation_of_edge())
        self.entities = parameter(torch.randn(task.n, d, generator=generator) * task.n**-0.5)
        self.relations = glorot_uniform(task.n_relations, d, generator)
        self.scale = [[parameter(torch.ones(d)) for _ in range(_DEPTH)] for _ in range(2)]
        self.attention = [glorot_uniform(2 * d, 1, generator) for _ in range(_DEPTH)]

    def parameters(self) -> list[Tensor]:
        return [self.entities, self.relations, *self.scale[0], *self.scale[1], *self.attention]

    def _relation_of_edge(self) -> Ids:
        """One relation of each edge, whichever its direction; −1 on the entity itself."""
        head, relation, tail = self.task.triples.T
        keys = np.concatenate([head * self.task.n + tail, tail * self.task.n + head])
        distinct, first = np.unique(keys, return_index=True)
        asked = self.graph.near_rows * self.task.n + self.graph.far_rows
        place = np.minimum(np.searchsorted(distinct, asked), max(len(distinct) - 1, 0))
        found = np.tile(relation, 2)[first[place]]
        return np.where(self.graph.near_rows == self.graph.far_rows, -1, found)

    def __call__(self, training: bool) -> Tensor:
        share = _DROPOUT if training else 0.0
        unit = normalize(self.relations, dim=1)
        alike = unit[: self.n_own] @ unit[self.n_own :].T
        best = torch.cat([alike.amax(1), alike.amax(0), alike.new_ones(1)])  # the last is the entity itself
        shared = self.graph.softmax(best.clamp_max(1.0)[self.relation])
        x = y = self.entities
        for layer in range(_DEPTH):
            h = drop(x, share, self.task.rng) * self.scale[0][layer]
            near, far = self.attention[layer].view(2, -1)
            weight = self.graph.softmax(leaky_relu(self.graph.near(h @ near) + self.graph.far(h @ far), 0.2))
            x = self.graph.gather(weight, h)
            x = elu(x) if layer + 1 < _DEPTH else x
            y = elu(self.graph.gather(shared, drop(y, share, self.task.rng) * self.scale[1][layer]))
        return normalize((x + y) / 2, dim=1)


def mugnn(task: Task) -> FactorSimilarity:
    """Seed pairs against their nearest seeds, and true triples against corrupted ones."""
    encoder = _Encoder(task)
    optimiser = torch.optim.Adagrad(encoder.parameters(), lr=_RATE, weight_decay=0.01)
    seeds, k = torch.from_numpy(task.seeds), min(_NEGATIVES, len(task.seeds) - 1)
    near = [torch.from_numpy(task.rng.integers(len(seeds), size=(len(seeds), k))) for _ in range(2)]
    heads, tails = (_Members(task.triples[:, 1], task.triples[:, end], task.n_relations) for end in (0, 2))

    def loss() -> Tensor:
        x = encoder(training=True)
        return _pair_loss(x) + _truth_loss(x)

    def _pair_loss(x: Tensor) -> Tensor:
        left, right = x[seeds[:, 0]], x[seeds[:, 1]]
        apart = (left - right).norm(dim=1)[:, None]
        forth = torch.relu(1 + apart - (left[near[0]] - right[:, None]).norm(dim=2))
        return forth.mean() + torch.relu(1 + apart - (left[:, None] - right[near[1]]).norm(dim=2)).mean()

    def _truth_loss(x: Tensor) -> Tensor:
        triples = task.triples[task.rng.permutation(len(task.triples))[:_TRIPLES]]
        head, relation, tail = torch.from_numpy(np.ascontiguousarray(triples.T))
        r, m = normalize(encoder.relations, dim=1)[relation], len(triples)
        rows = torch.arange(m)
        # ‖h + r − t‖₁ with the translated heads, or the tails moved back, below the entities
        forth, back = torch.cat([x, x[head] + r]), torch.cat([x, x[tail] - r])
        near_, total = manhattan(forth, len(x) + rows, tail), x.new_zeros(())
        for _ in range(2):
            false_tail, false_head = (torch.from_numpy(side.draw(task, triples[:, 1])) for side in (tails, heads))
            for rows_of, false in ((forth, false_tail), (back, false_head)):
                gap = (near_ - manhattan(rows_of, len(x) + rows, false)) / (3 * task.dimension**0.5)
                total = total + torch.relu(_TRUTH_MARGIN + gap).mean()
        return total

    def steps(epoch: int) -> Iterator[Step]:
        if epoch and epoch % 5 == 0 and k:
            with torch.no_grad():
                x = encoder(training=False)
                for side in range(2):
                    alike = x[seeds[:, side]] @ x[seeds[:, side]].T
                    near[side] = alike.fill_diagonal_(-torch.inf).topk(k, dim=1).indices
        yield optimiser, loss

    fit(task, steps)
    with torch.no_grad():
        return cosine(encoder(training=False).numpy(), task.n_source)


class _Members:
    """The heads, or tails, that each relation has."""

    def __init__(self, relation: Ids, entity: Ids, n_relations: int) -> None:
        order = np.argsort(relation, kind="stable")
        self.entity = entity[order]
        self.starts = np.searchsorted(relation[order], np.arange(n_relations + 1))

    def draw(self, task: Task, relation: Ids) -> Ids:
        """One of each relation, at random."""
        size = self.starts[relation + 1] - self.starts[relation]
        place = self.starts[relation] + (task.rng.random(len(relation)) * size).astype(np.int64)
        return self.entity[place]
