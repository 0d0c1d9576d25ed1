"""Rounds: search for candidates with what is known, let them support each other, learn, and search again.

One loop for an alignment from nothing, for one that goes on from an earlier state (an update, a resumed run), and for
trials: they differ in the state they begin with and in what they may learn.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.channels.evidence.agreement import RelationOdds
from dualmatch.channels.evidence.support import Slots, Support, find_support
from dualmatch.channels.evidence.tokens import Scale
from dualmatch.channels.names import Comparison
from dualmatch.decode.one_to_one import Candidates, Marginals, Unmatched, chance_of
from dualmatch.graph.arrays import Ids
from dualmatch.methods.evidence.learning import coverage_weights, evidence_by_tie, profile_counts, ties_in_both
from dualmatch.methods.evidence.problem import Problem
from dualmatch.methods.evidence.propagation import Evidence, Priors, Propagation, matched
from dualmatch.methods.evidence.search import SETTLED, candidates_of, first_values, knowledge_of, open_entities, search
from dualmatch.methods.evidence.state import CERTAIN, Model, Round, RoundState, share_alone

Floats = NDArray[np.float64]
logger = logging.getLogger(__name__)

MAX_ROUNDS: Final = 14
STABLE_SHARE: Final = 0.01
"""Where at most this share of the pairs changes, nothing more is to come."""
_SLOW_SHARE: Final = 0.03  # the same where rounds change little less than the one before: a few pairs go to and fro
_SLOW: Final = 0.5
_WHOLE_ROUNDS: Final = 2  # by time alone, and with the first neighbours; then only what is open
_SWEEPS: Final = 2
_ITERATIONS: Final = 5  # of the matching, for each of the two estimates that a sweep makes of how many are alone
LIVE: Final = -7.0
"""Candidates with smaller log-odds support none."""
_NEVER: Final = -50.0  # log-odds of a candidate that is new
_NAME_STEPS: Final = 8
_PATIENCE: Final = 8  # rounds in which few seeds may lead to fewer pairs before there is nothing more to come
_MOST_PROFILED: Final = 5_000  # pairs whose relations are compared; what more pairs have in common says it better
_BOLD: Final = 4  # times the seeds: pairs to believe where few are believed yet
_FEWEST_BOLD: Final = 10
_SEED: Final = 150.0  # log-likelihood ratio of a seed


class Keeper(Protocol):
    """Somewhere to keep the state after each round."""

    def keep_round(self, state: RoundState, log: tuple[Round, ...], first_pairs: Ids) -> None: ...


def first_state(problem: Problem) -> RoundState:
    """What is believed to begin with: the seeds, or what dates and names say by themselves."""
    model = Model.first(*problem.ties, None if problem.names is None else problem.names.first_agreement)
    if len(problem.given):
        certain = np.full(len(problem.given), CERTAIN)
        state = RoundState.of_pairs(problem.given[:, 0], problem.given[:, 1], certain, problem.shape, model)
        return learnt(problem, state)
    found = search(problem, None)
    candidates = candidates_of(problem, found.similarity)
    value = first_values(problem, found.similarity, candidates)
    value, marginals, model = _by_names(problem, candidates, value, model)
    state = RoundState.of_pairs(candidates.row, candidates.column, marginals.log_odds, problem.shape, model)
    state = replace(state, value=value, alone=marginals.alone, elsewhere=marginals.elsewhere, scale=found.scale)
    return learnt(problem, state)


def _by_names(problem: Problem, candidates: Candidates, value: Floats, model: Model) -> tuple[Floats, Marginals, Model]:
    """What dates and names say of the candidates; how often names agree is learnt from what they say themselves.

    Without labels, one look is enough. With labels this is the EM algorithm of Fellegi and Sunter's model, in which
    no entity stands in two pairs.
    """
    nothing = np.zeros(problem.shape[0]), np.zeros(problem.shape[1])
    if problem.names is None or model.names is None:
        priors = Priors.of(model, problem.classes)
        return value, matched(candidates, value, nothing, priors, many_to_one=problem.many_to_one), model
    names, agreement = problem.names.compare(candidates), model.names
    for _ in range(_NAME_STEPS):
        both = value + problem.names.evidence(names, agreement)
        priors = Priors.of(model, problem.classes)
        marginals = matched(candidates, both, nothing, priors, many_to_one=problem.many_to_one)
        agreement = problem.names.learnt(names, marginals.probability, problem.names.first_agreement, least=0.0)
        alone = [share_alone(marginals.alone[side], problem.classes[side]) for side in (0, 1)]
        model = replace(model, alone=(alone[0], alone[1]))
    return both, marginals, replace(model, names=agreement, first_names=agreement)


def learnt(
    problem: Problem, state: RoundState, support: Support | None = None, evidence: Evidence | None = None
) -> RoundState:
    """The state with the model that follows from what it believes."""
    believed, model = state.believed, state.model
    by_tie = None
    if support is not None:
        by_tie = evidence_by_tie(state.candidates, believed, support, state.by_slot, problem.ties)
    both = ties_in_both(problem.sides, believed, by_tie)
    odds = model.odds
    if "relations" not in problem.without:
        together = both.together
        if problem.has_few_seeds and len(believed.pairs) <= _MOST_PROFILED:
            together = sp.csr_matrix(together + profile_counts(problem.ties, believed.pairs))
        odds = RelationOdds.of(together, *problem.ties)
    model = replace(model, odds=odds, overlap=(both.overlap(0), both.overlap(1)), gaps=both.gaps(problem.sides))
    if evidence is not None:
        coverage = coverage_weights(
            state.candidates, state.probability, evidence.coverage, problem.ties, model.coverage
        )
        model = replace(model, coverage=coverage)
    return replace(state, model=model)


def next_round(problem: Problem, before: RoundState, whole: bool) -> tuple[RoundState, int]:
    """One round, after which the model is learnt anew, and how many tokens its search had.

    Parameters
    ----------
    whole:
        Whether all entities are searched, or only those in no settled pair.
    """
    looked = _search_again(problem, before, whole)
    everything = np.arange(len(looked.candidates))
    support = _support(problem, before, looked, everything)
    state, evidence = _swept(problem, looked.start(problem, before, support, everything), everything, support)
    return learnt(problem, state, support, evidence), looked.n_tokens


def trial_round(problem: Problem, before: RoundState) -> RoundState:
    """A round among open entities that keeps the model, and leaves settled pairs without a rival as they are."""
    looked = _search_again(problem, before, whole=False)
    moving = _unsettled(looked.candidates, looked.log_odds)
    support = _support(problem, before, looked, moving)
    return _swept(problem, looked.start(problem, before, support, moving), moving, support, learns=False)[0]


def _unsettled(candidates: Candidates, log_odds: Floats) -> Ids:
    """All candidates but settled ones without a rival."""
    lonely = np.ones(len(candidates), dtype=bool)
    for number, size in zip((candidates.row, candidates.column), candidates.shape, strict=True):
        lonely &= np.bincount(number, minlength=size)[number] == 1
    return np.flatnonzero(~lonely | (log_odds <= SETTLED))


@dataclass(frozen=True, eq=False)
class _Looked:
    """The candidates of a round, with their log-odds from the round before."""

    candidates: Candidates
    log_odds: Floats
    scale: Scale
    n_tokens: int

    def start(self, problem: Problem, before: RoundState, support: Support, moving: Ids) -> RoundState:
        """What the sweeps of the round begin with."""
        number, slots = moving.astype(np.int32), support.slots
        listed: Slots = (number[slots[0][0]], slots[0][1]), (number[slots[1][0]], slots[1][1])
        return replace(
            before,
            candidates=self.candidates,
            log_odds=self.log_odds,
            value=before.value_of(self.candidates.row, self.candidates.column, 0.0),
            slots=listed,
            by_slot=before.slots_for(self.candidates, listed, (problem.ties[0].n_ties, problem.ties[1].n_ties)),
            scale=self.scale,
        )


def _search_again(problem: Problem, before: RoundState, whole: bool) -> _Looked:
    among = None if whole else open_entities(problem, before)
    found = search(problem, knowledge_of(problem, before), among, None if whole else before.scale)
    candidates = candidates_of(problem, found.similarity, before)
    scale = found.scale if whole or before.scale is None else before.scale
    log_odds = before.log_odds_of(candidates.row, candidates.column, _NEVER)
    return _Looked(candidates, log_odds, scale, found.n_tokens)


def _support(problem: Problem, before: RoundState, looked: _Looked, moving: Ids) -> Support:
    """What supports the moving candidates, all candidates being supporters."""
    model, candidates = before.model, looked.candidates
    unknown = problem.open_partners(before.unmatched).unknown
    given = candidates, looked.log_odds > LIVE, problem.sides, model.odds, model.gaps, unknown
    if len(moving) == len(candidates):
        return find_support(*given)
    place = np.full(len(candidates), -1, dtype=np.int64)
    place[moving] = np.arange(len(moving))
    return find_support(candidates.at(moving), *given[1:], supporters=candidates, among_candidates=place)


def _swept(
    problem: Problem, start: RoundState, moving: Ids, support: Support, learns: bool = True
) -> tuple[RoundState, Evidence]:
    """Some sweeps of support and matching over one list of candidates, of which some are moving.

    Where all are, names and how many entities are alone can be learnt on the way.
    """
    candidates, model = start.candidates.at(moving), start.model
    propagation = Propagation(candidates, support, problem.sides, model, "cavity" not in problem.without)
    given = problem.is_given(candidates.row, candidates.column)
    names = None if problem.names is None else problem.names.compare(candidates)
    if learns:  # how many are alone is learnt anew in each round: what was believed wrongly is unlearnt
        model = model.with_even_chances()
    log_odds, by_slot, unmatched = start.log_odds.copy(), start.by_slot, start.unmatched
    still = _Still.of(start, moving)
    messages: tuple[Floats, Floats] | None = None
    for _ in range(_SWEEPS):
        evidence = still.apart(propagation.evidence(log_odds, by_slot, problem.open_partners(unmatched)))
        said = _said_by_names(problem, names, model)
        value = np.where(given, _SEED, evidence.value + said)
        marginals, model = _matched(problem, candidates, value, evidence, model, messages, learns)
        messages = marginals.messages
        log_odds[moving] = np.where(given, CERTAIN, marginals.log_odds)
        by_slot = evidence.by_slot
        unmatched = still.joined(marginals.unmatched)
        if learns and problem.names is not None and names is not None:
            without = chance_of(log_odds[moving] - np.maximum(said, 0.0))
            before = problem.names.first_agreement if model.first_names is None else model.first_names
            model = replace(model, names=problem.names.learnt(names, without, before))
    values = start.value.copy()
    values[moving] = value
    state = replace(
        start,
        log_odds=log_odds,
        value=values,
        alone=unmatched.alone,
        elsewhere=unmatched.elsewhere,
        by_slot=by_slot,
        model=model,
    )
    return state, evidence


@dataclass(frozen=True, eq=False)
class _Still:
    """Entities of pairs that do not move: their chances, nan for all other entities."""

    unmatched: Unmatched

    @classmethod
    def of(cls, start: RoundState, moving: Ids) -> Self:
        still = np.ones(len(start.candidates), dtype=bool)
        still[moving] = False
        alone, elsewhere = [], []
        for side, number in enumerate((start.candidates.row, start.candidates.column)):
            moves = np.ones(start.candidates.shape[side], dtype=bool)
            moves[number[still]] = False
            alone.append(np.where(moves, np.nan, start.alone[side]))
            elsewhere.append(np.where(moves, np.nan, start.elsewhere[side]))
        return cls(Unmatched((alone[0], alone[1]), (elsewhere[0], elsewhere[1])))

    def apart(self, evidence: Evidence) -> Evidence:
        """The evidence, in which they are nobody's partner elsewhere."""
        source, target = (
            np.where(np.isnan(alone), own, -np.inf)
            for alone, own in zip(self.unmatched.alone, evidence.nothing, strict=True)
        )
        return replace(evidence, nothing=(source, target))

    def joined(self, moved: Unmatched) -> Unmatched:
        """The chances of those that move, and of those that do not."""
        return Unmatched(
            _first_known(self.unmatched.alone, moved.alone), _first_known(self.unmatched.elsewhere, moved.elsewhere)
        )


def _first_known(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    source, target = (np.where(np.isnan(left), right, left) for left, right in zip(one, other, strict=True))
    return source, target


def _said_by_names(problem: Problem, comparison: Comparison | None, model: Model) -> Floats:
    if problem.names is None or comparison is None or model.names is None:
        return np.zeros(1)
    return problem.names.evidence(comparison, model.names)


def _matched(
    problem: Problem,
    candidates: Candidates,
    value: Floats,
    evidence: Evidence,
    model: Model,
    messages: tuple[Floats, Floats] | None,
    learns: bool,
) -> tuple[Marginals, Model]:
    """The matching, with how many entities of each size are alone, where that is to be learnt."""
    for _ in range(2):
        priors = Priors.of(model, problem.classes)
        marginals = matched(
            candidates, value, evidence.nothing, priors, messages, _ITERATIONS, many_to_one=problem.many_to_one
        )
        messages = marginals.messages
        if learns:
            alone = [share_alone(marginals.alone[side], problem.classes[side]) for side in (0, 1)]
            model = replace(model, alone=(alone[0], alone[1]))
    return marginals, model


@dataclass(frozen=True, eq=False)
class Rounds:
    """What the rounds came to.

    Attributes
    ----------
    first_pairs: (n, 2) int64
        Pairs believed after the first round.
    converged:
        Whether the last round changed next to nothing.
    """

    state: RoundState
    first_pairs: Ids
    log: tuple[Round, ...]
    converged: bool


def run_rounds(
    problem: Problem,
    state: RoundState | None = None,
    log: tuple[Round, ...] = (),
    first_pairs: Ids | None = None,
    *,
    whole_rounds: int = _WHOLE_ROUNDS,
    max_rounds: int = MAX_ROUNDS,
    progress: Callable[[int, int], None] | None = None,
    keeper: Keeper | None = None,
) -> Rounds:
    """Rounds until nothing changes.

    Parameters
    ----------
    state, log, first_pairs:
        Where to go on from; from nothing where None.
    whole_rounds:
        Rounds that search all entities, counting from 0; later ones search those that are open.
    keeper:
        Told where each round ends.
    """
    rounds = list(log)
    while state is None or not _is_last(problem, rounds, max_rounds):
        number, start = len(rounds), time.perf_counter()
        if progress is not None:
            progress(number, max_rounds)
        whole = number < whole_rounds or (state is not None and state.scale is None)
        if state is None:
            before, state, n_tokens = problem.given, first_state(problem), 0
            first_pairs = state.believed.pairs
        else:
            before = state.believed.pairs
            start_from = emboldened(problem, state) if number <= _PATIENCE else state
            state, n_tokens = next_round(problem, start_from, whole)
        after = state.believed.pairs
        rounds.append(
            Round(
                number,
                whole,
                n_tokens,
                len(state.candidates),
                len(after),
                float(state.alone[0].mean()) if len(state.alone[0]) else 0.0,
                changed(before, after),
                time.perf_counter() - start,
            )
        )
        logger.info("%s", rounds[-1])
        if keeper is not None:
            keeper.keep_round(state, tuple(rounds), after if first_pairs is None else first_pairs)
    first = state.believed.pairs if first_pairs is None else first_pairs
    return Rounds(state, first, tuple(rounds), _is_stable(problem, rounds))


def emboldened(problem: Problem, state: RoundState) -> RoundState:
    """A state that believes its best pairs, where few seeds have led to fewer pairs yet: one has to begin somewhere.

    Its log-odds are raised until a few times as many pairs are likelier right than not as there are seeds. The next
    round weighs them by their evidence again, and gives up what does not hold.
    """
    found = state.pairs.log_odds[~problem.is_given(state.pairs.pairs[:, 0], state.pairs.pairs[:, 1])]
    if not len(found) or not _is_slow_to_start(problem, int((found > 0.0).sum())) or not state.has_slots:
        return state
    least = np.sort(found)[::-1][: max(_BOLD * len(problem.given), _FEWEST_BOLD)][-1]
    given = problem.is_given(state.candidates.row, state.candidates.column)
    return replace(state, log_odds=np.where(given, state.log_odds, state.log_odds + max(1.0 - least, 0.0)))


def _is_slow_to_start(problem: Problem, n_found: int) -> bool:
    """Whether seeds are few, and led to fewer pairs."""
    return problem.has_few_seeds and n_found < len(problem.given)


def changed(before: Ids, after: Ids) -> int:
    """How many pairs stand in one of two lists only."""
    old, new = ((pairs[:, 0] << 32) | pairs[:, 1] for pairs in (before, after))
    return len(np.setxor1d(old, new))


def _is_last(problem: Problem, rounds: list[Round], max_rounds: int) -> bool:
    return bool(rounds) and (_is_stable(problem, rounds) or len(rounds) >= max_rounds)


def _is_stable(problem: Problem, rounds: list[Round]) -> bool:
    """Whether the last round changed next to nothing, and was not the bold start of few seeds."""
    if not rounds or rounds[-1].number == 0:
        return False
    before, last = rounds[-2].changed if len(rounds) > 1 else 0, rounds[-1]
    if last.number <= _PATIENCE and _is_slow_to_start(problem, last.pairs - len(problem.given)):
        return False
    goes_on_slowly = last.changed <= before < last.changed / _SLOW
    return last.changed <= (_SLOW_SHARE if goes_on_slowly else STABLE_SHARE) * last.pairs


_CLOSING_ROUNDS: Final = 4
_CLOSED_SHARE: Final = 0.002  # of the links: where a round changes no more, the next would change nothing


def closed(problem: Problem, state: RoundState, links: Ids) -> RoundState:
    """The state with what can be found among open entities where all links, (n, 2), are certain."""
    if not len(links):
        return state
    log_odds = state.log_odds.copy()
    log_odds[state.find(links[:, 0], links[:, 1])] = CERTAIN
    now, granted = replace(state, log_odds=log_odds), problem.granting(links)
    before = now.believed.pairs
    for _ in range(_CLOSING_ROUNDS):
        now, _ = next_round(granted, now, whole=False)
        after = now.believed.pairs
        if changed(before, after) <= _CLOSED_SHARE * len(links):
            break
        before = after
    taken = np.zeros(problem.shape[0], dtype=bool), np.zeros(problem.shape[1], dtype=bool)
    taken[0][links[:, 0]], taken[1][links[:, 1]] = True, True
    return _joined(state, now, taken)


def _joined(first: RoundState, second: RoundState, taken: tuple[NDArray[np.bool_], NDArray[np.bool_]]) -> RoundState:
    """Candidates of taken entities as the first state has them, all others as the second does.

    How likely entities are to have no partner stays as it was: that is what the trial has tried.
    """
    parts = []
    for state, of_taken in ((first, True), (second, False)):
        c = state.candidates
        parts.append(np.flatnonzero((taken[0][c.row] | taken[1][c.column]) == of_taken))
    row, column = (
        np.concatenate(
            [getattr(state.candidates, end)[part] for state, part in zip((first, second), parts, strict=True)]
        )
        for end in ("row", "column")
    )
    order = np.lexsort((column, row))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    numbers = place[: len(parts[0])], place[len(parts[0]) :]
    slots, by_slot = [], []
    for view in (0, 1):
        listed = [
            _slots_at(state, part, to, view) for state, part, to in zip((first, second), parts, numbers, strict=True)
        ]
        candidate, tie, added = (np.concatenate([one[at] for one in listed]) for at in range(3))
        by_candidate = np.lexsort((tie, candidate))
        slots.append((candidate[by_candidate], tie[by_candidate]))
        by_slot.append(added[by_candidate])
    both = ((first.log_odds, second.log_odds), (first.value, second.value))
    log_odds, value = (np.concatenate([one[parts[0]], other[parts[1]]])[order] for one, other in both)
    return replace(
        first,
        candidates=Candidates(row[order], column[order], first.candidates.shape),
        log_odds=log_odds,
        value=value,
        slots=(slots[0], slots[1]),
        by_slot=(by_slot[0], by_slot[1]),
    )


def _slots_at(
    state: RoundState, part: NDArray[np.int64], to: NDArray[np.int64], view: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Slots of some candidates, with the candidates' new numbers: (candidate, tie, what it added)."""
    number = np.full(len(state.candidates), -1, dtype=np.int64)
    number[part] = to
    candidate, tie = state.slots[view]
    kept = np.flatnonzero(number[candidate] >= 0) if len(candidate) else np.zeros(0, np.int64)
    return number[candidate[kept]].astype(np.int32), tie[kept], state.by_slot[view][kept]
