"""The first rows of a data frame as an HTML table, for notebooks."""

from __future__ import annotations

from typing import Final

import polars as pl

from dualmatch.charts.markup import el, joined, visible

SHOWN_ROWS: Final = 10
"""Rows that a notebook shows."""


def frame_html(title: str, frame: pl.DataFrame, n_rows: int) -> str:
    """A title, the first rows of a frame and how many more of `n_rows` there are; whatever the texts hold, escaped.

    >>> frame_html("a < b", pl.DataFrame({"source": ["Ada"]}), 3).count("<td>")
    1
    """
    shown = frame.head(SHOWN_ROWS)
    heads = el("tr", *(el("th", name) for name in shown.columns))
    rows = (el("tr", *(el("td", _cell(value)) for value in row)) for row in shown.iter_rows())
    more = n_rows - shown.height
    below = el("p", f"… and {more:,} more rows") if more > 0 else None
    return str(joined(el("p", visible(title, 400)), el("table", el("thead", heads), el("tbody", *rows)), below))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list):  # runners-up
        return ", ".join(f"{visible(each['target'], 40)} ({each['probability']:.3f})" for each in value)
    return visible(str(value))
