"""Two vocabularies for one history's relations: merged, split and inverse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dualmatch.simulate.world import World

Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Vocabularies:
    """What each relation of the history is called on either side.

    Attributes
    ----------
    source, target: (n_relations,) int32
        Row of the relation in the source's and the target's vocabulary.
    inverse: (relations_target,) bool
        Target relations whose facts run from tail to head.
    """

    source: Ints
    target: Ints
    inverse: NDArray[np.bool_]

    def pairs(self) -> Ints:
        """True relation pairs as rows (source, target, 1 if inverse else 0), sorted."""
        turned = self.inverse[self.target].astype(np.int32)
        return np.unique(np.stack([self.source, self.target, turned], axis=1), axis=0)


def draw_vocabularies(world: World, rng: Generator) -> Vocabularies:
    """Draw both vocabularies.

    The history has one relation for each of the source, and a second for each that the target splits; the target
    covers them with fewer names, at random, every name used and the two halves of a split kept apart.
    """
    n_source, n_split, n_target = world.relations_source, world.relations_split, world.relations_target
    first_half = rng.permutation(n_source)[:n_split]
    source = np.r_[:n_source, first_half]

    # Second halves have a name of their own, so a first half without one need only avoid a single name.
    named = np.r_[n_source : n_source + n_split, rng.permutation(n_source)[: n_target - n_split]]
    target = np.full(n_source + n_split, -1)
    target[named] = rng.permutation(n_target)
    avoided = rng.integers(n_target, size=n_source)
    avoided[first_half] = target[n_source:]
    merged = np.flatnonzero(target < 0)
    target[merged] = (avoided[merged] + rng.integers(min(1, n_target - 1), n_target, size=len(merged))) % n_target

    inverse = rng.permutation(n_target) < world.relations_inverse
    return Vocabularies(source.astype(np.int32), target.astype(np.int32), inverse)
