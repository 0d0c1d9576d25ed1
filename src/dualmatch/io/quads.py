"""RDF files to columns: subject, predicate, object and graph as text, through pyoxigraph."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl
from pyoxigraph import BlankNode, DefaultGraph, Literal, Quad, RdfFormat, Triple, parse

from dualmatch.errors import InputError
from dualmatch.io.opening import shown
from dualmatch.io.rejections import Rejections

FORMATS: Final = {
    "ntriples": RdfFormat.N_TRIPLES,
    "nquads": RdfFormat.N_QUADS,
    "turtle": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "rdfxml": RdfFormat.RDF_XML,
}
REIFIES: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies"
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
    blank = _BlankNames(blank_prefix).of
    plain, reified = _Columns(), _Columns()
    graphs: list[str | None] = []
    has_graphs = format in ("nquads", "trig")
    for quad in _quads(file, path, format, rejections):
        # Any, and types compared by hand: this loop is most of the time that reading RDF takes.
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
    return Quads(
        plain.table().with_columns(g=pl.Series(graphs or [None] * len(plain.s), dtype=pl.String)),
        reified.table().with_columns(node=pl.Series(reified.node, dtype=pl.String)),
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


def _quads(file: BinaryIO, path: Path, format: str, rejections: Rejections) -> Iterator[Quad]:
    """Parsed statements; a syntax error is rejected, and reading goes on where the format allows."""
    base = None if format in ("ntriples", "nquads") else BASE
    parser = parse(file, format=FORMATS[format], base_iri=base)
    while True:
        try:
            yield from parser
            return
        except SyntaxError as error:
            line = error.lineno
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
