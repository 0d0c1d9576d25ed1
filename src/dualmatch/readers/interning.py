"""Names to numbers: the distinct values of text columns, sorted, and each row's place among them."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray


def numbered(names: pl.Series) -> tuple[pl.Series, NDArray[np.int32]]:
    """Distinct values in order, and the row of each value among them.

    Values are looked up by a 64-bit hash, several times faster than by their text; should two of them ever share a
    hash, the check at the end notices and they are looked up by their text.

    Parameters
    ----------
    names: (n,) text
        Without nulls.

    Returns
    -------
    distinct: (m,) text
        Sorted, so that the numbers do not depend on the order in which a file names things.
    rows: (n,) int32

    Examples
    --------
    >>> distinct, rows = numbered(pl.Series(["b", "a", "b"]))
    >>> distinct.to_list(), rows.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    keys = names.hash()
    distinct = names.gather(keys.arg_unique()).sort()
    rows = _rows_of(keys, distinct.hash())
    if (distinct.gather(rows) == names).all():
        return distinct, rows
    distinct = names.unique().sort()
    return distinct, _rows_of(names, distinct)


def _rows_of(keys: pl.Series, listed: pl.Series) -> NDArray[np.int32]:
    listing = pl.DataFrame({"key": listed}).with_row_index("row")
    rows = pl.DataFrame({"key": keys}).join(listing, on="key", how="left", maintain_order="left")["row"]
    return rows.to_numpy().astype(np.int32)
