"""RDF files to columns: subject, predicate, object and graph as text, through pyoxigraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, parse

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
    names = _BlankNames(blank_prefix)
    subjects, predicates, objects, literals, graphs = [], [], [], [], []
    reified: list[tuple[str, str, str, str, bool]] = []
    has_graphs = format in ("nquads", "trig")
    for quad in _quads(file, path, format, rejections):
        subject, predicate, object_ = quad.subject, quad.predicate.value, quad.object
        name = subject.value if isinstance(subject, NamedNode) else names.of(subject)
        if isinstance(object_, Triple):
            if predicate == REIFIES:
                reified.append((name, *_triple(object_, names)))
            continue
        subjects.append(name)
        predicates.append(predicate)
        objects.append(names.of(object_) if isinstance(object_, BlankNode) else object_.value)
        literals.append(isinstance(object_, Literal))
        if has_graphs:
            graph = quad.graph_name
            graphs.append(None if isinstance(graph, DefaultGraph) else names.of(graph))
    plain = {
        "s": pl.Series(subjects, dtype=pl.String),
        "p": pl.Series(predicates, dtype=pl.String),
        "o": pl.Series(objects, dtype=pl.String),
        "literal": pl.Series(literals, dtype=pl.Boolean),
        "g": pl.Series(graphs or [None] * len(subjects), dtype=pl.String),
    }
    columns = {"node": pl.String, "s": pl.String, "p": pl.String, "o": pl.String, "literal": pl.Boolean}
    return Quads(pl.DataFrame(plain), pl.DataFrame(reified, schema=columns, orient="row"))


def _triple(triple: Triple, names: _BlankNames) -> tuple[str, str, str, bool]:
    subject, object_ = triple.subject, triple.object
    if isinstance(object_, Triple):
        return "", "", "", True  # a triple about a triple: no fact about entities
    name = object_.value if isinstance(object_, Literal) else names.of(object_)
    return names.of(subject), triple.predicate.value, name, isinstance(object_, Literal)


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
        self._numbers: dict[str, str] = {}

    def of(self, node: NamedNode | BlankNode | Triple) -> str:
        """The IRI of a named node, the name of a blank one."""
        assert not isinstance(node, Triple), "RDF 1.2 has triples as objects only"
        label = node.value
        if isinstance(node, NamedNode):
            return label
        if not _UNNAMED.match(label):
            return f"_:{self._prefix}{label}"
        return self._numbers.setdefault(label, f"_:{self._prefix}.{len(self._numbers) + 1}")
