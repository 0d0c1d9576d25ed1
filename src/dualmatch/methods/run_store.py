"""Keepers: where a run puts what it has come to, so that it can go on from there.

Nothing here knows of files: `dualmatch.runs.folder` puts it into some. What follows from the rest is not kept:
computed again, it is the same to the bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dualmatch.channels.evidence.ties import Ids
from dualmatch.decode.pseudo_seeds import FoundPairs
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.methods.evidence.result import Keeper as EvidenceKeeper
from dualmatch.methods.evidence.rounds import Rounds
from dualmatch.methods.evidence.state import Round, RoundState

if TYPE_CHECKING:
    from dualmatch.channels.relational.checkpoint import CheckpointStore


class Keeper(EvidenceKeeper, Protocol):
    """Somewhere to keep what any method needs to go on; what it gives back must be what it was given."""

    @property
    def training(self) -> CheckpointStore | None:
        """Where training is kept after every epoch; None where it is not."""

    def pseudo_seeds(self) -> FoundPairs | None: ...

    def keep_pseudo_seeds(self, found: FoundPairs) -> None: ...


class KeepsNothing:
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
