"""GM-Decoder: fuse channels by the weight under which the graphs match best (Algorithm 1, lines 10 to 17)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dualmatch.config import PAPER_ALPHAS
from dualmatch.decode.graph_matching import Distance, MatchingProblem, top_1
from dualmatch.decode.similarity import Dense, Similarity, WeightedSimilarity
from dualmatch.decode.sinkhorn import Kernel, Plan, kernel_of, sinkhorn, unbalanced


@dataclass(frozen=True, eq=False)
class Decoded:
    """The fused plan, the weight it was made with, and D of every weight tried."""

    plan: Plan
    alpha: float | None
    distances: Mapping[float, Distance]


def decode(
    temporal: Similarity | None,
    relational: Similarity,
    problem: MatchingProblem | None,
    alphas: Sequence[float] = PAPER_ALPHAS,
    *,
    sharpness: float = 50.0,
    iterations: int = 10,
    memory_limit: int,
    progress: Callable[[int, int], None] | None = None,
    watch: Callable[[float, Plan], None] | None = None,
) -> Decoded:
    """P̂ = Sinkhorn(α·S^t + S^r) for the α with the smallest D; the smaller α of equals.

    Parameters
    ----------
    temporal, relational:
        S^t (None where the graphs have no times: then P̂ = Sinkhorn(S^r)) and S^r.
    problem:
        The matrices D compares, with k^r and k^t; not needed without S^t.
    memory_limit:
        Bytes the kernel may take; above that its blocks are computed again on every pass.
    watch:
        Called with each α tried and its plan, which is gone when the next is tried.
    """
    if temporal is None or problem is None:
        plan = sinkhorn(kernel_of(relational, sharpness, memory_limit), iterations)
        return Decoded(plan, None, {})
    n_source, n_target = relational.shape
    room = np.empty((n_source, n_target), np.float32) if 4 * n_source * n_target <= memory_limit else None
    distances: dict[float, Distance] = {}
    best: tuple[float, Plan] | None = None
    for number, alpha in enumerate(sorted(alphas)):
        if progress is not None:
            progress(number, len(alphas))
        plan = sinkhorn(_fused(temporal, relational, alpha, sharpness, memory_limit, room), iterations)
        distances[alpha] = problem.distance(top_1(plan.best().column_of_row, n_target))
        if watch is not None:
            watch(alpha, plan)
        if best is None or distances[alpha].total < distances[best[0]].total:
            best = alpha, plan
    if best is None:
        raise ValueError("no weights to choose from")
    # The kernels of all weights shared one room; the chosen one is computed once more, its u and v are kept.
    alpha, plan = best
    kernel = _fused(temporal, relational, alpha, sharpness, memory_limit, room)
    return Decoded(Plan(kernel, plan.u, plan.v, iterations), alpha, distances)


def decode_naively(temporal: Similarity | None, relational: Similarity, hops: int, memory_limit: int) -> Decoded:
    """The paper's Naive Strategy: concatenated features Ĥ = [H^r ‖ H^t], P = Ĥ_s Ĥ_tᵀ, no Sinkhorn, no weight.

    H^t has hops + 1 parts of unit length, so its product is (hops + 1)·S^t.
    """
    channels = ((1.0, relational),) if temporal is None else ((1.0, relational), (float(hops + 1), temporal))
    return Decoded(unbalanced(kernel_of(WeightedSimilarity(channels), 1.0, memory_limit)), None, {})


def _fused(
    temporal: Similarity, relational: Similarity, alpha: float, sharpness: float, memory_limit: int, room: Dense | None
) -> Kernel:
    similarity = WeightedSimilarity(((1.0, relational), (alpha, temporal)))
    return kernel_of(similarity, sharpness, memory_limit, room)
