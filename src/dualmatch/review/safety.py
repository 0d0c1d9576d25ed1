"""The guard before every page: whose request it is, where it comes from, and what a browser may do with the answer.

A page on a loopback port can be reached by every page that the browser has open, and by any name that resolves to
127.0.0.1. So: the name the browser asked for must be ours (DNS rebinding), then a write must come from our own page
(cross-site requests), then whoever asks must have the token that was printed (other users of the machine).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
    """Checks each request before the app sees it.

    `hosts`: accepted values of the Host header.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str], cookie: str) -> None:
        self._app, self._token, self._hosts, self._cookie = app, token, frozenset(hosts), cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no other kind of connection is served; the server closes it

        async def send_with_rules(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, rule in _HEADERS.items():
                    headers.setdefault(name, rule)  # a page may have a rule of its own
            await send(message)

        await (self._answer(scope, Headers(scope=scope)) or self._app)(scope, receive, send_with_rules)

    def _answer(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that is not for the app; None for one that is."""
        if refusal := self._refusal(scope["method"], headers):
            return refusal
        if self._brings_token(scope):
            morsel = f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            return RedirectResponse("/", 303, {"set-cookie": morsel})
        if not self._has_cookie(headers):
            words = "Open the address that dualmatch printed: it holds the key to this page."
            return PlainTextResponse(words, 403)
        return None

    def _refusal(self, method: str, headers: Headers) -> Response | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return PlainTextResponse("This page is not served under that name.", 421)
        if method in ("GET", "HEAD"):
            return None
        if method != "POST":
            return PlainTextResponse("Only GET and POST are answered.", 405)
        # Browsers say where a request comes from and pages cannot forge it; a write must come from our own pages.
        sites, origins = headers.getlist("sec-fetch-site"), headers.getlist("origin")
        if not sites and not origins:
            return PlainTextResponse("A write must say where it comes from.", 403)
        if any(site != "same-origin" for site in sites):
            return PlainTextResponse("Writes from other sites are refused.", 403)
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return PlainTextResponse("Writes from other origins are refused.", 403)
        return None

    def _brings_token(self, scope: Scope) -> bool:
        if scope["method"] != "GET" or scope["path"] != "/":
            return False
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        return len(given) == 1 and self._is_token(given[0])

    def _has_cookie(self, headers: Headers) -> bool:
        # Split by hand: other programs of this machine leave cookies, too; http.cookies reads none where one is odd.
        cookies = (each.strip().partition("=") for line in headers.getlist("cookie") for each in line.split(";"))
        return any(name == self._cookie and self._is_token(value) for name, _, value in cookies)

    def _is_token(self, given: str) -> bool:
        """In constant time, so that how long an answer takes does not reveal the token."""
        return secrets.compare_digest(given.encode(), self._token.encode())
