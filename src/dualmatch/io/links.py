"""Alignment files in: read from every format that `dualmatch.io.export` writes.

A TSV of the three columns ``source``, ``target`` and ``confidence`` will do; an empty target means no match.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import pyoxigraph
from numpy.typing import NDArray

from dualmatch.errors import SHOWN_PROBLEMS, InputError, Problem, input_error
from dualmatch.io.export import LINK_EXTENSIONS, SAME_AS
from dualmatch.io.lines import LINE, read_fields
from dualmatch.io.naming import BUILT_IN, Naming
from dualmatch.io.opening import opened
from dualmatch.io.sssom import NO_TERM, curie_map

HEADER: Final = ("source", "target", "confidence")
COLUMNS: Final = (*HEADER, "method", "runners_up", "reasons")
_READ: Final = (*HEADER, "method")
_SCHEMA: Final = {LINE: pl.Int64, **dict.fromkeys(_READ, pl.String)}


def read_links(path: Path, naming: Naming | None = None) -> tuple[list[tuple[str, str]], NDArray[np.float64]]:
    """Read an alignment file back: the name pairs and their confidences; rows without a target are no pairs.

    Parameters
    ----------
    naming:
        How names became IRIs, for ``owl:sameAs`` triples. Where a file has no confidences, links count as sure.
    """
    table = _read_table(path, naming)
    confidence = table["confidence"].fill_null("1").str.strip_chars().cast(pl.Float64, strict=False)
    wrong = table.filter(confidence.is_null() | ~confidence.is_between(0, 1))
    _refuse(wrong, path, "confidence", "{!r} is no confidence; write a number from 0 to 1")
    repeated = table.filter(~table["source"].is_first_distinct())
    _refuse(repeated, path, "source", "{!r} has a row above already; keep one of them")
    matched = table["target"] != ""
    links = table.filter(matched)
    return list(links.select("source", "target").iter_rows()), confidence.filter(matched).to_numpy()


def read_unmatched(path: Path) -> list[str]:
    """The source entities that an alignment file says have no match."""
    table = _read_table(path)
    return table.filter(table["target"] == "")["source"].to_list()


def method_of(path: Path) -> str | None:
    """The method that made an alignment file; None where the file does not say."""
    methods = _read_table(path)["method"].drop_nulls().unique()
    made = sorted(set(methods.to_list()) - {"seed"})
    return made[0] if made else None


def read_name_pairs(path: Path) -> list[tuple[str, str]]:
    """A gold file of two columns of names, without a header."""
    table = read_fields(path, ("source", "target"), 2, "a pair")
    return list(table.select("source", "target").iter_rows())


def _refuse(wrong: pl.DataFrame, path: Path, column: str, words: str) -> None:
    if wrong.height:
        rows = wrong.head(SHOWN_PROBLEMS).select(LINE, column).iter_rows()
        raise input_error([Problem(path, line, words.format(value)) for line, value in rows], wrong.height)


def _read_table(path: Path, naming: Naming | None = None) -> pl.DataFrame:
    """Columns `LINE` and `_READ` as text: an empty target is no match, null is what the file does not say."""
    format = next((format for end, format in LINK_EXTENSIONS.items() if path.name.lower().endswith(end)), "tsv")
    if format == "tsv":
        return _from_tsv(path)
    try:
        with opened(path) as file:
            rows = [*_ROWS[format](file.read(), naming or Naming())]
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        SyntaxError,
        csv.Error,
        pl.exceptions.PolarsError,
    ) as error:
        raise InputError(f"{path}: cannot be read as links in {format} ({error}); align again") from error
    table = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    return table.with_columns(pl.col("target").fill_null(""))


def _from_tsv(path: Path) -> pl.DataFrame:
    table = read_fields(path, COLUMNS, len(HEADER), "an alignment")
    header = tuple(name for name in table.row(0)[1:] if name is not None) if table.height else ()
    if header != COLUMNS[: len(header)] or len(header) < len(HEADER):
        line = table[LINE][0] if table.height else 1
        raise InputError(f"{path}:{line}: no alignment file; its first line must be {' <tab> '.join(HEADER)} …")
    table = table.slice(1)
    missing = table[header[-1]].is_null()
    extra = table[COLUMNS[len(header)]].is_not_null() if len(header) < len(COLUMNS) else ~missing & missing
    torn = table.filter(missing | extra)
    if torn.height:
        what = f"the header names {len(header)} columns, this row has another number; mend it"
        raise input_error([Problem(path, line, what) for line in torn[LINE].head(SHOWN_PROBLEMS)], torn.height)
    return table


Row = tuple[int, str, str | None, str | None, str | None]


def _row(line: int, fields: dict[str, Any]) -> Row:
    source, target, confidence = (fields[name] for name in HEADER)
    if not isinstance(source, str) or not isinstance(target, str | None):
        raise TypeError(f"row {line}: source and target must be names")
    return line, source, target, None if confidence is None else str(confidence), fields.get("method")


def _from_csv(data: bytes, _: Naming) -> Iterator[Row]:
    reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
    for fields in reader:
        yield _row(reader.line_num, fields)


def _from_parquet(data: bytes, _: Naming) -> Iterator[Row]:
    for number, fields in enumerate(pl.read_parquet(data).iter_rows(named=True), start=1):
        yield _row(number, fields)


def _from_json_lines(data: bytes, _: Naming) -> Iterator[Row]:
    for number, line in enumerate(data.decode("utf-8-sig").split("\n"), start=1):
        if line.strip():
            yield _row(number, json.loads(line))


def _from_same_as(data: bytes, naming: Naming) -> Iterator[Row]:
    for number, quad in enumerate(pyoxigraph.parse(data, format=pyoxigraph.RdfFormat.N_TRIPLES), start=1):
        if quad.predicate.value == SAME_AS:
            source, target = naming.name(quad.subject.value, "source"), naming.name(quad.object.value, "target")
            yield number, source, target, None, None


def _from_sssom(data: bytes, _: Naming) -> Iterator[Row]:
    """A label is the name, where there is one; an IRI is a name of its own."""
    lines = data.decode("utf-8-sig").splitlines(keepends=True)
    head = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    prefixes = {**BUILT_IN, **curie_map(lines[:head])}
    reader = csv.DictReader(io.StringIO("".join(lines[head:]), newline=""), delimiter="\t", strict=True)
    for row in reader:
        names = [row.get(f"{end}_label") or _expanded(row[f"{end}_id"], prefixes) for end in ("subject", "object")]
        target = None if row["object_id"] == NO_TERM else names[1]
        method = (row.get("comment") or "").removeprefix("method ").split(";")[0]
        yield head + reader.line_num, names[0], target, row.get("confidence") or None, method or None


def _expanded(curie: str, prefixes: dict[str, str]) -> str:
    prefix, _, local = curie.partition(":")
    return prefixes[prefix] + local


_ROWS: Final[dict[str, Callable[[bytes, Naming], Iterator[Row]]]] = {
    "csv": _from_csv,
    "parquet": _from_parquet,
    "jsonl": _from_json_lines,
    "sameas": _from_same_as,
    "sssom": _from_sssom,
}
