"""The pages about decisions themselves: what was decided, by whom, and where reviewers differ; all in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from dualmatch.charts.markup import joined
from dualmatch.errors import counted
from dualmatch.graph.model import TemporalGraph
from dualmatch.links.opinions import Decision, EntityDecision, Opinion, ReviewVerdict
from dualmatch.review.filter import Filter
from dualmatch.review.requests import PER_PAGE, page_of
from dualmatch.review.session import Session

_MOST_REJECTED = 3


class DecisionPages:
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
        listed = [each for each in batches.values() if each[0].verdict is not ReviewVerdict.UNDO]
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


def in_words(row: Decision, together: int, target: TemporalGraph) -> Markup:
    """A decision; `together`: how many were accepted with it."""
    if together > 1:
        return Markup(f"{counted(together, 'pair')} accepted {'at once' if row.is_unseen else 'together'}")
    partner = "" if row.target is None else target.shown(row.target).html()
    return {
        ReviewVerdict.ACCEPT: joined("accepted as ", partner),
        ReviewVerdict.REJECT: joined("not ", partner),
        ReviewVerdict.NO_MATCH: Markup("no match"),
        ReviewVerdict.SKIP: Markup("skipped"),
        ReviewVerdict.UNDO: Markup("undone"),
    }[row.verdict]


def opinion_in_words(opinion: Opinion, target: TemporalGraph) -> Markup:
    """What a reviewer, or all together, think of an entity."""
    if opinion.partner is not None:
        return joined("accepted as ", target.shown(opinion.partner).html())
    if opinion.status == "rejected":
        names = [target.shown(each).html() for each in sorted(opinion.rejected)[:_MOST_REJECTED]]
        more = len(opinion.rejected) - len(names)
        return joined("not ", Markup(", ").join(names), f" and {more:,} more" if more > 0 else None)
    return Markup(opinion.status)


def opinions_in_words(decision: EntityDecision, target: TemporalGraph) -> Mapping[str, Markup]:
    """What each reviewer thinks of an entity; a file of 0.1.0 names none."""
    return {
        who or "unnamed": opinion_in_words(each, target)
        for who, each in sorted(decision.opinions.items())
        if each.status != "open"
    }
