"""The result of a run in a sentence: links, how many of them are expected to be wrong, what is open and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from dualmatch.decode.verdicts import Reason, Unlinked
from dualmatch.methods.alignment import Alignment

REASONS: Final = {
    Reason.TIED: "several candidates are equally likely",
    Reason.TOO_LITTLE: "the graphs say too little",
    Reason.CONTESTED: "others are as likely to be the best candidate",
    Reason.TAKEN: "the best candidate is linked to another",
    Reason.BELOW_ASKED: "the best candidate is below the threshold",
    Reason.NOTHING_SHARED: "nothing is shared with any entity",
    Reason.NO_FACTS: "there are no facts about them",
    Reason.NO_PARTNER: "what a partner would share is not there",
    Reason.TOLD: "they were given as having none",
}
"""Why entities are in no link."""


@dataclass(frozen=True)
class Summary:
    """Counts of source entities; `expected_wrong` is None where the confidence of the method is not a probability."""

    links: int
    expected_wrong: float | None
    undecided: int
    no_match: int
    why_undecided: Mapping[Reason, int]  # empty where the reasons are unknown

    @classmethod
    def of(cls, alignment: Alignment) -> Self:
        none, fdr = alignment.unlinked, alignment.estimated_fdr
        found = int((~alignment.is_seed).sum())
        open_ones = int((~none.is_no_match).sum())
        wrong = None if fdr is None else fdr * found
        return cls(len(alignment.pairs), wrong, open_ones, len(none.row) - open_ones, reasons_of(none, no_match=False))

    def sentence(self, after_links: str = "") -> str:
        """Everything in one sentence, without its full stop; `after_links` follows the number of links.

        >>> Summary(8102, 30.2, 1415, 891, {Reason.TOO_LITTLE: 900, Reason.TIED: 515}).sentence()
        '8,102 links, about 30 of them expected wrong; of 10,408 source entities 1,415 are undecided, most because the \
graphs say too little, and 891 probably have no match'
        """
        links = f"{self.links:,} link{'s' * (self.links != 1)}{after_links}"
        if self.links and self.expected_wrong is not None:
            links += f", {self._wrong_in_words()} expected wrong"
        entities = self.links + self.undecided + self.no_match
        why = max(self.why_undecided, key=lambda reason: self.why_undecided[reason], default=None)
        because = ""
        if why is not None and self.undecided:
            most = "" if self.why_undecided[why] == self.undecided else "most "
            because = f", {most}because {REASONS[why]},"
        return (
            f"{links}; of {entities:,} source entities {self.undecided:,} {'is' if self.undecided == 1 else 'are'} "
            f"undecided{because} and {self.no_match:,} probably "
            f"{'has' if self.no_match == 1 else 'have'} no match"
        )

    def _wrong_in_words(self) -> str:
        wrong = self.expected_wrong or 0.0
        return "less than one of them" if wrong < 0.5 else f"about {round(wrong):,} of them"


def reasons_of(none: Unlinked, no_match: bool) -> dict[Reason, int]:
    """How often each reason holds among the undecided, or among those without a match; the most frequent first."""
    counts = np.bincount(none.reason[none.is_no_match == no_match], minlength=len(Reason)).tolist()
    held = [(reason, counts[reason]) for reason in REASONS if counts[reason]]
    return dict(sorted(held, key=lambda item: -item[1]))
