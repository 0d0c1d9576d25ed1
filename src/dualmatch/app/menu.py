"""The menu of every page of the app."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from dualmatch.app.workspace import Pair
from dualmatch.charts.markup import el, joined


def menu_of(pair: Pair | None, here: str = "", result: int = 0) -> Markup:
    """The menu of every page; `here` is the page it stands on, and `result` which of several results that is about."""
    links = {"Start": "/"}
    results: list[Path] = []
    if pair is not None:
        at = f"/{pair.number}"
        links |= {"Files": f"{at}/", "Align": f"{at}/align"}
        if pair.state == "finished":
            links |= {"Report": f"{at}/report", "Review": f"{at}/review/", "Links": f"{at}/links"}
            results = pair.results if here == "Report" else []
    menu = _nav(links, here, class_="menu", aria_label="dualmatch")
    if len(results) < 2:
        return menu
    runs = {result_in_words(place, len(results)): f"{links['Report']}?of={place}" for place in range(len(results))}
    return joined(menu, _nav(runs, [*runs][result], class_="menu", aria_label="Runs"))


def _nav(links: Mapping[str, str], here: str, **attributes: str) -> Markup:
    shown = (el("a", name, href=at, aria_current="page" if name == here else None) for name, at in links.items())
    return el("nav", joined(*shown), **attributes)


def result_in_words(place: int, of: int) -> str:
    """Which of so many results it is.

    >>> [result_in_words(place, 3) for place in range(3)], result_in_words(0, 1)
    (['First run', 'Aligned again, 1', 'Aligned again, 2'], 'The run')
    """
    if of == 1:
        return "The run"
    return "First run" if not place else "Aligned again" if of == 2 else f"Aligned again, {place}"
