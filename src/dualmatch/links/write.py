"""Links out: every format that the table of an alignment (`dualmatch.methods.link_table`) is written in."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl

from dualmatch.errors import InputError, OutputError
from dualmatch.files.atomic import Transaction, open_output
from dualmatch.files.table_writer import DECIMALS, TABLE_EXTENSIONS, TABLE_WRITERS, check_table, format_by_name
from dualmatch.graph.model import TemporalGraph
from dualmatch.links.naming import Naming
from dualmatch.links.sssom import labelled, write_sssom
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.link_table import link_table

Writer = Callable[[pl.DataFrame, BinaryIO, Naming], object]

SAME_AS: Final = "http://www.w3.org/2002/07/owl#sameAs"


def write_alignment(
    alignment: Alignment,
    path: str | Path,
    reasons: Sequence[str] | None = None,
    format: str | None = None,
    naming: Naming | None = None,
) -> None:
    """Write an alignment: a row for each source entity, by the names users know.

    Parameters
    ----------
    path:
        A file, which is replaced atomically, or ``-`` for standard output.
    reasons:
        One text for each source row of the alignment, for formats with a column for it.
    format:
        One of `LINK_FORMATS`; by the extension where None.
    naming:
        How names become IRIs and CURIEs, for ``sameas`` and ``sssom``.

    Raises
    ------
    InputError, OutputError
        Where the format is unknown, a name does not fit it, or the file cannot be written.
    """
    if not isinstance(alignment, Alignment):
        raise InputError(f"{alignment!r} is not an alignment; give what dualmatch.align returns")
    write_links(link_table(alignment, reasons), Path(path), format, naming, graphs=(alignment.source, alignment.target))


def write_links(
    table: pl.DataFrame,
    path: Path,
    format: str | None = None,
    naming: Naming | None = None,
    together: Transaction | None = None,
    graphs: tuple[TemporalGraph, TemporalGraph] | None = None,
) -> None:
    """Write a table of links, as `write_alignment` does, with labels of the `graphs` where the format holds some."""
    format = link_format(path, format)
    unnamed = table.filter(pl.col("target") == "")
    if unnamed.height:
        raise OutputError(
            f"{path}: the partner of {unnamed['source'][0]!r} has an empty name, which would mean no link; name it"
        )
    check_table(table, path, format)
    table = with_labels(table, format, graphs)
    with open_output(path, together) as file:
        LINK_FORMATS[format](table, file, naming or Naming())


def with_labels(table: pl.DataFrame, format: str, graphs: tuple[TemporalGraph, TemporalGraph] | None) -> pl.DataFrame:
    """A table of links with the labels of both graphs, for formats that have room for them."""
    return labelled(table, graphs[0].labels, graphs[1].labels) if graphs and format == "sssom" else table


def check_names(
    source: TemporalGraph,
    target: TemporalGraph,
    path: Path,
    format: str | None = None,
    reasons: bool = False,
) -> None:
    """Refuse, before any work is done, graphs with a name that links in this format could not hold.

    An `OutputError` whether or not the entity would be linked in the end. With `reasons`, which name relations, those
    are checked too.
    """
    format = link_format(path, format)
    if "" in target.entities:
        raise OutputError(f"{target.name}: an entity has an empty name, which links would take for no link; name it")
    for graph in (source, target):
        names = (*graph.entities, *(graph.relations if reasons else ()))
        check_table(pl.DataFrame({"name": pl.Series(names, dtype=pl.String)}), path, format)


def link_format(path: Path, asked: str | None = None) -> str:
    """The format a file of links has: the one asked for, or by its extension; TSV where it has none.

    >>> link_format(Path("links.sssom.tsv"))
    'sssom'
    """
    if asked is None:
        return format_by_name(path, LINK_EXTENSIONS)
    if asked not in LINK_FORMATS:
        raise InputError(f"no format of links is called {asked!r}; there are {', '.join(LINK_FORMATS)}")
    return asked


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """Runners-up as JSON text, for tables that hold no lists."""
    if "runners_up" not in table.columns:
        return table
    texts = [
        json.dumps(_pairs(listed), ensure_ascii=False, separators=(",", ":"))
        for listed in table["runners_up"].to_list()
    ]
    return table.with_columns(pl.Series("runners_up", texts, dtype=pl.String))


def _pairs(runners_up: list[dict[str, Any]]) -> list[list[Any]]:
    return [[each["target"], each["probability"]] for each in runners_up]


def _write_json_lines(table: pl.DataFrame, out: BinaryIO, _: Naming) -> None:
    for row in table.with_columns(pl.col("confidence").round(DECIMALS)).iter_rows(named=True):
        if "runners_up" in row:
            row["runners_up"] = _pairs(row["runners_up"])
        out.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _write_same_as(table: pl.DataFrame, out: BinaryIO, naming: Naming) -> None:
    """Triples of the linked entities; there is no triple that says of an entity that it has no link."""
    for source, target in table.drop_nulls("target").select("source", "target").iter_rows():
        out.write(f"<{naming.iri(source, 'source')}> <{SAME_AS}> <{naming.iri(target, 'target')}> .\n".encode())


LINK_FORMATS: Final[dict[str, Writer]] = {
    "tsv": lambda table, out, _: TABLE_WRITERS["tsv"](_flat(table), out),
    "csv": lambda table, out, _: TABLE_WRITERS["csv"](_flat(table), out),
    "parquet": lambda table, out, _: TABLE_WRITERS["parquet"](table, out),
    "jsonl": _write_json_lines,
    "sameas": _write_same_as,
    "sssom": write_sssom,
}
LINK_EXTENSIONS: Final = {
    ".sssom.tsv": "sssom",
    **TABLE_EXTENSIONS,
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".nt": "sameas",
}
