"""RREA, TEA-GNN, MRAEA, TREA, STEA and Dual-AMN: neighbours weighed by attention, trained on seed pairs.

RREA: Mao et al., *Relational reflection entity alignment*, CIKM 2020. TEA-GNN: Xu et al., *Time-aware graph neural
networks for entity alignment between temporal knowledge graphs*, EMNLP 2021. MRAEA: Mao et al., *MRAEA: an efficient
and robust entity alignment approach*, WSDM 2020. STEA: Cai et al., *A simple temporal information matching mechanism
for entity alignment between temporal knowledge graphs*, COLING 2022. Dual-AMN: Mao et al., *Boosting the speed of
entity alignment 10×*, WWW 2021. TREA: Xu et al., *Time-aware entity alignment using temporal relational attention*,
WWW 2022, of which no program is public: a reconstruction from its abstract, constants ours.
Left out of all: turns in which found pairs become seeds; repeats of a fact do not count on an edge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import torch
from scipy import sparse as sp
from torch import Tensor
from torch.nn.functional import leaky_relu, normalize
from torch.optim import Optimizer

from dualmatch.channels.relational.edges import EdgeSets, directed_edges, group_symbols, row_means
from dualmatch.channels.relational.layers import EncoderShape, drop
from dualmatch.channels.relational.loss import LossShape, pair_loss
from dualmatch.channels.relational.sparse import ConstantMatrix, multiply
from dualmatch.channels.relational.train import Trainer, TrainingConfig
from dualmatch.decode.similarity import FactorSimilarity, WeightedSimilarity
from dualmatch.graph.arrays import Dense
from dualmatch.research.baselines.edge_attention import EdgeGraph, EdgeVectors
from dualmatch.research.baselines.propagation import times_at_entities
from dualmatch.research.baselines.scores import cosine, time_overlap
from dualmatch.research.baselines.training import (
    CPU,
    fit,
    generator_of,
    glorot_uniform,
    keras_embedding,
    l1_pair_loss,
    rmsprop,
)
from dualmatch.research.baselines.views import Task

_DROPOUT: Final = 0.3
_DEPTH: Final = 2
_HEADS: Final = 2
_BATCH: Final = 1024
TIME_SMOOTHNESS: Final = 1.0  # μ of the reconstruction
STRUCTURE_SHARE: Final = 0.7

Loss = Callable[[Tensor], Tensor]


def rrea(task: Task) -> FactorSimilarity:
    """Neighbours reflected at the vectors of their relations; entities and relations through one encoder."""
    structure, generator, d = task.structure, generator_of(task), task.dimension
    graph = EdgeGraph(structure.edges)
    vectors = EdgeVectors(graph, structure.relation_sets)
    members, near, near_relations = (
        ConstantMatrix(matrix, CPU)
        for matrix in (structure.relation_sets.members, structure.near_entities, structure.near_relations)
    )
    entities, relations = (keras_embedding(matrix.shape[1], d, generator) for matrix in (near, near_relations))
    attention = [glorot_uniform(3 * d, 1, generator) for _ in range(_DEPTH)]

    def layers(h: Tensor, v: Tensor) -> list[Tensor]:
        states = [torch.relu(h)]
        for a in attention:
            h, along = states[-1], vectors.project(states[-1], v)
            weight = graph.softmax(_reflected_logits(vectors, h, v, along, a, v, vectors))
            states.append(torch.relu(vectors.reflect(weight, h, v, along)))
        return states

    def encode() -> Tensor:
        v = normalize(multiply(members, relations), dim=1)
        inputs = multiply(near, entities), multiply(near_relations, relations)
        return torch.cat([state for each in inputs for state in layers(each, v)], dim=1)

    parameters = [entities, relations, *attention]
    margin = task.by_seeds(3.0, 2.0)
    return _by_cosine(task, encode, rmsprop(parameters, 0.005), lambda x: l1_pair_loss(x, task, margin))


def _reflected_logits(
    vectors: EdgeVectors, h: Tensor, v: Tensor, along: Tensor, a: Tensor, last: Tensor, last_vectors: EdgeVectors
) -> Tensor:
    """a·[h_i ‖ m_ij ‖ last], m_ij the reflected neighbour, without a row an edge: a·m = a·h_j − 2 (h_j·v)(a·v)."""
    first, second, third = a.view(3, -1, 1)
    graph = vectors.graph
    ends = graph.near((h @ first).squeeze(1)) + graph.far((h @ second).squeeze(1))
    reflected = ends - 2 * along * vectors.on_edges((v @ second).squeeze(1))
    return reflected + last_vectors.on_edges((last @ third).squeeze(1))


def tea_gnn(task: Task) -> FactorSimilarity:
    """RREA with times: a second reflection, at the time of the edge, and times instead of relations as input."""
    structure, generator, d = task.structure, generator_of(task), task.dimension
    graph = EdgeGraph(structure.edges)
    time_sets, times_near = _directed_times(task)
    by_relation, by_time = EdgeVectors(graph, structure.relation_sets), EdgeVectors(graph, time_sets)
    relation_members, time_members, near, near_times = (
        ConstantMatrix(matrix, CPU)
        for matrix in (structure.relation_sets.members, time_sets.members, structure.near_entities, times_near)
    )
    entities, relations, times = (
        keras_embedding(matrix.shape[1], d, generator) for matrix in (near, relation_members, near_times)
    )
    attention = [(glorot_uniform(3 * d, 1, generator), glorot_uniform(3 * d, 1, generator)) for _ in range(_DEPTH)]

    def layers(h: Tensor, v: Tensor, t: Tensor) -> list[Tensor]:
        states = [h]
        for of_relation, of_time in attention:
            along, along_time = by_relation.project(h, v), by_time.project(h, t)
            # Both logits use the neighbour as its relation reflects it; the last part is the relation, or the time.
            weight = graph.softmax(_reflected_logits(by_relation, h, v, along, of_relation, v, by_relation))
            weight_time = graph.softmax(_reflected_logits(by_relation, h, v, along, of_time, t, by_time))
            reflected = by_relation.reflect(weight, h, v, along) + by_time.reflect(weight_time, h, t, along_time)
            h = torch.relu(reflected)
            states.append(h)
        return states

    def encode() -> Tensor:
        v = normalize(multiply(relation_members, relations), dim=1)
        t = normalize(multiply(time_members, times), dim=1)
        inputs = multiply(near, entities), multiply(near_times, times)
        return torch.cat([state for each in inputs for state in layers(each, v, t)], dim=1)

    parameters = [entities, relations, times, *(a for both in attention for a in both)]
    margin = task.by_seeds(1.0, 3.0)
    return _by_cosine(task, encode, rmsprop(parameters, 0.005), lambda x: l1_pair_loss(x, task, margin))


def _directed_times(task: Task) -> tuple[EdgeSets, sp.csr_array]:
    """Begin on head → tail, end on tail → head; and the mean of the times at an entity; unknown is a time as others."""
    facts = task.facts
    edges, forth, back = directed_edges(facts)
    begin, end = (np.where(time < 0, facts.n_times, time) for time in facts.times)
    sets = group_symbols(np.append(forth, back), np.append(begin, end), edges.n_edges, facts.n_times + 1)
    ends = np.concatenate([facts.head, facts.tail, facts.head, facts.tail])
    near = row_means(ends, np.concatenate([begin, begin, end, end]), (task.n, facts.n_times + 1))
    return sets, near


def mraea(task: Task) -> FactorSimilarity:
    """Neighbours and relations at an entity, two heads of attention that both layers share."""
    encode, parameters, _ = _meta_attention(task, with_times=False)
    margin = task.by_seeds(1.0, 2.0)
    optimiser = torch.optim.Adam(parameters, lr=0.001, eps=1e-7)
    return _by_cosine(task, encode, optimiser, lambda x: l1_pair_loss(x, task, margin))


def trea(task: Task) -> FactorSimilarity:
    """MRAEA's layers with times, the loss of Dual-AMN, and consecutive times held together."""
    encode, parameters, times = _meta_attention(task, with_times=True)
    seeds = torch.from_numpy(task.seeds)

    def loss(x: Tensor) -> Tensor:
        batch = torch.from_numpy(task.rng.permutation(len(seeds))[:_BATCH])
        apart = (times[1:] - times[:-1]).square().sum(1)
        return pair_loss(x, seeds[batch], task.n_source, LossShape()) + TIME_SMOOTHNESS * apart.mean()

    return _by_cosine(task, encode, rmsprop(parameters, 0.005), loss)


def _meta_attention(task: Task, with_times: bool) -> tuple[Callable[[], Tensor], list[Tensor], Tensor]:
    """The encoder of MRAEA, with times or without; its parameters; the vectors of times."""
    structure, generator, d = task.structure, generator_of(task), task.dimension
    graph = EdgeGraph(structure.edges)
    kinds = [(structure.near_relations, structure.relation_sets)]
    kinds += [(structure.near_times, structure.time_sets)] if with_times else []
    near = [ConstantMatrix(matrix, CPU) for matrix in (structure.near_entities, *(matrix for matrix, _ in kinds))]
    members = [ConstantMatrix(sets.members, CPU) for _, sets in kinds]
    vectors = [EdgeVectors(graph, sets) for _, sets in kinds]
    embeddings = [keras_embedding(matrix.shape[1], d, generator) for matrix in near]
    width = d * len(near)
    of_ends = [(glorot_uniform(width, 1, generator), glorot_uniform(width, 1, generator)) for _ in range(_HEADS)]
    of_edges = [[glorot_uniform(d, 1, generator) for _ in kinds] for _ in range(_HEADS)]

    def encode() -> Tensor:
        x = torch.cat([multiply(matrix, each) for matrix, each in zip(near, embeddings, strict=True)], dim=1)
        v = [multiply(matrix, each) for matrix, each in zip(members, embeddings[1:], strict=True)]
        states = [torch.relu(x)]
        for _ in range(_DEPTH):
            weights = []
            for (first, second), edge in zip(of_ends, of_edges, strict=True):
                logits = graph.near((x @ first).squeeze(1)) + graph.far((x @ second).squeeze(1))
                for each, values, a in zip(vectors, v, edge, strict=True):
                    logits = logits + each.on_edges((values @ a).squeeze(1))
                weights.append(graph.softmax(leaky_relu(logits, 0.2)))
            x = torch.relu(graph.gather(torch.stack(weights).mean(0), x))  # averaged heads: one product
            states.append(x)
        return torch.cat(states, dim=1)

    parameters = [*embeddings, *(a for both in of_ends for a in both), *(a for head in of_edges for a in head)]
    return encode, parameters, embeddings[-1]


def stea(task: Task) -> WeightedSimilarity:
    """Means over neighbours, twice, without attention; beside it the overlap of times."""
    generator, d, facts = generator_of(task), task.dimension, task.facts
    near = ConstantMatrix(task.structure.near_entities, CPU)
    ends, relations = np.append(facts.head, facts.tail), np.tile(facts.relation, 2)
    near_relations = ConstantMatrix(row_means(ends, relations, (task.n, task.n_relations)), CPU)
    entities, w = (glorot_uniform(matrix.shape[1], d, generator) for matrix in (near, near_relations))

    def encode(training: bool = False) -> Tensor:
        share = _DROPOUT if training else 0.0
        inputs = torch.cat([multiply(near, entities), multiply(near_relations, w)], dim=1)
        h = drop(torch.relu(inputs), share, task.rng)
        return torch.cat([h, drop(torch.relu(multiply(near, h)), share, task.rng)], dim=1)

    optimiser = torch.optim.RMSprop([entities, w], lr=0.005)
    fit(task, lambda _epoch: [(optimiser, lambda: l1_pair_loss(encode(training=True), task, 3.0))])
    overlap = time_overlap(*times_at_entities(task), task.n, task.n_source)
    structure = cosine(_values(encode), task.n_source)
    return WeightedSimilarity(((STRUCTURE_SHARE, structure), (1 - STRUCTURE_SHARE, overlap)))


def dual_amn(task: Task) -> FactorSimilarity:
    """The encoder of `channels/relational` without its third aspect, with the original's starts and optimiser."""
    shape = EncoderShape(dimension=task.dimension, time_aspect=False)
    config = TrainingConfig(epochs=task.epochs, batch=_BATCH, dropout=_DROPOUT, encoder=shape)
    trainer = Trainer(task.structure, task.given, config, task.seed)
    generator, encoder = generator_of(task), trainer.encoder
    with torch.no_grad():
        for name, each in trainer.trained.items():
            if each is encoder.entities or each is encoder.relations:
                each.copy_(keras_embedding(each.shape[0], each.shape[1], generator))
            elif name.endswith("bias"):
                each.zero_()
            else:
                each.copy_(glorot_uniform(each.shape[0], each.shape[1], generator))
    trainer.optimiser = rmsprop(list(trainer.trained.values()), config.learning_rate)  # type: ignore[assignment]
    while trainer.epoch < task.epochs:
        trainer.run_epoch(task.epochs, task.step)
    return FactorSimilarity(*trainer.features())


def _by_cosine(task: Task, encode: Callable[[], Tensor], optimiser: Optimizer, loss: Loss) -> FactorSimilarity:
    """Train with dropout on the output, an epoch a step; compare by cosine."""
    fit(task, lambda _epoch: [(optimiser, lambda: loss(drop(encode(), _DROPOUT, task.rng)))])
    return cosine(_values(encode), task.n_source)


def _values(encode: Callable[[], Tensor]) -> Dense:
    with torch.no_grad():
        return encode().numpy()
