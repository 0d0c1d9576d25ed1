"""The triple-aspect encoder: entity, relation and time aspects, each a reflecting graph attention of L layers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from dualmatch.channels.relational.edges import Structure
from dualmatch.channels.relational.proxies import match_proxies
from dualmatch.channels.relational.reflection import ReflectionGraph, gather, reflect
from dualmatch.channels.relational.sparse import ConstantMatrix, multiply


@dataclass(frozen=True)
class EncoderShape:
    """Sizes of the encoder, and the parts an ablation may switch off."""

    dimension: int = 128
    depth: int = 2
    proxies: int = 64
    reflect_relations: bool = True
    reflect_times: bool = True
    time_aspect: bool = True


def xavier_normal(rows: int, columns: int, generator: torch.Generator) -> nn.Parameter:
    """Normal values of variance 2 / (rows + columns), from a generator of one's own."""
    return nn.Parameter(torch.randn(rows, columns, generator=generator) * math.sqrt(2 / (rows + columns)))


class Aspect(nn.Module):
    """One encoder: attention over reflected neighbours, then proxy matching and a gate."""

    def __init__(self, shape: EncoderShape, generator: torch.Generator) -> None:
        super().__init__()
        width = shape.dimension * (shape.depth + 1)
        self.shape = shape
        self.attention = nn.ParameterList([xavier_normal(shape.dimension, 1, generator) for _ in range(shape.depth)])
        self.proxy = xavier_normal(shape.proxies, width, generator)
        self.gate = xavier_normal(width, width, generator)
        self.bias = xavier_normal(1, width, generator)

    def forward(self, graph: ReflectionGraph, inputs: Tensor, v: Tensor, reflecting: bool) -> Tensor:
        """(n, d) inputs and (n_sets, d) edge vectors to (n, (L + 1) d) outputs."""
        h = torch.tanh(inputs)
        layers = [h]
        for w in self.attention:
            h = torch.tanh(self._layer(graph, h, v, w, reflecting))
            layers.append(h)
        return match_proxies(torch.cat(layers, dim=1), self.proxy, self.gate, self.bias)

    def _layer(self, graph: ReflectionGraph, h: Tensor, v: Tensor, w: Tensor, reflecting: bool) -> Tensor:
        """Σ_j a_ij (h_j − 2 (h_j·v_ij) v_ij), a_ij = softmax_j(w·v_ij): numerators here, divided by row at the end."""
        logits = (v @ w).squeeze(1)
        u = torch.exp(logits - logits.max().detach())
        total = multiply(graph.counts, u[:, None])
        summed = reflect(graph, h, v, u) if reflecting else gather(graph, h, u)
        return summed / total.clamp_min(1e-12)  # an entity without edges has a sum of 0 over a total of 0


class Encoder(nn.Module):
    """h_i = [out^ent ‖ (out^rel + out^time) / 2]; the entity and time aspects share weights."""

    def __init__(
        self, structure: Structure, shape: EncoderShape, generator: torch.Generator, device: torch.device
    ) -> None:
        super().__init__()
        self.shape = shape
        self.use_times = shape.time_aspect and structure.has_times
        self.near_entities = ConstantMatrix(structure.near_entities, device)
        self.near_relations = ConstantMatrix(structure.near_relations, device)
        self.relation_members = ConstantMatrix(structure.relation_sets.members, device)
        self.relation_graph = ReflectionGraph(structure.edges, structure.relation_sets, device)
        self.entities = xavier_normal(structure.n_entities, shape.dimension, generator)
        self.relations = xavier_normal(self.near_relations.shape[1], shape.dimension, generator)
        if self.use_times:
            self.near_times = ConstantMatrix(structure.near_times, device)
            self.time_members = ConstantMatrix(structure.time_sets.members, device)
            self.time_graph = ReflectionGraph(structure.edges, structure.time_sets, device)
            self.times = xavier_normal(self.near_times.shape[1], shape.dimension, generator)
        self.entity_aspect = Aspect(shape, generator)
        self.relation_aspect = Aspect(shape, generator)
        self.to(device)

    def forward(self) -> Tensor:
        """h: (n, 2 (L + 1) d), source rows first."""
        r = functional.normalize(multiply(self.relation_members, self.relations), dim=1)  # r_ij, by relation set
        entity = self.entity_aspect(
            self.relation_graph, multiply(self.near_entities, self.entities), r, self.shape.reflect_relations
        )
        other = self.relation_aspect(
            self.relation_graph, multiply(self.near_relations, self.relations), r, self.shape.reflect_relations
        )
        if self.use_times:
            t = functional.normalize(multiply(self.time_members, self.times), dim=1)  # t_ij, by time set
            time = self.entity_aspect(
                self.time_graph, multiply(self.near_times, self.times), t, self.shape.reflect_times
            )
            other = (other + time) / 2
        return torch.cat([entity, other], dim=1)
