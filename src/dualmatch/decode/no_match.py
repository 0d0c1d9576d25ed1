"""No match is an answer: why a source entity got no partner, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from dualmatch.decode.shortlist import BestCandidates, Floats, Ids


class Reason(IntEnum):
    """What kept an entity from a partner."""

    NO_FACTS = 0
    NOTHING_SHARED = 1
    TIED = 2
    UNLIKELY = 3
    TAKEN = 4
    BELOW_ASKED = 5
    TOLD = 6

    def in_words(self, best: str, probability: float) -> str:
        """One sentence, with the best candidate where there is one."""
        return {
            Reason.NO_FACTS: "no facts",
            Reason.NOTHING_SHARED: "no fact in common with anything",
            Reason.TIED: f"several equally good candidates, {best} among them ({probability:.2f} each)",
            Reason.UNLIKELY: f"best candidate not likely enough: {best} ({probability:.2f})",
            Reason.TAKEN: f"best candidate went to another: {best} ({probability:.2f})",
            Reason.TOLD: "told to have none",
            Reason.BELOW_ASKED: f"left out by the confidence asked for: {best} ({probability:.2f})",
        }[self]


@dataclass(frozen=True, eq=False)
class NoMatches:
    """The rows without a partner.

    Attributes
    ----------
    row: (n,) int64
    reason: (n,) int8, see `Reason`
    best: (n,) int64
        The best candidate; -1 where there is none.
    probability: (n,) float64
        How likely the best candidate is.
    """

    row: Ids
    reason: NDArray[np.int8]
    best: Ids
    probability: Floats

    @property
    def confidence(self) -> Floats:
        """How sure it is that there is no match: one minus the best candidate's probability."""
        confidence: Floats = 1.0 - self.probability
        return confidence

    def in_words(self, at: int, names: Sequence[str]) -> str:
        """The reason of the `at`-th row, with the candidate's name from `names`."""
        best = int(self.best[at])
        return Reason(self.reason[at]).in_words(names[best] if best >= 0 else "", float(self.probability[at]))


def no_matches(
    candidates: BestCandidates,
    pairs: NDArray[np.integer],
    in_a_fact: NDArray[np.bool_],
    n_columns: int,
    many_to_one: bool = False,
    enough: float = 1.0,
    alone: NDArray[np.integer] | None = None,
) -> NoMatches:
    """Say of every row that stands in no pair why.

    Parameters
    ----------
    candidates:
        The best of every row.
    in_a_fact: (n_rows,) bool
        Whether anything is known of the row's entity.
    many_to_one:
        Whether a column may be taken several times, so that none is ever gone.
    enough:
        The probability above which a pair is given unless a higher one is asked for.
    alone:
        Rows that were told to have no partner.
    """
    row = np.setdiff1d(np.arange(len(in_a_fact)), pairs[:, 0])
    taken = np.zeros(n_columns + 1, dtype=bool)  # one more: -1 is no candidate, and not taken
    taken[pairs[:, 1]] = not many_to_one
    told = np.isin(row, [] if alone is None else alone)
    best = np.where(in_a_fact[row] & ~told, candidates.column[row], -1)
    probability = np.where(best >= 0, candidates.probability[row], 0.0)
    reason = np.select(
        [told, ~in_a_fact[row], best < 0, candidates.tied[row], taken[best], probability > enough],
        [Reason.TOLD, Reason.NO_FACTS, Reason.NOTHING_SHARED, Reason.TIED, Reason.TAKEN, Reason.BELOW_ASKED],
        Reason.UNLIKELY,
    ).astype(np.int8)
    return NoMatches(row, reason, best, probability)
