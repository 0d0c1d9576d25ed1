"""The guard before every page: whose request it is, where it comes from, and what a browser may do with the answer.

A page on a loopback port can be reached by every page that the browser has open, and by any name that resolves to
127.0.0.1. So: the name the browser asked for must be ours (DNS rebinding), then a write must come from our own page
(cross-site requests), then whoever asks must have the token that was printed (other users of the machine).
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer, browsers would send Origin: null with our own forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


class Guard:
    """Asks before the app does anything.

    Parameters
    ----------
    hosts:
        What may stand in the Host header.
    """

    def __init__(self, app: App, token: str, hosts: Iterable[str], cookie: str) -> None:
        self._app, self._token, self._hosts, self._cookie = app, token, frozenset(hosts), cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no other kind of connection is served; the server closes it
        headers = _headers(scope)
        refusal = self._refusal(scope["method"], headers)
        if refusal is not None:
            await _answer(send, *refusal)
        elif self._brings_token(scope):
            morsel = f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(send, 303, "", {"location": "/", "set-cookie": morsel})
        elif not self._has_cookie(headers):
            await _answer(send, 403, "Open the address that dualmatch review printed: it holds the key to this page.")
        else:
            await self._app(scope, receive, _with_headers(send))

    def _refusal(self, method: str, headers: dict[str, list[str]]) -> tuple[int, str] | None:
        hosts = headers.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "This page is not served under that name."
        if method in ("GET", "HEAD"):
            return None
        if method != "POST":
            return 405, "Only GET and POST are answered."
        # Browsers say where a request comes from and pages cannot forge it; a write must come from our own pages.
        sites, origins = headers.get("sec-fetch-site", []), headers.get("origin", [])
        if not sites and not origins:
            return 403, "A write must say where it comes from."
        if any(site != "same-origin" for site in sites):
            return 403, "Writes from other sites are refused."
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return 403, "Writes from other origins are refused."
        return None

    def _brings_token(self, scope: Scope) -> bool:
        if scope["method"] != "GET" or scope["path"] != "/":
            return False
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        return len(given) == 1 and self._is_token(given[0])

    def _has_cookie(self, headers: dict[str, list[str]]) -> bool:
        # Split by hand: other programs of this machine leave cookies, too; http.cookies reads none where one is odd.
        cookies = (each.strip().partition("=") for line in headers.get("cookie", []) for each in line.split(";"))
        return any(name == self._cookie and self._is_token(value) for name, _, value in cookies)

    def _is_token(self, given: str) -> bool:
        """In constant time: how long an answer takes tells nothing about the token."""
        return secrets.compare_digest(given.encode(), self._token.encode())


def _headers(scope: Scope) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


def _with_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return guarded


async def _answer(send: Send, status: int, words: str, headers: dict[str, str] | None = None) -> None:
    named = {"content-type": "text/plain; charset=utf-8", **(headers or {})}
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
    }
    await _with_headers(send)(start)
    await send({"type": "http.response.body", "body": words.encode()})
