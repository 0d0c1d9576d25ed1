"""The queue: which entity to look at next, by what a decision about it would teach.

A decision teaches most where the run is in doubt and neighbours wait for it: a pair that becomes certain is evidence
for every open entity that shares a fact with it. One of many facts of a kind says little ("born in" a big city), so
what counts is in how many kinds of facts the neighbours are open, each with the share of them that is; and on both
sides, since a fact is evidence only where both graphs have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dualmatch.decode.shortlist import best_candidates
from dualmatch.graph.model import TemporalGraph
from dualmatch.grounds import Grounds

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Queue:
    """Every source entity with what is proposed for it.

    Attributes
    ----------
    proposed: (n_source,) int64
        Its partner, or the best candidate where it has none; -1 where there is no candidate.
    probability: (n_source,) float64
        How likely that is.
    matched: (n_source,) bool
        Whether the run linked it.
    teaches: (n_source,) float64
        What a decision would teach.
    """

    grounds: Grounds
    proposed: Rows
    probability: Floats
    matched: NDArray[np.bool_]
    teaches: Floats

    @cached_property
    def order(self) -> Rows:
        """Source rows, what teaches most first; equals in the order of their rows, which is that of names."""
        return np.argsort(-self.teaches, kind="stable").astype(np.int64)

    @cached_property
    def _names(self) -> list[str]:
        return [name.casefold() for name in self.grounds.source.entities]

    @cached_property
    def _target_names(self) -> list[str]:
        return [name.casefold() for name in self.grounds.target.entities]

    def search(self, text: str) -> NDArray[np.bool_]:
        """Source entities whose name, id, or proposed partner's name holds the text."""
        wanted = text.casefold()
        found = np.array([wanted in name for name in self._names], dtype=bool)
        there = np.array([wanted in name for name in self._target_names], dtype=bool)
        found |= (self.proposed >= 0) & there[self.proposed]
        if self.grounds.source_ids is not None and wanted.isascii() and wanted.isdigit() and len(wanted) < 19:
            found |= self.grounds.source_ids == int(wanted)
        return found

    def targets(self, text: str, most: int) -> list[int]:
        """Target entities by name or id: those that are it, begin with it, hold it, in this order."""
        wanted, names = text.casefold(), self._target_names
        holding = [row for row, name in enumerate(names) if wanted in name]
        holding.sort(key=lambda row: (names[row] != wanted, not names[row].startswith(wanted), len(names[row])))
        ids = self.grounds.target_ids
        if ids is not None and wanted.isascii() and wanted.isdigit() and len(wanted) < 19:
            holding = [*np.flatnonzero(ids == int(wanted)).tolist(), *holding]
        return list(dict.fromkeys(holding))[:most]

    def with_relation(self, relation: int) -> NDArray[np.bool_]:
        """Source entities with a fact of this relation."""
        graph, has = self.grounds.source, np.zeros(len(self.proposed), dtype=bool)
        chosen = graph.relation == relation
        has[graph.head[chosen]] = has[graph.tail[chosen]] = True
        return has


def queue_of(grounds: Grounds) -> Queue:
    """Order the source entities of a run."""
    best = best_candidates(grounds.candidates, grounds.target_ranks)
    proposed, probability = best.column.copy(), np.where(best.column >= 0, best.probability, 0.0)
    matched = np.zeros(grounds.source.n_entities, dtype=bool)
    source, target = grounds.pairs[:, 0], grounds.pairs[:, 1]
    matched[source], proposed[source], probability[source] = True, target, grounds.confidence
    settled, settled_there = probability.copy(), np.zeros(grounds.target.n_entities)
    settled[grounds.forbidden.alone] = 1.0
    np.maximum.at(settled_there, target, grounds.confidence)
    waiting, there = _waiting(grounds.source, 1.0 - settled), _waiting(grounds.target, 1.0 - settled_there)
    influence = np.where(proposed >= 0, np.minimum(waiting, there[proposed]), 0.0)
    certain = np.isin(np.arange(len(matched)), [*source[grounds.is_seed].tolist(), *grounds.forbidden.alone.tolist()])
    teaches = np.where(certain, 0.0, _doubt(probability, matched) * influence)
    return Queue(grounds, proposed.astype(np.int64), probability, matched, teaches)


def _doubt(probability: Floats, matched: NDArray[np.bool_]) -> Floats:
    """How much is not known of an entity's partner: most at one half; all of it where no candidate is likely."""
    doubt = 4 * probability * (1 - probability)
    return np.where(matched, doubt, np.maximum(doubt, 1.0 - probability))


def _waiting(graph: TemporalGraph, open_share: Floats) -> Floats:
    """For each entity, the share of its neighbours that is open, summed over its relations, each in both directions."""
    entity, other = np.concatenate([graph.head, graph.tail]), np.concatenate([graph.tail, graph.head])
    directed = np.concatenate([graph.relation, graph.relation + graph.n_relations])
    kind = entity.astype(np.int64) * (2 * graph.n_relations) + directed
    kind, neighbour = np.divmod(_distinct(kind * graph.n_entities + other), graph.n_entities)
    kinds = _distinct(kind)
    place = np.searchsorted(kinds, kind)
    share = np.bincount(place, open_share[neighbour]) / np.bincount(place)
    return np.bincount(kinds // (2 * graph.n_relations), share, minlength=graph.n_entities).astype(np.float64)


def _distinct(keys: Rows) -> Rows:
    """Sorted, each once; np.unique would hash, which takes ten times as long on many keys."""
    ordered = np.sort(keys)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered
