"""The alignment file: a row for each source entity, tab-separated, with a header.

``source``, ``target`` (empty: no match), ``confidence``, ``method``, ``runners_up`` and, where asked for,
``reasons``. Files of the first three columns alone are read too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.alignment import Alignment
from dualmatch.errors import SHOWN_PROBLEMS, InputError, OutputError, Problem, input_error
from dualmatch.io.lines import LINE, read_fields
from dualmatch.io.tables import checked_table, write_table

HEADER: Final = ("source", "target", "confidence")
COLUMNS: Final = (*HEADER, "method", "runners_up", "reasons")


def link_table(alignment: Alignment, reasons: Sequence[str] | None = None) -> pl.DataFrame:
    """The rows of the file, sorted by source, and a column ``partner``: whether the row is a pair.

    Parameters
    ----------
    reasons:
        One text for each source row of the alignment; adds the column ``reasons``.
    """
    source, target = alignment.source.entities, alignment.target.entities
    none = alignment.no_matches
    rows = np.concatenate([alignment.pairs[:, 0], none.row])
    partners = [target[t] for t in alignment.pairs[:, 1].tolist()]
    methods = np.where(alignment.is_seed, "seed", alignment.method).tolist()
    table = pl.DataFrame(
        {
            "source": [source[s] for s in rows.tolist()],
            "target": partners + [""] * len(none.row),
            "confidence": np.concatenate([alignment.confidence, none.confidence]),
            "method": methods + [alignment.method] * len(none.row),
            "runners_up": _runners_up(alignment, rows),
            "partner": np.arange(len(rows)) < len(partners),
        }
    )
    if reasons is not None:
        table = table.with_columns(pl.Series("reasons", [reasons[s] for s in rows.tolist()], dtype=pl.String))
    return table.sort("source", maintain_order=True)


def write_alignment(alignment: Alignment, path: Path, reasons: Sequence[str] | None = None) -> None:
    """Write an alignment by the names users know (`link_table`)."""
    write_table(checked_links(link_table(alignment, reasons), path), path)


def checked_links(table: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The table, unless a partner without a name would read as "no match"."""
    unnamed = table.filter((pl.col("target") == "") & (pl.col("partner")))
    if unnamed.height:
        raise OutputError(
            f"{path}: the partner of {unnamed['source'][0]!r} has an empty name, which would mean no match; name it"
        )
    return checked_table(table.drop("partner"), path)


def read_links(path: Path) -> tuple[list[tuple[str, str]], NDArray[np.float64]]:
    """Read an alignment file back: the name pairs and their confidences; rows without a target are no pairs."""
    table = _read_table(path)
    confidence = table["confidence"].str.strip_chars().cast(pl.Float64, strict=False)
    wrong = table.filter(confidence.is_null() | ~confidence.is_between(0, 1))
    if wrong.height:
        rows = wrong.head(SHOWN_PROBLEMS).select(LINE, "confidence").iter_rows()
        problems = [
            Problem(path, line, f"{value!r} is no confidence; write a number from 0 to 1") for line, value in rows
        ]
        raise input_error(problems, wrong.height)
    repeated = table.filter(~table["source"].is_first_distinct())
    if repeated.height:
        rows = repeated.head(SHOWN_PROBLEMS).select(LINE, "source").iter_rows()
        problems = [Problem(path, line, f"{name!r} has a row above already; keep one of them") for line, name in rows]
        raise input_error(problems, repeated.height)
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


def _read_table(path: Path) -> pl.DataFrame:
    """The rows below the header; columns the file does not have are null."""
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


def _runners_up(alignment: Alignment, rows: NDArray[np.integer]) -> list[str]:
    """JSON lists of [name, probability], best first."""
    names, listed = alignment.target.entities, alignment.runners_up
    return [
        json.dumps(
            [[names[t], round(p, 6)] for t, p in zip(targets, probabilities, strict=True) if t >= 0],
            ensure_ascii=False,
            separators=(",", ":"),
        )
        for targets, probabilities in zip(listed.target[rows].tolist(), listed.probability[rows].tolist(), strict=True)
    ]
