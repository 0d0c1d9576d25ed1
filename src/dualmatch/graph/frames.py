"""Data frames of any library that exports Arrow (polars, pandas, pyarrow, duckdb), and a graph as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeGuard

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.errors import InputError
from dualmatch.files.panics import panics_unprinted
from dualmatch.graph.times import UNKNOWN, format_date

if TYPE_CHECKING:
    from dualmatch.graph.model import TemporalGraph

_BROKEN: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, TypeError)


class ArrowFrame(Protocol):
    """Anything that exports its rows through the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def is_frame(given: object) -> TypeGuard[ArrowFrame]:
    """Whether an object is a data frame that `frame_of` reads."""
    return hasattr(given, "__arrow_c_stream__") or isinstance(given, pl.LazyFrame)


def frame_of(frame: ArrowFrame, name: object) -> pl.DataFrame:
    """A data frame of any library as one of polars; an `InputError`, which calls it `name`, where that cannot be."""
    try:
        with panics_unprinted():
            return frame.collect() if isinstance(frame, pl.LazyFrame) else pl.DataFrame(frame)
    except _BROKEN as error:
        problem = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"{name}: this data frame cannot be read ({problem})") from None


def pairs_of(frame: ArrowFrame, name: str) -> list[tuple[object, object]]:
    """Pairs in a frame: its columns ``source`` and ``target``, or the only two; rows without a target are left out."""
    table = frame_of(frame, name)
    columns = ["source", "target"] if {"source", "target"} <= {*table.columns} else table.columns
    if len(columns) != 2:
        raise InputError(f"{name}: columns {', '.join(table.columns)}; name two of them source and target")
    return list(table.select(columns).drop_nulls(columns[1]).iter_rows())


def fact_table(graph: TemporalGraph) -> pl.DataFrame:
    """Columns ``head``, ``relation``, ``tail``, ``begin`` and ``end`` as text, a row a fact; null where unknown.

    Dates of single entities follow; they have no tail (null).
    """
    entities, relations = (pl.Series(names, dtype=pl.String) for names in (graph.entities, graph.relations))
    begin, end = graph.times
    return pl.DataFrame(
        {
            "head": entities.gather(np.append(graph.head, graph.dates.entity)),
            "relation": relations.gather(np.append(graph.relation, graph.dates.relation)),
            "tail": entities.gather(graph.tail).extend_constant(None, len(graph.dates)),
            "begin": _texts(begin, graph.opaque_times),
            "end": _texts(end, graph.opaque_times),
        }
    )


def _texts(codes: NDArray[np.int32], opaque: bool) -> pl.Series:
    distinct, rows = np.unique(codes, return_inverse=True)
    show = str if opaque else format_date
    texts = pl.Series([None if code == UNKNOWN else show(code) for code in distinct.tolist()], dtype=pl.String)
    return texts.gather(rows)
