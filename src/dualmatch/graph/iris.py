"""IRIs: what they begin with, and a short name for that."""

from __future__ import annotations

import re
from typing import Final

_IRI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://|[^/\s])[^\x00-\x20<>\"{}|^`\\]*\Z")
_IRI_SCHEMES: Final = ("http:", "https:", "urn:", "file:", "ftp:", "tag:", "info:")
ROOT: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]+")
"""Scheme and host."""
KNOWN: Final = {
    "http://www.wikidata.org/entity/": "wd",
    "http://www.wikidata.org/prop/direct/": "wdt",
    "http://www.wikidata.org/prop/": "p",
    "http://dbpedia.org/resource/": "dbr",
    "http://dbpedia.org/ontology/": "dbo",
    "http://dbpedia.org/property/": "dbp",
    "http://yago-knowledge.org/resource/": "yago",
    "http://schema.org/": "schema",
    "https://schema.org/": "schema",
    "http://rdf.freebase.com/ns/": "fb",
    "https://sws.geonames.org/": "gn",
    "https://d-nb.info/gnd/": "gnd",
    "http://viaf.org/viaf/": "viaf",
    "http://xmlns.com/foaf/0.1/": "foaf",
    "http://purl.org/dc/terms/": "dct",
}
"""Well-known beginnings of IRIs, and what people call them."""


def is_iri(name: str) -> bool:
    """Whether a name is an absolute IRI.

    >>> is_iri("http://example.org/Ada"), is_iri("Ada: a life")
    (True, False)
    """
    return name.startswith(_IRI_SCHEMES) and _IRI.match(name) is not None


def beginning_of(iri: str) -> str:
    """What a prefix may stand for: all but the last part, or what is ASCII; of an IRI that is only a host, all of it.

    >>> [beginning_of(iri) for iri in ("http://e.org/a/b#c", "https://e.org/", "https://e.org/a/ü/b", "urn:isbn:1")]
    ['http://e.org/a/b#', 'https://e.org', 'https://e.org/a/', 'urn:isbn:']
    """
    root = ROOT.match(iri)
    if root is not None and iri.removeprefix(root[0]) in ("", "/"):
        return root[0]
    ascii_, start = (re.match(rf"{letter}*[/#:](?=.)", iri) for letter in ("[!-~]", "."))
    if ascii_ and (root is None or ascii_[0].startswith(f"{root[0]}/")):  # more than the scheme of a host
        return ascii_[0]
    return start[0] if start else iri


def prefix_of(base: str) -> str:
    """A name for a prefix: known, the host without ``www`` and its last part, or of a URN its kind.

    >>> [prefix_of(each) for each in ("http://www.wikidata.org/entity/", "http://fr.dbpedia.org/resource/", "urn:x:")]
    ['wd', 'fr_dbpedia', 'x']
    """
    if base in KNOWN:
        return KNOWN[base]
    host = re.match(r"[^:]+://(?:[^@/?#]*@)?(?:www\.)?([^/?#:]*)", base)
    parts = host[1].split(".") if host else [part for part in base.split(":") if part][-1:]
    word = re.sub(r"[^A-Za-z0-9]+", "_", "_".join(parts[:-1] or parts)).strip("_")
    return word if word[:1].isalpha() else f"ns{word}"
