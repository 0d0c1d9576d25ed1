"""Knowledge: what a round may build on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dualmatch.channels.evidence.fact_views import Ids

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SoftPairs:
    """Entity pairs believed so far, each with a weight in (0, 1]; an entity may stand in several."""

    source: Ids
    target: Ids
    weight: Floats

    @cached_property
    def by_side(self) -> tuple[Ids, Ids]:
        """Numbers of the pairs, sorted by their source and by their target entity."""
        return np.argsort(self.source, kind="stable"), np.argsort(self.target, kind="stable")


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What tokens may build on: aligned entities, and a class for each directed relation of either graph."""

    pairs: SoftPairs
    source_class: Ids
    target_class: Ids
