"""Grounds: what an explanation rests on, from an alignment in memory or from the file beside a written one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.alignment import Alignment
from dualmatch.decode.belief import SURE
from dualmatch.decode.forbidding import NO_PARTNER, Forbidden
from dualmatch.decode.no_match import NoMatches, no_matches
from dualmatch.decode.shortlist import best_candidates
from dualmatch.encode.evidence.knowledge import Knowledge, SoftPairs
from dualmatch.encode.evidence.shared import Scoring
from dualmatch.errors import InputError
from dualmatch.graph.literals import LiteralPair
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.names import ranks_of


@dataclass(frozen=True, eq=False)
class Grounds:
    """The graphs, what the last round knew, and what was decided.

    Attributes
    ----------
    knowledge:
        What the last round's tokens were built on; None where it was the first round, without seeds.
    candidates: (n_source, n_target) csr
        The few best of each source and of each target, with their probability.
    pairs: (n, 2), confidence: (n,), is_seed: (n,)
        As in `Alignment`.
    source_ids, target_ids: (n_entities,) int64 or None
        The ids entities have in the input files.
    literals:
        Labels and other literals, where the run looked at them.
    many_to_one:
        Whether several source entities may take one target, so that none is ever gone.
    forbidden:
        What the run was told not to link.
    """

    source: TemporalGraph
    target: TemporalGraph
    knowledge: Knowledge | None
    candidates: sp.csr_array
    pairs: NDArray[np.integer]
    confidence: NDArray[np.float64]
    is_seed: NDArray[np.bool_]
    source_ids: NDArray[np.int64] | None = None
    target_ids: NDArray[np.int64] | None = None
    literals: LiteralPair | None = None
    many_to_one: bool = False
    forbidden: Forbidden = field(default_factory=lambda: Forbidden(np.zeros((0, 2), np.int32)))

    @cached_property
    def scoring(self) -> Scoring:
        """The last round's tokens, built again."""
        return Scoring(self.source, self.target, self.knowledge, self.literals)

    @cached_property
    def believed(self) -> frozenset[tuple[int, int]]:
        """The pairs of rows that the last round took for the same, at least in part."""
        if self.knowledge is None:
            return frozenset()
        pairs = self.knowledge.pairs
        return frozenset(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True))

    @cached_property
    def target_ranks(self) -> NDArray[np.int64]:
        """Place of each target's name in the sorted list, which breaks ties."""
        return ranks_of(self.target.entities)

    @cached_property
    def no_matches(self) -> NoMatches:
        """Why each unmatched source has no partner."""
        return no_matches(
            best_candidates(self.candidates, self.target_ranks),
            self.pairs,
            self.source.is_in_a_fact,
            self.target.n_entities,
            self.many_to_one,
            SURE,
            alone=self.forbidden.alone,
        )

    def flipped(self) -> Grounds:
        """The same with source and target changed over, for questions about target entities.

        A source takes one target only, whatever the run allowed targets: seen from there, sources can be gone.
        """
        known = self.knowledge
        if known is not None:
            pairs = SoftPairs(known.pairs.target, known.pairs.source, known.pairs.weight)
            known = replace(known, pairs=pairs, source_class=known.target_class, target_class=known.source_class)
        return Grounds(
            self.target,
            self.source,
            known,
            sp.csr_array(self.candidates.T),
            self.pairs[:, ::-1],
            self.confidence,
            self.is_seed,
            self.target_ids,
            self.source_ids,
            None if self.literals is None else (self.literals[1], self.literals[0]),
            forbidden=Forbidden(self.forbidden.pairs[self.forbidden.pairs[:, 1] != NO_PARTNER][:, ::-1]),
        )


def grounds_of(alignment: Alignment) -> Grounds:
    """The grounds of an alignment in memory.

    Raises
    ------
    InputError
        Where its method does not go by evidence.
    """
    evidence, candidates = alignment.evidence, alignment.candidates
    if evidence is None or candidates is None:
        raise InputError(no_evidence(alignment.method))
    return Grounds(
        alignment.source,
        alignment.target,
        evidence.knowledge,
        candidates,
        alignment.pairs,
        alignment.confidence,
        alignment.is_seed,
        literals=evidence.literals,
        many_to_one=alignment.config.many_to_one,
        forbidden=alignment.forbidden,
    )


def no_evidence(method: str) -> str:
    """Why there is nothing to explain."""
    return (
        f"method {method} keeps no evidence that could be told in words; align with method evidence or fused to explain"
    )
