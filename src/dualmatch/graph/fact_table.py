"""A graph as a data frame: the facts by name, with dates as people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.graph.times import UNKNOWN, format_date

if TYPE_CHECKING:
    from dualmatch.graph.model import TemporalGraph


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
