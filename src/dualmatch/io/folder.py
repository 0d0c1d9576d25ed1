"""The field's benchmark folders: ``ent_ids_1/2``, ``rel_ids_1/2``, ``time_id``, ``triples_1/2`` and pair files.

Ids in the files may have gaps and may go on from one graph to the next; inside, everything is a row number.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.errors import SHOWN_PROBLEMS, InputError, Problem, input_error
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, parse_date
from dualmatch.io.lines import LINE, as_ids, read_fields

logger = logging.getLogger(__name__)

Pairs = NDArray[np.int32]
_FACT = ("head", "relation", "tail", "begin", "end")


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

    def read_pairs(self, path: Path) -> Pairs:
        """A pair file of two columns as (n, 2) row numbers; an unknown or repeated entity is an error.

        Columns of whole numbers are the folder's ids; anything else is taken for entity names.
        """
        table = read_fields(path, ("source", "target"), 2, "a pair")
        by_id = all(table[side].str.contains(r"^\s*-?\d+\s*$").all() for side in ("source", "target"))
        columns = []
        for side, graph, ids in (("source", self.source, self.source_ids), ("target", self.target, self.target_ids)):
            given = table[side].str.strip_chars().cast(pl.Int64) if by_id else table[side]
            rows = _rows_of(given.to_numpy(), ids) if by_id else _rows_of_names(given, graph)
            _refuse(
                rows < 0,
                table,
                given,
                path,
                f"{side} entity {{}} is not in {graph.name}; mend it or leave the pair out",
            )
            repeated = _repeated(rows)
            _refuse(repeated, table, given, path, f"{side} entity {{}} stands in an earlier pair too; pairs are 1-to-1")
            columns.append(rows)
        return np.stack(columns, axis=1).astype(np.int32).reshape(-1, 2)


def read_folder(path: str | Path) -> BenchmarkFolder:
    """Read a benchmark folder.

    Facts may have 3 (no time), 4 (a point) or 5 (begin, end) columns, mixed at will. ``time_id`` gives each time
    id its date (day, month or year) or ``-inf`` / ``~`` for unknown; where it is absent or empty, ids are opaque
    times. An end before its begin is counted and warned of; both ends are kept.

    Raises
    ------
    InputError
        With ``file:line`` and what to do.
    """
    path = Path(path)
    if not path.is_dir():
        raise InputError(f"{path}: no such folder; give a benchmark folder (triples_1, triples_2, ent_ids_1, …)")
    times = _read_times(path / "time_id")
    source, source_ids = _read_graph(path, "1", times)
    target, target_ids = _read_graph(path, "2", times)
    return BenchmarkFolder(path, source, target, source_ids, target_ids)


def _read_times(path: Path) -> dict[int, int] | None:
    """Time id → time code; None where there is no calendar."""
    if not path.exists():
        return None
    table = as_ids(read_fields(path, ("time", "date"), 2, "a time"), ("time",), path)
    if table.height == 0:
        return None
    times: dict[int, int] = {}
    problems = []
    for line, key, date in table.iter_rows():
        try:
            code = parse_date(date)
        except ValueError as error:
            problems.append(Problem(path, line, str(error)))
            continue
        if times.setdefault(key, code) != code:
            problems.append(Problem(path, line, f"time id {key} has another date above; give each id one date"))
    if problems:
        raise input_error(problems)
    return times


def _read_graph(folder: Path, side: str, times: Mapping[int, int] | None) -> tuple[TemporalGraph, NDArray[np.int64]]:
    triples = folder / f"triples_{side}"
    facts = as_ids(read_fields(triples, _FACT, 3, "a fact"), _FACT, triples)
    if facts.height == 0:
        raise InputError(f"{triples}: no facts; an empty graph cannot be aligned")
    entity_ids, entities = _read_names(folder / f"ent_ids_{side}", [facts["head"], facts["tail"]], id_first=True)
    relation_ids, relations = _read_names(folder / f"rel_ids_{side}", [facts["relation"]], id_first=None)
    columns = []
    for name, ids, listing in (
        ("head", entity_ids, "ent_ids"),
        ("relation", relation_ids, "rel_ids"),
        ("tail", entity_ids, "ent_ids"),
    ):
        rows = _rows_of(facts[name].to_numpy(), ids)
        _refuse(
            rows < 0,
            facts,
            facts[name],
            triples,
            f"{name} {{}} is not in {listing}_{side}; add it there or mend the id",
        )
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
    reversed_intervals = graph.reversed_intervals
    if reversed_intervals:
        logger.warning("%s: %d facts end before they begin; both ends are kept", triples, reversed_intervals)
    return graph, entity_ids


def _read_names(path: Path, used: list[pl.Series], id_first: bool | None) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Ids and names of an ``ent_ids`` or ``rel_ids`` file, in file order; without the file, the ids are the names.

    `id_first` None: the files of the field come both ways round (``id name`` and ``name id``); the column that
    holds every id the facts use is the id column.
    """
    used_ids = pl.concat(used).unique().sort()
    if not path.exists():
        ids = used_ids.to_numpy().astype(np.int64)
        return ids, tuple(str(i) for i in ids)
    table = read_fields(path, ("first", "second"), 2, "a name")
    first, second = "first", "second"
    if id_first is None and not _holds(table["first"], used_ids) and _holds(table["second"], used_ids):
        first, second = second, first
    table = as_ids(table.rename({first: "listed", second: "name"}), ("listed",), path)
    ids = table["listed"].to_numpy().astype(np.int64)
    for kind, column in (("id", "listed"), ("name", "name")):
        values = table[column]
        _refuse(
            _repeated(values.to_numpy()),
            table,
            values,
            path,
            f"{kind} {{}} stands above already; give each {kind} once",
        )
    return ids, tuple(table["name"].to_list())


def _holds(column: pl.Series, used: pl.Series) -> bool:
    return bool(used.is_in(column.str.strip_chars().cast(pl.Int64, strict=False).drop_nulls().implode()).all())


def _time_columns(
    facts: pl.DataFrame, times: Mapping[int, int] | None, path: Path
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Begin and end codes; a row of four columns is a point, one of three has no time."""
    begin, end = facts["begin"], facts["end"]
    end = pl.select(pl.when(end.is_null()).then(begin).otherwise(end)).to_series()
    columns = []
    for column in (begin, end):
        given = column.is_not_null().to_numpy()
        ids = column.fill_null(0).to_numpy()
        if times is None:
            codes = ids
        else:
            listed = np.array(sorted(times), dtype=np.int64)
            rows = _rows_of(ids, listed)
            _refuse(given & (rows < 0), facts, column, path, "time {} is not in time_id; add it there or mend the id")
            codes = np.array([times[int(key)] for key in listed], dtype=np.int64)[np.maximum(rows, 0)]
        columns.append(np.where(given, codes, UNKNOWN).astype(np.int32))
    return columns[0], columns[1]


def _rows_of(values: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Row of each value in `ids` (any order, gaps allowed), -1 where it is missing."""
    order = np.argsort(ids, kind="stable")
    place = np.minimum(np.searchsorted(ids[order], values), len(ids) - 1)
    rows = order[place]
    return np.where(ids[rows] == values, rows, -1)


def _rows_of_names(names: pl.Series, graph: TemporalGraph) -> NDArray[np.int64]:
    return np.array([graph.entity_rows.get(name, -1) for name in names], dtype=np.int64)


def _repeated(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which values stood earlier already."""
    repeated = np.ones(len(values), dtype=bool)
    repeated[np.unique(values, return_index=True)[1]] = False
    return repeated


def _refuse(wrong: NDArray[np.bool_], table: pl.DataFrame, given: pl.Series, path: Path, what: str) -> None:
    """End in an `InputError` where any row is wrong; `what` says why, with {} for the value that was given."""
    at = np.flatnonzero(wrong)
    if len(at):
        first = [Problem(path, table[LINE][int(i)], what.format(given[int(i)])) for i in at[:SHOWN_PROBLEMS]]
        raise input_error(first, len(at))
