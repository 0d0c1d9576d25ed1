"""Rows of link files: CSV, Parquet, JSON lines, owl:sameAs and SSSOM; what is wrong comes with its line.

TSV is read by `dualmatch.links.read` itself. In Parquet, which has no lines, rows are counted.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
import pyoxigraph

from dualmatch.links.naming import BUILT_IN, Naming
from dualmatch.links.sssom import NO_TERM, curie_map
from dualmatch.links.write import SAME_AS

HEADER: Final = ("source", "target", "confidence")
Row = tuple[int, str, str | None, str | None, str | None, str | None]
"""Line, source, target (None: no link), confidence, method and verdict (None: not said)."""

_SSSOM: Final = ("subject_id", "object_id")
_NUMBER: Final = int | float
NO_MATCH: Final = "no match"


@dataclass(frozen=True)
class BadRow:
    """What is wrong on a line; None for the line where it is the whole file."""

    line: int | None
    what: str


Rows = Iterator[Row | BadRow]


def _from_csv(data: bytes, _: Naming) -> Rows:
    lines = _text(data)
    if isinstance(lines, BadRow):
        yield lines
        return
    for line, fields in _records(lines.split("\n"), ",", HEADER, 1):
        yield BadRow(line, fields) if isinstance(fields, str) else _row(line, fields)


def _from_sssom(data: bytes, _: Naming) -> Rows:
    """A label is the name, where there is one; an IRI is a name of its own."""
    text = _text(data)
    if isinstance(text, BadRow):
        yield text
        return
    lines = text.split("\n")
    head = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    prefixes = {**BUILT_IN, **curie_map(lines[:head])}
    # 0.1.0 said NoTermFound of every entity without a link
    says_no_match = not any(line.startswith('#mapping_tool_version: "0.1.') for line in lines[:head])
    for line, fields in _records(lines[head:], "\t", _SSSOM, head + 1):
        if isinstance(fields, str):
            yield BadRow(line, fields)
            continue
        if fields.get("predicate_modifier") == "Not":
            continue  # said not to be the same
        unknown = [fields[name] for name in _SSSOM if fields[name].partition(":")[0] not in prefixes]
        if unknown:
            yield BadRow(line, f"{unknown[0]!r} has no prefix of the curie_map; add it there, or write the CURIE anew")
            continue
        names = [
            fields.get(f"{end}_label") or _expanded(fields[f"{end}_id"], prefixes) for end in ("subject", "object")
        ]
        target = None if fields["object_id"] == NO_TERM else names[1]
        method = (fields.get("comment") or "").removeprefix("method ").split(";")[0]
        verdict = NO_MATCH if target is None and says_no_match else None
        yield line, names[0], target, fields.get("confidence") or None, method or None, verdict


def _from_parquet(data: bytes, _: Naming) -> Rows:
    try:
        table = pl.read_parquet(data)
    except (pl.exceptions.PolarsError, OSError):
        yield BadRow(None, "no readable Parquet file; align again")
        return
    if missing := _missing(table.columns, HEADER):
        yield BadRow(None, missing)
        return
    for number, fields in enumerate(table.iter_rows(named=True), start=1):
        yield _row(number, fields)


def _from_json_lines(data: bytes, _: Naming) -> Rows:
    text = _text(data)
    if isinstance(text, BadRow):
        yield text
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            yield BadRow(number, "no JSON; each line is an object of its own")
            continue
        if not isinstance(fields, dict):
            yield BadRow(number, 'no JSON object; write {"source": …, "target": …, "confidence": …}')
        elif missing := _missing(fields, HEADER):
            yield BadRow(number, missing)
        else:
            yield _row(number, fields)


def _from_same_as(data: bytes, naming: Naming) -> Rows:
    """Line by line, as N-Triples are: the parser would not tell the line of a statement."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            quads = [*pyoxigraph.parse(line, format=pyoxigraph.RdfFormat.N_TRIPLES)]
        except (SyntaxError, ValueError):
            yield BadRow(number, "no N-Triples; a link is <source> <http://www.w3.org/2002/07/owl#sameAs> <target> .")
            continue
        for quad in quads:
            if quad.predicate.value != SAME_AS:
                continue
            ends: tuple[Any, Any] = quad.subject, quad.object
            if not all(isinstance(end, pyoxigraph.NamedNode) for end in ends):
                yield BadRow(number, f"{ends[0]} is linked with {ends[1]}; a link is between two IRIs")
                continue
            source, target = naming.name(ends[0].value, "source"), naming.name(ends[1].value, "target")
            yield number, source, target, None, None, None


def _row(line: int, fields: Mapping[str, Any]) -> Row | BadRow:
    source, target, confidence = (fields[name] for name in HEADER)
    if not isinstance(source, str) or not isinstance(target, str | None):
        return BadRow(line, "source and target must be names, in quotes; a target may be null where there is no link")
    if not isinstance(confidence, str | _NUMBER | None) or isinstance(confidence, bool):
        return BadRow(line, f"{confidence!r} is no confidence; write a number from 0 to 1")
    method, verdict = fields.get("method"), fields.get("verdict")
    return (
        line,
        source,
        target,
        None if confidence is None else str(confidence),
        None if method is None else str(method),
        None if verdict is None else str(verdict),
    )


def _records(
    lines: Sequence[str], separator: str, needed: Sequence[str], first: int
) -> Iterator[tuple[int, dict[str, str] | str]]:
    """(line, fields) of a table with a header, or (line, what is wrong); `first` is the number of its first line."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=separator, strict=True)
    header: list[str] | None = None
    line = first
    try:
        for record in reader:
            begun, line = line, first + reader.line_num
            if not any(record):
                continue
            if header is None:
                header = [name.strip() for name in record]
                if missing := _missing(header, needed):
                    yield begun, missing
                    return
            elif len(record) != len(header):
                yield begun, f"{len(record)} columns where the header has {len(header)}; mend the line"
            else:
                yield begun, dict(zip(header, record, strict=True))
    except csv.Error:
        yield line, "quotes that do not end, or text after them; mend them"
        return
    if header is None:
        yield first, f"no columns; the first line must name {', '.join(needed)}"


def _missing(columns: Sequence[str] | Mapping[str, Any], needed: Sequence[str]) -> str:
    missing = [name for name in needed if name not in columns]
    if not missing:
        return ""
    return f"no {' and no '.join(missing)}; links have {', '.join(needed)}, so give a file that align wrote"


def _text(data: bytes) -> str | BadRow:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return BadRow(data.count(b"\n", 0, error.start) + 1, "not UTF-8 text; convert the file to UTF-8")


def _expanded(curie: str, prefixes: Mapping[str, str]) -> str:
    prefix, _, local = curie.partition(":")
    return prefixes[prefix] + local


ROWS: Final[dict[str, Callable[[bytes, Naming], Rows]]] = {
    "csv": _from_csv,
    "parquet": _from_parquet,
    "jsonl": _from_json_lines,
    "sameas": _from_same_as,
    "sssom": _from_sssom,
}
