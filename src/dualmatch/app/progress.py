"""How far a run is, by what its folder has kept: so it is known even after the app was restarted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dualmatch.app.workspace import Pair
from dualmatch.errors import DualMatchError
from dualmatch.methods.evidence.rounds import MAX_ROUNDS

StepState = Literal["done", "now", "to come"]


@dataclass(frozen=True)
class Progress:
    """The steps of a run with their states, and how many of all small steps are done."""

    steps: tuple[tuple[str, StepState], ...]
    done: int
    total: int

    @property
    def words(self) -> str:
        """The step that is under way."""
        return next((words for words, state in self.steps if state == "now"), "Done")


def progress_of(pair: Pair) -> Progress:
    """What the record of a run says."""
    try:
        record = pair.record
    except DualMatchError:
        record = None
    stages = {} if record is None else record.stages
    rounds = stages["round"].number if "round" in stages else 0
    is_done = record is not None and record.state == "finished"
    names = (
        "Reading the files",
        "Weighing what the two share"
        + (f": round {rounds + 1} of at most {MAX_ROUNDS}" if rounds and "outcome" not in stages else ""),
        "Deciding and writing",
    )
    reached = 3 if is_done else 2 if "outcome" in stages else 1 if "graphs" in stages else 0
    states: list[StepState] = ["done" if at < reached else "now" if at == reached else "to come" for at in range(3)]
    done = (0, 1 + min(rounds, MAX_ROUNDS), MAX_ROUNDS + 1, MAX_ROUNDS + 2)[reached]
    return Progress(tuple(zip(names, states, strict=True)), done, MAX_ROUNDS + 2)
