"""The triple-aspect encoder: entity, relation and time aspects, each a reflecting graph attention of L layers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from dualmatch.channels.relational.edges import Structure
from dualmatch.channels.relational.sparse import ConstantMatrix, ReflectionGraph, gather, multiply, reflect


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
    """Normal values of variance 2 / (rows + columns), from a given generator."""
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
        near, reflecting = multiply(self.near_entities, self.entities), self.shape.reflect_relations
        entity = self.entity_aspect(self.relation_graph, near, r, reflecting)
        near = multiply(self.near_relations, self.relations)
        other = self.relation_aspect(self.relation_graph, near, r, reflecting)
        if self.use_times:
            t = functional.normalize(multiply(self.time_members, self.times), dim=1)  # t_ij, by time set
            near = multiply(self.near_times, self.times)
            other = (other + self.entity_aspect(self.time_graph, near, t, self.shape.reflect_times)) / 2
        return torch.cat([entity, other], dim=1)


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor, keep: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        ctx.save_for_backward(keep)
        return _masked(features, keep, scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (keep,) = ctx.saved_tensors
        return _masked(gradients[0], keep, ctx.scale), None, None


def drop(features: Tensor, share: float, rng: np.random.Generator) -> Tensor:
    """Set this share of the entries to 0 and scale the others up.

    Drawing a float for each entry would cost as much as a sparse layer, so a byte decides: the share is exact to 1/256.
    """
    threshold = min(round(share * 256), 255)
    if threshold == 0:
        return features
    noise = np.frombuffer(rng.bytes(features.numel()), np.uint8)
    keep = torch.from_numpy(noise >= threshold).view(features.shape).to(features.device)
    out: Tensor = _Drop.apply(features, keep, 256 / (256 - threshold))  # type: ignore[no-untyped-call]
    return out


def _masked(features: Tensor, keep: Tensor, scale: float) -> Tensor:
    out = torch.empty_like(features)
    for rows in blocks(features):
        torch.mul(features[rows], keep[rows].to(features.dtype).mul_(scale), out=out[rows])
    return out


_BLOCK = 4096
_TINY = 1e-12


class _MatchProxies(torch.autograd.Function):
    """Written by hand because it is the largest dense part of an aspect.

    In blocks that stay in the cache, each pass over memory is made once, and nothing but the gate and the proxy weights
    is kept for the way back.
    """

    @staticmethod
    def forward(ctx: Any, o: Tensor, q: Tensor, w: Tensor, b: Tensor) -> Tensor:
        out, gate = torch.empty_like(o), torch.empty_like(o)
        near = o.new_empty(len(o), len(q))
        direction = functional.normalize(q, dim=1).T
        for rows in blocks(o):
            here = o[rows]
            cosine = (here @ direction).div_(_lengths(here))
            near[rows] = torch.softmax(cosine, dim=1)
            nearest = near[rows] @ q
            p = here - nearest
            torch.addmm(b, p, w, out=gate[rows]).sigmoid_()
            torch.addcmul(p, gate[rows], nearest, out=out[rows])  # g ⊙ o + (1 − g) ⊙ p, since o − p = nearest
        ctx.save_for_backward(o, q, w, gate, near)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        o, q, w, gate, near = ctx.saved_tensors
        out = gradients[0]
        norm = q.norm(dim=1, keepdim=True).clamp_min(_TINY)
        direction = q / norm
        to_o, to_q, to_w = torch.empty_like(o), torch.zeros_like(q), torch.zeros_like(w)
        to_b, to_direction = w.new_zeros(1, len(w)), torch.zeros_like(q)
        for rows in blocks(o):
            here, g, c, d = o[rows], gate[rows], near[rows], out[rows]
            nearest = c @ q
            before_gate = (d * nearest).mul_(g).mul_(1 - g)
            p = here - nearest
            to_w.addmm_(p.T, before_gate)
            to_b += before_gate.sum(0, keepdim=True)
            to_p = torch.addmm(d, before_gate, w.T)
            to_nearest = torch.addcmul(-to_p, d, g)
            to_q.addmm_(c.T, to_nearest)
            to_c = to_nearest @ q.T
            to_cosine = c * (to_c - (c * to_c).sum(1, keepdim=True))  # softmax
            length = _lengths(here)
            cosine = (here @ direction.T).div_(length)
            to_length = (to_cosine * cosine).sum(1, keepdim=True).div_(length * length)
            to_cosine /= length
            to_direction.addmm_(to_cosine.T, here)
            torch.addmm(to_p, to_cosine, direction, out=to_o[rows]).addcmul_(here, to_length, value=-1)
        to_q += (to_direction - direction * (direction * to_direction).sum(1, keepdim=True)) / norm
        return to_o, to_q, to_w, to_b


def match_proxies(o: Tensor, q: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Proxy matching and the gate: p = o − Σ_k softmax_k(cos(o, q_k)) q_k; g = σ(p W + b); g ⊙ o + (1 − g) ⊙ p.

    o: (n, width), q: (n_proxies, width), w: (width, width), b: (1, width)
    """
    out: Tensor = _MatchProxies.apply(o, q, w, b)  # type: ignore[no-untyped-call]
    return out


def blocks(features: Tensor) -> Iterator[slice]:
    """Blocks of rows that fit a CPU's cache; other devices take all rows at once."""
    size = _BLOCK if features.device.type == "cpu" else max(len(features), 1)
    for start in range(0, len(features), size):
        yield slice(start, start + size)


def _lengths(rows: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    return lengths.clamp_min_(_TINY)
