"""PARIS: probabilities of equal entities and of sub-relations that support each other, round by round.

Suchanek, Abiteboul and Senellart, *PARIS: probabilistic alignment of relations, instances, and schema*, PVLDB 5(3),
2011. It starts from equal literals; here there are none, so seed pairs are certain instead, and stay so. A pair is
believed where each entity is the best of the other. Left out: literals, classes, negative evidence. No times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse as sp

from dualmatch.graph.arrays import Floats, Ids
from dualmatch.graph.matrices import distinct_triples, row_numbers
from dualmatch.graph.model import TemporalGraph
from dualmatch.research.baselines.scores import SparseScores
from dualmatch.research.baselines.views import Task, functionality

_ROUNDS: Final = 10
_THETA: Final = 0.1  # a probability below is 0, and where relations start
_DAMPING: Final = 1.01
_LISTED: Final = 50  # candidates of a row that are kept for ranking
_BLOCK: Final = 1000


@dataclass(frozen=True, eq=False)
class _Side:
    """Triples of a graph in both directions: r(x, y), y reached from (x, r)."""

    x: Ids
    r: Ids
    y: Ids
    n: int
    n_relations: int
    functional: Floats

    @classmethod
    def of(cls, graph: TemporalGraph) -> _Side:
        head, relation, tail = distinct_triples(graph).T
        x, y, n_relations = np.append(head, tail), np.append(tail, head), 2 * graph.n_relations
        r = np.append(relation, relation + graph.n_relations)
        return cls(x, r, y, graph.n_entities, n_relations, functionality(x, r, n_relations))

    def reached(self) -> tuple[sp.csr_array, Ids, Ids]:
        """(n, contexts): which (x, r) lead to y; and x and r of each such context."""
        contexts, column = np.unique(self.x * self.n_relations + self.r, return_inverse=True)
        ones = np.ones(len(column))
        matrix = sp.csr_array((ones, (self.y, column)), shape=(self.n, len(contexts)))
        return matrix, *np.divmod(contexts, self.n_relations)


def paris(task: Task) -> SparseScores:
    """Ten rounds; in the first two, any two relations are alike with probability 0.1."""
    own, other = _Side.of(task.source), _Side.of(task.target)
    forth = np.full((own.n_relations, other.n_relations), _THETA)  # Pr(r ⊆ r′)
    back = forth.T.copy()  # Pr(r′ ⊆ r)
    seeds = np.asarray(task.given, dtype=np.int64)
    known = sp.csr_array((np.ones(len(seeds)), (seeds[:, 0], seeds[:, 1])), shape=(own.n, other.n))
    believed, listed = known, known
    for number in range(_ROUNDS):
        listed = _entities(own, other, believed, forth, back, seeds)
        mutual = _best(listed).minimum(_best(sp.csr_array(listed.T)).T)  # what either would not choose is 0
        believed = sp.csr_array(mutual + known)
        if number > 0:
            forth = _sub_relations(own, other, believed)
            back = _sub_relations(other, own, sp.csr_array(believed.T))
        task.step(number + 1, _ROUNDS, f"{believed.nnz:,} pairs")
    return SparseScores(listed)


def _entities(
    own: _Side, other: _Side, believed: sp.csr_array, forth: Floats, back: Floats, seeds: Ids
) -> sp.csr_array:
    """−ln Π (1 − p·Pr(r′ ⊆ r)·fun r)(1 − p·Pr(r ⊆ r′)·fun r′), the best of each row; Pr(y ≡ y′) = 1 − Π.

    It is S M Tᵀ: S leads from y to (x, r), T from y′ to (x′, r′), and M holds −ln of the factors. Logarithms still rank
    what as probabilities all round to 1.
    """
    to_context, x, r = own.reached()
    to_other, x_other, r_other = other.reached()
    pairs = believed.tocoo()
    starts, ends = (np.searchsorted(x, pairs.row, side=side) for side in ("left", "right"))
    starts_other, ends_other = (np.searchsorted(x_other, pairs.col, side=side) for side in ("left", "right"))
    size, size_other = ends - starts, ends_other - starts_other
    total = size * size_other  # contexts of x × contexts of x′
    pair = np.repeat(np.arange(len(total)), total)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(total) - total, total)
    row, column = starts[pair] + place // size_other[pair], starts_other[pair] + place % size_other[pair]
    p = pairs.data[pair]
    a = p * back[r_other[column], r[row]] * own.functional[r[row]]
    b = p * forth[r[row], r_other[column]] * other.functional[r_other[column]]
    weight = -np.log1p(-np.minimum(a, 1 - 1e-9)) - np.log1p(-np.minimum(b, 1 - 1e-9))
    kept = weight > 0
    middle = sp.csr_array((weight[kept], (row[kept], column[kept])), shape=(len(x), len(x_other)))
    onward = sp.csr_array(middle @ to_other.T)
    free = np.ones(other.n)
    free[seeds[:, 1]] = 0.0
    parts = []
    for start in range(0, own.n, _BLOCK):
        block = sp.csr_array(to_context[start : start + _BLOCK] @ onward)
        block.data = np.round(block.data, 10) * free[block.indices]  # equal, in whatever order it was added up
        block.data[np.isin(row_numbers(block) + start, seeds[:, 0])] = 0.0
        parts.append(_top(block, _LISTED, -np.log1p(-_THETA * _DAMPING)))
    return sp.csr_array(sp.vstack(parts, format="csr"))


def _top(matrix: sp.csr_array, k: int, least: float) -> sp.csr_array:
    """The k largest entries of each row, none below `least`."""
    enough = matrix.data >= least
    row, column, value = row_numbers(matrix)[enough], matrix.indices[enough], matrix.data[enough]
    order = np.lexsort((column, -value, row))
    starts = np.searchsorted(row, np.arange(matrix.shape[0]))
    kept = order[np.arange(len(order)) - starts[row[order]] < k]
    return sp.csr_array((value[kept], (row[kept], column[kept])), shape=matrix.shape)


def _best(listed: sp.csr_array) -> sp.csr_array:
    """The probability of the best partner of each row; of equally good ones none, whatever their order."""
    row = row_numbers(listed)
    largest = np.zeros(listed.shape[0])
    np.maximum.at(largest, row, listed.data)
    best = listed.data == largest[row]
    kept = best & (np.bincount(row[best], minlength=len(largest))[row] == 1)
    p = -np.expm1(-listed.data[kept]) / _DAMPING
    return sp.csr_array((p, (row[kept], listed.indices[kept])), shape=listed.shape)


def _sub_relations(own: _Side, other: _Side, best: sp.csr_array) -> Floats:
    """Pr(r ⊆ r′): of the pairs r(x, y) whose ends have partners, those that r′ joins, by their probability."""
    partner, p = np.full(own.n, -1, np.int64), np.zeros(own.n)
    rows = row_numbers(best)
    partner[rows], p[rows] = best.indices, best.data
    x, y, weight = partner[own.x], partner[own.y], p[own.x] * p[own.y]
    met = (x >= 0) & (y >= 0)
    total = np.bincount(own.r[met], weight[met], minlength=own.n_relations)
    order = np.argsort(other.x * other.n + other.y, kind="stable")
    keys = (other.x * other.n + other.y)[order]
    asked = x[met] * other.n + y[met]
    first, last = (np.searchsorted(keys, asked, side=side) for side in ("left", "right"))
    fact = np.repeat(np.arange(len(asked)), last - first)
    place = np.arange(len(fact)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
    there = other.r[order[first[fact] + place]]
    shared = np.zeros((own.n_relations, other.n_relations))
    np.add.at(shared, (own.r[met][fact], there), weight[met][fact])
    share = shared / np.maximum(total, 1e-12)[:, None]
    return np.where(share >= _THETA, np.minimum(share, 1.0), 0.0)
