"""Contexts of JSON-LD that are on the web and known all the same: schema.org's, which most web pages refer to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

_SCHEMA_ORG: Final = re.compile(r"https?://(?:www\.)?schema\.org(?:/|/docs/jsonldcontext\.json(?:ld)?)?")
_VOCABULARY: Final = {"@vocab": "http://schema.org/", "schema": "http://schema.org/", "id": "@id", "type": "@type"}
"""What the context at schema.org says of names; the types it gives to values are left out."""
_KEY: Final = b'"@context"'
_CONTEXT: Final = re.compile(_KEY.decode() + r'\s*:\s*(?=["\[])')
_LONGEST: Final = 1 << 16


class KnownContexts:
    """Put what a known address of a context stands for in its place: nothing is fetched.

    >>> contexts = KnownContexts()
    >>> b"".join(contexts.filled([b'{"@context": "https://schema.org", "name": "Ada"}']))[:45]
    b'{"@context": {"@vocab": "http://schema.org/",'
    """

    def __init__(self) -> None:
        self.note = ""
        """What was put in place, in words; empty where nothing was."""

    def filled(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """A file with its contexts filled in, on the same lines; one may begin in one block and end in the next."""
        kept = b""
        for block in blocks:
            data = kept + block
            at = data.rfind(_KEY, max(len(data) - _LONGEST, 0))
            cut = len(data) if at < 0 else at
            kept = data[cut:]
            yield self._filled(data[:cut])
        yield self._filled(kept)

    def _filled(self, data: bytes) -> bytes:
        if _KEY not in data or b"schema.org" not in data:
            return data
        text, parts, at = data.decode("utf-8", "surrogateescape"), [], 0
        for found in _CONTEXT.finditer(text):
            try:
                context, end = json.JSONDecoder().raw_decode(text, found.end())
            except (ValueError, RecursionError):  # the parser will say what is wrong
                break
            if found.start() >= at and (filled := self._known(context)) != context:
                parts += [text[at : found.end()], json.dumps(filled), "\n" * text.count("\n", found.end(), end)]
                at = end
        return "".join([*parts, text[at:]]).encode("utf-8", "surrogateescape") if parts else data

    def _known(self, context: Any) -> Any:
        if isinstance(context, list):
            return [self._known(each) if isinstance(each, str) else each for each in context]
        if not _SCHEMA_ORG.fullmatch(context):
            return context
        self.note = (
            f"the context {context} was not fetched: names without a prefix are those of {_VOCABULARY['@vocab']}"
        )
        return _VOCABULARY
