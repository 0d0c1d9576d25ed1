"""Relation alignment: which directed relations of two graphs mean the same, by their use on aligned entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse as sp
from scipy.sparse.csgraph import connected_components

from dualmatch.channels.evidence.fact_views import ABSENT, FactSides
from dualmatch.channels.evidence.ties import distinct, expanded
from dualmatch.engine import Engine, InProcess
from dualmatch.graph.arrays import Flags, Floats, Ids
from dualmatch.graph.ordering import without_repeats

# Smoothing of the cosine: relations seen on a handful of pairs prove nothing yet.
_PSEUDO_COUNT = 5.0
_LEAST_COSINE = 0.2


@dataclass(frozen=True, eq=False)
class RelationAlignment:
    """Similarity of directed relations, and the classes it implies."""

    # (n_source_directed, n_target_directed): smoothed cosine of co-occurrence on aligned entity pairs; row or column
    # n_relations + r is r read backwards
    similarity: sp.csr_matrix
    # (n_directed,): relations of one class, linked through best partners, are taken to mean the same
    source_class: Ids
    target_class: Ids
    support: sp.csr_matrix  # of the pattern of `similarity`: how many aligned entity pairs both relations connect

    def links(self) -> tuple[Ids, Ids, Floats, Ids]:
        """The links behind the classes: source and target relation (directed), score, support.

        A link and its mirror image, both relations read backwards, are one: the source relation is read forwards.
        """
        entries = self.similarity.tocoo()
        kept = _are_links(entries) & (entries.row < self.similarity.shape[0] // 2)
        row, column = entries.row[kept].astype(np.int64), entries.col[kept].astype(np.int64)
        # scipy gives a matrix, not numbers, for no places at all
        support = np.asarray(self.support[row, column], dtype=np.int64).ravel() if len(row) else row
        return row, column, entries.data[kept], support


def align_relations(
    source: FactSides, target: FactSides, pairs: Ids, engine: Engine | None = None
) -> RelationAlignment:
    """Cosine of each pair of directed relations over the aligned (n, 2) `pairs`, each entity at most once.

    Relations meet where they connect two aligned pairs, or an aligned pair with a date.
    """
    engine = engine or InProcess()
    n_source, n_target = source.n_directed, target.n_directed
    width = len(pairs) + 1 + int(max(source.date.max(initial=ABSENT), target.date.max(initial=ABSENT)))
    found = engine.on_columns(_edges, [(source, pairs[:, 0], width), (target, pairs[:, 1], width)])
    edges = (*found[0], *found[1])
    counts = list(
        engine.each(_counted, [(*edges, *span, width, n_source, n_target) for span in engine.spans(len(pairs))])
    )
    counted = sum((each.together for each in counts[1:]), start=counts[0].together)
    counted.sort_indices()
    together = counted.tocoo()
    count_left, count_right = (np.sum([each[side] for each in counts], axis=0) for side in (1, 2))
    cosine = together.data / (np.sqrt(count_left[together.row] * count_right[together.col]) + _PSEUDO_COUNT)
    similarity = sp.csr_matrix((cosine, (together.row, together.col)), shape=(n_source, n_target))
    return RelationAlignment(similarity, *_classes(similarity), support=together.tocsr())


class _Counts(NamedTuple):
    """Whole numbers, so that blocks may be added in any order: edges with both relations, and with either."""

    together: sp.csr_matrix
    left: Floats
    right: Floats


def _counted(
    edge_source: Ids,
    relation_source: Ids,
    edge_target: Ids,
    relation_target: Ids,
    first: int,
    last: int,
    width: int,
    n_source: int,
    n_target: int,
) -> _Counts:
    """Counts over the edges that begin at some of the pairs; edges are sorted."""
    low, high = first * width, last * width
    parts = []
    for edge, relation in ((edge_source, relation_source), (edge_target, relation_target)):
        span = slice(*np.searchsorted(edge, (low, high)))
        parts.append((edge[span], relation[span]))
    (left, relation_left), (right, relation_right) = parts
    first_right = np.searchsorted(right, left)
    which, other = expanded(first_right, np.searchsorted(right, left, side="right") - first_right)
    together = sp.csr_matrix(
        (np.ones(len(which)), (relation_left[which], relation_right[other])), shape=(n_source, n_target)
    )
    counts = (np.bincount(relation_left, minlength=n_source), np.bincount(relation_right, minlength=n_target))
    return _Counts(together, *(count.astype(np.float64) for count in counts))


def _edges(sides: FactSides, members: Ids, width: int) -> tuple[Ids, Ids]:
    """Sides whose two entities are both aligned, sorted: (number of the ordered pair of pairs, directed relation).

    Equal ones are listed once. An entity date stands between its entity and the date; in the numbering, dates follow
    the pairs.
    """
    number = np.full(sides.n_entities, -1, dtype=np.int64)
    number[members] = np.arange(len(members))
    dates = np.where(sides.date == ABSENT, -1, sides.date + len(members))
    first, second = number[sides.entity], np.concatenate([number[sides.other], dates])
    both = (first >= 0) & (second >= 0)
    edge, relation = first[both] * width + second[both], sides.relation[both].astype(np.int64)
    if width * width * sides.n_directed < 2**63:  # sorted as one number: several times as fast
        return np.divmod(distinct(edge * sides.n_directed + relation), sides.n_directed)
    order = without_repeats(np.lexsort((relation, edge)), edge, relation)
    return edge[order], relation[order]


def _classes(similarity: sp.csr_matrix) -> tuple[Ids, Ids]:
    """Components of the graph that links each relation, of either side, to its best partner."""
    n_source, n_target = similarity.shape
    entries = similarity.tocoo()
    linked = _are_links(entries)
    links = sp.coo_matrix(
        (np.ones(int(linked.sum())), (entries.row[linked], n_source + entries.col[linked])),
        shape=(n_source + n_target, n_source + n_target),
    )
    component = connected_components(links, directed=False)[1].astype(np.int64)
    return component[:n_source], component[n_source:]


def _are_links(entries: sp.coo_matrix) -> Flags:
    """Which entries are the best of their row or of their column, and high enough to mean something."""
    best_row, best_column = np.zeros(entries.shape[0]), np.zeros(entries.shape[1])
    np.maximum.at(best_row, entries.row, entries.data)
    np.maximum.at(best_column, entries.col, entries.data)
    best = (entries.data >= best_row[entries.row]) | (entries.data >= best_column[entries.col])
    linked: Flags = best & (entries.data > _LEAST_COSINE)
    return linked
