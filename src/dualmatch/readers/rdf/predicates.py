"""Which predicates of an RDF file give a statement its time."""

from __future__ import annotations

import re
from dataclasses import dataclass


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
