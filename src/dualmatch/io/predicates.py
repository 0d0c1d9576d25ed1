"""Which predicates of an RDF file give a statement its time, and what the predicates of a Wikibase mean."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_WIKIBASE: Final = re.compile(
    r"(?P<base>.*)/prop/(?P<kind>statement/|qualifier/value/|qualifier/|direct/|)(?P<id>P\d+)\Z"
)


@dataclass(frozen=True)
class TimePredicates:
    """Predicates whose values are times of a statement; each is an IRI or the last part of one, in any case of letters.

    Examples
    --------
    >>> TimePredicates().role_of("http://schema.org/startDate")
    'begin'
    >>> TimePredicates(begin=("http://example.org/on",)).role_of("http://schema.org/startDate")
    """

    begin: tuple[str, ...] = (
        *(
            "begin",
            "start",
            "startDate",
            "startTime",
            "startYear",
            "beginDate",
            "beginTime",
            "beginYear",
            "hasBeginning",
        ),
        *("validFrom", "from", "since", "occurSince", "startedAtTime", "P580"),
    )
    end: tuple[str, ...] = (
        *("end", "endDate", "endTime", "endYear", "hasEnd", "validTo", "validUntil", "to", "until", "till"),
        *("occurUntil", "endedAtTime", "P582"),
    )
    time: tuple[str, ...] = ("time", "date", "year", "pointInTime", "at", "atTime", "on", "onDate", "timestamp", "P585")

    def role_of(self, predicate: str) -> str | None:
        """``"begin"``, ``"end"``, ``"time"`` (a point), or None."""
        names = {predicate.lower(), re.split(r"[/#:]", predicate)[-1].lower()}
        for role in ("begin", "end", "time"):
            if names & {name.lower() for name in getattr(self, role)}:
                return role
        return None

    def roles(self, predicates: Iterable[str]) -> dict[str, str]:
        """Predicate → role, for those that have one."""
        found = {predicate: self.role_of(predicate) for predicate in predicates}
        return {predicate: role for predicate, role in found.items() if role is not None}


@dataclass(frozen=True)
class WikibasePredicate:
    """A predicate such as ``http://www.wikidata.org/prop/statement/P39``, taken apart.

    Attributes
    ----------
    kind:
        ``"claim"`` (p:), ``"statement"`` (ps:), ``"qualifier"`` (pq:), ``"value"`` (pqv:) or ``"direct"`` (wdt:).
    property:
        The IRI of the property itself, ``http://www.wikidata.org/entity/P39``.
    """

    kind: str
    property: str


def wikibase_predicate(predicate: str) -> WikibasePredicate | None:
    """Take a predicate apart; None where it is none of a Wikibase's.

    >>> wikibase_predicate("http://www.wikidata.org/prop/direct/P39").kind
    'direct'
    """
    match = _WIKIBASE.match(predicate)
    if match is None:
        return None
    kinds = {"": "claim", "statement/": "statement", "qualifier/": "qualifier", "qualifier/value/": "value"}
    return WikibasePredicate(kinds.get(match["kind"], "direct"), f"{match['base']}/entity/{match['id']}")
