"""Tables with a row for each entity, as of people: id, name, born, died, place …

Each column but the id and the label is a relation, and its values decide what it holds: dates of the entity,
neighbours (values that repeat, or ids of the same table, name entities), or text, which is kept as a literal.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl

from dualmatch.errors import InputError, counted
from dualmatch.files.compressed import shown
from dualmatch.files.text_lines import LINE
from dualmatch.graph.literals import LABEL
from dualmatch.graph.times import UNKNOWN, encode_date
from dualmatch.readers.columns import TableShape
from dualmatch.readers.facts import Collector
from dualmatch.readers.rows import Mask, Rows, is_filled
from dualmatch.readers.time_column import WRONG, TimeParser, format_hint
from dualmatch.readers.unread_dates import FEWEST, SEPARATORS, dates_separator
from dualmatch.readers.usual_names import columns_option, in_quotes, listed, names_a_date, names_an_entity, names_an_id
from dualmatch.readers.whole_numbers import are_fractions, as_whole_numbers, whole_numbers_note

_NUMBER: Final = r"^[+-]?[0-9]+([.,][0-9]+)?$"
_YEAR: Final = r"^(1[0-9]|20)[0-9]{2}(\.0)?$"
_BARE: Final = r"^[+-]?[0-9]{1,7}([.,][0-9]+)?$"
"""Numbers that may be years, or anything else: dates only if the column's name says so."""
_PLAUSIBLE: Final = encode_date(1000), encode_date(2101)
"""Numbers of eight digits are taken for days in this span, unless the column's name says more."""
_PLACEHOLDERS: Final = ("unknown", "n/a", "na", "nan", "null", "none", "?", "-", "--", "\u2013", "\u2014")
"""What cells say that name no neighbour, in upper or lower case."""
_SAMPLE: Final = 10_000
"""Whether values are dates is seen from so many."""
_FEW: Final = 20
_MOST_COLUMNS: Final = 1000  # each is looked at from all sides, in about 10 ms


def collect_entity_table(collector: Collector) -> None:
    """Add the rows that wait in `collector.entity_rows`, now that all of the table is there."""
    if not collector.entity_rows:
        return
    shape = collector.entity_rows[0][1]
    if len(shape.kinds or {}) > _MOST_COLUMNS:
        shape = _named_columns(shape, shown(collector.entity_rows[0][0].path), collector)
    rows = _whole([rows for rows, _ in collector.entity_rows])
    collector.entity_rows.clear()
    if shape.id_is_name:
        rows, shape = _with_own_ids(rows, shape, collector)
    rejected = np.zeros(rows.table.height, dtype=bool)
    collector.reject(rows, ~is_filled(rows.table["head"]), rejected, lambda _: "no id; every row needs one")
    rows = rows.part(~rejected, pl.exclude(LINE).str.strip_chars())
    whole = ["head"] if are_fractions(rows.table["head"]) else []
    rows = replace(rows, table=rows.table.with_columns(map(as_whole_numbers, whole)))
    ids = rows.table["head"].unique()
    kinds, separator = {}, collector.options.list_separator
    for column, asked in (shape.kinds or {}).items():
        name = shape.relations[column]
        known = asked or collector.known_kinds.get(name)
        values = rows.split(column, separator).table[column]
        were_fractions = are_fractions(rows.table[column])
        if were_fractions and known is None:  # as ids they would be whole numbers
            values = values.str.strip_suffix(".0")
        kinds[column] = known or _kind_of(values, name, ids, collector.times)
        whole += [column] if were_fractions and kinds[column] == "tail" else []
        collector.use_column(rows.path, name, kinds[column])
        if kinds[column] == "date":
            collector.unread_dates.guessed |= set() if known else {name}
            collector.unread_dates.may_be_lists |= set() if separator else {name}
    rows = replace(rows, table=rows.table.with_columns(map(as_whole_numbers, whole)))
    collector.note(_note(rows, shape, kinds, collector))
    if whole:
        id_name = next(use.column for use in reversed(collector.columns) if "id" in use.roles)
        names = [shape.relations.get(column, id_name) for column in whole]
        collector.note(f"{shown(rows.path)}: {whole_numbers_note(names)}")
    collector.add_entities(ids)
    if LABEL in rows.table.columns:
        collector.add_literals(rows.split(LABEL, separator).table.select("head", pl.lit(LABEL), LABEL))
    for column, kind in kinds.items():
        _add_column(rows, column, kind, shape.relations[column], ids, collector)


def _with_own_ids(rows: Rows, shape: TableShape, collector: Collector) -> tuple[Rows, TableShape]:
    """With a column of ids in place of names as ids, where there is one: people of one name are not the same."""
    names = rows.table["head"].str.strip_chars()
    label = next(each.column for each in reversed(collector.columns) if "label" in each.roles)
    distinct = [
        column
        for column, kind in (shape.kinds or {}).items()
        if kind is None and not names_a_date(shape.relations[column]) and _are_distinct(rows.table[column])
    ]
    own = [column for column in distinct if names_an_id(shape.relations[column])]
    if (known := collector.known) is not None:  # what was the id before stays it, whatever the new rows look like
        named = [column for column in shape.kinds or {} if names_an_id(shape.relations[column])]
        found = {column: int((known.rows_of(rows.table[column].str.strip_chars()) >= 0).sum()) for column in named}
        by_name = int((known.rows_of(names) >= 0).sum())
        best = max(found, key=found.__getitem__, default=None)
        if by_name or any(found.values()):
            own = [best] if best is not None and found[best] > by_name else []
            distinct = own
    if len(own) != 1:
        if distinct and names.filter(is_filled(names)).is_duplicated().any():
            other = shape.relations[(own or distinct)[0]]
            options = [columns_option([("id", each), ("label", label)]) for each in (other, label)]
            raise InputError(
                f"{shown(rows.path)}: {label[:40]!r} repeats; is {other[:40]!r} the id? say {options[0]}, or, if rows "
                f"of one name are one entity, {options[1]}"
            )
        collector.note(shape.note)
        return rows, shape
    [column], name = own, shape.relations[own[0]]
    change = f"to change that, {columns_option([('id', label)])}"
    collector.note(f"{shown(rows.path)}: guessed that id is {name!r} ({change}), label is {label!r}")
    uses = collector.columns
    uses[:] = [replace(use, roles=("label",)) if use.column == label and "id" in use.roles else use for use in uses]
    collector.use_column(rows.path, name, "id")
    relations = {each: named for each, named in shape.relations.items() if each != column}
    kinds = {each: kind for each, kind in (shape.kinds or {}).items() if each != column}
    table = rows.table.with_columns(head=pl.col(column)).drop(column)
    return replace(rows, table=table), replace(shape, relations=relations, kinds=kinds)


def _are_distinct(column: pl.Series) -> bool:
    return bool(is_filled(column).all()) and not column.str.strip_chars().is_duplicated().any()


def _add_column(rows: Rows, column: str, kind: str, name: str, ids: pl.Series, collector: Collector) -> None:
    rows = rows.split(column, collector.options.list_separator)
    filled = is_filled(rows.table[column])
    if kind == "tail":
        filled &= ~_are_placeholders(rows.table[column])
    head, relation = pl.col("head"), pl.lit(name).alias("relation")
    if kind == "date":
        collector.add_dates(rows.part(filled, head, relation, pl.col(column).alias("time"), date_column=name))
    elif kind == "tail":
        # Rows that list each value of one column with each of another say the same neighbour several times.
        filled &= rows.table.select(pl.struct("head", column).is_first_distinct()).to_series().to_numpy()
        collector.add(rows.part(filled, head, relation, pl.col(column).alias("tail")))
        values = rows.table[column].filter(filled).unique()
        named = pl.DataFrame({"value": values.filter(~values.is_in(ids.implode()))})
        collector.add_literals(named.select("value", pl.lit(LABEL).alias("label"), text="value"))
    else:
        collector.add_literals(rows.table.filter(filled).select("head", relation, column))


def _kind_of(column: pl.Series, name: str, ids: pl.Series, times: TimeParser) -> str:
    """``"date"``, ``"tail"`` or ``"text"``, by what most of the values are, and by what the column is called."""
    values = column.filter(is_filled(column) & ~_are_placeholders(column))
    if values.is_empty():
        return "text"
    every = -(-len(values) // _SAMPLE)
    codes = times.codes(values.gather_every(every))
    wrong = codes == WRONG
    known = (codes != UNKNOWN) & ~wrong
    plausible = (codes >= _PLAUSIBLE[0]) & (codes < _PLAUSIBLE[1])
    few_wrong = wrong.sum() * FEWEST <= wrong.sum() + known.sum()
    are_numbers = _are_mostly(values, _NUMBER)
    if names_a_date(name):
        # Many that cannot be read are refused later, with a format that reads them where there is one.
        unread = values.gather_every(every).filter(wrong)
        if (known if few_wrong else plausible).any() or _are_mostly(unread, "[0-9]{4}"):
            return "date"
        if times.formats_of(unread.head(_FEW).to_list()):
            return "date"
    elif few_wrong and not _are_mostly(values, _BARE) and 2 * (plausible if are_numbers else known).sum() > len(codes):
        return "date"
    # Among ids that are numbers, counts and ages are found, too: there the column's name has to say what it holds.
    if 2 * int(values.is_in(ids.implode()).sum()) >= len(values) and (not are_numbers or names_an_entity(name)):
        return "tail"
    return "tail" if not are_numbers and 2 * int(values.is_duplicated().sum()) >= len(values) else "text"


def _are_mostly(values: pl.Series, pattern: str) -> bool:
    return 2 * int(values.str.contains(pattern).sum()) > len(values)


def _are_placeholders(column: pl.Series) -> Mask:
    return column.str.strip_chars().str.to_lowercase().is_in(_PLACEHOLDERS).fill_null(False).to_numpy()


def _note(rows: Rows, shape: TableShape, kinds: dict[str, str], collector: Collector) -> str:
    words = {"date": "dates", "tail": "neighbours", "text": "text, not compared"}
    parts = [
        f"{meaning}: {listed([shape.relations[column] for column, each in kinds.items() if each == kind])}"
        for kind, meaning in words.items()
        if kind in kinds.values()
    ]
    tails = [column for column, kind in kinds.items() if kind == "tail"]
    if empty := sum(int(_are_placeholders(rows.table[column]).sum()) for column in tails):
        parts.append(f"{empty:,} of their cells name{'s' * (empty == 1)} no neighbour ('unknown', '?' and the like)")
    numbers = [column for column, kind in kinds.items() if kind == "text" and (shape.kinds or {})[column] is None]
    years = [shape.relations[column] for column in numbers if _are_mostly(rows.table[column].drop_nulls(), _YEAR)]
    parts += [
        f"{shape.relations[column][:40]!r} may be dates: if so, {format_hint(formats)}"
        for column in numbers
        if (formats := collector.times.formats_of(rows.table[column].drop_nulls().head(_FEW).to_list()))
    ]
    if years:
        parts.append(f"{listed(years)} may be years: if so, say date={in_quotes(years[0])}")
    for column in kinds if collector.options.list_separator is None else ():
        if found := _list_separator(rows.table[column].drop_nulls(), collector.times):
            name, option = repr(shape.relations[column][:40]), f"--list-separator '{found}'"
            parts.append(f"cells of {name} may hold several values: if so, say {option}")
    repeated = rows.table.height - rows.table["head"].n_unique()
    again = counted(repeated, "row repeats an id and adds", "rows repeat an id and add")
    parts += [f"{again} to the same entity"] if repeated else []
    option = "to change that: --columns id=NAME,label=NAME,date=NAME,tail=NAME (neighbours),text=NAME"
    return f"{shown(rows.path)}: each row is an entity{''.join(f'; {part}' for part in parts)} ({option})"


def _list_separator(values: pl.Series, times: TimeParser) -> str | None:
    """What stands between the values of cells that look like lists: in a fifth of them; parts repeat, or are dates."""
    lists = values.filter(values.str.contains_any([*SEPARATORS]))
    if FEWEST * len(lists) >= len(values) and (found := dates_separator(lists.head(_FEW).to_list(), times)):
        return found
    for separator in SEPARATORS:
        several = values.str.contains(separator, literal=True)
        parts = values.str.split(separator).explode().str.strip_chars()
        parts = parts.filter(parts != "")
        if len(values) and FEWEST * several.sum() >= len(values) and 2 * parts.is_duplicated().sum() >= len(parts):
            return separator
    return None


def _named_columns(shape: TableShape, where: str, collector: Collector) -> TableShape:
    """The same table with the columns that the user named, of far too many; an `InputError` where there are none."""
    count, named = (
        len(shape.kinds or {}),
        {each: kind for each, kind in (shape.kinds or {}).items() if kind is not None},
    )
    if not 0 < len(named) <= _MOST_COLUMNS:
        raise InputError(
            f"{where}: what is known of entities is in {count:,} columns; name those to read, {_MOST_COLUMNS:,} at "
            "most: --columns id=NAME,date=NAME,tail=NAME"
        )
    collector.note(f"{where}: of its {count:,} columns only those that --columns names are read")
    return replace(shape, kinds=named)


def _whole(parts: list[Rows]) -> Rows:
    """The rows of all blocks of a table."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(part.table.height for part in parts)]).tolist()

    def text(row: int) -> str:
        part = bisect_right(starts, row) - 1
        return parts[part].text(row - starts[part])

    return Rows(parts[0].path, pl.concat([part.table for part in parts]), text)
