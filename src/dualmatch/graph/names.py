"""Names in order: what breaks ties wherever the order of the input must not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def ranks_of(names: Sequence[str]) -> NDArray[np.int64]:
    """Place of each name in the sorted list.

    >>> ranks_of(["b", "c", "a"]).tolist()
    [1, 2, 0]
    """
    rank = np.empty(len(names), dtype=np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return rank
