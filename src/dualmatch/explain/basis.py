"""What an explanation rests on, from an alignment in memory or from the file beside a written one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.channels.evidence.term_cache import TermCache
from dualmatch.channels.names import normalised
from dualmatch.decode.forbidden import Forbidden
from dualmatch.decode.shortlist import best_candidates
from dualmatch.decode.verdicts import Reason, Unlinked, unlinked
from dualmatch.errors import InputError
from dualmatch.graph.arrays import NO_PARTNER, Flags, Floats, Ids
from dualmatch.graph.literals import LiteralPair
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.ordering import ranks_of
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.evidence import MORE_LIKELY_THAN_NOT
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.methods.evidence.learning import learnt
from dualmatch.methods.evidence.pair_evidence import PairEvidence, pair_evidence
from dualmatch.methods.evidence.problem import Problem
from dualmatch.methods.evidence.state import RoundState


@dataclass(frozen=True, eq=False)
class ExplanationBasis:
    """The graphs, what the last round believed, and what was decided."""

    source: TemporalGraph
    target: TemporalGraph
    state: RoundState  # where the rounds of the run ended, flipped or not
    trial: Confidence
    candidates: sp.csr_array  # (n_source, n_target): the few best of each side, with their probability
    pairs: NDArray[np.integer]  # (n, 2); with confidence and is_seed as in `Alignment`
    confidence: Floats
    is_seed: Flags
    source_ids: Ids | None = None  # that entities have in the input files
    target_ids: Ids | None = None
    literals: LiteralPair | None = None  # where the run compared labels
    many_to_one: bool = False
    forbidden: Forbidden = field(default_factory=lambda: Forbidden(np.zeros((0, 2), np.int32)))
    is_flipped: bool = False  # whether source and target were swapped

    @cached_property
    def problem(self) -> Problem:
        """The graphs as the run saw them."""
        graphs, seeds, literals = (self.source, self.target), self.pairs[self.is_seed], self.literals
        if self.is_flipped:
            graphs, seeds, literals = graphs[::-1], seeds[:, ::-1], None if literals is None else literals[::-1]
        return Problem.of(*graphs, seeds, literals=literals, many_to_one=self.many_to_one)

    @cached_property
    def judged_by(self) -> RoundState:
        """The state; where it came without a model (0.1.0 kept none), with the one that its pairs teach."""
        return self.state if self.state.has_slots else learnt(self.problem, self.state)

    @cached_property
    def _kept(self) -> TermCache:
        return {}

    def evidence(self, pairs: NDArray[np.integer]) -> list[PairEvidence]:
        """What speaks for each of some pairs of rows, (n, 2)."""
        if not len(pairs):
            return []
        as_run = pairs[:, ::-1] if self.is_flipped else pairs
        found = pair_evidence(self.problem, self.judged_by, self.trial, as_run, self._kept)
        if not self.is_flipped:
            return found
        return [
            replace(
                each,
                source_side=each.target_side,
                target_side=each.source_side,
                texts=None if each.texts is None else each.texts[::-1],
            )
            for each in found
        ]

    def __post_init__(self) -> None:
        """Show labels that were compared where a graph has none of its own to show, as in calls from Python."""
        for side, literals in zip(("source", "target"), self.literals or (), strict=False):
            graph: TemporalGraph = getattr(self, side)
            if not graph.labels and literals.labels:
                named = {graph.entities[row]: label for row, label in literals.labels.items()}
                object.__setattr__(self, side, graph.with_labels(named))

    def as_written(self, row: int, other: int, texts: tuple[str, str] | None) -> tuple[str, str] | None:
        """Two normalised labels of a source and a target row, as their files have them."""
        if texts is None or self.literals is None:
            return None
        source, target = (
            next((value for value in said.values_of(each) if normalised(value) == text), text)
            for said, each, text in zip(self.literals, (row, other), texts, strict=True)
        )
        return source, target

    @cached_property
    def believed(self) -> frozenset[tuple[int, int]]:
        """The pairs of rows that the last round took for the same."""
        pairs = self.state.believed.pairs[:, ::-1] if self.is_flipped else self.state.believed.pairs
        return frozenset(zip(pairs[:, 0].tolist(), pairs[:, 1].tolist(), strict=True))

    @cached_property
    def believed_partner(self) -> Ids:
        """(n_source,): the target row that the last round took for the same as each source row; -1 for none."""
        partner = np.full(self.source.n_entities, -1, dtype=np.int64)
        pairs = self.state.believed.pairs
        here, there = (1, 0) if self.is_flipped else (0, 1)
        partner[pairs[:, here]] = pairs[:, there]
        return partner

    @cached_property
    def source_of(self) -> Ids:
        """(n_target,): the source row that each target row is linked with, else believed to be; -1 for none."""
        partner = np.full(self.target.n_entities, -1, dtype=np.int64)
        known = np.flatnonzero(self.believed_partner >= 0)
        partner[self.believed_partner[known]] = known
        partner[self.pairs[:, 1]] = self.pairs[:, 0]
        return partner

    def relation_odds(self, source: Ids, target: Ids) -> Floats:
        """How much likelier pairs of directed relations are to say the same than chance has it."""
        if self.is_flipped:
            source, target = target, source
        forward, backward = self.judged_by.model.odds.at(source, target)
        odds: Floats = forward * backward
        return odds

    def same_relation(self, source: Ids, target: Ids) -> Flags:
        """Which pairs of directed relations are likelier to say the same than chance has it."""
        same: Flags = self.relation_odds(source, target) > 1.0
        return same

    @cached_property
    def target_ranks(self) -> Ids:
        """Place of each target's name in the sorted list, which breaks ties."""
        return ranks_of(self.target.entities)

    @cached_property
    def unlinked(self) -> Unlinked:
        """Why each source in no link has none."""
        return unlinked(
            best_candidates(self.candidates, self.target_ranks),
            self.pairs,
            self.source.is_in_a_fact,
            self.target.n_entities,
            self.trial.of_alone(self.state.alone[1 if self.is_flipped else 0]),
            self.many_to_one and not self.is_flipped,
            MORE_LIKELY_THAN_NOT,
            alone=self.forbidden.alone,
        )

    def why_unlinked(self, at: int) -> str:
        """Why the `at`-th source in no link has none, in words for people."""
        none, best = self.unlinked, int(self.unlinked.best[at])
        name = str(self.target.shown(best)) if best >= 0 else ""
        return Reason(none.reason[at]).in_words(name, float(none.probability[at]))

    def flipped(self) -> ExplanationBasis:
        """The same with source and target swapped, for questions about target entities.

        A source takes one target only, whatever the run allowed targets: seen from there, sources can be gone.
        """
        return replace(
            self,
            source=self.target,
            target=self.source,
            candidates=sp.csr_array(self.candidates.T),
            pairs=self.pairs[:, ::-1],
            source_ids=self.target_ids,
            target_ids=self.source_ids,
            literals=None if self.literals is None else (self.literals[1], self.literals[0]),
            forbidden=Forbidden(self.forbidden.pairs[self.forbidden.pairs[:, 1] != NO_PARTNER][:, ::-1]),
            is_flipped=not self.is_flipped,
        )


def basis_of(alignment: Alignment) -> ExplanationBasis:
    """The basis of an alignment in memory.

    Raises
    ------
    InputError
        Where its method does not go by evidence.
    """
    evidence, candidates = alignment.evidence, alignment.candidates
    if evidence is None or candidates is None:
        raise InputError(no_evidence(alignment.method))
    return ExplanationBasis(
        alignment.source,
        alignment.target,
        evidence.state,
        evidence.confidence,
        candidates,
        alignment.pairs,
        alignment.confidence,
        alignment.is_seed,
        literals=evidence.problem.literals,
        many_to_one=alignment.config.many_to_one,
        forbidden=alignment.forbidden,
    )


def no_evidence(method: str) -> str:
    """Why there is nothing to explain."""
    return f"method {method} keeps no evidence to explain links with; align with method evidence to explain"
