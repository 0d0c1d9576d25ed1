"""Tables of an alignment: its links, and which relations mean the same.

The table of links has a row for each source entity: ``source``, ``target`` (for verdict *linked* only), ``confidence``
(that the link is right, or that there is no match; null for *undecided*), ``verdict``, ``method``, ``runners_up``
(names with their probability) and, where asked for, ``reasons``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.decode.verdicts import Verdict
from dualmatch.errors import InputError
from dualmatch.files.table_writer import DECIMALS

if TYPE_CHECKING:
    from dualmatch.methods.alignment import Alignment

_RUNNERS_UP: Final = pl.List(pl.Struct({"target": pl.String, "probability": pl.Float64}))
RELATION_COLUMNS: Final = dict.fromkeys(("source", "target", "direction"), pl.String) | {
    "score": pl.Float64,
    "support": pl.Int64,
}
"""Columns of the table of relations."""


def link_table(alignment: Alignment, reasons: Sequence[str] | None = None) -> pl.DataFrame:
    """The table of links, sorted by source; `reasons`, a text for each source row, become its last column."""
    source, target, none = alignment.source.entities, alignment.target.entities, alignment.unlinked
    rows = np.concatenate([alignment.pairs[:, 0], none.row])
    partners = [target[t] for t in alignment.pairs[:, 1].tolist()]
    verdicts = np.where(none.is_no_match, Verdict.NO_MATCH.value, Verdict.UNDECIDED.value).tolist()
    methods = np.where(alignment.is_seed, "seed", alignment.method).tolist()
    table = pl.DataFrame(
        {
            "source": [source[s] for s in rows.tolist()],
            "target": pl.Series([*partners, *[None] * len(none.row)], dtype=pl.String),
            "confidence": pl.Series(np.concatenate([alignment.confidence, none.confidence])).fill_nan(None),
            "verdict": [Verdict.LINKED.value] * len(partners) + verdicts,
            "method": methods + [alignment.method] * len(none.row),
            "runners_up": _runners_up(alignment, rows),
        }
    )
    if reasons is not None:
        table = table.with_columns(pl.Series("reasons", [reasons[s] for s in rows.tolist()], dtype=pl.String))
    return table.sort("source", maintain_order=True)


def _runners_up(alignment: Alignment, rows: NDArray[np.integer]) -> pl.Series:
    """A list for each row, best first; by columns, since a million lists of objects take minutes."""
    names, listed = alignment.target.entities, alignment.runners_up
    targets, probabilities = listed.target[rows], listed.probability[rows]
    row, place = np.nonzero(targets >= 0)
    each = pl.DataFrame(
        {
            "row": row,
            "target": pl.Series([names[t] for t in targets[row, place].tolist()], dtype=pl.String),
            "probability": [round(p, DECIMALS) for p in probabilities[row, place].tolist()],
        },
        schema_overrides={"probability": pl.Float64},
    )
    lists = each.group_by("row", maintain_order=True).agg(pl.struct("target", "probability").alias("listed"))
    whole = pl.DataFrame({"row": np.arange(len(rows))}).join(lists, on="row", how="left", maintain_order="left")
    nothing = pl.lit(pl.Series([[]], dtype=_RUNNERS_UP))
    return whole.select(pl.coalesce(pl.col("listed").cast(_RUNNERS_UP), nothing).alias("runners_up"))["runners_up"]


def relation_table(alignment: Alignment) -> pl.DataFrame:
    """Which relations mean the same: a row a pair with direction (same or inverse), score and support.

    Sorted by source and score. An `InputError` where the method learns no relation alignment.
    """
    if alignment.relations is None:
        raise InputError(no_relations(alignment.method))
    source, target, n_target = alignment.source.relations, alignment.target.relations, alignment.target.n_relations
    links = zip(*(column.tolist() for column in alignment.relations.links()), strict=True)
    rows = [
        (source[s], target[t % n_target], "inverse" if t >= n_target else "same", score, support)
        for s, t, score, support in links
    ]
    rows.sort(key=lambda row: (row[0], -round(row[3], 6), row[1], row[2]))
    return pl.DataFrame(rows, schema=RELATION_COLUMNS, orient="row")


def no_relations(method: str) -> str:
    return f"method {method} learns no relation alignment; use method evidence or fused, or leave --relations out"
