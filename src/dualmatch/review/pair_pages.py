"""The pages of one pair: what speaks for it and its candidates, and all of its facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dualmatch.charts.markup import visible
from dualmatch.decode.verdicts import Verdict
from dualmatch.review.decision_pages import opinion_in_words, opinions_in_words
from dualmatch.review.filter import Filter
from dualmatch.review.pair_view import PARTS, CandidateLine, all_facts, candidates_of, timeline
from dualmatch.review.queue import VERDICTS
from dualmatch.review.requests import number_of, row_of
from dualmatch.review.session import Session

_MOST_FOUND: Final = 12
_MANY: Final = 1_000  # facts on a page of nothing else


class PairPages:
    """`render` fills a template, as all pages have it filled."""

    def __init__(self, session: Session, render: Callable[..., Response]) -> None:
        self._session, self._render = session, render

    def pair(self, request: Request) -> Response:
        session, basis, query = self._session, self._session.run.basis, request.query_params
        source, wanted = row_of(number_of(request.path_params["source"], 404), basis.source), Filter.of(query)
        proposed = int(session.queue.proposed[source])
        target = proposed if proposed >= 0 else None
        name, names = basis.source.entities[source], basis.target.entities
        if "show" in query:
            target = row_of(number_of(query["show"]), basis.target)
        elif session.is_taken(source, session.log.state) and (left := session.next_candidate(source)) is not None:
            target = left.row
        find = query.get("find", "")[:200]
        found = session.queue.targets(find, _MOST_FOUND) if find.strip() else []
        decision, view, listed = session.log.state.of(name), session.view(source, target), candidates_of(basis, source)
        holder = None if target is None else session.log.state.holder.get(names[target])
        return self._render(
            "pair.html",
            wanted,
            source=source,
            source_name=basis.source.shown(name),
            target=target,
            target_name=None if target is None else basis.target.shown(target),
            is_proposed=target == proposed,
            is_instead="show" not in query and target not in (None, proposed),
            outcome=self._outcome(source),
            is_rejected=target is not None and names[target] in decision.rejected,
            held_by=None if holder in (None, name) else basis.source.shown(holder),
            rivals=[] if target is None else session.also_proposed(source, target),
            view=view,
            timeline=timeline(view),
            candidates=listed,
            decision=decision,
            decision_words=opinion_in_words(decision, basis.target),
            opinions=opinions_in_words(decision, basis.target),
            entangled=session.entangled(source) if target == proposed else None,
            seen=session.log.last_known.last,
            find=find,
            found=[(row, basis.target.shown(row)) for row in found],
            next=session.after(source, wanted),
            previous=session.before(source, wanted),
            next_candidate=_after_shown(listed, target),
        )

    def facts(self, request: Request) -> Response:
        """All facts of a part of a pair, a page at a time."""
        basis, query = self._session.run.basis, request.query_params
        source = row_of(number_of(request.path_params["source"], 404), basis.source)
        target = row_of(number_of(query.get("show", "")), basis.target)
        part = next((each for each in PARTS if each == query.get("part", PARTS[0])), None)
        if part is None:
            raise HTTPException(404, "There is no such part.")
        page = max(1, number_of(query.get("page", "1")))
        rows, total = all_facts(basis, source, target, part, (page - 1) * _MANY, _MANY)
        return self._render(
            "facts.html",
            Filter.of(query),
            source=source,
            target=target,
            names=(basis.source.shown(source), basis.target.shown(target)),
            part=part,
            rows=rows,
            total=total,
            page=page,
            pages=max(1, -(-total // _MANY)),
        )

    def _outcome(self, source: int) -> str:
        """The verdict of the run on an entity, in words."""
        queue, basis = self._session.queue, self._session.run.basis
        verdict = VERDICTS[queue.verdict[source]]
        if verdict is Verdict.LINKED:
            partner = basis.target.shown(int(queue.proposed[source]))
            return f"Linked with {visible(str(partner))}, confidence {queue.probability[source]:.3f}"
        none = basis.unlinked
        at = int(np.searchsorted(none.row, source))
        sure = f" (confidence {none.confidence[at]:.3f})" if verdict is Verdict.NO_MATCH else ""
        return f"{verdict.capitalize()}{sure}: {visible(basis.why_unlinked(at), 400)}"


def _after_shown(listed: list[CandidateLine], target: int | None) -> int | None:
    """The candidate that is listed after the one that is shown; after the last, the first."""
    rows = [each.row for each in listed]
    place = rows.index(target) + 1 if target in rows else 0
    return rows[place % len(rows)] if rows and rows != [target] else None
