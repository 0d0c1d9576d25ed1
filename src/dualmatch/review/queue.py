"""The queue: which entity to look at next, by what an answer is worth for the effort that it costs.

A look at a pair costs seconds. Where nothing that is listed is right, a search costs minutes, so entities without a
likely candidate are a part of the queue of their own. The others come in the order of what an answer is worth:

    p s            without a link: how likely it gains one, since what is proposed is right
    p s (1 - p)    with a link: how likely it changes, too

where p is the probability of what is proposed, and s the share of the neighbours of both entities that are settled: a
probability that rests on neighbours in doubt is worth less, and an answer there misleads as much as it teaches.
Entities that need a search are asked in the order of what an answer teaches: where neighbours wait for it, on both
sides, since a fact is evidence only where both graphs have it. One of many facts of a kind says little ("born in" a big
city), so neighbours count by the share that is open of each kind of fact.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
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
from dualmatch.review.spot_check import sample_order

VERDICTS: Final = tuple(Verdict)
_SURE: Final = 0.9  # links below are doubtful, and so are those that are less sure than the average link
_PLAUSIBLE: Final = 0.3  # proposals from here on are worth a look; below, one mostly has to search
_RIVAL: Final = 0.01
_LINKED, _UNDECIDED, _NO_MATCH = map(VERDICTS.index, (Verdict.LINKED, Verdict.UNDECIDED, Verdict.NO_MATCH))


class Tab(StrEnum):
    """The parts of the queue."""

    DOUBTFUL = "doubtful"
    PARTNER = "partner"
    SPOT = "spot"
    ALL = "all"

    @property
    def words(self) -> str:
        return {Tab.DOUBTFUL: "Doubtful", Tab.PARTNER: "Find a partner", Tab.SPOT: "Spot check", Tab.ALL: "All"}[self]

    @property
    def about(self) -> str:
        return {
            Tab.DOUBTFUL: "A candidate is likely but not sure: mostly one key each, and the next run learns from it.",
            Tab.PARTNER: "No candidate is likely: these need a search, or knowledge of your own.",
            Tab.SPOT: "Links drawn at random: your answers measure how many of all links are right.",
            Tab.ALL: "Every entity of the source.",
        }[self]

    @property
    def order(self) -> str:
        return {
            Tab.SPOT: "in the order they were drawn",
            Tab.PARTNER: "what teaches most first",
        }.get(self, "most useful for the effort first")


@dataclass(frozen=True, eq=False)
class Queue:
    """Every source entity with what is proposed for it.

    `proposed` (n_source,) int64: its partner, or the best candidate where it has none; -1 where there is no candidate.
    """

    basis: ExplanationBasis
    proposed: Ids
    probability: Floats  # (n_source,) float64: how likely that is
    verdict: NDArray[np.int8]  # (n_source,) int8: the verdict of the run on it: a place in `VERDICTS`
    settled: Floats  # (n_source,) float64: the share of the neighbours, of it and of what is proposed, that are settled
    teaches: Floats  # (n_source,) float64: what a decision would teach its neighbours
    is_known: Flags  # (n_source,) whether it was given: a seed, or an entity without a match

    @property
    def linked(self) -> Flags:
        """(n_source,) whether the run linked it."""
        return np.equal(self.verdict, _LINKED)

    @cached_property
    def order(self) -> Ids:
        """Source rows, the worthiest for its effort first; ties in the order of rows, which is that of names."""
        worth = self.probability * self.settled * np.where(self.linked, 1.0 - self.probability, 1.0)
        return np.argsort(np.where(self.is_known, 1.0, -worth), kind="stable").astype(np.int64)

    @cached_property
    def tabs(self) -> dict[Tab, Ids]:
        """The rows of each tab, in its order."""
        found = self.probability[self.linked & ~self.is_known]
        sure = max(_SURE, float(found.mean()) if len(found) else 0.0)
        doubtful = np.where(self.linked, self.probability < sure, self.probability >= _PLAUSIBLE) & ~self.is_known
        searched = ~self.linked & ~doubtful & ~self.is_known
        by_teaching = np.argsort(-self.teaches, kind="stable").astype(np.int64)
        return {
            Tab.DOUBTFUL: self.order[doubtful[self.order]],
            Tab.PARTNER: by_teaching[searched[by_teaching]],
            Tab.SPOT: self._sample(),
            Tab.ALL: self.order,
        }

    def _sample(self) -> Ids:
        """Links that the run found itself, drawn at random."""
        rows = np.flatnonzero(self.linked & ~self.is_known)
        source, target = self.basis.source.entities, self.basis.target.entities
        names = [source[row] for row in rows.tolist()], [target[row] for row in self.proposed[rows].tolist()]
        return sample_order(*names, rows)

    def rival(self, source: int) -> int | None:
        """The likeliest candidate apart from what is proposed; None where none is likely."""
        row = self.basis.candidates[[source]].tocoo()
        others = (row.col != self.proposed[source]) & (row.data >= _RIVAL)
        return int(row.col[others][np.argmax(row.data[others])]) if others.any() else None

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
    (here, kinds), (there, kinds_there) = (
        waiting(basis.source, 1.0 - sure),
        waiting(basis.target, 1.0 - settled_there),
    )
    influence = np.where(proposed >= 0, np.minimum(here, there[proposed]), 0.0)
    known = np.isin(np.arange(len(verdict)), [*source[basis.is_seed].tolist(), *basis.forbidden.alone.tolist()])
    teaches = _doubt(sure, verdict == _UNDECIDED) * influence
    share = 1.0 - (here / np.maximum(kinds, 1) + (there / np.maximum(kinds_there, 1))[proposed]) / 2
    return Queue(basis, proposed.astype(np.int64), probability, verdict, share, teaches, known)


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


def waiting(graph: TemporalGraph, open_share: Floats) -> tuple[Floats, Floats]:
    """For each entity, the share of its neighbours that is open, summed over its relations, each in both directions.

    Also how many of those it has.
    """
    entity, other = np.concatenate([graph.head, graph.tail]), np.concatenate([graph.tail, graph.head])
    directed = np.concatenate([graph.relation, graph.relation + graph.n_relations])
    kind = entity.astype(np.int64) * (2 * graph.n_relations) + directed
    kind, neighbour = np.divmod(_distinct(kind * graph.n_entities + other), graph.n_entities)
    kinds = _distinct(kind)
    place = np.searchsorted(kinds, kind)
    share = np.bincount(place, open_share[neighbour]) / np.bincount(place)
    whose = kinds // (2 * graph.n_relations)
    summed, count = np.bincount(whose, share, graph.n_entities), np.bincount(whose, minlength=graph.n_entities)
    return summed.astype(np.float64), count.astype(np.float64)


def _distinct(keys: Ids) -> Ids:
    """Sorted, each once; np.unique would hash, which takes ten times as long on many keys."""
    ordered = np.sort(keys)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered
