"""Search: which pairs are worth a look, by the tokens that two entities share; and the state it begins with."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy import sparse as sp

from dualmatch.channels.evidence.candidates import find_candidates, scored_tokens
from dualmatch.channels.evidence.relations import align_relations
from dualmatch.channels.evidence.ties import distinct, find_pairs, marked
from dualmatch.channels.evidence.tokens import Knowledge, Scale, SoftPairs
from dualmatch.decode.forbidden import Forbidden
from dualmatch.decode.one_to_one import Candidates, Marginals, chance_of
from dualmatch.decode.sparse_sinkhorn import EVIDENCE_ITERATIONS, sharpness_of, sparse_sinkhorn
from dualmatch.engine import Engine, spans_of
from dualmatch.graph.arrays import Flags, Floats, Ids
from dualmatch.methods.evidence.learning import learnt
from dualmatch.methods.evidence.problem import Problem
from dualmatch.methods.evidence.propagation import Priors, matched
from dualmatch.methods.evidence.state import CERTAIN, Model, RoundState, both

logger = logging.getLogger(__name__)

_N_CANDIDATES: Final = 5  # of each entity
_WORTH_A_LOOK: Final = 0.4  # of the best similarity of either entity; swept in docs/lab-notes.md
_LEAST_SOFT: Final = 0.1  # pairs this likely make tokens
_LEAST_KEPT: Final = 0.01  # pairs this likely stay candidates, found again or not
_RULED_OUT: Final = -6.0  # rivals of settled pairs with such log-odds leave
SETTLED: Final = 8.0
"""Log-odds of pairs whose entities are searched no more."""
_NEVER: Final = -50.0  # log-odds of a candidate that is new
_ROWS_AT_ONCE: Final = 2**17  # source entities whose candidates are chosen in one go
_NAME_STEPS: Final = 8
_LEFT_OUT: Final = "labels of the two graphs do not agree where their %s do, so they are left out"
_USELESS: Final = -2.0  # log Bayes factor: labels that distinguish true pairs give a larger one
_SURPRISING: Final = 3.0  # standard deviations above what chance has in common


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found: similarities, their scale, and how many tokens there were."""

    similarity: sp.csr_matrix
    scale: Scale
    n_tokens: int


SearchRunner = Callable[[Callable[[], Found]], Found]
"""Makes a search, or gives what it found before a run was interrupted."""


def run_search(make: Callable[[], Found]) -> Found:
    """Make the search."""
    return make()


def search(
    problem: Problem,
    knowledge: Knowledge | None,
    among: tuple[Ids, Ids] | None = None,
    scale: Scale | None = None,
) -> Found:
    """The most similar pairs.

    Parameters
    ----------
    among:
        Entities to search; all where None.
    scale:
        Of the last search of all, where this is one of some.
    """
    tokens = problem.builder.build(knowledge, among, None if scale is None else scale.smoothing)
    dearest, smoothing = None if scale is None else scale.dearest, tokens.smoothing
    scored = scored_tokens(tokens, dearest, problem.engine)
    del tokens  # they are as large as all else
    found = find_candidates(scored, problem.shape, _N_CANDIDATES, engine=problem.engine)
    return Found(problem.forbidden.left_out_of(found), Scale(smoothing, scored.dearest), scored.source.shape[1])


def knowledge_of(problem: Problem, state: RoundState) -> Knowledge:
    """What tokens may build on."""
    pairs = state.believed.pairs
    aligned = align_relations(*problem.views, pairs[:0] if "relations" in problem.without else pairs, problem.engine)
    probability, c = state.probability, state.candidates
    kept = probability >= _LEAST_SOFT
    soft = SoftPairs(c.row[kept], c.column[kept], probability[kept])
    return Knowledge(soft, aligned.source_class, aligned.target_class)


def open_entities(problem: Problem, state: RoundState) -> tuple[Ids, Ids]:
    """Entities in no settled pair; all targets where those may be taken twice."""
    closed = _closed(problem, state)
    return both(lambda side: np.flatnonzero(~closed[side]))


def _closed(problem: Problem, state: RoundState) -> tuple[Flags, Flags]:
    """Which entities are in a settled pair; no target where those may be taken twice."""
    settled = state.believed.above(SETTLED).pairs
    closed = np.zeros(problem.shape[0], dtype=bool), np.zeros(problem.shape[1], dtype=bool)
    closed[0][settled[:, 0]] = True
    closed[1][settled[:, 1]] = not problem.many_to_one
    return closed


def candidates_of(problem: Problem, similarity: sp.csr_matrix, by_names: bool = True) -> Candidates:
    """Candidates from what was found and from names, before anything is known of them; a seed has no rivals."""
    return _chosen(problem, similarity, by_names, None)[0]


def next_candidates(
    problem: Problem, similarity: sp.csr_matrix, before: RoundState
) -> tuple[Candidates, Floats, Floats]:
    """Candidates from what was found, from names, and from the round before; their log-odds and values there."""
    candidates, carried = _chosen(problem, similarity, before.model.names is not None, before)
    return candidates, carried[0], carried[1]


def _chosen(
    problem: Problem, similarity: sp.csr_matrix, by_names: bool, before: RoundState | None
) -> tuple[Candidates, list[Floats]]:
    by_name = problem.names.similar if problem.names is not None and by_names else None
    closed = None if before is None else _closed(problem, before)
    last = (
        None
        if before is None or closed is None
        else _LastRound(before.candidates, before.log_odds, before.value, closed)
    )
    in_seed = both(lambda side: marked(problem.given[:, side], problem.shape[side]))
    engine = problem.engine
    best = engine.call(_best_of_each, similarity)
    rules = problem.given, in_seed, problem.forbidden, problem.many_to_one, by_name
    choice, columns = _Choice(similarity, best, *rules, last), engine.columns()
    for part in engine.each(choice.of_rows, spans_of(problem.shape[0], _ROWS_AT_ONCE)):
        columns.append(part)
    row, column, *carried = columns.arrays()
    return engine.call(_ordered, Candidates(row, column, problem.shape)), carried


def _ordered(candidates: Candidates) -> Candidates:
    return candidates.ordered


def _best_of_each(similarity: sp.csr_matrix) -> tuple[Floats, Floats]:
    """The largest similarity of each row, and of each column; 0 where there is none."""
    best = np.zeros(similarity.shape[0], similarity.dtype), np.zeros(similarity.shape[1], similarity.dtype)
    filled = np.flatnonzero(np.diff(similarity.indptr))
    if len(filled):
        best[0][filled] = np.maximum.reduceat(similarity.data, similarity.indptr[filled])
        np.maximum.at(best[1], similarity.indices, similarity.data)
    return best


@dataclass(frozen=True, eq=False)
class _LastRound:
    """What the choice of candidates takes from the round before."""

    candidates: Candidates
    log_odds: Floats
    value: Floats
    closed: tuple[Flags, Flags]  # entities in settled pairs

    def rows(self, begin: int, end: int) -> _LastRound:
        """What it says of some rows."""
        own = self.candidates
        at = slice(*np.searchsorted(own.row, (begin, end)))
        candidates = Candidates(own.row[at], own.column[at], own.shape)
        return _LastRound(candidates, self.log_odds[at], self.value[at], self.closed)

    def find(self, row: Ids, column: Ids) -> Ids:
        """Which candidates some pairs were; -1 for those that were none."""
        own = self.candidates
        return find_pairs(own.row, own.column, own.shape[1], row, column)

    def ruled_out(self, row: Ids, column: Ids) -> Flags:
        """Rivals of settled pairs that were unlikely before, or no candidates."""
        unlikely = np.append(self.log_odds, -np.inf)[self.find(row, column)] < _RULED_OUT
        ruled_out: Flags = (self.closed[0][row] | self.closed[1][column]) & unlikely
        return ruled_out


@dataclass(frozen=True, eq=False)
class _Choice:
    """The choice of candidates among pairs that were found similar, some rows at a time."""

    similarity: sp.csr_matrix
    best: tuple[Floats, Floats]  # largest similarity of each row, and of each column
    given: Ids
    in_seed: tuple[Flags, Flags]
    forbidden: Forbidden
    many_to_one: bool
    by_name: tuple[Ids, Ids] | None
    last: _LastRound | None

    def of_rows(self, begin: int, end: int) -> list[Ids | Floats]:
        """Row and column of the candidates of some rows; and their log-odds and values, if there was a round before."""
        last = None if self.last is None else self.last.rows(begin, end)
        found = [self._similar(begin, end)]
        if last is not None:
            likely = chance_of(last.log_odds) > _LEAST_KEPT
            found.append((last.candidates.row[likely], last.candidates.column[likely]))
        if self.by_name is not None:
            at = (self.by_name[0] >= begin) & (self.by_name[0] < end)
            found.append((self.by_name[0][at], self.by_name[1][at]))
        row, column = self._distinct(found)
        kept = self._beside_seeds(row, column)
        if len(self.forbidden):
            kept &= self.forbidden.allows(np.stack([row, column], axis=1))
        row, column = row[kept], column[kept]
        if last is not None:
            kept = ~last.ruled_out(row, column)
            row, column = row[kept], column[kept]
        seeds = self.given[slice(*np.searchsorted(self.given[:, 0], (begin, end)))]
        row, column = self._distinct([(row, column), (seeds[:, 0], seeds[:, 1])])
        if last is None:
            return [row, column]
        place = last.find(row, column)
        return [row, column, np.append(last.log_odds, _NEVER)[place], np.append(last.value, 0.0)[place]]

    def _similar(self, begin: int, end: int) -> tuple[Ids, Ids]:
        """Pairs of some rows that are nearly as similar as the best of either entity."""
        first = self.similarity.indptr[begin : end + 1]
        row = np.repeat(np.arange(begin, end), np.diff(first))
        column = self.similarity.indices[first[0] : first[-1]].astype(np.int64)
        value = self.similarity.data[first[0] : first[-1]]
        kept = (value >= _WORTH_A_LOOK * self.best[0][row]) | (value >= _WORTH_A_LOOK * self.best[1][column])
        return row[kept], column[kept]

    def _distinct(self, pairs: list[tuple[Ids, Ids]]) -> tuple[Ids, Ids]:
        """Pairs without repeats, by row, then column."""
        n_columns = self.similarity.shape[1]
        key = distinct(np.concatenate([row for row, _ in pairs]) * n_columns + np.concatenate([at for _, at in pairs]))
        return key // n_columns, key % n_columns

    def _beside_seeds(self, row: Ids, column: Ids) -> Flags:
        """Pairs of entities that are in no seed; where targets may be shared, pairs whose source is in none."""
        beside: Flags = ~self.in_seed[0][row]
        if not self.many_to_one:
            beside &= ~self.in_seed[1][column]
        return beside


def first_state(problem: Problem, runner: SearchRunner = run_search) -> RoundState:
    """The state to begin with: the seeds, or what dates and names say by themselves."""
    model = Model.first(*problem.ties, None if problem.names is None else problem.names.first_agreement)
    if len(problem.given):
        certain = np.full(len(problem.given), CERTAIN)
        if not _seeds_trust_names(problem):
            logger.warning(_LEFT_OUT, "seeds")
            model = replace(model, names=None, first_names=None)
        state = RoundState.of_pairs(problem.given[:, 0], problem.given[:, 1], certain, problem.shape, model)
        return learnt(problem, state)
    found = runner(lambda: search(problem, None))
    if not _dates_trust_names(problem, found.similarity, model):
        model = replace(model, names=None, first_names=None)
    candidates = candidates_of(problem, found.similarity, by_names=model.names is not None)
    value = first_values(problem, found.similarity, candidates)
    value, marginals, model = _by_names(problem, candidates, value, model)
    state = RoundState.of_pairs(candidates.row, candidates.column, marginals.log_odds, problem.shape, model)
    state = replace(state, value=value, alone=marginals.alone, elsewhere=marginals.elsewhere, scale=found.scale)
    return learnt(problem, state)


def _seeds_trust_names(problem: Problem) -> bool:
    """Whether the labels of the seeds agree more often than by chance; true where too few have any."""
    if problem.names is None:
        return True
    order = np.lexsort((problem.given[:, 1], problem.given[:, 0]))
    seeds = Candidates(problem.given[order, 0], problem.given[order, 1], problem.shape)
    return problem.names.tells(problem.names.compare(seeds), np.ones(len(seeds), dtype=bool)) > _USELESS


def _dates_trust_names(problem: Problem, similarity: sp.csr_matrix, model: Model) -> bool:
    """Whether labels may distinguish entities, as far as dates can show that; true where they cannot.

    Labels that number their entities, or name their kinds, are worse than none. They are left out where two things
    hold: pairs that dates alone settle have labels that agree no more often than by chance, and pairs with equal labels
    have dates in common no more often than by chance. One alone is not enough, since dates may be the poorer guide.
    """
    names = problem.names
    if names is None or not similarity.nnz:
        return True
    by_dates = candidates_of(problem, similarity, by_names=False)
    value = first_values(problem, similarity, by_dates)
    likely = _matched_by(problem, by_dates, value, model).probability > 0.5
    if names.tells(names.compare(by_dates), likely) > _USELESS:
        return True
    similar = Candidates(*names.similar, problem.shape)
    alike = names.alike(names.compare(similar))
    at = find_pairs(by_dates.row, by_dates.column, problem.shape[1], similar.row[alike], similar.column[alike])
    both_ways = int((at >= 0).sum())
    by_chance = float(alike.sum()) * len(by_dates) / max(float(problem.shape[0]) * problem.shape[1], 1.0)
    trusted = bool(both_ways > by_chance + _SURPRISING * np.sqrt(by_chance) + 1.0)
    if not trusted:
        logger.warning(_LEFT_OUT, "dates")
    return trusted


def first_values(problem: Problem, similarity: sp.csr_matrix, candidates: Candidates) -> Floats:
    """Log-likelihood ratios before anything is known: how much of either entity's tokens go to the other."""
    if not similarity.nnz:
        return np.zeros(len(candidates))
    engine = problem.engine
    is_small = similarity.nnz < engine.least_entries
    plan = engine.call(_plan, similarity) if is_small else _plan(similarity, engine)
    return engine.call(_plan_values, plan, candidates)


def _plan(similarity: sp.csr_matrix, engine: Engine | None = None) -> sp.csr_array:
    """The entries of the first plan."""
    return sparse_sinkhorn(sp.csr_array(similarity), sharpness_of(similarity), EVIDENCE_ITERATIONS, engine).entries


def _plan_values(plan: sp.csr_array, candidates: Candidates) -> Floats:
    listed, shape = plan.tocoo(), candidates.shape
    place = find_pairs(
        listed.row.astype(np.int64), listed.col.astype(np.int64), shape[1], candidates.row, candidates.column
    )
    share = np.where(place >= 0, listed.data[place], 0.0).clip(1e-12, 1 - 1e-9)
    values: Floats = np.maximum(np.log(share) - np.log1p(-share) + np.log(min(shape)), 0.0)
    return values


def _by_names(problem: Problem, candidates: Candidates, value: Floats, model: Model) -> tuple[Floats, Marginals, Model]:
    """What dates and names say of the candidates; how often names agree is learnt from what they say themselves.

    Without labels, one step is enough. With labels this is the EM algorithm of Fellegi and Sunter's model, in which
    no entity stands in two pairs.
    """
    if problem.names is None or model.names is None:
        return value, _matched_by(problem, candidates, value, model), model
    names, agreement = problem.names.compare(candidates), model.names
    for _ in range(_NAME_STEPS):
        with_names = value + problem.names.evidence(names, agreement)
        marginals = _matched_by(problem, candidates, with_names, model)
        agreement = problem.names.learnt(names, marginals.probability, problem.names.first_agreement, least=0.0)
        model = model.with_alone(marginals.alone, problem.classes)
    return with_names, marginals, replace(model, names=agreement, first_names=agreement)


def _matched_by(problem: Problem, candidates: Candidates, value: Floats, model: Model) -> Marginals:
    """The matching by these values alone."""
    nothing = np.zeros(problem.shape[0]), np.zeros(problem.shape[1])
    priors = Priors.of(model, problem.classes)
    return matched(candidates, value, nothing, priors, problem.engine, many_to_one=problem.many_to_one)
