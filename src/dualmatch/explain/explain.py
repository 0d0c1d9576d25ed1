"""Why a pair, or why none: shared dated facts with their weights, and what other candidates lack."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

import numpy as np

from dualmatch.decode.shortlist import ordered
from dualmatch.decode.verdicts import Reason, Verdict
from dualmatch.errors import InputError
from dualmatch.explain.basis import ExplanationBasis, basis_of
from dualmatch.explain.explanation import Aspect, Candidate, Explanation, Fact, Lack, SharedFact
from dualmatch.graph.arrays import Flags, Ids
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.shown_name import short_form, shown_name
from dualmatch.graph.times import UNKNOWN, Precision, coarsen, contradict, format_date, precision_of
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.evidence.pair_evidence import PairEvidence

OTHERS: Final = 3
"""Other candidates that an explanation shows."""
REASONS: Final = 3
"""Facts that the column ``reasons`` of an alignment file shows."""
_BATCH: Final = 20_000
_VISIBLE_WEIGHT: Final = 0.005
_VISIBLE: Final = 0.0005  # a smaller probability would be shown as 0.000
_LISTED: Final = 10  # ids that share a label
_SEARCHED: Final = 50_000  # names to look through for one that was meant; in more it would take seconds


def explain_entity(
    alignment: Alignment | ExplanationBasis, entity: str, *, target: bool = False, versus: str | None = None
) -> Explanation:
    """Explain why an entity was given its partner, or none; parameters as in `dualmatch.explain`."""
    basis = _basis(alignment)
    if target:
        basis = basis.flipped()
    row = _row_of(entity, basis.source, basis.source_ids)
    rival = None if versus is None else _row_of(versus, basis.target, basis.target_ids)
    return _Explainer(basis, row, rival).explanation()


def reasons(alignment: Alignment | ExplanationBasis, top: int = REASONS) -> list[str]:
    """For each source entity, in the order of rows: its weightiest shared facts, or why it has no link.

    Reasons are separated by "; ".
    """
    basis = _basis(alignment)
    texts = [""] * basis.source.n_entities
    for source, shared, names in _most_shared(basis, top):
        weights = [(str(fact), fact.weight) for fact in shared]
        if names >= _VISIBLE_WEIGHT:
            weights.append(("labels alike", names))
        texts[source] = "; ".join(f"{words} ({weight:+.2f})" for words, weight in weights)
    for source in basis.pairs[basis.is_seed, 0].tolist():
        texts[source] = "; ".join(part for part in ("given as a seed", texts[source]) if part)
    none = basis.unlinked
    for at, row in enumerate(none.row.tolist()):
        texts[row] = none.in_words(at, basis.target.entities)
    return texts


def _most_shared(basis: ExplanationBasis, top: int) -> Iterator[tuple[int, tuple[SharedFact, ...], float]]:
    """The weightiest shared facts of every pair, by source row, and what names add."""
    for start in range(0, len(basis.pairs), _BATCH):
        batch = basis.pairs[start : start + _BATCH]
        for source, evidence in zip(batch[:, 0].tolist(), basis.evidence(batch), strict=True):
            yield source, shared_in_words(basis, evidence.first(top)), evidence.balance.names


class _Explainer:
    """One question: an entity, its partner if it has one, and the candidates to compare with."""

    def __init__(self, basis: ExplanationBasis, row: int, rival: int | None) -> None:
        self.basis, self.row = basis, row
        at = np.flatnonzero(basis.pairs[:, 0] == row)
        # Read backwards, a many-to-one alignment may hold several: the surest of them.
        self.at = int(at[np.argmax(basis.confidence[at])]) if len(at) else None
        self.match = None if self.at is None else int(basis.pairs[self.at, 1])
        self.probabilities = self._probabilities()
        self.others = self._others() if rival is None else [rival]
        if rival is not None and rival == self.match:
            raise InputError(f"{basis.target.entities[rival]!r} is the partner itself; compare with another entity")
        shown = self.others if self.match is None else [self.match, *self.others]
        asked = np.array([(row, other) for other in shown], dtype=np.int64).reshape(-1, 2)
        self.evidence = dict(zip(shown, basis.evidence(asked), strict=True))

    def explanation(self) -> Explanation:
        basis = self.basis
        name = basis.source.entities[self.row]
        others = tuple(self._candidate(other) for other in self.others)
        if self.at is None or self.match is None:
            none = basis.unlinked
            at = int(np.searchsorted(none.row, self.row))
            words = basis.why_unlinked(at)
            category = Reason(none.reason[at]).name.lower()
            verdict = none.verdict(at)
            confidence = float(none.confidence[at]) if verdict is Verdict.NO_MATCH else None
            return Explanation(
                name,
                verdict,
                None,
                confidence,
                False,
                0.0,
                (),
                words,
                category,
                others,
                label=basis.source.labels.get(name),
                needed=self._needed(Reason(none.reason[at])),
            )
        evidence = self.evidence[self.match]
        return Explanation(
            name,
            Verdict.LINKED,
            basis.target.entities[self.match],
            float(basis.confidence[self.at]),
            bool(basis.is_seed[self.at]),
            evidence.log_odds,
            shared_in_words(basis, evidence),
            reason=None,
            category=None,
            others=others,
            balance=evidence.balance,
            label=basis.source.labels.get(name),
            match_label=basis.target.labels.get(basis.target.entities[self.match]),
            texts=basis.as_written(self.row, self.match, evidence.texts),
        )

    def _needed(self, reason: Reason) -> tuple[str, ...]:
        """What the first candidate lacks to be a link, by the numbers of the run."""
        if not self.others or reason in (Reason.TOLD, Reason.NO_FACTS):
            return ()
        basis, other = self.basis, self.others[0]
        evidence, name = self.evidence[other], basis.target.shown(other)
        short, rivals = -evidence.log_odds, evidence.balance.rivals
        holder = np.flatnonzero(basis.pairs[:, 1] == other)
        found = []
        if reason is Reason.TIED and len(self.others) > 1:
            rival = basis.target.shown(self.others[1])
            found.append(f"a fact that {name} shares and {rival} does not, or the other way round")
        if len(holder) and not basis.many_to_one:
            at = int(holder[0])
            holds = f"{basis.source.shown(int(basis.pairs[at, 0]))} (confidence {basis.confidence[at]:.3f})"
            found.append(f"more evidence for {name} than {holds} has, which is linked with it")
        if short > 0.0:
            found.append(_more_facts(short, shared_in_words(basis, evidence.first(1))))
            if short + rivals < 0.0:
                found.append(f"or no other partners: without them log-odds would be {-(short + rivals):+.2f}")
        elif reason is Reason.CONTESTED:
            found.append(f"a fact that tells it from the others that are as likely to be {name}")
        elif reason is Reason.BELOW_ASKED:
            found.append("a lower threshold: it is likelier than not, and more was asked for")
        return tuple(found)

    def _probabilities(self) -> dict[int, float]:
        """Candidates by probability, the best first."""
        row = self.basis.candidates[[self.row]]
        entries = ordered(row, self.basis.target_ranks)
        return dict(zip(entries.column.tolist(), entries.value.tolist(), strict=True))

    def _others(self) -> list[int]:
        listed = [other for other in self.probabilities if other != self.match][:OTHERS]
        least = 1 if self.match is None else 0  # the best candidate of all, however unlikely
        return [other for at, other in enumerate(listed) if at < least or self.probabilities[other] >= _VISIBLE]

    def _candidate(self, other: int) -> Candidate:
        evidence, name = self.evidence[other], self.basis.target.entities[other]
        probability = min(1.0, self.probabilities.get(other, 0.0))
        return Candidate(
            name,
            probability,
            evidence.log_odds,
            shared_in_words(self.basis, evidence),
            self._lacks(evidence),
            evidence.balance,
            self.basis.target.labels.get(name),
            self.basis.as_written(self.row, other, evidence.texts),
        )

    def _lacks(self, evidence: PairEvidence) -> tuple[Lack, ...]:
        """Against the match: facts that weigh less with this candidate. Without one: facts it does not share."""
        source, here = self.basis.source, _by_side(evidence)
        if self.match is None:
            missing = (side for side in sides_of_entity(source, self.row).tolist() if side not in here)
            return tuple(
                sorted((Lack(fact_of(source, side), None) for side in missing), key=lambda lack: str(lack.fact))
            )
        with_match = _by_side(self.evidence[self.match])
        short = {side: weight - here.get(side, 0.0) for side, weight in with_match.items()}
        return tuple(
            Lack(fact_of(source, side), less)
            for side, less in sorted(short.items(), key=lambda item: -round(item[1], 9))
            if less > _VISIBLE_WEIGHT
        )


def _more_facts(short: float, best: tuple[SharedFact, ...]) -> str:
    """How many facts like the weightiest that is shared would make up what is short of an even chance."""
    if not best or best[0].weight < _VISIBLE_WEIGHT:
        return f"log-odds {short:.2f} higher, for an even chance"
    like = f"like {best[0]} ({best[0].weight:+.2f})"
    n = int(np.ceil(short / best[0].weight))
    return f"log-odds {short:.2f} higher, for an even chance: about {n:,} more shared fact{'s' * (n > 1)} {like}"


def _by_side(evidence: PairEvidence) -> dict[int, float]:
    weights: dict[int, float] = {}
    for side, weight in zip(evidence.source_side.tolist(), evidence.weight.tolist(), strict=True):
        weights[side] = weights.get(side, 0.0) + weight
    return weights


def _basis(alignment: Alignment | ExplanationBasis) -> ExplanationBasis:
    return alignment if isinstance(alignment, ExplanationBasis) else basis_of(alignment)


def _row_of(entity: str, graph: TemporalGraph, ids: np.ndarray | None) -> int:
    """Row of an entity by its name or, where no name is meant, by its id, else by what is shown of it."""
    if not isinstance(entity, str):
        raise InputError(f"{entity!r} is not the name of an entity; give a text")
    if entity in graph.entity_rows:
        return graph.entity_rows[entity]
    if ids is not None and entity.isascii() and entity.isdigit():
        rows = np.flatnonzero(ids == int(entity)) if len(entity) < 19 else np.zeros(0, np.intp)
        if len(rows):
            return int(rows[0])
    labelled = _shown_as(entity.casefold(), graph)
    if len(labelled) == 1:
        return labelled[0]
    if labelled:
        first = ", ".join(graph.entities[row] for row in labelled[:_LISTED])
        more = f" and {len(labelled) - _LISTED:,} more" if len(labelled) > _LISTED else ""
        found = f"{entity!r} is the label of {len(labelled):,} entities of {graph.name}"
        raise InputError(f"{found}; give one of {first}{more}")
    raise InputError(f"{entity!r} is not an entity of {graph.name}; {_hint(entity, graph.entities)}")


def _shown_as(text: str, graph: TemporalGraph) -> list[int]:
    """Rows of entities with this label, else of those whose name in short, or in words, is this."""
    named = [name for name, label in graph.labels.items() if label.casefold() == text]
    rows = [graph.entity_rows[name] for name in named if name in graph.entity_rows]
    if rows:
        return rows
    last = re.split(r"[ _:]", text)[-1]  # of one word only: most names do not have it, and need not be looked at
    holding = (row for row, name in enumerate(graph.entities) if last in unquote(name).casefold())
    shown = ((row, shown_name(graph.entities[row])) for row in holding)
    return [row for row, each in shown if text in (each.text.casefold(), short_form(each.name).casefold())]


def _hint(entity: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(entity, names, n=3) if len(names) <= _SEARCHED else []
    return f"did you mean {' or '.join(map(repr, near))}?" if near else "give a name or id that its files hold"


def fact_of(graph: TemporalGraph, side: int) -> Fact:
    """A fact side in words."""
    labels = graph.labels
    if side >= 2 * graph.n_facts:
        dates, row = graph.dates, side - 2 * graph.n_facts
        when = int(dates.begin[row]), int(dates.end[row])
        relation = graph.relations[dates.relation[row]]
        time = time_in_words(*when, graph.opaque_times)
        return Fact(relation, None, True, time, None, labels.get(relation), *_written(when, graph))
    fact = side % graph.n_facts
    is_subject = side < graph.n_facts
    other = graph.entities[graph.tail[fact] if is_subject else graph.head[fact]]
    relation = graph.relations[graph.relation[fact]]
    when = int(graph.begin[fact]), int(graph.end[fact])
    time = time_in_words(*when, graph.opaque_times)
    return Fact(relation, other, is_subject, time, labels.get(other), labels.get(relation), *_written(when, graph))


def _written(when: tuple[int, int], graph: TemporalGraph) -> tuple[str | None, ...]:
    show = str if graph.opaque_times else format_date
    return tuple(None if code == UNKNOWN else show(code) for code in when)


def time_rows(graph: TemporalGraph, sides: Ids) -> Ids:
    """Where the times of fact sides stand in `TemporalGraph.times`."""
    n_facts = graph.n_facts
    return np.where(sides >= 2 * n_facts, sides - n_facts, sides % max(n_facts, 1))


@lru_cache(maxsize=65_536)
def time_in_words(begin: int, end: int, opaque: bool) -> str:
    """When a fact holds.

    >>> from dualmatch.graph.times import parse_date
    >>> time_in_words(parse_date("1994"), parse_date("1998-03"), False)
    'from 1994 to 1998-03'
    >>> time_in_words(7, 7, True)
    'at time 7'
    """
    show = (lambda code: f"time {code}") if opaque else format_date
    if begin == end:
        if begin == UNKNOWN:
            return ""
        at = "at" if opaque else "on" if precision_of(np.array([begin], np.int32))[0] == Precision.DAY else "in"
        return f"{at} {show(begin)}"
    parts = [f"{word} {show(code)}" for word, code in (("from", begin), ("to", end)) if code != UNKNOWN]
    return " ".join(parts)


def sides_of_entity(graph: TemporalGraph, entity: int) -> Ids:
    """The fact sides of an entity: the rows of its facts, plus n_facts where it is their tail; repeated facts once.

    Its own dates follow: their rows plus 2 n_facts.
    """
    ends = graph.head, graph.tail, graph.dates.entity
    sides = np.concatenate([np.flatnonzero(end == entity) + at * graph.n_facts for at, end in enumerate(ends)])
    times = (column[time_rows(graph, sides)].astype(np.int64) for column in graph.times)
    rows = np.stack([*ends_of(graph, sides), sides >= 2 * graph.n_facts, *times], axis=1)
    return sides[np.sort(np.unique(rows, axis=0, return_index=True)[1])]


def shared_in_words(basis: ExplanationBasis, evidence: PairEvidence) -> tuple[SharedFact, ...]:
    """Pairs of fact sides by name, each with what the two facts have in common."""
    source, target = basis.source, basis.target
    here, there = evidence.source_side, evidence.target_side
    (relation, entity), (other_relation, other_entity) = ends_of(source, here), ends_of(target, there)
    same_relation = (basis.same_relation(relation, other_relation) | (entity < 0)).tolist()
    ends = zip(entity.tolist(), other_entity.tolist(), strict=True)
    same_entity = [pair in basis.believed for pair in ends]
    rows = time_rows(source, here).tolist(), time_rows(target, there).tolist()
    weights = evidence.weight.tolist(), contradicting(basis, evidence).tolist()
    columns = here.tolist(), there.tolist(), *rows, same_relation, same_entity, *weights
    return tuple(
        SharedFact(
            fact_of(source, left),
            fact_of(target, right),
            _same(by_relation, by_entity),
            _same_dates(basis, row, other_row),
            weight,
            differ,
        )
        for left, right, row, other_row, by_relation, by_entity, weight, differ in zip(*columns, strict=True)
    )


def contradicting(basis: ExplanationBasis, evidence: PairEvidence) -> Flags:
    """Dates that contradict each other and count against the pair; rarely, dates that agree count against it, too."""
    source, target, opaque = basis.source, basis.target, basis.source.opaque_times or basis.target.opaque_times
    here, there = time_rows(source, evidence.source_side), time_rows(target, evidence.target_side)
    ends = zip(source.times, target.times, strict=True)
    begin, end = (contradict(first[here], second[there], opaque) for first, second in ends)
    return (evidence.weight < 0) & (begin | end)


def ends_of(graph: TemporalGraph, sides: Ids) -> tuple[Ids, Ids]:
    """The directed relation of each fact side, and the entity at its other end; -1 for a date of the entity itself."""
    is_date = sides >= 2 * graph.n_facts
    relation, other = np.full(len(sides), -1), np.full(len(sides), -1)
    relation[is_date] = graph.dates.relation[sides[is_date] - 2 * graph.n_facts]
    facts = sides[~is_date]
    fact, is_tail = facts % max(graph.n_facts, 1), facts >= graph.n_facts
    relation[~is_date] = graph.relation[fact].astype(np.int64) + np.where(is_tail, graph.n_relations, 0)
    other[~is_date] = np.where(is_tail, graph.head[fact], graph.tail[fact])
    return relation, other


def _same(relation: bool, entity: bool) -> tuple[Aspect, ...]:
    aspects: list[Aspect] = ["relation"] if relation else []
    return (*aspects, "entity") if entity else tuple(aspects)


def _same_dates(basis: ExplanationBasis, here: int, there: int) -> tuple[str, ...]:
    """Begin and end where two facts agree on them, as precise as they agree."""
    source, target = basis.source, basis.target
    opaque = source.opaque_times or target.opaque_times
    ends = zip(("begin", "end"), source.times, target.times, strict=True)
    dates = [(end, _common_date(int(first[here]), int(second[there]), opaque)) for end, first, second in ends]
    return tuple(f"{end} {date}" for end, date in dates if date is not None)


@lru_cache(maxsize=65_536)
def _common_date(first: int, second: int, opaque: bool) -> str | None:
    """The most precise date that two codes agree on.

    >>> from dualmatch.graph.times import parse_date
    >>> _common_date(parse_date("1994-03-01"), parse_date("1994-03"), False)
    '1994-03'
    """
    if UNKNOWN in (first, second):
        return None
    if opaque:
        return f"time {first}" if first == second else None
    codes = np.array([first, second], dtype=np.int32)
    for precision in reversed(Precision):
        coarse = coarsen(codes, precision)
        if coarse[0] == coarse[1] and precision_of(codes).min() >= precision:
            return format_date(int(coarse[0]))
    return None
