"""Confidence: log-odds calibrated by a trial, for pairs and for having no partner.

How often is a pair of log-odds 2 right? The run cannot know of the pairs it doubts; but it can make poor pairs out of
rich ones. In a trial, some settled pairs are *donors*: they lose ties, on both sides the same ones, until they are as
poor as entities usually are; some lose their partner altogether; then the rounds search for the donors' partners once
more, by the model as it was learnt, and close as the run itself will. The outcome for donors shows how log-odds
translate into chances, and how often an entity that finds no partner has none. Donors and ties are drawn by a hash of
names, the same in any order of the input.

This is the only null model. (Hold-out by thinning; made-up entities that must not match are the idea of target–decoy
searches, Elias and Gygi, 2007.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from dualmatch.channels.evidence.agreement import Side
from dualmatch.channels.evidence.date_evidence import LEAST_RATE
from dualmatch.decode.one_to_one import Candidates, chance_of, on_grid
from dualmatch.graph.arrays import Flags, Floats, Ids
from dualmatch.graph.hashing import mixed
from dualmatch.graph.model import TemporalGraph
from dualmatch.methods.evidence.problem import Problem
from dualmatch.methods.evidence.rounds import closed, trial_round
from dualmatch.methods.evidence.state import RoundState, both, size_class

Keys = NDArray[np.uint64]

STRONGEST: Final = 12.0  # log-odds beyond this are all the same
_IDENTITY: Final = np.array([0.0, 1.0, 1.0, 0.0])
_PRIOR_WEIGHT: Final = np.array([10.0, 30.0, 30.0, 10.0])  # of the identity, in pairs
_ALONE_IDENTITY: Final = np.array([0.0, 1.0])
_ALONE_PRIOR_WEIGHT: Final = np.array([10.0, 100.0])  # entities that turn out to be alone are fewer than pairs
_LEAST_SLOPE: Final = 0.05
_FEWEST_DONORS: Final = 50  # that a trial needs to speak of entities without a partner at all
DONOR_LOG_ODDS: Final = 2.2
"""Log-odds of pairs that may be donors: nine of ten are right, or more."""
_SHARE: Final = 0.25  # of the settled pairs; more would take too much of the evidence away
_MOST_DONORS: Final = 10_000
_ENOUGH_DONORS: Final = 1_000  # with fewer there is a second trial
_FEWEST_TIES: Final = 3
_FEWEST_DATES: Final = 2  # a date needs no neighbour to be found again
_TRIAL_ROUNDS: Final = 2
_EVEN: Final = 0.5


_LARGEST_WEIGHT: Final = 1e6


@dataclass(frozen=True, eq=False)
class Confidence:
    """Corrections of log-odds.

    Attributes
    ----------
    pairs: (4,) float64
        Intercept, slope of positive and slope of negative log-odds, and what poverty adds (the inverse of the ties and
        dates of the poorer entity); (0, 1, 1, 0) leaves log-odds as they are.
    alone: (2,) float64 or None
        Intercept and slope for the log-odds of having no partner; None where too little is known to speak of it.
    """

    pairs: Floats
    alone: Floats | None

    @classmethod
    def as_they_are(cls) -> Self:
        """No trial: the log-odds themselves, and nothing about entities without a partner."""
        return cls(_IDENTITY, None)

    @classmethod
    def of(cls, trial: Trial) -> Self:
        """By logistic regression on the trial, shrunk towards leaving log-odds as they are."""
        pairs = _fitted(_features(trial.log_odds, trial.ties), trial.is_right, _IDENTITY, _PRIOR_WEIGHT)
        if trial.donors < _FEWEST_DONORS:
            return cls(pairs, None)
        return cls(pairs, _fitted(_logit(trial.alone)[:, None], trial.is_alone, _ALONE_IDENTITY, _ALONE_PRIOR_WEIGHT))

    def of_pairs(self, log_odds: Floats, ties: Ids) -> Floats:
        """Chance of pairs to be right, by their log-odds and the ties of the poorer entity."""
        return chance_of(on_grid(self.pairs[0] + (_features(log_odds, ties) * self.pairs[1:]).sum(axis=1)))

    def of_candidates(self, problem: Problem, candidates: Candidates, log_odds: Floats) -> Floats:
        """Chance of candidates to be right; 1 for seeds."""
        pairs = np.stack([candidates.row, candidates.column], axis=1)
        chance = self.of_pairs(log_odds, fewer_ties(problem, pairs))
        chance[problem.is_given(candidates.row, candidates.column)] = 1.0
        return chance

    def of_alone(self, chance: Floats) -> Floats:
        """Chance of entities in no link to have no partner; nan where too little is known.

        A trial can show that entities which seem alone have a partner. It cannot show that more are alone than seem so:
        how many of its donors lost their partner was its own choice. So it corrects downwards only.
        """
        if self.alone is None:
            return np.full(len(chance), np.nan)
        return np.minimum(on_grid(chance), chance_of(on_grid(self.alone[0] + self.alone[1] * _logit(chance))))

    def as_dict(self) -> dict[str, Any]:
        return {"pairs": self.pairs.tolist(), "alone": None if self.alone is None else self.alone.tolist()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        pairs = np.array(data["pairs"], np.float64)
        alone = None if data["alone"] is None else np.array(data["alone"], np.float64)
        for weights, shape in ((pairs, (4,)), (alone, (2,))):
            if weights is not None and (weights.shape != shape or not (np.abs(weights) < _LARGEST_WEIGHT).all()):
                raise ValueError("the confidence has other weights")
        return cls(pairs, alone)


def _features(log_odds: Floats, ties: Ids) -> Floats:
    bounded = np.clip(log_odds, -STRONGEST, STRONGEST)
    return np.stack([np.maximum(bounded, 0.0), np.minimum(bounded, 0.0), 1.0 / np.maximum(ties, 1)], axis=1)


def _logit(chance: Floats) -> Floats:
    bounded = np.clip(chance, 1e-4, 1 - 1e-4)
    log_odds: Floats = np.log(bounded) - np.log1p(-bounded)
    return log_odds


def _fitted(features: Floats, outcome: Flags, prior: Floats, prior_weight: Floats) -> Floats:
    """Logistic regression with an intercept, shrunk towards a prior."""
    x = np.concatenate([np.ones((len(features), 1)), features], axis=1)
    y = outcome.astype(np.float64)

    def loss(weights: Floats) -> tuple[float, Floats]:
        log_odds = (x * weights).sum(axis=1)
        missed = np.sum(np.logaddexp(0.0, log_odds) - y * log_odds)
        pull = prior_weight * (weights - prior)
        gradient = (x * (chance_of(log_odds) - y)[:, None]).sum(axis=0) + pull
        return float(missed + 0.5 * np.sum(pull * (weights - prior))), gradient

    # More evidence never means less confidence: slopes stay positive.
    bounds = [(None, None), *[(_LEAST_SLOPE, None) if each > 0 else (None, None) for each in prior[1:].tolist()]]
    from scipy.optimize import minimize  # here, since commands that align nothing need not wait for it

    found: Floats = minimize(loss, prior, jac=True, method="L-BFGS-B", bounds=bounds).x
    return np.round(found, 6)


def fewer_ties(problem: Problem, pairs: Ids) -> Ids:
    """Ties and dates of the poorer entity of each pair."""
    return np.minimum(problem.n_ties[0][pairs[:, 0]], problem.n_ties[1][pairs[:, 1]])


@dataclass(frozen=True, eq=False)
class Trial:
    """The outcome of a trial: of one-to-one pairs with a donor in them, and of donors that ended in no likely pair."""

    log_odds: Floats  # (n,)
    is_right: Flags
    ties: Ids  # of the poorer entity
    alone: Floats  # (m,): the chance the rounds gave donors of either side to have no partner
    is_alone: Flags  # and whether they have none
    donors: int

    def with_another(self, other: Trial) -> Trial:
        """Both trials as one."""
        arrays = {
            each.name: np.concatenate([getattr(self, each.name), getattr(other, each.name)])
            for each in fields(self)
            if each.name != "donors"
        }
        return replace(self, **arrays, donors=self.donors + other.donors)


def run_trial(problem: Problem, state: RoundState) -> Trial:
    """Run rounds with donors; twice, with others, where donors are few."""
    first = _one_trial(problem, state, 0)
    return first if first.donors >= _ENOUGH_DONORS else first.with_another(_one_trial(problem, state, 1))


def _one_trial(problem: Problem, state: RoundState, number: int) -> Trial:
    thin = _thinned(problem, state, number)
    now = _without_donors(state, thin)
    for _ in range(_TRIAL_ROUNDS):
        now = trial_round(thin.problem, now)
    now = closed(thin.problem, now, now.believed.pairs)
    touched = thin.is_donor[0][now.pairs.pairs[:, 0]] | thin.is_donor[1][now.pairs.pairs[:, 1]]
    pairs, log_odds = now.pairs.pairs[touched], now.pairs.log_odds[touched]
    partner = np.full(problem.shape[0], -1, dtype=np.int64)
    partner[thin.donors[thin.both, 0]] = thin.donors[thin.both, 1]
    # donors of either side that are still there and in no pair
    left = both(lambda side: thin.is_there[side] & ~np.isin(thin.donors[:, side], now.believed.pairs[:, side]))
    return Trial(
        log_odds,
        partner[pairs[:, 0]] == pairs[:, 1],
        fewer_ties(thin.problem, pairs),
        np.concatenate(both(lambda side: now.alone[side][thin.donors[left[side], side]])),
        np.concatenate(both(lambda side: ~thin.both[left[side]])),
        len(thin.donors),
    )


@dataclass(frozen=True, eq=False)
class _Thinned:
    """Graphs in which donors are poor."""

    problem: Problem
    donors: Ids  # (n, 2)
    is_there: tuple[Flags, Flags]  # two (n,): whether each donor's source, and its target, still has a fact
    is_donor: tuple[Flags, Flags]  # two (n_entities,)

    @property
    def both(self) -> Flags:
        """Donors whose partner is still there."""
        return self.is_there[0] & self.is_there[1]


def _thinned(problem: Problem, state: RoundState, number: int) -> _Thinned:
    settled = state.pairs.above(DONOR_LOG_ODDS).pairs
    dates = np.minimum(problem.n_dates[0][settled[:, 0]], problem.n_dates[1][settled[:, 1]])
    may = (fewer_ties(problem, settled) >= _FEWEST_TIES) | (dates >= _FEWEST_DATES)
    may &= ~problem.is_given(settled[:, 0], settled[:, 1])
    key = problem.keys[0][settled[:, 0]] + problem.keys[1][settled[:, 1]]
    share = min(_SHARE, _MOST_DONORS / max(int(may.sum()), 1))
    drawn = _drawn(key, 1)
    chosen = may & (drawn >= number * share) & (drawn < (number + 1) * share)  # no donor serves twice
    donors = settled[chosen]
    keep = _keep_shares(problem, donors, key[chosen])
    gone = _partners_lost(problem, state, donors, keep)
    # The two entities of a settled pair are one: both graphs draw alike for a tie between two such pairs.
    keys = problem.keys[0].copy(), problem.keys[1].copy()
    keys[0][settled[:, 0]], keys[1][settled[:, 1]] = key, key
    relation_keys = _relation_keys(problem, state)
    shares = both(lambda side: np.ones(problem.shape[side]))
    for side in (0, 1):
        shares[side][donors[:, side]] = np.where(gone[side], 0.0, keep)
    sides = problem.engine.on_columns(_thinned_side, list(zip(problem.sides, keys, shares, strict=True)))
    graphs, dated = [], []
    for side, graph in enumerate((problem.source, problem.target)):
        share_of = shares[side]
        of_dates = keys[side][graph.dates.entity] ^ relation_keys[side][graph.dates.relation]
        dates = _drawn(of_dates, 5) < share_of[graph.dates.entity]
        facts = problem.engine.call(_kept_rows, graph.head, graph.tail, keys[side], share_of)
        graphs.append(graph.with_facts(facts, np.flatnonzero(dates)))
        if problem.dated is not None:
            dated.append(problem.dated[side].at(dates[problem.dated[side].row]))
    thin = replace(problem, source=graphs[0], target=graphs[1])
    # Labels are as they were, and what facts say is as common as it was.
    thin.__dict__.update(names=problem.names, sides=tuple(sides), ties=tuple(side.ties for side in sides))
    thin.__dict__["dated"] = tuple(dated) if dated else None
    is_there = thin.source.is_in_a_fact[donors[:, 0]], thin.target.is_in_a_fact[donors[:, 1]]
    is_donor = both(lambda side: np.isin(np.arange(problem.shape[side]), donors[:, side]))
    return _Thinned(thin, donors, is_there, is_donor)


def _keep_shares(problem: Problem, donors: Ids, key: Keys) -> Floats:
    """The share of its ties that each donor keeps, so that donors have as many as entities usually have."""
    usual = np.concatenate(problem.n_ties)
    usual = np.sort(usual[usual > 0])
    wanted = usual[(_drawn(key, 2) * len(usual)).astype(np.int64)] if len(donors) else np.zeros(0)
    has = np.sqrt(problem.n_ties[0][donors[:, 0]] * problem.n_ties[1][donors[:, 1]])
    shares: Floats = np.minimum(1.0, wanted / np.maximum(has, 1.0))
    return shares


def _partners_lost(problem: Problem, state: RoundState, donors: Ids, keep: Floats) -> tuple[Flags, Flags]:
    """Donors that lose their source, and those that lose their target: half of those that seem alone, by size.

    Half, because entities that share nothing look alone whether they are or not: their share is an upper bound, and
    far too high where much is missing. Who has no partner should be said too seldom rather than too often.
    """

    def lost(side: int) -> Flags:
        other = 1 - side
        n_facts = np.diff(problem.ties[other].first_fact_of_entity) + problem.n_dates[other]
        left = np.rint(n_facts[donors[:, other]] * keep).astype(np.int64)
        alone = state.model.alone[other][size_class(np.maximum(left, 1))]
        key = problem.keys[side][donors[:, side]] + _fingerprint((problem.source, problem.target)[side])
        is_lost: Flags = _drawn(key, 3) < 0.5 * alone
        return is_lost

    source, target = both(lost)
    return source & ~target, target & ~source


def _fingerprint(graph: TemporalGraph) -> Keys:
    """A number that distinguishes a graph from another with the same names, whatever the order of its facts."""
    begin, end = (times.astype(np.int64) for times in graph.times)
    dates = mixed(begin) + mixed(mixed(end).view(np.int64))
    return mixed(np.array([graph.n_facts])) + np.add.reduce(dates, dtype=np.uint64, keepdims=True)


def _relation_keys(problem: Problem, state: RoundState) -> tuple[Keys, Keys]:
    """A number for each relation; the same where the dates of two agree best, for which both graphs draw alike."""
    keys = problem.source.relation_hashes.copy(), problem.target.relation_hashes.copy()
    if problem.dated is not None and state.model.dates is not None:
        rate = state.model.dates.rate[0] + state.model.dates.rate[1]
        there, back = rate.argmax(axis=1), rate.argmax(axis=0)
        source = np.flatnonzero((back[there] == np.arange(len(there))) & (rate.max(axis=1) >= 2 * LEAST_RATE))
        left, right = problem.dated[0].relations[source], problem.dated[1].relations[there[source]]
        keys[0][left] = keys[1][right] = keys[0][left] + keys[1][right]
    return keys


def _kept(entity: NDArray[np.integer], other: NDArray[np.integer], keys: Keys, share: Floats) -> Flags:
    """Which facts, or ties, both ends keep; each end draws for the tie, so that all its facts share a fate."""
    tie = mixed((keys[entity] + keys[other]).view(np.int64))
    kept = np.ones(len(entity), dtype=bool)
    for end in (entity, other):
        kept &= _drawn(tie ^ keys[end], 4) < share[end]
    return kept


def _kept_rows(entity: NDArray[np.integer], other: NDArray[np.integer], keys: Keys, share: Floats) -> Ids:
    return np.flatnonzero(_kept(entity, other, keys, share))


def _thinned_side(side: Side, keys: Keys, share: Floats) -> Side:
    """The ties that both ends keep."""
    return side.at(_kept(side.ties.entity, side.ties.neighbour, keys, share))


def _without_donors(state: RoundState, thin: _Thinned) -> RoundState:
    """The state as if the donors had never been searched."""
    c = state.candidates
    kept = ~(thin.is_donor[0][c.row] | thin.is_donor[1][c.column])
    others = RoundState.of_pairs(c.row[kept], c.column[kept], state.log_odds[kept], c.shape, state.model, state.scale)
    alone = both(lambda side: np.where(thin.is_donor[side], _EVEN, state.alone[side]))
    elsewhere = both(lambda side: np.where(thin.is_donor[side], _EVEN, state.elsewhere[side]))
    return replace(others, alone=alone, elsewhere=elsewhere)


def _drawn(keys: Keys, salt: int) -> Floats:
    """Numbers between 0 and 1 by a hash of the keys."""
    hashed = mixed(keys.view(np.int64) ^ mixed(np.array([salt])).view(np.int64))
    return (hashed >> np.uint64(11)).astype(np.float64) / 2.0**53
