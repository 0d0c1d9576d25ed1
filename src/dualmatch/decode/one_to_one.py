"""One-to-one matching: the posterior of each candidate pair where no entity may stand in two.

Entities stand in at most one pair. A matching weighs as much as the product of its pairs' weights, and an entity
without a pair weighs 1. The chance of a pair under that distribution (a monomer-dimer model) is found by belief
propagation, exact on trees: a_ij is how free i is of all others but j, b_ij how free j is of all others but i,

    a_ij = 1 / (1 + Σ_{k≠j} w_ik b_ik),  b_ij = 1 / (1 + Σ_{k≠i} w_kj a_kj),  odds of the pair = w_ij a_ij b_ij.

Bayati, Gleich, Saberi and Wang, *Message-passing algorithms for sparse network alignment*, 2013; Zdeborová and Mézard,
*The number of matchings in random graphs*, 2006. A pair outside the candidates has a small weight, the product of a
number for its row and one for its column, so that an entity whose partner is not listed is not forced on one that is.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from dualmatch.decode.message_passing import LARGEST_LOG_WEIGHT, Both, MatchingSide, Messages, counting, without_own
from dualmatch.engine import Engine, InProcess, arrays_of, spans_of
from dualmatch.graph.arrays import Floats, Ids

logger = logging.getLogger(__name__)
_STEADY: Final = 1e-4  # of a log message: below this, nothing moves
_AT_ONCE: Final = 2**21  # candidates whose outcome is computed in one go
_CANDIDATES: Final = 2  # in the place of a side: all candidates
_GRID: Final = float(2**20)  # equal sums in another order must stay equal


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs that may be matched, sorted by row, then column."""

    row: Ids
    column: Ids
    shape: tuple[int, int]

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def by_column(self) -> Ids:
        """Their order by column, then row."""
        numbers = np.arange(len(self))
        return np.sort((self.column.astype(np.int64) << 32) | numbers) & 0xFFFFFFFF  # faster than a stable argsort

    @property
    def ordered(self) -> Candidates:
        """The same, with their order by column computed already."""
        _ = self.by_column
        return self

    def at(self, numbers: Ids) -> Candidates:
        """Some of them, in their order."""
        if len(numbers) == len(self):
            return self
        part = Candidates(self.row[numbers], self.column[numbers], self.shape)
        place = np.full(len(self), -1, dtype=np.int64)
        place[numbers] = np.arange(len(numbers))
        ordered = place[self.by_column]
        part.__dict__["by_column"] = ordered[ordered >= 0]  # no need to sort them again
        return part

    @cached_property
    def groups(self) -> tuple[Groups, Groups]:
        """By row and by column."""
        return Groups(self.row, None, self.shape[0]), Groups(self.column, self.by_column, self.shape[1])


class Groups:
    """Sums and maxima over the candidates of each row, or of each column."""

    def __init__(self, number: Ids, order: Ids | None, size: int) -> None:
        self.number, self.order, self.size = number, order, size
        ordered = number if order is None else number[order]
        begins = np.ones(len(ordered), dtype=bool)
        begins[1:] = ordered[1:] != ordered[:-1]
        self.start = np.flatnonzero(begins)
        self.filled = ordered[self.start]

    def largest(self, values: Floats) -> Floats:
        """Of each group; -inf where a group is empty."""
        found = np.full(self.size, -np.inf)
        if len(values):
            ordered = values if self.order is None else values[self.order]
            found[self.filled] = np.maximum.reduceat(ordered, self.start)
        return found

    def without_own(self, values: Floats) -> Both:
        """Sum the others in each value's group, and each group (`without_own`)."""
        first = np.append(self.start, len(values))[np.searchsorted(self.filled, np.arange(self.size + 1))]
        return without_own(values, self.number, first)


@dataclass(frozen=True, eq=False)
class Unmatched:
    """Chances that an entity's partner is none of its candidates, for rows and for columns."""

    alone: Both  # chance of each entity to have no partner
    elsewhere: Both  # chance of each entity to have one that is not its candidate

    @classmethod
    def nobody(cls, shape: tuple[int, int]) -> Unmatched:
        """Every entity's partner is among its candidates."""
        none = np.zeros(shape[0]), np.zeros(shape[1])
        return cls(none, none)

    @cached_property
    def unknown(self) -> Both:
        """Either of the two."""
        rows, columns = (np.clip(self.alone[at] + self.elsewhere[at], 0.0, 1.0) for at in (0, 1))
        return rows, columns


@dataclass(frozen=True, eq=False)
class Marginals:
    """Marginals of the model, for each pair and each entity."""

    log_odds: Floats  # (n_candidates,): of each candidate being right
    alone: Both  # as in `Unmatched`
    elsewhere: Both
    messages: Both = field(repr=False)  # (n_candidates,) each: to begin with next time
    converged: bool  # whether the messages had settled

    @property
    def probability(self) -> Floats:
        return chance_of(self.log_odds)

    @property
    def unmatched(self) -> Unmatched:
        return Unmatched(self.alone, self.elsewhere)


def match(
    candidates: Candidates,
    log_weight: Floats,
    elsewhere: Both,
    messages: Both | None = None,
    iterations: int = 30,
    engine: Engine | None = None,
) -> Marginals:
    """Compute the posterior of all candidates by belief propagation.

    `log_weight` is that of each pair against its two entities having no partner. A pair outside the candidates weighs
    the product of its row's and its column's number in `elsewhere`. `messages` of an earlier call are the start.
    """
    engine = engine or InProcess(threads=1)
    elsewhere = engine.paged(elsewhere)  # each step needs it
    asked = [(candidates, log_weight, elsewhere, None if messages is None else messages[side], side) for side in (0, 1)]
    source, target = engine.on_columns(MatchingSide.of, asked)
    now, converged = Messages.first((source, target), elsewhere), not len(source.own)
    for _ in range(iterations):
        now, distance = now.stepped(engine)
        if distance < _STEADY:
            converged = True
            break
    if not converged:
        logger.debug("one-to-one matching: messages still move after %d iterations", iterations)
    parts = [(side, *span) for side in (0, 1) for span in now.sides[side].spans()]
    parts += [(_CANDIDATES, *span) for span in spans_of(len(candidates), _AT_ONCE)]
    tables = engine.columns(), engine.columns(), engine.columns()
    for (table, *_), columns in zip(parts, engine.each(_Outcome(candidates, log_weight, now).of, parts), strict=True):
        tables[table].append(columns)
    (source_elsewhere,), (target_elsewhere,), (log_odds, free_row, free_column) = arrays_of(*tables)
    return Marginals(log_odds, now.alone, (source_elsewhere, target_elsewhere), (free_row, free_column), converged)


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What the last messages say: of both sides' entities, and of all candidates, also of those that move nobody."""

    candidates: Candidates
    log_weight: Floats
    messages: Messages

    @cached_property
    def _counts(self) -> Ids:
        return counting(self.log_weight)

    def of(self, table: int, begin: int, end: int) -> list[Floats]:
        """Of some entities of a side, or of some candidates (`_CANDIDATES`)."""
        if table == _CANDIDATES:
            return self._of_candidates(begin, end)
        return [self.messages.partner_elsewhere(table, begin, end)]

    def _of_candidates(self, begin: int, end: int) -> list[Floats]:
        """Log-odds of some candidates, and the messages of their rows and of their columns."""
        free, alone, rows = self.messages.free, self.messages.alone, self.messages.sides[0]
        # Pairs that weigh next to nothing move nobody: they are as likely as their entities are free.
        free_row, free_column = alone[0][self.candidates.row[begin:end]], alone[1][self.candidates.column[begin:end]]
        weight = self.log_weight[begin:end].copy()
        at = slice(*np.searchsorted(self._counts, (begin, end)))
        place = self._counts[at] - begin
        weight[place], free_row[place], free_column[place] = rows.log_weight[at], free[0][at], free[1][rows.there[at]]
        return [on_grid(weight + np.log(free_row) + np.log(free_column)), free_row, free_column]


def match_by_row(candidates: Candidates, log_weight: Floats, elsewhere: Both) -> Marginals:
    """The same where columns may be taken twice: rows choose for themselves, and a column none chooses is alone."""
    by_row = candidates.groups[0]
    row, column = candidates.row, candidates.column
    lowered = log_weight - np.maximum(by_row.largest(log_weight)[row] - LARGEST_LOG_WEIGHT, 0.0)
    others, total = by_row.without_own(np.exp(np.maximum(lowered, -LARGEST_LOG_WEIGHT)))
    listed = elsewhere[0][row] * elsewhere[1][column]
    beyond_row = _unlisted(elsewhere, listed, np.ones(candidates.shape[1]), row, column)
    alone_row = 1.0 / (1.0 + beyond_row + total)
    log_odds = on_grid(lowered - np.log1p(beyond_row[row] + others))
    beyond_column = _unlisted(elsewhere[::-1], listed, alone_row, column, row)
    nobody = np.exp(np.bincount(column, np.log1p(-chance_of(log_odds).clip(max=1 - 1e-12)), candidates.shape[1]))
    alone_column = nobody / (1.0 + beyond_column)
    beyond = beyond_row * alone_row, beyond_column * alone_column
    return Marginals(log_odds, (alone_row, alone_column), beyond, (np.ones(len(row)), np.ones(len(row))), True)


def _unlisted(elsewhere: Both, listed: Floats, alone: Floats, own: Ids, other: Ids) -> Floats:
    """Weight of all partners of each row that are not its candidates; `alone` says how free they are."""
    everyone = elsewhere[0] * float(np.sum(elsewhere[1] * alone))
    mine = np.bincount(own, listed * alone[other], minlength=len(everyone))
    return np.maximum(everyone - mine, 0.0)


def chance_of(log_odds: Floats) -> Floats:
    """The probability of some log-odds."""
    chance: Floats = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -500.0, 500.0)))
    return chance


def on_grid(values: Floats) -> Floats:
    """Values without their last bits."""
    rounded: Floats = np.rint(values * _GRID) / _GRID
    return rounded
