"""Names for the arrays that the rooms pass to each other, and pairs of entities by row."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Ints = NDArray[np.int32]
Rows = NDArray[np.intp]
Floats = NDArray[np.float64]
Dense = NDArray[np.float32]
Flags = NDArray[np.bool_]

Pairs = NDArray[np.int32]
"""Source and target rows: (n, 2)."""
NO_PARTNER: Final = -1
"""In the place of a target: the source has no partner at all."""
