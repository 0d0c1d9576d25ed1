"""The reviews of all pairs, below the menu of the app."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from dualmatch.app.menu import menu_of
from dualmatch.app.results import shown_with
from dualmatch.app.workspace import Pair, Workspace
from dualmatch.review.app import review_app
from dualmatch.review.realign import Realignment, free_name
from dualmatch.review.serve import open_session
from dualmatch.review.session import Session
from dualmatch.runs.options_file import call_options_of


@dataclass(frozen=True)
class OpenReview:
    """A review that is open; `written`: when its links were."""

    written: float
    session: Session
    again: Realignment
    pages: ASGIApp


class Reviews:
    """Each review is opened when it is first asked for, and again after a new run."""

    def __init__(self, workspace: Workspace, reviewer: str | None = None, show_labels: Sequence[Path] = ()) -> None:
        self._workspace, self._reviewer, self._labels = workspace, reviewer, show_labels
        self._opening = threading.Lock()
        self._opened: dict[int, OpenReview] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        review = await run_in_threadpool(self.of, self._workspace.pair(scope["path_params"]["pair"]))
        await review.pages(scope, receive, send)

    def of(self, pair: Pair) -> OpenReview:
        """The review of a pair; an `InputError` where it is not aligned."""
        links = pair.links
        written = links.stat().st_mtime
        with self._opening:
            known = self._opened.get(pair.number)
            if known is None or known.written != written:
                session = shown_with(
                    self._labels, lambda labels: open_session(links, show_labels=labels, reviewer=self._reviewer)
                )
                naming = call_options_of(links).naming
                again = Realignment(session, free_name(links))
                pages = review_app(session, again, naming, f"/{pair.number}/review", menu_of(pair, "Review"))
                threading.Thread(target=session.prepare, name="prepare", daemon=True).start()
                if known is not None:
                    known.session.log.close()
                known = self._opened[pair.number] = OpenReview(written, session, again, pages)
        return known
