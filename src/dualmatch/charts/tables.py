"""Tables and numbers as a reader wants them."""

from __future__ import annotations

from collections.abc import Sequence

from dualmatch.charts.markup import Child, Html, el


def table(heads: Sequence[str], rows: Sequence[Sequence[Child]], caption: str | None = None, left: int = 1) -> Html:
    """A table whose first `left` columns are words and whose others are numbers."""
    return el(
        "div",
        el(
            "table",
            None if caption is None else el("caption", caption),
            el(
                "thead",
                el("tr", *(el("th", head, scope="col", class_=_kind(at, left)) for at, head in enumerate(heads))),
            ),
            el(
                "tbody",
                *(el("tr", *(el("td", cell, class_=_kind(at, left)) for at, cell in enumerate(row))) for row in rows),
            ),
        ),
        class_="scroll",
        tabindex="0",
    )


def pairs(rows: Sequence[tuple[str, Child]]) -> Html:
    """Names and what they are."""
    return el("dl", *(part for name, value in rows for part in (el("dt", name), el("dd", value))))


def percent(share: float | None, decimals: int = 1) -> str:
    """
    >>> percent(0.995), percent(None)
    ('99.5 %', '–')
    """
    return "–" if share is None else f"{100 * share:.{decimals}f} %"


def _kind(at: int, left: int) -> str | None:
    return None if at < left else "number"
