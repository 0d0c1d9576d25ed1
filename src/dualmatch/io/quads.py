"""RDF files to columns: subject, predicate, object and graph as text, through pyoxigraph."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl
from pyoxigraph import BlankNode, DefaultGraph, Literal, Quad, RdfFormat, Triple, parse

from dualmatch.errors import InputError
from dualmatch.io.opening import shown
from dualmatch.io.rejections import Rejections
from dualmatch.io.triple_lines import REIFIES, plain_lines

FORMATS: Final = {
    "ntriples": RdfFormat.N_TRIPLES,
    "nquads": RdfFormat.N_QUADS,
    "turtle": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "rdfxml": RdfFormat.RDF_XML,
}
BASE: Final = "file:///"
"""What relative IRIs are resolved against where a file has no base of its own."""

_RECOVERS: Final = {"ntriples", "nquads", "turtle", "trig"}
_UNNAMED: Final = re.compile(r"[0-9a-f]{24,32}\Z")


@dataclass(frozen=True, eq=False)
class Quads:
    """All statements of a file.

    Attributes
    ----------
    plain:
        ``s``, ``p``, ``o``, ``g`` (null for the default graph) as text, and ``literal``, whether the object is one.
        Blank nodes begin with ``_:``.
    reified:
        ``node``, ``s``, ``p``, ``o``, ``literal``: triple terms and the node that reifies each.
    """

    plain: pl.DataFrame
    reified: pl.DataFrame


def read_quads(file: BinaryIO, path: Path, format: str, rejections: Rejections, blank_prefix: str = "") -> Quads:
    """Parse a file; statements that are no RDF are rejected, and the rest of the file is read.

    Parameters
    ----------
    blank_prefix:
        Goes before the name of every blank node, to keep those of several files apart.
    """
    collected = _Collected(_BlankNames(blank_prefix).of)
    if format not in ("ntriples", "nquads"):
        collected.take(_quads(file, path, format, rejections), has_graphs=format == "trig")
        return collected.quads()
    has_graphs = format == "nquads"
    parts: list[Quads] = []
    for lines in plain_lines(file, has_graphs):
        parts.append(Quads(_prefixed(lines.plain, blank_prefix), _prefixed(lines.reified, blank_prefix)))
        others = _quads(io.BytesIO(lines.others), path, format, rejections, lines.numbers)
        collected.take(others, has_graphs)
    parts.append(collected.quads())
    return Quads(pl.concat([part.plain for part in parts]), pl.concat([part.reified for part in parts]))


def _prefixed(table: pl.DataFrame, prefix: str) -> pl.DataFrame:
    """With the prefix in the name of every blank node; values of literals stay as they are."""
    if not prefix or not table.height:
        return table
    columns = []
    for column in table.select(pl.col(pl.String)).columns:
        is_blank = pl.col(column).str.starts_with("_:") & (~pl.col("literal") | pl.lit(column != "o"))
        named = pl.format(f"_:{prefix}{{}}", pl.col(column).str.strip_prefix("_:"))
        columns.append(pl.when(is_blank).then(named).otherwise(column).alias(column))
    return table.with_columns(columns)


class _Collected:
    """Parsed statements, column by column."""

    def __init__(self, blank: Callable[[str], str]) -> None:
        self._blank = blank
        self._plain, self._reified = _Columns(), _Columns()
        self._graphs: list[str | None] = []

    def take(self, quads: Iterator[Quad], has_graphs: bool) -> None:
        blank, plain, reified, graphs = self._blank, self._plain, self._reified, self._graphs
        for quad in quads:
            # Any, and types compared by hand: this loop is most of the time that parsing takes.
            subject: Any = quad.subject
            object_: Any = quad.object
            name = blank(subject.value) if type(subject) is BlankNode else subject.value
            if type(object_) is not Triple:
                plain.add(name, quad.predicate.value, object_, blank)
                if has_graphs:
                    graph: Any = quad.graph_name
                    kind = type(graph)
                    graphs.append(
                        None if kind is DefaultGraph else blank(graph.value) if kind is BlankNode else graph.value
                    )
            elif quad.predicate.value == REIFIES and type(object_.object) is not Triple:
                triple: Any = object_.subject
                inner = blank(triple.value) if type(triple) is BlankNode else triple.value
                reified.add(inner, object_.predicate.value, object_.object, blank)
                reified.node.append(name)

    def quads(self) -> Quads:
        graphs = pl.Series(self._graphs or [None] * len(self._plain.s), dtype=pl.String)
        return Quads(
            self._plain.table().with_columns(g=graphs).select("s", "p", "o", "g", "literal"),
            self._reified.table()
            .with_columns(node=pl.Series(self._reified.node, dtype=pl.String))
            .select("node", "s", "p", "o", "literal"),
        )


class _Columns:
    """Triples column by column: lists of text cost the garbage collector nothing, a list of tuples a lot."""

    def __init__(self) -> None:
        self.s: list[str] = []
        self.p: list[str] = []
        self.o: list[str] = []
        self.literal: list[bool] = []
        self.node: list[str] = []

    def add(self, subject: str, predicate: str, object_: Any, blank: Callable[[str], str]) -> None:
        self.s.append(subject)
        self.p.append(predicate)
        self.o.append(blank(object_.value) if type(object_) is BlankNode else object_.value)
        self.literal.append(type(object_) is Literal)

    def table(self) -> pl.DataFrame:
        texts = {name: pl.Series(getattr(self, name), dtype=pl.String) for name in ("s", "p", "o")}
        return pl.DataFrame(texts).with_columns(literal=pl.Series(self.literal, dtype=pl.Boolean))


def _quads(
    file: BinaryIO, path: Path, format: str, rejections: Rejections, numbers: Sequence[int] | None = None
) -> Iterator[Quad]:
    """Parsed statements; a syntax error is rejected, and reading goes on where the format allows.

    Parameters
    ----------
    numbers:
        The number of each line, where these are some lines of a file.
    """
    base = None if format in ("ntriples", "nquads") else BASE
    parser = parse(file, format=FORMATS[format], base_iri=base)
    while True:
        try:
            yield from parser
            return
        except SyntaxError as error:
            line = error.lineno
            if numbers is not None and line is not None:
                line = numbers[min(line, len(numbers)) - 1]
            why = _in_words(error, format)
            rejections.add(path, [(0, line)], lambda _, why=why: why, lambda _: "")  # type: ignore[misc]
            if format not in _RECOVERS or line is None:
                return
        except ValueError as error:
            raise InputError(f"{shown(path)}: no {format} ({error}); is its --format right?") from None


def _in_words(error: SyntaxError, format: str) -> str:
    what = re.sub(r"^Parser error at .*?: ", "", str(error.msg))
    if (
        format in ("ntriples", "nquads")
        and "subject of a triple" in what
        and (error.end_offset or 0) - (error.offset or 0) == 2
    ):
        return (
            "a quoted triple as a subject, as the old RDF-star draft had it; read the file with --format turtle, or "
            "write it in RDF 1.2: _:r <…#reifies> <<( s p o )>>"
        )
    return f"no {format}: {what[:200]}"


class _BlankNames:
    """Names of blank nodes: their label, or a number in order of appearance where they have none.

    pyoxigraph gives nodes without a label a random one; a number makes two runs agree.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._names: dict[str, str] = {}
        self._unnamed = 0

    def of(self, label: str) -> str:
        """The name of the node that pyoxigraph labels so."""
        name = self._names.get(label)
        if name is None:
            is_unnamed = _UNNAMED.match(label) is not None
            self._unnamed += is_unnamed
            name = self._names[label] = f"_:{self._prefix}" + (f".{self._unnamed}" if is_unnamed else label)
        return name
