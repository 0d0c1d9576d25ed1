"""GCN-Align and KE-GCN: graph convolution, negatives drawn at random, ranked by L1 distance.

GCN-Align: Wang et al., *Cross-lingual knowledge graph alignment via graph convolutional networks*, EMNLP 2018. Left
out: its half for attributes, as there are none (the published rows leave it out, too).
KE-GCN: Yu et al., *Knowledge embedding based graph convolutional network*, WWW 2021, with the score of TransE. Left
out: complex and quaternion scores, and relations that both graphs number alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import torch
from scipy import sparse as sp
from torch import Tensor
from torch.nn.functional import normalize
from torch.optim import Optimizer

from dualmatch.channels.relational.sparse import ConstantMatrix, multiply
from dualmatch.research.baselines.scores import ManhattanSimilarity
from dualmatch.research.baselines.training import CPU, fit, generator_of, manhattan, truncated_normal
from dualmatch.research.baselines.views import Task, functionality, symmetric

_NEGATIVES: Final = 5  # a side and seed
_REDRAW: Final = 10  # epochs
_LEAST_WEIGHT: Final = 0.3
_STEP: Final = 0.3
_LAYERS: Final = 4


def gcn_align(task: Task) -> ManhattanSimilarity:
    """x = A·ReLU(A·W), W with rows of length 1; plain gradient descent at a rate of 20."""
    adjacency = ConstantMatrix(_functional_adjacency(task), CPU)
    w = truncated_normal(task.n, task.dimension, task.n**-0.5, generator_of(task))

    def encode() -> Tensor:
        return multiply(adjacency, torch.relu(multiply(adjacency, normalize(w, dim=1))))

    return _trained(task, encode, torch.optim.SGD([w], lr=20.0), task.by_seeds(3.0, 7.0))


def ke_gcn(task: Task) -> ManhattanSimilarity:
    """Four layers, each a step up the gradient of −Σ‖h + r − t‖² for entities and relations, over their degrees."""
    n, n_relations = task.n, task.n_relations
    facts = task.facts
    near = task.counts(facts.head, facts.tail, (n, n))
    near = sp.csr_array(near + near.T)
    signed = task.counts(facts.head, facts.relation, (n, n_relations))
    signed = sp.csr_array(signed - task.counts(facts.tail, facts.relation, (n, n_relations)))
    degree, count = (
        torch.from_numpy(np.bincount(index, minlength=size).astype(np.float32))[:, None]
        for index, size in ((np.append(facts.head, facts.tail), n), (facts.relation, n_relations))
    )
    neighbours, outward, inward = (ConstantMatrix(matrix, CPU) for matrix in (near, signed, sp.csr_array(signed.T)))
    generator = generator_of(task)
    x0 = truncated_normal(n, task.dimension, n**-0.5, generator)
    r0 = truncated_normal(n_relations, task.dimension, n_relations**-0.5, generator)

    def encode() -> Tensor:
        x, r = normalize(x0, dim=1), normalize(r0, dim=1)
        for layer in range(_LAYERS):
            to_x = -2 * (degree * x - multiply(neighbours, x) + multiply(outward, r))
            to_r = -2 * (count * r + multiply(inward, x))
            x, r = x + _STEP * to_x / degree.clamp_min(1), r + _STEP * to_r / count.clamp_min(1)
            if layer + 1 < _LAYERS:
                x, r = torch.relu(x), torch.relu(r)
        return x

    return _trained(task, encode, torch.optim.Adam([x0, r0], lr=0.01), 3.0)


def _trained(task: Task, encode: Callable[[], Tensor], optimiser: Optimizer, margin: float) -> ManhattanSimilarity:
    """Hinges of both sides over five random entities of either graph, which stay for ten epochs."""
    seeds = torch.from_numpy(task.seeds)
    pair = torch.arange(len(seeds)).repeat_interleave(_NEGATIVES)
    left, right = seeds[pair].T
    drawn = torch.zeros(2, len(pair), dtype=torch.int64)

    def loss() -> Tensor:
        x = encode()
        near = manhattan(x, seeds[:, 0], seeds[:, 1])[pair]
        forth = torch.relu(margin + near - manhattan(x, left, drawn[0]))
        back = torch.relu(margin + near - manhattan(x, drawn[1], right))
        return (forth.mean() + back.mean()) / 2

    def steps(epoch: int) -> list[tuple[Optimizer, Callable[[], Tensor]]]:
        if epoch % _REDRAW == 0:
            drawn.copy_(torch.from_numpy(task.rng.integers(task.n, size=(2, len(pair)))))
        return [(optimiser, loss)]

    fit(task, steps)
    with torch.no_grad():
        x = encode().numpy()
    return ManhattanSimilarity(x[: task.n_source], x[task.n_source :])


def _functional_adjacency(task: Task) -> sp.csr_array:
    """A_ij: inverse functionality of relations from i to j, functionality of those from j to i; normalised, with I."""
    facts, n = task.facts, task.n
    fun = functionality(facts.head, facts.relation, task.n_relations)
    inverse = functionality(facts.tail, facts.relation, task.n_relations)
    row, column = np.append(facts.head, facts.tail), np.append(facts.tail, facts.head)
    weights = (np.maximum(each, _LEAST_WEIGHT)[facts.relation] for each in (inverse, fun))
    matrix = sp.coo_array((np.concatenate([*weights]), (row, column)), shape=(n, n)).tocsr()
    matrix.setdiag(0.0)
    return symmetric(sp.csr_array(matrix + sp.eye_array(n)))
