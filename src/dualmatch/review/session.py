"""A review in progress: the run under review, the decisions, and what to show next."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from dualmatch.decode.verdicts import Verdict
from dualmatch.explain.basis import ExplanationBasis
from dualmatch.graph.arrays import Ids
from dualmatch.links.decisions import DecisionLog, DecisionState, Status
from dualmatch.review.pair_view import PairView, bare_view, pair_view
from dualmatch.review.queue import VERDICTS, queue_of
from dualmatch.runs.companion import ExplainedRun

STATUSES: Final[tuple[Status, ...]] = ("open", "accepted", "rejected", "no match", "skipped")
CONFIDENCES: Final = {
    "all": "any",
    "high": "links from 0.9",
    "middling": "links from 0.5 to 0.9",
    "low": "links below 0.5",
}
_LONGEST_SEARCH: Final = 200


@dataclass(frozen=True)
class Filter:
    """Which entities of the queue are wanted; every field is one of a few words, or a text to search for.

    `outcome`: the verdict of the run. Decisions of the reviewer have verdicts of their own, in the same forms.
    """

    q: str = ""
    outcome: str = "all"
    confidence: str = "all"
    relation: str = ""
    status: str = "open"  # what the reviewer decided

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Filter:
        """From the query of a page or the fields of a form; impossible values are ignored."""
        confidence, status = query.get("confidence", "all"), query.get("status", "open")
        outcome = query.get("outcome", "all")
        return cls(
            query.get("q", "")[:_LONGEST_SEARCH].strip(),
            outcome if outcome in VERDICTS else "all",
            confidence if confidence in CONFIDENCES else "all",
            query.get("relation", "")[:_LONGEST_SEARCH],
            status if status in (*STATUSES, "all") else "open",
        )

    @property
    def query(self) -> str:
        """For an address: the fields that are not at their default."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return urlencode({each.name: values[each.name] for each in fields(self) if values[each.name] != each.default})


class Session:
    """One review; pages of several tabs ask it at the same time."""

    def __init__(self, path: Path, run: ExplainedRun, log: DecisionLog) -> None:
        self.path, self.first, self.log = path, run, log
        self._preparing = threading.Lock()
        self._prepared: ExplanationBasis | None = None
        self._show(run)

    def look_at(self, run: ExplainedRun) -> None:
        """Switch to another run over the same graphs, once its reasons can be shown."""
        self._prepare(run.basis)
        self._show(run)

    def _show(self, run: ExplainedRun) -> None:
        queue = queue_of(run.basis)
        rank = np.empty(len(queue.order), dtype=np.int64)
        rank[queue.order] = np.arange(len(rank))
        self.run, self.queue, self._rank = run, queue, rank

    def prepare(self) -> None:
        """Build what reasons and searches need: seconds for large graphs. Pages work without it until then."""
        _ = self.queue.search("")
        self._prepare(self.run.basis)

    def _prepare(self, basis: ExplanationBasis) -> None:
        with self._preparing:
            problem = basis.problem
            _ = problem.sides, problem.classes, problem.names, basis.judged_by, basis.believed
            self._prepared = basis

    @property
    def has_reasons(self) -> bool:
        """Whether reasons can be shown yet."""
        return self._prepared is self.run.basis

    def view(self, source: int, target: int | None) -> PairView:
        """A pair to show; without reasons where they are not prepared yet."""
        basis = self.run.basis
        return pair_view(basis, source, target) if self._prepared is basis else bare_view(basis, source, target)

    def statuses(self) -> NDArray[np.int8]:
        """(n_source,) places in `STATUSES`."""
        status = np.zeros(len(self.queue.proposed), dtype=np.int8)
        rows = self.run.basis.source.entity_rows
        for name, decision in self.log.state.decided.items():
            if name in rows:
                status[rows[name]] = STATUSES.index(decision.status)
        return status

    def rows(self, wanted: Filter) -> Ids:
        """Source rows that a filter lets through, in the order of the queue."""
        queue = self.queue
        kept = np.ones(len(queue.proposed), dtype=bool)
        if wanted.status != "all":
            kept &= self.statuses() == STATUSES.index(wanted.status)
        if wanted.outcome != "all":
            kept &= queue.verdict == VERDICTS.index(Verdict(wanted.outcome))
        if wanted.confidence != "all":
            low, high = {"high": (0.9, 2.0), "middling": (0.5, 0.9), "low": (-1.0, 0.5)}[wanted.confidence]
            kept &= queue.linked & (queue.probability >= low) & (queue.probability < high)
        if wanted.relation:
            relations = queue.basis.source.relations
            found = relations.index(wanted.relation) if wanted.relation in relations else None
            kept &= queue.with_relation(found) if found is not None else False
        if wanted.q:
            kept &= queue.search(wanted.q)
        return queue.order[kept[queue.order]]

    def after(self, source: int, wanted: Filter) -> int | None:
        """The next entity to look at; past the end, the first again; None where nothing is left."""
        rows = self.rows(wanted)
        rows = rows[rows != source]
        later = rows[self._rank[rows] > self._rank[source]]
        return int(later[0]) if len(later) else int(rows[0]) if len(rows) else None

    @property
    def decided(self) -> int:
        """How many entities have a decision."""
        return self.decided_in(self.log.state)

    def decided_in(self, state: DecisionState) -> int:
        """How many entities have a decision by a state of the file."""
        rows = self.run.basis.source.entity_rows
        return sum(name in rows for name in state.decided)

    @property
    def common_relations(self) -> list[str]:
        """Relations of the source, the commonest first."""
        graph = self.run.basis.source
        count = np.bincount(graph.relation, minlength=graph.n_relations)
        return [graph.relations[row] for row in np.argsort(-count, kind="stable")[:200].tolist()]
