"""What every step of a method needs: the graphs, the seeds, the options and the clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualmatch.channels.temporal import temporal_similarity
from dualmatch.config import EXPLAINED, Config
from dualmatch.decode.assignment import FoundPairs, decide, mutual_best
from dualmatch.decode.forbidden import Forbidden
from dualmatch.decode.fusion import Decoded, FusedPlan
from dualmatch.decode.graph_matching import MatchingProblem, matching_problem
from dualmatch.decode.similarity import Similarity
from dualmatch.decode.sinkhorn import Plan, sinkhorn
from dualmatch.engine import Engine
from dualmatch.graph.arrays import Pairs
from dualmatch.graph.literals import LiteralPair
from dualmatch.graph.model import TemporalGraph
from dualmatch.methods.alignment import Alignment, SoftPlan
from dualmatch.methods.evidence import MORE_LIKELY_THAN_NOT, EvidenceResult
from dualmatch.methods.run_store import RunStore
from dualmatch.progress import Stages


@dataclass(frozen=True, eq=False)
class MethodContext:
    """The input of every step of a method, and the result that the last step makes."""

    source: TemporalGraph
    target: TemporalGraph
    seeds: Pairs
    config: Config
    stages: Stages
    store: RunStore
    literals: LiteralPair | None
    forbidden: Forbidden
    engine: Engine | None = None

    @property
    def share(self) -> int:
        """Bytes: features, S^t, S^r and the kernel may each take a quarter; above that they are computed in blocks."""
        return self.config.memory_limit // 4

    def temporal(self) -> Similarity:
        config = self.config
        room = config.memory_limit // 3  # what they are compared by takes the other two thirds
        similarity = temporal_similarity(self.source, self.target, config.hops, config.zero_counts, self.share, room)
        return self.forbidden.lowered(similarity)

    def pseudo_seeds(self, plan: Plan) -> FoundPairs:
        """Pairs that choose each other in P^{G_s G_t} (`plan`) and in P^{G_t G_s}: Algorithm 1, lines 6 to 8."""
        backward = sinkhorn(plan.kernel, self.config.sinkhorn_iterations, first="columns")
        return mutual_best(plan.best(), backward.best())

    def problem(self, known: NDArray[np.integer]) -> MatchingProblem:
        """What D compares; `known` pairs share a label in its kernels."""
        return matching_problem(self.source, self.target, known, self.config.wl_iterations, self.config.zero_counts)

    def in_facts(self, found: FoundPairs) -> FoundPairs:
        """Without the pairs of entities in no fact: what the encoder says of them is how it was initialised."""
        kept = self.source.is_in_a_fact[found.pairs[:, 0]] & self.target.is_in_a_fact[found.pairs[:, 1]]
        return FoundPairs(found.pairs[kept], found.confidence[kept])

    def of_evidence(self, evidence: EvidenceResult, fused: FusedPlan | None = None) -> Alignment:
        """The result of rounds of evidence."""
        with self.stages("decode"):
            pairs, confidence = evidence.pairs
            found = FoundPairs(pairs.astype(np.int32), confidence)
        first_pairs = None if len(self.seeds) else evidence.first_pairs.astype(np.int32)
        plan = evidence.plan if fused is None else fused.plan
        return self.alignment(found, plan, pseudo_seeds=first_pairs, evidence=evidence, fused=fused)

    def alignment(
        self,
        found: FoundPairs,
        plan: SoftPlan,
        *,
        pseudo_seeds: Pairs | None,
        decoded: Decoded | None = None,
        evidence: EvidenceResult | None = None,
        fused: FusedPlan | None = None,
    ) -> Alignment:
        """The result: seeds as given, and of what was found for other entities what is sure enough."""
        config = self.config
        free = ~np.isin(found.pairs[:, 0], self.seeds[:, 0]) & self.forbidden.allows(found.pairs)
        if not config.many_to_one:
            free &= ~np.isin(found.pairs[:, 1], self.seeds[:, 1])
        found = FoundPairs(found.pairs[free], found.confidence[free])
        threshold = MORE_LIKELY_THAN_NOT if config.method in EXPLAINED else None
        sure = decide(found.confidence, threshold, config.min_confidence, config.max_fdr)
        pairs = np.concatenate([self.seeds, found.pairs[sure]])
        confidence = np.concatenate([np.ones(len(self.seeds)), found.confidence[sure]])
        order = np.argsort(pairs[:, 0], kind="stable")
        return Alignment(
            self.source,
            self.target,
            pairs[order],
            confidence[order],
            order < len(self.seeds),
            found.pairs,
            found.confidence,
            plan,
            config,
            pseudo_seeds=pseudo_seeds,
            decoded=decoded,
            evidence=evidence,
            fused=fused,
            seconds=dict(self.stages.seconds),
            forbidden=self.forbidden,
        )
