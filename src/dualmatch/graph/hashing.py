"""Hashes that are the same on every machine: for telling sets apart by sums, and for draws without a generator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mixed(values: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Splitmix64: consecutive numbers to numbers that look random.

    >>> int(mixed(np.array([0]))[0])
    16294208416658607535
    """
    x = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
