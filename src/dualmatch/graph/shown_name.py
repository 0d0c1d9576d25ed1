"""How an entity or relation is shown to people: by its label, else by a short form of its name.

Nothing that matches reads this: links do not depend on it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote

from markupsafe import Markup

from dualmatch.charts.markup import MOST_SHOWN, el, joined, visible
from dualmatch.graph.iris import KNOWN, is_iri, prefix_of

_KNOWN: Final = {
    **KNOWN,
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://www.w3.org/2000/01/rdf-schema#": "rdfs",
    "http://www.w3.org/2002/07/owl#": "owl",
    "http://www.w3.org/2004/02/skos/core#": "skos",
}
_WORD: Final = re.compile(r"[A-Za-z]{3}|[^\W\d_\x00-\x7f]")  # "Ada" and "東京", not "Q7259" or "m.0f8"
_CODE: Final = re.compile(r"[A-Za-z]{0,4}[-_.:/]?\d[\w.-]*\Z|[0-9a-fA-F-]{16,}\Z")
_MOST_OF_AN_ID: Final = 60


class ShownName(NamedTuple):
    """What people see of an entity or relation."""

    text: str  # its label, or what can be read of its name
    id: str | None  # its name in short, where the text is something else
    name: str  # as the files have it

    def __str__(self) -> str:
        return self.text if self.id is None else f"{self.text} [{self.id}]"

    def html(self, most: int = MOST_SHOWN) -> Markup:
        """The text, and small beside it the id; the whole name is shown on hovering."""
        title = None if self.text == self.name else visible(self.name, 400)
        words: str = visible(self.text, most) or "(empty name)"
        if ":" in words and " " not in words:  # where there is no room for "wd:Q1394", it breaks after the prefix
            words = Markup(":<wbr>").join(words.split(":"))
        text = el("bdi", words, class_="name", title=title)
        if self.id is None:
            return text
        small = el("small", el("bdi", visible(self.id, _MOST_OF_AN_ID)), class_="id", title=title)
        return el("span", joined(text, " ", small), class_="entity")


@lru_cache(maxsize=65_536)
def shown_name(name: str, label: str | None = None) -> ShownName:
    """How something of this name, and of this label if it has one, is shown.

    >>> str(shown_name("http://www.wikidata.org/entity/Q1394", "Vladimir Lenin")), str(shown_name("<United_States>"))
    ('Vladimir Lenin [wd:Q1394]', 'United States')
    >>> shown_name("http://dbpedia.org/resource/Zo%C3%AB_Ball")[:2], shown_name("Q7259")[:2]
    (('Zoë Ball', 'dbr:Zoë_Ball'), ('Q7259', None))
    """
    short, local = _short(name)
    if label is not None and label.strip():
        text = " ".join(label.split())
        return ShownName(text, None if text in (name, short, _readable(local)) and not _is_iri(name) else short, name)
    if _is_iri(name) and local != short and _WORD.search(local) and not _CODE.match(local):
        return ShownName(_readable(local), short, name)
    return ShownName(short if _is_iri(name) else _readable(local), None, name)


def short_form(name: str) -> str:
    """A name in short: ``wd:Q1394`` for an IRI, without ``<>`` for any other.

    >>> [short_form(each) for each in ("http://www.wikidata.org/entity/Q1394", "<Ada_Lovelace>", "https://e.org/a/b#c")]
    ['wd:Q1394', 'Ada_Lovelace', 'e:c']
    """
    return _short(name)[0]


def search_text(name: str, label: str | None) -> str:
    """What a search looks through, a line each: what is shown, the name in short, and the name.

    >>> search_text("http://www.wikidata.org/entity/Q142", "France").split("\\n")
    ['france', 'wd:q142', 'http://www.wikidata.org/entity/q142']
    """
    shown = shown_name.__wrapped__(name, label)  # once each: they would only push others out of the cache
    return "\n".join(dict.fromkeys((shown.text, shown.id or shown.text, name))).casefold()


def _short(name: str) -> tuple[str, str]:
    """A name in short, and the part of it that says which of many it is."""
    bare = _bare(name)
    if not is_iri(bare):
        return bare, bare
    base = max((each for each in _KNOWN if bare.startswith(each)), key=len, default=None)
    if base is None or bare == base:
        found = re.match(r".*[/#](?=.)" if "://" in bare else r".*:(?=.)", bare)
        base = found[0] if found and not found[0].endswith("://") else None
    if base is None:
        return bare, bare
    local = bare.removeprefix(base)
    if (decoded := unquote(local)).isprintable():  # nothing that a terminal would obey
        local = decoded
    return f"{_KNOWN.get(base) or prefix_of(base)}:{local}", local.rstrip("/#")


def _bare(name: str) -> str:
    return name[1:-1] if len(name) > 2 and name[0] == "<" and name[-1] == ">" else name


def _is_iri(name: str) -> bool:
    return is_iri(_bare(name))


def _readable(local: str) -> str:
    """Words for people; what is nothing but underscores, or a blank node, stays."""
    return local if local.startswith("_:") else local.replace("_", " ").strip() or local
