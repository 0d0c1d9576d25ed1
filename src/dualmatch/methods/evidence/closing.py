"""Closing: the entities that the rounds left open, looked at once more with the links taken for granted.

A pair whose neighbours are each likely, and none certain, may stay just below one half; given the links as seeds, it
would be found. So that feeding links back finds next to nothing new, the rounds end with such a run of their own. What
they believed stays as likely as it was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.channels.evidence.ties import Ids
from dualmatch.decode.one_to_one import Candidates
from dualmatch.methods.evidence.problem import Problem
from dualmatch.methods.evidence.rounds import changed, next_round
from dualmatch.methods.evidence.state import CERTAIN, RoundState

_ROUNDS: Final = 4
_LITTLE: Final = 0.002  # of the links: where a round changes no more, the next would change nothing


def closed(problem: Problem, state: RoundState, links: Ids) -> RoundState:
    """The state with what can be found among open entities where all links, (n, 2), are certain."""
    if not len(links):
        return state
    log_odds = state.log_odds.copy()
    log_odds[state.find(links[:, 0], links[:, 1])] = CERTAIN
    now, granted = replace(state, log_odds=log_odds), problem.granting(links)
    before = now.believed.pairs
    for _ in range(_ROUNDS):
        now, _ = next_round(granted, now, whole=False)
        after = now.believed.pairs
        if changed(before, after) <= _LITTLE * len(links):
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
