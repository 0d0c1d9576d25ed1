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

from dualmatch.channels.evidence.agreement import Side, room_elsewhere
from dualmatch.channels.evidence.support import Support
from dualmatch.channels.evidence.term_cache import TermCache, once
from dualmatch.channels.evidence.ties import Ties
from dualmatch.decode.one_to_one import Candidates, Marginals, Unmatched, chance_of, match, match_by_row, on_grid
from dualmatch.graph.arrays import Flags, Floats, Ids, Ints
from dualmatch.methods.evidence.state import COVERAGES, Model, both

_AT_ONCE: Final = 2**17  # candidates whose evidence is combined at a time
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


class Propagation:
    """Sweeps over one list of candidates with one model.

    `kept`: terms that do not depend on the candidates, for calls with one model and the same unmatched entities.
    """

    def __init__(
        self,
        candidates: Candidates,
        support: Support,
        sides: tuple[Side, Side],
        model: Model,
        with_cavity: bool = True,
        threads: int = 1,
        kept: TermCache | None = None,
    ) -> None:
        self.candidates, self.support, self.sides, self.model = candidates, support, sides, model
        self._cavity, self.threads, self._kept = 0.5 if with_cavity else 0.0, threads, kept
        self.ties = sides[0].ties, sides[1].ties
        self.tie_overlap, self._telling, self._undated, self._bases = once(kept, "ties", self._terms_of_ties)

    def _terms_of_ties(self) -> tuple[tuple[Any, Any], ...]:
        sides, model, ties, threads = self.sides, self.model, self.ties, self.threads
        overlap = both(lambda side: model.tie_overlap(ties[side], side), threads)
        return (
            overlap,
            both(lambda side: _telling_overlap(sides[side], model, side), threads),
            both(lambda side: _undated(sides[side], sides[1 - side])),
            both(lambda side: _missed(ties[side], overlap[side]), threads),
        )

    def evidence(self, log_odds: Floats, by_slot: tuple[Floats, Floats], unmatched: Unmatched) -> Evidence:
        """Run one sweep.

        Parameters
        ----------
        log_odds: (n_supporters,)
            Of each supporter, as last known; supporters are the candidates, unless the support says otherwise.
        by_slot:
            What each slot added to them.
        unmatched:
            How likely it is that an entity's partner is none of its candidates.
        """
        certain, unknown = self.certain(log_odds, by_slot), unmatched.unknown
        views = both(lambda view: self._combined(view, self.ratios(view, certain, unmatched), unknown), self.threads)
        of_neighbour = both(lambda side: unknown[side][self.ties[side].neighbour], self.threads)
        is_open = both(lambda side: unknown[side][self.ties[side].entity] * of_neighbour[side], self.threads)

        def nothing(side: int) -> Floats:
            unseen = of_neighbour[side] * room_elsewhere(self.sides, is_open, side)
            return _log_mean(self.model.coverage, _missed(self.ties[side], self._telling[side] * (1.0 - unseen)))

        return Evidence(
            on_grid(0.5 * (views[0][0] + views[1][0])),
            both(lambda view: views[view][1]),
            0.5 * (views[0][2] + views[1][2]),
            both(nothing, self.threads),
        )

    def certain(self, log_odds: Floats, by_slot: tuple[Floats, Floats]) -> Floats:
        """How likely each supporter is to be right, without what its candidate sent to it."""
        support = self.support
        return chance_of(log_odds[support.supporter] - self._cavity * _sent_through(support.mirror, by_slot))

    def ratios(self, view: int, certain: Floats, unmatched: Unmatched) -> Floats:
        """For each slot, how much likelier its tie is if the candidate is right, its best support counting."""
        support = self.support
        ratio = np.zeros(len(support.slots[view][0]))
        np.maximum.at(ratio, support.slot[view], certain * support.worth[view])
        np.maximum.at(ratio, support.open_slot[view], self.open_ratios(view, unmatched))
        return ratio

    def open_ratios(self, view: int, unmatched: Unmatched) -> Floats:
        """What open support is worth: the chance that its two neighbours are one, over what chance would have.

        Where nearly everybody's partner is known, that both facts have a neighbour whose partner is not is no accident.
        """
        elsewhere, other = unmatched.elsewhere, 1 - view
        ties = self.support.open_ties[view]
        in_both = elsewhere[0][self.ties[0].neighbour[ties[0]]] * elsewhere[1][self.ties[1].neighbour[ties[1]]]
        share = once(self._kept, ("open share", other), lambda: _open_share(self.ties[other], elsewhere[other]))
        by_chance = share[ties[other]]
        ratio: Floats = in_both * self.support.open_worth[view] / by_chance
        return ratio

    def gains(self, view: int, ratio: Floats, unknown: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """What each slot adds to its candidate, and what ties that found nothing take away; both add up to its value.

        A mixture over coverages is no sum; by the weights the coverages end with, it becomes one.
        """
        value, _, coverage = self._combined(view, ratio, unknown)
        candidate = self.support.slots[view][0]
        gain = np.zeros(len(candidate))
        everything = slice(0, len(candidate))
        for at, by_slot in enumerate(self._gains(view, everything, ratio, unknown, self._room(view, unknown))):
            gain += coverage[candidate, at] * by_slot
        return gain, value - np.bincount(candidate, gain, minlength=len(value))

    def _gains(
        self, view: int, part: slice, ratio: Floats, unknown: tuple[Floats, Floats], room: Floats | None
    ) -> Iterator[Floats]:
        """What each of some slots adds, at each coverage, to its candidate sharing nothing."""
        candidate, tie = (each[part] for each in self.support.slots[view])
        overlap, ratio = self.tie_overlap[view][tie], ratio[part]
        hidden = None if room is None else room[candidate] * self._unseen(view, unknown, tie)
        for coverage in COVERAGES:
            share = coverage * overlap
            gain = np.log1p(share * ratio / (1.0 - share))
            yield gain if hidden is None else np.maximum(gain + hidden * np.log1p(-share), 0.0)

    def _entities(self, side: int) -> Ids:
        return (self.candidates.row, self.candidates.column)[side]

    def _unseen(self, side: int, unknown: tuple[Floats, Floats], ties: Ints | slice = slice(None)) -> Floats:
        """Of some ties, how likely each is to be shared without anyone seeing it: undated, neighbour unknown."""
        unseen: Floats = unknown[side][self.ties[side].neighbour[ties]] * self._undated[side][ties]
        return unseen

    def _room(self, view: int, unknown: tuple[Floats, Floats]) -> Floats | None:
        """Of each candidate, how much room the other entity has for ties of this one that nobody sees; None: all seen.

        As many of them as the other graph usually has must be among the other entity's own unseen ties.
        """
        if not self._undated[view].any():
            return None

        def unseen(side: int, share: Floats | float) -> Floats:
            ties = self.ties[side]

            def of_entity() -> Floats:
                weight = share * self._unseen(side, unknown)
                return np.bincount(ties.entity, weight, minlength=ties.n_entities).astype(np.float64, copy=False)

            found: Floats = once(self._kept, ("unseen", view, side), of_entity)[self._entities(side)]
            return found

        expected = unseen(view, self.tie_overlap[view])
        room: Floats = np.minimum(unseen(1 - view, 1.0) / np.maximum(expected, 1e-9), 1.0)
        return room

    def _combined(self, view: int, ratio: Floats, unknown: tuple[Floats, Floats]) -> tuple[Floats, Floats, Floats]:
        """Log-likelihood ratio of each candidate, what each slot adds, and the weights of the coverages.

        A part of the candidates at a time: what is computed for each coverage never takes much memory.
        """
        candidate, tie = self.support.slots[view]
        entity, room = self._entities(view), self._room(view, unknown)
        value, coverage = np.empty(len(entity)), np.empty((len(entity), len(COVERAGES)))
        hidden = None
        if room is not None:
            ties, overlap = self.ties[view], self.tie_overlap[view]
            hidden = once(self._kept, ("hidden", view), lambda: _missed(ties, overlap, self._unseen(view, unknown)))
        with np.errstate(divide="ignore"):
            weight = np.log(self.model.coverage)[:, None]
        for first in range(0, len(entity), _AT_ONCE):
            part = slice(first, min(first + _AT_ONCE, len(entity)))
            slots = slice(*np.searchsorted(candidate, (part.start, part.stop)).tolist())
            weighted = self._bases[view][:, entity[part]]
            if room is not None and hidden is not None:
                weighted -= room[part] * hidden[:, entity[part]]
            number = candidate[slots] - first
            for at, gain in enumerate(self._gains(view, slots, ratio, unknown, room)):
                weighted[at] += np.bincount(number, gain, minlength=part.stop - first)
            weighted += weight
            top = weighted.max(axis=0)
            share = np.exp(weighted - top)
            total = share.sum(axis=0)
            value[part], coverage[part] = top + np.log(total), (share / total).T
        return value, np.log1p(self.tie_overlap[view][tie] * (ratio - 1.0)), coverage


def _sent_through(mirror: tuple[Ints, Ints], by_slot: tuple[Floats, Floats]) -> Floats:
    """What candidates sent to their supporters, both views together; nothing where the mirror is -1."""
    sent = np.zeros(len(mirror[0]))
    for view in (0, 1):
        added = np.append(np.maximum(by_slot[view], 0.0), 0.0)
        sent += np.where(mirror[view] >= 0, added[mirror[view]], 0.0)
    return sent


def _open_share(ties: Ties, elsewhere: Floats, weight: float = 5.0) -> Floats:
    """How likely a fact of each tie's relations is to have a neighbour with a partner that is not listed: (n_ties,)."""
    open_ends = elsewhere[ties.neighbour[ties.tie]]
    overall = float(open_ends.mean()) if len(open_ends) else 0.0
    found = np.bincount(ties.relation, open_ends, minlength=ties.n_directed)
    share = (found + weight * overall) / (np.bincount(ties.relation, minlength=ties.n_directed) + weight)
    by_tie = np.bincount(ties.tie, share[ties.relation], minlength=ties.n_ties)
    return np.maximum(by_tie / np.maximum(np.diff(ties.first_fact), 1), _LEAST_OPEN)


def _telling_overlap(side: Side, model: Model, number: int) -> Floats:
    """How likely each tie is to be found in the other graph, as far as its absence there is informative.

    Where most facts have a date, those without one say little: what is recorded without a date is recorded unevenly.
    """
    dated = (side.begin.precision >= 0) | (side.end.precision >= 0)
    weight = np.where(dated, 1.0, 1.0 - dated.mean()) if len(dated) else np.zeros(0)
    ties = side.ties
    lost = weight * np.log1p(-model.overlap[number][ties.relation])
    return -np.expm1(np.bincount(ties.tie, lost, minlength=ties.n_ties))


def _undated(side: Side, other: Side) -> Flags:
    """Ties none of whose facts has a date that the other graph could share."""
    undated = np.ones(side.ties.n_ties, dtype=bool)
    for own, there in ((side.begin, other.begin), (side.end, other.end)):
        if (there.precision >= 0).any():
            undated[side.ties.tie[own.precision >= 0]] = False
    return undated


def _missed(ties: Ties, overlap: Floats, weight: Floats | None = None) -> Floats:
    """Log-likelihood ratio of sharing nothing, for each coverage and entity: (len(COVERAGES), n_entities).

    Of each tie, `overlap` is the chance to be found in the other graph, and `weight` how much it counts (1 by default).
    """
    sums = np.empty((len(COVERAGES), ties.n_entities))
    log = np.empty(len(overlap))
    for at, coverage in enumerate(COVERAGES):
        np.log1p(np.multiply(overlap, -coverage, out=log), out=log)
        if weight is not None:
            log *= weight
        sums[at] = np.bincount(ties.entity, log, minlength=ties.n_entities)
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

    def at(self, row: Ids, column: Ids) -> Floats:
        """Of some pairs."""
        log_odds: Floats = self.of_entity[0][row] + self.of_entity[1][column] + self.share
        return log_odds


def matched(
    candidates: Candidates,
    value: Floats,
    nothing: tuple[Floats, Floats],
    priors: Priors,
    messages: tuple[Floats, Floats] | None = None,
    iterations: int = 30,
    many_to_one: bool = False,
    threads: int = 1,
) -> Marginals:
    """Marginals of the matching, by evidence and by how many entities have a partner at all."""
    log_weight = value + priors.at(candidates.row, candidates.column)
    elsewhere = both(lambda side: np.exp(0.5 * (nothing[side] + priors.share) + priors.of_entity[side]))
    if many_to_one:
        return match_by_row(candidates, log_weight, elsewhere)
    return match(candidates, log_weight, elsewhere, messages, iterations, threads)
