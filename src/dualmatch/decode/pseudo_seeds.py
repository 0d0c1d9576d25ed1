"""Pseudo-seeds: pairs that choose each other when no labelled pair is given (the paper's bi-directional strategy)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.decode.sinkhorn import Best

NO_SIMILARITY: Final = 1e-4
"""Similarities are read back from float32 numbers; what is below this is zero."""


@dataclass(frozen=True, eq=False)
class FoundPairs:
    """Pairs a channel or a decoder found, over all entities.

    Attributes
    ----------
    pairs: (n, 2) int32
    confidence: (n,) float64
        The smaller of the two probabilities with which the entities choose each other.
    """

    pairs: NDArray[np.int32]
    confidence: NDArray[np.float64]


def mutual_best(forward: Best, backward: Best) -> FoundPairs:
    """Pairs (i, j) with j the best of row i in `forward` and i the best of column j in `backward`.

    `forward` comes from Sinkhorn of S^t and `backward` from Sinkhorn of its transpose, as the paper's Algorithm 1
    (lines 6 to 8) has it. Entities that have nothing in common choose nobody: Sinkhorn pushes what mass is left over
    to entities without any feature, which is no evidence.
    """
    source = np.arange(len(forward.column_of_row))
    target = forward.column_of_row
    chosen = (backward.row_of_column[target] == source) & (forward.similarity_of_row > NO_SIMILARITY)
    pairs = np.stack([source[chosen], target[chosen]], axis=1).astype(np.int32)
    confidence = np.minimum(forward.value_of_row[chosen], backward.value_of_column[target[chosen]])
    return FoundPairs(pairs, np.clip(confidence.astype(np.float64), 0.0, 1.0))
