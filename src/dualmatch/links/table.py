"""The table of links: a row for each source entity, as every format of links is written from.

``source``, ``target`` (for verdict *linked* only), ``confidence`` (that the link is right, or that there is no match;
null for *undecided*), ``verdict``, ``method``, ``runners_up`` (names with their probability) and, where asked for,
``reasons``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.decode.verdicts import Unlinked, Verdict
from dualmatch.errors import OutputError
from dualmatch.files.tables import DECIMALS
from dualmatch.methods.alignment import Alignment

RUNNERS_UP: Final = pl.List(pl.Struct({"target": pl.String, "probability": pl.Float64}))


def link_table(alignment: Alignment, reasons: Sequence[str] | None = None) -> pl.DataFrame:
    """The rows, sorted by source.

    Parameters
    ----------
    reasons:
        One text for each source row of the alignment; adds the column ``reasons``.
    """
    source, target = alignment.source.entities, alignment.target.entities
    none = alignment.unlinked
    rows = np.concatenate([alignment.pairs[:, 0], none.row])
    partners = [target[t] for t in alignment.pairs[:, 1].tolist()]
    methods = np.where(alignment.is_seed, "seed", alignment.method).tolist()
    table = pl.DataFrame(
        {
            "source": [source[s] for s in rows.tolist()],
            "target": pl.Series([*partners, *[None] * len(none.row)], dtype=pl.String),
            "confidence": pl.Series(np.concatenate([alignment.confidence, none.confidence])).fill_nan(None),
            "verdict": [*[Verdict.LINKED.value] * len(partners), *_verdicts(none)],
            "method": methods + [alignment.method] * len(none.row),
            "runners_up": _runners_up(alignment, rows),
        }
    )
    if reasons is not None:
        table = table.with_columns(pl.Series("reasons", [reasons[s] for s in rows.tolist()], dtype=pl.String))
    return table.sort("source", maintain_order=True)


def _verdicts(none: Unlinked) -> list[str]:
    return [Verdict.NO_MATCH.value if each else Verdict.UNDECIDED.value for each in none.is_no_match.tolist()]


def check_links(table: pl.DataFrame, path: Path) -> None:
    """Refuse a partner without a name: it would read as no link."""
    unnamed = table.filter(pl.col("target") == "")
    if unnamed.height:
        raise OutputError(
            f"{path}: the partner of {unnamed['source'][0]!r} has an empty name, which would mean no link; name it"
        )


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
    nothing = pl.lit(pl.Series([[]], dtype=RUNNERS_UP))
    return whole.select(pl.coalesce(pl.col("listed").cast(RUNNERS_UP), nothing).alias("runners_up"))["runners_up"]
