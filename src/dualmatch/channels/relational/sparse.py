"""Sparse products with gradients: constant matrices times trained dense ones, and reflections over edges.

Kernels were chosen by measurement on two cores (410,265 edges, 128 columns): `torch.sparse.mm(…, "sum")` 0.09 s,
scipy 0.17 s, torch's plain CSR product 0.12-0.19 s; `sampled_addmm` 0.14 s where gathering rows takes 1.9 s.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import torch
from scipy import sparse as sp
from torch import Tensor

from dualmatch.channels.relational.edges import Edges, EdgeSets


class Pattern:
    """Where the entries of a sparse matrix lie, without their values."""

    def __init__(self, indptr: Tensor, indices: Tensor, shape: tuple[int, int]) -> None:
        _hear_beta_notice()
        self.indptr, self.indices, self.shape = indptr, indices, shape

    @classmethod
    def of(cls, matrix: sp.csr_array, device: torch.device) -> Pattern:
        shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        return cls(_long(matrix.indptr, device), _long(matrix.indices, device), shape)

    def filled(self, values: Tensor) -> Tensor:
        """The matrix with these values."""
        return torch.sparse_csr_tensor(self.indptr, self.indices, values, size=self.shape, check_invariants=False)

    def multiply(self, values: Tensor, dense: Tensor) -> Tensor:
        """(values on this pattern) @ dense."""
        if dense.device.type == "cpu":
            product: Tensor = torch.sparse.mm(self.filled(values), dense, "sum")
            return product
        return self.filled(values) @ dense

    def sample(self, left: Tensor, right: Tensor) -> Tensor:
        """left[i] · right[j] for each entry (i, j); no other product is computed."""
        zeros = left.new_zeros(len(self.indices))
        sampled: Tensor = torch.sparse.sampled_addmm(self.filled(zeros), left, right.T, beta=0.0)
        return sampled.values()


class ConstantMatrix:
    """A sparse matrix that is never trained, and its transpose for the way back.

    >>> matrix = ConstantMatrix(sp.csr_array(np.eye(2, dtype=np.float32)), torch.device("cpu"))
    >>> multiply(matrix, torch.ones(2, 1)).tolist()
    [[1.0], [1.0]]
    """

    def __init__(self, matrix: sp.csr_array, device: torch.device) -> None:
        transposed = matrix.T.tocsr()
        self.pattern = Pattern.of(matrix, device)
        self.values = torch.from_numpy(matrix.data.astype(np.float32)).to(device)
        self.pattern_back = Pattern.of(transposed, device)
        self.values_back = torch.from_numpy(transposed.data.astype(np.float32)).to(device)

    @property
    def shape(self) -> tuple[int, int]:
        return self.pattern.shape


class _Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: ConstantMatrix, dense: Tensor) -> Tensor:
        ctx.matrix = matrix
        return matrix.pattern.multiply(matrix.values, dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor]:
        matrix = ctx.matrix
        return None, matrix.pattern_back.multiply(matrix.values_back, gradients[0].contiguous())


def multiply(matrix: ConstantMatrix, dense: Tensor) -> Tensor:
    """matrix @ dense; the gradient goes back through the transpose."""
    product: Tensor = _Multiply.apply(matrix, dense)  # type: ignore[no-untyped-call]
    return product


@cache
def _hear_beta_notice() -> None:
    """Swallow torch's notice, once a process, that compressed tensors are in beta: no user can act on it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        zero = torch.zeros(1, dtype=torch.int64)
        torch.sparse_csr_tensor(zero, zero[:0], zero[:0], size=(0, 1), check_invariants=False)


def _long(values: Any, device: torch.device) -> Tensor:
    return torch.from_numpy(np.asarray(values, dtype=np.int64)).to(device)


class ReflectionGraph:
    """Edges and the sets on them, ready for `reflect`.

    u and v belong to the *set* on the edge, so Σ_j u_ij (h_j − 2 (h_j·v_ij) v_ij) splits into U h (U: entity × entity,
    one number an edge) and −2 Q V (Q: entity × set), with Q's entries u_g Σ_j h_j·v_g. Forward and backward are a few
    sparse products and sampled dot products; no edge and no group ever gets a row of floats of its own.
    """

    def __init__(self, edges: Edges, sets: EdgeSets, device: torch.device) -> None:
        n, n_sets = edges.n_entities, sets.n_sets
        row = np.repeat(np.arange(n), np.diff(edges.indptr))
        set_back = sets.of_edge[edges.inverse]
        self.edges = Pattern(_long(edges.indptr, device), _long(edges.neighbour, device), (n, n))
        self.set_of_edge, self.set_of_inverse = _long(sets.of_edge, device), _long(set_back, device)
        # A row meets a set on its own edges (i, j) and, for the way back, on the edges (j, i) that lead to it.
        self.out = _Meetings(row, sets.of_edge, n, n_sets, device)
        self.back = _Meetings(row, set_back, n, n_sets, device)
        # The meeting of an edge's far end with its set, and of its near end with the set of the inverse edge.
        inverse = _long(edges.inverse, device)
        self.far, self.near = self.back.of_edge[inverse], self.out.of_edge[inverse]
        # (n_entities, n_sets): how many edges of a row carry a set; with it, attention is normalised without edges
        self.counts = ConstantMatrix(self.out.counts, device)


class _Meetings:
    """The distinct (entity, set) pairs over the edges, and which of them each edge belongs to."""

    def __init__(self, row: Any, set_: Any, n: int, n_sets: int, device: torch.device) -> None:
        keys = row.astype(np.int64) * n_sets + set_
        distinct, of_edge, size = np.unique(keys, return_inverse=True, return_counts=True)
        entity, met = np.divmod(distinct, n_sets)
        indptr = np.searchsorted(entity, np.arange(n + 1))
        self.counts = sp.csr_array((size.astype(np.float32), met, indptr), shape=(n, n_sets))
        by_set = np.argsort(met, kind="stable")
        self.pattern = Pattern.of(self.counts, device)
        self.set = self.pattern.indices
        self.of_edge, self.by_set = _long(of_edge, device), _long(by_set, device)
        set_indptr = np.searchsorted(met[by_set], np.arange(n_sets + 1))
        self.pattern_by_set = Pattern(_long(set_indptr, device), _long(entity[by_set], device), (n_sets, n))

    def gather(self, values: Tensor) -> Tensor:
        """Sum one number an edge into one number a meeting."""
        return values.new_zeros(len(self.set)).index_add_(0, self.of_edge, values)


class _Reflect(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, graph: ReflectionGraph, h: Tensor, v: Tensor, u: Tensor) -> Tensor:
        along = graph.back.pattern.sample(h, v)  # h_j · v_g for each entity and set it is met with
        projected = graph.out.gather(along[graph.far])  # Σ_j h_j · v_g for each (i, g)
        out = graph.edges.multiply(u[graph.set_of_edge], h)
        out -= graph.out.pattern.multiply(2 * u[graph.out.set] * projected, v)
        ctx.graph = graph
        ctx.save_for_backward(h, v, u, projected)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, Tensor, Tensor]:
        graph: ReflectionGraph = ctx.graph
        h, v, u, projected = ctx.saved_tensors
        g = gradients[0].contiguous()
        # A reflection is its own transpose: the way back is the same sum over the inverse edges.
        along = graph.out.pattern.sample(g, v)
        returned = graph.back.gather(along[graph.near])
        to_h = graph.edges.multiply(u[graph.set_of_inverse], g)
        to_h -= graph.back.pattern.multiply(2 * u[graph.back.set] * returned, v)
        to_v = graph.out.pattern_by_set.multiply(projected[graph.out.by_set], g)
        to_v += graph.back.pattern_by_set.multiply(returned[graph.back.by_set], h)
        to_v *= -2 * u[:, None]
        to_u = torch.zeros_like(u).index_add_(0, graph.set_of_edge, graph.edges.sample(g, h))
        to_u.index_add_(0, graph.out.set, along * projected, alpha=-2)
        return None, to_h, to_v, to_u


def reflect(graph: ReflectionGraph, h: Tensor, v: Tensor, u: Tensor) -> Tensor:
    """Σ_j u_ij (h_j − 2 (h_j·v_ij) v_ij) for every entity i: reflect neighbours at the vector of their edge and add up.

    h: (n_entities, d) features; v: (n_sets, d) edge vectors of length 1, or 0 for none; u: (n_sets,) weights.
    """
    out: Tensor = _Reflect.apply(graph, h, v, u)  # type: ignore[no-untyped-call]
    return out


class _Gather(torch.autograd.Function):
    """The same sum without the reflection."""

    @staticmethod
    def forward(ctx: Any, graph: ReflectionGraph, h: Tensor, u: Tensor) -> Tensor:
        ctx.graph = graph
        ctx.save_for_backward(h, u)
        return graph.edges.multiply(u[graph.set_of_edge], h)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, Tensor | None]:
        graph: ReflectionGraph = ctx.graph
        h, u = ctx.saved_tensors
        g = gradients[0].contiguous()
        to_h = graph.edges.multiply(u[graph.set_of_inverse], g)
        if not ctx.needs_input_grad[2]:
            return None, to_h, None
        return None, to_h, torch.zeros_like(u).index_add_(0, graph.set_of_edge, graph.edges.sample(g, h))


def gather(graph: ReflectionGraph, h: Tensor, u: Tensor) -> Tensor:
    """Σ_j u_ij h_j for every entity i."""
    out: Tensor = _Gather.apply(graph, h, u)  # type: ignore[no-untyped-call]
    return out
