"""Hiding: which settled pairs lose a partner, so that one can see what an entity without partner gets."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dualmatch.decode.mixture import Scores
from dualmatch.decode.sinkhorn import Vector

Chosen = NDArray[np.bool_]

SHARE = 0.2
"""This share of the pairs is hidden in a fold, half of them losing their target and half their source."""
LEAST_SETTLED = 120
"""Where fewer pairs are settled, this many of the best are taken: a wrong pair taken apart does no harm."""
_ENOUGH = 500  # hidden pairs; small graphs take several folds to come near it
_GOLDEN_RATIO = 0.6180339887498949  # its multiples spread evenly, whatever share is taken


def hidden(
    scores: Scores, weights: tuple[Vector, Vector], pairs: NDArray[np.int64], folds: int | None = None
) -> Iterator[tuple[Chosen, Chosen]]:
    """For each fold, which of the pairs lose their target and which their source; no pair is hidden twice.

    Who is hidden depends on similarities and weights, never on row numbers or on which graph comes first: neither the
    order of the input nor swapping the graphs changes it. Pairs whose two entities weigh the same do not tell the
    graphs apart, so they are not hidden, unless most are such.

    Parameters
    ----------
    folds:
        As many as it takes to hide some 500 by default, five at most.
    """
    if folds is None:
        folds = min(round(1 / SHARE), math.ceil(_ENOUGH / max(1.0, SHARE * len(pairs))))
    of_source, of_target = (np.round(np.log(weights[side][pairs[:, side]]), 6) for side in (0, 1))
    less, more = np.minimum(of_source, of_target), np.maximum(of_source, of_target)
    usable = of_source != of_target
    if 2 * usable.sum() < len(pairs):
        usable[:] = True
    place = np.full(len(pairs), np.inf)
    order = np.lexsort((less, more, scores.score))
    order = order[usable[order]]
    place[order] = (np.arange(len(order)) * _GOLDEN_RATIO) % 1.0
    for fold in range(folds):
        chosen = (place >= fold * SHARE) & (place < (fold + 1) * SHARE)
        first_half = place < (fold + 0.5) * SHARE
        lose_target = first_half ^ (of_source > of_target)
        yield chosen & lose_target, chosen & ~lose_target
