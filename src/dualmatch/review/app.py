"""The review pages: each view reads a request and renders a template; each write is a form that ends in a redirect."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from dualmatch.charts.markup import el, templates, visible
from dualmatch.decode.verdicts import Verdict as RunVerdict
from dualmatch.errors import DualMatchError
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.shown_name import ShownName
from dualmatch.links.decisions import BusyError, ConflictError, DecisionState, EntityDecision, Verdict
from dualmatch.links.naming import Naming
from dualmatch.review.export import EXPORTS
from dualmatch.review.forms import read_form
from dualmatch.review.pair_view import PARTS, all_facts, candidates_of, timeline
from dualmatch.review.queue import VERDICTS
from dualmatch.review.realign import Realignment
from dualmatch.review.session import CONFIDENCES, STATUSES, Filter, Session

_PER_PAGE: Final = 50
_MOST_FOUND: Final = 12
_MANY: Final = 1_000  # facts on a page of nothing else
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
    routes = [
        Route("/", views.queue),
        Route("/pair/{source}", views.pair),
        Route("/facts/{source}", views.facts),
        Route("/decide", views.decide, methods=["POST"]),
        Route("/undo", views.undo, methods=["POST"]),
        Route("/again", views.again),
        Route("/again", views.start_again, methods=["POST"]),
        Route("/again/state", views.state_of_again),
        Route("/prepared", views.prepared),
        *(Route(f"/export/{name}", views.export) for name in EXPORTS),
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
            "dualmatch.review", linked=linked, exports=[*EXPORTS], at=at, menu=Markup() if menu is None else menu
        )
        for each in self._templates.list_templates():
            self._templates.get_template(each)  # compiled now, so that no page waits for it

    def queue(self, request: Request) -> Response:
        session, wanted = self.session, Filter.of(request.query_params)
        rows = session.rows(wanted)
        pages = max(1, -(-len(rows) // _PER_PAGE))
        page = min(max(1, _number(request.query_params.get("page", "1"))), pages)
        return self._page(
            "queue.html",
            wanted,
            basis=session.run.basis,
            queue=session.queue,
            status=session.statuses(),
            rows=rows[(page - 1) * _PER_PAGE : page * _PER_PAGE].tolist(),
            total=len(rows),
            page=page,
            pages=pages,
            verdicts=VERDICTS,
            confidences=CONFIDENCES,
            statuses=STATUSES,
            relations=session.common_relations,
        )

    def pair(self, request: Request) -> Response:
        session, basis, query = self.session, self.session.run.basis, request.query_params
        source, wanted = _row(_number(request.path_params["source"], 404), basis.source), Filter.of(query)
        proposed = int(session.queue.proposed[source])
        target = proposed if proposed >= 0 else None
        if "show" in query:
            target = _row(_number(query["show"]), basis.target)
        find = query.get("find", "")[:200]
        found = session.queue.targets(find, _MOST_FOUND) if find.strip() else []
        name, names = basis.source.entities[source], basis.target.entities
        decision, view = session.log.state.of(name), session.view(source, target)
        holder = None if target is None else session.log.state.holder.get(names[target])
        return self._page(
            "pair.html",
            wanted,
            source=source,
            source_name=basis.source.shown(name),
            target=target,
            target_name=None if target is None else basis.target.shown(target),
            is_proposed=target == proposed,
            outcome=self._outcome(source),
            is_rejected=target is not None and names[target] in decision.rejected,
            held_by=None if holder in (None, name) else basis.source.shown(holder),
            view=view,
            timeline=timeline(view),
            candidates=candidates_of(basis, source),
            decision=decision,
            decision_words=self._words(decision),
            find=find,
            found=[(row, basis.target.shown(row)) for row in found],
            next=session.after(source, wanted),
        )

    def facts(self, request: Request) -> Response:
        """All facts of a part of a pair, a page at a time."""
        basis, query = self.session.run.basis, request.query_params
        source = _row(_number(request.path_params["source"], 404), basis.source)
        target = _row(_number(query.get("show", "")), basis.target)
        part = next((each for each in PARTS if each == query.get("part", PARTS[0])), None)
        if part is None:
            raise HTTPException(404, "There is no such part.")
        page = max(1, _number(query.get("page", "1")))
        rows, total = all_facts(basis, source, target, part, (page - 1) * _MANY, _MANY)
        return self._page(
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
        queue, basis = self.session.queue, self.session.run.basis
        verdict = VERDICTS[queue.verdict[source]]
        if verdict is RunVerdict.LINKED:
            partner = basis.target.shown(int(queue.proposed[source]))
            return f"Linked with {visible(str(partner))}, confidence {queue.probability[source]:.3f}"
        none = basis.unlinked
        at = int(np.searchsorted(none.row, source))
        sure = f" (confidence {none.confidence[at]:.3f})" if verdict is RunVerdict.NO_MATCH else ""
        return f"{verdict.capitalize()}{sure}: {visible(basis.why_unlinked(at), 400)}"

    async def decide(self, request: Request) -> Response:
        form, session, basis = await read_form(request), self.session, self.session.run.basis
        try:
            verdict = Verdict(form.get("verdict", ""))
        except ValueError:
            raise HTTPException(400, "There is no such verdict.") from None
        if verdict is Verdict.UNDO:
            raise HTTPException(400, "Use /undo for that.")
        source, target = _row(_number(form.get("source", "")), basis.source), None
        if verdict in (Verdict.ACCEPT, Verdict.REJECT):
            target = basis.target.entities[_row(_number(form.get("target", "")), basis.target)]
        name, seen, wanted = basis.source.entities[source], _number(form.get("seen", "")), Filter.of(form)
        # Not here: where the file is locked elsewhere, every page would wait for it.
        await run_in_threadpool(session.log.decide, verdict, name, target, seen)
        return self._to_pair(await run_in_threadpool(session.after, source, wanted), wanted)

    async def undo(self, request: Request) -> Response:
        form = await read_form(request)
        row = await run_in_threadpool(self._undone, _number(form.get("seen", "")))
        return self._to_pair(row, Filter.of(form))

    def _to_pair(self, source: int | None, wanted: Filter) -> Response:
        """To one of our own pages: the path is ours, and the query is rebuilt."""
        path = f"{self._at}/" if source is None else f"{self._at}/pair/{source}"
        return RedirectResponse(f"{path}?{wanted.query}" if wanted.query else path, 303)

    def _undone(self, seen: int) -> int | None:
        """The entity that an undone decision was about."""
        last = self.session.log.state.last_live
        self.session.log.undo(seen)
        return None if last is None else self.session.run.basis.source.entity_rows.get(last[1])

    def again(self, request: Request) -> Response:
        wanted, basis = Filter.of(request.query_params), self.session.run.basis
        return self._page("again.html", wanted, run=self.run_again, basis=basis, words=self._progress())

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
        name = request.url.path.rpartition("/")[2]
        write, kind = EXPORTS[name]
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(write(self.session.log, self.naming), media_type=kind, headers=headers)

    def refused(self, request: Request, error: Exception) -> Response:
        """A plain sentence on a page of its own, with the way back; the decisions may be what cannot be read."""
        status = 409 if isinstance(error, ConflictError) else 503 if isinstance(error, BusyError) else 422
        words = str(error)
        if isinstance(error, HTTPException):
            status, words = error.status_code, error.detail
        known = self.session.log.last_known
        return self._page("message.html", Filter(), status, known, words=visible(words, 400))

    def _page(
        self, template: str, wanted: Filter, status_code: int = 200, known: DecisionState | None = None, **values: Any
    ) -> Response:
        session = self.session
        state = session.log.state if known is None else known
        last = state.last_live
        page = self._templates.get_template(template).render(
            filter=wanted,
            query=wanted.query,
            decided=session.decided_in(state),
            entities=session.run.basis.source.n_entities,
            last=last,
            last_name="" if last is None else session.run.basis.source.shown(last[1]).html(),
            last_words="" if last is None else self._words(state.of(last[1])),
            **values,
        )
        return HTMLResponse(page, status_code)

    def _words(self, decision: EntityDecision) -> str:
        """What was decided about an entity, in words."""
        shown = self.session.run.basis.target.shown
        if decision.partner is not None:
            return f"accepted as {visible(str(shown(decision.partner)))}"
        if decision.status == "rejected":
            return f"not {', '.join(visible(shown(each).text, 40) for each in sorted(decision.rejected)[:3])}"
        return decision.status


def _number(text: str, status: int = 400) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise HTTPException(status, "A number is missing or invalid.")
    return int(text)


def _row(row: int, graph: TemporalGraph) -> int:
    if not 0 <= row < graph.n_entities:
        raise HTTPException(404, "There is no such entity.")
    return row
