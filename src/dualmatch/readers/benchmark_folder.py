"""The field's benchmark folders.

- By id: ``ent_ids_1/2``, ``rel_ids_1/2``, ``time_id``, ``triples_1/2`` and pair files; dates of entities themselves
  in ``dates_1/2``. Ids may have gaps and may continue from one graph to the next; inside, everything is a row number.
- OpenEA's, by name: ``rel_triples_1/2``, ``attr_triples_1/2`` and ``ent_links``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.errors import SHOWN_PROBLEMS, FileProblem, InputError, input_error
from dualmatch.files.compressed import opened
from dualmatch.files.text_lines import LARGEST_ID, LINE, as_ids, read_fields, read_pair_fields, refuse, whole_numbers
from dualmatch.graph.arrays import NO_PARTNER, Pairs
from dualmatch.graph.entity_dates import EntityDates
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.ordering import sorted_by_name
from dualmatch.graph.times import UNKNOWN
from dualmatch.readers.delimited import read_delimited
from dualmatch.readers.facts import Collector
from dualmatch.readers.read import Reading, labelled, literals_of
from dualmatch.readers.read_options import ReadOptions
from dualmatch.readers.rejected_lines import OnError
from dualmatch.readers.time_column import WRONG, TimeParser
from dualmatch.readers.unread_dates import UnreadDates

logger = logging.getLogger(__name__)

Ids = NDArray[np.int64]
TimesById = Mapping[int, tuple[int, int]]
"""Time id → the first and the last date that it may mean, as codes."""

_FACT: Final = {"head": "head id", "relation": "relation id", "tail": "tail id"}
_DATE: Final = {"head": "entity id", "relation": "relation id"}
_TIMES: Final = {"begin": "time id", "end": "time id"}
_LAYOUT: Final = "check the path and the folder's layout"
_INT32: Final = np.iinfo(np.int32)
_OPENEA_TIMES: Final[dict[int, dict[str, str]]] = {3: {}, 4: {"time": "4"}, 5: {"begin": "4", "end": "5"}}
"""Width of a file → its time columns; OpenEA's own files have three columns and no times."""


@dataclass(frozen=True, eq=False)
class BenchmarkFolder:
    """Two graphs of one folder, with the ids its pair files use: that of each entity row, (n_entities,)."""

    path: Path
    source: TemporalGraph
    target: TemporalGraph
    source_ids: Ids
    target_ids: Ids

    def read_pairs(self, path: str | Path) -> Pairs:
        """A pair file of two columns as (n, 2) row numbers; an unknown or repeated entity is an error.

        A name such as ``"sup_pairs"`` is looked up in the folder, and taken as a path where the folder has no such
        file. The file holds either the folder's ids or entity names: ids where all are whole numbers, else whichever
        of the two the folder knows more of.
        """
        inside = self.path / path
        return self.pairs_at(Path(path) if os.path.exists(path) and not inside.exists() else inside)

    def pairs_at(self, path: Path) -> Pairs:
        """The pairs of a file anywhere, as `read_pairs` gives them."""
        return read_pairs(path, self.source, self.target, self)

    def sorted_by_name(self) -> BenchmarkFolder:
        """The same graphs in the order that all other formats have; ids still find their entities."""
        source, source_order = sorted_by_name(self.source)
        target, target_order = sorted_by_name(self.target)
        return BenchmarkFolder(self.path, source, target, self.source_ids[source_order], self.target_ids[target_order])

    def ids_in(self, table: pl.DataFrame) -> tuple[Ids, Ids] | tuple[None, None]:
        """The ids of both sides where a pair file holds ids, None where it holds names.

        Counting what is known, one slip in a file of ids is reported at its own line, not as a thousand unknown names.
        """
        numbers = table.select(whole_numbers(pl.col("source", "target")))
        known_ids = known_names = 0
        for side, graph, ids in (("source", self.source, self.source_ids), ("target", self.target, self.target_ids)):
            known_ids += int((_rows_of(numbers[side].drop_nulls(), ids) >= 0).sum())
            known_names += int((graph.rows_of(table[side]) >= 0).sum())
        are_ids = not any(column.null_count() for column in numbers) or known_ids > known_names
        return (self.source_ids, self.target_ids) if are_ids else (None, None)


def read_folder(
    path: str | Path, on_error: OnError = "dates", time_format: str | None = None, *, with_times: bool = True
) -> BenchmarkFolder:
    """Read a benchmark folder.

    Facts may have 3 (no time), 4 (a point) or 5 (begin, end) columns, in any mixture. ``time_id`` gives each time
    id its date (day, month or year, or as `time_format` says) or ``-inf`` / ``~`` for unknown; where it is absent or
    empty, ids are opaque times. Values that are not dates count as unknown, with a warning, as long as they are no
    more than a fifth; with `on_error` ``"stop"`` they are an error. Facts that end before they begin also cause a
    warning; both ends are kept. Without `with_times`, ``time_id`` is not looked at.

    Raises
    ------
    InputError
        With ``file:line`` and what to do.
    """
    path = Path(path)
    if not os.path.isdir(path):
        raise InputError(f"{path}: no such folder; give a benchmark folder (triples_1, triples_2, ent_ids_1, …)")
    times = _read_times(path / "time_id", on_error, time_format) if with_times else None
    source, source_ids = _read_graph(path, "1", times)
    target, target_ids = _read_graph(path, "2", times)
    return BenchmarkFolder(path, source, target, source_ids, target_ids)


def read_pairs(
    path: Path, source: TemporalGraph, target: TemporalGraph, folder: BenchmarkFolder | None = None
) -> Pairs:
    """A file of two columns, names or a folder's ids, as (n, 2) rows; an unknown or repeated entity is an error."""
    table = read_pair_fields(path)
    source_ids, target_ids = folder.ids_in(table) if folder else (None, None)
    rows = []
    for side, graph, ids in (("source", source, source_ids), ("target", target, target_ids)):
        rows.append(_entity_rows(table, side, path, graph, ids))
        twice = "is already in an earlier pair; pairs are 1-to-1, so keep one of them"
        _refuse(~pl.Series(rows[-1]).is_first_distinct(), table, side, path, f"{side} entity", twice)
    return np.stack(rows, axis=1).astype(np.int32).reshape(-1, 2)


def read_forbidden_pairs(
    path: Path, source: TemporalGraph, target: TemporalGraph, folder: BenchmarkFolder | None = None
) -> Pairs:
    """As `read_pairs`, but an entity may stand in any number of pairs; an empty target becomes `NO_PARTNER`."""
    table = read_pair_fields(path)
    whole = table.filter(pl.col("target") != "")
    alone = table.filter(pl.col("target") == "").with_columns(target=pl.col("source"))
    source_ids, target_ids = folder.ids_in(whole if whole.height else alone) if folder else (None, None)
    pairs = (
        _entity_rows(whole, "source", path, source, source_ids),
        _entity_rows(whole, "target", path, target, target_ids),
    )
    single = _entity_rows(alone, "source", path, source, source_ids)
    no_partner = np.full(alone.height, NO_PARTNER, dtype=np.int64)
    return np.concatenate([np.stack(pairs, axis=1), np.stack([single, no_partner], axis=1)]).astype(np.int32)


def _entity_rows(table: pl.DataFrame, side: str, path: Path, graph: TemporalGraph, ids: Ids | None) -> Ids:
    """Rows of the entities in column `side`, by id where `ids` are given, else by name."""
    rows = graph.rows_of(table[side]) if ids is None else _rows_of(as_ids(table, {side: f"{side} id"}, path)[side], ids)
    _refuse(rows < 0, table, side, path, f"{side} entity", f"is not in {graph.name}; fix it or leave the pair out")
    return rows


def _read_times(path: Path, on_error: OnError, time_format: str | None) -> TimesById | None:
    """The first and the last date of each time id; None where there is no calendar.

    What is not a date counts as unknown, with a warning, unless it is too much or `on_error` is ``"stop"``.
    """
    if not path.exists():
        return None
    table = as_ids(read_fields(path, ("time", "date"), 2, "a time"), {"time": "time id"}, path)
    if table.height == 0:
        return None
    parser = TimeParser(time_format)
    # A bare number is a year here, however long: YAGO-WIKI20K has one of five digits, and its figures count it.
    dates = table["date"] if time_format else table["date"].str.replace(r"^\d{5,7}$", "+$0")
    first, last = parser.spans(dates)
    lines, texts = table[LINE].to_list(), table["date"].to_list()
    wrong = np.flatnonzero(first == WRONG).tolist()
    if wrong and on_error == "stop":
        shown = wrong[:SHOWN_PROBLEMS]
        raise input_error([FileProblem(path, lines[row], parser.why_wrong(texts[row])) for row in shown], len(wrong))
    unread = UnreadDates(parser, can_skip=False)
    rows = [(row, lines[row]) for row in wrong]
    unread.add(
        "time_id", int((first != UNKNOWN).sum()), rows, lambda row: parser.why_wrong(texts[row]), texts.__getitem__
    )
    first[wrong] = last[wrong] = UNKNOWN
    times: dict[int, tuple[int, int]] = {}
    twice = []
    for line, key, *span in zip(lines, table["time"].to_list(), first.tolist(), last.tolist(), strict=True):
        if times.setdefault(key, (span[0], span[1])) != (span[0], span[1]):
            twice.append(FileProblem(path, line, f"time id {key} has another date above; give each id one date"))
    if twice:
        raise input_error(twice)
    for note in unread.end_of_file(path):
        logger.warning(note)
    return times


def _read_graph(folder: Path, side: str, times: TimesById | None) -> tuple[TemporalGraph, Ids]:
    triples, dates_file = folder / f"triples_{side}", folder / f"dates_{side}"
    facts = _read_facts(triples, times)
    dates = facts.head(0).drop("tail")
    if dates_file.exists():
        dates = as_ids(read_fields(dates_file, dates.columns[1:], 3, "a date"), _DATE, dates_file)
    if facts.height == 0 and dates.height == 0:
        raise InputError(f"{triples}: no facts; an empty graph cannot be aligned, so write one per line")
    ends, kinds = [facts["head"], facts["tail"], dates["head"]], [facts["relation"], dates["relation"]]
    entity_ids, entities = _read_names(folder / f"ent_ids_{side}", ends, "entity")
    relation_ids, relations = _read_names(folder / f"rel_ids_{side}", kinds, "relation")

    def column(table: pl.DataFrame, path: Path, name: str, ids: Ids, listing: str) -> NDArray[np.int32]:
        rows = _rows_of(table[name], ids)
        _refuse(rows < 0, table, name, path, name, f"is not in {listing}_{side}; add it there or fix the id")
        return rows.astype(np.int32)

    def columns(table: pl.DataFrame, path: Path) -> list[NDArray[np.int32]]:
        lists = {
            "head": (entity_ids, "ent_ids"),
            "relation": (relation_ids, "rel_ids"),
            "tail": (entity_ids, "ent_ids"),
        }
        names = [column(table, path, name, *lists[name]) for name in lists if name in table.columns]
        return [*names, *_time_columns(table, times, path)]

    entity, relation, begin, end = columns(dates, dates_file)
    known = np.flatnonzero((begin != UNKNOWN) | (end != UNKNOWN))
    of_entities = EntityDates(*(each[known] for each in (entity, relation, begin, end)))
    head, relation, tail, begin, end = columns(facts, triples)
    of_facts = head, relation, tail, begin, end, entities, relations
    graph = TemporalGraph(*of_facts, name=str(triples), opaque_times=times is None, dates=of_entities)
    logger.info("read %r", graph)
    reversed_intervals = graph.reversed_intervals
    if reversed_intervals:
        logger.warning("%s: %d facts end before they begin; both ends are kept", triples, reversed_intervals)
    return graph, entity_ids


def _read_facts(path: Path, times: TimesById | None) -> pl.DataFrame:
    """The facts of a file, all ids as numbers; begin and end as text where some of them are none."""

    def numbered(block: pl.DataFrame) -> pl.DataFrame:
        return as_ids(as_ids(block, _FACT, path), _TIMES, path, *_span_of_time_ids(times))

    given = path, (*_FACT, *_TIMES), 3, "a fact", _LAYOUT
    try:
        return read_fields(*given, numbered)
    except InputError:  # once more as a whole: messages count all lines that are wrong, and begin with names
        return as_ids(read_fields(*given), _FACT, path)


def _span_of_time_ids(times: TimesById | None) -> tuple[int, int]:
    # Without a calendar ids are the codes themselves: years before the common era may be among them.
    return (_INT32.min + 1, _INT32.max) if times is None else (0, LARGEST_ID)


def _read_names(path: Path, used: list[pl.Series], kind: str) -> tuple[Ids, tuple[str, ...]]:
    """Ids and names of an ``ent_ids`` or ``rel_ids`` file, in file order; without the file, the ids are the names."""
    used_ids = pl.concat(used).unique().sort()
    if not path.exists():
        ids = used_ids.to_numpy().astype(np.int64)
        return ids, tuple(str(i) for i in ids)
    table = read_fields(path, ("id", "name"), 2, "a name")
    if kind == "relation" and _names_come_first(table, used_ids):
        table = table.rename({"id": "name", "name": "id"})
    table = as_ids(table, {"id": f"{kind} id"}, path)
    for column in ("id", "name"):
        twice = f"is already above; give each {column} once"
        _refuse(~table[column].is_first_distinct(), table, column, path, column, twice)
    return table["id"].to_numpy(), tuple(table["name"].to_list())


def _names_come_first(table: pl.DataFrame, used: pl.Series) -> bool:
    """Whether a ``rel_ids`` file is ``name id``: the files of the field come both ways round.

    The id column is the one of whole numbers; where names are numbers too, the one that holds the ids the facts use;
    where both do, the first.
    """
    first, second = table.select(whole_numbers(pl.col("id", "name"))).get_columns()
    if first.null_count() == 0 and second.null_count() == 0:
        in_first, in_second = (int(used.is_in(ids.implode()).sum()) for ids in (first, second))
        return in_second > in_first
    return second.null_count() < first.null_count()


def _time_columns(
    facts: pl.DataFrame, times: TimesById | None, path: Path
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Begin and end codes; a row of four columns is a point, one of three has no time."""
    facts = as_ids(facts, _TIMES, path, *_span_of_time_ids(times))
    facts = facts.with_columns(end=pl.coalesce("end", "begin"))
    columns = []
    for place, name in enumerate(_TIMES):
        codes = facts[name]
        if times is not None:
            dates = [span[place] for span in times.values()]
            codes = codes.replace_strict([*times], dates, default=None, return_dtype=pl.Int64)
            missing = facts[name].is_not_null() & codes.is_null()
            _refuse(missing, facts, name, path, "time", "is not in time_id; add it there or fix the id")
        columns.append(codes.fill_null(UNKNOWN).to_numpy().astype(np.int32))
    return columns[0], columns[1]


def _rows_of(values: pl.Series, ids: Ids) -> Ids:
    """Row of each value in `ids` (any order, gaps allowed), -1 where it is missing."""
    return values.replace_strict(ids, np.arange(len(ids)), default=-1, return_dtype=pl.Int64).to_numpy()


def _refuse(
    wrong: NDArray[np.bool_] | pl.Series, table: pl.DataFrame, column: str, path: Path, kind: str, why: str
) -> None:
    """End in an `InputError` where any row is wrong: ``kind``, the value that was given, and why."""
    refuse(table.filter(wrong), column, path, lambda value: f"{kind} {value} {why}")


def is_openea(folder: Path) -> bool:
    """Whether a folder is laid out as OpenEA's are."""
    return os.path.isfile(folder / "rel_triples_1")


def read_openea(folder: Path, side: str, options: ReadOptions) -> Reading:
    """One graph (side ``"1"`` or ``"2"``) of an OpenEA folder, its literals where they are asked for."""
    path, attributes = folder / f"rel_triples_{side}", folder / f"attr_triples_{side}"
    with opened(path) as file:
        width = file.readline().count(b"\t") + 1
    if width not in _OPENEA_TIMES:
        raise InputError(
            f"{path}:1: {width} tab-separated columns; a fact has 3 to 5: head, relation, tail, begin, end"
        )
    columns = {"head": "1", "relation": "2", "tail": "3", **_OPENEA_TIMES[width]}
    collector = Collector(replace(options, columns=columns))
    with opened(path) as file:
        read_delimited(file, path, collector, "\t")
    collector.end_of_file(path)
    graph = collector.graph(str(path))
    if options.literals and attributes.exists():
        table = read_fields(attributes, ("entity", "attribute", "value"), 3, "an attribute")
        collector.literal_tables.append(table.select("entity", "attribute", "value"))
    literals = literals_of(graph, collector.literal_tables, options)
    graph = labelled(graph, collector.literal_tables, options)
    return Reading(graph, literals, collector.rejections, tuple(collector.notes))
