"""The result of a run: pairs with a confidence, sources without a match, and what is needed to judge them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dualmatch.config import Config
from dualmatch.decode.decoder import Decoded
from dualmatch.decode.sinkhorn import Best, Vector
from dualmatch.evidence import Round
from dualmatch.graph.model import TemporalGraph
from dualmatch.similarity import Rows
from dualmatch.version import __version__

Pairs = NDArray[np.int32]


class SoftPlan(Protocol):
    """P̂ before any top-1: what rankings are read from."""

    def best(self) -> Best: ...

    def ranks(self, pairs: NDArray[np.integer]) -> tuple[Vector, Vector]: ...

    def restricted(self, rows: Rows, columns: Rows) -> SoftPlan: ...


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """Which source entity is which target entity.

    Attributes
    ----------
    pairs: (n, 2) int32
        Source and target rows, sorted by source; 1-to-1.
    confidence: (n,) float64 in [0, 1]
    is_seed: (n,) bool
        Pairs that were given, not found.
    plan:
        The soft scores of the run.
    pseudo_seeds: (m, 2) int32 or None
        The pairs the run found by time alone before anything else.
    decoded:
        What the GM-Decoder chose and why: α, and D with both kernels for every α tried.
    rounds:
        What each round of evidence did.
    seconds:
        What each stage took.
    """

    source: TemporalGraph
    target: TemporalGraph
    pairs: Pairs
    confidence: NDArray[np.float64]
    is_seed: NDArray[np.bool_]
    plan: SoftPlan
    config: Config
    pseudo_seeds: Pairs | None = None
    decoded: Decoded | None = None
    rounds: tuple[Round, ...] | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    version: str = __version__

    @property
    def method(self) -> str:
        return self.config.method

    @property
    def unmatched(self) -> NDArray[np.intp]:
        """Source rows that end as "no match"."""
        return np.setdiff1d(np.arange(self.source.n_entities), self.pairs[:, 0])

    def links(self) -> list[tuple[str, str, float]]:
        """(source name, target name, confidence) of each pair, sorted by source name."""
        rows = [
            (self.source.entities[s], self.target.entities[t], c)
            for (s, t), c in zip(self.pairs.tolist(), self.confidence.tolist(), strict=True)
        ]
        return sorted(rows)

    def __repr__(self) -> str:
        found = len(self.pairs) - int(self.is_seed.sum())
        return (
            f"Alignment({self.method}: {found:,} pairs found, {int(self.is_seed.sum()):,} seeds, "
            f"{len(self.unmatched):,} of {self.source.n_entities:,} source entities without a match)"
        )
