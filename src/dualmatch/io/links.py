"""The alignment file: ``source``, ``target``, ``confidence``, tab-separated, with a header."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.errors import SHOWN_PROBLEMS, InputError, OutputError, Problem, input_error
from dualmatch.io.atomic import replacing
from dualmatch.io.lines import LINE, read_fields

HEADER = ("source", "target", "confidence")
Link = tuple[str, str, float]


def write_links(links: Sequence[Link], path: Path) -> None:
    """Write links by the names users know; confidences with six decimals.

    Names are written as they are, quotes and all; a tab or line break in a name would tear the line, so it is
    refused.
    """
    for source, target, _ in links:
        for name in (source, target):
            if "\t" in name or "\n" in name or "\r" in name:
                raise OutputError(f"{path}: the name {name!r} holds a tab or line break, which a TSV line cannot carry")
    table = pl.DataFrame(
        links, schema={"source": pl.String, "target": pl.String, "confidence": pl.Float64}, orient="row"
    )
    with replacing(path) as temporary:
        table.write_csv(temporary, separator="\t", quote_style="never", float_precision=6)


def read_links(path: Path) -> tuple[list[tuple[str, str]], NDArray[np.float64]]:
    """Read an alignment file back: name pairs and their confidences."""
    table = read_fields(path, HEADER, 3, "an alignment")
    if table.height == 0 or table.row(0)[1:] != HEADER:
        line = table[LINE][0] if table.height else 1
        raise InputError(f"{path}:{line}: no alignment file; its first line must be {' <tab> '.join(HEADER)}")
    table = table.slice(1)
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
        problems = [Problem(path, line, f"{name!r} has a link above already; keep one of them") for line, name in rows]
        raise input_error(problems, repeated.height)
    return list(table.select("source", "target").iter_rows()), confidence.to_numpy()


def read_name_pairs(path: Path) -> list[tuple[str, str]]:
    """A gold file of two columns of names, without a header."""
    table = read_fields(path, ("source", "target"), 2, "a pair")
    return list(table.select("source", "target").iter_rows())
