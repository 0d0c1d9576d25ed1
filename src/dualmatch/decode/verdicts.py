"""Verdicts: a source entity is linked, has no match, or is undecided, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.decode.shortlist import BestCandidates
from dualmatch.graph.arrays import Flags, Floats, Ids

NO_MATCH_FROM: Final = 0.75
"""An entity has no match where the chance that it has no partner is at least this: three times out of four."""


_WORTH_NAMING: Final = 0.01  # candidates less likely than this are no reason by being tied


class Verdict(StrEnum):
    """The outcome for a source entity."""

    LINKED = "linked"
    UNDECIDED = "undecided"
    NO_MATCH = "no match"


class Reason(IntEnum):
    """Why an entity is in no link; `Explanation.category` is the name in small letters, so names stay as they are."""

    NO_FACTS = 0
    NOTHING_SHARED = 1
    TIED = 2
    TOO_LITTLE = 3
    TAKEN = 4
    BELOW_ASKED = 5
    TOLD = 6
    NO_PARTNER = 7
    CONTESTED = 8

    def in_words(self, best: str, probability: float) -> str:
        """A few words, with the best candidate where there is one."""
        candidate = f"; best candidate {best} ({probability:.2f})" if best else ""
        return {
            Reason.NO_FACTS: "no facts",
            Reason.NOTHING_SHARED: "nothing shared with any entity",
            Reason.TIED: f"{best} and others are equally likely ({probability:.2f} each)",
            Reason.TOO_LITTLE: f"too little evidence{candidate}",
            Reason.TAKEN: f"{best} ({probability:.2f}) is linked to another",
            Reason.BELOW_ASKED: f"{best} ({probability:.2f}) is below the threshold",
            Reason.TOLD: "given as having none",
            Reason.NO_PARTNER: f"what it would share is not there{candidate}",
            Reason.CONTESTED: f"others are as likely to be {best} ({probability:.2f} each)",
        }[self]


@dataclass(frozen=True, eq=False)
class Unlinked:
    """The source rows in no link."""

    row: Ids
    reason: NDArray[np.int8]  # see `Reason`
    best: Ids  # the best candidate; -1 where there is none
    probability: Floats  # of the best candidate
    confidence: Floats  # of having no partner, for verdict "no match"; nan for "undecided"

    @property
    def is_no_match(self) -> Flags:
        """Rows that have no match; the others are undecided."""
        return ~np.isnan(self.confidence)

    def verdict(self, at: int) -> Verdict:
        return Verdict.NO_MATCH if self.is_no_match[at] else Verdict.UNDECIDED

    def in_words(self, at: int, names: Sequence[str]) -> str:
        """The reason of the `at`-th row, with the candidate's name from `names`."""
        best = int(self.best[at])
        return Reason(self.reason[at]).in_words(names[best] if best >= 0 else "", float(self.probability[at]))


def unlinked(
    candidates: BestCandidates,
    pairs: NDArray[np.integer],
    in_a_fact: Flags,
    n_columns: int,
    no_partner: Floats | None = None,
    many_to_one: bool = False,
    enough: float = 1.0,
    alone: NDArray[np.integer] | None = None,
) -> Unlinked:
    """Give the reason why each row outside `pairs` is in none.

    `in_a_fact` (n_rows,) bool: whether the row's entity is in any fact. `no_partner` (n_rows,) float64: posterior of
    having no partner, nan where it is unknown; None where it is unknown for all rows. `many_to_one`: whether a column
    may be taken several times, so that none is ever gone. `enough`: the probability above which a pair is linked unless
    a higher one is asked for. `alone`: rows that were given as having no partner.
    """
    row = np.setdiff1d(np.arange(len(in_a_fact)), pairs[:, 0])
    taken = np.zeros(n_columns + 1, dtype=bool)  # one more: -1 is no candidate, and not taken
    taken[pairs[:, 1]] = not many_to_one
    given = np.isin(row, [] if alone is None else alone)
    best = np.where(in_a_fact[row] & ~given, candidates.column[row], -1)
    probability = np.where(best >= 0, candidates.probability[row], 0.0)
    chance = np.full(len(row), np.nan) if no_partner is None else no_partner[row].astype(np.float64)
    # An entity is at most as likely to have no partner as its best candidate is to be wrong.
    chance = np.minimum(chance, 1.0 - np.where(taken[best], 0.0, probability))
    with np.errstate(invalid="ignore"):
        is_no_match = in_a_fact[row] & (chance >= NO_MATCH_FROM)
    reasons = {  # the first that holds counts
        Reason.TOLD: given,
        Reason.NO_FACTS: ~in_a_fact[row],
        Reason.NO_PARTNER: is_no_match,
        Reason.NOTHING_SHARED: best < 0,
        Reason.TIED: candidates.tied[row] & (probability >= _WORTH_NAMING),
        Reason.TAKEN: taken[best],
        Reason.CONTESTED: _contested(best, probability, enough),
        Reason.BELOW_ASKED: probability > enough,
    }
    reason = np.select([*reasons.values()], [*reasons], Reason.TOO_LITTLE).astype(np.int8)
    confidence = np.where(given, 1.0, np.where(is_no_match, chance, np.nan))
    return Unlinked(row, reason, best, probability, confidence)


def _contested(best: Ids, probability: Floats, enough: float) -> Flags:
    """Rows likely enough to be linked whose candidate is as likely for another of the rows: neither gets it."""
    contested = np.zeros(len(best), dtype=bool)
    likely = np.flatnonzero((best >= 0) & (probability > enough))
    if len(likely):
        claims = np.stack([best[likely], probability[likely]])
        _, claim, count = np.unique(claims, axis=1, return_inverse=True, return_counts=True)
        contested[likely] = count[claim.ravel()] > 1
    return contested
