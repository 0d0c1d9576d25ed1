"""HyperKA: graph convolution and translation in the Poincaré ball.

Sun et al., *Knowledge association with hyperbolic knowledge graph embeddings*, EMNLP 2020. Ten negatives a triple
instead of 40, and single precision instead of double, which changes losses and gradients by about a millionth. Left
out: dropping triples with an end outside seeds and tested pairs, and negatives from those, as both take tested pairs
for known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import torch
from scipy import sparse as sp
from torch import Tensor

from dualmatch.channels.relational.sparse import ConstantMatrix, multiply
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
from dualmatch.research.baselines.row_products import squares
from dualmatch.research.baselines.training import CPU, Step, fit, generator_of, glorot_uniform, listed, parameter
from dualmatch.research.baselines.translational import near_entities, nearest_in_graph
from dualmatch.research.baselines.views import Task, bridged_adjacency

_BATCH: Final = 20_000
_NEGATIVES: Final = 10
_SEED_NEGATIVES: Final = 20  # a side
_NEAR: Final = 0.02  # of a graph: negatives are drawn among the nearest
_DROPOUT: Final = 0.2
_RATE: Final = 2e-4
_WARM_UP: Final = 50  # epochs at a fifth of the rate


def hyperka(task: Task) -> PoincareSimilarity:
    """Triples with h ⊕ r near t; the outputs of seed pairs near each other after a Möbius map."""
    generator, d, n = generator_of(task), task.dimension, task.n
    raw, raw_relations = (glorot_uniform(size, d, generator) for size in (n, task.n_relations))
    layers = [(glorot_uniform(d, d, generator), parameter(torch.zeros(1, d))) for _ in range(2)]
    mapping = parameter(torch.linalg.qr(torch.randn(d, d, generator=generator))[0].contiguous())
    adjacency = bridged_adjacency(task)
    for each in (raw, raw_relations):
        each.register_hook(lambda gradient, each=each: gradient * _metric(each))  # type: ignore[no-untyped-call]
    of_triples = torch.optim.Adam([raw, raw_relations], lr=_RATE, fused=True)
    of_seeds = torch.optim.Adam([raw, mapping, *(part for layer in layers for part in layer)], lr=_RATE, fused=True)

    def dropped(tangent: Tensor, share: float) -> Tensor:
        if not share:
            return tangent
        return tangent * torch.from_numpy(task.rng.random(tangent.shape, np.float32) >= share)  # not scaled up

    def encode(rows: Ids, share: float) -> Tensor:
        """Outputs of some entities. Only what they depend on is computed: of the first layer, their neighbours."""
        near, last = _met(adjacency[rows])
        own = torch.from_numpy(np.searchsorted(near, rows))
        (w, bias), (last_w, last_bias) = layers
        start = exp0(raw.index_select(0, torch.from_numpy(near)))
        x = multiply(ConstantMatrix(adjacency[near], CPU), dropped(raw, share)) @ w  # raw is log₀ of the inputs
        first = mobius_add(exp0(torch.tanh(log0(mobius_add(exp0(x), exp0(bias))))), start)
        x = multiply(ConstantMatrix(last, CPU), dropped(log0(first), share)) @ last_w
        x = mobius_add(mobius_add(exp0(x), exp0(last_bias)), first.index_select(0, own))
        return mobius_add(x, start.index_select(0, own))

    def outputs(rows: Ids, share: float) -> Tensor:
        """Outputs of some entities, those of the source after the map: M ⊗ x."""
        own, other = encode(rows, share).tensor_split([int(np.searchsorted(rows, task.n_source))])
        return torch.cat([exp0(log0(own) @ mapping), other])

    def triple_loss(batch: Ids, lists: list[Ints]) -> Callable[[], Tensor]:
        at_tail = task.rng.random(len(batch)) < 0.5
        batch, split = np.concatenate([batch[at_tail], batch[~at_tail]]), int(at_tail.sum())
        replaced = np.concatenate([batch[:split, 2], batch[split:, 0]])
        of_tails, of_heads = (
            listed(some, n) for some in np.split(near_entities(task, lists, replaced, _NEGATIVES), [split])
        )
        ends, relation = torch.from_numpy(batch[:, [0, 2]].T.ravel()), torch.from_numpy(batch[:, 1].copy())

        def loss() -> Tensor:
            e, relations = exp0(raw), exp0(raw_relations)
            (h, t), r = e.index_select(0, ends).chunk(2), relations.index_select(0, relation)
            translated = mobius_add(h, r)
            far = far_distance(of_tails, translated[:split], e), moved_distance(of_heads, r[split:], t[split:], e)
            return pair_distance(translated, t).sum() + torch.relu(0.1 - torch.cat(far)).sum()

        return loss

    def seed_loss(batch: Ids) -> Callable[[], Tensor]:
        spans, size = ((task.n_source, n), (0, task.n_source)), (len(batch), _SEED_NEGATIVES)
        drawn = [task.rng.integers(low, high, size) for low, high in spans]
        rows = np.unique(np.concatenate([batch.ravel(), *(some.ravel() for some in drawn)]))
        patterns = [listed(np.searchsorted(rows, some), len(rows)) for some in drawn]
        ends = torch.from_numpy(np.searchsorted(rows, batch.T))

        def loss() -> Tensor:
            moved = outputs(rows, _DROPOUT)
            left, right = (moved.index_select(0, end) for end in ends)
            total = pair_distance(left, right).sum()
            for pattern, end in zip(patterns, (left, right), strict=True):
                total = total + torch.relu(0.4 - far_distance(pattern, end, moved)).sum()
            return total

        return loss

    lists: list[Ints] = []

    def steps(epoch: int) -> Iterator[Step]:
        nonlocal lists
        for optimiser in (of_triples, of_seeds):
            optimiser.param_groups[0]["lr"] = _RATE / 5 if epoch < _WARM_UP else _RATE
        if epoch % 10 == 0:
            with torch.no_grad():
                lists = nearest_in_graph(task, exp0(raw), max(1, int(_NEAR * task.n_source)))
        triples = np.array_split(task.rng.permutation(task.triples), -(-len(task.triples) // _BATCH))
        seeds = np.array_split(task.rng.permutation(task.seeds), len(triples))
        for some, known in zip(triples, seeds, strict=True):
            yield of_triples, triple_loss(some, lists)
            if len(known):
                yield of_seeds, seed_loss(known)

    fit(task, steps)
    with torch.no_grad():
        x = outputs(np.arange(n), 0.0).double().numpy()
        return PoincareSimilarity(x[: task.n_source], x[task.n_source :])


def _metric(raw: Tensor) -> Tensor:
    """(1 − ‖row‖²)² / 4 of the points in the ball."""
    with torch.no_grad():
        return (1 - torch.tanh(squares(raw).sqrt()).square()).square()[:, None] / 4


def _met(rows: sp.csr_array) -> tuple[Ids, sp.csr_array]:
    """The columns that some rows have entries in, and these rows over these columns alone."""
    met = np.flatnonzero(np.bincount(rows.indices, minlength=rows.shape[1]))
    return met, sp.csr_array(rows[:, met])
