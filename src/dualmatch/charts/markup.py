"""HTML from untrusted text: what is not `Markup` yet is escaped, and no name can hide text or reverse its direction."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from markupsafe import Markup, escape

if TYPE_CHECKING:
    import polars as pl
    from jinja2 import Environment

MOST_SHOWN: Final = 120
"""Characters of a name that are shown."""
SHOWN_ROWS: Final = 10
"""Rows that a notebook shows."""
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"  # scripts and emoji need them, and they turn nothing around
_VOID: Final = frozenset({"meta", "link", "br", "input"})
Child = str | int | None


def el(tag: str, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """An element; children that are not `Markup` are escaped, None is left out.

    An attribute's name takes ``-`` for ``_`` and loses one at its end. True writes the bare name; None and False are
    left out.

    >>> str(el("a", "x < y", href="?a=1&b", class_="far", hidden=True))
    '<a href="?a=1&amp;b" class="far" hidden>x &lt; y</a>'
    """
    start = f"<{tag}{''.join(_attribute(name, value) for name, value in attributes.items())}>"
    return Markup(start if tag in _VOID else f"{start}{joined(*children)}</{tag}>")


def joined(*parts: Child) -> Markup:
    """Parts one after another.

    >>> str(joined(el("b", "1"), " < ", 2))
    '<b>1</b> &lt; 2'
    """
    return Markup("").join(str(part) if isinstance(part, int) else part for part in parts if part is not None)


def _attribute(name: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = name.removesuffix("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{escape(f"{value:.6g}" if isinstance(value, float) else value)}"'


def visible(text: str, most: int = MOST_SHOWN) -> str:
    """A name as it may be shown: short, and with everything that could hide or reverse the text made visible.

    >>> visible("Ada\\u202eecalevoL")
    'Ada⟨U+202E⟩ecalevoL'
    """
    shown = text[:most]
    if not shown.isprintable():  # most names are, and what is printable hides nothing
        shown = "".join(
            f"⟨U+{ord(each):04X}⟩" if unicodedata.category(each) in _HIDDEN and each not in _JOINERS else each
            for each in shown
        )
    return shown if len(text) <= most else f"{shown}… ({len(text):,} characters)"


def name_of(text: str, most: int = MOST_SHOWN) -> Markup:
    """A name of an entity or relation, set apart from the direction of the text around it."""
    return el("bdi", visible(text, most) or "(empty name)", class_="name")


def percent(share: float | None, decimals: int = 1) -> str:
    """
    >>> percent(0.995), percent(None)
    ('99.5 %', '–')
    """
    return "–" if share is None else f"{100 * share:.{decimals}f} %"


def chance(probability: float) -> str:
    """A probability as people read it: never as certain as rounding would have it.

    >>> chance(0.747), chance(0.0004), chance(0.9996), chance(1.0)
    ('74.7 %', '< 0.1 %', '> 99.9 %', '100 %')
    """
    if probability in (0.0, 1.0):
        return f"{probability:.0%}".replace("%", " %")
    return "< 0.1 %" if probability < 0.001 else "> 99.9 %" if probability > 0.999 else percent(probability)


def signed(value: float, decimals: int = 2) -> str:
    """A number that is for or against, with the sign that print has for it.

    >>> signed(-0.244), signed(7.0, 1), signed(-1429.41)
    ('−0.24', '+7.0', '−1,429.41')
    """
    return f"{value:+,.{decimals}f}".replace("-", "−")


def templates(package: str, **more: Any) -> Environment:
    """The templates of a package: they escape what they are given, and refuse names they do not know.

    `more` can be used in all of them, besides ``name``, ``visible`` and the filters
    ``percent``, ``chance`` and ``signed``.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # costs more than all else here: only for pages

    loader = PackageLoader(package)
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    made.globals.update(name=name_of, visible=visible, **more)
    made.filters.update(percent=percent, chance=chance, signed=signed)
    return made


class Shown(Protocol):
    """A name as people see it."""

    @property
    def text(self) -> str: ...

    def html(self) -> Markup: ...


def frame_html(title: str, frame: pl.DataFrame, n_rows: int, **shown: Callable[[str], Shown]) -> str:
    """A title, the first rows of a frame and how many more of `n_rows` there are; whatever the texts hold, escaped.

    `shown`: by column, how people see the names that it holds.

    >>> import polars as pl
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
