"""The queue: which entity to look at next, by what a decision about it would teach.

A decision teaches most where the run is in doubt and neighbours wait for it: a pair that becomes certain is evidence
for every open entity that shares a fact with it. One of many facts of a kind says little ("born in" a big city), so
what counts is in how many kinds of facts the neighbours are open, each with the share of them that is; and on both
sides, since a fact is evidence only where both graphs have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.decode.shortlist import best_candidates
from dualmatch.decode.verdicts import Verdict
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.graph.model import TemporalGraph

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
VERDICTS: Final = tuple(Verdict)


@dataclass(frozen=True, eq=False)
class Queue:
    """Every source entity with what is proposed for it.

    Attributes
    ----------
    proposed: (n_source,) int64
        Its partner, or the best candidate where it has none; -1 where there is no candidate.
    probability: (n_source,) float64
        How likely that is.
    verdict: (n_source,) int8
        What the run says of it: a place in `VERDICTS`.
    teaches: (n_source,) float64
        What a decision would teach.
    """

    grounds: ExplanationBasis
    proposed: Rows
    probability: Floats
    verdict: NDArray[np.int8]
    teaches: Floats

    @property
    def linked(self) -> NDArray[np.bool_]:
        """(n_source,) whether the run linked it."""
        linked: NDArray[np.bool_] = self.verdict == VERDICTS.index(Verdict.LINKED)
        return linked

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


def queue_of(grounds: ExplanationBasis) -> Queue:
    """Order the source entities of a run."""
    best = best_candidates(grounds.candidates, grounds.target_ranks)
    proposed, probability = best.column.copy(), np.where(best.column >= 0, best.probability, 0.0)
    verdict = _verdicts(grounds)
    source, target = grounds.pairs[:, 0], grounds.pairs[:, 1]
    proposed[source], probability[source] = target, grounds.confidence
    sure, settled_there = _sure(grounds, probability), np.zeros(grounds.target.n_entities)
    np.maximum.at(settled_there, target, grounds.confidence)
    waiting, there = _waiting(grounds.source, 1.0 - sure), _waiting(grounds.target, 1.0 - settled_there)
    influence = np.where(proposed >= 0, np.minimum(waiting, there[proposed]), 0.0)
    certain = np.isin(np.arange(len(verdict)), [*source[grounds.is_seed].tolist(), *grounds.forbidden.alone.tolist()])
    is_undecided = verdict == VERDICTS.index(Verdict.UNDECIDED)
    teaches = np.where(certain, 0.0, _doubt(sure, is_undecided) * influence)
    return Queue(grounds, proposed.astype(np.int64), probability, verdict, teaches)


def _sure(grounds: ExplanationBasis, probability: Floats) -> Floats:
    """How sure it is what becomes of each source entity: of its partner, or that it has none."""
    sure, none = probability.copy(), grounds.unlinked
    alone = none.row[none.is_no_match]
    sure[alone] = np.maximum(sure[alone], none.confidence[none.is_no_match])
    return sure


def _verdicts(grounds: ExplanationBasis) -> NDArray[np.int8]:
    """What the run says of each source entity."""
    verdict = np.full(grounds.source.n_entities, VERDICTS.index(Verdict.LINKED), dtype=np.int8)
    none = grounds.unlinked
    places = VERDICTS.index(Verdict.NO_MATCH), VERDICTS.index(Verdict.UNDECIDED)
    verdict[none.row] = np.where(none.is_no_match, *places)
    return verdict


def _doubt(sure: Floats, is_undecided: NDArray[np.bool_]) -> Floats:
    """How much is not known of an entity: most at one half; all of it where it is undecided and no candidate likely."""
    doubt = 4 * sure * (1 - sure)
    return np.where(is_undecided, np.maximum(doubt, 1.0 - sure), doubt)


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
