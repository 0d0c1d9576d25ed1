"""The first rows of a data frame as an HTML table, for notebooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import polars as pl
from markupsafe import Markup

from dualmatch.charts.markup import el, joined, visible

SHOWN_ROWS: Final = 10
"""Rows that a notebook shows."""


class Shown(Protocol):
    """A name as people see it."""

    @property
    def text(self) -> str: ...

    def html(self) -> Markup: ...


def frame_html(title: str, frame: pl.DataFrame, n_rows: int, **shown: Callable[[str], Shown]) -> str:
    """A title, the first rows of a frame and how many more of `n_rows` there are; whatever the texts hold, escaped.

    `shown`: by column, how people see the names that it holds.

    >>> frame_html("a < b", pl.DataFrame({"source": ["Ada"]}), 3).count("<td>")
    1
    """
    first = frame.head(SHOWN_ROWS)
    heads = el("tr", *(el("th", name) for name in first.columns))
    ways = [shown.get(name) for name in first.columns]
    rows = (el("tr", *(el("td", _cell(*each)) for each in zip(row, ways, strict=True))) for row in first.iter_rows())
    more = n_rows - first.height
    below = el("p", f"… and {more:,} more rows") if more > 0 else None
    return str(joined(el("p", visible(title, 400)), el("table", el("thead", heads), el("tbody", *rows)), below))


def _cell(value: object, shown: Callable[[str], Shown] | None) -> str:
    if value is None:
        return ""
    if shown is not None and isinstance(value, str):
        return shown(value).html()
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list):  # runners-up
        names = [each["target"] if shown is None else shown(each["target"]).text for each in value]
        chances = [each["probability"] for each in value]
        return ", ".join(f"{visible(name, 40)} ({chance:.3f})" for name, chance in zip(names, chances, strict=True))
    return visible(str(value))
