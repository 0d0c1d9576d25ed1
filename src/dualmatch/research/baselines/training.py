"""The one training loop of the baselines, their optimisers with the originals' constants, starts and losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np
import torch
from scipy import sparse as sp
from torch import Tensor
from torch.optim import Optimizer

from dualmatch.channels.relational.sparse import Pattern
from dualmatch.graph.arrays import Ids
from dualmatch.research.baselines.views import Task

Step = tuple[Optimizer, Callable[[], Tensor]]
"""An update: what is lowered, and by which optimiser. Losses take rows by `index_select`, whose way back is fast."""
CPU: Final = torch.device("cpu")
_BLOCK: Final = 1024  # rows of an L1 distance at a time: they stay in the cache


def fit(task: Task, steps: Callable[[int], Iterable[Step]]) -> None:
    """Run the updates of every epoch; `steps` yields them, and draws negatives or refreshes lists before."""
    for epoch in range(task.epochs):
        total = 0.0
        for optimiser, loss in steps(epoch):
            optimiser.zero_grad(set_to_none=True)
            value = loss()
            value.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total += float(value.detach())
        task.step(epoch + 1, task.epochs, f"loss {total:.3f}")


def adagrad(parameters: Sequence[Tensor], rate: float) -> Optimizer:
    """TensorFlow's: the accumulator starts at 0.1, where torch starts at 0."""
    return torch.optim.Adagrad(parameters, lr=rate, initial_accumulator_value=0.1)


def rmsprop(parameters: Sequence[Tensor], rate: float) -> Optimizer:
    """Keras': ρ = 0.9 and ε = 1e-7, where torch has 0.99 and 1e-8."""
    return torch.optim.RMSprop(parameters, lr=rate, alpha=0.9, eps=1e-7)


def parameter(values: Tensor) -> Tensor:
    return values.requires_grad_(True)


def generator_of(task: Task) -> torch.Generator:
    return torch.Generator().manual_seed(int(task.rng.integers(2**62)))


def keras_embedding(rows: int, columns: int, generator: torch.Generator) -> Tensor:
    """Uniform in ±0.05."""
    return parameter(torch.rand(rows, columns, generator=generator) * 0.1 - 0.05)


def glorot_uniform(rows: int, columns: int, generator: torch.Generator, dtype: torch.dtype = torch.float32) -> Tensor:
    limit = math.sqrt(6 / (rows + columns))
    return parameter((torch.rand(rows, columns, generator=generator, dtype=dtype) * 2 - 1) * limit)


def truncated_normal(rows: int, columns: int, sigma: float, generator: torch.Generator) -> Tensor:
    """Normal, drawn anew beyond 2 σ."""
    values = torch.empty(rows, columns)
    return parameter(torch.nn.init.trunc_normal_(values, 0.0, sigma, -2 * sigma, 2 * sigma, generator=generator))


class _Distance(torch.autograd.Function):
    """‖x_i − x_j‖₁ of pairs of rows: plain autograd would hold three rows of floats for each pair."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, left: Tensor, right: Tensor) -> Tensor:
        ctx.save_for_backward(x, left, right)
        parts = [
            (x.index_select(0, left[at : at + _BLOCK]) - x.index_select(0, right[at : at + _BLOCK])).abs_().sum(1)
            for at in range(0, len(left), _BLOCK)
        ]
        return torch.cat(parts) if parts else x.new_zeros(0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        x, left, right = ctx.saved_tensors
        active = torch.nonzero(gradients[0]).squeeze(1)  # a hinge at rest asks for nothing
        out = torch.zeros_like(x)
        for at in range(0, len(active), _BLOCK):
            some = active[at : at + _BLOCK]
            i, j = left[some], right[some]
            sign = (x.index_select(0, i) - x.index_select(0, j)).sign_().mul_(gradients[0][some, None])
            out.index_add_(0, i, sign)
            out.index_add_(0, j, sign, alpha=-1)
        return out, None, None


def manhattan(x: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """‖x_i − x_j‖₁ for each pair of rows."""
    distance: Tensor = _Distance.apply(x, left, right)  # type: ignore[no-untyped-call]
    return distance


def l1_pair_loss(x: Tensor, task: Task, margin: float) -> Tensor:
    """Mean of [γ + d(l, r) − d(l, r′)]₊ + [γ + d(l, r) − d(l′, r)]₊ over n repeated seeds; negatives of both graphs."""
    n, seeds = task.n, torch.from_numpy(task.seeds)
    repeated = task.rng.permutation(np.tile(np.arange(len(seeds)), n // len(seeds) + 1))[:n]
    pair, (other, another) = torch.from_numpy(repeated), torch.from_numpy(task.rng.integers(n, size=(2, n)))
    left, right = seeds[pair].T
    # One call, so that one gradient of all rows is made; each seed repeats, and its own distance is computed once.
    ends = torch.cat([seeds[:, 0], left, another]), torch.cat([seeds[:, 1], other, right])
    distance = manhattan(x, *ends)
    near, far = margin + distance[: len(seeds)][pair], distance[len(seeds) :].view(2, n)
    return torch.relu(near - far).sum(0).mean()


class WeightedPattern:
    """Where the entries of a sparse matrix lie whose values are trained, and how its transpose orders them."""

    def __init__(self, row: Ids, column: Ids, shape: tuple[int, int]) -> None:
        """Entries sorted by row."""
        starts = np.searchsorted(row, np.arange(shape[0] + 1))
        back = sp.csr_array((np.arange(len(row)), column, starts), shape=shape).tocsc()  # sorted by column, quickly
        self.row, self.column, self.order = (torch.from_numpy(np.asarray(part)) for part in (row, column, back.data))
        self.forth = Pattern(torch.from_numpy(starts), self.column, shape)
        ends = torch.from_numpy(back.indptr.astype(np.int64))
        self.back = Pattern(ends, self.row[self.order], (shape[1], shape[0]))


def listed(columns: Ids, n: int) -> WeightedPattern:
    """(rows, n): the same number of columns in each row, such as its negatives."""
    return WeightedPattern(np.repeat(np.arange(len(columns)), columns.shape[1]), columns.ravel(), (len(columns), n))


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: WeightedPattern, weight: Tensor, x: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(weight, x)
        return pattern.forth.multiply(weight, x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor | None, Tensor]:
        weight, x = ctx.saved_tensors
        g = gradients[0].contiguous()
        pattern: WeightedPattern = ctx.pattern
        to_weight = pattern.forth.sample(g, x) if ctx.needs_input_grad[1] else None
        return None, to_weight, pattern.back.multiply(weight[pattern.order], g)


def weighted_sum(pattern: WeightedPattern, weight: Tensor, x: Tensor) -> Tensor:
    """Σ_j w_ij x_j for each row i: weight (n_entries,), x (n_columns, d)."""
    out: Tensor = _WeightedSum.apply(pattern, weight, x)  # type: ignore[no-untyped-call]
    return out


class _Dots(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: WeightedPattern, a: Tensor, b: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(a, b)
        return pattern.forth.sample(a, b)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, Tensor]:
        a, b = ctx.saved_tensors
        g = gradients[0].contiguous()
        pattern: WeightedPattern = ctx.pattern
        return None, pattern.forth.multiply(g, b), pattern.back.multiply(g[pattern.order], a)


def dots(pattern: WeightedPattern, a: Tensor, b: Tensor) -> Tensor:
    """a_i · b_j for each entry (i, j)."""
    out: Tensor = _Dots.apply(pattern, a, b)  # type: ignore[no-untyped-call]
    return out
