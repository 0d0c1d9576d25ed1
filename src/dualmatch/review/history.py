"""The pages about decisions themselves: what was decided, by whom, and where reviewers differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from dualmatch.links.opinions import Verdict
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
        together = Counter(row.batch for row in rows)
        first = {row.batch: row.id for row in reversed(rows)}
        listed = [
            row for row in rows if row.verdict is not Verdict.UNDO and (row.batch is None or first[row.batch] == row.id)
        ]
        page, pages = page_of(len(listed), request)
        lines = [
            (
                row,
                basis.source.entity_rows.get(row.source),
                basis.source.shown(row.source).html(),
                in_words(row, 1 if row.batch is None else together[row.batch], basis.target),
                undone.get(row.id),
            )
            for row in listed[::-1][(page - 1) * PER_PAGE : page * PER_PAGE]
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
