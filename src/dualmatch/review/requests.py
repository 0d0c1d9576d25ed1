"""Requests within limits: of connections and of the time to arrive, of forms, rows and pages."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from uvicorn.protocols.http.h11_impl import H11Protocol

from dualmatch.graph.model import TemporalGraph

REQUEST_SECONDS: Final = 10.0
"""How long a connection may take to send the headers of its next request."""
BACKLOG: Final = 32
"""Connections that wait to be accepted; they are accepted at once, so there must be room for them."""
PER_PAGE: Final = 50
"""Lines of a page."""
_LARGEST_FORM: Final = 16_384  # rows and words, never names


async def read_form(request: Request) -> Mapping[str, str]:
    """The fields of a small form."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise HTTPException(415, "Send a form.")
    body = b""
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > _LARGEST_FORM:
                    raise HTTPException(413, "The form is too large.")
    except TimeoutError:
        raise HTTPException(408, "The form did not arrive in time.") from None
    except ClientDisconnect:
        raise HTTPException(400, "The form did not arrive whole.") from None
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def number_of(text: str, status: int = 400) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise HTTPException(status, "A number is missing or invalid.")
    return int(text)


def row_of(row: int, graph: TemporalGraph) -> int:
    if not 0 <= row < graph.n_entities:
        raise HTTPException(404, "There is no such entity.")
    return row


def page_of(total: int, request: Request) -> tuple[int, int]:
    """Which page of so many lines is wanted, and how many there are."""
    pages = max(1, -(-total // PER_PAGE))
    return min(max(1, number_of(request.query_params.get("page", "1"))), pages), pages


def most_connections() -> int:
    """How many are held at once: a browser opens six; files, threads and the backlog need handles, too."""
    handles, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 256 if handles == resource.RLIM_INFINITY else max(8, min(256, handles // 4))


class BoundedConnection(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it. Where connections are too many, the one that has said nothing longest goes."""

    _waiting: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()
        held: list[Any] = [each for each in self.connections if not each.transport.is_closing()]
        if len(held) > most_connections():
            silent = [each for each in held if each._waiting is not None]
            min(silent, key=lambda each: each._since, default=self).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_answered = self.cycle is None or self.cycle.response_complete
        if not is_answered:
            self._stop_waiting()
        elif self._waiting is None and not self.transport.is_closing():
            self._wait()  # for the rest of a request that has begun

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._since = self.loop.time()
        self._waiting = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
