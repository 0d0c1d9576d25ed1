"""Propagation: the support of other pairs for each candidate, sweep by sweep.

Loopy belief propagation over candidate pairs. The message of a supporter leaves out what the candidate sent to the
supporter (the cavity): two wrong pairs cannot hold each other up. (Pearl, *Probabilistic reasoning in intelligent
systems*, 1988; Mézard and Montanari, *Information, physics, and computation*, 2009.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np

from dualmatch.channels.evidence.agreement import Side, open_facts, room_elsewhere
from dualmatch.channels.evidence.support import Support
from dualmatch.channels.evidence.ties import Ties
from dualmatch.decode.one_to_one import Candidates, Marginals, Unmatched, chance_of, match, match_by_row, on_grid
from dualmatch.engine import Engine, arrays_of, called
from dualmatch.graph.arrays import Flags, Floats, Ids, Ints
from dualmatch.methods.evidence.state import COVERAGES, Model, both

_LEAST_OPEN: Final = 1e-3  # by chance, so many facts have a neighbour with an unlisted partner at least


@dataclass(frozen=True, eq=False)
class Evidence:
    """The outcome of a sweep."""

    value: Floats  # (n_candidates,): log-likelihood ratio of each, same against chance
    by_slot: tuple[Floats, Floats]  # what each slot of the support adds to it, in either view (the mean of both counts)
    coverage: Floats  # (n_candidates, len(COVERAGES)): how likely each coverage is, were the candidate right
    nothing: tuple[Floats, Floats]  # (n_entities,): log-likelihood ratio with an entity that it shares nothing with

    def with_dates(self, value: Floats, nothing: tuple[Floats, Floats]) -> Self:
        """With what dates of the entities themselves add to either."""
        return replace(self, value=self.value + value, nothing=both(lambda side: self.nothing[side] + nothing[side]))


@dataclass(frozen=True, eq=False)
class TieTerms:
    """What a model says of the ties of both graphs: the same for all candidates and sweeps."""

    overlap: tuple[Floats, Floats]  # (n_ties,): how likely each is to be found in the other graph
    telling: tuple[Floats, Floats]  # (n_ties,): the same, as far as its absence there is informative
    undated: tuple[Flags, Flags]  # (n_ties,): whether none of its facts has a date that the other graph could share
    bases: tuple[Floats, Floats]  # (len(COVERAGES), n_entities): log-likelihood ratio of sharing nothing

    @classmethod
    def of(cls, sides: tuple[Side, Side], model: Model, engine: Engine) -> Self:
        source, target = engine.on_columns(_tie_terms, [(sides[0], sides[1], model, 0), (sides[1], sides[0], model, 1)])
        undated = source[2], target[2]
        return cls((source[0], target[0]), (source[1], target[1]), undated, (source[3], target[3]))


def _tie_terms(side: Side, other: Side, model: Model, number: int) -> tuple[Floats, Floats, Flags, Floats]:
    """The terms of one side."""
    overlap = model.tie_overlap(side.ties, number)
    return overlap, _telling_overlap(side, model, number, overlap), _undated(side, other), _missed(side.ties, overlap)


@dataclass(frozen=True, eq=False)
class SweepTerms:
    """What follows from who is unmatched: the same for all candidates of a sweep."""

    unmatched: Unmatched
    open_share: tuple[Floats, Floats]  # (n_ties,), as `_open_share`
    # for the ties of either side, None where all are seen: how many of an entity's own nobody sees though the other
    # graph has them, (n_entities,); how many of the other's ties nobody sees, (n_entities,); and what they would take
    # away, were they missing, (len(COVERAGES), n_entities)
    hidden: tuple[tuple[Floats, Floats, Floats] | None, tuple[Floats, Floats, Floats] | None]
    open_by_date: tuple[Floats, Floats]  # as `open_facts`

    @classmethod
    def of(cls, sides: tuple[Side, Side], terms: TieTerms, unmatched: Unmatched, engine: Engine) -> Self:
        ties, unknown = (sides[0].ties, sides[1].ties), unmatched.unknown
        hidden = _Hidden(ties, terms, unknown)
        asked: list[tuple[Any, ...]] = [(_open_share, ties[side], unmatched.elsewhere[side]) for side in (0, 1)]
        asked += [(_Hidden.terms_of, hidden, side) for side in (0, 1)]
        asked += [(open_facts, sides[side], unknown[side]) for side in (0, 1)]
        found = engine.on_columns(called, asked)  # in one step, as none needs another
        return cls(unmatched, (found[0], found[1]), (found[2], found[3]), (found[4], found[5]))


@dataclass(frozen=True, eq=False)
class _Hidden:
    """Ties that both graphs have without anyone seeing it."""

    ties: tuple[Ties, Ties]
    terms: TieTerms
    unknown: tuple[Floats, Floats]

    def terms_of(self, view: int) -> tuple[Floats, Floats, Floats] | None:
        """As `SweepTerms.hidden`."""
        if not self.terms.undated[view].any():
            return None
        own, overlap = self._unseen(view), self.terms.overlap[view]
        expected, offered = self._by_entity(view, overlap * own), self._by_entity(1 - view, self._unseen(1 - view))
        return expected, offered, _missed(self.ties[view], overlap, own)

    def _unseen(self, side: int) -> Floats:
        """Of each tie, how likely it is to be shared without anyone seeing it: undated, neighbour unknown."""
        chance: Floats = self.unknown[side][self.ties[side].neighbour] * self.terms.undated[side]
        return chance

    def _by_entity(self, side: int, weight: Floats) -> Floats:
        counted = np.bincount(self.ties[side].entity, weight, minlength=self.ties[side].n_entities)
        return counted.astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Propagation:
    """Sweeps over one list of candidates with one model."""

    candidates: Candidates
    support: Support
    sides: tuple[Side, Side]
    model: Model
    terms: TieTerms
    with_cavity: bool = True

    def evidence(
        self,
        log_odds: Floats,
        by_slot: tuple[Floats, Floats],
        unmatched: Unmatched,
        engine: Engine,
        still: tuple[Flags, Flags] | None = None,
    ) -> Evidence:
        """Run one sweep, a part of the candidates at a time.

        Parameters
        ----------
        log_odds: (n_supporters,)
            Of each supporter, as last known; supporters are the candidates, unless the support says otherwise.
        by_slot:
            What each slot added to them.
        unmatched:
            How likely it is that an entity's partner is none of its candidates.
        still:
            Entities whose partner is settled: what sharing nothing says is not computed for these, and 0.
        """
        sides, terms = self.sides, self.terms
        sweep = SweepTerms.of(sides, terms, unmatched, engine)
        found, source, target = engine.columns(), engine.columns(), engine.columns()
        whole = _Sweep(self, log_odds, by_slot, sweep)
        for part in engine.each(whole.of_part, [(number,) for number in range(self.support.n_parts)]):
            found.append([part[0], part[1]])
            source.append([part[2]])
            target.append([part[3]])
        (value, coverage), (of_source,), (of_target,) = arrays_of(found, source, target)
        shared = _NothingShared(sides, terms, self.model.coverage, unmatched.unknown, sweep.open_by_date, still)
        nothing = engine.on_columns(shared.value, [(0,), (1,)])
        return Evidence(value, (of_source, of_target), coverage, (nothing[0], nothing[1]))

    def certain(self, log_odds: Floats, by_slot: tuple[Floats, Floats]) -> Floats:
        """How likely each supporter is to be right, without what its candidate sent to it."""
        support = self.support
        sent = 0.5 * _sent_through(support.mirror, by_slot) if self.with_cavity else 0.0
        return chance_of(log_odds[support.supporter] - sent)

    def ratios(self, view: int, certain: Floats, sweep: SweepTerms) -> Floats:
        """For each slot, how much likelier its tie is if the candidate is right, its best support counting."""
        support = self.support
        ratio = np.zeros(len(support.slots[view][0]))
        np.maximum.at(ratio, support.slot[view], certain * support.worth[view])
        np.maximum.at(ratio, support.open_slot[view], self.open_ratios(view, sweep))
        return ratio

    def open_ratios(self, view: int, sweep: SweepTerms) -> Floats:
        """What open support is worth: the chance that its two neighbours are one, over what chance would have.

        Where nearly everybody's partner is known, that both facts have a neighbour whose partner is not is no accident.
        """
        elsewhere, ties = sweep.unmatched.elsewhere, self.support.open_ties[view]
        source, target = (elsewhere[at][side.ties.neighbour[ties[at]]] for at, side in enumerate(self.sides))
        by_chance = sweep.open_share[1 - view][ties[1 - view]]
        ratio: Floats = source * target * self.support.open_worth[view] / by_chance
        return ratio

    def gains(self, view: int, ratio: Floats, sweep: SweepTerms) -> tuple[Floats, Floats]:
        """What each slot adds to its candidate, and what ties that found nothing take away; both add up to its value.

        A mixture over coverages is no sum; by the weights the coverages end with, it becomes one.
        """
        value, _, coverage = self.combined(view, ratio, sweep)
        candidate = self.support.slots[view][0]
        gain = np.zeros(len(candidate))
        for at, by_slot in enumerate(self._gains(view, ratio, sweep, self._room(view, sweep))):
            gain += coverage[candidate, at] * by_slot
        return gain, value - np.bincount(candidate, gain, minlength=len(value))

    def _gains(self, view: int, ratio: Floats, sweep: SweepTerms, room: Floats | None) -> Iterator[Floats]:
        """What each slot adds, at each coverage, to its candidate sharing nothing."""
        candidate, tie = self.support.slots[view]
        overlap, hidden = self.terms.overlap[view][tie], None
        if room is not None:
            unknown = sweep.unmatched.unknown[view][self.sides[view].ties.neighbour[tie]]
            hidden = room[candidate] * (unknown * self.terms.undated[view][tie])
        for coverage in COVERAGES:
            share = coverage * overlap
            gain = np.log1p(share * ratio / (1.0 - share))
            yield gain if hidden is None else np.maximum(gain + hidden * np.log1p(-share), 0.0)

    def _entities(self, side: int) -> Ids:
        return (self.candidates.row, self.candidates.column)[side]

    def _room(self, view: int, sweep: SweepTerms) -> Floats | None:
        """Of each candidate, how much room the other entity has for ties of this one that nobody sees; None: all seen.

        As many of them as the other graph usually has must be among the other entity's own unseen ties.
        """
        hidden = sweep.hidden[view]
        if hidden is None:
            return None
        expected, offered = hidden[0][self._entities(view)], hidden[1][self._entities(1 - view)]
        room: Floats = np.minimum(offered / np.maximum(expected, 1e-9), 1.0)
        return room

    def combined(self, view: int, ratio: Floats, sweep: SweepTerms) -> tuple[Floats, Floats, Floats]:
        """Log-likelihood ratio of each candidate, what each slot adds, and the weights of the coverages."""
        candidate, tie = self.support.slots[view]
        entity, room, hidden = self._entities(view), self._room(view, sweep), sweep.hidden[view]
        with np.errstate(divide="ignore"):
            weight = np.log(self.model.coverage)[:, None]
        weighted = self.terms.bases[view][:, entity]
        if room is not None and hidden is not None:
            weighted -= room * hidden[2][:, entity]
        for at, gain in enumerate(self._gains(view, ratio, sweep, room)):
            weighted[at] += np.bincount(candidate, gain, minlength=len(entity))
        weighted += weight
        top = weighted.max(axis=0)
        share = np.exp(weighted - top)
        total = share.sum(axis=0)
        added = np.log1p(self.terms.overlap[view][tie] * (ratio - 1.0))
        return top + np.log(total), added, (share / total).T


@dataclass(frozen=True, eq=False)
class _NothingShared:
    """What it says of an entity to share nothing with another, where some of its ties may be shared unseen."""

    sides: tuple[Side, Side]
    terms: TieTerms
    coverage: Floats
    unknown: tuple[Floats, Floats]
    open_by_date: tuple[Floats, Floats]  # as `open_facts`
    still: tuple[Flags, Flags] | None = None  # entities of which it is not computed

    def value(self, side: int) -> Floats:
        """As `Evidence.nothing`."""
        ties = self.sides[side].ties
        asked = None if self.still is None else np.flatnonzero(~self.still[side][ties.entity])
        room = room_elsewhere(self.sides[side], self.open_by_date[side], self.open_by_date[1 - side], asked)
        every = slice(None) if asked is None else asked
        unseen = self.unknown[side][ties.neighbour[every]] * room
        return _log_mean(self.coverage, _missed(ties, self.terms.telling[side][every] * (1.0 - unseen), asked=asked))


@dataclass(frozen=True, eq=False)
class _Sweep:
    """One sweep, of which a part can be computed anywhere."""

    propagation: Propagation
    log_odds: Floats
    by_slot: tuple[Floats, Floats]
    terms: SweepTerms

    def of_part(self, number: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Of a part of the candidates: their values, the weights of the coverages, what each slot adds in each view."""
        whole, at = self.propagation, self.propagation.support.candidates_of(number)
        candidates = Candidates(whole.candidates.row[at], whole.candidates.column[at], whole.candidates.shape)
        part = replace(whole, candidates=candidates, support=whole.support.part(number))
        certain = part.certain(self.log_odds, self.by_slot)
        source, target = (part.combined(view, part.ratios(view, certain, self.terms), self.terms) for view in (0, 1))
        return on_grid(0.5 * (source[0] + target[0])), 0.5 * (source[2] + target[2]), source[1], target[1]


def _sent_through(mirror: tuple[Ints, Ints], by_slot: tuple[Floats, Floats]) -> Floats:
    """What candidates sent to their supporters, both views together; nothing where the mirror is -1."""
    sent = np.zeros(len(mirror[0]))
    for view in (0, 1):
        if len(by_slot[view]):
            sent += np.where(mirror[view] >= 0, np.maximum(by_slot[view][mirror[view]], 0.0), 0.0)
    return sent


def _open_share(ties: Ties, elsewhere: Floats, weight: float = 5.0) -> Floats:
    """How likely a fact of each tie's relations is to have a neighbour with a partner that is not listed: (n_ties,)."""
    open_ends = elsewhere[ties.neighbour][ties.tie]
    overall = float(open_ends.mean()) if len(open_ends) else 0.0
    found = np.bincount(ties.relation, open_ends, minlength=ties.n_directed)
    share = (found + weight * overall) / (np.bincount(ties.relation, minlength=ties.n_directed) + weight)
    return np.maximum(ties.sums(share[ties.relation]) / np.diff(ties.first_fact), _LEAST_OPEN)


def _telling_overlap(side: Side, model: Model, number: int, overlap: Floats) -> Floats:
    """How likely each tie is to be found in the other graph, as far as its absence there is informative.

    Where most facts have a date, those without one say little: what is recorded without a date is recorded unevenly.
    """
    dated = (side.begin.precision >= 0) | (side.end.precision >= 0)
    if dated.all():
        return overlap
    weight = np.where(dated, 1.0, 1.0 - dated.mean())
    ties = side.ties
    return -np.expm1(ties.sums(weight * np.log1p(-model.overlap[number])[ties.relation]))


def _undated(side: Side, other: Side) -> Flags:
    """Ties none of whose facts has a date that the other graph could share."""
    undated = np.ones(side.ties.n_ties, dtype=bool)
    for own, there in ((side.begin, other.begin), (side.end, other.end)):
        if (there.precision >= 0).any():
            undated[side.ties.tie[own.precision >= 0]] = False
    return undated


def _missed(ties: Ties, overlap: Floats, weight: Floats | None = None, asked: Ids | None = None) -> Floats:
    """Log-likelihood ratio of sharing nothing, for each coverage and entity: (len(COVERAGES), n_entities).

    Of each tie, `overlap` is the chance to be found in the other graph, and `weight` how much it counts (1 by default).
    Both are about all ties, or those that are `asked` about.
    """
    entity = ties.entity if asked is None else ties.entity[asked]
    sums = np.empty((len(COVERAGES), ties.n_entities))
    log = np.empty(len(overlap))
    for at, coverage in enumerate(COVERAGES):
        np.log1p(np.multiply(overlap, -coverage, out=log), out=log)
        if weight is not None:
            log *= weight
        sums[at] = np.bincount(entity, log, minlength=ties.n_entities)
    return sums


def _log_mean(weight: Floats, values: Floats) -> Floats:
    """Logarithm of the weighted mean of exponentials, over the first axis."""
    with np.errstate(divide="ignore"):
        weighted = values + np.log(weight)[:, None]
    top = weighted.max(axis=0)
    mean: Floats = top + np.log(np.exp(weighted - top).sum(axis=0))
    return mean


@dataclass(frozen=True, eq=False)
class Priors:
    """Log-odds of pairs before any evidence."""

    of_entity: tuple[Floats, Floats]  # (n_entities,): log-odds of each to have a partner
    share: float  # logarithm of the chance that it is a given one

    @classmethod
    def of(cls, model: Model, classes: tuple[Ids, Ids]) -> Self:
        odds = both(lambda side: (np.log1p(-model.alone[side]) - np.log(model.alone[side]))[classes[side]])
        partners = both(lambda side: float((1.0 - model.alone[side][classes[side]]).sum()))
        return cls(odds, -float(np.log(max(min(partners), 1.0))))

    def log_weights(self, candidates: Candidates, value: Floats) -> Floats:
        """Log-odds of candidates by their evidence, rivals apart."""
        log_weight: Floats = value + self.at(candidates.row, candidates.column)
        return log_weight

    def at(self, row: Ids, column: Ids) -> Floats:
        """Of some pairs."""
        log_odds: Floats = self.of_entity[0][row] + self.of_entity[1][column] + self.share
        return log_odds


def matched(
    candidates: Candidates,
    value: Floats,
    nothing: tuple[Floats, Floats],
    priors: Priors,
    engine: Engine,
    messages: tuple[Floats, Floats] | None = None,
    iterations: int = 30,
    many_to_one: bool = False,
) -> Marginals:
    """Marginals of the matching, by evidence and by how many entities have a partner at all."""
    log_weight = engine.call(priors.log_weights, candidates, value)
    elsewhere = both(lambda side: np.exp(0.5 * (nothing[side] + priors.share) + priors.of_entity[side]))
    if many_to_one:
        return engine.call(match_by_row, candidates, log_weight, elsewhere)
    return match(candidates, log_weight, elsewhere, messages, iterations, engine)
