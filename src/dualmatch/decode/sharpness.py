"""How sharply Sinkhorn tells candidates apart, read off the similarities themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

Floats = NDArray[np.float64]


def sharpness_of(similarity: sp.csr_matrix) -> float:
    """c such that a candidate at noise level weighs as much as the whole background: exp(c·noise) = entities.

    Noise is what second-best candidates reach: their 0.9 quantile over the rows and columns that have one.
    """
    seconds = np.concatenate([_second_best(similarity), _second_best(similarity.T.tocsr())])
    if len(seconds) == 0:
        return float(np.log(max(similarity.shape)) / 0.5)
    entities = float(np.sqrt(float(similarity.shape[0]) * similarity.shape[1]))
    return float(np.log(max(entities, 2.0)) / max(float(np.quantile(seconds, 0.9)), 0.05))


def _second_best(matrix: sp.csr_matrix) -> Floats:
    """The second largest entry of each row that has two, equal to the largest where that one comes twice."""
    lengths = np.diff(matrix.indptr)
    filled = np.flatnonzero(lengths)
    if len(filled) == 0:
        return np.zeros(0)
    starts, values = matrix.indptr[filled], matrix.data.astype(np.float64)
    row = np.repeat(np.arange(len(filled)), lengths[filled])
    is_best = np.flatnonzero(values == np.maximum.reduceat(values, starts)[row])
    first = is_best[np.unique(row[is_best], return_index=True)[1]]
    values[first] = -np.inf
    seconds: Floats = np.maximum.reduceat(values, starts)[lengths[filled] >= 2]
    return seconds
