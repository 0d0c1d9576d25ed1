"""LightEA and LightTEA: labels of the seeds propagated along edges, without any training.

LightEA: Mao et al., *LightEA: a scalable, robust, and interpretable entity alignment framework via three-view label
propagation*, EMNLP 2022. LightTEA: Cai et al., *An effective and efficient time-aware entity alignment framework via
two-aspect three-view label propagation*, IJCAI 2023. Left out of both: further rounds in which sure pairs become
seeds, and Sinkhorn on the 500 best only (here on all). Of LightTEA, unknown times carry no label.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy import sparse as sp

from dualmatch.decode.similarity import FactorSimilarity, WeightedSimilarity
from dualmatch.graph.arrays import Dense, Ids
from dualmatch.research.baselines.scores import cosine, time_overlap
from dualmatch.research.baselines.views import Task

_ROUNDS: Final = 2
_NARROW: Final = 16
RELATION_SHARE: Final = 0.4
COSINE_SHARE: Final = 0.6


def light_ea(task: Task) -> FactorSimilarity:
    """Three views: entity to entity, to relation, and entity × relation, whose outer product is sketched."""
    head, relation, tail = task.both_ways.T
    return cosine(_labels(task, head, relation, tail, 2 * task.n_relations), task.n_source)


def light_tea(task: Task) -> WeightedSimilarity:
    """The same with times in the place of relations beside it, and the overlap of times."""
    head, relation, tail = task.both_ways.T
    of_relations = _labels(task, head, relation, tail, 2 * task.n_relations)
    of_times = _labels(task, *_dated(task), task.facts.n_times)
    shares = np.sqrt(np.float32(RELATION_SHARE)), np.sqrt(np.float32(1 - RELATION_SHARE))
    both = np.hstack([shares[0] * of_relations, shares[1] * of_times])
    entity, time = times_at_entities(task)
    overlap = time_overlap(entity, time, task.n, task.n_source)
    return WeightedSimilarity(((COSINE_SHARE, cosine(both, task.n_source)), (1 - COSINE_SHARE, overlap)))


def _dated(task: Task) -> tuple[Ids, Ids, Ids]:
    """(near end, time, far end), distinct: begin and end of each fact, both ways."""
    facts = task.facts
    near, time = facts.dated(facts.head, facts.tail)
    far, _ = facts.dated(facts.tail, facts.head)
    distinct = np.unique(np.stack([near, time, far], axis=1), axis=0)
    return distinct[:, 0], distinct[:, 1], distinct[:, 2]


def times_at_entities(task: Task) -> tuple[Ids, Ids]:
    """(entity, time) of every fact at both ends: begin and end, once where they are equal; unknown ones left out."""
    facts = task.facts
    begin, end = facts.times
    later = (end >= 0) & (end != begin)
    ends = [(side[begin >= 0], begin[begin >= 0]) for side in (facts.head, facts.tail)]
    ends += [(side[later], end[later]) for side in (facts.head, facts.tail)]
    return np.concatenate([part for part, _ in ends]), np.concatenate([part for _, part in ends])


def _labels(task: Task, near: Ids, symbol: Ids, far: Ids, n_symbols: int) -> Dense:
    """(n, dimension / 2 · 16): what reaches each entity of the seeds' labels, by edge and symbol, rows of length 1."""
    n, d, rng = task.n, task.dimension, task.rng
    edges = task.counts(near, far, (n, n))
    adjacency = sp.csr_array(edges + sp.diags_array(np.asarray(edges.sum(axis=1)).ravel()))
    of_head, of_tail = task.counts(symbol, near, (n_symbols, n)), task.counts(far, symbol, (n, n_symbols))
    e, r = np.zeros((n, d), np.float32), np.zeros((n_symbols, d), np.float32)
    labels = _unit(rng.standard_normal((len(task.seeds), d), dtype=np.float32))
    e[task.seeds[:, 0]] = e[task.seeds[:, 1]] = labels
    entities, symbols = [e], [r]
    for _ in range(_ROUNDS):
        e, r = _unit(adjacency @ e + of_tail @ r), _unit(of_head @ e)
        entities.append(e)
        symbols.append(r)
    e, r = _unit(np.hstack(entities)), _unit(np.hstack(symbols))
    r = r @ _unit(rng.standard_normal((d // 2, r.shape[1]), dtype=np.float32)).T
    # Σ over an edge's symbols of r_k, for each column k: one sparse product with the pattern of the edges.
    distinct, edge = np.unique(near * n + far, return_inverse=True)
    members = task.counts(edge, symbol, (len(distinct), n_symbols))
    row, column = np.divmod(distinct, n)
    indptr = np.searchsorted(row, np.arange(n + 1))
    out = np.empty((n, r.shape[1] * _NARROW), np.float32)
    for k in range(r.shape[1]):
        narrow = e @ _unit(rng.standard_normal((_NARROW, e.shape[1]), dtype=np.float32)).T
        weighted = sp.csr_array((members @ r[:, k], column, indptr), shape=(n, n))
        out[:, k * _NARROW : (k + 1) * _NARROW] = weighted @ narrow
        task.step(k + 1, r.shape[1], "")
    return _unit(out)


def _unit(rows: Dense) -> Dense:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Dense = rows / np.maximum(length, np.float32(1e-12))
    return unit
