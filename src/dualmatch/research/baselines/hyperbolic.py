"""HyperKA: graph convolution and translation in the Poincaré ball.

Sun et al., *Knowledge association with hyperbolic knowledge graph embeddings*, EMNLP 2020. Ten negatives a triple
instead of 40. Left out: dropping triples with an end outside seeds and tested pairs, and negatives from those, as both
take tested pairs for known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import torch
from scipy import sparse as sp
from torch import Tensor

from dualmatch.graph.arrays import Ids, Ints
from dualmatch.research.baselines.poincare import (
    PoincareSimilarity,
    exp0,
    far_distance,
    log0,
    mobius_add,
    moved_distance,
    pair_distance,
)
from dualmatch.research.baselines.training import (
    Step,
    WeightedPattern,
    fit,
    generator_of,
    glorot_uniform,
    listed,
    parameter,
    weighted_sum,
)
from dualmatch.research.baselines.translational import near_entities, nearest_in_graph
from dualmatch.research.baselines.views import Task, symmetric

_BATCH: Final = 20_000
_NEGATIVES: Final = 10
_SEED_NEGATIVES: Final = 20  # a side
_NEAR: Final = 0.02  # of a graph: negatives are drawn among the nearest
_RATE: Final = 2e-4
_WARM_UP: Final = 50  # epochs at a fifth of the rate


def hyperka(task: Task) -> PoincareSimilarity:
    """Triples with h ⊕ r near t; the outputs of seed pairs near each other after a Möbius map."""
    generator, d, n = generator_of(task), task.dimension, task.n
    raw, raw_relations = (glorot_uniform(size, d, generator, torch.float64) for size in (n, task.n_relations))
    zeros = torch.zeros(1, d, dtype=torch.float64)
    layers = [(glorot_uniform(d, d, generator, torch.float64), parameter(zeros.clone())) for _ in range(2)]
    mapping = parameter(torch.linalg.qr(torch.randn(d, d, generator=generator, dtype=torch.float64))[0].contiguous())
    adjacency, weight = _adjacency(task)
    for each in (raw, raw_relations):
        each.register_hook(lambda gradient, each=each: gradient * _metric(each))  # type: ignore[no-untyped-call]
    of_triples = torch.optim.Adam([raw, raw_relations], lr=_RATE)
    of_seeds = torch.optim.Adam([raw, mapping, *(part for layer in layers for part in layer)], lr=_RATE)

    def encode(share: float) -> Tensor:
        states = [exp0(raw)]
        for number, (w, bias) in enumerate(layers):
            tangent = log0(states[-1])
            if share:
                tangent = tangent * torch.from_numpy(task.rng.random(tangent.shape) >= share)  # not scaled up
            x = mobius_add(exp0(weighted_sum(adjacency, weight, tangent @ w)), exp0(bias))
            x = exp0(torch.tanh(log0(x))) if number + 1 < len(layers) else x
            states.append(mobius_add(x, states[-1]))
        return mobius_add(states[-1], states[0])

    def mapped(x: Tensor) -> Tensor:
        return exp0(log0(x) @ mapping)  # Möbius product M ⊗ x

    def triple_loss(batch: Ids, lists: list[Ints]) -> Callable[[], Tensor]:
        tails = task.rng.random(len(batch)) < 0.5
        drawn = near_entities(task, lists, np.where(tails, batch[:, 2], batch[:, 0]), _NEGATIVES)
        parts = [
            (listed(drawn[some], n), torch.from_numpy(np.ascontiguousarray(batch[some].T))) for some in (tails, ~tails)
        ]

        def loss() -> Tensor:
            e, relations = exp0(raw), exp0(raw_relations)
            total = e.new_zeros(())
            for is_tail, (pattern, (head, relation, tail)) in zip((True, False), parts, strict=True):
                r, t = relations.index_select(0, relation), e.index_select(0, tail)
                translated = mobius_add(e.index_select(0, head), r)
                far = far_distance(pattern, translated, e) if is_tail else moved_distance(pattern, r, t, e)
                total = total + pair_distance(translated, t).sum() + torch.relu(0.1 - far).sum()
            return total

        return loss

    def seed_loss(batch: Ids) -> Callable[[], Tensor]:
        spans, size = ((task.n_source, n), (0, task.n_source)), (len(batch), _SEED_NEGATIVES)
        drawn = [task.rng.integers(low, high, size) for low, high in spans]
        left, right = torch.from_numpy(np.ascontiguousarray(batch.T))

        def loss() -> Tensor:
            x = encode(0.2)
            moved = torch.cat([mapped(x[: task.n_source]), x[task.n_source :]])
            total = pair_distance(moved.index_select(0, left), moved.index_select(0, right)).sum()
            for some, end in zip(drawn, (left, right), strict=True):
                total = total + torch.relu(0.4 - far_distance(listed(some, n), moved.index_select(0, end), moved)).sum()
            return total

        return loss

    lists: list[Ints] = []

    def steps(epoch: int) -> Iterator[Step]:
        nonlocal lists
        for optimiser in (of_triples, of_seeds):
            optimiser.param_groups[0]["lr"] = _RATE / 5 if epoch < _WARM_UP else _RATE
        if epoch % 10 == 0:
            with torch.no_grad():
                lists = nearest_in_graph(task, exp0(raw).float(), max(1, int(_NEAR * task.n_source)))
        triples = np.array_split(task.rng.permutation(task.triples), -(-len(task.triples) // _BATCH))
        seeds = np.array_split(task.rng.permutation(task.seeds), len(triples))
        for some, known in zip(triples, seeds, strict=True):
            yield of_triples, triple_loss(some, lists)
            if len(known):
                yield of_seeds, seed_loss(known)

    fit(task, steps)
    with torch.no_grad():
        x = encode(0.0)
        return PoincareSimilarity(mapped(x[: task.n_source]).numpy(), x[task.n_source :].numpy())


def _metric(raw: Tensor) -> Tensor:
    """(1 − ‖row‖²)² / 4 of the points in the ball."""
    with torch.no_grad():
        return (1 - exp0(raw).square().sum(1, keepdim=True)).square() / 4


def _adjacency(task: Task) -> tuple[WeightedPattern, Tensor]:
    """D^−½ A D^−½ with loops; an edge between two seeds is in both graphs."""
    shared = np.arange(task.n)
    shared[task.seeds[:, 0]], shared[task.seeds[:, 1]] = task.seeds[:, 1], task.seeds[:, 0]
    edges = task.neighbours.tocoo()
    both = (shared[edges.row] != edges.row) & (shared[edges.col] != edges.col)
    row, column = np.append(edges.row, shared[edges.row[both]]), np.append(edges.col, shared[edges.col[both]])
    matrix = task.counts(row, column, (task.n, task.n))
    matrix.data[:] = 1.0
    matrix = symmetric(sp.csr_array(matrix + sp.eye_array(task.n)))
    matrix.sort_indices()
    rows = np.repeat(np.arange(task.n), np.diff(matrix.indptr))
    pattern = WeightedPattern(rows, matrix.indices.astype(np.int64), (task.n, task.n))
    return pattern, torch.from_numpy(matrix.data.astype(np.float64))
