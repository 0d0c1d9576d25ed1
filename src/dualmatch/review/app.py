"""The pages: each is rendered here, and each write is a form that ends in a redirect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from dualmatch.errors import DualMatchError
from dualmatch.links.decisions import ConflictError, Verdict
from dualmatch.links.naming import Naming
from dualmatch.review.again import Again
from dualmatch.review.export import EXPORTS
from dualmatch.review.pages import Pages
from dualmatch.review.session import Filter, Session

_LARGEST_FORM: Final = 16_384  # rows and words, never names


def review_app(session: Session, again: Again, naming: Naming) -> Starlette:
    """The app without its guard (`dualmatch.review.safety`)."""
    views = _Views(session, again, naming)
    routes = [
        Route("/", views.queue),
        Route("/pair/{source:int}", views.pair),
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


class _Views:
    def __init__(self, session: Session, again: Again, naming: Naming) -> None:
        self.session, self.run_again, self.naming = session, again, naming
        self.pages = Pages(session, again)

    def queue(self, request: Request) -> Response:
        page = _number(request.query_params.get("page", "1"))
        return HTMLResponse(self.pages.queue(Filter.of(request.query_params), max(1, page)))

    def pair(self, request: Request) -> Response:
        source = self._source(request.path_params["source"])
        shown = request.query_params.get("show")
        target = None if shown is None else self._target(_number(shown))
        find = request.query_params.get("find", "")[:200]
        return HTMLResponse(self.pages.pair(source, target, Filter.of(request.query_params), find))

    async def decide(self, request: Request) -> Response:
        form = await _form(request)
        try:
            verdict = Verdict(form.get("verdict", ""))
        except ValueError:
            raise HTTPException(400, "There is no such verdict.") from None
        if verdict is Verdict.UNDO:
            raise HTTPException(400, "Undo has an address of its own.")
        source = self._source(_number(form.get("source", "")))
        about_a_pair = verdict in (Verdict.ACCEPT, Verdict.REJECT)
        target = self._target(_number(form.get("target", ""))) if about_a_pair else None
        grounds = self.session.run.grounds
        name = None if target is None else grounds.target.entities[target]
        self.session.log.decide(verdict, grounds.source.entities[source], name, _number(form.get("seen", "")))
        wanted = Filter.of(form)
        following = self.session.after(source, wanted)
        return _to("/" if following is None else f"/pair/{following}", wanted.query)

    async def undo(self, request: Request) -> Response:
        form = await _form(request)
        last = self.session.log.state.last_live
        self.session.log.undo(_number(form.get("seen", "")))
        row = None if last is None else self.session.run.grounds.source.entity_rows.get(last[1])
        return _to("/" if row is None else f"/pair/{row}", Filter.of(form).query)

    def again(self, request: Request) -> Response:
        return HTMLResponse(self.pages.again(Filter.of(request.query_params)))

    async def start_again(self, request: Request) -> Response:
        await _form(request)
        self.run_again.start()
        return _to("/again", "")

    def state_of_again(self, request: Request) -> Response:
        now = self.run_again
        return JSONResponse(
            {"state": now.state, "words": self.pages.progress_words(), "done": now.done, "total": now.total}
        )

    def prepared(self, request: Request) -> Response:
        return JSONResponse({"prepared": self.session.has_reasons})

    def export(self, request: Request) -> Response:
        name = request.url.path.rpartition("/")[2]
        write, kind = EXPORTS[name]
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(write(self.session.log, self.naming), media_type=kind, headers=headers)

    def refused(self, request: Request, error: Exception) -> Response:
        """A plain sentence on a page of its own, with the way back."""
        status = (
            error.status_code if isinstance(error, HTTPException) else 409 if isinstance(error, ConflictError) else 422
        )
        words = str(error.detail) if isinstance(error, HTTPException) else str(error)
        return HTMLResponse(self.pages.message(words), status)

    def _source(self, row: int) -> int:
        if not 0 <= row < self.session.run.grounds.source.n_entities:
            raise HTTPException(404, "There is no such entity.")
        return row

    def _target(self, row: int) -> int:
        if not 0 <= row < self.session.run.grounds.target.n_entities:
            raise HTTPException(404, "There is no such entity.")
        return row


async def _form(request: Request) -> Mapping[str, str]:
    """The fields of a small form."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise HTTPException(415, "Send a form.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LARGEST_FORM:
            raise HTTPException(413, "The form is too large.")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise HTTPException(400, "A number is missing or is none.")
    return int(text)


def _to(path: str, query: str, **more: Any) -> Response:
    """To one of our own pages: the path is ours, and the query is written anew."""
    whole = "&".join(part for part in (query, urlencode(more)) if part)
    return RedirectResponse(f"{path}?{whole}" if whole else path, 303)
