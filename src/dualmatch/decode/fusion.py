"""Fusion of channels by the weights under which the graphs match best, that is with the smallest distance D.

`decode` is the paper's GM-Decoder (Algorithm 1, lines 10 to 17). `fuse` adds the paper's channels to evidence: evidence
is sparse and settles most entities, so the dense channels only rank the entities that it leaves open. That costs one
pass over their rows and cannot unsettle the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import sparse

from dualmatch.decode.graph_matching import Distance, MatchingProblem, top_1
from dualmatch.decode.similarity import Similarity, WeightedSimilarity, row_blocks
from dualmatch.decode.sinkhorn import Kernel, Plan, kernel_of, sinkhorn, unbalanced
from dualmatch.decode.sparse_sinkhorn import EVIDENCE_ITERATIONS, SparsePlan, sparse_sinkhorn
from dualmatch.graph.arrays import Dense, Ids, Rows
from dualmatch.option_texts import PAPER_ALPHAS

Progress = Callable[[int, int], None]
FUSED_WEIGHTS = (0.0, 0.1, 0.25, 0.5)
"""Weights tried for each channel beside evidence, which has weight 1."""
_LISTED = 20  # candidates per open entity and channel


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
    progress: Progress | None = None,
    watch: Callable[[float, Plan], None] | None = None,
) -> Decoded:
    """P̂ = Sinkhorn(α·S^t + S^r) for the α with the smallest D; the smaller α of equals.

    `temporal`, `relational`: S^t (None where the graphs have no times: then P̂ = Sinkhorn(S^r)) and S^r. `problem`: the
    matrices D compares, with k^r and k^t; not needed without S^t. `memory_limit`: bytes the kernel may take; above that
    its blocks are computed again on every pass. `watch`: called with each α tried and its plan, whose memory the next
    one reuses.
    """
    if temporal is None or problem is None:
        plan = sinkhorn(kernel_of(relational, sharpness, memory_limit), iterations)
        return Decoded(plan, None, {})
    n_source, n_target = relational.shape
    room = np.empty((n_source, n_target), np.float32) if 4 * n_source * n_target <= memory_limit else None

    def kernel_for(alpha: float) -> Kernel:
        fused = WeightedSimilarity(((1.0, relational), (alpha, temporal)))
        return kernel_of(fused, sharpness, memory_limit, room)

    distances: dict[float, Distance] = {}
    plans: dict[float, Plan] = {}
    for number, alpha in enumerate(sorted(alphas)):
        if progress is not None:
            progress(number, len(alphas))
        plans[alpha] = plan = sinkhorn(kernel_for(alpha), iterations)
        distances[alpha] = problem.distance(top_1(plan.best().column_of_row, n_target))
        if watch is not None:
            watch(alpha, plan)
    if not distances:
        raise ValueError("no weights to choose from")
    # The kernels of all weights shared one room; the chosen one is computed once more, its u and v are kept.
    alpha = min(distances, key=lambda each: distances[each].total)
    return Decoded(Plan(kernel_for(alpha), plans[alpha].u, plans[alpha].v, iterations), alpha, distances)


def decode_naively(temporal: Similarity | None, relational: Similarity, hops: int, memory_limit: int) -> Decoded:
    """The paper's Naive Strategy: concatenated features Ĥ = [H^r ‖ H^t], P = Ĥ_s Ĥ_tᵀ, no Sinkhorn, no weight.

    H^t has hops + 1 parts of unit length, so its product is (hops + 1)·S^t.
    """
    channels = ((1.0, relational),) if temporal is None else ((1.0, relational), (float(hops + 1), temporal))
    return Decoded(unbalanced(kernel_of(WeightedSimilarity(channels), 1.0, memory_limit)), None, {})


@dataclass(frozen=True, eq=False)
class FusedPlan:
    """The plan of the chosen weights, and D of all that were tried, by their weights in the order of the channels."""

    plan: SparsePlan
    weights: Mapping[str, float]
    distances: Mapping[tuple[float, ...], Distance]


def fuse(
    evidence: sparse.csr_array,
    channels: Mapping[str, Similarity],
    open_rows: Rows,
    open_columns: Rows,
    problem: MatchingProblem | None,
    sharpness: float,
    *,
    weights: Sequence[float] = FUSED_WEIGHTS,
    progress: Progress | None = None,
) -> FusedPlan:
    """P̂ = Sinkhorn(evidence + Σ w_c S_c) for the weights with the smallest D; of equals, the smaller ones.

    `channels`: name → similarity. The best open columns of each open row, by each channel, become candidates as well,
    and the best open rows of each open column. `problem`: what D compares; None where there are no times: then all
    channels count, at the middle weight.
    """
    listed = _open_candidates(evidence, channels, open_rows, open_columns)
    choices = list(product(sorted(weights), repeat=len(channels)))
    if problem is None:
        choices = [(float(np.median(list(weights))),) * len(channels)]
    distances: dict[tuple[float, ...], Distance] = {}
    best: tuple[tuple[float, ...], SparsePlan] | None = None
    for number, choice in enumerate(choices):
        if progress is not None:
            progress(number, len(choices))
        plan = sparse_sinkhorn(listed.weighed(choice), sharpness, EVIDENCE_ITERATIONS)
        if problem is not None:
            distances[choice] = problem.distance(top_1(plan.best().column_of_row, evidence.shape[1]))
        if best is None or distances[choice].total < distances[best[0]].total:
            best = choice, plan
    if best is None:
        raise ValueError("no weights to choose from")
    return FusedPlan(best[1], {"evidence": 1.0, **dict(zip(channels, best[0], strict=True))}, distances)


@dataclass(frozen=True, eq=False)
class _Listed:
    """Candidates with their similarity in each channel; 0 where an entity is settled."""

    row: Ids
    column: Ids
    evidence: Dense
    channels: tuple[Dense, ...]
    shape: tuple[int, int]

    def weighed(self, weights: Sequence[float]) -> sparse.csr_array:
        value = self.evidence.astype(np.float64)
        for weight, channel in zip(weights, self.channels, strict=True):
            value += weight * channel
        matrix = sparse.csr_array((value, (self.row, self.column)), shape=self.shape)
        matrix.eliminate_zeros()  # listed only by a channel of weight 0: no candidate
        matrix.sort_indices()
        return matrix


def _open_candidates(
    evidence: sparse.csr_array, channels: Mapping[str, Similarity], open_rows: Rows, open_columns: Rows
) -> _Listed:
    """Evidence's candidates and the best of each channel among the open entities, a block of rows at a time."""
    entries = evidence.tocoo()
    place_of_row, place_of_column = (np.full(size, -1, np.int64) for size in evidence.shape)
    place_of_row[open_rows], place_of_column[open_columns] = np.arange(len(open_rows)), np.arange(len(open_columns))
    both = (place_of_row[entries.row] >= 0) & (place_of_column[entries.col] >= 0)
    known = sparse.csr_array(
        (entries.data[both], (place_of_row[entries.row[both]], place_of_column[entries.col[both]])),
        shape=(len(open_rows), len(open_columns)),
    )
    rows, columns = [entries.row[~both].astype(np.int64)], [entries.col[~both].astype(np.int64)]
    evidence_values = [entries.data[~both].astype(np.float32)]
    values: list[list[Dense]] = [[np.zeros(len(rows[0]), np.float32)] for _ in channels]
    floors = [_column_floor(channel, open_rows, open_columns) for channel in channels.values()]
    for block in row_blocks((len(open_rows), evidence.shape[1])):
        dense = [channel.rows(open_rows[block])[:, open_columns] for channel in channels.values()]
        direct = known[block].toarray()
        listed = direct > 0
        for part, floor in zip(dense, floors, strict=True):
            # the best of each column and of each row, ties with the last one included; nothing of 0 or below
            of_row = np.partition(part, -_LISTED, axis=1)[:, [-_LISTED]] if part.shape[1] > _LISTED else -np.inf
            listed |= (part > 0) & ((part >= floor) | (part >= of_row))
        row, column = np.divmod(np.flatnonzero(listed), listed.shape[1])
        rows.append(open_rows[block][row].astype(np.int64))
        columns.append(open_columns[column].astype(np.int64))
        evidence_values.append(direct[row, column].astype(np.float32))
        for kept, part in zip(values, dense, strict=True):
            kept.append(np.maximum(part[row, column], 0.0))
    row, column, value = (np.concatenate(each) for each in (rows, columns, evidence_values))
    return _Listed(row, column, value, tuple(map(np.concatenate, values)), evidence.shape)


def _column_floor(channel: Similarity, open_rows: Rows, open_columns: Rows) -> Dense:
    """The least value among the best of each column, over the open rows."""
    best = np.full((_LISTED, len(open_columns)), -np.inf, dtype=np.float32)
    for block in row_blocks((len(open_rows), channel.shape[1])):
        part = channel.rows(open_rows[block])[:, open_columns]
        best = np.partition(np.concatenate([best, part]), -_LISTED, axis=0)[-_LISTED:]
    floor: Dense = best.min(axis=0)
    return floor
