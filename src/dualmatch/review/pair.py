"""A pair to look at: the facts of both entities, which of them match, and the other candidates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from dualmatch.decode.shortlist import ordered
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.explain.explain import balance_of, fact_of, shared_in_words, sides_of_entity
from dualmatch.explain.explanation import Balance, Fact, SharedFact
from dualmatch.graph.arrays import Ids
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, encode_date
from dualmatch.methods.evidence.pair_evidence import PairEvidence

_YEAR, _MONTH = encode_date(1), encode_date(0, 1)
MOST_FACTS: Final = 30
"""Facts of an entity that are shown; hubs have thousands."""
MOST_REASONS: Final = 12
"""Matching facts that are shown; the others add little each."""
MOST_CANDIDATES: Final = 6


@dataclass(frozen=True)
class ShownFact:
    """A fact of one of the two entities.

    Attributes
    ----------
    span:
        When it holds, in years and parts of them (ids where times have no calendar); None where nothing is known.
    match:
        The number of the matching facts it is one of, from 1; None where nothing matches it.
    """

    fact: Fact
    span: tuple[float, float] | None
    match: int | None


@dataclass(frozen=True)
class CandidateLine:
    """Another entity that could be meant."""

    row: int
    name: str
    probability: float


@dataclass(frozen=True, eq=False)
class PairView:
    """What a reviewer sees of a source entity and a target entity, or of a source entity alone.

    Attributes
    ----------
    reasons:
        Matching facts with what each adds to the log-odds, the weightiest first; `left` and `right` refer to them by
        number.
    rest:
        What the matching facts add that are not shown.
    balance:
        What counts besides matching facts.
    log_odds:
        The sum of all of these; None where reasons are not prepared yet: then nothing is known of matching facts
        either.
    more_left, more_right, more_reasons:
        How many are not shown.
    """

    source: int
    target: int | None
    left: tuple[ShownFact, ...]
    right: tuple[ShownFact, ...]
    more_left: int
    more_right: int
    reasons: tuple[SharedFact, ...] = ()
    more_reasons: int = 0
    rest: float = 0.0
    balance: Balance = field(default_factory=Balance)
    log_odds: float | None = None

    @cached_property
    def span(self) -> tuple[float, float] | None:
        """The stretch of time that holds all that is shown."""
        spans = [each.span for each in (*self.left, *self.right) if each.span is not None]
        return (min(low for low, _ in spans), max(high for _, high in spans)) if spans else None


def candidates_of(grounds: ExplanationBasis, source: int) -> list[CandidateLine]:
    """The likeliest targets of a source entity, the best first."""
    listed = ordered(grounds.candidates[[source]], grounds.target_ranks)
    names = grounds.target.entities
    return [
        CandidateLine(row, names[row], min(1.0, value))
        for row, value in zip(listed.column.tolist(), listed.value.tolist(), strict=True)
    ][:MOST_CANDIDATES]


def pair_view(grounds: ExplanationBasis, source: int, target: int | None) -> PairView:
    """Set two entities side by side."""
    if target is None:
        return replace(bare_view(grounds, source, None), log_odds=0.0)
    (evidence,) = grounds.evidence(np.array([[source, target]]))
    first = evidence.first(MOST_REASONS)
    return replace(
        _side_by_side(grounds, source, target, first),
        reasons=shared_in_words(grounds, first),
        more_reasons=len(evidence.weight) - len(first.weight),
        rest=float(evidence.weight[MOST_REASONS:].sum()),
        balance=balance_of(evidence),
        log_odds=evidence.log_odds,
    )


def bare_view(grounds: ExplanationBasis, source: int, target: int | None) -> PairView:
    """Two entities side by side, without what they share."""
    return _side_by_side(grounds, source, target, None)


def _side_by_side(grounds: ExplanationBasis, source: int, target: int | None, shared: PairEvidence | None) -> PairView:
    left_all = sides_of_entity(grounds.source, source)
    right_all = np.zeros(0, np.int64) if target is None else sides_of_entity(grounds.target, target)
    left = _shown(grounds.source, left_all, [] if shared is None else shared.source_side.tolist())
    right = _shown(grounds.target, right_all, [] if shared is None else shared.target_side.tolist())
    return PairView(source, target, left, right, len(left_all) - len(left), len(right_all) - len(right))


def _shown(graph: TemporalGraph, sides: Ids, matched: list[int]) -> tuple[ShownFact, ...]:
    """Matching facts first, by weight; then the others, dated ones first, by time."""
    number = {side: place for place, side in reversed(list(enumerate(matched, start=1)))}
    others = sides[~np.isin(sides, matched)]
    fact = others % max(1, graph.n_facts)
    time = np.where(graph.begin[fact] != UNKNOWN, graph.begin[fact], graph.end[fact]).astype(np.int64)
    in_order = others[np.argsort(np.where(time == UNKNOWN, np.iinfo(np.int64).max, time), kind="stable")]
    chosen = [*number, *in_order[:MOST_FACTS].tolist()][:MOST_FACTS]
    return tuple(
        ShownFact(fact_of(graph, side), _span(graph, side % graph.n_facts), number.get(side))
        for side in sorted(chosen, key=lambda side: number.get(side, MOST_FACTS + 1))
    )


def _span(graph: TemporalGraph, fact: int) -> tuple[float, float] | None:
    begin, end = int(graph.begin[fact]), int(graph.end[fact])
    if begin == end == UNKNOWN:
        return None
    low = _place(begin if begin != UNKNOWN else end, graph.opaque_times)[0]
    high = _place(end if end != UNKNOWN else begin, graph.opaque_times)[1]
    return (low, high) if low <= high else (high, low)


def _place(code: int, opaque: bool) -> tuple[float, float]:
    """Where a date lies, in years: from where it may begin to where it may end.

    >>> from dualmatch.graph.times import parse_date
    >>> _place(parse_date("1833"), False), _place(parse_date("1833-07"), False)
    ((1833.0, 1834.0), (1833.5, 1833.583))
    """
    if opaque:
        return float(code), float(code)
    year, rest = divmod(code, _YEAR)
    month, day = divmod(rest, _MONTH)
    start = year + max(0, month - 1) / 12 + max(0, day - 1) / 372
    length = 1 / 372 if day else 1 / 12 if month else 1.0
    return round(start, 3), round(start + length, 3)
