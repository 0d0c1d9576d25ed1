"""The field's benchmark folders: ``ent_ids_1/2``, ``rel_ids_1/2``, ``time_id``, ``triples_1/2`` and pair files.

Ids in the files may have gaps and may go on from one graph to the next; inside, everything is a row number.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.errors import InputError, Problem, input_error
from dualmatch.files.text_lines import LARGEST_ID, as_ids, read_fields, refuse, whole_numbers
from dualmatch.graph.arrays import NO_PARTNER, Pairs
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.ordering import sorted_by_name
from dualmatch.graph.times import UNKNOWN, parse_date

logger = logging.getLogger(__name__)

_FACT = {"head": "head id", "relation": "relation id", "tail": "tail id"}
_TIMES = {"begin": "time id", "end": "time id"}
_LAYOUT = "check the path and the folder's layout"
_INT32 = np.iinfo(np.int32)


@dataclass(frozen=True, eq=False)
class BenchmarkFolder:
    """Two graphs of one folder, with the ids its pair files use.

    Attributes
    ----------
    source_ids, target_ids: (n_entities,) int64
        The file's id of each entity row.
    """

    path: Path
    source: TemporalGraph
    target: TemporalGraph
    source_ids: NDArray[np.int64]
    target_ids: NDArray[np.int64]

    def read_pairs(self, path: str | Path) -> Pairs:
        """A pair file of two columns as (n, 2) row numbers; an unknown or repeated entity is an error.

        The file holds either the folder's ids or entity names: ids where all are whole numbers, else whichever of
        the two the folder knows more of.

        Parameters
        ----------
        path:
            A name is looked up in the folder (``"sup_pairs"``), and taken as a path where the folder has no such file.
        """
        inside = self.path / path
        return self.pairs_at(Path(path) if os.path.exists(path) and not inside.exists() else inside)

    def pairs_at(self, path: Path) -> Pairs:
        """The pairs of a file anywhere, as `read_pairs` gives them."""
        table = read_fields(path, ("source", "target"), 2, "a pair")
        by_id = self.are_ids(table)
        if by_id:
            table = as_ids(table, {"source": "source id", "target": "target id"}, path)
        rows = [
            _rows_of(table[side].to_numpy(), ids) if by_id else graph.rows_of(table[side])
            for side, graph, ids in (("source", self.source, self.source_ids), ("target", self.target, self.target_ids))
        ]
        return _checked_pairs(table, path, rows, (self.source, self.target))

    def sorted_by_name(self) -> BenchmarkFolder:
        """The same graphs in the order that all other formats have; ids still find their entities."""
        source, source_order = sorted_by_name(self.source)
        target, target_order = sorted_by_name(self.target)
        return BenchmarkFolder(self.path, source, target, self.source_ids[source_order], self.target_ids[target_order])

    def are_ids(self, table: pl.DataFrame) -> bool:
        """Whether a pair file holds ids and not names.

        Counting what is known, one slip in a file of ids is told at its own line, not as a thousand unknown names.
        """
        sides = (("source", self.source, self.source_ids), ("target", self.target, self.target_ids))
        numbers = table.select(whole_numbers(pl.col("source", "target")))
        if not any(numbers[side].null_count() for side, *_ in sides):
            return True
        known_ids = sum(
            int((_rows_of(numbers[side].drop_nulls().to_numpy(), ids) >= 0).sum()) for side, _, ids in sides
        )
        known_names = sum(int((graph.rows_of(table[side]) >= 0).sum()) for side, graph, _ in sides)
        return known_ids > known_names


def read_folder(path: str | Path) -> BenchmarkFolder:
    """Read a benchmark folder.

    Facts may have 3 (no time), 4 (a point) or 5 (begin, end) columns, mixed at will. ``time_id`` gives each time
    id its date (day, month or year) or ``-inf`` / ``~`` for unknown; where it is absent or empty, ids are opaque
    times. A value that is no date counts as unknown. Those are counted and warned of, and so is an end before its
    begin, of which both are kept.

    Raises
    ------
    InputError
        With ``file:line`` and what to do.
    """
    path = Path(path)
    if not os.path.isdir(path):
        raise InputError(f"{path}: no such folder; give a benchmark folder (triples_1, triples_2, ent_ids_1, …)")
    times = _read_times(path / "time_id")
    source, source_ids = _read_graph(path, "1", times)
    target, target_ids = _read_graph(path, "2", times)
    return BenchmarkFolder(path, source, target, source_ids, target_ids)


def read_pairs_by_name(path: Path, source: TemporalGraph, target: TemporalGraph) -> Pairs:
    """A pair file of two columns of names as (n, 2) row numbers; an unknown or repeated entity is an error."""
    table = read_fields(path, ("source", "target"), 2, "a pair")
    rows = [graph.rows_of(table[side]) for side, graph in (("source", source), ("target", target))]
    return _checked_pairs(table, path, rows, (source, target))


def read_forbidden_pairs(
    path: Path, source: TemporalGraph, target: TemporalGraph, folder: BenchmarkFolder | None = None
) -> Pairs:
    """A file of two columns, by name or by a folder's ids, as (n, 2) rows; an empty target becomes `NO_PARTNER`.

    An entity may stand in any number of forbidden pairs.
    """
    table = read_fields(path, ("source", "target"), 2, "a pair")
    whole = table.filter(pl.col("target") != "")
    alone = table.filter(pl.col("target") == "").with_columns(target=pl.col("source"))
    by_id = folder is not None and folder.are_ids(whole if whole.height else alone)
    parts = []
    for part, is_alone in ((whole, False), (alone, True)):
        rows: list[NDArray[np.int64]] = []
        for side, graph in (("source", source),) if is_alone else (("source", source), ("target", target)):
            if by_id and folder is not None:
                given = as_ids(part, {side: f"{side} id"}, path)[side].to_numpy()
                found = _rows_of(given, folder.source_ids if side == "source" else folder.target_ids)
            else:
                found = graph.rows_of(part[side])
            missing = f"is not in {graph.name}; mend it or leave the pair out"
            _refuse(found < 0, part, side, path, f"{side} entity", missing)
            rows.append(found)
        if is_alone:
            rows.append(np.full(part.height, NO_PARTNER, dtype=np.int64))
        parts.append(np.stack(rows, axis=1).reshape(-1, 2))
    return np.concatenate(parts).astype(np.int32)


def _checked_pairs(
    table: pl.DataFrame, path: Path, rows: Sequence[NDArray[np.int64]], graphs: Sequence[TemporalGraph]
) -> Pairs:
    """Pairs as (n, 2) rows, where each is known and stands in one pair only."""
    for side, graph, column in zip(("source", "target"), graphs, rows, strict=True):
        missing = f"is not in {graph.name}; mend it or leave the pair out"
        _refuse(column < 0, table, side, path, f"{side} entity", missing)
        twice = "stands in an earlier pair too; pairs are 1-to-1, so keep one of them"
        _refuse(_repeated(column), table, side, path, f"{side} entity", twice)
    return np.stack(rows, axis=1).astype(np.int32).reshape(-1, 2)


def _read_times(path: Path) -> dict[int, int] | None:
    """Time id → time code; None where there is no calendar.

    What is no date counts as unknown, with a warning; a file in which nothing is one is of another kind, and an error.
    """
    if not path.exists():
        return None
    table = as_ids(read_fields(path, ("time", "date"), 2, "a time"), {"time": "time id"}, path)
    if table.height == 0:
        return None
    times: dict[int, int] = {}
    twice, no_dates = [], []
    for line, key, date in table.iter_rows():
        try:
            code = parse_date(date)
        except ValueError as error:
            code = UNKNOWN
            no_dates.append(Problem(path, line, str(error)))
        if times.setdefault(key, code) != code:
            twice.append(Problem(path, line, f"time id {key} has another date above; give each id one date"))
    if twice:
        raise input_error(twice)
    if len(no_dates) == table.height > 1:
        raise input_error(no_dates)
    if no_dates:
        verb = "is no date and counts" if len(no_dates) == 1 else "are no dates and count"
        logger.warning("%s; %d of %d values %s as unknown", no_dates[0], len(no_dates), table.height, verb)
    return times


def _read_graph(folder: Path, side: str, times: Mapping[int, int] | None) -> tuple[TemporalGraph, NDArray[np.int64]]:
    triples = folder / f"triples_{side}"
    facts = as_ids(read_fields(triples, (*_FACT, *_TIMES), 3, "a fact", _LAYOUT), _FACT, triples)
    if facts.height == 0:
        raise InputError(f"{triples}: no facts; an empty graph cannot be aligned, so give it one a line")
    entity_ids, entities = _read_names(folder / f"ent_ids_{side}", [facts["head"], facts["tail"]], "entity")
    relation_ids, relations = _read_names(folder / f"rel_ids_{side}", [facts["relation"]], "relation")
    columns = []
    for name, ids, listing in (
        ("head", entity_ids, "ent_ids"),
        ("relation", relation_ids, "rel_ids"),
        ("tail", entity_ids, "ent_ids"),
    ):
        rows = _rows_of(facts[name].to_numpy(), ids)
        missing = f"is not in {listing}_{side}; add it there or mend the id"
        _refuse(rows < 0, facts, name, triples, name, missing)
        columns.append(rows.astype(np.int32))
    begin, end = _time_columns(facts, times, triples)
    graph = TemporalGraph(
        columns[0],
        columns[1],
        columns[2],
        begin,
        end,
        entities,
        relations,
        name=str(triples),
        opaque_times=times is None,
    )
    logger.info("read %r", graph)
    reversed_intervals = graph.reversed_intervals
    if reversed_intervals:
        logger.warning("%s: %d facts end before they begin; both ends are kept", triples, reversed_intervals)
    return graph, entity_ids


def _read_names(path: Path, used: list[pl.Series], kind: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Ids and names of an ``ent_ids`` or ``rel_ids`` file, in file order; without the file, the ids are the names."""
    used_ids = pl.concat(used).unique().sort()
    if not path.exists():
        ids = used_ids.to_numpy().astype(np.int64)
        return ids, tuple(str(i) for i in ids)
    table = read_fields(path, ("first", "second"), 2, "a name")
    first, second = "first", "second"
    if kind == "relation" and _names_come_first(table, used_ids):
        first, second = second, first
    table = as_ids(table.rename({first: "id", second: "name"}), {"id": f"{kind} id"}, path)
    for column in ("id", "name"):
        twice = f"stands above already; give each {column} once"
        _refuse(_repeated(table[column].to_numpy()), table, column, path, column, twice)
    return table["id"].to_numpy(), tuple(table["name"].to_list())


def _names_come_first(table: pl.DataFrame, used: pl.Series) -> bool:
    """Whether a ``rel_ids`` file is ``name id``: the files of the field come both ways round.

    The id column is the one of whole numbers; where names are numbers too, the one that holds the ids the facts use;
    where both do, the first.
    """
    first, second = table.select(whole_numbers(pl.col("first", "second"))).get_columns()
    if first.null_count() == 0 and second.null_count() == 0:
        in_first, in_second = (int(used.is_in(ids.implode()).sum()) for ids in (first, second))
        return in_second > in_first
    return second.null_count() < first.null_count()


def _time_columns(
    facts: pl.DataFrame, times: Mapping[int, int] | None, path: Path
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Begin and end codes; a row of four columns is a point, one of three has no time."""
    # Without a calendar ids are the codes themselves: years before the common era may be among them.
    lowest, highest = (_INT32.min + 1, _INT32.max) if times is None else (0, LARGEST_ID)
    facts = as_ids(facts, _TIMES, path, lowest, highest)
    facts = facts.with_columns(end=pl.coalesce("end", "begin"))
    columns = []
    for name in _TIMES:
        given = facts[name].is_not_null().to_numpy()
        ids = facts[name].fill_null(0).to_numpy()
        if times is None:
            codes = ids
        else:
            listed = np.array(sorted(times), dtype=np.int64)
            rows = _rows_of(ids, listed)
            missing = "is not in time_id; add it there or mend the id"
            _refuse(given & (rows < 0), facts, name, path, "time", missing)
            codes = np.array([times[int(key)] for key in listed], dtype=np.int64)[np.maximum(rows, 0)]
        columns.append(np.where(given, codes, UNKNOWN).astype(np.int32))
    return columns[0], columns[1]


def _rows_of(values: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row of each value in `ids` (any order, gaps allowed), -1 where it is missing."""
    if not len(ids):
        return np.full(len(values), -1, dtype=np.int64)
    order = np.argsort(ids, kind="stable")
    place = np.minimum(np.searchsorted(ids[order], values), len(ids) - 1)
    rows = order[place]
    return np.where(ids[rows] == values, rows, -1)


def _repeated(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which values stood earlier already."""
    repeated = np.ones(len(values), dtype=bool)
    repeated[np.unique(values, return_index=True)[1]] = False
    return repeated


def _refuse(wrong: NDArray[np.bool_], table: pl.DataFrame, column: str, path: Path, kind: str, why: str) -> None:
    """End in an `InputError` where any row is wrong: ``kind``, the value that was given, and why."""
    refuse(table.filter(wrong), column, path, lambda value: f"{kind} {value} {why}")
