"""The queue: which entity to look at next, by how much a decision about it would teach.

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
from dualmatch.graph.arrays import Flags, Floats, Ids
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.shown_name import search_text

VERDICTS: Final = tuple(Verdict)
_LINKED, _UNDECIDED, _NO_MATCH = map(VERDICTS.index, (Verdict.LINKED, Verdict.UNDECIDED, Verdict.NO_MATCH))


@dataclass(frozen=True, eq=False)
class Queue:
    """Every source entity with what is proposed for it.

    `proposed` (n_source,) int64: its partner, or the best candidate where it has none; -1 where there is no candidate.
    """

    basis: ExplanationBasis
    proposed: Ids
    probability: Floats  # (n_source,) float64: how likely that is
    verdict: NDArray[np.int8]  # (n_source,) int8: the verdict of the run on it: a place in `VERDICTS`
    teaches: Floats  # (n_source,) float64: what a decision would teach

    @property
    def linked(self) -> Flags:
        """(n_source,) whether the run linked it."""
        return np.equal(self.verdict, _LINKED)

    @cached_property
    def order(self) -> Ids:
        """Source rows, the most informative first; ties in the order of their rows, which is that of names."""
        return np.argsort(-self.teaches, kind="stable").astype(np.int64)

    @cached_property
    def _names(self) -> list[str]:
        return _search_texts(self.basis.source)

    @cached_property
    def _target_names(self) -> list[str]:
        return _search_texts(self.basis.target)

    def search(self, text: str) -> Flags:
        """Source entities whose label, name or id, or whose proposed partner's label or name, holds the text."""
        wanted = text.casefold()
        found = np.array([wanted in name for name in self._names], dtype=bool)
        there = np.array([wanted in name for name in self._target_names], dtype=bool)
        found |= (self.proposed >= 0) & there[self.proposed]
        found[_with_id(self.basis.source_ids, wanted)] = True
        return found

    def targets(self, text: str, most: int) -> list[int]:
        """Target entities by label, name or id: those that are it, begin with it, hold it, in this order."""
        wanted, names = text.casefold(), self._target_names
        holding = [row for row, name in enumerate(names) if wanted in name]
        holding.sort(key=lambda row: _distance(names[row].split("\n"), wanted))
        return list(dict.fromkeys([*_with_id(self.basis.target_ids, wanted), *holding]))[:most]

    def with_relation(self, relation: int) -> Flags:
        """Source entities with a fact of this relation."""
        graph, has = self.basis.source, np.zeros(len(self.proposed), dtype=bool)
        chosen = graph.relation == relation
        has[graph.head[chosen]] = has[graph.tail[chosen]] = has[
            graph.dates.entity[graph.dates.relation == relation]
        ] = True
        return has


def _search_texts(graph: TemporalGraph) -> list[str]:
    return [search_text(name, graph.labels.get(name)) for name in graph.entities]


def _distance(texts: list[str], wanted: str) -> tuple[bool, bool, int]:
    """How far what is known of an entity is from what is wanted."""
    return wanted not in texts, not any(text.startswith(wanted) for text in texts), len(texts[0])


def _with_id(ids: Ids | None, text: str) -> list[int]:
    """Ids whose id is the text."""
    is_id = ids is not None and text.isascii() and text.isdigit() and len(text) < 19
    return np.flatnonzero(ids == int(text)).tolist() if is_id else []


def queue_of(basis: ExplanationBasis) -> Queue:
    """Order the source entities of a run."""
    best, none = best_candidates(basis.candidates, basis.target_ranks), basis.unlinked
    proposed, probability = best.column.copy(), np.where(best.column >= 0, best.probability, 0.0)
    source, target = basis.pairs[:, 0], basis.pairs[:, 1]
    proposed[source], probability[source] = target, basis.confidence
    verdict = np.full(basis.source.n_entities, _LINKED, dtype=np.int8)
    verdict[none.row] = np.where(none.is_no_match, _NO_MATCH, _UNDECIDED)
    sure, settled_there = _sure(basis, probability), np.zeros(basis.target.n_entities)
    np.maximum.at(settled_there, target, basis.confidence)
    waiting, there = _waiting(basis.source, 1.0 - sure), _waiting(basis.target, 1.0 - settled_there)
    influence = np.where(proposed >= 0, np.minimum(waiting, there[proposed]), 0.0)
    certain = np.isin(np.arange(len(verdict)), [*source[basis.is_seed].tolist(), *basis.forbidden.alone.tolist()])
    teaches = np.where(certain, 0.0, _doubt(sure, verdict == _UNDECIDED) * influence)
    return Queue(basis, proposed.astype(np.int64), probability, verdict, teaches)


def _sure(basis: ExplanationBasis, probability: Floats) -> Floats:
    """How sure the outcome of each source entity is: its partner, or that it has none."""
    sure, none = probability.copy(), basis.unlinked
    alone = none.row[none.is_no_match]
    sure[alone] = np.maximum(sure[alone], none.confidence[none.is_no_match])
    return sure


def _doubt(sure: Floats, is_undecided: Flags) -> Floats:
    """How open an entity is: most at one half, and fully where it is undecided and no candidate is likely."""
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


def _distinct(keys: Ids) -> Ids:
    """Sorted, each once; np.unique would hash, which takes ten times as long on many keys."""
    ordered = np.sort(keys)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered
