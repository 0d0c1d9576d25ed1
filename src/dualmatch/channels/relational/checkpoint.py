"""The state of a training between two epochs; `dualmatch.methods.checkpoint_file` keeps it in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """All that training needs to go on as if it had never stopped.

    Attributes
    ----------
    epoch:
        Epochs done.
    arrays:
        Parameters and optimiser state by name.
    rng:
        State of the numpy bit generator.
    fingerprint:
        Hash of what the training is about (graphs, seeds, config): another training must not go on from here.
    """

    epoch: int
    arrays: dict[str, NDArray[np.float32]]
    rng: dict[str, Any]
    fingerprint: str


class CheckpointStore(Protocol):
    """Somewhere to keep the latest checkpoint."""

    def read(self) -> Checkpoint | None: ...

    def write(self, checkpoint: Checkpoint) -> None: ...
