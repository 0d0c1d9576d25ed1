"""Hiding: which settled pairs lose a partner, so that one can see what an entity without partner gets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dualmatch.decode.mixture import Scores
from dualmatch.decode.sinkhorn import Vector

Chosen = NDArray[np.bool_]

SHARE = 0.2
"""This share of the pairs is hidden in a fold, half of them losing their target and half their source."""
_GOLDEN_RATIO = 0.6180339887498949  # its multiples spread evenly, whatever share is taken


def hidden(
    scores: Scores, weights: tuple[Vector, Vector], pairs: NDArray[np.int64], folds: int
) -> Iterator[tuple[Chosen, Chosen]]:
    """For each fold, which of the pairs lose their target and which their source; no pair is hidden twice.

    Who is hidden depends on similarities and weights, never on row numbers or on which graph comes first: neither the
    order of the input nor swapping the graphs changes it.
    """
    of_source, of_target = weights[0][pairs[:, 0]], weights[1][pairs[:, 1]]
    less, more = (np.round(np.log(which(of_source, of_target)), 6) for which in (np.minimum, np.maximum))
    place = np.empty(len(pairs))
    place[np.lexsort((less, more, scores.score))] = (np.arange(len(pairs)) * _GOLDEN_RATIO) % 1.0
    for fold in range(folds):
        chosen = (place >= fold * SHARE) & (place < (fold + 1) * SHARE)
        first_half = place < (fold + 0.5) * SHARE
        lose_target = first_half ^ (of_source > of_target)
        yield chosen & lose_target, chosen & ~lose_target
