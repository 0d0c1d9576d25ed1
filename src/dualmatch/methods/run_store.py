"""Keepers: where a run puts what it has come to, so that it can go on from there.

Nothing here knows of files: `dualmatch.runs.folder` puts it into some. What follows from the rest is not kept:
computed again, it is the same to the bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dualmatch.decode.assignment import FoundPairs
from dualmatch.graph.arrays import Ids
from dualmatch.methods.evidence import Keeper as EvidenceKeeper
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.methods.evidence.rounds import Rounds
from dualmatch.methods.evidence.state import Round, RoundState

if TYPE_CHECKING:
    from dualmatch.channels.relational import CheckpointStore
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dualmatch.channels.relational import Checkpoint
from dualmatch.errors import InputError
from dualmatch.files.atomic import check_writable, replacing


class Keeper(EvidenceKeeper, Protocol):
    """Somewhere to keep what any method needs to go on; what it gives back must be what it was given."""

    @property
    def training(self) -> CheckpointStore | None:
        """Where training is kept after every epoch; None where it is not."""

    def pseudo_seeds(self) -> FoundPairs | None: ...

    def keep_pseudo_seeds(self, found: FoundPairs) -> None: ...


class NullStore:
    """A keeper for runs that need not survive, but perhaps their training."""

    def __init__(self, training: CheckpointStore | None = None) -> None:
        self.training = training

    def kept_round(self) -> Rounds | None:
        return None

    def keep_round(self, state: RoundState, log: tuple[Round, ...], first_pairs: Ids) -> None:
        pass

    def kept_confidence(self) -> Confidence | None:
        return None

    def keep_confidence(self, confidence: Confidence) -> None:
        pass

    def pseudo_seeds(self) -> FoundPairs | None:
        return None

    def keep_pseudo_seeds(self, found: FoundPairs) -> None:
        pass


_FORMAT: Final = 1


@dataclass(frozen=True)
class CheckpointFile:
    """The latest checkpoint of a training, in one file."""

    path: Path

    def __post_init__(self) -> None:
        check_writable(self.path, force=True)

    def write(self, checkpoint: Checkpoint) -> None:
        """Put a checkpoint in the place of the one before."""
        about = {
            "format": _FORMAT,
            "epoch": checkpoint.epoch,
            "rng": checkpoint.rng,
            "fingerprint": checkpoint.fingerprint,
        }
        arrays: dict[str, Any] = {f"array.{name}": values for name, values in checkpoint.arrays.items()}
        with replacing(self.path) as temporary, temporary.open("wb") as file:
            np.savez(file, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)

    def read(self) -> Checkpoint | None:
        """The checkpoint, or None where there is no file yet.

        Raises
        ------
        InputError
            Where the file is no checkpoint of this format.
        """
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as stored:
                about = json.loads(stored["about"].tobytes())
                names = [name for name in stored.files if name.startswith("array.")]
                arrays = {name.removeprefix("array."): stored[name] for name in names}
            if about["format"] != _FORMAT:
                raise ValueError(f"format {about['format']}, not {_FORMAT}")
            return Checkpoint(int(about["epoch"]), arrays, about["rng"], str(about["fingerprint"]))
        except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(
                f"{self.path}: cannot be read as a checkpoint ({error}); delete it to start training anew"
            ) from error
