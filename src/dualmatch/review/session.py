"""A review in progress: the run under review, the decisions, and what to show next."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.decode.verdicts import Verdict
from dualmatch.errors import counted
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.graph.arrays import Flags, Ids
from dualmatch.links.decisions import ConflictError, DecisionLog
from dualmatch.links.opinions import DecisionState
from dualmatch.review.filter import NOT_MINE, NOT_SEEN, STATUSES, Filter
from dualmatch.review.pair_view import CandidateLine, PairView, bare_view, candidates_of, pair_view
from dualmatch.review.queue import VERDICTS, Tab, queue_of
from dualmatch.review.spot_check import OPEN, PASSED, RIGHT, WRONG, SpotCheck
from dualmatch.runs.companion import ExplainedRun

BINS: Final = 20
"""Bars of the histogram of confidence."""
_WORTH_A_LOOK: Final = 0.05
"""The chance from which a candidate is offered after the one before it was rejected."""
_MOST_RIVALS: Final = 3
_UNDECIDED: Final = [STATUSES.index("open"), STATUSES.index("disputed")]


@dataclass(frozen=True, eq=False)
class Decided:
    """The decisions by row: the status of each source entity (a place in `STATUSES`), and whose they are."""

    state: DecisionState
    last: int  # the decision it was made after
    status: NDArray[np.int8]
    mine: Flags
    unseen: Flags  # accepted at once with others

    @cached_property
    def is_decided(self) -> Flags:
        return ~np.isin(self.status, _UNDECIDED)


@dataclass(frozen=True)
class TabCount:
    """How far a tab is."""

    tab: Tab
    open: int
    decided: int  # those that were skipped are not
    skipped: int
    total: int


@dataclass(frozen=True)
class EntangledPair:
    """Two entities whose partners could be swapped: each one's partner is the other's nearest rival."""

    source: int
    target: int
    other_source: int
    other_target: int


class Session:
    """One review; pages of several tabs ask it at the same time."""

    def __init__(self, path: Path, run: ExplainedRun, log: DecisionLog) -> None:
        self.path, self.first, self.log = path, run, log
        self._preparing = threading.Lock()
        self._prepared: ExplanationBasis | None = None
        self.earlier_check: SpotCheck | None = None  # of the last run before this one that was checked
        self._show(run)

    def look_at(self, run: ExplainedRun) -> None:
        """Switch to another run over the same graphs, once its reasons can be shown."""
        self._prepare(run.basis)
        check = self.spot_check(Filter())
        self.earlier_check = check if check.checked else self.earlier_check
        self._show(run)

    def _show(self, run: ExplainedRun) -> None:
        queue = queue_of(run.basis)
        _ = queue.tabs  # now, so that no page waits for it
        self.run, self.queue = run, queue
        self._by_row: Decided | None = None

    def prepare(self) -> None:
        """Build what reasons and searches need: seconds for large graphs. Pages work without it until then."""
        _ = self.queue.search("")
        self._prepare(self.run.basis)

    def _prepare(self, basis: ExplanationBasis) -> None:
        with self._preparing:
            problem = basis.problem
            _ = problem.sides, problem.classes, problem.names, basis.judged_by, basis.believed
            basis.evidence(basis.pairs[:1])  # what every pair needs is kept from then on
            self._prepared = basis

    @property
    def has_reasons(self) -> bool:
        """Whether reasons can be shown yet."""
        return self._prepared is self.run.basis

    def view(self, source: int, target: int | None) -> PairView:
        """A pair to show; without reasons where they are not prepared yet."""
        basis = self.run.basis
        return pair_view(basis, source, target) if self._prepared is basis else bare_view(basis, source, target)

    def decided(self, state: DecisionState | None = None) -> Decided:
        """The decisions by row, kept until there are more of them."""
        now, queue, kept = state or self.log.state, self.queue, self._by_row
        if kept is not None and (kept.state, kept.last) == (now, now.last) and len(kept.status) == len(queue.proposed):
            return kept
        status, (mine, unseen) = np.zeros(len(queue.proposed), np.int8), np.zeros((2, len(queue.proposed)), bool)
        rows, last = self.run.basis.source.entity_rows, now.last
        for name, decision in now.decided.items():
            row = rows.get(name)
            if row is not None:
                status[row] = STATUSES.index(decision.status)
                mine[row] = self.log.reviewer in decision.opinions
                unseen[row] = decision.unseen and not decision.skipped
        self._by_row = Decided(now, last, status, mine, unseen)
        return self._by_row

    def _wanted(self, wanted: Filter) -> Flags:
        """(n_source,) what a filter lets through, whatever was decided and in whichever tab."""
        queue = self.queue
        kept = np.ones(len(queue.proposed), dtype=bool)
        if wanted.outcome != "all":
            kept &= queue.verdict == VERDICTS.index(Verdict(wanted.outcome))
        if (wanted.low, wanted.high) != (0, 100):
            low, high = wanted.low / 100, wanted.high / 100 if wanted.high < 100 else np.inf
            kept &= (queue.probability >= low) & (queue.probability < high)
        if wanted.relation:
            relations = queue.basis.source.relations
            found = relations.index(wanted.relation) if wanted.relation in relations else None
            kept &= queue.with_relation(found) if found is not None else False
        if wanted.q:
            kept &= queue.search(wanted.q)
        return kept

    def rows(self, wanted: Filter) -> Ids:
        """Source rows that a filter lets through, in the order of its tab."""
        kept = self._wanted(wanted)
        if wanted.status == NOT_MINE:
            kept &= ~self.decided().mine
        elif wanted.status == NOT_SEEN:
            kept &= (self.decided().status == STATUSES.index("open")) | self.decided().unseen
        elif wanted.status != "all":
            kept &= self.decided().status == STATUSES.index(wanted.status)
        order = self.queue.tabs[Tab(wanted.tab)]
        return order[kept[order]]

    def counts(self, state: DecisionState | None = None) -> list[TabCount]:
        """How far each tab is."""
        status, counts = self.decided(state).status, []
        for tab, rows in self.queue.tabs.items():
            of = dict(zip(STATUSES, np.bincount(status[rows], minlength=len(STATUSES)).tolist(), strict=True))
            decided = len(rows) - of["open"] - of["disputed"] - of["skipped"]
            counts.append(TabCount(tab, of["open"], decided, of["skipped"], len(rows)))
        return counts

    def histogram(self, wanted: Filter) -> NDArray[np.int64]:
        """(BINS,) how many entities there are at each confidence, were any confidence wanted."""
        probability = self.queue.probability[self.rows(replace(wanted, low=0, high=100))]
        return np.bincount((probability * BINS).astype(np.int64).clip(0, BINS - 1), minlength=BINS)

    def spot_check(self, wanted: Filter) -> SpotCheck:
        """What the sample of the links that a filter lets through has shown so far."""
        rows, now = self.rows(replace(wanted, tab=Tab.SPOT.value, status="all")), self.log.state
        return SpotCheck.of((self._answer(row, now) for row in rows.tolist()), len(rows))

    def _answer(self, row: int, now: DecisionState) -> int:
        """What was decided about the link of a source entity; nobody has answered about one accepted at once."""
        basis = self.run.basis
        decision = now.of(basis.source.entities[row])
        if decision.status == "open":
            return OPEN
        if decision.unseen:
            return PASSED if decision.skipped else OPEN
        partner = basis.target.entities[int(self.queue.proposed[row])]
        if decision.partner is not None:
            return RIGHT if decision.partner == partner else WRONG
        return WRONG if decision.alone or partner in decision.rejected else PASSED

    def open_links(self, wanted: Filter) -> Ids:
        """The links of a filter that are open."""
        return self.rows(replace(wanted, tab=Tab.SPOT.value, status="open"))

    def accept_all(self, wanted: Filter, seen: int) -> int:
        """Accept the open links of a filter at once; refused before enough of them were checked."""
        check = self.spot_check(wanted)
        if not check.links:
            raise ConflictError("no link is in this set; look again")
        if check.missing:
            raise ConflictError(f"check {counted(check.missing, 'more link')} of this set before you accept the others")
        fields = ", ".join(f"{name} {value}" for name, value in wanted.fields.items() if name not in ("tab", "status"))
        note = f"accepted at once ({fields or 'all links'}); {check.right} of {check.checked} checked were right"
        source, target = self.run.basis.source.entities, self.run.basis.target.entities
        rows = self.open_links(wanted).tolist()
        return self.log.accept_all([(source[row], target[int(self.queue.proposed[row])]) for row in rows], seen, note)

    def after(self, source: int, wanted: Filter) -> int | None:
        """The next entity to look at; past the end, the first again; None where nothing is left."""
        rows = self.rows(wanted)
        rows = rows[rows != source]
        rank = self._rank(wanted.tab)
        later = rows[rank[rows] > rank[source]]
        return int(later[0]) if len(later) else int(rows[0]) if len(rows) else None

    def before(self, source: int, wanted: Filter) -> int | None:
        """The entity before this one, decided or not; None at the beginning."""
        rows, rank = self.rows(replace(wanted, status="all")), self._rank(wanted.tab)
        earlier = rows[rank[rows] < rank[source]]
        return int(earlier[-1]) if len(earlier) else None

    def _rank(self, tab: str) -> Ids:
        """(n_source,) the place of each entity in a tab; those that are not in it come last."""
        order = self.queue.tabs[Tab(tab)]
        rank = np.full(len(self.queue.proposed), len(order))
        rank[order] = np.arange(len(order))
        return rank

    def next_candidate(self, source: int) -> CandidateLine | None:
        """The best candidate that was neither rejected nor accepted for another, if it is likely enough by then."""
        basis, now = self.run.basis, self.log.state
        name, listed = basis.source.entities[source], candidates_of(basis, source)
        gone = now.of(name).rejected | {target for target, holder in now.holder.items() if holder != name}
        left = [each for each in listed if each.name.name not in gone]
        remaining = 1.0 - sum(each.probability for each in listed if each.name.name in gone)
        is_likely = bool(left) and left[0].probability >= _WORTH_A_LOOK * max(remaining, 1e-9)
        return left[0] if is_likely else None

    def is_taken(self, source: int, now: DecisionState) -> bool:
        """Whether what is proposed for an entity was accepted for another."""
        basis, proposed = self.run.basis, int(self.queue.proposed[source])
        name = basis.source.entities[source]
        return proposed >= 0 and now.holder.get(basis.target.entities[proposed], name) != name

    def also_proposed(self, source: int, target: int) -> list[tuple[int, float]]:
        """Other open entities that the same target is proposed for, with their chances, the likeliest first."""
        queue, is_decided = self.queue, self.decided().is_decided
        rows = np.flatnonzero((queue.proposed == target) & (queue.probability >= _WORTH_A_LOOK) & ~is_decided)
        rows = rows[(rows != source)][np.argsort(-queue.probability[rows[rows != source]], kind="stable")]
        return [(int(row), float(queue.probability[row])) for row in rows[:_MOST_RIVALS]]

    def entangled(self, source: int) -> EntangledPair | None:
        """The pair that is entangled with what is proposed for an entity, while both are open."""
        queue, names = self.queue, self.run.basis.source.entities
        target, rival = int(queue.proposed[source]), queue.rival(source)
        if rival is None or self.log.state.of(names[source]).status != "open":
            return None
        for other in np.flatnonzero(queue.proposed == rival).tolist():
            if other != source and queue.rival(other) == target and self.log.state.of(names[other]).status == "open":
                return EntangledPair(source, target, other, rival)
        return None

    def entangled_pairs(self, source: int, swapped: bool) -> list[tuple[str, str]]:
        """Two entangled pairs by name, as they are proposed or the other way round."""
        found = self.entangled(source)
        if found is None:
            raise ConflictError("the two are not entangled any more; look again")
        names, targets = self.run.basis.source.entities, self.run.basis.target.entities
        here, there = (found.other_target, found.target) if swapped else (found.target, found.other_target)
        return [(names[found.source], targets[here]), (names[found.other_source], targets[there])]

    @property
    def common_relations(self) -> list[str]:
        """Relations of the source, the commonest first."""
        graph = self.run.basis.source
        count = np.bincount(graph.relation, minlength=graph.n_relations)
        return [graph.relations[row] for row in np.argsort(-count, kind="stable")[:200].tolist()]
