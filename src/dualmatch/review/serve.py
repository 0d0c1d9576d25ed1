"""The server of local pages: a free port, a token, and the guard before everything."""

from __future__ import annotations

import getpass
import ipaddress
import logging
import secrets
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dualmatch.errors import InputError, MissingExtraError, counted
from dualmatch.links.decisions import LONGEST_NAME, DecisionLog
from dualmatch.review.realign import Realignment, free_name
from dualmatch.review.session import Session
from dualmatch.runs.companion import read_run
from dualmatch.runs.options_file import call_options_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp

logger = logging.getLogger(__name__)
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Endpoint:
    """The address and port to serve on; port 0 takes a free one."""

    host: str = LOOPBACK
    port: int = 0

    def __post_init__(self) -> None:
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            raise InputError(f"--host {self.host}: is not an IP address; give one such as {LOOPBACK}") from None
        if address.is_unspecified:
            raise InputError(f"--host {self.host}: means every address; give the one that browsers will ask for")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return ipaddress.ip_address(self.host).is_loopback

    def bound(self) -> socket.socket:
        """A socket that listens here."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # Named as TCP, for only then does asyncio send small answers at once; else each page waits 40 ms for an ACK.
        taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind((self.host, self.port))
            taken.listen(128)  # whoever opens the address before the server runs waits for it
        except OSError as error:
            taken.close()
            raise InputError(f"{self.host}:{self.port}: cannot be served ({error.strerror}); choose another") from None
        return taken


def open_session(
    links: Path,
    decisions: Path | None = None,
    folder: Path | None = None,
    show_labels: Sequence[Path] = (),
    reviewer: str | None = None,
    others: Sequence[Path] = (),
) -> Session:
    """Read a run and open its decisions: ``LINKS.decisions.db`` where no other file is given.

    `reviewer`: who decides; the login name where None. `others`: files of other reviewers, taken into the decisions.
    """
    run = read_run(links, folder, show_labels)
    path = decisions_of(links) if decisions is None else decisions
    log = DecisionLog.open(path, reviewer=login_name() if reviewer is None else reviewer.strip())
    for other in others:
        with closing(DecisionLog.open(other, create=False)) as theirs:
            taken, refused = log.add_from(theirs, other.name)
        logger.info("%s: %s taken in", other, counted(taken, "decision"))
        if refused:
            logger.warning(
                "%s: %s left out, because the target was accepted for another source",
                other,
                counted(refused, "decision"),
            )
    session = Session(links, run, log)
    rows = run.basis.source.entity_rows
    strangers = sum(name not in rows for name in log.state.decided)
    if strangers:
        logger.warning(
            "%s: %s decisions are about entities that are not in %s; they are kept, but not used here",
            path,
            f"{strangers:,}",
            run.basis.source.name,
        )
    return session


def decisions_of(links: Path) -> Path:
    """The file of decisions about links where no other is given."""
    return links.with_name(f"{links.name}.decisions.db")


def login_name() -> str:
    """Who is logged in, as far as the system knows."""
    try:
        return getpass.getuser()[:LONGEST_NAME]
    except (OSError, KeyError, ImportError):  # a container may run under a number that has no name
        return "reviewer"


class LocalServer:
    """Serves the pages that `pages` makes, behind the guard.

    `address`: what to open in a browser, with the token.
    """

    def __init__(self, pages: Callable[[], ASGIApp], endpoint: Endpoint) -> None:
        try:
            import uvicorn

            from dualmatch.review.requests import BACKLOG, BoundedConnection
            from dualmatch.review.safety import Guard

            app = pages()
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                f"the page needs {error.name}, which is not installed; in a clone, run: pip install '.[review]'"
            ) from None
        self._bound = endpoint.bound()
        port = self._bound.getsockname()[1]
        shown = f"[{endpoint.host}]:{port}" if ":" in endpoint.host else f"{endpoint.host}:{port}"
        hosts = {shown, *((f"localhost:{port}",) if endpoint.is_loopback else ())}
        token = secrets.token_urlsafe(32)
        self.address = f"http://{shown}/?token={token}"
        settings = uvicorn.Config(
            Guard(app, token, hosts, f"dualmatch_{port}"),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            http=BoundedConnection,
            backlog=BACKLOG,
            lifespan="off",
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(settings)

    def run(self) -> None:
        """Serve until stopped or interrupted."""
        with self._bound, suppress(KeyboardInterrupt):
            self._server.run(sockets=[self._bound])

    def stop(self) -> None:
        """Make `run` return."""
        self._server.should_exit = True


class ReviewServer(LocalServer):
    """Serves the pages of a session."""

    def __init__(self, session: Session, endpoint: Endpoint) -> None:
        self.session, self.again = session, Realignment(session, free_name(session.path))
        super().__init__(self._pages, endpoint)

    def _pages(self) -> ASGIApp:
        from dualmatch.review.pages import review_app

        return review_app(self.session, self.again, call_options_of(self.session.path).naming)

    def run(self) -> None:
        threading.Thread(target=self.session.prepare, name="prepare", daemon=True).start()
        super().run()
