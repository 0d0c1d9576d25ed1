"""Connections that cannot be held open for nothing: a time limit for every request to arrive, and a cap on all."""

from __future__ import annotations

import asyncio
import resource
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS: Final = 10.0
"""How long a connection may take to send the headers of its next request."""
BACKLOG: Final = 32
"""Connections that wait to be accepted; they are accepted at once, so there must be room for them."""


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
