"""What distinguishes a candidate from the pair shown: facts that only one of them matches, or that count more there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from dualmatch.explain.explain import ends_of, fact_of
from dualmatch.explain.explanation import Fact
from dualmatch.graph.arrays import Ids
from dualmatch.graph.model import TemporalGraph
from dualmatch.methods.evidence.pair_evidence import PairEvidence

_MOST_FACTS: Final = 3
_LEAST: Final = 0.5  # what counts less for or against a candidate hardly tells it apart


class Shared(NamedTuple):
    """What a source entity shares with a target entity."""

    evidence: PairEvidence
    sides: Ids  # all fact sides of the source entity that match one there, also where they count for next to nothing
    texts: tuple[str, str] | None  # the two labels that agree best, as written


@dataclass(frozen=True)
class Difference:
    """A fact of the source entity, or its label, that speaks more for one candidate than for another."""

    how: str  # what the candidate does with it, compared with the pair that is shown
    weight: float  # how much more; less than nothing where it speaks for the pair that is shown
    fact: Fact | None = None  # None: labels
    texts: tuple[str, str] | None = None


def differences(graph: TemporalGraph, candidate: Shared, pair: Shared) -> tuple[Difference, ...]:
    """What counts more, or less, for a candidate than for the pair that is shown, the weightiest first."""
    ours, theirs = candidate.evidence, pair.evidence
    sides = np.concatenate([ours.source_side, theirs.source_side])
    neighbour = ends_of(graph, sides)[1]
    # Facts with the same neighbour count once, by whichever matches best; dates of the entity itself count each.
    _, first, at = np.unique(np.where(neighbour < 0, -1 - sides, neighbour), return_index=True, return_inverse=True)
    n, size = len(ours.weight), len(first)
    here = np.bincount(at.ravel()[:n], ours.weight, minlength=size)
    there = np.bincount(at.ravel()[n:], theirs.weight, minlength=size)
    more = here - there
    order = np.argsort(-np.abs(more), kind="stable")[:_MOST_FACTS]
    found = [
        Difference(
            _how(float(here[each]), float(there[each]), side in candidate.sides, side in pair.sides),
            float(more[each]),
            fact_of(graph, side),
        )
        for each, side in zip(order.tolist(), sides[first[order]].tolist(), strict=True)
    ]
    names = ours.balance.names - theirs.balance.names
    found.append(Difference(f"labels count {'more' if names > 0 else 'less'}", names, texts=candidate.texts))
    return tuple(sorted((each for each in found if abs(each.weight) >= _LEAST), key=lambda each: -abs(each.weight)))


def _how(here: float, there: float, matches_here: bool, matches_there: bool) -> str:
    """In a word, by what a fact adds for the candidate and for the pair; dates that contradict each other take away.

    >>> _how(3.0, 0.0, True, False), _how(0.0, 3.0, False, True), _how(2.8, 3.0, True, True)
    ('has', 'lacks', 'counts less')
    """
    if here < 0.0:
        return "contradicts" if there >= 0.0 else "contradicts less" if here > there else "contradicts more"
    if here > there:
        return "counts more" if there > 0.0 or matches_there else "has" if matches_here else "does not contradict"
    return "counts less" if here > 0.0 or matches_here else "lacks"
