"""The Poincaré ball: Möbius sums and distances, of many negatives from inner products alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from dualmatch.graph.arrays import Dense, Floats, Rows
from dualmatch.research.baselines.row_products import combination, inner, squares
from dualmatch.research.baselines.training import WeightedPattern, dots

_EDGE: Final = 1 - 1e-5
_TINY: Final = 1e-15


def exp0(v: Tensor) -> Tensor:
    """From the tangent space at 0 into the ball."""
    return combination(_exp0_weight, v)


def _exp0_weight(vv: Tensor) -> tuple[Tensor]:
    length = vv.clamp_min(_TINY**2).sqrt()
    return (torch.tanh(length).clamp_max(_EDGE) / length,)


def log0(x: Tensor) -> Tensor:
    """From the ball into the tangent space at 0."""
    return combination(_log0_weight, x)


def _log0_weight(xx: Tensor) -> tuple[Tensor]:
    length = xx.clamp_min(_TINY**2).sqrt()
    return (torch.atanh(length.clamp_max(_EDGE)) / length,)


def mobius_add(x: Tensor, y: Tensor) -> Tensor:
    """x ⊕ y; y may be a single row."""
    return combination(_mobius_weights, x, y.expand_as(x))


def _mobius_weights(xx: Tensor, xy: Tensor, yy: Tensor) -> tuple[Tensor, Tensor]:
    a, b, c = 1 + 2 * xy + yy, 1 - xx, (1 + 2 * xy + xx * yy).clamp_min(_TINY)
    squared = (a * a * xx + 2 * a * b * xy + b * b * yy) / (c * c)
    inside = (_EDGE / squared.clamp_min(_TINY).sqrt()).clamp_max(1.0)
    return a / c * inside, b / c * inside


def poincare(squared: Tensor, xx: Tensor, yy: Tensor) -> Tensor:
    """arcosh(1 + 2‖x − y‖² / ((1 − ‖x‖²)(1 − ‖y‖²))) from ‖x − y‖², ‖x‖², ‖y‖².

    Written as 2 arsinh(√…), which is exact for small distances in single precision, too.
    """
    return 2 * torch.asinh((squared.clamp_min(_TINY) / ((1 - xx) * (1 - yy))).sqrt())


def pair_distance(x: Tensor, y: Tensor) -> Tensor:
    difference = x - y
    return poincare(squares(difference), squares(x), squares(y))


def far_distance(pattern: WeightedPattern, x: Tensor, y: Tensor) -> Tensor:
    """Distances of each row's negatives, from inner products."""
    xx, yy = squares(x).index_select(0, pattern.row), squares(y).index_select(0, pattern.column)
    return poincare(xx + yy - 2 * dots(pattern, x, y), xx, yy)


def moved_distance(pattern: WeightedPattern, r: Tensor, t: Tensor, x: Tensor) -> Tensor:
    """d(x ⊕ r, t) of each row's negatives x, from inner products: x ⊕ r = (a x + b r) / c."""
    rr, tt, rt = (each.index_select(0, pattern.row) for each in (squares(r), squares(t), inner(r, t)))
    xx, xr, xt = squares(x).index_select(0, pattern.column), dots(pattern, r, x), dots(pattern, t, x)
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
