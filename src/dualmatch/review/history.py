"""The pages about decisions themselves: what was decided, by whom, and where reviewers differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from dualmatch.links.opinions import Decision, Verdict
from dualmatch.review.filter import Filter
from dualmatch.review.forms import PER_PAGE, page_of
from dualmatch.review.session import Session
from dualmatch.review.words import in_words, opinions_in_words


class HistoryPages:
    """`render` fills a template, as all pages have it filled."""

    def __init__(self, session: Session, render: Callable[..., Response]) -> None:
        self._session, self._render = session, render

    def history(self, request: Request) -> Response:
        """Every decision, the last first; what was accepted at once is one line."""
        basis, rows = self._session.run.basis, self._session.log.rows()
        undone = {row.undoes: row for row in rows}
        batches: dict[object, list[Decision]] = defaultdict(list)
        for row in rows:
            batches[row.id if row.batch is None else (row.batch,)].append(row)
        listed = [each for each in batches.values() if each[0].verdict is not Verdict.UNDO]
        page, pages = page_of(len(listed), request)
        lines = [
            (
                row := each[0],
                [
                    (basis.source.entity_rows.get(one.source), basis.source.shown(one.source).html())
                    for one in ([] if row.is_unseen and len(each) > 1 else each)
                ],
                in_words(row, len(each), basis.target),
                undone.get(row.id),
            )
            for each in listed[::-1][(page - 1) * PER_PAGE : page * PER_PAGE]
        ]
        wanted = Filter.of(request.query_params)
        return self._render("history.html", wanted, lines=lines, total=len(listed), page=page, pages=pages)

    def differences(self, request: Request) -> Response:
        """Entities that reviewers differ on."""
        basis = self._session.run.basis
        disputed = [
            (
                basis.source.entity_rows.get(source),
                basis.source.shown(source).html(),
                opinions_in_words(decision, basis.target),
            )
            for source, decision in self._session.log.state.disputed.items()
        ]
        return self._render("differences.html", Filter.of(request.query_params), disputed=disputed)
