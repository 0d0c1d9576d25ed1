"""Tokens: what the facts of an entity say about it, as sparse entity × token matrices of both graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.channels.evidence.fact_views import FactSides, Ids, TimeKind
from dualmatch.channels.evidence.knowledge import Knowledge
from dualmatch.channels.evidence.token_families import Among, Family, families, family_of

Floats = NDArray[np.float64]


class Scale(NamedTuple):
    """What all entities' tokens tell together, and some entities' do not.

    Attributes
    ----------
    smoothing:
        What one fact more weighs (`Tokens.smoothing`).
    dearest:
        Tokens that cost this much or more are hubs, and not searched by.
    """

    smoothing: float
    dearest: float


@dataclass(frozen=True, eq=False)
class Tokens:
    """Entity × token matrices over the tokens that occur in both graphs.

    Attributes
    ----------
    source, target: (n_entities, n_tokens) csr float32
        √count × weight; columns sorted.
    weights: (n_tokens,) float64
        Information of a token, ln(entities / entities that have it), times its family's factor.
    cost: (n_tokens,) float64
        Products the token adds to source · targetᵀ: the product of its document frequencies.
    smoothing: float
        Mean squared weight that one fact side brings: what "one fact more" weighs.
    keys: one sorted int64 array for each family
        The key of each token, family by family in the order of the columns.
    among: Among | None
        The entities that the rows of `source` and `target` stand for, and whose tokens there are; None for all.
    """

    source: sp.csr_matrix
    target: sp.csr_matrix
    weights: Floats
    cost: Floats
    smoothing: float
    keys: tuple[Ids, ...]
    among: Among | None = None


class TokenBuilder:
    """Token matrices of one pair of graphs, round after round.

    Families that rest on nothing new (times; relations, where their classes are as they were) are kept from the
    round before.
    """

    def __init__(self, source: FactSides, target: FactSides, kinds: tuple[TimeKind, ...]) -> None:
        self.source, self.target, self.kinds = source, target, kinds
        self._n_fixed = len(source.times)
        self._n_lasting = self._n_fixed + len(source.times) + 1
        self._kept: dict[int, Family] = {}
        self._classes: tuple[bytes, bytes] | None = None

    def build(self, known: Knowledge | None, among: Among | None = None, smoothing: float | None = None) -> Tokens:
        """Times only where nothing is known yet, else with relations and neighbours.

        Parameters
        ----------
        among:
            Entities to build tokens for; how much a token says still rests on all entities. It costs what these
            entities and those who share their tokens cost.
        smoothing:
            Of all entities' tokens, where it is known: some entities' tokens do not tell it.
        """
        views = zip(
            families(self.source, self.kinds, known, 0), families(self.target, self.kinds, known, 1), strict=True
        )
        parts = []
        for number, ((factor, left), (_, right)) in enumerate(views):
            kept = self._still_valid(number, known)
            if kept is None:
                kept = family_of((left(), right()), (self.source.n_entities, self.target.n_entities), factor, among)
            elif among is not None:
                kept = kept.at(among)
            if number < self._n_lasting and among is None:
                self._kept[number] = kept
            parts.append(kept)
        if known is not None and among is None:
            self._classes = known.source_class.tobytes(), known.target_class.tobytes()
        if not parts:  # no times, and nothing known
            return _no_tokens((self.source.n_entities, self.target.n_entities), among)
        source, target = (sp.hstack([part.counts[side] for part in parts], format="csr") for side in (0, 1))
        if smoothing is None:
            mass = sum(float((matrix.data.astype(np.float64) ** 2).sum()) for matrix in (source, target))
            smoothing = mass / max(1, len(self.source.entity) + len(self.target.entity))
        return Tokens(
            source,
            target,
            np.concatenate([part.weights for part in parts]),
            np.concatenate([part.cost for part in parts]),
            smoothing,
            tuple(part.keys for part in parts),
            among,
        )

    def _still_valid(self, number: int, known: Knowledge | None) -> Family | None:
        if number < self._n_fixed:
            return self._kept.get(number)
        if known is not None and number < self._n_lasting:
            same = self._classes == (known.source_class.tobytes(), known.target_class.tobytes())
            return self._kept.get(number) if same else None
        return None


def _no_tokens(shape: tuple[int, int], among: Among | None) -> Tokens:
    """Nothing to compare entities by."""
    sizes = shape if among is None else (len(among[0]), len(among[1]))
    source, target = (sp.csr_matrix((size, 0), dtype=np.float32) for size in sizes)
    return Tokens(source, target, np.zeros(0), np.zeros(0), 1.0, (), among)


def build_tokens(
    source: FactSides,
    target: FactSides,
    kinds: tuple[TimeKind, ...],
    known: Knowledge | None,
    among: Among | None = None,
    smoothing: float | None = None,
) -> Tokens:
    """Token matrices of a single round."""
    return TokenBuilder(source, target, kinds).build(known, among, smoothing)
