"""Pairs of entities of two graphs, by row."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Pairs = NDArray[np.int32]
"""Source and target rows: (n, 2)."""
NO_PARTNER: Final = -1
"""In the place of a target: the source has no partner at all."""
