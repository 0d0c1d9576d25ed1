"""N-Triples and N-Quads at full speed: lines of the plain form are split by polars, all others go through pyoxigraph.

The plain form is what programs write: terms with one space between them, IRIs without odd characters, literals without
backslashes. A line that is not of it, for whatever reason, goes to the parser, which reads it or says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

import polars as pl

from dualmatch.io.opening import blocks

_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
REIFIES: Final = f"{_RDF}reifies"

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
# pyoxigraph gives nodes without a label one of this form, and `dualmatch.io.quads` numbers those.
_LIKE_UNNAMED: Final = r"_:[0-9a-f]{24,32}(?:\s|$)"
_NOTHING: Final = r"^\s*(?:#.*)?$"


@dataclass(frozen=True, eq=False)
class PlainLines:
    """What one block of a file says.

    Attributes
    ----------
    plain:
        ``s``, ``p``, ``o``, ``g`` (null for the default graph), ``literal``; blank nodes as ``_:label``.
    reified:
        ``node``, ``s``, ``p``, ``o``, ``literal``.
    others: bytes
        The lines that are not of the plain form, each with a line break.
    numbers: list of int
        The number of each of them in the file.
    """

    plain: pl.DataFrame
    reified: pl.DataFrame
    others: bytes
    numbers: list[int]


def plain_lines(file: BinaryIO, has_graphs: bool) -> Iterator[PlainLines]:
    """Split a file block by block.

    Parameters
    ----------
    has_graphs:
        Whether a fourth term may follow, as in N-Quads.
    """
    number = 1
    for block in blocks(file):
        yield _split(block, number, has_graphs)
        number += block.count(b"\n")


def _split(block: bytes, number: int, has_graphs: bool) -> PlainLines:
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError:  # the parser says where
        return PlainLines(_NO_PLAIN, _NO_REIFIED, block, [*range(number, number + block.count(b"\n") + 1)])
    if b"\r" in block:
        block, text = block.replace(b"\r\n", b"\n"), text.replace("\r\n", "\n")
    table = (
        _lines(block, text)
        .with_row_index("number", offset=number)
        .with_columns(pl.col("line").str.splitn(" ", 3).struct.rename_fields(["s", "p", "rest"]).alias("terms"))
        .unnest("terms")
    )
    start = pl.col("s").str.contains(_SUBJECT) & pl.col("p").str.contains(_PREDICATE)
    named = ~pl.col("line").str.contains(_LIKE_UNNAMED)
    is_plain = start & named & pl.col("rest").str.contains(_QUAD_END if has_graphs else _OBJECT)
    is_reified = start & named & (pl.col("p") == f"<{REIFIES}>") & pl.col("rest").str.contains(_TRIPLE_TERM)
    table = table.with_columns(plain=is_plain.fill_null(False), reified=is_reified.fill_null(False))
    others = table.filter(~pl.col("plain") & ~pl.col("reified"))
    others = others.filter(~pl.col("line").str.contains(_NOTHING))
    return PlainLines(
        _plain(table.filter("plain"), has_graphs),
        _reified(table.filter("reified")),
        "".join(f"{line}\n" for line in others["line"]).encode(),
        others["number"].to_list(),
    )


def _lines(block: bytes, text: str) -> pl.DataFrame:
    """``line``; blank lines may be null."""
    try:
        lines = pl.read_csv(block, has_header=False, separator="\n", quote_char=None, schema={"line": pl.String})
        if lines.height == block.count(b"\n") + (not block.endswith(b"\n")):
            return lines
    except pl.exceptions.PolarsError:
        pass
    return pl.DataFrame({"line": pl.Series(text.removesuffix("\n").split("\n"), dtype=pl.String)})


def _plain(table: pl.DataFrame, has_graphs: bool) -> pl.DataFrame:
    if has_graphs:
        ends = pl.col("rest").str.extract_groups(_QUAD_END).struct.rename_fields(["end", "g"])
        table = table.with_columns(ends.alias("ends")).unnest("ends")
    else:
        graph = pl.lit(None, dtype=pl.String)
        table = table.with_columns(end=pl.col("rest").str.strip_suffix(" ."), g=graph)
    literal = pl.col("end").str.starts_with('"')
    value = pl.when(literal).then(pl.col("end").str.extract('^"([^"]*)"')).otherwise(_name("end"))
    return table.select(s=_name("s"), p=_name("p"), o=value, g=_name("g"), literal=literal)


def _reified(table: pl.DataFrame) -> pl.DataFrame:
    inside = pl.col("rest").str.strip_prefix("<<( ").str.strip_suffix(" )>> .")
    parts = inside.str.splitn(" ", 3).struct.rename_fields(["ts", "tp", "to"])
    table = table.with_columns(parts.alias("parts")).unnest("parts")
    return table.select(node=_name("s"), s=_name("ts"), p=_name("tp"), o=_name("to"), literal=pl.lit(False))


def _name(column: str) -> pl.Expr:
    """An IRI without its brackets; a blank node as it is."""
    return pl.col(column).str.strip_prefix("<").str.strip_suffix(">")


_NO_PLAIN: Final = pl.DataFrame(schema={**dict.fromkeys("spog", pl.String), "literal": pl.Boolean})
_NO_REIFIED: Final = pl.DataFrame(schema={**dict.fromkeys(("node", *"spo"), pl.String), "literal": pl.Boolean})
