"""Dense twins of every kernel, with plain autograd as the judge of the hand-written gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse as sp
from torch import Tensor
from torch.nn import functional

from dualmatch.channels.relational.edges import Structure, build_structure
from dualmatch.channels.relational.layers import match_proxies
from dualmatch.channels.relational.loss import LossShape, pair_loss
from dualmatch.channels.relational.sparse import ConstantMatrix, Pattern, ReflectionGraph, gather, multiply, reflect
from dualmatch.graph.model import TemporalGraph

CPU = torch.device("cpu")


def random_graph(
    rng: np.random.Generator, n: int = 12, facts: int = 40, relations: int = 3, times: int = 4
) -> TemporalGraph:
    columns = [rng.integers(size, size=facts) for size in (n, relations, n, times, times)]
    rows = [(f"e{h}", f"r{r}", f"e{t}", str(2000 + b), str(2000 + e)) for h, r, t, b, e in zip(*columns, strict=True)]
    return TemporalGraph.from_facts([row if i % 3 else row[:3] for i, row in enumerate(rows)])


def same_gradients(ours: Tensor, twin: Tensor, inputs: list[Tensor], tolerance: float = 1e-4) -> None:
    assert torch.allclose(ours, twin, atol=tolerance, rtol=tolerance)
    weights = torch.randn(ours.shape, generator=torch.Generator().manual_seed(1))
    for a, b in zip(
        torch.autograd.grad((ours * weights).sum(), inputs),
        torch.autograd.grad((twin * weights).sum(), inputs),
        strict=True,
    ):
        assert torch.allclose(a, b, atol=tolerance, rtol=tolerance)


def leaf(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def test_constant_product_against_dense() -> None:
    matrix = sp.random_array((7, 5), density=0.4, rng=np.random.default_rng(0), format="csr", dtype=np.float32)
    x = leaf(5, 3)
    same_gradients(multiply(ConstantMatrix(matrix, CPU), x), torch.from_numpy(matrix.toarray()) @ x, [x])


def test_sampled_products_are_dot_products() -> None:
    matrix = sp.random_array((7, 5), density=0.4, rng=np.random.default_rng(0), format="csr", dtype=np.float32)
    left, right = leaf(7, 3).detach(), leaf(5, 3, seed=1).detach()
    row, column = matrix.tocsr().nonzero()
    assert torch.allclose(Pattern.of(matrix, CPU).sample(left, right), (left @ right.T)[row, column], atol=1e-6)


def dense_reflection(
    structure: Structure, sets: np.ndarray, h: Tensor, v: Tensor, u: Tensor, reflecting: bool
) -> Tensor:
    """The layer's sum as the paper writes it, edge by edge."""
    row = np.repeat(np.arange(structure.n_entities), np.diff(structure.edges.indptr))
    neighbours, vectors = h[structure.edges.neighbour], v[sets]
    if reflecting:
        neighbours = neighbours - 2 * (neighbours * vectors).sum(1, keepdim=True) * vectors
    return torch.zeros_like(h).index_add_(0, torch.from_numpy(row), u[sets][:, None] * neighbours)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), relational=st.booleans(), reflecting=st.booleans())
def test_reflection_against_edges(seed: int, relational: bool, reflecting: bool) -> None:
    rng = np.random.default_rng(seed)
    structure = build_structure(random_graph(rng), random_graph(rng, n=9, facts=20))
    sets = structure.relation_sets if relational else structure.time_sets
    graph = ReflectionGraph(structure.edges, sets, CPU)
    h, v, u = leaf(structure.n_entities, 6), leaf(sets.n_sets, 6, seed=1), leaf(sets.n_sets, seed=2)
    ours = reflect(graph, h, v, u) if reflecting else gather(graph, h, u)
    twin = dense_reflection(structure, sets.of_edge, h, v, u, reflecting)
    same_gradients(ours, twin, [h, v, u] if reflecting else [h, u])


def test_proxies_against_autograd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualmatch.channels.relational.layers._BLOCK", 7)
    o, q, w, b = leaf(20, 6), leaf(4, 6, seed=1), leaf(6, 6, seed=2), leaf(1, 6, seed=3)
    cosine = functional.normalize(o, dim=1) @ functional.normalize(q, dim=1).T
    p = o - torch.softmax(cosine, dim=1) @ q
    g = torch.sigmoid(p @ w + b)
    same_gradients(match_proxies(o, q, w, b), g * o + (1 - g) * p, [o, q, w, b])


def dense_loss(everyone: Tensor, pairs: Tensor, n_source: int, shape: LossShape) -> Tensor:
    total = torch.zeros(())
    for anchor, partner, first, last in (
        (pairs[:, 0], pairs[:, 1], n_source, len(everyone)),
        (pairs[:, 1], pairs[:, 0], 0, n_source),
    ):
        span = slice(0, len(everyone)) if shape.both_graphs else slice(first, last)
        a, p, x = everyone[anchor], everyone[partner], everyone[span]
        m = shape.margin + (a - p).square().sum(1)[:, None] - (a[:, None] - x[None]).square().sum(2)
        mask = torch.ones_like(m)
        for own in (partner, anchor) if shape.both_graphs else (partner,):
            mask[torch.arange(len(a)), own - span.start] = 0
        m = m * mask
        sigma = m.std(1, keepdim=True).detach()
        z = (m - m.mean(1, keepdim=True).detach()) / sigma
        total = total + torch.logsumexp(shape.smooth * z + shape.shift, dim=1).mean()
    return total


@pytest.mark.parametrize("both_graphs", [False, True])
@pytest.mark.parametrize("dense", [0.0, 1.0])
def test_loss_against_dense(both_graphs: bool, dense: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualmatch.channels.relational.loss._DENSE", dense)
    everyone = leaf(50, 6)
    pairs = torch.tensor([[0, 30], [3, 31], [19, 49]])
    shape = LossShape(both_graphs=both_graphs, smooth=3.0)
    ours, twin = pair_loss(everyone, pairs, 20, shape), dense_loss(everyone, pairs, 20, shape)
    assert ours.item() == pytest.approx(twin.item(), rel=1e-5)
    (a,), (b,) = torch.autograd.grad(ours, [everyone]), torch.autograd.grad(twin, [everyone])
    assert torch.allclose(a, b, atol=1e-3, rtol=1e-3)
