"""What every step of a method needs: the graphs, the seeds, the options and the clock."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dualmatch.alignment import Pairs
from dualmatch.config import Config
from dualmatch.decode.forbidding import Forbidden
from dualmatch.decode.matching import MatchingProblem, matching_problem
from dualmatch.decode.sinkhorn import Plan, sinkhorn
from dualmatch.encode.seeds import FoundPairs, mutual_best
from dualmatch.encode.temporal import temporal_similarity
from dualmatch.graph.literals import LiteralPair
from dualmatch.graph.model import TemporalGraph
from dualmatch.similarity import Similarity
from dualmatch.stages import Stages


class Run:
    """What every step needs: the graphs, the seeds, the options and the clock."""

    def __init__(
        self,
        source: TemporalGraph,
        target: TemporalGraph,
        seeds: Pairs,
        config: Config,
        stages: Stages,
        checkpoint: Path | None,
        literals: LiteralPair | None,
        forbidden: Forbidden,
    ) -> None:
        self.source, self.target, self.seeds, self.literals = source, target, seeds, literals
        self.forbidden = forbidden
        self.config, self.stages, self.checkpoint = config, stages, checkpoint
        # The features, S^t, S^r and the kernel may each take a quarter; above that they are computed in blocks again.
        self.share = config.memory_limit // 4

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
        config = self.config
        return matching_problem(self.source, self.target, known, config.wl_iterations, config.zero_counts)
