"""Learning: the model that follows from what is believed, each part from pairs that are sure without it.

A pair that stands only because one fact of it was found in both graphs says nothing about how often facts are found in
both. So a tie counts only where both pairs at its ends would be believed without it.

Where neighbours are not known yet, a fact of one entity can be any fact of its partner. Which relation translates into
which is then learnt as words of two languages are from sentences that translate each other: by expectation–maximisation
in which each fact of one entity is explained by a fact of the other or by chance (model 1 of Brown, Della Pietra,
Della Pietra and Mercer, *The mathematics of statistical machine translation*, 1993). A few seeds without any date teach
enough this way to distinguish their neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.channels.evidence.agreement import RelationOdds, Side, widest_gap
from dualmatch.channels.evidence.date_evidence import learn_dates
from dualmatch.channels.evidence.dates import N_GAPS, DateGaps
from dualmatch.channels.evidence.support import Support
from dualmatch.channels.evidence.ties import Ties, expanded, find_pairs, marked
from dualmatch.decode.one_to_one import Candidates, on_grid
from dualmatch.engine import Engine, arrays_of, called, spans_of
from dualmatch.graph.arrays import Flags, Floats, Ids
from dualmatch.graph.hashing import mixed
from dualmatch.graph.times import Precision
from dualmatch.methods.evidence.problem import Problem
from dualmatch.methods.evidence.propagation import Evidence
from dualmatch.methods.evidence.state import Believed, RoundState, both

SURE_WITHOUT: Final = 3.0
"""Log-odds that a pair must have without a tie for the tie to be counted."""
_FEWEST_TIES: Final = 3  # an entity needs these to show how well it is covered
_LEAST_FOR_COVERAGE: Final = 30
_MOST_FOR_COVERAGE: Final = 200_000  # pairs: weights are known to a thousandth from so many
_HALF_SEEN: Final = 0.05
_COVERAGE_STEPS: Final = 30
_TIES_AT_ONCE: Final = 2**18  # of the source, looked up in the target
_WEIGHT: Final = 4.0  # facts of the overall share that every relation's own share begins with
_MOST_PROFILED: Final = 5_000  # pairs whose relations are compared; what more pairs have in common says it better
_PROFILE_STEPS: Final = 8
_PROFILE_WEIGHT: Final = 5.0  # facts that profiles count for at most, for each relation: what both ends show says more


def learnt(
    problem: Problem,
    state: RoundState,
    support: Support | None = None,
    evidence: Evidence | None = None,
    moving: Ids | None = None,
) -> RoundState:
    """The state with the model that follows from what it believes.

    `support` is that of the moving candidates, all by default; without it, all ties count. `evidence` is that of all.
    """
    believed, model, engine = state.with_pairs(problem.engine).believed, state.model, problem.engine
    asked: list[tuple[Any, ...]] = []  # side by side, as they do not need each other
    if support is not None:
        supported = state.candidates if moving is None else state.candidates.at(moving)
        asked.append((evidence_by_tie, supported, believed, support, state.by_slot, problem.ties))
    if evidence is not None:
        shown = state.candidates, state.probability, evidence.coverage, problem.ties, model.coverage, problem.keys
        asked.append((coverage_weights, *shown))
    found = engine.on_columns(called, asked)
    by_tie = None if support is None else found[0]
    coverage = model.coverage if evidence is None else found[-1]
    seen = ties_in_both(problem.sides, believed, by_tie, engine)
    odds = model.odds
    if "relations" not in problem.without:
        together = seen.together
        if problem.has_few_seeds and len(believed.pairs) <= _MOST_PROFILED:
            together = sp.csr_matrix(together + profile_counts(problem.ties, believed.pairs))
        odds = RelationOdds.of(together, *problem.ties)
    model = replace(model, odds=odds, overlap=both(seen.overlap), gaps=seen.gaps(problem.gap_chance))
    if problem.dated is not None:
        dates = learn_dates(problem.dated, state.pairs.pairs, state.pairs.log_odds, state.model.dates, SURE_WITHOUT)
        model = replace(model, dates=dates)
    return state.with_model(replace(model, coverage=coverage))


def names_learnt(problem: Problem, state: RoundState) -> RoundState:
    """The state with how often labels agree among the pairs it believes; as it is where no labels are compared."""
    if problem.names is None:
        return state
    compared = problem.names.compare(state.candidates)
    agreement = problem.names.learnt(compared, state.probability, problem.names.first_agreement)
    return state.with_model(replace(state.model, names=agreement, first_names=agreement))


@dataclass(frozen=True, eq=False)
class TiesInBoth:
    """What ties between believed pairs show."""

    together: sp.csr_matrix  # relations of facts that agree
    found: tuple[Floats, Floats]  # (n_directed,): facts of each relation that were found in the other graph
    tried: tuple[Floats, Floats]  # (n_directed,): and those that could have been
    ties: float  # that both graphs have
    agreeing: float  # those of them with a fact that does not contradict one of the other
    gaps_seen: Floats  # (n_precisions, N_GAPS): how far apart the dates of the others are; every tie counts once

    def gaps(self, by_chance: Floats) -> DateGaps:
        """How often, and by how much, ties in both graphs are dated differently; `by_chance`: `Problem.gap_chance`."""
        differ = float(np.clip(1.0 - (self.agreeing + 0.99 * 50) / (self.ties + 50), 0.003, 0.3))
        return DateGaps.learnt(differ, self.gaps_seen, by_chance)

    def overlap(self, side: int) -> Floats:
        """Share of the facts of each relation that the other graph has, shrunk towards that of all."""
        found, tried = self.found[side], self.tried[side]
        overall = (found.sum() + 1.0) / (tried.sum() + 4.0)
        shares: Floats = np.clip((found + _WEIGHT * overall) / (tried + _WEIGHT), 0.02, 0.95)
        return shares


def ties_in_both(
    sides: tuple[Side, Side], believed: Believed, evidence_of_tie: tuple[Floats, Floats] | None, engine: Engine
) -> TiesInBoth:
    """Count facts between believed pairs that both graphs have.

    Parameters
    ----------
    evidence_of_tie: (n_ties of source,), (n_ties of target,)
        What each tie adds to the log-odds of the believed pair at its entity; None: all ties count.
    """
    between = _TiesBetweenPairs.of(sides, believed, evidence_of_tie)
    ties, facts = engine.columns(), engine.columns()
    for found in engine.each(between.shared, spans_of(sides[0].ties.n_ties, _TIES_AT_ONCE)):
        ties.append(found[:2])
        facts.append(found[2:])
    tie, (f, j, gap) = arrays_of(ties, facts)
    together, found_facts = engine.call(between.alike, f, j, gap)
    asked = [(side, tie[side], fact, gap, found_facts[side]) for side, fact in enumerate((f, j))]
    source, target = engine.on_columns(between.counted, asked)
    return TiesInBoth(
        together,
        (source.found, target.found),
        (source.tried, target.tried),
        0.5 * (source.ties + target.ties),
        0.5 * (source.agreeing + target.agreeing),
        source.gaps + target.gaps,
    )


@dataclass(frozen=True, eq=False)
class _TiesBetweenPairs:
    """Ties between believed pairs."""

    sides: tuple[Side, Side]
    partner: tuple[Ids, Ids]  # of each entity, -1 where it is in no believed pair
    odds: tuple[Floats, Floats]  # of its pair
    evidence_of_tie: tuple[Floats, Floats] | None

    @classmethod
    def of(cls, sides: tuple[Side, Side], believed: Believed, evidence_of_tie: tuple[Floats, Floats] | None) -> Self:
        partner = both(lambda side: np.full(sides[side].ties.n_entities, -1, dtype=np.int64))
        odds = both(lambda side: np.full(sides[side].ties.n_entities, -np.inf))
        for side in (0, 1):
            partner[side][believed.pairs[:, side]] = believed.pairs[:, 1 - side]
            odds[side][believed.pairs[:, side]] = believed.log_odds
        return cls(sides, partner, odds, evidence_of_tie)

    def shared(self, begin: int, end: int) -> tuple[Ids, Ids, Ids, Ids, Ids]:
        """Of some ties of the source: those that the target has, and there; their pairs of facts, and how they differ.

        That is a number for the gap between two dates and its precision; it is negative where none contradicts.
        """
        source, target = self.sides[0].ties, self.sides[1].ties
        entity, neighbour = self.partner[0][source.entity[begin:end]], self.partner[0][source.neighbour[begin:end]]
        tie = np.flatnonzero((entity >= 0) & (neighbour >= 0))
        other = target.find(entity[tie], neighbour[tie])
        tie, other = begin + tie[other >= 0], other[other >= 0]
        f, j = fact_pairs(source, target, tie, other)[1:]
        level, gap = widest_gap(self.sides, f, j)
        return tie, other, f, j, np.where(gap < 0, -1, level.astype(np.int64) * N_GAPS + gap)

    def alike(self, f: Ids, j: Ids, gap: Ids) -> tuple[sp.csr_matrix, tuple[Ids, Ids]]:
        """Relations of facts that agree; and those facts of either side whose relations mean the same."""
        source, target = self.sides[0].ties, self.sides[1].ties
        agree = gap < 0
        f, j = f[agree], j[agree]
        # a fact that agrees with several counts once, seen from either side
        weight = 0.5 / np.bincount(f, minlength=source.n_facts)[f] + 0.5 / np.bincount(j, minlength=target.n_facts)[j]
        relation, relation_there = source.relation[f], target.relation[j]
        together = sp.csr_matrix((weight, (relation, relation_there)), shape=(source.n_directed, target.n_directed))
        together.sum_duplicates()
        forward, backward = RelationOdds.of(together, source, target).at(relation, relation_there)
        means_same = (forward > 1.0) & (backward > 1.0)
        return together, (f[means_same], j[means_same])

    def counted(self, side: int, tie: Ids, fact: Ids, gap: Ids, found: Ids) -> _Counted:
        """What the ties of one side that count show; `tie`, `fact` and `gap` are what is `shared`."""
        ties, clean = self.sides[side].ties, self._clean(side)
        counts, tie_of = clean[ties.tie], ties.tie[fact]
        agreeing = marked(tie_of[gap < 0], ties.n_ties)

        def by_relation(weight: Flags) -> Floats:
            return np.bincount(ties.relation, weight, minlength=ties.n_directed).astype(np.float64)

        return _Counted(
            by_relation(counts & marked(found, ties.n_facts)),
            by_relation(counts),
            int(clean[tie].sum()),
            int(clean[agreeing].sum()),
            _gaps_seen(tie_of, gap, clean & ~agreeing),
        )

    def _clean(self, side: int) -> Flags:
        """Which ties count."""
        ties, partner = self.sides[side].ties, self.partner[side]
        clean: Flags = (partner[ties.entity] >= 0) & (partner[ties.neighbour] >= 0)
        if self.evidence_of_tie is not None:
            odds, here = self.odds[side], self.evidence_of_tie[side]
            clean &= odds[ties.entity] - np.maximum(here, 0.0) > SURE_WITHOUT
            clean &= odds[ties.neighbour] - np.maximum(here[ties.mirror], 0.0) > SURE_WITHOUT
        return clean


class _Counted(NamedTuple):
    """What the ties of one side show."""

    found: Floats  # (n_directed,): facts of each relation that were found in the other graph
    tried: Floats  # (n_directed,): and all in ties that count
    ties: int  # that both graphs have
    agreeing: int  # those of them with a fact that does not contradict one of the other
    gaps: Floats  # (n_precisions, N_GAPS)


def _gaps_seen(tie: Ids, gap: Ids, counts: Flags) -> Floats:
    """How often each gap was seen at each precision, by the tie of each pair of facts, in ties that count."""
    at = np.flatnonzero(counts[tie])
    weight = 0.5 / np.bincount(tie[at], minlength=len(counts))[tie[at]]
    seen: Floats = np.bincount(gap[at], weight, minlength=len(Precision) * N_GAPS).astype(np.float64)
    return seen.reshape(len(Precision), N_GAPS)


def fact_pairs(source: Ties, target: Ties, tie: Ids, other: Ids) -> tuple[Ids, Ids, Ids]:
    """All pairs of a fact of one tie with a fact of the other: (place in `tie`, fact, fact of the other)."""
    which, f = expanded(source.first_fact[tie], source.facts_of(tie))
    at, j = expanded(target.first_fact[other[which]], target.facts_of(other[which]))
    return which[at], f[at], j


def evidence_by_tie(
    candidates: Candidates,
    believed: Believed,
    support: Support,
    by_slot: tuple[Floats, Floats],
    ties: tuple[Ties, Ties],
) -> tuple[Floats, Floats]:
    """What each tie adds to the log-odds of the believed pair at its entity, both views together.

    A tie of the source and the tie of the target that it was found as are two views of one thing; each adds half.
    """
    place = find_pairs(
        candidates.row, candidates.column, candidates.shape[1], believed.pairs[:, 0], believed.pairs[:, 1]
    )
    is_believed = np.zeros(len(candidates), dtype=bool)
    is_believed[place[place >= 0]] = True

    def own_value(view: int) -> Floats:
        candidate, tie = support.slots[view]
        kept = is_believed[candidate]
        value = np.zeros(ties[view].n_ties)
        value[tie[kept]] = np.maximum(by_slot[view][kept], 0.0)
        return value

    own = both(own_value)
    # the same tie on the other side
    kept = is_believed[support.candidate]
    tie_of = both(lambda view: support.slots[view][1][support.slot[view][kept]])
    seen_there = both(lambda view: np.zeros(ties[view].n_ties))
    for view in (0, 1):
        np.maximum.at(seen_there[view], tie_of[view], own[1 - view][tie_of[1 - view]])
    return both(lambda view: 0.5 * (own[view] + seen_there[view]))


def coverage_weights(
    candidates: Candidates,
    probability: Floats,
    coverage: Floats,
    ties: tuple[Ties, Ties],
    before: Floats,
    keys: tuple[NDArray[np.uint64], NDArray[np.uint64]],
) -> Floats:
    """How often each of `COVERAGES` holds, among pairs with enough ties to show it.

    Expectation–maximisation for the weights of a mixture (Dempster, Laird and Rubin, 1977); `coverage` holds how likely
    each coverage of each candidate is by the weights before. Of very many such pairs a sample is enough, drawn by a
    hash of their names (`keys`).
    """
    at = np.flatnonzero(probability > 0.5)
    n_ties = np.minimum(ties[0].ties_of(candidates.row[at]), ties[1].ties_of(candidates.column[at]))
    at = at[n_ties >= _FEWEST_TIES]
    if len(at) > _MOST_FOR_COVERAGE:
        drawn = mixed((keys[0][candidates.row[at]] + keys[1][candidates.column[at]]).view(np.int64))
        at = at[drawn < np.uint64(2**64 * (_MOST_FOR_COVERAGE / len(at)))]
    believed = probability[at]
    if float(believed.sum()) < _LEAST_FOR_COVERAGE:
        return before
    likelihood = coverage[at] / before
    weights = before
    for _ in range(_COVERAGE_STEPS):
        share = weights * likelihood
        share *= (believed / share.sum(axis=1))[:, None]
        counts = share.sum(axis=0) + _HALF_SEEN
        weights = counts / counts.sum()
    rounded: Floats = np.round(weights, 9)
    return rounded


def profile_counts(ties: tuple[Ties, Ties], pairs: Ids) -> sp.csr_matrix:
    """How often facts of one relation turn up as facts of another, by the relations of believed pairs, (n, 2), alone.

    Returns
    -------
    csr (n_source_directed, n_target_directed)
        Expected numbers of facts, at most a few for each relation.
    """
    shape = ties[0].n_directed, ties[1].n_directed
    profiles = both(lambda side: _profiles(ties[side], pairs[:, side]))
    # every relation of a source with every relation of its partner
    row = np.repeat(np.arange(len(pairs)), np.diff(profiles[0].indptr))
    first, size = profiles[1].indptr[:-1].astype(np.int64), np.diff(profiles[1].indptr).astype(np.int64)
    left, right = expanded(first[row], size[row])
    if not len(left):
        return sp.csr_matrix(shape)
    relations = profiles[0].indices[left].astype(np.int64), profiles[1].indices[right].astype(np.int64)
    facts = profiles[0].data[left], profiles[1].data[right]
    total = [np.asarray(profile.sum(axis=1)).ravel()[row[left]] for profile in profiles]
    known, place = np.unique(relations[0] * shape[1] + relations[1], return_inverse=True)
    at = known // shape[1], known % shape[1]
    together = sp.csr_matrix(shape)
    for _ in range(_PROFILE_STEPS):
        odds = RelationOdds.of(together, *ties).at(*at)
        expected = np.zeros(len(known))
        for own, other, side in ((0, 1, left), (1, 0, right)):
            weight = odds[own][place] * facts[other]
            explained = np.bincount(side, weight)[side]  # chance explains as much as all facts of the partner
            expected += np.bincount(place, 0.5 * facts[own] * weight / (explained + total[other]), minlength=len(known))
        together = sp.csr_matrix((expected, at), shape=shape)
    sums = [np.asarray(together.sum(axis=axis)).ravel() for axis in (1, 0)]
    capped = expected * np.minimum(1.0, _PROFILE_WEIGHT / np.maximum(sums[0][at[0]], sums[1][at[1]]))
    return sp.csr_matrix((on_grid(capped), at), shape=shape)


def _profiles(ties: Ties, entities: Ids) -> sp.csr_matrix:
    """How many facts of each relation some entities have."""
    counts = sp.csr_matrix(
        (np.ones(ties.n_facts), (ties.entity[ties.tie], ties.relation)), shape=(ties.n_entities, ties.n_directed)
    )
    counts.sum_duplicates()
    return counts[entities]
