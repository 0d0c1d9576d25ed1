"""Names: which are missing, and their order, which breaks ties wherever the order of the input must not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def is_missing(value: object) -> bool:
    """Whether a value stands for none at all: None, NaN, or the NA and NaT of pandas.

    >>> [is_missing(value) for value in (None, float("nan"), "nan", 0)]
    [True, True, False, False]
    """
    if value is None or isinstance(value, str):
        return value is None
    try:
        return bool(value != value)
    except TypeError:  # what pandas' NA says of everything
        return True
    except ValueError:  # an array, which is something
        return False


def ranks_of(names: Sequence[str]) -> NDArray[np.int64]:
    """Place of each name in the sorted list.

    >>> ranks_of(["b", "c", "a"]).tolist()
    [1, 2, 0]
    """
    rank = np.empty(len(names), dtype=np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return rank
