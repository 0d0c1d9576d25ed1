"""Language tags that are longer than the standard allows: Wikidata has some, ``zh-classical`` among them."""

from __future__ import annotations

import re
from typing import BinaryIO, Final

import polars as pl

from dualmatch.files.compressed import as_file, blocks

# After a quote in Turtle and its kin, in an attribute of XML, as a value in JSON-LD.
_LONG: Final = re.compile(
    rb"""(["']@|xml:lang\s*=\s*["']|"@language"\s*:\s*")"""
    rb"""([A-Za-z]{1,8}-(?:[A-Za-z0-9]+-)*[A-Za-z0-9]{9,}[A-Za-z0-9-]*)"""
)


# As a key of JSON-LD, in a file that has language maps: what is no tag is the same key after both replacements.
_LONG_KEY: Final = re.compile(rb"""([{,]\s*")([a-z]{2}-[A-Za-z0-9]{9,})(?="\s*:)""")
_HAS_MAPS: Final = re.compile(rb""""@container"\s*:\s*(?:\[[^\]]*)?"@language""" + b'"')


class LanguageTags:
    """Put short tags in place of long ones for a strict parser, and give the long ones back.

    What looks like a tag may stand in a text: the short ones occur nowhere else, so that texts get theirs back, too.

    >>> tags = LanguageTags()
    >>> tags.shortened(b'"x"@zh-classical .')
    b'"x"@dm-x-lt000000 .'
    >>> tags.restored(pl.DataFrame({"tag": ["@dm-x-lt000000"]}))["tag"].to_list(), tags.note
    (['@zh-classical'], 'language tags longer than the standard allows were read all the same: zh-classical')
    """

    def __init__(self) -> None:
        self._short: dict[str, str] = {}
        self._used: set[str] = set()
        self._has_maps = False

    @staticmethod
    def are_why(error: SyntaxError) -> bool:
        """Whether a parser refused a tag for its length."""
        return "subtag may be eight" in str(error)

    def shortened(self, data: bytes) -> bytes:
        """Shorten tags, wherever one can stand."""
        self._has_maps = self._has_maps or _HAS_MAPS.search(data) is not None
        data = _LONG.sub(self._shorten, data)
        return _LONG_KEY.sub(self._shorten, data) if self._has_maps else data

    def shortened_json(self, data: bytes) -> bytes:
        """Shorten tags of JSON-LD: only what names a language can have one."""
        return self.shortened(data) if self._has_maps or b"@language" in data else data

    def file_with_short(self, file: BinaryIO) -> BinaryIO:
        """Shorten a file as it is read."""
        return as_file(map(self.shortened, blocks(file, 1 << 20)))

    def restored(self, table: pl.DataFrame) -> pl.DataFrame:
        """A table of texts as the file has them; in a column ``tag``, languages are in lower case."""
        if not self._short:
            return table
        if "tag" in table.columns:
            tags = {f"@{short}": f"@{long.lower()}" for long, short in self._short.items()}
            self._used |= {tags[tag] for tag in table["tag"].unique() if tag in tags}
            table = table.with_columns(pl.col("tag").replace(tags))
        short, long = [*self._short.values()], [*self._short]
        return table.with_columns(pl.col(pl.String).str.replace_many(short, long))

    @property
    def note(self) -> str:
        """Which tags were too long, in words; empty where none was."""
        tags = ", ".join(tag.removeprefix("@")[:40] for tag in sorted(self._used)[:5])
        return tags and f"language tags longer than the standard allows were read all the same: {tags}"

    def _shorten(self, match: re.Match[bytes]) -> bytes:
        short = self._short.setdefault(match[2].decode(), f"dm-x-lt{len(self._short):06x}")
        return match[1] + short.encode()
