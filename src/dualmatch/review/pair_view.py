"""A pair as a reviewer sees it: which facts of the two match, what each adds, and what tells candidates apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, get_args

import numpy as np
from markupsafe import Markup

from dualmatch.charts.svg import waterfall
from dualmatch.charts.timeline import Lane, Span
from dualmatch.charts.timeline import timeline as drawn
from dualmatch.decode.shortlist import ordered
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.explain.explain import contradicting, ends_of, fact_of, sides_of_entity, time_rows
from dualmatch.explain.explanation import Fact
from dualmatch.explain.matched_facts import MatchedFacts, by_time, matched_facts
from dualmatch.graph.arrays import Ids
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.shown_name import ShownName
from dualmatch.graph.times import UNKNOWN, Precision, encode_date, on_calendar, precision_of
from dualmatch.methods.evidence.pair_evidence import Balance, PairEvidence
from dualmatch.review.rivals import Difference, Shared, differences

MOST_ROWS: Final = 12
"""Matching facts that are shown at once; the others are folded."""
MOST_FOLDED: Final = 100
"""Facts in a fold; hubs have thousands, which have pages of their own."""
MOST_CANDIDATES: Final = 6
_MOST_LANES, _MOST_ALONE = 12, 5
_MOST_RIVALS: Final = 3  # of which it is shown what tells them apart
_VISIBLE: Final = 0.05
Part = Literal["matching", "source", "target"]
PARTS: Final[tuple[Part, ...]] = get_args(Part)


@dataclass(frozen=True)
class ShownFact:
    """A fact of one of the two entities."""

    fact: Fact
    span: Span | None  # when it holds, in days or in bare numbers; None where nothing is known
    row: int | None  # of the entity at the other end
    partner: int | None  # the source entity that this target entity goes with, for facts of the target


@dataclass(frozen=True)
class FactRow:
    """Facts of both that match, or dates of both that contradict each other."""

    left: ShownFact
    right: ShownFact
    number: int | None = None  # from 1; None for dates that contradict each other
    weight: float | None = None  # what they add to the log-odds; None where they count with others
    counted_with: int | None = None  # the number of the row that they count with

    @property
    def differ(self) -> bool:
        """Whether they are dates that contradict each other."""
        return self.weight is not None and self.number is None


@dataclass(frozen=True)
class CandidateLine:
    """A candidate of the source entity."""

    row: int
    name: ShownName
    probability: float
    shared: float = 0.0  # what facts and names that it shares add, in log-odds
    share: float = 0.0  # the same as a part of the most that a candidate has
    apart: tuple[Difference, ...] = ()  # from the pair that is shown; the weightiest


@dataclass(frozen=True, eq=False)
class PairView:
    """What a reviewer sees of a source entity and a target entity, or of a source entity alone.

    `rows`: matching facts, the weightiest first. `log_odds`: what all matching facts and the `balance` add up to; None
    where reasons, and with them matching facts, are not prepared yet. `more_…` counts what is left out.
    """

    source: int
    target: int | None
    names: tuple[str, str]
    rows: tuple[FactRow, ...] = ()
    more_rows: int = 0
    only_source: tuple[ShownFact, ...] = ()
    only_target: tuple[ShownFact, ...] = ()
    more_source: int = 0
    more_target: int = 0
    rest: float = 0.0  # what matching facts add that are not among the first rows
    balance: Balance = field(default_factory=Balance)  # what counts besides matching facts
    log_odds: float | None = None
    texts: tuple[str, str] | None = None  # the two labels that agree best
    has_days: bool = True
    candidates: tuple[CandidateLine, ...] = ()  # the one that is shown, if it is one, and others

    @property
    def first_rows(self) -> tuple[FactRow, ...]:
        """Rows that are shown at once."""
        return tuple(row for row in self.rows[:MOST_ROWS] if row.weight is not None)

    @property
    def folded_rows(self) -> tuple[FactRow, ...]:
        return self.rows[len(self.first_rows) :]

    @property
    def n_folded(self) -> int:
        return len(self.folded_rows) + self.more_rows

    @property
    def bars(self) -> list[Markup]:
        """A bar for each first row, for the rest of them if there is one, for each part of the balance and the sum."""
        steps = [row.weight or 0.0 for row in self.first_rows] + ([self.rest] if self.n_folded else [])
        return waterfall([*steps, *(value for _, value in self.balance.in_words())])

    @property
    def chance(self) -> float | None:
        """The probability that the log-odds stand for."""
        return None if self.log_odds is None else float(1.0 / (1.0 + np.exp(-self.log_odds)))


def timeline(view: PairView) -> Markup | None:
    """Facts of both over one axis, matching ones in one lane; None where no fact that is shown has a time."""
    lanes = [
        Lane(_label(row.left, row.number), f"{row.left.fact}\n{row.right.fact}", row.left.span, row.right.span, True)
        for row in view.rows
        if (row.left.span or row.right.span) and not row.differ
    ][:_MOST_LANES]
    alone = max(_MOST_ALONE, (_MOST_LANES - len(lanes)) // 2)
    here, there = ([each for each in facts if each.span][:alone] for facts in (view.only_source, view.only_target))
    lanes += [Lane(_label(each), str(each.fact), each.span) for each in here]
    lanes += [Lane(_label(each), str(each.fact), None, each.span) for each in there]
    words = "Facts over time: those that match in one lane, source above target"
    return drawn(lanes, words, names=view.names, days=view.has_days)


def _label(shown: ShownFact, number: int | None = None) -> str:
    """A lane's label: the neighbour says more than the relation, which many lanes may share."""
    fact = shown.fact
    words = fact.with_other(fact.shown_relation.text, None if fact.shown_other is None else fact.shown_other.text)
    return words if number is None else f"{number}. {words}"


def candidates_of(basis: ExplanationBasis, source: int) -> list[CandidateLine]:
    """The likeliest targets of a source entity, the best first."""
    listed = ordered(basis.candidates[[source]], basis.target_ranks)
    return [
        CandidateLine(row, basis.target.shown(row), min(1.0, value))
        for row, value in zip(listed.column[:MOST_CANDIDATES].tolist(), listed.value.tolist(), strict=False)
    ]


def pair_view(basis: ExplanationBasis, source: int, target: int | None) -> PairView:
    """Set two entities side by side, and the other candidates beside them."""
    candidates = candidates_of(basis, source)
    rows = dict.fromkeys([*([] if target is None else [target]), *(each.row for each in candidates)])
    pairs = np.array([(source, row) for row in rows], dtype=np.int64).reshape(-1, 2)
    evidence = dict(zip(rows, basis.evidence(pairs), strict=True))
    apart: dict[int, tuple[Difference, ...]] = {}
    if target is None:
        view = bare_view(basis, source, None)
    else:
        rivals = [each.row for each in candidates if each.row != target][:_MOST_RIVALS]
        found = {row: matched_facts(basis, source, row, evidence[row]) for row in (target, *rivals)}
        view = _view(basis, source, target, evidence[target], found[target])
        texts = {row: basis.as_written(source, row, evidence[row].texts) for row in found}
        with_each = {row: Shared(evidence[row], found[row].source, texts[row]) for row in found}
        apart = {row: differences(basis.source, with_each[row], with_each[target]) for row in rivals}
    shared = {row: float(each.weight.sum()) + each.balance.names for row, each in evidence.items()}
    most = max([*shared.values(), _VISIBLE])
    lines = [replace(each, shared=shared[each.row], share=max(0.0, shared[each.row] / most)) for each in candidates]
    return replace(view, candidates=tuple(replace(each, apart=apart.get(each.row, ())) for each in lines))


def _view(basis: ExplanationBasis, source: int, target: int, evidence: PairEvidence, found: MatchedFacts) -> PairView:
    rows = _rows(basis, found, evidence, MOST_ROWS + MOST_FOLDED)
    here, there = (
        tuple(_shown(basis, graph, side) for side in sides[:MOST_FOLDED].tolist())
        for graph, sides in ((basis.source, found.only_source), (basis.target, found.only_target))
    )
    first = min(MOST_ROWS, len(evidence.weight))
    return PairView(
        source,
        target,
        _names(basis, source, target),
        rows,
        _n_rows(basis, found, evidence) - len(rows),
        here,
        there,
        len(found.only_source) - len(here),
        len(found.only_target) - len(there),
        float(evidence.weight[first:].sum()),
        evidence.balance,
        evidence.log_odds,
        basis.as_written(source, target, evidence.texts),
        not (basis.source.opaque_times or basis.target.opaque_times),
    )


def bare_view(basis: ExplanationBasis, source: int, target: int | None) -> PairView:
    """Two entities side by side, as long as it is not known which facts match; or one without a partner."""
    left = by_time(basis.source, sides_of_entity(basis.source, source))
    right = np.zeros(0, np.int64) if target is None else by_time(basis.target, sides_of_entity(basis.target, target))
    return PairView(
        source,
        target,
        _names(basis, source, target),
        only_source=tuple(_shown(basis, basis.source, side) for side in left[:MOST_FOLDED].tolist()),
        only_target=tuple(_shown(basis, basis.target, side) for side in right[:MOST_FOLDED].tolist()),
        more_source=max(0, len(left) - MOST_FOLDED),
        more_target=max(0, len(right) - MOST_FOLDED),
        log_odds=0.0 if target is None else None,
        has_days=not (basis.source.opaque_times or basis.target.opaque_times),
        candidates=tuple(candidates_of(basis, source)),
    )


def all_facts(
    basis: ExplanationBasis, source: int, target: int, part: Part, start: int, most: int
) -> tuple[Sequence[FactRow | ShownFact], int]:
    """Some of the facts of a part of the view, however many there are, and how many there are in all."""
    (evidence,) = basis.evidence(np.array([[source, target]]))
    found = matched_facts(basis, source, target, evidence)
    if part == "matching":
        return _rows(basis, found, evidence, start + most)[start:], _n_rows(basis, found, evidence)
    graph, sides = (basis.source, found.only_source) if part == "source" else (basis.target, found.only_target)
    return [_shown(basis, graph, side) for side in sides[start : start + most].tolist()], len(sides)


def _n_rows(basis: ExplanationBasis, found: MatchedFacts, evidence: PairEvidence) -> int:
    return len(found.source) + int(contradicting(basis, evidence).sum())


def _rows(basis: ExplanationBasis, found: MatchedFacts, evidence: PairEvidence, most: int) -> tuple[FactRow, ...]:
    """Pairs of facts: those that evidence names, then all others."""
    agree = ~contradicting(basis, evidence)
    number = np.cumsum(agree)
    rows = []
    for at in range(min(most, len(evidence.weight))):
        left, right, weight = (column[at] for column in (evidence.source_side, evidence.target_side, evidence.weight))
        facts = _shown(basis, basis.source, int(left)), _shown(basis, basis.target, int(right))
        rows.append(FactRow(*facts, int(number[at]) if agree[at] else None, float(weight)))
    named = int(agree.sum())
    rest = slice(named, named + most - len(rows))
    others = zip(found.source[rest].tolist(), found.target[rest].tolist(), found.of[rest].tolist(), strict=True)
    for left, right, of in others:
        facts = _shown(basis, basis.source, left), _shown(basis, basis.target, right)
        rows.append(FactRow(*facts, counted_with=int(number[of]) if of >= 0 else None))
    return tuple(rows)


def _names(basis: ExplanationBasis, source: int, target: int | None) -> tuple[str, str]:
    there = "no candidate" if target is None else basis.target.shown(target).text
    return f"{basis.source.shown(source).text} (source)", f"{there} (target)"


def _shown(basis: ExplanationBasis, graph: TemporalGraph, side: int) -> ShownFact:
    at = np.array([side])
    row = int(ends_of(graph, at)[1][0])
    partner = None
    if graph is basis.target and row >= 0:
        partner = int(basis.source_of[row]) if basis.source_of[row] >= 0 else None
    return ShownFact(fact_of(graph, side), _span(graph, at), row if row >= 0 else None, partner)


def _span(graph: TemporalGraph, side: Ids) -> Span | None:
    begin, end = (times[time_rows(graph, side)].astype(np.int64) for times in graph.times)
    if begin[0] == end[0] == UNKNOWN:
        return None
    if graph.opaque_times:
        return Span(*(None if code[0] == UNKNOWN else float(code[0]) for code in (begin, end)))
    low = None if begin[0] == UNKNOWN else float(on_calendar(begin, Precision.DAY)[0])
    high = None if end[0] == UNKNOWN else float(_day_after(end))
    return Span(low, high) if low is None or high is None or low <= high else Span(high, low)


def _day_after(code: Ids) -> int:
    """The day after a date, or after the month or year that it is known to.

    >>> from dualmatch.graph.times import parse_date
    >>> _day_after(np.array([parse_date("1970")])), _day_after(np.array([parse_date("1970-12-31")]))
    (365, 365)
    """
    precision = Precision(int(precision_of(code.astype(np.int32))[0]))
    if precision == Precision.DAY:
        return int(on_calendar(code, precision)[0]) + 1
    number = int(on_calendar(code, precision)[0]) + 1
    year, month = (number, 1) if precision == Precision.YEAR else (number // 12, number % 12 + 1)
    return int(on_calendar(np.array([encode_date(year, month)]), Precision.DAY)[0])
