"""The pages of the app: each view renders a template; each write is a form that ends in a redirect."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from dualmatch.app import reading_form
from dualmatch.app.child import Children, NotOursError, progress_of, words_of
from dualmatch.app.menu import menu_of, result_in_words
from dualmatch.app.pair_results import Results, Reviews
from dualmatch.app.understanding import understanding_of
from dualmatch.app.upload import EXTENSIONS, PAIRS, is_multipart, receive_choices, receive_files
from dualmatch.app.workspace import NUMBER, SIDES, NoPairError, Pair, State, Workspace
from dualmatch.charts.markup import templates, visible
from dualmatch.errors import DualMatchError
from dualmatch.graph.shown_name import shown_name
from dualmatch.review.export import FINAL_LINKS
from dualmatch.review.requests import number_of, read_form

_IN_WORDS: Final[dict[State, str]] = {
    "new": "not aligned yet",
    "running": "being aligned",
    "interrupted": "interrupted",
    "finished": "aligned",
}
_STYLE: Final = re.compile("<style>(.*?)</style>", re.DOTALL)


class _PairNumber(Convertor[int]):
    """The number of a pair in an address; not thousands of digits, which Python would refuse to convert."""

    regex = NUMBER.pattern

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("pair", _PairNumber())


def app_pages(workspace: Workspace, children: Children, reviews: Reviews, results: Results, most: int) -> Starlette:
    """The app without its guard (`dualmatch.review.safety`); `most`: bytes that a file may have."""
    views = _Views(workspace, children, results, most)
    routes = [
        Route("/", views.home),
        Route("/upload", views.upload, methods=["POST"]),
        Route("/sample", views.sample, methods=["POST"]),
        Route("/{pair:pair}/", views.files),
        Route("/{pair:pair}/read", views.read, methods=["POST"]),
        Route("/{pair:pair}/align", views.align),
        Route("/{pair:pair}/align", views.start, methods=["POST"]),
        Route("/{pair:pair}/cancel", views.cancel, methods=["POST"]),
        Route("/{pair:pair}/state", views.state),
        Route("/{pair:pair}/report", views.report),
        Route("/{pair:pair}/links", views.links),
        Route("/{pair:pair}/links.tsv", views.table),
        Route("/favicon.ico", views.icon),  # of the report, which names none
        Mount("/{pair:pair}/review", reviews),
        Mount("/static", StaticFiles(packages=[("dualmatch.app", "static"), ("dualmatch.review", "static")])),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: views.refused, DualMatchError: views.refused})


class _Views:
    def __init__(self, workspace: Workspace, children: Children, results: Results, most: int) -> None:
        self._workspace, self._children, self._results, self._most = workspace, children, results, most
        self._templates = templates(
            "dualmatch.app",
            form=reading_form,
            plainly=_plainly,
            shown=shown_name,
            sides=SIDES,
            most=most,
            accepted=",".join(EXTENSIONS),
            accepted_pairs=",".join(PAIRS),
            labels=results.labels,
        )

    def home(self, request: Request) -> Response:
        return self._page("home.html", None, "Start", pairs=[self._in_brief(each) for each in self._workspace.pairs()])

    def _in_brief(self, pair: Pair) -> tuple[int, str, State, str]:
        """Number, files and state of a pair, and how it went."""
        try:
            words, state, record = " and ".join(visible(name, 60) for name in pair.names), pair.state, pair.record
        except DualMatchError as error:
            return pair.number, "cannot be read", "new", visible(str(error), 400)
        graphs = record.outcome.graphs if state == "finished" and record is not None and record.outcome else None
        outcome = f"{graphs[0].entities:,} and {graphs[1].entities:,} entities, aligned" if graphs else _IN_WORDS[state]
        return pair.number, words, state, outcome

    async def upload(self, request: Request) -> Response:
        with self._workspace.draft() as draft:
            files, called = await receive_files(request, draft, self._most)
            pair = await run_in_threadpool(self._workspace.add, draft, files, called)
        self._children.understand(pair)
        return RedirectResponse(f"/{pair.number}/", 303)

    async def sample(self, request: Request) -> Response:
        await read_form(request)
        pair = await run_in_threadpool(self._workspace.add_sample)
        self._children.understand(pair)
        return RedirectResponse(f"/{pair.number}/", 303)

    def files(self, request: Request) -> Response:
        pair = self._pair(request)
        understood, problem = understanding_of(pair), ""
        is_reading = self._children.is_running(pair, "understood")
        if understood is None and not is_reading:
            if self._children.has_ended(pair, "understood"):
                failure, _ = words_of(pair.folder / "understood.log")
                problem = failure or "Reading ended before it was finished; is there enough memory?"
            else:  # a folder that was copied, or an app that was killed
                self._children.understand(pair)
                is_reading = True
        return self._page(
            "files.html",
            pair,
            "Files",
            understood=None if is_reading else understood,
            is_reading=is_reading,
            problem=problem,
        )

    async def read(self, request: Request) -> Response:
        form = await read_form(request)
        pair = self._pair(request)
        self._refuse_while_aligned(pair)
        if form.get("side") in SIDES:
            side = SIDES.index(form["side"])
            understood = understanding_of(pair)
            columns = None if understood is None else understood.sides[side].columns
            reading = [*pair.options.reading]
            reading[side] = reading_form.chosen(form, columns, reading[side])
            options = replace(pair.options, reading=(reading[0], reading[1]))
            pair = await run_in_threadpool(pair.with_options, options)
        await run_in_threadpool(self._children.understand, pair)
        return RedirectResponse(f"/{pair.number}/", 303)

    def align(self, request: Request) -> Response:
        pair = self._pair(request)
        is_running = self._children.is_running(pair, "align")
        failure, notes = ("", []) if is_running else words_of(pair.folder / "align.log")
        record = None if is_running or pair.state != "finished" else pair.record
        return self._page(
            "align.html",
            pair,
            "Align",
            state="running" if is_running else pair.state,
            progress=progress_of(pair),
            failure=_plainly(failure.replace(*_seeds_called(pair))),
            notes=notes,
            understood=understanding_of(pair),
            result=None if record is None else self._results.summary(pair.results[-1]),
            is_again=record is not None and len(pair.results) > 1,
        )

    async def start(self, request: Request) -> Response:
        """Align; a form with choices changes them first."""
        pair = self._pair(request)
        if is_multipart(request):
            with self._workspace.draft() as draft:
                words, seeds = await receive_choices(request, draft, self._most)
                self._refuse_while_aligned(pair)
                names = reading_form.chosen_names(words)
                chosen = "same_ids" in words, seeds, "keep_seeds" in words
                pair = await run_in_threadpool(pair.with_choices, names, *chosen)
        else:
            await read_form(request)
        others = [each for each in self._workspace.pairs() if each.number != pair.number]
        if any(self._children.is_running(each, "align") for each in others):
            raise HTTPException(409, "Other files are being aligned; wait for that to end, or cancel it.")
        await run_in_threadpool(self._children.align, pair)
        return RedirectResponse(f"/{pair.number}/align", 303)

    def _refuse_while_aligned(self, pair: Pair) -> None:
        if self._children.is_running(pair, "align"):
            raise HTTPException(409, "The files are being aligned; cancel that first.")

    async def cancel(self, request: Request) -> Response:
        await read_form(request)
        pair = self._pair(request)
        await run_in_threadpool(self._children.cancel, pair)
        return RedirectResponse(f"/{pair.number}/align", 303)

    def state(self, request: Request) -> Response:
        pair = self._pair(request)
        progress = progress_of(pair)
        return JSONResponse(
            {
                "reading": self._children.is_running(pair, "understood"),
                "aligning": self._children.is_running(pair, "align"),
                "words": progress.words,
                "done": progress.done,
                "total": progress.total,
            }
        )

    def report(self, request: Request) -> Response:
        pair = self._pair(request)
        page = self._results.report(pair, self._result(request, pair))
        style = "".join(_STYLE.findall(page)[:1])
        sha = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        rules = (
            f"default-src 'none'; style-src 'sha256-{sha}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        return HTMLResponse(page, headers={"content-security-policy": rules})

    def links(self, request: Request) -> Response:
        """What was found, the last first, to download."""
        pair = self._pair(request)
        results = [
            (place, result_in_words(place, len(pair.results)), path.name, self._results.summary(path).sentence())
            for place, path in enumerate(pair.results)
        ]
        return self._page("links.html", pair, "Links", results=results[::-1], final_links=[*FINAL_LINKS])

    def table(self, request: Request) -> Response:
        pair = self._pair(request)
        path = self._result(request, pair)
        name = f"{pair.files[0].name}-{pair.files[1].name}.{path.name}"
        return FileResponse(path, media_type="text/tab-separated-values; charset=utf-8", filename=name)

    def _result(self, request: Request, pair: Pair) -> Path:
        """Which of the results a page is about: the last, unless it says so."""
        results, of = pair.results, request.query_params.get("of")
        place = len(results) - 1 if of is None else number_of(of, 404)
        if place >= len(results):
            raise HTTPException(404, "There is no such result.")
        return results[place]

    def icon(self, request: Request) -> Response:
        return RedirectResponse("/static/icon.svg", 303)

    def refused(self, request: Request, error: Exception) -> Response:
        """A plain sentence on a page of its own, with the way back."""
        status, words = (error.status_code, error.detail) if isinstance(error, HTTPException) else (422, str(error))
        status = 404 if isinstance(error, NoPairError) else 409 if isinstance(error, NotOursError) else status
        return self._page("message.html", None, "", status, words=visible(words, 2000))

    def _pair(self, request: Request) -> Pair:
        return self._workspace.pair(request.path_params["pair"])

    def _page(self, template: str, pair: Pair | None, here: str, status: int = 200, **values: Any) -> Response:
        page = self._templates.get_template(template).render(menu=menu_of(pair, here), pair=pair, **values)
        return HTMLResponse(page, status)


def _seeds_called(pair: Pair) -> tuple[str, str]:
    """The name of the file of known pairs, and what it was called by whoever gave it."""
    path = pair.options.call.seeds
    return ("\0", "") if path is None else (path.name, pair.seeds_called)


def _plainly(words: str) -> str:
    """What a reader says, without our folders and without options of the command line, which the page has as fields.

    >>> _plainly("source/a.csv: guessed that id is 'id' (to change that: --columns id=NAME)")
    "a.csv: guessed that id is 'id'"
    """
    words = re.sub(r"\b(source|target)/", "", words)
    return re.sub(r" \(to change that: .*\)$|(?<=[:;]) say so with --columns .*", "", words).rstrip(":;")
