"""RDF files to columns: subject, predicate, object and graph as text, through pyoxigraph."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl
from pyoxigraph import BlankNode, DefaultGraph, Literal, Quad, RdfFormat, Triple, parse

from dualmatch.errors import FileProblem, InputError
from dualmatch.files.bounded import LONGEST_LINE
from dualmatch.files.compressed import STANDARD_INPUT, as_file, blocks, opened, shown
from dualmatch.graph.written_dates import LONGEST
from dualmatch.readers.rdf.bounds import DEEPEST, BoundedFile, is_nested_too_deep
from dualmatch.readers.rdf.entity_values import NAMES
from dualmatch.readers.rdf.known_contexts import KnownContexts
from dualmatch.readers.rdf.language_tags import LanguageTags
from dualmatch.readers.rdf.triple_lines import REIFIES, OddLine, Quads, plain_lines
from dualmatch.readers.rejected_lines import Rejections

_FORMATS: Final = {
    "ntriples": RdfFormat.N_TRIPLES,
    "nquads": RdfFormat.N_QUADS,
    "turtle": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "rdfxml": RdfFormat.RDF_XML,
    "jsonld": RdfFormat.JSON_LD,
}
_BASE: Final = "file:///"
"""What relative IRIs are resolved against where a file has no base of its own."""
_BY_LINES: Final = {"ntriples", "nquads"}
_HAS_GRAPHS: Final = {"nquads", "trig", "jsonld"}
_RECOVERS: Final = {"turtle", "trig"}
# Lines are parsed out of their place: a message's own file:line is the right one.
_POSITION: Final = re.compile(r"^Parser error (?:at|between) line [\w ]*?: ")
_AT_ONCE: Final = 1000
_LONGEST_TEXT: Final = 2 * LONGEST
"""What is longer is not a date, and of no use unless it is a name."""
_MOST_ERRORS: Final = 1000  # of one line
_MOST_WRONG: Final = 100_000  # lines, before the rest is read
_UNNAMED: Final = re.compile(r"[0-9a-f]{24,32}\Z")


def read_quads(
    file: BinaryIO,
    path: Path,
    format: str,
    rejections: Rejections,
    blank_prefix: str = "",
    longest: int = LONGEST_LINE,
    keeps_texts: bool = True,
) -> Quads:
    """Parse a file; statements that are not valid RDF are rejected, and the rest of the file is read.

    `blank_prefix` goes before the name of every blank node, to keep those of several files apart. No line is longer
    than `longest`. Without `keeps_texts`, long literals that are not names are cut: they are counted, never read.
    """
    parts: list[Quads] = []
    tags, contexts = LanguageTags(), KnownContexts()
    longest_text = None if keeps_texts else _LONGEST_TEXT
    parser = _Parser(path, format, rejections, tags, longest_text)
    if format in _BY_LINES:
        for quads, others in plain_lines(file, format in _HAS_GRAPHS, longest):
            parts.append(quads if keeps_texts else _cut(quads))
            parser.take(parser.quads_of_lines(others))
    elif format == "jsonld":  # whose parser leaves out what has a long tag without a word
        pieces = contexts.filled(map(tags.shortened_json, blocks(file, 1 << 20)))
        parser.take(parser.quads_of_file(as_file(pieces), are_short=True))
    elif path == STANDARD_INPUT:
        parser.take(parser.quads_of_file(tags.file_with_short(file), are_short=True))
    else:
        try:
            parser.take(parser.quads_of_file(file))
        except _LongTagError:
            parser = _Parser(path, format, rejections, tags, longest_text)
            with opened(path) as again:
                parser.take(parser.quads_of_file(tags.file_with_short(again), are_short=True))
    parser.report()
    parts.append(parser.quads())
    plain, reified = pl.concat([part.plain for part in parts]), pl.concat([part.reified for part in parts])
    plain, reified = tags.restored(plain), tags.restored(reified)
    note = "; ".join(filter(None, (tags.note, contexts.note)))
    return Quads(_prefixed(plain, blank_prefix), _prefixed(reified, blank_prefix), note)


def _cut(quads: Quads) -> Quads:
    is_long = pl.col("literal") & (pl.col("o").str.len_bytes() > _LONGEST_TEXT) & ~pl.col("p").is_in([*NAMES])
    if not quads.plain.select(is_long.any()).item():
        return quads
    # Joined with nothing, so that the text is a new one, and the long one can go.
    short = pl.concat_str(pl.col("o").str.head(_LONGEST_TEXT), pl.lit(""))
    return replace(quads, plain=quads.plain.with_columns(o=pl.when(is_long).then(short).otherwise("o")))


class _LongTagError(Exception):
    """A language tag is too long for the parser."""


def _prefixed(table: pl.DataFrame, prefix: str) -> pl.DataFrame:
    """With the prefix in the name of every blank node; values of literals stay as they are."""
    if not prefix or not table.height:
        return table
    columns = []
    for column in table.select(pl.col(pl.String).exclude("tag")).columns:
        is_blank = pl.col(column).str.starts_with("_:") & (~pl.col("literal") | pl.lit(column != "o"))
        named = pl.format(f"_:{prefix}{{}}", pl.col(column).str.strip_prefix("_:"))
        columns.append(pl.when(is_blank).then(named).otherwise(column).alias(column))
    return table.with_columns(columns)


class _Columns:
    """Triples column by column: lists of text cost the garbage collector nothing, a list of tuples a lot."""

    def __init__(self) -> None:
        self.s: list[str] = []
        self.p: list[str] = []
        self.o: list[str] = []
        self.literal: list[bool] = []
        self.tag: list[str | None] = []
        self.context: list[str | None] = []
        """The graph of a plain triple, the node of a reified one."""

    def add(
        self, subject: str, predicate: str, object_: Any, name_of: Callable[[str], str], longest: int | None = None
    ) -> None:
        self.s.append(subject)
        self.p.append(predicate)
        value = name_of(object_.value) if type(object_) is BlankNode else object_.value
        is_literal = type(object_) is Literal
        if is_literal and longest is not None and len(value) > longest and predicate not in NAMES:
            value = value[:longest]
        self.o.append(value)
        self.literal.append(is_literal)
        self.tag.append(
            (f"@{object_.language}" if object_.language else object_.datatype.value) if is_literal else None
        )

    def table(self, context: str, order: Sequence[str]) -> pl.DataFrame:
        texts: dict[str, Sequence[str | None]] = {"s": self.s, "p": self.p, "o": self.o, "tag": self.tag}
        texts[context] = self.context
        columns = {name: pl.Series(values, dtype=pl.String) for name, values in texts.items()}
        return pl.DataFrame({**columns, "literal": pl.Series(self.literal, dtype=pl.Boolean)}).select(order)


class _Parser:
    """Parse statements of one file and keep them.

    Blank nodes are named by their label, or by a number in order of appearance where they have none: pyoxigraph gives
    those a random label, with which no two runs would agree.
    """

    def __init__(
        self, path: Path, format: str, rejections: Rejections, tags: LanguageTags, longest_text: int | None
    ) -> None:
        self.path, self.format, self.rejections, self.tags = path, format, rejections, tags
        self._longest_text = longest_text
        self._errors: list[tuple[SyntaxError, int | None, str]] = []
        self._plain, self._reified = _Columns(), _Columns()
        self._blank_names: dict[str, str] = {}
        self._unnamed = 0

    def take(self, quads: Iterator[Quad]) -> None:
        """Keep statements."""
        plain, reified, has_graphs, name_of = self._plain, self._reified, self.format in _HAS_GRAPHS, self._name_of
        longest = self._longest_text
        for quad in quads:
            # Any, and types compared by hand: this loop is most of the time that parsing takes.
            subject: Any = quad.subject
            object_: Any = quad.object
            name = name_of(subject.value) if type(subject) is BlankNode else subject.value
            if type(object_) is not Triple:
                plain.add(name, quad.predicate.value, object_, name_of, longest)
                graph: Any = quad.graph_name if has_graphs else None
                if graph is None or type(graph) is DefaultGraph:
                    plain.context.append(None)
                else:
                    plain.context.append(name_of(graph.value) if type(graph) is BlankNode else graph.value)
            elif quad.predicate.value == REIFIES and type(object_.object) is not Triple:
                triple: Any = object_.subject
                inner = name_of(triple.value) if type(triple) is BlankNode else triple.value
                reified.add(inner, object_.predicate.value, object_.object, name_of)
                reified.context.append(name)

    def quads(self) -> Quads:
        """All that was kept."""
        plain = self._plain.table("g", ("s", "p", "o", "g", "literal", "tag"))
        return Quads(plain, self._reified.table("node", ("node", "s", "p", "o", "literal")))

    def quads_of_lines(self, lines: Sequence[OddLine]) -> Iterator[Quad]:
        """Parse lines, many at once; where one of them is wrong, each alone: what it opens must not swallow others."""
        kind = _FORMATS[self.format]
        with self._right_format():
            for start in range(0, len(lines), _AT_ONCE):
                some = lines[start : start + _AT_ONCE]
                if deep := next((number for number, line in some if is_nested_too_deep(line)), None):
                    raise InputError(f"{shown(self.path)}:{deep}: more than {DEEPEST:,} triple terms in one line")
                try:
                    quads = list(parse(b"\n".join(line for _, line in some), format=kind))
                except SyntaxError:
                    quads = []
                    for number, line in some:
                        try:
                            quads += self._quads_of_line(line)
                        except SyntaxError as error:
                            self._errors.append((error, number, line.decode("utf-8", "replace")))
                if len(self._errors) > max(_MOST_WRONG, self.rejections.limit):
                    self.report()
                    self.rejections.end_of_file()  # a file of something else
                yield from quads

    def _quads_of_line(self, line: bytes) -> list[Quad]:
        try:
            return list(parse(line, format=_FORMATS[self.format]))
        except SyntaxError as error:
            if not self.tags.are_why(error):
                raise
            return list(parse(self.tags.shortened(line), format=_FORMATS[self.format]))

    def quads_of_file(self, file: BinaryIO, are_short: bool = False) -> Iterator[Quad]:
        """Parse a file; a line with a syntax error is rejected, once, and the rest is read where the format allows.

        A tag that is too long ends in a `_LongTagError`, unless `are_short`: then it is an error like others.
        """
        bounded: Any = BoundedFile(file, self.path, self.format)
        parser = parse(bounded, format=_FORMATS[self.format], base_iri=_BASE)
        last, errors = None, 0
        while True:
            try:
                with self._right_format():
                    yield from parser
                return
            except SyntaxError as error:
                if self.tags.are_why(error) and not are_short:
                    raise _LongTagError from None
                if self.format not in _RECOVERS or error.lineno is None:
                    problem = FileProblem(Path(shown(self.path)), error.lineno, _in_words(error, self.format))
                    raise InputError(str(problem)) from None
                if error.lineno != last:
                    self._errors.append((error, error.lineno, ""))
                errors = errors + 1 if error.lineno == last else 0
                last = error.lineno
                if errors > _MOST_ERRORS:  # each costs the parser a look at the whole line
                    name = _FORMATS[self.format].name
                    raise InputError(f"{shown(self.path)}:{last}: not valid {name}; is its --format right?") from None

    @contextmanager
    def _right_format(self) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            name = _FORMATS[self.format].name
            raise InputError(f"{shown(self.path)}: not valid {name} ({error}); is its --format right?") from None
        except MemoryError:  # a limit of the parser's own
            raise InputError(f"{shown(self.path)}: a literal or name of more than 16 MiB; leave it out") from None

    def report(self) -> None:
        """Reject what could not be parsed."""
        for error, line, text in self._errors:
            why = _in_words(error, self.format)
            self.rejections.add(self.path, [(0, line)], lambda _, why=why: why, lambda _, text=text: text)  # type: ignore[misc]

    def _name_of(self, label: str) -> str:
        """The name of the blank node that pyoxigraph labels so."""
        name = self._blank_names.get(label)
        if name is None:
            is_unnamed = _UNNAMED.match(label) is not None
            self._unnamed += is_unnamed
            name = self._blank_names[label] = f"_:.{self._unnamed}" if is_unnamed else f"_:{label}"
        return name


def _in_words(error: SyntaxError, format: str) -> str:
    what = _POSITION.sub("", str(error.msg))
    if "LoadDocumentCallback" in what:
        return (
            "its context is on the web, and nothing is fetched; put the context itself into the file: "
            '"@context": {"@vocab": "http://example.org/"}, for example'
        )
    if "Invalid UTF-8" in what:
        what = "not UTF-8 text; convert the file to UTF-8"
    elif what.startswith("Unexpected end") and format in _BY_LINES:
        what = "the line ends before its statement does; close what it opens, and end it with a dot"
    if format in _BY_LINES and "subject of a triple" in what and (error.end_offset or 0) - (error.offset or 0) == 2:
        return (
            "a quoted triple as a subject, as the old RDF-star draft had it; read the file with --format turtle, or "
            "write it in RDF 1.2: _:r <…#reifies> <<( s p o )>>"
        )
    rest = "" if format in _BY_LINES | _RECOVERS else "; nothing after that can be read: fix it, or make the file again"
    return f"not valid {_FORMATS[format].name}: {what[:200]}{rest}"
