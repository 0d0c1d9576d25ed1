"""Markup that cannot be broken into: every text is escaped unless it was made here."""

from __future__ import annotations

import unicodedata
from html import escape
from typing import Final

MOST_SHOWN: Final = 120
"""Characters of a name that are shown."""
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"  # scripts and emoji need them, and they turn nothing around


class Html(str):
    """Text that is markup already."""

    __slots__ = ()

    def __html__(self) -> str:
        """What template engines ask for before they escape."""
        return str(self)


Child = str | int | None
_VOID: Final = frozenset({"meta", "link", "br", "input"})


def el(tag: str, *children: Child, **attributes: str | float | bool | None) -> Html:
    """An element; children that are no `Html` are escaped, None is left out.

    An attribute's name takes ``-`` for ``_`` and loses one at its end; True stands for itself, None and False are left
    out.

    >>> el("a", "x < y", href="?a=1&b", class_="far", hidden=True)
    '<a href="?a=1&amp;b" class="far" hidden>x &lt; y</a>'
    """
    inner = "".join(_text(child) for child in children if child is not None)
    given = "".join(_attribute(name, value) for name, value in attributes.items())
    return Html(f"<{tag}{given}>" if tag in _VOID else f"<{tag}{given}>{inner}</{tag}>")


def joined(*parts: Child) -> Html:
    """Parts one after another.

    >>> joined(el("b", "1"), " < ", 2)
    '<b>1</b> &lt; 2'
    """
    return Html("".join(_text(part) for part in parts if part is not None))


def _text(child: Child) -> str:
    return str(child) if isinstance(child, Html) else escape(str(child))


def _attribute(name: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = name.removesuffix("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f' {name}="{escape(text)}"'


def visible(text: str, most: int = MOST_SHOWN) -> str:
    """A name as it may be shown: short, and with everything that could hide or turn the text around made visible.

    >>> visible("Ada\\u202eecalevoL")
    'Ada⟨U+202E⟩ecalevoL'
    """
    cut = text[:most]
    shown = (
        cut
        if cut.isprintable()
        else "".join(  # what is printable hides nothing, and most names are
            f"⟨U+{ord(each):04X}⟩" if unicodedata.category(each) in _HIDDEN and each not in _JOINERS else each
            for each in cut
        )
    )
    return shown if len(text) <= most else f"{shown}… ({len(text):,} characters)"


def name_of(text: str, most: int = MOST_SHOWN) -> Html:
    """A name of an entity or relation, set apart from the direction of the text around it."""
    return el("bdi", visible(text, most) or "(empty name)", class_="name")
