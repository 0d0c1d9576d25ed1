"""The Poincaré ball: Möbius sums and distances, of many negatives from inner products alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from dualmatch.graph.arrays import Dense, Floats, Rows
from dualmatch.research.baselines.training import WeightedPattern, dots

_EDGE: Final = 1 - 1e-5
_TINY: Final = 1e-15


def exp0(v: Tensor) -> Tensor:
    """From the tangent space at 0 into the ball."""
    length = v.norm(dim=1, keepdim=True).clamp_min(_TINY)
    return _inside(torch.tanh(length) * v / length)


def log0(x: Tensor) -> Tensor:
    """From the ball into the tangent space at 0."""
    length = x.norm(dim=1, keepdim=True).clamp_min(_TINY)
    tangent: Tensor = torch.atanh(length.clamp_max(_EDGE)) * x / length
    return tangent


def mobius_add(x: Tensor, y: Tensor) -> Tensor:
    """x ⊕ y."""
    dot, xx, yy = (x * y).sum(1, keepdim=True), x.square().sum(1, keepdim=True), y.square().sum(1, keepdim=True)
    return _inside(((1 + 2 * dot + yy) * x + (1 - xx) * y) / (1 + 2 * dot + xx * yy).clamp_min(_TINY))


def _inside(x: Tensor) -> Tensor:
    length = x.norm(dim=1, keepdim=True).clamp_min(_TINY)
    shorter: Tensor = x * (_EDGE / length).clamp_max(1.0)
    return shorter


def poincare(squared: Tensor, xx: Tensor, yy: Tensor) -> Tensor:
    """arcosh(1 + 2‖x − y‖² / ((1 − ‖x‖²)(1 − ‖y‖²))) from ‖x − y‖², ‖x‖², ‖y‖²."""
    ratio: Tensor = 2 * squared.clamp_min(_TINY) / ((1 - xx) * (1 - yy))
    return torch.log1p(ratio + torch.sqrt(ratio * (ratio + 2)))


def pair_distance(x: Tensor, y: Tensor) -> Tensor:
    return poincare((x - y).square().sum(1), x.square().sum(1), y.square().sum(1))


def far_distance(pattern: WeightedPattern, x: Tensor, y: Tensor) -> Tensor:
    """Distances of each row's negatives, from inner products."""
    xx, yy = x.square().sum(1).index_select(0, pattern.row), y.square().sum(1).index_select(0, pattern.column)
    return poincare(xx + yy - 2 * dots(pattern, x, y), xx, yy)


def moved_distance(pattern: WeightedPattern, r: Tensor, t: Tensor, x: Tensor) -> Tensor:
    """d(x ⊕ r, t) of each row's negatives x, from inner products: x ⊕ r = (a x + b r) / c."""
    rr, tt, rt = (each.sum(1).index_select(0, pattern.row) for each in (r.square(), t.square(), r * t))
    xx, xr, xt = x.square().sum(1).index_select(0, pattern.column), dots(pattern, r, x), dots(pattern, t, x)
    a, b, c = 1 + 2 * xr + rr, 1 - xx, (1 + 2 * xr + xx * rr).clamp_min(_TINY)
    zz = ((a * a * xx + 2 * a * b * xr + b * b * rr) / (c * c)).clamp_max(_EDGE**2)
    return poincare(zz + tt - 2 * (a * xt + b * rt) / c, zz, tt)


@dataclass(frozen=True, eq=False)
class PoincareSimilarity:
    """1 − d / D in the ball, D no smaller than any distance."""

    source: Floats
    target: Floats

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.source), len(self.target)

    def rows(self, index: Rows) -> Dense:
        xx, yy = np.square(self.source[index]).sum(1)[:, None], np.square(self.target).sum(1)
        squared = np.maximum(xx + yy - 2 * self.source[index] @ self.target.T, 0)
        distance = np.arccosh(1 + 2 * squared / ((1 - xx) * (1 - yy)))
        return np.asarray(1 - distance / self._largest, dtype=np.float32)

    @property
    def _largest(self) -> float:
        radius = [float(np.linalg.norm(side, axis=1).max(initial=0.0)) for side in (self.source, self.target)]
        return max(float(sum(2 * np.arctanh(min(each, _EDGE)) for each in radius)), _TINY)
