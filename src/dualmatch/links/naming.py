"""Names as IRIs and CURIEs, for formats of the semantic web."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Final, Literal
from urllib.parse import quote, unquote

from pyoxigraph import NamedNode

from dualmatch.errors import InputError, OutputError
from dualmatch.graph.iris import ROOT, beginning_of, is_iri, prefix_of

Side = Literal["source", "target"]

BUILT_IN: Final = {
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "semapv": "https://w3id.org/semapv/vocab/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sssom": "https://w3id.org/sssom/",
}
"""Prefixes that SSSOM defines."""

_MOST_OF_A_HOST: Final = 3  # beginnings that have a prefix each
_PREFIX: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")


@dataclass(frozen=True)
class Naming:
    """How entity names become IRIs and CURIEs.

    A name that is an IRI stays that IRI; any other becomes one under its side's prefix.

    Parameters
    ----------
    prefixes:
        Prefix → IRI, besides the two below.
    source_prefix, target_prefix:
        Prefix of names that are not IRIs.

    Examples
    --------
    >>> naming = Naming({"wd": "http://www.wikidata.org/entity/"}, target_prefix="wd")
    >>> naming.iri("Q7259", "target"), naming.curie("http://www.wikidata.org/entity/Q7259", "source")
    ('http://www.wikidata.org/entity/Q7259', 'wd:Q7259')
    """

    prefixes: Mapping[str, str] = field(default_factory=dict)
    source_prefix: str = "source"
    target_prefix: str = "target"

    def __post_init__(self) -> None:
        defaults = {side: f"urn:dualmatch:{side}:" for side in ("source", "target")}
        object.__setattr__(self, "prefixes", {**defaults, **self.prefixes})
        for prefix, iri in self.prefixes.items():
            if not _PREFIX.match(prefix) or not is_iri(iri):
                raise InputError(
                    f"prefix {prefix}={iri}: write NAME=IRI, for example wd=http://www.wikidata.org/entity/"
                )
            if BUILT_IN.get(prefix, iri) != iri:
                raise InputError(f"prefix {prefix}: means {BUILT_IN[prefix]} in SSSOM; choose another name")
        for prefix in (self.source_prefix, self.target_prefix):
            if prefix not in self.prefixes:
                raise InputError(f"prefix {prefix}: its IRI is missing; add --prefix {prefix}=IRI")

    def iri(self, name: str, side: Side) -> str:
        """The IRI of an entity; one that N-Triples cannot hold (a bare ``%``) is percent-encoded as other names are.

        >>> Naming().iri("http://e.org/50%", "source")
        'urn:dualmatch:source:http%3A%2F%2Fe.org%2F50%25'
        """
        if is_iri(name):
            try:
                return NamedNode(name).value
            except ValueError:
                pass
        return self.prefixes[self._prefix(side)] + quote(name, safe="")

    def name(self, iri: str, side: Side) -> str:
        """The entity that an IRI stands for.

        >>> Naming().name("urn:dualmatch:source:Ada%20Lovelace", "source")
        'Ada Lovelace'
        """
        start = self.prefixes[self._prefix(side)]
        return unquote(iri.removeprefix(start)) if iri.startswith(start) else iri

    def curie(self, name: str, side: Side) -> str:
        """The CURIE of an entity, in ASCII; an `OutputError` where its name is an IRI that no prefix covers.

        What a URI cannot hold is percent-encoded, so that tools which read URIs only do not drop it.

        >>> Naming({"ex": "http://example.org/"}).curie("http://example.org/Zoë", "source")
        'ex:Zo%C3%AB'
        """
        if not is_iri(name):
            return f"{self._prefix(side)}:{quote(name, safe='')}"
        covering = self._covering(name)
        if not covering:
            proposed = self.covering([name]).prefixes
            new = next(f"{prefix}={iri}" for prefix, iri in proposed.items() if prefix not in self.prefixes)
            raise OutputError(f"{name}: no prefix covers this IRI; add, for example, --prefix {new}")
        prefix = max(covering, key=lambda each: len(self.prefixes[each]))
        return f"{prefix}:{_as_uri(name.removeprefix(self.prefixes[prefix])) or '/'}"

    def covering(self, names: Iterable[str]) -> Naming:
        """The same with a prefix, called by its host, for each beginning of IRIs that has none.

        Hosts with many beginnings have one prefix for all.

        >>> Naming().covering(["http://www.example.org/Ada"]).curie("http://www.example.org/Ada", "source")
        'example:Ada'
        """
        starts: dict[str, set[str]] = {}
        for name in names:
            if is_iri(name) and not self._covering(name):
                host = ROOT.match(name)
                starts.setdefault(name if host is None else host[0], set()).add(beginning_of(name))
        bases: set[str] = set()
        for root, found in starts.items():
            bases |= {f"{root}/", *found & {root}} if len(found) > _MOST_OF_A_HOST else found
        more: dict[str, str] = {}
        for base in sorted(bases):
            word = prefix_of(base)
            free = (name for name in chain([word], (f"{word}{n}" for n in count(2))) if name not in BUILT_IN)
            more[next(name for name in free if name not in self.prefixes and name not in more)] = base
        return Naming({**self.prefixes, **more}, self.source_prefix, self.target_prefix)

    def _covering(self, name: str) -> list[str]:
        """Prefixes of a name; only one that stands for a host may leave nothing of it, which is written as ``/``."""
        return [
            prefix
            for prefix, iri in self.prefixes.items()
            if name.startswith(iri) and (len(name) > len(iri) or ROOT.fullmatch(name))
        ]

    def _prefix(self, side: Side) -> str:
        return self.source_prefix if side == "source" else self.target_prefix


def _as_uri(local: str) -> str:
    """What a URI cannot hold is percent-encoded; what is encoded already stays."""
    encoded = quote(re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", local), safe="!$&'()*+,;=:@/?#%~")
    return f"%2F%2F{encoded[2:]}" if encoded.startswith("//") else encoded


def decoded(local: str) -> str:
    """Undo `Naming.curie`, as far as letters outside ASCII go; what else is encoded stays.

    >>> decoded("Zo%C3%AB%20%2F")
    'Zoë%20%2F'
    """

    def letters(found: re.Match[str]) -> str:
        try:
            return unquote(found[0], errors="strict")
        except UnicodeDecodeError:
            return found[0]

    return re.sub(r"(?:%[89A-F][0-9A-F])+", letters, local)


def parse_prefixes(given: Iterable[str]) -> dict[str, str]:
    """Read ``NAME=IRI`` of a command line."""
    prefixes = {}
    for text in given:
        prefix, equals, iri = text.partition("=")
        if not equals:
            raise InputError(f"--prefix {text!r}: write NAME=IRI, for example wd=http://www.wikidata.org/entity/")
        prefixes[prefix] = iri
    return prefixes
