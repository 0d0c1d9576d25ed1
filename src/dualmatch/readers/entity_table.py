"""Tables with a row for each entity, as of people: id, name, born, died, place …

Each column but the id and the label is a relation, and its values decide what it holds: dates of the entity,
neighbours (values that repeat, or ids of the same table, name entities), or text, which is kept as a literal.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

import numpy as np
import polars as pl

from dualmatch.files.compressed import shown
from dualmatch.files.text_lines import LINE
from dualmatch.graph.literals import LABEL
from dualmatch.graph.times import UNKNOWN, encode_date
from dualmatch.readers.columns import TableShape
from dualmatch.readers.facts import Collector, Rows, is_filled
from dualmatch.readers.time_column import WRONG, TimeParser
from dualmatch.readers.unread_dates import FEWEST
from dualmatch.readers.usual_names import listed, names_a_date

_NUMBER: Final = r"^[+-]?[0-9]+([.,][0-9]+)?$"
_PLAUSIBLE: Final = encode_date(1000), encode_date(2101)
"""Bare numbers are taken for years or days in this span, unless the column's name says more."""
_SAMPLE: Final = 10_000
"""Whether values are dates is seen from so many."""
_FEW: Final = 20


def collect_entity_table(collector: Collector) -> None:
    """Add the rows that wait in `collector.entity_rows`, now that all of the table is there."""
    if not collector.entity_rows:
        return
    shape = collector.entity_rows[0][1]
    rows = _whole([rows for rows, _ in collector.entity_rows])
    collector.entity_rows.clear()
    rejected = np.zeros(rows.table.height, dtype=bool)
    collector.reject(rows, ~is_filled(rows.table["head"]), rejected, lambda _: "no id; every row needs one")
    rows = rows.part(~rejected, pl.exclude(LINE).str.strip_chars())
    ids = rows.table["head"].unique()
    kinds = {}
    for column, asked in (shape.kinds or {}).items():
        name = shape.relations[column]
        known = asked or collector.known_kinds.get(name)
        kinds[column] = known or _kind_of(rows.table[column], name, ids, collector.times)
    collector.note(_note(rows, shape, kinds))
    collector.add_entities(ids)
    if LABEL in rows.table.columns:
        collector.add_literals(rows.table.select("head", pl.lit(LABEL), LABEL))
    for column, kind in kinds.items():
        _add_column(rows, column, kind, shape.relations[column], ids, collector)


def _add_column(rows: Rows, column: str, kind: str, name: str, ids: pl.Series, collector: Collector) -> None:
    filled = is_filled(rows.table[column])
    head, relation = pl.col("head"), pl.lit(name).alias("relation")
    if kind == "date":
        collector.add_dates(rows.part(filled, head, relation, pl.col(column).alias("time"), date_column=name))
    elif kind == "tail":
        collector.add(rows.part(filled, head, relation, pl.col(column).alias("tail")))
        values = rows.table[column].filter(filled).unique()
        named = pl.DataFrame({"value": values.filter(~values.is_in(ids.implode()))})
        collector.add_literals(named.select("value", pl.lit(LABEL).alias("label"), text="value"))
    else:
        collector.add_literals(rows.table.filter(filled).select("head", relation, column))


def _kind_of(column: pl.Series, name: str, ids: pl.Series, times: TimeParser) -> str:
    """``"date"``, ``"tail"`` or ``"text"``, by what most of the values are."""
    values = column.filter(is_filled(column))
    if values.is_empty():
        return "text"
    every = -(-len(values) // _SAMPLE)
    codes = times.codes(values.gather_every(every))
    wrong = codes == WRONG
    known = (codes != UNKNOWN) & ~wrong
    are_numbers = float(values.str.contains(_NUMBER).mean() or 0) > 0.5  # type: ignore[arg-type]
    if known.any() and wrong.sum() * FEWEST <= wrong.sum() + known.sum():
        plausible = (codes >= _PLAUSIBLE[0]) & (codes < _PLAUSIBLE[1])
        if names_a_date(name) or (2 * (plausible if are_numbers else known).sum() > len(codes)):
            return "date"
    if names_a_date(name) and times.formats_of(values.gather_every(every).filter(wrong).head(_FEW).to_list()):
        return "date"  # in a form that will be refused, with the format that reads it
    if are_numbers:
        return "text"
    repeat = 2 * int(values.is_duplicated().sum()) >= len(values)
    return "tail" if repeat or 2 * int(values.is_in(ids.implode()).sum()) >= len(values) else "text"


def _note(rows: Rows, shape: TableShape, kinds: dict[str, str]) -> str:
    words = {"date": "dates", "tail": "neighbours", "text": "text, not compared"}
    parts = [
        f"{meaning}: {listed([shape.relations[column] for column, each in kinds.items() if each == kind])}"
        for kind, meaning in words.items()
        if kind in kinds.values()
    ]
    repeated = rows.table.height - rows.table["head"].n_unique()
    again = f"; {repeated:,} rows repeat an id and add to the same entity" if repeated else ""
    option = "to change that: --columns id=NAME,label=NAME,date=NAME,tail=NAME (neighbours),text=NAME"
    return f"{shown(rows.path)}: each row is an entity{''.join(f'; {part}' for part in parts)}{again} ({option})"


def _whole(parts: list[Rows]) -> Rows:
    """The rows of all blocks of a table."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(part.table.height for part in parts)]).tolist()

    def text(row: int) -> str:
        part = bisect_right(starts, row) - 1
        return parts[part].text(row - starts[part])

    return Rows(parts[0].path, pl.concat([part.table for part in parts]), text)
