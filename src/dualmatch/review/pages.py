"""The review pages: each view reads a request and renders a template; each write is a form that ends in a redirect."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from dualmatch.charts.markup import el, templates, visible
from dualmatch.errors import DualMatchError, counted
from dualmatch.graph.shown_name import ShownName
from dualmatch.links.decisions import LONGEST_NOTE, BusyError, ConflictError
from dualmatch.links.naming import Naming
from dualmatch.links.opinions import DecisionState, ReviewVerdict
from dualmatch.review.decision_pages import DecisionPages, in_words
from dualmatch.review.export import EXPORTS, FINAL_LINKS, accepted_unseen, final_links, final_table
from dualmatch.review.filter import NOT_MINE, NOT_SEEN, STATUSES, Filter
from dualmatch.review.pair_pages import PairPages
from dualmatch.review.queue import VERDICTS, Tab
from dualmatch.review.queue_charts import histogram, interval_bar
from dualmatch.review.realign import Realignment
from dualmatch.review.requests import PER_PAGE, number_of, page_of, read_form, row_of
from dualmatch.review.session import Session

_WEB: Final = re.compile(r"https?://[^\s<>\"'\\^`{|}]{1,2000}\Z", re.IGNORECASE | re.ASCII)
_STAGES: Final = {
    "evidence": "weighing shared evidence",
    "decode": "matching",
    "temporal": "encoding times",
    "reasons": "preparing the reasons",
}


def review_app(
    session: Session, again: Realignment, naming: Naming, at: str = "", menu: Markup | None = None
) -> Starlette:
    """The app without its guard (`dualmatch.review.safety`).

    `at`: the path that it is mounted at, with which every address of its pages begins. `menu`: of the pages around it.
    """
    views = _Views(session, again, naming, at, menu)
    pairs, about = PairPages(session, views.page), DecisionPages(session, views.page)
    routes = [
        Route("/", views.queue),
        Route("/pair/{source}", pairs.pair),
        Route("/facts/{source}", pairs.facts),
        Route("/decide", views.decide, methods=["POST"]),
        Route("/both", views.both, methods=["POST"]),
        Route("/accept", views.accept, methods=["POST"]),
        Route("/undo", views.undo, methods=["POST"]),
        Route("/history", about.history),
        Route("/differences", about.differences),
        Route("/again", views.again),
        Route("/again", views.start_again, methods=["POST"]),
        Route("/again/state", views.state_of_again),
        Route("/prepared", views.prepared),
        *(Route(f"/export/{name}", views.export) for name in (*EXPORTS, *FINAL_LINKS)),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: views.refused, DualMatchError: views.refused})
    app.mount("/static", StaticFiles(packages=[("dualmatch.review", "static")]))
    return app


def linked(shown: ShownName) -> Markup:
    """A name as people see it; a web address becomes a link to it, anything else does not.

    >>> from dualmatch.graph.shown_name import shown_name
    >>> ["href" in linked(shown_name(name)) for name in ("http://example.org/Ada", "javascript:alert(1)")]
    [True, False]
    """
    if not _WEB.match(shown.name) or visible(shown.name, 3000) != shown.name:
        return shown.html()
    return el("a", shown.html(), href=shown.name, rel="noopener noreferrer nofollow", target="_blank")


class _Views:
    def __init__(self, session: Session, again: Realignment, naming: Naming, at: str, menu: Markup | None) -> None:
        self.session, self.run_again, self.naming, self._at = session, again, naming, at
        self._templates = templates(
            "dualmatch.review",
            linked=linked,
            counted=counted,
            exports=[*EXPORTS],
            final_links=[*FINAL_LINKS],
            longest_note=LONGEST_NOTE,
            at=at,
            menu=Markup() if menu is None else menu,
            source_of=lambda row: session.run.basis.source.shown(int(row)).html(),
            target_of=lambda row: session.run.basis.target.shown(int(row)).html(),
        )
        for each in self._templates.list_templates():
            self._templates.get_template(each)  # compiled now, so that no page waits for it

    def queue(self, request: Request) -> Response:
        session, wanted = self.session, Filter.of(request.query_params)
        rows, check = session.rows(wanted), session.spot_check(wanted) if wanted.tab == Tab.SPOT else None
        to_accept = 0 if check is None else len(session.open_links(wanted))
        page, pages = page_of(len(rows), request)
        shown, now = rows[(page - 1) * PER_PAGE : page * PER_PAGE].tolist(), session.log.state
        bars = session.histogram(wanted)
        return self.page(
            "queue.html",
            wanted,
            queue=session.queue,
            status=session.decided().status,
            rows=shown,
            taken=[row for row in shown if session.is_taken(row, now)],
            total=len(rows),
            elsewhere=0 if len(rows) else len(session.rows(replace(wanted, tab=Tab.ALL.value))),
            matching=len(rows) or len(session.rows(replace(wanted, status="all"))),
            page=page,
            pages=pages,
            verdicts=VERDICTS,
            statuses=STATUSES,
            also=(NOT_MINE, NOT_SEEN, "all"),
            not_seen=NOT_SEEN,
            unseen=0 if check is None else len(session.rows(replace(wanted, status=NOT_SEEN))) - to_accept,
            relations=session.common_relations,
            histogram=histogram(bars, wanted, self._at) if bars.any() else None,
            check=check,
            earlier=session.earlier_check,
            interval=None if check is None or not check.checked else interval_bar(check),
            to_accept=to_accept,
            seen=session.log.last_known.last,
        )

    async def decide(self, request: Request) -> Response:
        form, session, basis = await read_form(request), self.session, self.session.run.basis
        chosen = form.get("accept")  # another candidate, by its number
        try:
            verdict = ReviewVerdict.ACCEPT if chosen is not None else ReviewVerdict(form.get("verdict", ""))
        except ValueError:
            raise HTTPException(400, "There is no such verdict.") from None
        if verdict is ReviewVerdict.UNDO:
            raise HTTPException(400, "Use /undo for that.")
        source, target = row_of(number_of(form.get("source", "")), basis.source), None
        if verdict in (ReviewVerdict.ACCEPT, ReviewVerdict.REJECT):
            row = number_of(form.get("target", "") if chosen is None else chosen)
            target = basis.target.entities[row_of(row, basis.target)]
        name, seen, wanted = basis.source.entities[source], number_of(form.get("seen", "")), Filter.of(form)
        # Not here: where the file is locked elsewhere, every page would wait for it.
        await run_in_threadpool(session.log.decide, verdict, name, target, seen, form.get("note", ""))
        if verdict is ReviewVerdict.REJECT:
            left = await run_in_threadpool(session.next_candidate, source)
            if left is not None:
                return self._to_pair(source, wanted, left.row)
        return self._to_pair(await run_in_threadpool(session.after, source, wanted), wanted)

    async def both(self, request: Request) -> Response:
        """Two entangled pairs, by one answer: as they are proposed, or the other way round."""
        form, session = await read_form(request), self.session
        source = row_of(number_of(form.get("source", "")), session.run.basis.source)
        way, seen, wanted = form.get("way", ""), number_of(form.get("seen", "")), Filter.of(form)
        if way not in ("proposed", "swapped"):
            raise HTTPException(400, "There is no such answer.")
        pairs = await run_in_threadpool(session.entangled_pairs, source, way == "swapped")
        await run_in_threadpool(session.log.accept_all, pairs, seen, form.get("note", ""), True)
        return self._to_pair(await run_in_threadpool(session.after, source, wanted), wanted)

    async def accept(self, request: Request) -> Response:
        """The links of a filter at once, after a spot check of them."""
        form, session = await read_form(request), self.session
        wanted, seen = Filter.of(form), number_of(form.get("seen", ""))
        await run_in_threadpool(session.accept_all, wanted, seen)
        return RedirectResponse(f"{self._at}/?{wanted.query}", 303)

    async def undo(self, request: Request) -> Response:
        form = await read_form(request)
        number, log = number_of(form.get("seen", "")), self.session.log
        row = (await run_in_threadpool(lambda: log.state)).live.get(number)
        await run_in_threadpool(log.undo, number)
        if form.get("to") == "history":
            return RedirectResponse(f"{self._at}/history", 303)
        if row is None or row.is_unseen:  # one of many that were accepted at once: back to their tab
            return self._to_pair(None, Filter.of(form))
        found = self.session.run.basis.source.entity_rows.get(row.source)
        return self._to_pair(found, Filter.of(form))

    def _to_pair(self, source: int | None, wanted: Filter, show: int | None = None) -> Response:
        """To one of our own pages: the path is ours, and the query is rebuilt."""
        path = f"{self._at}/" if source is None else f"{self._at}/pair/{source}"
        query = "&".join(filter(None, (wanted.query, "" if show is None else f"show={show}")))
        return RedirectResponse(f"{path}?{query}" if query else path, 303)

    def again(self, request: Request) -> Response:
        wanted, basis = Filter.of(request.query_params), self.session.run.basis
        run, check = self.run_again, self.session.spot_check(Filter())
        words = self._progress()
        return self.page("again.html", wanted, run=run, basis=basis, plan=run.plan(), words=words, check=check)

    async def start_again(self, request: Request) -> Response:
        await read_form(request)
        self.run_again.start()
        return RedirectResponse(f"{self._at}/again", 303)

    def state_of_again(self, request: Request) -> Response:
        run = self.run_again
        return JSONResponse({"state": run.state, "words": self._progress(), "done": run.done, "total": run.total})

    def _progress(self) -> str:
        """How far the run in the background is."""
        run = self.run_again
        if run.state == "running":
            stage = _STAGES.get(run.stage, run.stage or "beginning")
            return f"Aligning again: {stage}" + (f", step {run.done + 1} of at most {run.total}" if run.total else "")
        return {"idle": "No run yet.", "done": f"Done: {run.words}", "failed": f"It failed: {run.words}"}[run.state]

    def prepared(self, request: Request) -> Response:
        return JSONResponse({"prepared": self.session.has_reasons})

    def export(self, request: Request) -> Response:
        name, session = request.url.path.rpartition("/")[2], self.session
        basis, method, now = session.run.basis, session.run.config.method, session.log.state
        unseen = accepted_unseen(now, [session.first.basis, basis], method)
        if name in FINAL_LINKS:
            content = final_links(
                final_table(basis, now, method, unseen), name, self.naming, (basis.source, basis.target)
            )
            kind = FINAL_LINKS[name]
        else:
            write, kind = EXPORTS[name]
            content = write(session.log, self.naming, unseen)
        return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})

    def refused(self, request: Request, error: Exception) -> Response:
        """A plain sentence on a page of its own, with the way back; the decisions may be what cannot be read."""
        status = 409 if isinstance(error, ConflictError) else 503 if isinstance(error, BusyError) else 422
        words = str(error)
        if isinstance(error, HTTPException):
            status, words = error.status_code, error.detail
        known = self.session.log.last_known
        return self.page("message.html", Filter(), status, known, words=visible(words, 400))

    def page(
        self, template: str, wanted: Filter, status_code: int = 200, known: DecisionState | None = None, **values: Any
    ) -> Response:
        session = self.session
        state = session.log.state if known is None else known
        last, counts = state.last_of(session.log.reviewer), session.counts(state)
        together = 0 if last is None else state.together(last)
        page = self._templates.get_template(template).render(
            filter=wanted,
            query=wanted.query,
            counts=counts,
            tab=next(each for each in counts if each.tab == wanted.tab),
            disputes=len(state.disputed),
            reviewer=session.log.reviewer,
            last=last,
            last_name=None if last is None or together > 1 else session.run.basis.source.shown(last.source).html(),
            last_words=None if last is None else in_words(last, together, session.run.basis.target),
            **values,
        )
        return HTMLResponse(page, status_code)
