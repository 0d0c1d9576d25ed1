"""The normalised triple loss: LSE(λ z + τ) of each seed pair against every other entity, of one graph or of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dualmatch.channels.relational.sparse import Pattern

# Softmax weights below e^-25 of the largest are dropped: 20,000 of them together weigh less than float32 can see.
# What is left is a few entries a row, so the way back costs next to nothing and never meets a denormal number.
_NEGLIGIBLE = 25.0
_DENSE = 0.03  # above this share of entries kept, a dense product is the faster one
_ROWS = 256  # anchors at a time: their scores stay in the cache, and one product is still large enough to be fast


@dataclass(frozen=True)
class LossShape:
    """Constants of the training loss, and whether negatives come from both graphs."""

    margin: float = 1.0  # γ
    smooth: float = 30.0  # λ
    shift: float = 10.0  # τ
    both_graphs: bool = True


@dataclass(frozen=True)
class _Side:
    """Anchors against all others, partners among them; weights are those of the softmax, by (row, column)."""

    anchor: Tensor
    partner: Tensor
    others: slice
    row: Tensor
    column: Tensor
    weight: Tensor


def _one_side(
    everyone: Tensor, anchor: Tensor, partner: Tensor, others: slice, shape: LossShape
) -> tuple[Tensor, _Side]:
    """Mean over the batch of LSE(λ z + τ), z the z-score of m = γ + ‖a − p‖² − ‖a − x‖² over all others x."""
    a, p, x = everyone[anchor], everyone[partner], everyone[others]
    # m less a constant a row: 2 a·x − ‖x‖². A z-score does not see the constant; the masked zeros do.
    constant = shape.margin + (a - p).square().sum(1) - a.square().sum(1)
    lengths = torch.linalg.vector_norm(x, dim=1).square_()[None, :]
    own = torch.stack([partner, anchor] if shape.both_graphs else [partner], dim=1) - others.start
    parts = []
    for start in range(0, len(a), _ROWS):
        rows = slice(start, start + _ROWS)
        m = torch.addmm(lengths, a[rows], x.T, beta=-1, alpha=2)
        m.scatter_(1, own[rows], -constant[rows, None].expand(-1, own.shape[1]))
        parts.append(_softmax(m, start, shape.smooth))
    row, column, weight, top, mean, sigma = (torch.cat(part) for part in zip(*parts, strict=True))
    total = torch.zeros_like(top).index_add_(0, row, weight)
    loss = torch.log(total) + shape.smooth * (top - mean) / sigma + shape.shift
    weight *= shape.smooth / (total[row] * len(a))
    weight /= sigma[row]  # μ and σ are constants on the way back
    weight.masked_fill_((column[:, None] == own[row]).any(dim=1), 0)  # a masked zero holds no variable
    return loss.mean(), _Side(anchor, partner, others, row, column, weight)


def _softmax(m: Tensor, start: int, smooth: float) -> tuple[Tensor, ...]:
    """What a block of rows leaves behind: its entries that weigh something, and largest, mean and deviation a row."""
    variance, mean = torch.var_mean(m, dim=1)
    sigma = variance.sqrt().clamp_min_(1e-12)
    top = m.amax(dim=1)
    row, column = torch.nonzero(m > (top - _NEGLIGIBLE * sigma / smooth)[:, None], as_tuple=True)
    weight = torch.exp(smooth * (m[row, column] - top[row]) / sigma[row])
    return row + start, column, weight, top, mean, sigma


def _add_gradient(out: Tensor, everyone: Tensor, side: _Side, scale: Tensor) -> None:
    """With w the weights: ∂x = Σ 2 w (a − x), ∂a = Σ 2 w (x − p), ∂p = Σ 2 w (p − a)."""
    a, p, x = everyone[side.anchor], everyone[side.partner], everyone[side.others]
    weight = 2 * scale * side.weight
    by_anchor, by_other = _products(side.row, side.column, weight, a, x)
    of_anchor = a.new_zeros(len(a)).index_add_(0, side.row, weight)[:, None]
    of_other = a.new_zeros(len(x)).index_add_(0, side.column, weight)[:, None]
    out[side.others] += by_other.addcmul_(of_other, x, value=-1)
    out.index_add_(0, side.anchor, by_anchor - of_anchor * p)
    out.index_add_(0, side.partner, of_anchor * (p - a))


class _PairLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, everyone: Tensor, pairs: Tensor, n_source: int, shape: LossShape) -> Tensor:
        source, target = pairs[:, 0], pairs[:, 1]
        n, both = len(everyone), shape.both_graphs
        forth, side_forth = _one_side(everyone, source, target, slice(0 if both else n_source, n), shape)
        back, side_back = _one_side(everyone, target, source, slice(0, n if both else n_source), shape)
        ctx.sides = side_forth, side_back
        ctx.save_for_backward(everyone)
        return forth + back

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        (everyone,) = ctx.saved_tensors
        out = torch.zeros_like(everyone)
        for side in ctx.sides:
            _add_gradient(out, everyone, side, gradients[0])
        return out, None, None, None


def _products(row: Tensor, column: Tensor, weight: Tensor, a: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
    """W @ others and W.T @ a, W the (len(a), len(others)) matrix of these weights, rows in order."""
    shape = (len(a), len(others))
    if len(weight) > _DENSE * shape[0] * shape[1]:
        dense = a.new_zeros(shape)
        dense[row, column] = weight
        return dense @ others, dense.T @ a
    order = torch.argsort(column, stable=True)
    forth = Pattern(_starts(row, shape[0]), column, shape)
    back = Pattern(_starts(column, shape[1]), row[order], (shape[1], shape[0]))
    return forth.multiply(weight, others), back.multiply(weight[order], a)


def _starts(index: Tensor, size: int) -> Tensor:
    """Row pointers of a compressed matrix whose entries have these row numbers."""
    return torch.cat([index.new_zeros(1), torch.bincount(index, minlength=size).cumsum(0)])


def pair_loss(everyone: Tensor, pairs: Tensor, n_source: int, shape: LossShape) -> Tensor:
    """LSE(λ z(s, t)) + LSE(λ z(t, s)), mean over a batch of seed pairs.

    everyone: (n_entities, d) features of the source entities, then of the target entities; pairs: (b, 2) rows of it.
    """
    loss: Tensor = _PairLoss.apply(everyone, pairs, n_source, shape)  # type: ignore[no-untyped-call]
    return loss
