"""What requests say: the fields of small forms, rows, pages; all read within limits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from dualmatch.graph.model import TemporalGraph
from dualmatch.review.connections import REQUEST_SECONDS

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
