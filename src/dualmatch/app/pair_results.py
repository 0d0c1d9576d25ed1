"""What the runs of a pair found, as reports and reviews: read once for each file of links, however often it is seen."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from dualmatch.app.menu import menu_of
from dualmatch.app.workspace import Pair, Workspace
from dualmatch.errors import InputError
from dualmatch.methods.summary import Summary
from dualmatch.readers.shown_labels import read_label_files
from dualmatch.report.findings import Findings, gather
from dualmatch.report.page import Surroundings, report_page
from dualmatch.review.pages import review_app
from dualmatch.review.realign import Realignment, free_name
from dualmatch.review.serve import open_session
from dualmatch.review.session import Session
from dualmatch.runs.options_file import call_options_of

logger = logging.getLogger(__name__)
Read = TypeVar("Read")


class _Kept(Generic[Read]):
    """What was made of files, until they are written anew."""

    def __init__(self) -> None:
        self._of: dict[Path, tuple[tuple[object, ...], Read]] = {}

    def of(self, path: Path, make: Callable[[], Read], *also: object) -> Read:
        """What `make` makes of a file; made again where the file, or `also`, is not what it was."""
        about = path.stat()
        stamp = about.st_ino, about.st_mtime_ns, about.st_size, *also
        known = self._of.get(path)
        if known is None or known[0] != stamp:
            known = self._of[path] = stamp, make()
        return known[1]


class Results:
    """The results of all pairs. `show_labels`: files of labels to show, as in `dualmatch.runs.companion.read_run`."""

    def __init__(self, show_labels: Sequence[Path] = ()) -> None:
        self._labels = show_labels
        self._summaries: _Kept[Summary] = _Kept()
        self._reports: _Kept[str] = _Kept()

    @cached_property
    def labels(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Labels to show, by name: of the source and of the target."""
        tables = read_label_files(self._labels)
        found = [dict(zip(each["entity"], each["value"], strict=True)) for each in tables] or [{}]
        return found[0], found[-1]

    def summary(self, links: Path) -> Summary:
        """The result of a run in figures."""
        return self._summaries.of(links, lambda: gather(links).summary)

    def report(self, pair: Pair, links: Path) -> str:
        """The report of one of the results of a pair, as a page of the app."""
        at, place = f"/{pair.number}", pair.results.index(links)
        title = f"{pair.names[0]} and {pair.names[1]}{', aligned again' if place else ''}"
        around = Surroundings(title, menu_of(pair, "Report", place), f"{at}/review", f"{at}/links")
        return self._reports.of(links, lambda: report_page(self._findings(pair, links), around), around)

    def _findings(self, pair: Pair, links: Path) -> Findings:
        return shown_with(self._labels, lambda labels: gather(links, pair.gold, show_labels=labels))


def shown_with(labels: Sequence[Path], read: Callable[[Sequence[Path]], Read]) -> Read:
    """What is read with these files of labels; without, where they name nothing of it: they are for other files."""
    try:
        return read(labels)
    except InputError as error:
        if not labels:
            raise
        found = read(())  # whatever else is wrong is reported
        logger.warning("labels are not shown: %s", error)
        return found


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
