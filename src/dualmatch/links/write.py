"""Links and relations out: tables from an alignment, and every format they are written in.

The table of links has a row for each source entity: ``source``, ``target`` (for verdict *linked* only), ``confidence``
(that the link is right, or that there is no match; null for *undecided*), ``verdict``, ``method``, ``runners_up``
(names with their probability) and, where asked for, ``reasons``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.decode.verdicts import Verdict
from dualmatch.errors import InputError, OutputError
from dualmatch.files.atomic import Transaction, open_output
from dualmatch.files.table_writer import DECIMALS, TABLE_EXTENSIONS, TABLE_WRITERS, check_table, format_by_name
from dualmatch.graph.model import TemporalGraph
from dualmatch.links.naming import Naming
from dualmatch.links.sssom import write_sssom
from dualmatch.methods.alignment import Alignment

Writer = Callable[[pl.DataFrame, BinaryIO, Naming], object]

SAME_AS: Final = "http://www.w3.org/2002/07/owl#sameAs"
_RUNNERS_UP: Final = pl.List(pl.Struct({"target": pl.String, "probability": pl.Float64}))
_RELATION_COLUMNS: Final = dict.fromkeys(("source", "target", "direction"), pl.String) | {
    "score": pl.Float64,
    "support": pl.Int64,
}


def link_table(alignment: Alignment, reasons: Sequence[str] | None = None) -> pl.DataFrame:
    """The table of links, sorted by source; `reasons`, a text for each source row, become its last column."""
    source, target, none = alignment.source.entities, alignment.target.entities, alignment.unlinked
    rows = np.concatenate([alignment.pairs[:, 0], none.row])
    partners = [target[t] for t in alignment.pairs[:, 1].tolist()]
    verdicts = np.where(none.is_no_match, Verdict.NO_MATCH.value, Verdict.UNDECIDED.value).tolist()
    methods = np.where(alignment.is_seed, "seed", alignment.method).tolist()
    table = pl.DataFrame(
        {
            "source": [source[s] for s in rows.tolist()],
            "target": pl.Series([*partners, *[None] * len(none.row)], dtype=pl.String),
            "confidence": pl.Series(np.concatenate([alignment.confidence, none.confidence])).fill_nan(None),
            "verdict": [Verdict.LINKED.value] * len(partners) + verdicts,
            "method": methods + [alignment.method] * len(none.row),
            "runners_up": _runners_up(alignment, rows),
        }
    )
    if reasons is not None:
        table = table.with_columns(pl.Series("reasons", [reasons[s] for s in rows.tolist()], dtype=pl.String))
    return table.sort("source", maintain_order=True)


def _runners_up(alignment: Alignment, rows: NDArray[np.integer]) -> pl.Series:
    """A list for each row, best first; by columns, since a million lists of objects take minutes."""
    names, listed = alignment.target.entities, alignment.runners_up
    targets, probabilities = listed.target[rows], listed.probability[rows]
    row, place = np.nonzero(targets >= 0)
    each = pl.DataFrame(
        {
            "row": row,
            "target": pl.Series([names[t] for t in targets[row, place].tolist()], dtype=pl.String),
            "probability": [round(p, DECIMALS) for p in probabilities[row, place].tolist()],
        },
        schema_overrides={"probability": pl.Float64},
    )
    lists = each.group_by("row", maintain_order=True).agg(pl.struct("target", "probability").alias("listed"))
    whole = pl.DataFrame({"row": np.arange(len(rows))}).join(lists, on="row", how="left", maintain_order="left")
    nothing = pl.lit(pl.Series([[]], dtype=_RUNNERS_UP))
    return whole.select(pl.coalesce(pl.col("listed").cast(_RUNNERS_UP), nothing).alias("runners_up"))["runners_up"]


def relation_table(alignment: Alignment) -> pl.DataFrame:
    """Which relations say the same: a row a pair with direction (same or inverse), score and support.

    Sorted by source and score. An `InputError` where the method learns no relation alignment.
    """
    if alignment.relations is None:
        raise InputError(no_relations(alignment.method))
    source, target, n_target = alignment.source.relations, alignment.target.relations, alignment.target.n_relations
    links = zip(*(column.tolist() for column in alignment.relations.links()), strict=True)
    rows = [
        (source[s], target[t % n_target], "inverse" if t >= n_target else "same", score, support)
        for s, t, score, support in links
    ]
    rows.sort(key=lambda row: (row[0], -round(row[3], 6), row[1], row[2]))
    return pl.DataFrame(rows, schema=_RELATION_COLUMNS, orient="row")


def no_relations(method: str) -> str:
    return f"method {method} learns no relation alignment; use method evidence or fused, or leave --relations out"


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
    write_links(link_table(alignment, reasons), Path(path), format, naming)


def write_links(
    table: pl.DataFrame,
    path: Path,
    format: str | None = None,
    naming: Naming | None = None,
    together: Transaction | None = None,
) -> None:
    """Write a table of links, as `write_alignment` does."""
    format = link_format(path, format)
    unnamed = table.filter(pl.col("target") == "")
    if unnamed.height:
        raise OutputError(
            f"{path}: the partner of {unnamed['source'][0]!r} has an empty name, which would mean no link; name it"
        )
    check_table(table, path, format)
    with open_output(path, together) as file:
        LINK_FORMATS[format](table, file, naming or Naming())


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
