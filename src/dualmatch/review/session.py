"""A review under way: the run that is looked at, what was decided, and what to look at next."""

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
from dualmatch.links.decisions import DecisionLog, DecisionState, Status
from dualmatch.review.pair import PairView, bare_view, pair_view
from dualmatch.review.queue import VERDICTS, queue_of
from dualmatch.runs.companion import ExplainedRun

Rows = NDArray[np.int64]
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

    Attributes
    ----------
    outcome:
        The verdict of the run. Decisions of the reviewer have verdicts of their own, in the same forms.
    status:
        What the reviewer decided.
    """

    q: str = ""
    outcome: str = "all"
    confidence: str = "all"
    relation: str = ""
    status: str = "open"

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Filter:
        """From what a page was asked with; what it cannot be is passed over."""
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
        """For an address."""
        default = Filter()
        names = [each.name for each in fields(self)]
        return urlencode({name: getattr(self, name) for name in names if getattr(self, name) != getattr(default, name)})


class Session:
    """One review; pages of several tabs ask it at the same time."""

    def __init__(self, path: Path, run: ExplainedRun, log: DecisionLog) -> None:
        self.path, self.first, self.log = path, run, log
        self._preparing = threading.Lock()
        self._prepared: ExplanationBasis | None = None
        self._show(run)

    def look_at(self, run: ExplainedRun) -> None:
        """Go on with another run over the same graphs, once its reasons can be shown."""
        self._prepare(run.grounds)
        self._show(run)

    def _show(self, run: ExplainedRun) -> None:
        queue = queue_of(run.grounds)
        rank = np.empty(len(queue.order), dtype=np.int64)
        rank[queue.order] = np.arange(len(rank))
        self.run, self.queue, self._rank = run, queue, rank

    def prepare(self) -> None:
        """Build what reasons and searches rest on: seconds for large graphs. Pages do without until then."""
        _ = self.queue.search("")
        self._prepare(self.run.grounds)

    def _prepare(self, grounds: ExplanationBasis) -> None:
        with self._preparing:
            problem = grounds.problem
            _ = problem.sides, problem.classes, problem.names, grounds.judged_by, grounds.believed
            self._prepared = grounds

    @property
    def has_reasons(self) -> bool:
        """Whether reasons can be shown by now."""
        return self._prepared is self.run.grounds

    def view(self, source: int, target: int | None) -> PairView:
        """A pair as it is shown; without reasons where they are not prepared yet."""
        grounds = self.run.grounds
        return pair_view(grounds, source, target) if self._prepared is grounds else bare_view(grounds, source, target)

    def statuses(self, standings: DecisionState) -> NDArray[np.int8]:
        """(n_source,) places in `STATUSES`."""
        status = np.zeros(len(self.queue.proposed), dtype=np.int8)
        rows = self.run.grounds.source.entity_rows
        for name, standing in standings.decided.items():
            if name in rows:
                status[rows[name]] = STATUSES.index(standing.status)
        return status

    def rows(self, wanted: Filter) -> Rows:
        """Source rows that a filter lets through, in the order of the queue."""
        queue = self.queue
        kept = np.ones(len(queue.proposed), dtype=bool)
        if wanted.status != "all":
            kept &= self.statuses(self.log.state) == STATUSES.index(wanted.status)
        if wanted.outcome != "all":
            kept &= queue.verdict == VERDICTS.index(Verdict(wanted.outcome))
        if wanted.confidence != "all":
            low, high = {"high": (0.9, 2.0), "middling": (0.5, 0.9), "low": (-1.0, 0.5)}[wanted.confidence]
            kept &= queue.linked & (queue.probability >= low) & (queue.probability < high)
        if wanted.relation:
            relations = queue.grounds.source.relations
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
        """How many entities something was decided about."""
        rows = self.run.grounds.source.entity_rows
        return sum(name in rows for name in self.log.state.decided)

    @property
    def common_relations(self) -> list[str]:
        """Relations of the source, the commonest first."""
        graph = self.run.grounds.source
        count = np.bincount(graph.relation, minlength=graph.n_relations)
        return [graph.relations[row] for row in np.argsort(-count, kind="stable")[:200].tolist()]
