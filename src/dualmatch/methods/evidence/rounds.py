"""Rounds: search for candidates with what is known, let them support each other, learn, and search again.

One loop serves an alignment from nothing, one that starts from an earlier state (an update, a resumed run), and trials:
they differ in the state they begin with and in what they may learn.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from dualmatch.channels.evidence.date_evidence import date_evidence, missed_dates
from dualmatch.channels.evidence.support import Slots, Support, find_support
from dualmatch.channels.evidence.ties import marked
from dualmatch.channels.evidence.tokens import Scale
from dualmatch.channels.names import Comparison
from dualmatch.decode.one_to_one import Candidates, Marginals, chance_of
from dualmatch.graph.arrays import Flags, Floats, Ids
from dualmatch.methods.evidence.learning import learnt
from dualmatch.methods.evidence.problem import Problem
from dualmatch.methods.evidence.propagation import Evidence, Priors, Propagation, TieTerms, matched
from dualmatch.methods.evidence.search import (
    SETTLED,
    Found,
    SearchRunner,
    first_state,
    knowledge_of,
    next_candidates,
    open_entities,
    run_search,
    search,
)
from dualmatch.methods.evidence.state import CERTAIN, Model, Round, RoundState, both
from dualmatch.methods.evidence.still_pairs import StillPairs
from dualmatch.methods.run_store import RunStore

logger = logging.getLogger(__name__)

MAX_ROUNDS: Final = 14
STABLE_SHARE: Final = 0.01
"""The rounds end where at most this share of the pairs changes."""
_SLOW_SHARE: Final = 0.03  # the same where rounds change little less than the one before: a few pairs oscillate
_SLOW: Final = 0.5
WHOLE_ROUNDS: Final = 2
"""Rounds that search all entities: by time alone, and with the first neighbours; later ones search open entities."""
_SWEEPS: Final = 2
_ITERATIONS: Final = 5  # of the matching, for each of the two estimates that a sweep makes of how many are alone
LEAST_KEPT_SEARCH: Final = 2**20
"""Similar pairs that a search must have found to be worth keeping: those of 100,000 entities or more."""
LIVE: Final = -7.0
"""Candidates with smaller log-odds support none."""
_PATIENCE: Final = 8  # rounds in which few seeds may lead to fewer pairs before the rounds may end
_BOLD: Final = 4  # times the seeds: pairs to believe where few are believed yet
_FEWEST_BOLD: Final = 10
_STALLED_SHARE: Final = 0.05  # of the smaller graph: fewer pairs without seeds are no start
_BOLD_SHARE: Final = 0.2  # of the smaller graph: pairs to believe then
_SEED: Final = 150.0  # log-likelihood ratio of a seed
_CLOSING_ROUNDS: Final = 4
_CLOSED_SHARE: Final = 0.002  # of the links: where a closing round changes no more, the next would change nothing


def next_round(
    problem: Problem, before: RoundState, whole: bool, runner: SearchRunner = run_search
) -> tuple[RoundState, int]:
    """Run one round, after which the model is learnt anew; give the state and how many tokens its search had.

    Parameters
    ----------
    whole:
        Whether all entities are searched, or only those in no settled pair.
    """
    found = _search_again(problem, before, whole, runner)
    everything = np.arange(len(found.candidates))
    support = _support(problem, before, found, everything)
    state, evidence = _swept(problem, found.start(problem, before, support, everything), everything, support)
    return problem.engine.paged(learnt(problem, state, support, evidence)), found.n_tokens


def trial_round(problem: Problem, before: RoundState) -> RoundState:
    """Run a round among open entities that keeps the model, and leaves settled pairs without a rival as they are."""
    found = _search_again(problem, before, whole=False)
    moving = _unsettled(found.candidates, found.log_odds)
    support = _support(problem, before, found, moving)
    start = found.start(problem, before, support, moving)
    state, _ = _swept(problem, start, moving, support, learns=False)
    return problem.engine.paged(state.with_pairs(problem.engine))


def closing_round(problem: Problem, before: RoundState) -> RoundState:
    """Run a round that keeps seeds fixed, then learn the model anew, apart from coverage and how labels agree.

    Nothing that a seed's neighbours say could change it. Coverage and labels stay as the rounds have learnt them: what
    is left after all links are few pairs to learn them from, and the worst.
    """
    found = _search_again(problem, before, whole=False)
    moving = np.flatnonzero(~problem.is_given(found.candidates.row, found.candidates.column))
    support = _support(problem, before, found, moving)
    start = found.start(problem, before, support, moving)
    state, _ = _swept(problem, start, moving, support)
    return problem.engine.paged(learnt(problem, state, support, moving=moving))


def _unsettled(candidates: Candidates, log_odds: Floats) -> Ids:
    """All candidates but settled ones without a rival."""
    lonely = np.ones(len(candidates), dtype=bool)
    for number, size in zip((candidates.row, candidates.column), candidates.shape, strict=True):
        lonely &= np.bincount(number, minlength=size)[number] == 1
    return np.flatnonzero(~lonely | (log_odds <= SETTLED))


@dataclass(frozen=True, eq=False)
class _RoundInput:
    """The candidates of a round, with their log-odds from the round before."""

    candidates: Candidates
    log_odds: Floats
    value: Floats
    scale: Scale
    n_tokens: int

    def start(self, problem: Problem, before: RoundState, support: Support, moving: Ids) -> RoundState:
        """The state that the sweeps of the round begin with."""
        number, slots = moving.astype(np.int32), support.slots
        listed: Slots = both(lambda view: (number[slots[view][0]], slots[view][1]))
        return replace(
            before,
            candidates=self.candidates,
            log_odds=self.log_odds,
            value=self.value,
            slots=listed,
            by_slot=before.slots_for(
                self.candidates, listed, both(lambda side: problem.ties[side].n_ties), problem.engine
            ),
            scale=self.scale,
        )


def _search_again(problem: Problem, before: RoundState, whole: bool, runner: SearchRunner = run_search) -> _RoundInput:
    before.with_pairs(problem.engine)

    def search_again() -> Found:
        among = None if whole else open_entities(problem, before)
        return search(problem, knowledge_of(problem, before), among, None if whole else before.scale)

    found = runner(search_again)
    candidates, log_odds, value = next_candidates(problem, found.similarity, before)
    scale = found.scale if whole or before.scale is None else before.scale
    return _RoundInput(candidates, log_odds, value, scale, found.n_tokens)


def _support(problem: Problem, before: RoundState, found: _RoundInput, moving: Ids) -> Support:
    """What supports the moving candidates, all candidates being supporters."""
    model, candidates = before.model, found.candidates
    unknown = problem.open_partners(before.unmatched).unknown
    given = candidates, found.log_odds > LIVE, problem.sides, model.odds, model.gaps, unknown
    engine = problem.engine
    if len(moving) == len(candidates):
        return find_support(*given, engine=engine)
    place = np.full(len(candidates), -1, dtype=np.int64)
    place[moving] = np.arange(len(moving))
    return find_support(candidates.at(moving), *given[1:], supporters=candidates, among_candidates=place, engine=engine)


def _swept(
    problem: Problem, start: RoundState, moving: Ids, support: Support, learns: bool = True
) -> tuple[RoundState, Evidence]:
    """Some sweeps of support and matching over one list of candidates, of which some are moving.

    How many entities are alone is learnt on the way, and how names agree where all are moving.
    """
    candidates, model = start.candidates.at(moving), start.model
    with_cavity, terms = "cavity" not in problem.without, TieTerms.of(problem.sides, model, problem.engine)
    propagation = Propagation(candidates, support, problem.sides, model, terms, with_cavity)
    given = problem.is_given(candidates.row, candidates.column)
    names = None if problem.names is None or model.names is None else problem.names.compare(candidates)
    if learns:  # how many are alone is learnt anew in each round: what was believed wrongly is unlearnt
        model = model.with_even_chances()
    log_odds, by_slot, unmatched = start.log_odds.copy(), start.by_slot, start.unmatched
    still, all_move = StillPairs.of(start, moving, problem.many_to_one), len(moving) == len(start.candidates)
    messages: tuple[Floats, Floats] | None = None
    dates, no_dates = _evidence_of_dates(problem, candidates, model)
    for _ in range(_SWEEPS):
        unknown = problem.open_partners(unmatched)
        by_ties = propagation.evidence(log_odds, by_slot, unknown, problem.engine, None if all_move else still.entities)
        evidence = still.apart(by_ties.with_dates(dates, no_dates))
        by_names = _evidence_of_names(problem, names, model)
        value = np.where(given, _SEED, evidence.value + by_names)
        marginals, model = _matched(problem, candidates, value, evidence, model, messages, still if learns else None)
        messages = marginals.messages
        log_odds[moving] = np.where(given, CERTAIN, marginals.log_odds)
        by_slot = evidence.by_slot
        unmatched = still.joined(marginals.unmatched)
        if learns and all_move and problem.names is not None and names is not None:
            without = chance_of(log_odds[moving] - np.maximum(by_names, 0.0))
            before = problem.names.first_agreement if model.first_names is None else model.first_names
            model = replace(model, names=problem.names.learnt(names, without, before))
    values = start.value.copy()
    values[moving] = value
    alone, elsewhere = unmatched.alone, unmatched.elsewhere
    state = replace(
        start, log_odds=log_odds, value=values, alone=alone, elsewhere=elsewhere, by_slot=by_slot, model=model
    )
    return state, evidence


def _evidence_of_dates(problem: Problem, candidates: Candidates, model: Model) -> tuple[Floats, tuple[Floats, Floats]]:
    """What dates of the entities themselves say of each candidate, and of an entity whose dates nobody has."""
    dated, agreement = problem.dated, model.dates
    if dated is None or agreement is None:
        return np.zeros(1), (np.zeros(1), np.zeros(1))
    value = date_evidence(dated, candidates, agreement).value(len(candidates))
    return value, both(lambda side: missed_dates(dated, agreement, side))


def _evidence_of_names(problem: Problem, comparison: Comparison | None, model: Model) -> Floats:
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
    still: StillPairs | None,
) -> tuple[Marginals, Model]:
    """The matching, with how many entities of each size are alone; `still` is None where that is not to be learnt."""
    engine = problem.engine
    for _ in range(2):
        priors = Priors.of(model, problem.classes)
        given = candidates, value, evidence.nothing, priors, engine, messages, _ITERATIONS, problem.many_to_one
        marginals = matched(*given)
        messages = marginals.messages
        if still is not None:
            model = model.with_alone(still.joined(marginals.unmatched).alone, problem.classes)
    return marginals, model


@dataclass(frozen=True, eq=False)
class Rounds:
    """The state after all rounds."""

    state: RoundState
    first_pairs: Ids  # (n, 2): believed after the first round
    log: tuple[Round, ...]
    converged: bool  # whether the last round changed next to nothing


def run_rounds(
    problem: Problem,
    state: RoundState | None = None,
    log: tuple[Round, ...] = (),
    first_pairs: Ids | None = None,
    *,
    whole_rounds: int = WHOLE_ROUNDS,
    max_rounds: int = MAX_ROUNDS,
    progress: Callable[[int, int], None] | None = None,
    store: RunStore | None = None,
) -> Rounds:
    """Run rounds until next to nothing changes.

    Parameters
    ----------
    state, log, first_pairs:
        Where to continue; from nothing where None.
    whole_rounds:
        Rounds that search all entities, counting from 0; later ones search those that are open.
    store:
        Keeps the state after each round, and what a round has found where that takes long.
    """
    rounds = list(log)
    while state is None or not rounds or not (_is_stable(problem, rounds) or len(rounds) >= max_rounds):
        problem.keep_in_files()
        number, start = len(rounds), time.perf_counter()
        if progress is not None:
            progress(number, max_rounds)
        whole = number < whole_rounds or (state is not None and state.scale is None)
        runner = run_search if store is None else partial(_kept_or_run, store, number)
        if state is None:
            before, state, n_tokens = problem.given, first_state(problem, runner), 0
            first_pairs = state.believed.pairs
        else:
            before = state.with_pairs(problem.engine).believed.pairs
            start_from = emboldened(problem, state) if number <= _PATIENCE else state
            state, n_tokens = next_round(problem, start_from, whole, runner)
        after = state.believed.pairs
        alone = float(state.alone[0].mean()) if len(state.alone[0]) else 0.0
        n_changed, seconds = changed(before, after), time.perf_counter() - start
        rounds.append(Round(number, whole, n_tokens, len(state.candidates), len(after), alone, n_changed, seconds))
        logger.info("%s", rounds[-1])
        if store is not None:
            store.keep_round(state, tuple(rounds), after if first_pairs is None else first_pairs)
    first = state.believed.pairs if first_pairs is None else first_pairs
    return Rounds(state, first, tuple(rounds), _is_stable(problem, rounds))


def _kept_or_run(store: RunStore, number: int, make: Callable[[], Found]) -> Found:
    """What a round has found, kept if that is much: the rest of the round takes as long again."""
    found = store.kept_search(number)
    if found is None:
        found = make()
        if found.similarity.nnz >= LEAST_KEPT_SEARCH:
            store.keep_search(found, number)
    return found


def emboldened(problem: Problem, state: RoundState) -> RoundState:
    """A state that believes its best pairs where nearly none is likely yet: one has to begin somewhere.

    Its log-odds are raised until a few times as many pairs are likelier right than not as there are seeds; without
    seeds, a share of the smaller graph. The next round weighs them by their evidence again, and drops what does not
    hold.
    """
    found = state.pairs.log_odds[~problem.is_given(state.pairs.pairs[:, 0], state.pairs.pairs[:, 1])]
    if not len(found) or not _is_slow_to_start(problem, int((found > 0.0).sum())) or not state.has_slots:
        return state
    n_bold = _BOLD * len(problem.given) if len(problem.given) else int(_BOLD_SHARE * min(problem.shape))
    least = np.sort(found)[::-1][: max(n_bold, _FEWEST_BOLD)][-1]
    given = problem.is_given(state.candidates.row, state.candidates.column)
    return replace(state, log_odds=np.where(given, state.log_odds, state.log_odds + max(1.0 - least, 0.0)))


def _is_slow_to_start(problem: Problem, n_found: int) -> bool:
    """Whether seeds are few, and led to fewer pairs; or there are none, and next to nothing was found."""
    if len(problem.given):
        return problem.has_few_seeds and n_found < len(problem.given)
    return n_found < _STALLED_SHARE * min(problem.shape)


def changed(before: Ids, after: Ids) -> int:
    """How many pairs stand in one of two lists only; no source is twice in a list.

    >>> changed(np.array([[0, 5], [1, 6], [2, 7]]), np.array([[0, 5], [1, 7], [3, 6]]))
    4
    """
    size = 1 + max(int(pairs[:, 0].max(initial=-1)) for pairs in (before, after))
    old, new = (np.full(size, -1, dtype=np.int64) for _ in range(2))
    for partner, pairs in ((old, before), (new, after)):
        partner[pairs[:, 0]] = pairs[:, 1]
    moved = old != new
    return int((moved & (old >= 0)).sum() + (moved & (new >= 0)).sum())


def _is_stable(problem: Problem, rounds: list[Round]) -> bool:
    """Whether the last round changed next to nothing, and was not the bold start of few seeds."""
    if not rounds or rounds[-1].number == 0:
        return False
    before, last = rounds[-2].changed if len(rounds) > 1 else 0, rounds[-1]
    if last.number <= _PATIENCE and _is_slow_to_start(problem, last.pairs - len(problem.given)):
        return False
    is_slow = last.changed <= before < last.changed / _SLOW
    return last.changed <= (_SLOW_SHARE if is_slow else STABLE_SHARE) * last.pairs


def closed(problem: Problem, state: RoundState, links: Ids) -> RoundState:
    """The state with what can be found among open entities where all links, (n, 2), are certain.

    A pair whose neighbours are each likely, and none certain, may stay just below one half; given the links as seeds,
    it would be found. These last rounds see to it that feeding links back finds next to nothing new. Links stay as
    likely as they were, and so does how likely entities are to have no partner: that is what the trial has tested.
    """
    if not len(links):
        return state
    taken = both(lambda side: marked(links[:, side], problem.shape[side]))
    now, granted = _certain(state, links, taken).with_pairs(problem.engine), problem.granting(links)
    before = now.believed.pairs
    for _ in range(_CLOSING_ROUNDS):
        now = closing_round(granted, now)
        after = now.believed.pairs
        if changed(before, after) <= _CLOSED_SHARE * len(links):
            break
        before = after
    kept = taken[0], taken[1] & (not problem.many_to_one)  # other sources may have the target of a link
    return problem.engine.call(state.joined, now, kept).with_pairs(problem.engine)


def _certain(state: RoundState, links: Ids, taken: tuple[Flags, Flags]) -> RoundState:
    """The state in which some links are certain, and the partner of everyone in them known."""
    log_odds = state.log_odds.copy()
    log_odds[state.find(links[:, 0], links[:, 1])] = CERTAIN
    alone = both(lambda side: np.where(taken[side], 0.0, state.alone[side]))
    elsewhere = both(lambda side: np.where(taken[side], 0.0, state.elsewhere[side]))
    return replace(state, log_odds=log_odds, alone=alone, elsewhere=elsewhere)
