"""N-Triples and N-Quads at full speed: lines of the plain form are split by polars, all others go through pyoxigraph.

The plain form is what programs write: terms with one space between them, IRIs without odd characters, literals without
backslashes. Any other line goes to the parser, which reads it or says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

import polars as pl

from dualmatch.files.bounded import LONGEST_LINE
from dualmatch.files.compressed import blocks

RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
REIFIES: Final = f"{RDF}reifies"

# Far less than the standard allows, and nothing that it does not.
_PART: Final = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@\u00C0-\u1FFF\u3040-\uD7FF-]|%[0-9A-Fa-f][0-9A-Fa-f])"
_IRI: Final = rf"<(?:https?://[A-Za-z0-9.-]+(?:/(?:{_PART}|/)*)?(?:\?(?:{_PART}|[/?])*)?(?:#(?:{_PART}|[/?])*)?|urn:[a-z0-9]+:{_PART}+)>"
_BLANK: Final = r"_:[A-Za-z0-9]+"
_NODE: Final = rf"(?:{_IRI}|{_BLANK})"
_LITERAL: Final = rf'"[^"\\\r]*"(?:@[a-z]{{2,3}}|\^\^{_IRI})?'
_SUBJECT: Final = rf"^{_NODE}$"
_PREDICATE: Final = rf"^{_IRI}$"
_OBJECT: Final = rf"^(?:{_NODE}|{_LITERAL}) \.$"
_QUAD_END: Final = rf"^({_NODE}|{_LITERAL})(?: ({_NODE}))? \.$"
_TRIPLE_TERM: Final = rf"^<<\( {_NODE} {_IRI} {_NODE} \)>> \.$"
# pyoxigraph gives nodes without a label one of this form, and `dualmatch.readers.rdf.quads` numbers those.
_LIKE_UNNAMED: Final = r"_:[0-9a-f]{24,32}(?:\s|$)"
# Types that go with a language, which such a literal does not have.
_LACKS_LANGUAGE: Final = rf'"\^\^<{re.escape(RDF)}(?:langString|dirLangString)>'
_MOST_LINES: Final = 1 << 21
_NOTHING: Final = r"^[ \t]*(?:#.*)?$"

OddLine = tuple[int, bytes]
"""A line of another form, with its number in the file."""


@dataclass(frozen=True, eq=False)
class Quads:
    """Statements, as text; blank nodes begin with ``_:``."""

    plain: pl.DataFrame
    """``s``, ``p``, ``o``, ``g`` (null for the default graph), ``literal``, whether the object is one, and its ``tag``:
    the IRI of a type, or a language after an ``@``; null where it has none."""
    reified: pl.DataFrame
    """``node``, ``s``, ``p``, ``o``, ``literal``: triple terms and the node that reifies each."""
    note: str = ""
    """What was tolerated, in words."""


def plain_lines(file: BinaryIO, has_graphs: bool, longest: int = LONGEST_LINE) -> Iterator[tuple[Quads, list[OddLine]]]:
    """Split a file block by block; with `has_graphs`, a fourth term may follow, as in N-Quads."""
    number = 1
    for block in blocks(file, longest=longest):
        if b"\r" in block:  # alone, it ends a line too
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        for part, lines in _parts(block):
            yield _split(b"" if part.isspace() else part, number, has_graphs)
            number += lines


def _parts(block: bytes) -> Iterator[tuple[bytes, int]]:
    """A block and how many lines it has; where lines are far too many, as where they are empty, in parts."""
    lines = block.count(b"\n")
    cut = block.rfind(b"\n", 0, len(block) // 2) + 1 if lines > _MOST_LINES else 0
    if cut:
        yield from _parts(block[:cut])
        yield from _parts(block[cut:])
    else:
        yield block, lines


def _split(block: bytes, number: int, has_graphs: bool) -> tuple[Quads, list[OddLine]]:
    block, others = _text_only(block, number)
    lines = _lines(block).with_row_index("number", offset=number)
    if len(block) < 8 * lines.height:  # most of them are empty
        lines = lines.filter(pl.col("line") != "")
    table = lines.with_columns(
        pl.col("line").str.splitn(" ", 3).struct.rename_fields(["s", "p", "rest"]).alias("terms")
    ).unnest("terms")
    start = pl.col("s").str.contains(_SUBJECT) & pl.col("p").str.contains(_PREDICATE)
    named = ~pl.col("line").str.contains(_LIKE_UNNAMED)
    typed = ~pl.col("rest").str.contains(_LACKS_LANGUAGE)
    is_plain = start & named & typed & pl.col("rest").str.contains(_QUAD_END if has_graphs else _OBJECT)
    is_reified = start & named & (pl.col("p") == f"<{REIFIES}>") & pl.col("rest").str.contains(_TRIPLE_TERM)
    table = table.with_columns(plain=is_plain.fill_null(False), reified=is_reified.fill_null(False))
    odd = table.filter(~pl.col("plain") & ~pl.col("reified") & ~pl.col("line").str.contains(_NOTHING))
    others += [(at, line.encode()) for at, line in odd.select("number", "line").iter_rows()]
    return Quads(_plain(table.filter("plain"), has_graphs), _reified(table.filter("reified"))), sorted(others)


def _text_only(block: bytes, number: int) -> tuple[bytes, list[OddLine]]:
    """The block with blanks for lines that are not UTF-8 text, and these lines: the parser says what is wrong."""
    try:
        block.decode("utf-8")
        return block, []
    except UnicodeDecodeError:
        lines = block.split(b"\n")
    broken = {at for at, line in enumerate(lines) if line.decode("utf-8", "ignore").encode() != line}
    kept = b"\n".join(b"" if at in broken else line for at, line in enumerate(lines))
    return kept, [(number + at, lines[at]) for at in broken]


def _lines(block: bytes) -> pl.DataFrame:
    """``line``; blank lines may be null."""
    try:
        lines = pl.read_csv(block, has_header=False, separator="\n", quote_char=None, schema={"line": pl.String})
        if lines.height == block.count(b"\n") + (not block.endswith(b"\n")):
            return lines
    except pl.exceptions.PolarsError:
        pass
    return pl.DataFrame({"line": pl.Series(block.decode().removesuffix("\n").split("\n"), dtype=pl.String)})


def _plain(table: pl.DataFrame, has_graphs: bool) -> pl.DataFrame:
    if has_graphs:
        ends = pl.col("rest").str.extract_groups(_QUAD_END).struct.rename_fields(["end", "g"])
        table = table.with_columns(ends.alias("ends")).unnest("ends")
    else:
        graph = pl.lit(None, dtype=pl.String)
        table = table.with_columns(end=pl.col("rest").str.strip_suffix(" ."), g=graph)
    literal = pl.col("end").str.starts_with('"')
    is_tagged = literal & ~pl.col("end").str.ends_with('"')
    value, tag = _name("end"), pl.lit(None, dtype=pl.String)
    has_literals, has_tags = table.select(a=literal.any(), b=is_tagged.any()).row(0)
    if has_literals:
        value = pl.when(literal).then(pl.col("end").str.extract('^"([^"]*)"')).otherwise(value)
    if has_tags:
        tag = pl.when(is_tagged).then(pl.col("end").str.extract(r'"(?:\^\^<)?([^"<>]*)>?$')).otherwise(tag)
    return table.select(s=_name("s"), p=_name("p"), o=value, g=_name("g"), literal=literal, tag=tag)


def _reified(table: pl.DataFrame) -> pl.DataFrame:
    inside = pl.col("rest").str.strip_prefix("<<( ").str.strip_suffix(" )>> .")
    parts = inside.str.splitn(" ", 3).struct.rename_fields(["ts", "tp", "to"])
    table = table.with_columns(parts.alias("parts")).unnest("parts")
    return table.select(node=_name("s"), s=_name("ts"), p=_name("tp"), o=_name("to"), literal=pl.lit(False))


def _name(column: str) -> pl.Expr:
    """An IRI without its brackets; a blank node as it is."""
    return pl.col(column).str.strip_prefix("<").str.strip_suffix(">")
