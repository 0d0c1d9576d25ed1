"""What speaks for a pair: shared facts, names and the rest, in log-odds that add up to those of its confidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.channels.evidence.agreement import bayes_factors
from dualmatch.channels.evidence.date_evidence import date_evidence
from dualmatch.channels.evidence.support import find_support
from dualmatch.channels.evidence.term_cache import TermCache, once
from dualmatch.decode.one_to_one import Candidates
from dualmatch.graph.arrays import Floats, Ids
from dualmatch.methods.evidence.confidence import STRONGEST, Confidence
from dualmatch.methods.evidence.learning import fact_pairs
from dualmatch.methods.evidence.problem import Problem
from dualmatch.methods.evidence.propagation import Priors, Propagation, SweepTerms, TieTerms
from dualmatch.methods.evidence.rounds import LIVE
from dualmatch.methods.evidence.state import RoundState

_DECIMALS: Final = 9  # sums of the same numbers in another order must compare equal
_UNLIKELY: Final = 1e-9
_LEAST_SHOWN: Final = 0.05  # what adds less is no reason
_VISIBLE: Final = 0.005  # less would be shown as 0.00
LABELS_COMPARED: Final = "labels compared"
_WORDS: Final = {
    "names": LABELS_COMPARED,
    "not_found": "facts that the other graph lacks",
    "prior": "having a partner rather than none",
    "rivals": "other partners, listed or not",
    "limit": f"limited to ±{STRONGEST:.0f}",
    "correction": "calibration",
}


@dataclass(frozen=True)
class Balance:
    """What counts besides shared facts, in log-odds.

    Attributes
    ----------
    names:
        What the labels add, where the run compared them.
    not_found:
        What facts take away that the other graph does not have.
    prior:
        That two entities with so many facts have partners at all, and each other of all, against both having none.
    rivals:
        What other partners of the two entities take away, candidates or not.
    limit:
        What log-odds beyond ±12 lose: more is not believed of any pair.
    correction:
        How the run's trial corrects log-odds.
    """

    names: float = 0.0
    not_found: float = 0.0
    prior: float = 0.0
    rivals: float = 0.0
    limit: float = 0.0
    correction: float = 0.0

    @property
    def total(self) -> float:
        return self.names + self.not_found + self.prior + self.rivals + self.limit + self.correction

    def in_words(self) -> Iterator[tuple[str, float]]:
        """Each part that counts, in words, with what it adds."""
        for part in fields(self):
            value = float(getattr(self, part.name))
            if abs(value) >= _VISIBLE:
                yield _WORDS[part.name], value


@dataclass(frozen=True, eq=False)
class PairEvidence:
    """What speaks for and against a pair, in log-odds (natural logarithms).

    Attributes
    ----------
    source_side, target_side: (n,) int64
        Facts that both graphs have, the weightiest first: the fact's row, plus n_facts where the entity is its tail;
        for a date of the entity itself, its row among the dates plus 2 n_facts.
    weight: (n,) float64
        What each adds; less than nothing for dates that contradict each other, and for dates that agree no more often
        in true pairs than by chance, as far as is known.
    texts:
        The two labels that agree best, normalised; None where labels were not compared.
    """

    source_side: Ids
    target_side: Ids
    weight: Floats
    balance: Balance = Balance()
    texts: tuple[str, str] | None = None

    @property
    def log_odds(self) -> float:
        return float(self.weight.sum()) + self.balance.total

    def first(self, n: int) -> PairEvidence:
        """The same with the n weightiest facts only."""
        return replace(self, source_side=self.source_side[:n], target_side=self.target_side[:n], weight=self.weight[:n])


def pair_evidence(
    problem: Problem,
    state: RoundState,
    confidence: Confidence,
    pairs: NDArray[np.integer],
    kept: TermCache | None = None,
) -> list[PairEvidence]:
    """What speaks for each of some pairs, candidates or not; a pair may be asked for once.

    `kept`: an empty dict at first, the same for further questions about this problem and state, which then are fast.
    """
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    candidates = Candidates(pairs[order, 0].astype(np.int64), pairs[order, 1].astype(np.int64), problem.shape)
    model, unmatched = state.model, once(kept, "unmatched", lambda: problem.open_partners(state.unmatched))
    unknown, live = unmatched.unknown, state.log_odds > LIVE
    support = find_support(
        candidates, live, problem.sides, model.odds, model.gaps, unknown, state.candidates, state.slots, kept=kept
    )
    terms = once(kept, "terms", lambda: TieTerms.of(problem.sides, model, problem.engine))
    sweep = once(kept, "sweep", lambda: SweepTerms.of(problem.sides, terms, unmatched, problem.engine))
    propagation = Propagation(candidates, support, problem.sides, model, terms)
    certain = propagation.certain(state.log_odds, state.by_slot)
    rest, parts = np.zeros(len(candidates)), []
    for view in (0, 1):
        ratio = propagation.ratios(view, certain, sweep)
        gain, missed = propagation.gains(view, ratio, sweep)
        rest += 0.5 * missed
        parts.append(_best_ties(propagation, view, certain, sweep, 0.5 * gain))
    candidate, tie_source, tie_target, weight = _summed(
        *(np.concatenate(columns) for columns in zip(*parts, strict=True))
    )
    total = np.bincount(candidate, weight, minlength=len(candidates)) + rest
    shown = weight >= _LEAST_SHOWN
    candidate, tie_source, tie_target, weight = candidate[shown], tie_source[shown], tie_target[shown], weight[shown]
    rest = total - np.bincount(candidate, weight, minlength=len(candidates))
    f, j = _best_facts(problem, state, tie_source, tie_target)
    side_source, side_target = problem.ties[0].side[f], problem.ties[1].side[j]
    if problem.dated is not None and model.dates is not None:
        dates = date_evidence(problem.dated, candidates, model.dates)
        total += dates.value(len(candidates))
        of_date, source, target, added = _summed(dates.candidate, dates.source, dates.target, dates.weight)
        counts = np.abs(added) >= _LEAST_SHOWN
        candidate, side_source, side_target, weight = _ordered(
            np.append(candidate, of_date[counts]),
            np.append(side_source, 2 * problem.source.n_facts + problem.dated[0].row[source[counts]]),
            np.append(side_target, 2 * problem.target.n_facts + problem.dated[1].row[target[counts]]),
            np.append(weight, added[counts]),
        )
        rest = total - np.bincount(candidate, weight, minlength=len(candidates))
    names = np.zeros(len(candidates))
    texts: list[tuple[str, str] | None] = [None] * len(candidates)
    if problem.names is not None and model.names is not None:
        compared = problem.names.compare(candidates)
        names, texts = problem.names.evidence(compared, model.names), problem.names.texts(compared)
    prior = Priors.of(model, problem.classes).at(candidates.row, candidates.column)
    judged = state.log_odds_of(candidates.row, candidates.column, np.log(_UNLIKELY))
    chance = confidence.of_candidates(problem, candidates, judged).clip(_UNLIKELY, 1.0 - _UNLIKELY)
    final = np.log(chance) - np.log1p(-chance)
    total += names + prior
    knows_rivals = state.has_slots  # 0.1.0 did not keep how its chances were found
    first = np.searchsorted(candidate, np.arange(len(candidates) + 1))

    def evidence_at(at: int) -> PairEvidence:
        part = slice(first[at], first[at + 1])
        believed = float(judged[at] if knows_rivals else total[at])
        limited = min(max(believed, -STRONGEST), STRONGEST)
        balance = Balance(
            names=float(names[at]),
            not_found=float(rest[at]),
            prior=float(prior[at]),
            rivals=believed - float(total[at]),
            limit=limited - believed,
            correction=float(final[at]) - limited,
        )
        return PairEvidence(side_source[part], side_target[part], weight[part], balance, texts[at])

    return [evidence_at(at) for at in np.argsort(order).tolist()]


def _best_ties(
    propagation: Propagation, view: int, certain: Floats, sweep: SweepTerms, gain: Floats
) -> tuple[Ids, Ids, Ids, Floats]:
    """(candidate, tie of the source, tie of the target, gain) of each slot, by its best support."""
    support = propagation.support
    slots = support.slots
    closed_ties = [slots[side][1][support.slot[side]].astype(np.int64) for side in (0, 1)]
    slot = np.concatenate([support.slot[view], support.open_slot[view]])
    ratio = np.concatenate([certain * support.worth[view], propagation.open_ratios(view, sweep)])
    source = np.concatenate([closed_ties[0], support.open_ties[view][0]])
    target = np.concatenate([closed_ties[1], support.open_ties[view][1]])
    order = np.lexsort((target, source, -ratio.round(_DECIMALS), slot))
    best = order[np.unique(slot[order], return_index=True)[1]]
    return slots[view][0][slot[best]].astype(np.int64), source[best], target[best], gain[slot[best]]


def _summed(candidate: Ids, source: Ids, target: Ids, weight: Floats) -> tuple[Ids, Ids, Ids, Floats]:
    """Equal (candidate, tie, tie) once, with what they add together; by candidate, the weightiest first."""
    order = np.lexsort((target, source, candidate))
    candidate, source, target, weight = candidate[order], source[order], target[order], weight[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(candidate) != 0) | (np.diff(source) != 0) | (np.diff(target) != 0)
    total: Floats = np.bincount(np.cumsum(new) - 1, weight, minlength=int(new.sum())).astype(np.float64)
    return _ordered(candidate[new], source[new], target[new], total)


def _ordered(candidate: Ids, source: Ids, target: Ids, weight: Floats) -> tuple[Ids, Ids, Ids, Floats]:
    """By candidate, the weightiest first."""
    order = np.lexsort((target, source, -weight.round(_DECIMALS), candidate))
    return candidate[order], source[order], target[order], weight[order]


def _best_facts(problem: Problem, state: RoundState, tie_source: Ids, tie_target: Ids) -> tuple[Ids, Ids]:
    """The two facts of each pair of ties that agree best."""
    pair, f, j = fact_pairs(*problem.ties, tie_source, tie_target)
    forward, backward = bayes_factors(problem.sides, state.model.odds, state.model.gaps, f, j)
    order = np.lexsort((j, f, -(forward * backward), pair))
    best = order[np.unique(pair[order], return_index=True)[1]]
    return f[best], j[best]
