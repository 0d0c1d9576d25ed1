"""Pairs that do not move in a round: settled ones without a rival, or seeds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from dualmatch.decode.one_to_one import Unmatched
from dualmatch.graph.arrays import Flags, Floats, Ids
from dualmatch.methods.evidence.propagation import Evidence
from dualmatch.methods.evidence.state import RoundState, both


@dataclass(frozen=True, eq=False)
class StillPairs:
    """Entities of pairs that do not move: their chances, nan for all other entities."""

    unmatched: Unmatched
    many_to_one: bool

    @classmethod
    def of(cls, start: RoundState, moving: Ids, many_to_one: bool) -> Self:
        still = np.delete(np.arange(len(start.candidates)), moving)
        ends = start.candidates.row[still], start.candidates.column[still]

        def of_still(side: int, chance: tuple[Floats, Floats]) -> Floats:
            kept = np.full(len(chance[side]), np.nan)
            kept[ends[side]] = chance[side][ends[side]]
            return kept

        return cls(
            Unmatched(
                both(lambda side: of_still(side, start.alone)), both(lambda side: of_still(side, start.elsewhere))
            ),
            many_to_one,
        )

    @cached_property
    def entities(self) -> tuple[Flags, Flags]:
        """Which entities they are; no targets where those may be taken twice."""
        source, target = both(lambda side: ~np.isnan(self.unmatched.alone[side]))
        return source, target & (not self.many_to_one)

    def apart(self, evidence: Evidence) -> Evidence:
        """The evidence, in which they are nobody's partner elsewhere."""
        nothing = both(lambda side: np.where(self.entities[side], -np.inf, evidence.nothing[side]))
        return replace(evidence, nothing=nothing)

    def joined(self, moved: Unmatched) -> Unmatched:
        """The chances of those that move, and of those that do not."""

        def first_known(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
            return both(lambda side: np.where(np.isnan(one[side]), other[side], one[side]))

        still = self.unmatched
        return Unmatched(first_known(still.alone, moved.alone), first_known(still.elsewhere, moved.elsewhere))
