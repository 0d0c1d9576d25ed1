"""The relation file: which relations of the two graphs say the same, as learnt along the way."""

from __future__ import annotations

import polars as pl

from dualmatch.errors import InputError
from dualmatch.methods.alignment import Alignment

HEADER = ("source", "target", "direction", "score", "support")


def relation_table(alignment: Alignment) -> pl.DataFrame:
    """Source relation, target relation, direction (same or inverse), score and support, sorted by source and score.

    Raises
    ------
    InputError
        Where the method learns no relation alignment.
    """
    relations = alignment.relations
    if relations is None:
        raise InputError(no_relations(alignment.method))
    types = dict(zip(HEADER, (pl.String, pl.String, pl.String, pl.Float64, pl.Int64), strict=True))
    source, target, score, support = relations.links()
    n_target = alignment.target.n_relations
    rows = [
        (
            alignment.source.relations[s],
            alignment.target.relations[t % n_target],
            "inverse" if t >= n_target else "same",
            c,
            n,
        )
        for s, t, c, n in zip(source.tolist(), target.tolist(), score.tolist(), support.tolist(), strict=True)
    ]
    rows.sort(key=lambda row: (row[0], -round(row[3], 6), row[1], row[2]))
    return pl.DataFrame(rows, schema=types, orient="row")


def no_relations(method: str) -> str:
    """Why there is nothing to write."""
    return f"method {method} learns no relation alignment; use method evidence or fused, or leave --relations out"
