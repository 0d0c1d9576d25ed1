"""What happened: entities, facts and dates, before anyone observed them.

Numbers of facts are drawn before facts are, so that the minimum holds by construction. On a side with n entities and
F facts there are 2F places to fill. Every entity gets `min_facts` of them; the X = 2F - n * min_facts others are shared
out by fame w. For entities that both sides know, z of these X are one draw that counts on both sides:

    D_i = min_facts + Z_i + U_i,  Z ~ Multinomial(z; ∝ w_i over both),  U ~ Multinomial(X - z; ∝ X w_i / W - E[Z_i])

(Z_i = 0 without a partner). So E[D_i] = min_facts + X w_i / W for all, with or without a partner, and the 2C places of
the common facts always fit: sum_i min(D_i^source, D_i^target) >= both * min_facts + z >= 2C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dualmatch.simulate.world import World

Ints = NDArray[np.int32]
Counts = NDArray[np.int64]
Weights = NDArray[np.float64]

NO_DAY: Final = -1
_EXCHANGE_ROUNDS: Final = 30


@dataclass(frozen=True, eq=False)
class History:
    """True facts as columns. Facts both observers know come first, then the source's own, then the target's own.

    `head`, `tail` (n_facts,) int32: entities: first those both sides know, then the source's own, then the target's
    own. `begin`, `end` (n_facts,) int32: days since the history began; `NO_DAY` where there is none. A point has begin
    = end. `common`, `source_own`: how many facts both observers know, and how many only the source does.
    """

    head: Ints
    relation: Ints  # (n_facts,) int32: the history's own, finest relations
    tail: Ints
    begin: Ints
    end: Ints
    common: int
    source_own: int

    def known_to_source(self) -> NDArray[np.intp]:
        """Numbers of the facts the source knows."""
        return np.arange(self.common + self.source_own)

    def known_to_target(self) -> NDArray[np.intp]:
        """Numbers of the facts the target knows."""
        own = np.arange(self.common + self.source_own, len(self.head))
        return np.concatenate([np.arange(self.common), own])


def draw_history(world: World, n_days: int, rng: Generator) -> History:
    """Draw entities' numbers of facts, then facts, then their relations and dates."""
    sizes = world.sizes
    source_entities = np.arange(sizes.both + sizes.source_only, dtype=np.int32)
    target_own = np.arange(sizes.target_only, dtype=np.int32) + len(source_entities)
    target_entities = np.concatenate([source_entities[: sizes.both], target_own])
    source_counts, target_counts = _facts_per_entity(world, source_entities, target_entities, rng)

    shared = np.minimum(source_counts[: sizes.both], target_counts[: sizes.both])
    common_counts = rng.multivariate_hypergeometric(shared, 2 * sizes.common_facts, method="marginals")
    common = _join_places(source_entities[: sizes.both], common_counts, rng)
    own = []
    for entities, counts in ((source_entities, source_counts), (target_entities, target_counts)):
        counts[: sizes.both] -= common_counts
        own.append(_join_places(entities, counts, rng))
    head, tail = np.concatenate([common, *own], axis=1)

    n_relations = world.relations_source + world.relations_split
    frequency = _power_law(n_relations, world.relation_skew, rng)
    relation = rng.choice(n_relations, size=len(head), p=frequency).astype(np.int32)
    begin, end = _draw_days(world, len(head), n_days, rng)
    return History(head, relation, tail, begin, end, common.shape[1], own[0].shape[1])


def _power_law(n: int, skew: float, rng: Generator) -> Weights:
    """Shares rank^-skew in random order; they add up to 1."""
    weights = rng.permutation(np.arange(1, n + 1, dtype=np.float64) ** -skew)
    return np.asarray(weights / weights.sum())


def _facts_per_entity(world: World, source: Ints, target: Ints, rng: Generator) -> tuple[Counts, Counts]:
    """Number of facts of each entity on the source and on the target side, in the order of `source` and `target`."""
    sizes = world.sizes
    both = sizes.both
    fame = _power_law(both + sizes.source_only + sizes.target_only, world.degree_skew, rng)
    sides = ((fame[source], sizes.source_facts), (fame[target], sizes.target_facts))

    spare = [2 * facts - len(w) * world.min_facts for w, facts in sides]  # X
    spare_both = min(x * w[:both].sum() / w.sum() for x, (w, _) in zip(spare, sides, strict=True))
    share = 2 * sizes.common_facts / (world.mean_facts * both)
    z = min(max(round(share * spare_both), 2 * sizes.common_facts - both * world.min_facts, 0), *spare)
    together = rng.multinomial(z, fame[:both] / fame[:both].sum())  # Z

    counts = []
    for x, (w, _) in zip(spare, sides, strict=True):
        expected = x * w / w.sum()
        expected[:both] = np.maximum(expected[:both] - z * w[:both] / w[:both].sum(), 0)
        total = expected.sum()
        alone = rng.multinomial(x - z, expected / total if total > 0 else w / w.sum())  # U
        alone[:both] += together
        counts.append(alone + world.min_facts)
    return counts[0], counts[1]


def _join_places(entities: Ints, counts: Counts, rng: Generator) -> Ints:
    """Facts as (2, n) heads and tails: entity i fills counts[i] places, joined at random, never to itself.

    A fact of an entity with itself would take two of its places: tails are exchanged until there is none. Where that
    cannot be (an entity with more places than all others together, in very small worlds), the fact is opened into two
    facts with others, so that no entity ends below its number.
    """
    places = np.repeat(entities, counts)
    rng.shuffle(places)
    head, tail = places[0::2], places[1::2].copy()
    for _ in range(_EXCHANGE_ROUNDS):
        loops = np.flatnonzero(head == tail)
        if not len(loops):
            return np.stack([head, tail])
        mixed = np.union1d(loops, rng.integers(len(head), size=4 * len(loops) + 4))
        tail[mixed] = rng.permutation(tail[mixed])
    loops = np.flatnonzero(head == tail)
    looped = np.tile(np.searchsorted(entities, head[loops]), 2)
    others = entities[(looped + rng.integers(1, len(entities), size=len(looped))) % len(entities)]
    tail[loops] = others[: len(loops)]
    return np.stack([np.r_[head, head[loops]], np.r_[tail, others[len(loops) :]]])


def _draw_days(world: World, n: int, n_days: int, rng: Generator) -> tuple[Ints, Ints]:
    """True begin and end of each fact: a point, an interval between two random days, half of one, or no time."""
    days = rng.integers(n_days, size=(2, n), dtype=np.int32)
    days[1] = np.where(rng.random(n) < world.point_share, days[0], days[1])
    begin, end = days.min(axis=0), days.max(axis=0)
    half = (begin != end) & (rng.random(n) < world.half_known_share)
    open_end = rng.random(n) < 0.5
    undated = rng.random(n) < world.undated_share
    begin[(half & ~open_end) | undated] = NO_DAY
    end[(half & open_end) | undated] = NO_DAY
    return begin, end


@dataclass(frozen=True, eq=False)
class Vocabularies:
    """What each relation of the history is called on either side.

    `source`, `target` (n_relations,) int32: row of the relation in the source's and the target's vocabulary.
    """

    source: Ints
    target: Ints
    inverse: NDArray[np.bool_]  # (relations_target,) bool: target relations whose facts run from tail to head

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
