"""Dropout from a numpy generator, one byte an entry."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from dualmatch.channels.relational.proxies import blocks


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
