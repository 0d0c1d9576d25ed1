"""RDF files to columns: subject, predicate, object and graph as text, through pyoxigraph."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl
from pyoxigraph import BlankNode, DefaultGraph, Literal, Quad, RdfFormat, Triple, parse

from dualmatch.errors import InputError
from dualmatch.files.compressed import shown
from dualmatch.readers.rdf.triple_lines import REIFIES, OddLine, plain_lines
from dualmatch.readers.rejected_lines import Rejections

FORMATS: Final = {
    "ntriples": RdfFormat.N_TRIPLES,
    "nquads": RdfFormat.N_QUADS,
    "turtle": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "rdfxml": RdfFormat.RDF_XML,
}
BASE: Final = "file:///"
"""What relative IRIs are resolved against where a file has no base of its own."""

_BY_LINES: Final = {"ntriples", "nquads"}
_RECOVERS: Final = {"turtle", "trig"}
# Lines are parsed out of their place: a message's own file:line is the right one.
_POSITION: Final = re.compile(r"^Parser error (?:at|between) line [\w ]*?: ")
_AT_ONCE: Final = 1000
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
    if format not in _BY_LINES:
        collected.take(_quads(file, path, format, rejections), has_graphs=format == "trig")
        return collected.quads()
    has_graphs = format == "nquads"
    parts: list[Quads] = []
    for lines in plain_lines(file, has_graphs):
        parts.append(Quads(_prefixed(lines.plain, blank_prefix), _prefixed(lines.reified, blank_prefix)))
        collected.take(_quads_of_lines(lines.others, path, format, rejections), has_graphs)
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


def _quads_of_lines(lines: Sequence[OddLine], path: Path, format: str, rejections: Rejections) -> Iterator[Quad]:
    """Parsed lines, many at once; where one of them is wrong, each alone: what it opens must not swallow others."""
    kind = FORMATS[format]
    with _right_format(path, format):
        for start in range(0, len(lines), _AT_ONCE):
            some = lines[start : start + _AT_ONCE]
            try:
                quads = list(parse(b"\n".join(line for _, line in some), format=kind))
            except SyntaxError:
                quads = []
                for number, line in some:
                    try:
                        quads += list(parse(line, format=kind))
                    except SyntaxError as error:
                        _reject(error, path, number, format, rejections, line.decode("utf-8", "replace"))
            yield from quads


def _quads(file: BinaryIO, path: Path, format: str, rejections: Rejections) -> Iterator[Quad]:
    """Parsed statements; a line with a syntax error is rejected, once, and reading goes on where the format allows."""
    parser = parse(file, format=FORMATS[format], base_iri=BASE)
    last = None
    while True:
        try:
            with _right_format(path, format):
                yield from parser
            return
        except SyntaxError as error:
            if error.lineno is None or error.lineno != last:
                _reject(error, path, error.lineno, format, rejections)
            last = error.lineno
            if format not in _RECOVERS or last is None:
                return


@contextmanager
def _right_format(path: Path, format: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise InputError(f"{shown(path)}: no {format} ({error}); is its --format right?") from None


def _reject(
    error: SyntaxError, path: Path, line: int | None, format: str, rejections: Rejections, text: str = ""
) -> None:
    why = _in_words(error, format)
    rejections.add(path, [(0, line)], lambda _: why, lambda _: text)


def _in_words(error: SyntaxError, format: str) -> str:
    what = _POSITION.sub("", str(error.msg))
    if "Invalid UTF-8" in what:
        what = "not UTF-8 text; convert the file to UTF-8"
    elif what.startswith("Unexpected end") and format in _BY_LINES:
        what = "the line ends before its statement does; close what it opens, and end it with a dot"
    if format in _BY_LINES and "subject of a triple" in what and (error.end_offset or 0) - (error.offset or 0) == 2:
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
