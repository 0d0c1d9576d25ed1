"""Date gaps: how far apart the dates of a fact are that two graphs date differently.

An event that one graph reports a day later than the other is most likely the same event; one that it reports ten years
later is not. So dates that contradict each other are compared by how far apart they are, in classes that double: 1
unit, 2 to 3, 4 to 7 and so on, a unit being what both dates are known to (days, months, years). As in record linkage,
what counts is how often dates of true pairs are so far apart, over how often dates of chance are. The first is learnt
from pairs that are sure without the dates in question. The second is that of other facts of the same neighbour: its
facts may crowd in a few years.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from dualmatch.channels.evidence.dates import Dates
from dualmatch.channels.evidence.ties import Ids, Ties
from dualmatch.graph.hashing import mixed
from dualmatch.graph.times import Precision

Floats = NDArray[np.float64]

N_GAPS: Final = 8
"""Classes of gaps; the last holds 128 units and more."""
_WEIGHT: Final = 20.0  # facts by chance that every gap begins with
_LEAST_CHANCE: Final = 1e-3
_MOST_SAMPLED: Final = 50_000  # facts that show how far apart dates are by chance


@dataclass(frozen=True, eq=False)
class DateGaps:
    """How often the dates of a tie that both graphs have contradict each other, and by how much.

    Attributes
    ----------
    differ: float
        Share of such ties none of whose facts agree in time.
    ratio: (n_precisions, N_GAPS) float64
        Of those: how much likelier each gap is than between dates of chance.
    """

    differ: float
    ratio: Floats

    @classmethod
    def unknown(cls, differ: float) -> Self:
        """Before any gap was seen."""
        return cls(differ, np.ones((len(Precision), N_GAPS)))

    @classmethod
    def learnt(cls, differ: float, seen: Floats, by_chance: Floats) -> Self:
        """From how often each gap was seen, (n_precisions, N_GAPS), drawn towards chance."""
        total = seen.sum(axis=1, keepdims=True)
        return cls(differ, (seen + _WEIGHT * by_chance) / (total + _WEIGHT) / by_chance)

    def factors(self, level: NDArray[np.int8], gap: NDArray[np.int8]) -> Floats:
        """Bayes factors of dates at some precision, by their gap; -1 where they do not contradict each other."""
        factors: Floats = np.where(gap < 0, 1.0 - self.differ, self.differ * self.ratio[np.maximum(level, 0), gap])
        return factors


def gap_class(apart: Ids) -> NDArray[np.int8]:
    """The class of dates that are so many units apart.

    >>> gap_class(np.array([1, -2, 3, 4, 127, 128, 5000])).tolist()
    [0, 1, 1, 2, 6, 7, 7]
    """
    _, exponent = np.frexp(np.abs(apart).astype(np.float64))
    classes: NDArray[np.int8] = np.clip(exponent - 1, 0, N_GAPS - 1).astype(np.int8)
    return classes


def gaps_by_chance(ties: Ties, dates: Dates) -> Floats:
    """How often two facts with one neighbour are dated so far apart, other facts of the same tie left out.

    Returns
    -------
    (n_precisions, N_GAPS) float64
        Rows add up to 1. Each fact counts once, however many facts its neighbour has.
    """
    chance = np.full((len(Precision), N_GAPS), 1.0 / N_GAPS)
    if dates.opaque:  # without a calendar all gaps are alike, and of the first class
        chance = np.eye(1, N_GAPS).repeat(len(Precision), axis=0)
    sampled = _sampled(ties)
    for level in () if dates.opaque else Precision:
        listed = np.flatnonzero(sampled & (dates.precision >= level))
        if len(listed):
            at = dates.on_calendar(level, listed)
            of_tie = ties.tie[listed]
            others = _within(ties.neighbour[of_tie], at) - _within(of_tie, at)
            counts = np.diff(others, axis=0)
            total = counts.sum(axis=0)
            share = (counts[:, total > 0] / total[total > 0]).sum(axis=1)
            chance[level] = share / max(share.sum(), 1.0)
    chance = np.maximum(chance, _LEAST_CHANCE)
    normalised: Floats = chance / chance.sum(axis=1, keepdims=True)
    return normalised


def _within(group: Ids, at: Ids) -> Ids:
    """How many facts of the same group lie within less than 1, 2, 4 … units, and in all: (N_GAPS + 1, n_facts)."""
    at = at - at.min()
    size = int(at.max()) + 2**N_GAPS
    key = group * size + at
    ordered = np.sort(key)
    counts = []
    for gap in range(N_GAPS):
        reach = 2**gap - 1
        low, high = np.maximum(at - reach, 0) - at, np.minimum(at + reach, size - 1) - at
        counts.append(np.searchsorted(ordered, key + high, side="right") - np.searchsorted(ordered, key + low))
    first, last = group * size, (group + 1) * size
    counts.append(np.searchsorted(ordered, last) - np.searchsorted(ordered, first))
    return np.stack(counts)


def _sampled(ties: Ties) -> NDArray[np.bool_]:
    """Facts of a sample of neighbours, drawn by a hash of their dates, so that the input's order does not matter."""
    neighbour = ties.neighbour[ties.tie]
    if ties.n_facts <= _MOST_SAMPLED:
        return np.ones(ties.n_facts, dtype=bool)
    dates = np.zeros(ties.n_entities, dtype=np.uint64)
    np.add.at(dates, neighbour, mixed(ties.begin))
    drawn = mixed(dates.view(np.int64)) < np.uint64(2**64 * (_MOST_SAMPLED / ties.n_facts))
    sampled: NDArray[np.bool_] = drawn[neighbour]
    return sampled
