"""What a run keeps on its way, so that it can go on from there.

Nothing here knows of files: `dualmatch.io.run_folder` puts it into some. What follows from the rest is not kept (a
plan from its similarities, tokens from the knowledge they were built on): computed again, it is the same to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from scipy import sparse as sp

from dualmatch.decode.belief import Beliefs
from dualmatch.encode.evidence.knowledge import Knowledge
from dualmatch.encode.evidence.relations import RelationAlignment
from dualmatch.encode.evidence.sides import Ids
from dualmatch.encode.evidence.tokens import Scale
from dualmatch.encode.seeds import FoundPairs
from dualmatch.rounds import Floats, Look, Looking, Round

if TYPE_CHECKING:
    from dualmatch.encode.relational.checkpoint import CheckpointStore


@dataclass(frozen=True, eq=False)
class Standing:
    """Where the rounds stand after one of them: what it saw, and how it came to that.

    Attributes
    ----------
    knowledge, n_tokens, scale, weights, similarity, beliefs:
        Those of the round's `Look`.
    sharpness:
        Of its plan, which `look` balances again.
    first_pairs: (n, 2) int64
        Confident pairs after round 0.
    log:
        What each round did.
    may_be_chance:
        Whether decoys are still asked.
    """

    knowledge: Knowledge | None
    n_tokens: int
    scale: Scale
    weights: tuple[Floats, Floats]
    similarity: sp.csr_matrix
    sharpness: float
    beliefs: Beliefs
    first_pairs: Ids
    log: tuple[Round, ...]
    may_be_chance: bool

    @classmethod
    def of(cls, look: Look, first_pairs: Ids, log: Sequence[Round], may_be_chance: bool) -> Self:
        return cls(
            look.knowledge,
            look.n_tokens,
            look.scale,
            look.weights,
            look.similarity,
            look.plan.sharpness,
            look.beliefs,
            first_pairs,
            tuple(log),
            may_be_chance,
        )

    def look(self, looking: Looking) -> Look:
        """The last round's look; `looking` is as it was after that round."""
        looking.may_be_chance = self.may_be_chance
        plan = looking.balanced(self.similarity, self.sharpness)
        return Look(self.scale, self.weights, self.similarity, self.beliefs, self.knowledge, self.n_tokens, plan)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What is decided once the rounds have ended.

    Attributes
    ----------
    beliefs:
        The final ones.
    ranking: csr float32
        The last round's similarity, with context for what stayed open.
    relations:
        Aligned on the pairs that are sure in the end.
    log:
        What each round did, the last one with the final pairs.
    """

    beliefs: Beliefs
    ranking: sp.csr_matrix
    relations: RelationAlignment
    log: tuple[Round, ...]


class EvidenceKeeper(Protocol):
    """Somewhere to keep the latest standing and the outcome; what it gives back must be what it was given."""

    def standing(self) -> Standing | None: ...

    def keep_standing(self, standing: Standing) -> None: ...

    def outcome(self) -> Outcome | None: ...

    def keep_outcome(self, outcome: Outcome) -> None: ...


class Keeper(EvidenceKeeper, Protocol):
    """Somewhere to keep what any method needs to go on."""

    @property
    def training(self) -> CheckpointStore | None:
        """Where training is kept after every epoch; None where it is not."""

    def pseudo_seeds(self) -> FoundPairs | None: ...

    def keep_pseudo_seeds(self, found: FoundPairs) -> None: ...


class KeepsNothing:
    """A keeper for runs that need not survive, but perhaps their training."""

    def __init__(self, training: CheckpointStore | None = None) -> None:
        self.training = training

    def standing(self) -> Standing | None:
        return None

    def keep_standing(self, standing: Standing) -> None:
        pass

    def outcome(self) -> Outcome | None:
        return None

    def keep_outcome(self, outcome: Outcome) -> None:
        pass

    def pseudo_seeds(self) -> FoundPairs | None:
        return None

    def keep_pseudo_seeds(self, found: FoundPairs) -> None:
        pass
