"""Names as IRIs and CURIEs, for formats of the semantic web."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Literal
from urllib.parse import quote, unquote

from dualmatch.errors import InputError, OutputError

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

_IRI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://|[^/\s])[^\x00-\x20<>\"{}|^`\\]*\Z")
_IRI_SCHEMES: Final = ("http:", "https:", "urn:", "file:", "ftp:", "tag:", "info:")
_PROPOSED: Final = 3
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
        Prefix of names that are no IRIs.

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
        """The IRI of an entity."""
        return name if is_iri(name) else self.prefixes[self._prefix(side)] + quote(name, safe="")

    def name(self, iri: str, side: Side) -> str:
        """The entity that an IRI stands for.

        >>> Naming().name("urn:dualmatch:source:Ada%20Lovelace", "source")
        'Ada Lovelace'
        """
        start = self.prefixes[self._prefix(side)]
        return unquote(iri.removeprefix(start)) if iri.startswith(start) else iri

    def curie(self, name: str, side: Side) -> str:
        """The CURIE of an entity; an `OutputError` where its name is an IRI that no prefix covers."""
        if not is_iri(name):
            return f"{self._prefix(side)}:{quote(name, safe='')}"
        covering = self._covering(name)
        if not covering:
            raise OutputError(_uncovered([name]))
        prefix = max(covering, key=lambda each: len(self.prefixes[each]))
        return f"{prefix}:{name.removeprefix(self.prefixes[prefix])}"

    def check_curies(self, names: Iterable[str]) -> None:
        """Refuse names of which `curie` would refuse one, with a prefix for each beginning that has none."""
        uncovered = [name for name in names if is_iri(name) and not self._covering(name)]
        if uncovered:
            raise OutputError(_uncovered(uncovered))

    def covering(self, names: Iterable[str]) -> Naming:
        """The same with a prefix, ``ns1``, ``ns2`` …, for each beginning of IRIs that has none.

        >>> Naming().covering(["http://example.org/Ada"]).curie("http://example.org/Ada", "source")
        'ns1:Ada'
        """
        starts = sorted({_beginning(name) for name in names if is_iri(name) and not self._covering(name)})
        free = (f"ns{number}" for number in count(1) if f"ns{number}" not in self.prefixes)
        more = dict(zip(free, (start for start in starts if is_iri(start)), strict=False))
        return Naming({**self.prefixes, **more}, self.source_prefix, self.target_prefix)

    def _covering(self, name: str) -> list[str]:
        return [prefix for prefix, iri in self.prefixes.items() if name.startswith(iri) and len(name) > len(iri)]

    def _prefix(self, side: Side) -> str:
        return self.source_prefix if side == "source" else self.target_prefix


def _uncovered(names: Sequence[str]) -> str:
    """What to say of IRIs that no prefix covers: the first, and the prefixes that would cover the most of them."""
    starts = Counter(_beginning(name) for name in names)
    proposed = " ".join(
        f"--prefix ns{number or ''}={start}" for number, (start, _) in enumerate(starts.most_common(_PROPOSED))
    )
    more = f" (and {len(starts) - _PROPOSED:,} more beginnings)" if len(starts) > _PROPOSED else ""
    these = "this IRI" if len(names) == 1 else f"this and {len(names) - 1:,} more IRIs"
    return f"{names[0]}: no prefix covers {these}; add, for example, {proposed}{more}"


def _beginning(name: str) -> str:
    start = re.match(r".*[/#:](?=.)", name)
    return start[0] if start else name


def is_iri(name: str) -> bool:
    """Whether a name is an absolute IRI.

    >>> is_iri("http://example.org/Ada"), is_iri("Ada: a life")
    (True, False)
    """
    return name.startswith(_IRI_SCHEMES) and _IRI.match(name) is not None


def parse_prefixes(given: Iterable[str]) -> dict[str, str]:
    """Read ``NAME=IRI`` of a command line."""
    prefixes = {}
    for text in given:
        prefix, equals, iri = text.partition("=")
        if not equals:
            raise InputError(f"--prefix {text!r}: write NAME=IRI, for example wd=http://www.wikidata.org/entity/")
        prefixes[prefix] = iri
    return prefixes
