"""Language tags that are longer than the standard allows: Wikidata has some, ``zh-classical`` among them."""

from __future__ import annotations

import re
from typing import BinaryIO, Final

from dualmatch.files.compressed import as_file, blocks

# After a quote in Turtle and its kin, in an attribute of XML.
_LONG: Final = re.compile(
    rb"""(["']@|xml:lang\s*=\s*["'])([A-Za-z]{1,8}-(?:[A-Za-z0-9]+-)*[A-Za-z0-9]{9,}[A-Za-z0-9-]*)"""
)
_SUBTAG: Final = re.compile(rb"([A-Za-z0-9]{8})[A-Za-z0-9]+")


class LanguageTags:
    """Shorten tags for a strict parser, and give them back.

    >>> tags = LanguageTags()
    >>> tags.shortened(b'"x"@zh-classical .'), tags.originals
    (b'"x"@zh-classica .', {'@zh-classica': '@zh-classical'})
    """

    def __init__(self) -> None:
        self.originals: dict[str, str] = {}

    @staticmethod
    def are_why(error: SyntaxError) -> bool:
        """Whether a parser refused a tag for its length."""
        return "subtag may be eight" in str(error)

    def shortened(self, data: bytes) -> bytes:
        """Cut every part of a tag to eight characters, wherever a tag can stand."""
        return _LONG.sub(self._shorten, data)

    def file_with_short(self, file: BinaryIO) -> BinaryIO:
        """Shorten a file as it is read."""
        return as_file(map(self.shortened, blocks(file, 1 << 20)))

    @property
    def note(self) -> str:
        """Which tags were too long, in words; empty where none was."""
        tags = ", ".join(sorted({tag.removeprefix("@") for tag in self.originals.values()})[:5])
        return tags and f"language tags longer than the standard allows were read all the same: {tags}"

    def _shorten(self, match: re.Match[bytes]) -> bytes:
        short = _SUBTAG.sub(rb"\1", match[2])
        self.originals[f"@{short.decode().lower()}"] = f"@{match[2].decode().lower()}"
        return match[1] + short
