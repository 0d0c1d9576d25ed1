"""Spot checks: a random sample of links, and what its answers say about all of them.

The sample is drawn by a hash of the two names, so it is the same for everybody and for every order of the input, and
nobody can choose it. Links are checked in the order of their hashes. Only those before the first unanswered one count:
what was answered elsewhere, because it was doubtful, would mislead.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from dualmatch.graph.arrays import Ids

ENOUGH: Final = 20
"""Links of a set to check before all the others of it can be accepted at once."""
_Z: Final = 1.959963984540054  # of a normal distribution: 95 % lie within
RIGHT, WRONG, PASSED, OPEN = range(4)


@dataclass(frozen=True)
class SpotCheck:
    """What a spot check has found so far; `passed` were skipped or are disputed, and say nothing.

    Examples
    --------
    >>> check = SpotCheck(links=500, right=19, wrong=1)
    >>> check.checked, round(check.precision, 2), [round(end, 3) for end in check.interval]
    (20, 0.95, [0.764, 0.991])
    >>> check.is_enough, SpotCheck(links=3, right=3).is_enough
    (True, True)
    """

    links: int
    right: int = 0
    wrong: int = 0
    passed: int = 0

    @property
    def checked(self) -> int:
        return self.right + self.wrong

    @property
    def precision(self) -> float:
        """The share that is right; nan before anything was checked."""
        return self.right / self.checked if self.checked else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Between what the share among all links lies, 19 times out of 20.

        Wilson's score interval (1927): the shares p that the number found does not contradict at 5 %, which are the
        roots of (right/n - p)² = z² p (1 - p) / n.
        """
        n, share = self.checked, self.precision
        if not n:
            return 0.0, 1.0
        middle, spread = share + _Z**2 / (2 * n), _Z * math.sqrt(share * (1 - share) / n + (_Z / (2 * n)) ** 2)
        scale = 1 + _Z**2 / n
        low, high = (middle - spread) / scale, (middle + spread) / scale
        return low if self.right else 0.0, high if self.wrong else 1.0  # exactly, whatever rounding says

    @property
    def missing(self) -> int:
        """How many more to check before the others may be accepted at once: no more than there are."""
        return max(0, min(ENOUGH - self.checked, self.links - self.checked - self.passed))

    @property
    def is_enough(self) -> bool:
        """Whether so many were checked that the others may be accepted at once."""
        return self.links > 0 and not self.missing

    @classmethod
    def of(cls, answers: Iterable[int], links: int) -> SpotCheck:
        """From the answer to each of the links, in the order of the sample."""
        counts = Counter(takewhile(lambda answer: answer != OPEN, answers))
        return cls(links, counts[RIGHT], counts[WRONG], counts[PASSED])


def sample_order(sources: Sequence[str], targets: Sequence[str], rows: Ids) -> Ids:
    """The rows of links in the order of their hashes; names at the same place belong together."""
    keys = [
        hashlib.blake2b(f"{len(source)}:{source}{target}".encode(errors="surrogatepass"), digest_size=16).digest()
        for source, target in zip(sources, targets, strict=True)
    ]
    return rows[sorted(range(len(keys)), key=keys.__getitem__)] if len(keys) else rows
