"""The model: what is learnt about two graphs while they are aligned, without labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.channels.evidence.agreement import RelationOdds
from dualmatch.channels.evidence.date_gaps import DateGaps
from dualmatch.channels.evidence.ties import Ids, Ties

Floats = NDArray[np.float64]

COVERAGES: Final = np.array([0.05, 0.1, 0.2, 0.4, 0.7, 1.0])
"""How well the other graph covers an entity, as a share of what it usually covers; their weights are learnt."""
SIZE_CLASSES: Final = np.array([0, 1, 2, 3, 5, 9, 17, 33])
"""Largest number of facts of each class of entities but the last: poor ones lack a partner more often."""
_FIRST_OVERLAP: Final = 0.3
_FIRST_DIFFER: Final = 0.01
_FIRST_ALONE: Final = 0.5
_LEAST_ALONE: Final = 0.002


def size_class(n_facts: Ids) -> Ids:
    """The class of entities with so many facts.

    >>> size_class(np.array([0, 1, 4, 5, 6, 1000])).tolist()
    [0, 1, 4, 4, 5, 8]
    """
    return np.searchsorted(SIZE_CLASSES, n_facts, side="left")


@dataclass(frozen=True, eq=False)
class Model:
    """What tells true pairs from chance.

    Attributes
    ----------
    odds:
        Which relations of the two graphs say the same.
    overlap: two (n_directed,) float64
        How often a fact of each relation is in the other graph, where both its entities are.
    gaps: DateGaps
        How often, and by how much, a tie that both graphs have is dated differently in them.
    coverage: (len(COVERAGES),) float64
        Weights of `COVERAGES`; they add up to 1.
    alone: two (len(SIZE_CLASSES) + 1,) float64
        Share of the entities of each size class that have no partner.
    names: (n_script_pairs, n_degrees) float64 or None
        How often the labels of true pairs agree to each degree (`dualmatch.channels.names`); None without labels.
    first_names:
        What labels said by themselves, before any fact was looked at; what is learnt later begins there.
    """

    odds: RelationOdds
    overlap: tuple[Floats, Floats]
    gaps: DateGaps
    coverage: Floats
    alone: tuple[Floats, Floats]
    names: Floats | None = None
    first_names: Floats | None = None

    @classmethod
    def first(cls, source: Ties, target: Ties, names: Floats | None = None) -> Self:
        """Before anything was learnt."""
        model = cls.of_sizes(source.n_directed, target.n_directed)
        return replace(model, odds=RelationOdds.unknown(source, target), names=names, first_names=names)

    @classmethod
    def of_sizes(cls, n_source: int, n_target: int) -> Self:
        """Before even the graphs were seen: of relations only their numbers, both directions counted, are known."""
        chances = np.full(n_source, 1.0 / max(n_source, 1)), np.full(n_target, 1.0 / max(n_target, 1))
        return cls(
            RelationOdds(sp.csr_matrix((n_source, n_target)), chances),
            (np.full(n_source, _FIRST_OVERLAP), np.full(n_target, _FIRST_OVERLAP)),
            DateGaps.unknown(_FIRST_DIFFER),
            COVERAGES / COVERAGES.sum(),
            (_evenly(), _evenly()),
        )

    def with_even_chances(self) -> Self:
        """The same model, before it was learnt how many entities have no partner."""
        return replace(self, alone=(_evenly(), _evenly()))

    def tie_overlap(self, ties: Ties, side: int) -> Floats:
        """How likely each tie is to have a fact that the other graph has: (n_ties,)."""
        missed = np.bincount(ties.tie, np.log1p(-self.overlap[side][ties.relation]), minlength=ties.n_ties)
        return -np.expm1(missed)


def _evenly() -> Floats:
    return np.full(len(SIZE_CLASSES) + 1, _FIRST_ALONE)


def share_alone(chance: Floats, classes: Ids, weight: float = 20.0) -> Floats:
    """Share without a partner of each size class, drawn towards that of all: (len(SIZE_CLASSES) + 1,)."""
    size = len(SIZE_CLASSES) + 1
    overall = float(chance.mean()) if len(chance) else _FIRST_ALONE
    share = (np.bincount(classes, chance, minlength=size) + weight * overall) / (
        np.bincount(classes, minlength=size) + weight
    )
    return np.clip(share, _LEAST_ALONE, 1.0 - _LEAST_ALONE)
