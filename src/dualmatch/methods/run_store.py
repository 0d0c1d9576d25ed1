"""Run stores: where a run keeps its stages and its training, so that it can be resumed.

`dualmatch.runs.folder.RunFolder` is the store in files. What follows from the rest is not kept: computed again, it is
the same to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from dualmatch.channels.relational import Checkpoint, CheckpointStore
from dualmatch.decode.assignment import FoundPairs
from dualmatch.files.atomic import check_writable
from dualmatch.files.npz import load_arrays, read_as, write_arrays
from dualmatch.graph.arrays import Ids

if TYPE_CHECKING:
    from dualmatch.methods.evidence.confidence import Confidence
    from dualmatch.methods.evidence.rounds import Rounds
    from dualmatch.methods.evidence.search import Found
    from dualmatch.methods.evidence.state import Round, RoundState

_FORMAT: Final = 1


class RunStore(Protocol):
    """Keeps what any method needs to resume; what it gives back must be what it was given, None what it has not."""

    @property
    def training(self) -> CheckpointStore | None:
        """Where training is kept after every epoch; None where it is not."""

    def kept_round(self) -> Rounds | None: ...

    def keep_round(self, state: RoundState, log: tuple[Round, ...], first_pairs: Ids) -> None: ...

    def kept_search(self, number: int) -> Found | None:
        """What the search of this round found, counting from 0; None where it was of another."""

    def keep_search(self, found: Found, number: int) -> None: ...

    def kept_confidence(self) -> Confidence | None: ...

    def keep_confidence(self, confidence: Confidence) -> None: ...

    def pseudo_seeds(self) -> FoundPairs | None: ...

    def keep_pseudo_seeds(self, found: FoundPairs) -> None: ...


class NullStore:
    """Keeps nothing except, optionally, checkpoints of training."""

    def __init__(self, training: CheckpointStore | None = None) -> None:
        self.training = training

    def kept_round(self) -> Rounds | None:
        return None

    def keep_round(self, state: RoundState, log: tuple[Round, ...], first_pairs: Ids) -> None:
        pass

    def kept_search(self, number: int) -> Found | None:
        return None

    def keep_search(self, found: Found, number: int) -> None:
        pass

    def kept_confidence(self) -> Confidence | None:
        return None

    def keep_confidence(self, confidence: Confidence) -> None:
        pass

    def pseudo_seeds(self) -> FoundPairs | None:
        return None

    def keep_pseudo_seeds(self, found: FoundPairs) -> None:
        pass


@dataclass(frozen=True)
class CheckpointFile:
    """The latest checkpoint of a training, in one ``.npz`` file that is replaced atomically."""

    path: Path

    def __post_init__(self) -> None:
        check_writable(self.path, force=True)

    def write(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint before."""
        about = {
            "format": _FORMAT,
            "epoch": checkpoint.epoch,
            "rng": checkpoint.rng,
            "fingerprint": checkpoint.fingerprint,
        }
        write_arrays(self.path, about, {f"array.{name}": values for name, values in checkpoint.arrays.items()})

    def read(self) -> Checkpoint | None:
        """Read the checkpoint; None where there is no file yet.

        Raises
        ------
        InputError
            Where the file is no checkpoint of this format.
        """
        if not self.path.exists():
            return None
        with read_as(self.path, "a checkpoint", "delete it to train from scratch"):
            stored = load_arrays(self.path)
            about = stored.about
            if about["format"] != _FORMAT:
                raise ValueError(f"format {about['format']}, not {_FORMAT}")
            if type(about["epoch"]) is not int or about["epoch"] < 0:
                raise ValueError("its epoch is not a whole number from 0 on")
            arrays = {name.removeprefix("array."): values for name, values in stored.arrays.items()}
            return Checkpoint(about["epoch"], arrays, about["rng"], str(about["fingerprint"]))
