"""Checkpoints of training as a file: one .npz without pickle, replaced as a whole or not at all."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dualmatch.channels.relational.checkpoint import Checkpoint
from dualmatch.errors import InputError
from dualmatch.files.atomic import check_writable, replacing

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
