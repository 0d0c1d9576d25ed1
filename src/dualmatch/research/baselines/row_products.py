"""Row-wise inner products and the combinations that they weigh, with gradients made by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import torch
from torch import Tensor

Weights = Callable[..., tuple[Tensor, ...]]
"""From one number a row for each inner product to one number a row for each weight."""


class _Inner(torch.autograd.Function):
    """x_i · y_i of each row, without a matrix of products."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(x, y)
        return _products(x, y)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        (x, y), g = ctx.saved_tensors, gradients[0][:, None]
        return g * y, g * x


class _Squares(torch.autograd.Function):
    """‖x_i‖² of each row: half the way back of x_i · x_i."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return _products(x, x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (x,), g = ctx.saved_tensors, 2 * gradients[0][:, None]
        to_x: Tensor = g * x
        return to_x


class _Combination(torch.autograd.Function):
    """Σ c_k x_k, row by row, with weights c that depend on inner products of the rows alone.

    All maps of the ball are of this kind. Plain autograd goes through a dozen matrices for each; here it goes through
    one number a row, and only c_k g + Σ_l (∂/∂(x_k·x_l)) x_l is of the size of a matrix.
    """

    @staticmethod
    def forward(ctx: Any, weights: Weights, *rows: Tensor) -> Tensor:
        inner = [_products(*pair).requires_grad_(True) for pair in combinations_with_replacement(rows, 2)]
        with torch.enable_grad():
            ctx.weights = weights(*inner)
        ctx.inner = inner
        ctx.save_for_backward(*rows)
        return _weighted([weight.detach() for weight in ctx.weights], rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        rows, g = ctx.saved_tensors, gradients[0]
        along = [_products(g, x) for x in rows]
        slopes = torch.autograd.grad(ctx.weights, ctx.inner, along, retain_graph=True)
        slope = dict(zip(combinations_with_replacement(range(len(rows)), 2), slopes, strict=True))
        to_rows = []
        for k, weight in enumerate(ctx.weights):
            parts = [slope[min(k, other), max(k, other)] * (2 if k == other else 1) for other in range(len(rows))]
            to_rows.append(_weighted([weight.detach(), *parts], (g, *rows)))
        return None, *to_rows


def _products(x: Tensor, y: Tensor) -> Tensor:
    return torch.from_numpy(np.einsum("ij,ij->i", x.detach().numpy(), y.detach().numpy()))


def _weighted(weights: Sequence[Tensor], rows: Sequence[Tensor]) -> Tensor:
    total = rows[0] * weights[0][:, None]
    for weight, x in zip(weights[1:], rows[1:], strict=True):
        total.addcmul_(x, weight[:, None])
    return total


def inner(x: Tensor, y: Tensor) -> Tensor:
    """x_i · y_i for each row."""
    out: Tensor = _Inner.apply(x, y)  # type: ignore[no-untyped-call]
    return out


def squares(x: Tensor) -> Tensor:
    """‖x_i‖² for each row."""
    out: Tensor = _Squares.apply(x)  # type: ignore[no-untyped-call]
    return out


def combination(weights: Weights, *rows: Tensor) -> Tensor:
    """Σ c_k x_k for each row; `weights` has c of the inner products x_1·x_1, x_1·x_2, …, x_2·x_2, …"""
    out: Tensor = _Combination.apply(weights, *rows)  # type: ignore[no-untyped-call]
    return out
