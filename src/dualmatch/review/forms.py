"""Small forms: a few fields, in time, and no larger than they can be."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from dualmatch.review.connections import REQUEST_SECONDS

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
