"""Alignment files in: read from every format that `dualmatch.links.write` writes.

A TSV of the three columns ``source``, ``target`` and ``confidence`` will do; an empty target means no link. Files of
0.1.0 have no column ``verdict``: there, too, an entity without a target is undecided.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.decode.verdicts import Verdict
from dualmatch.errors import InputError, Problem, input_error
from dualmatch.files.compressed import opened, unpacked_name
from dualmatch.files.text_lines import LINE, read_fields, refuse
from dualmatch.links.naming import Naming
from dualmatch.links.rows import HEADER, ROWS, BadRow
from dualmatch.links.write import LINK_EXTENSIONS

COLUMNS: Final = (*HEADER, "verdict", "method", "runners_up", "reasons")
_OLD_COLUMNS: Final = (*HEADER, "method", "runners_up", "reasons")
_SCHEMA: Final = {LINE: pl.Int64, **dict.fromkeys((*HEADER, "method", "verdict"), pl.String)}


@dataclass(frozen=True, eq=False)
class LinksFile:
    """A file of links; it is parsed once, however much is asked of it.

    Parameters
    ----------
    naming:
        How names became IRIs, for ``owl:sameAs`` triples.
    format:
        One of `dualmatch.links.write.LINK_FORMATS`; where None, the file's name says it.

    `dualmatch.runs.options_file.links_file` knows both of a file that a run wrote.
    """

    path: Path
    naming: Naming | None = None
    format: str | None = None

    @cached_property
    def _table(self) -> pl.DataFrame:
        return _read_table(self.path, self.naming, self.format)

    @cached_property
    def links(self) -> tuple[list[tuple[str, str]], NDArray[np.float64]]:
        """The linked pairs by name, and their confidences; where a file has no confidences, links count as sure."""
        table, path = self._table, self.path
        said = table["confidence"].fill_null("1").str.strip_chars()
        said = table.select(pl.when((pl.col("target") == "") & (said == "")).then(pl.lit("0")).otherwise(said))[:, 0]
        confidence = said.cast(pl.Float64, strict=False)
        wrong = table.filter(confidence.is_null() | ~confidence.is_between(0, 1))
        refuse(wrong, "confidence", path, lambda given: f"{given!r} is no confidence; write a number from 0 to 1")
        repeated = table.filter(~table["source"].is_first_distinct())
        refuse(repeated, "source", path, lambda name: f"{name!r} has a row above already; keep one of them")
        matched = table["target"] != ""
        links = table.filter(matched)
        return list(links.select("source", "target").iter_rows()), confidence.filter(matched).to_numpy()

    @property
    def seeds(self) -> set[str]:
        """The source entities whose pair was given, not found."""
        return set(self._table.filter(self._table["method"] == "seed")["source"].to_list())

    @property
    def unlinked(self) -> list[str]:
        """The source entities without a link: undecided ones, and those without a match."""
        return self._table.filter(self._table["target"] == "")["source"].to_list()

    @property
    def no_matches(self) -> list[str]:
        """The source entities whose verdict is *no match*."""
        without = (self._table["target"] == "") & (self._table["verdict"] == Verdict.NO_MATCH.value)
        return self._table.filter(without.fill_null(False))["source"].to_list()

    @property
    def method(self) -> str | None:
        """The method that found the links; None where the file does not say."""
        found = sorted(set(self._table["method"].drop_nulls().unique().to_list()) - {"seed"})
        return found[0] if found else None


def read_links(
    path: Path, naming: Naming | None = None, format: str | None = None
) -> tuple[list[tuple[str, str]], NDArray[np.float64]]:
    """The linked pairs of a file by name, and their confidences; parameters as in `LinksFile`."""
    return LinksFile(path, naming, format).links


def read_name_pairs(path: Path) -> list[tuple[str, str]]:
    """A gold file of two columns of names, without a header."""
    table = read_fields(path, ("source", "target"), 2, "a pair")
    return list(table.select("source", "target").iter_rows())


def _read_table(path: Path, naming: Naming | None = None, format: str | None = None) -> pl.DataFrame:
    """Columns `_SCHEMA` as text: an empty target is no link, null is what the file does not say."""
    if format is None:
        name = unpacked_name(path)
        format = next((format for end, format in LINK_EXTENSIONS.items() if name.endswith(end)), "tsv")
    if format == "tsv":
        return _from_tsv(path)
    rows, problems = [], []
    with opened(path) as file:
        data = file.read()
    for row in ROWS[format](data, naming or Naming()):
        if isinstance(row, BadRow):
            problems.append(Problem(path, row.line, row.what))
        else:
            rows.append(row)
    if problems:
        raise input_error(problems)
    table = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    return table.with_columns(pl.col("target").fill_null(""))


def _from_tsv(path: Path) -> pl.DataFrame:
    table = read_fields(path, COLUMNS, len(HEADER), "an alignment")
    header = tuple(name for name in table.row(0)[1:] if name is not None) if table.height else ()
    columns = _OLD_COLUMNS if header[len(HEADER) : len(HEADER) + 1] == ("method",) else COLUMNS
    if header != columns[: len(header)] or len(header) < len(HEADER):
        line = table[LINE][0] if table.height else 1
        raise InputError(f"{path}:{line}: no alignment file; its first line must be {' <tab> '.join(HEADER)} …")
    table = table.slice(1)
    last = COLUMNS[len(header) - 1]
    missing = table[last].is_null()
    extra = table[COLUMNS[len(header)]].is_not_null() if len(header) < len(COLUMNS) else ~missing & missing
    what = f"the header names {len(header)} columns, this row has another number; mend it"
    refuse(table.filter(missing | extra), "source", path, lambda _: what)
    if columns is _OLD_COLUMNS:
        named = dict(zip(COLUMNS, columns, strict=False))
        table = table.drop(COLUMNS[-1]).rename(named).with_columns(verdict=pl.lit(None, dtype=pl.String))
    return table
