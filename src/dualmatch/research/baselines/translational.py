"""MTransE, JAPE and AlignE: a relation translates its head to its tail, h + r ≈ t.

MTransE: Chen et al., *Multilingual knowledge graph embeddings for cross-lingual knowledge alignment*, IJCAI 2017, its
linear map. JAPE: Sun et al., *Cross-lingual entity alignment via joint attribute-preserving embedding*, ISWC 2017, its
structure part; left out: attributes and relation seeds, as there are none. AlignE: Sun et al., *Bootstrapping entity
alignment with knowledge graph embedding*, IJCAI 2018, which is BootEA without bootstrapping.
Epochs are fixed; the originals stop early on pairs that are tested here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from dualmatch.decode.similarity import FactorSimilarity
from dualmatch.graph.arrays import Ids, Ints
from dualmatch.research.baselines.scores import cosine
from dualmatch.research.baselines.training import (
    Step,
    adagrad,
    dots,
    fit,
    generator_of,
    listed,
    parameter,
    truncated_normal,
)
from dualmatch.research.baselines.views import Task

_RATE: Final = 0.01
_BATCH: Final = 20_000
_LARGE: Final = 15_000  # entities a graph from which on neighbour lists are made half as often


def mtranse(task: Task) -> FactorSimilarity:
    """Each graph translates by itself; an orthogonal map takes source to target entities. Cosine after the map."""
    generator, d = generator_of(task), task.dimension
    e, r = (
        parameter(normalize(torch.randn(size, d, generator=generator), dim=1)) for size in (task.n, task.n_relations)
    )
    start = torch.linalg.qr(torch.randn(d, d, generator=generator))[0]
    mapping = parameter(start.contiguous())
    of_triples, of_map = adagrad([e, r], _RATE), adagrad([e, mapping], _RATE)
    alpha = task.by_seeds(10.0, 7.0)
    own = task.triples[task.triples[:, 0] < task.n_source]
    other = task.triples[task.triples[:, 0] >= task.n_source]
    n_steps = -(-len(task.triples) // _BATCH)
    batch = max(1, len(task.seeds) // n_steps)

    def map_loss() -> Tensor:
        seeds = torch.from_numpy(task.seeds[task.rng.permutation(len(task.seeds))[:batch]])
        left, right = (normalize(e[seeds[:, side]], dim=1) for side in (0, 1))
        orthogonal = mapping @ mapping.T - torch.eye(d)
        return alpha * ((left @ mapping - right).square().sum() + orthogonal.square().sum())

    def steps(_epoch: int) -> Iterator[Step]:
        parts = [np.array_split(task.rng.permutation(side), n_steps) for side in (own, other)]
        for both in zip(*parts, strict=True):
            yield of_triples, _translation(e, r, np.concatenate(both))
        for _ in range(n_steps):
            yield of_map, map_loss

    fit(task, steps)
    with torch.no_grad():
        vectors = normalize(e, dim=1)
        vectors[: task.n_source] = vectors[: task.n_source] @ mapping
    return cosine(vectors.numpy(), task.n_source)


def _translation(e: Tensor, r: Tensor, triples: Ids, weight: float = 1.0) -> Callable[[], Tensor]:
    """± Σ‖h + r − t‖² over some triples."""
    head, relation, tail = torch.from_numpy(np.ascontiguousarray(triples.T))

    def loss() -> Tensor:
        entities, relations = normalize(e, dim=1), normalize(r, dim=1)
        h, t = entities.index_select(0, head), entities.index_select(0, tail)
        return weight * (h + relations.index_select(0, relation) - t).square().sum()

    return loss


def jape(task: Task) -> FactorSimilarity:
    """Both entities of a seed share one vector; true triples are pulled together, corrupted ones pushed apart."""
    generator, d = generator_of(task), task.dimension
    shared = np.arange(task.n)
    shared[task.seeds[:, 1]] = task.seeds[:, 0]
    e, r = (truncated_normal(size, d, d**-0.5, generator) for size in (task.n, task.n_relations))
    pull, push = adagrad([e, r], _RATE), adagrad([e, r], _RATE)
    weight, size = task.by_seeds(2.0, 3.0), min(10_000, len(task.triples))

    def steps(_epoch: int) -> Iterator[Step]:
        triples = task.rng.permutation(task.triples)
        for start in range(0, len(triples) - size + 1, size):  # the last incomplete batch is dropped
            batch = triples[start : start + size]
            corrupted = batch.copy()
            end = 2 * task.rng.integers(2, size=len(batch))
            corrupted[np.arange(len(batch)), end] = _uniform_in_graph(task, batch[:, 0])
            for optimiser, some, sign in ((pull, batch, 1.0), (push, corrupted, -weight)):
                some = np.stack([shared[some[:, 0]], some[:, 1], shared[some[:, 2]]], axis=1)
                yield optimiser, _translation(e, r, some, sign)

    fit(task, steps)
    with torch.no_grad():
        vectors = normalize(e, dim=1)[torch.from_numpy(shared)]
    return cosine(vectors.numpy(), task.n_source)


def _uniform_in_graph(task: Task, beside: Ids) -> Ids:
    """A random entity of the same graph as each of these."""
    own = beside < task.n_source
    drawn = task.rng.random(len(beside)) * np.where(own, task.n_source, task.n - task.n_source)
    return drawn.astype(np.int64) + np.where(own, 0, task.n_source)


def aligne(task: Task) -> FactorSimilarity:
    """Triples of a seed are copied with its partner; negatives are near the entity they replace; limits .01 and 2."""
    generator, d, n_negatives = generator_of(task), task.dimension, 10
    e, r = (truncated_normal(size, d, d**-0.5, generator) for size in (task.n, task.n_relations))
    optimiser = adagrad([e, r], _RATE)
    triples = swapped_triples(task)
    known = np.unique(_keys(task, triples))
    lists: list[Ints] = []

    def steps(epoch: int) -> Iterator[Step]:
        nonlocal lists
        if epoch % (5 if task.n < 2 * _LARGE else 10) == 0:
            with torch.no_grad():
                lists = nearest_in_graph(task, normalize(e, dim=1), max(1, task.n_source // 10))
        shuffled = task.rng.permutation(triples)
        for start in range(0, len(shuffled), _BATCH):
            yield optimiser, limit_loss(shuffled[start : start + _BATCH])

    def limit_loss(batch: Ids) -> Callable[[], Tensor]:
        tails = task.rng.random(len(batch)) < 0.5
        replaced = np.where(tails, batch[:, 2], batch[:, 0])
        drawn = near_entities(task, lists, replaced, n_negatives)
        changed = np.repeat(batch, n_negatives, axis=0)
        changed[np.arange(len(changed)), np.repeat(np.where(tails, 2, 0), n_negatives)] = drawn.ravel()
        keys = _keys(task, changed)
        false = torch.from_numpy(known[np.searchsorted(known[:-1], keys)] != keys)  # true triples are no negatives
        pattern = listed(drawn, task.n)
        head, relation, tail = torch.from_numpy(np.ascontiguousarray(batch.T))
        at_tail = torch.from_numpy(tails)[:, None]

        def loss() -> Tensor:
            entities, relations = normalize(e, dim=1), normalize(r, dim=1)
            h, t = entities.index_select(0, head), entities.index_select(0, tail)
            of = relations.index_select(0, relation)
            near = (h + of - t).square().sum(1)
            # f′ = ‖a − x‖², a = h + r where the tail x is false, t − r where the head is
            a = torch.where(at_tail, h + of, t - of)
            far = (a.square().sum(1).index_select(0, pattern.row) - 2 * dots(pattern, a, entities)) + 1.0  # ‖x‖ = 1
            return torch.relu(near - 0.01).sum() + 0.2 * (torch.relu(2.0 - far) * false).sum()

        return loss

    fit(task, steps)
    with torch.no_grad():
        return cosine(normalize(e, dim=1).numpy(), task.n_source)


def swapped_triples(task: Task) -> Ids:
    """All triples, and those with an end in a seed pair with its partner there instead, one end at a time."""
    partner = np.full(task.n, -1)
    partner[task.seeds[:, 0]], partner[task.seeds[:, 1]] = task.seeds[:, 1], task.seeds[:, 0]
    parts = [task.triples]
    for end in (0, 2):
        copy = task.triples[partner[task.triples[:, end]] >= 0].copy()
        copy[:, end] = partner[copy[:, end]]
        parts.append(copy)
    return np.concatenate(parts)


def _keys(task: Task, triples: Ids) -> Ids:
    keys: Ids = (triples[:, 0] * task.n_relations + triples[:, 1]) * task.n + triples[:, 2]
    return keys


def nearest_in_graph(task: Task, vectors: Tensor, k: int, block: int = 1000) -> list[Ints]:
    """For each graph, (n_graph, k): the entities of the same graph with the largest dot product, itself left out."""
    lists = []
    for first, last in ((0, task.n_source), (task.n_source, task.n)):
        own, parts = vectors[first:last], []
        for start in range(0, len(own), block):
            dot = own[start : start + block] @ own.T
            here = torch.arange(len(dot))
            dot[here, start + here] = -torch.inf
            parts.append(dot.topk(min(k, len(own) - 1), dim=1, sorted=False).indices + first)
        lists.append(torch.cat(parts).numpy().astype(np.int32))
    return lists


def near_entities(task: Task, lists: list[Ints], entity: Ids, count: int) -> Ids:
    """(len(entity), count): some of the neighbours of each."""
    out = np.empty((len(entity), count), np.int64)
    for table, first, own in zip(lists, (0, task.n_source), (True, False), strict=True):
        here = (entity < task.n_source) == own
        place = task.rng.integers(table.shape[1], size=(int(here.sum()), count))
        out[here] = table[(entity[here] - first)[:, None], place]
    return out
