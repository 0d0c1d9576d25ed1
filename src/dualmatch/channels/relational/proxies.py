"""Proxy matching and the gate: the dense end of an aspect, forward and backward in blocks of rows.

Written by hand because it is the largest dense part: in blocks that stay in the cache, each pass over memory is
made once, and nothing but the gate and the proxy weights is kept for the way back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

_BLOCK = 4096
_TINY = 1e-12


class _MatchProxies(torch.autograd.Function):
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
    """p = o − Σ_k softmax_k(cos(o, q_k)) q_k; g = σ(p W + b); g ⊙ o + (1 − g) ⊙ p.

    Parameters
    ----------
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
