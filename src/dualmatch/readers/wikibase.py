"""What a Wikibase, such as Wikidata, means by its predicates and by the precision of its times."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dualmatch.graph.times import UNKNOWN, Precision, coarsen, encode_date
from dualmatch.readers.time_column import WRONG, Codes

ONTOLOGY: Final = "http://wikiba.se/ontology#"
YEAR, MONTH, DAY = 9, 10, 11
"""``timePrecision``: 9 is a year, 10 a month, 11 a day; less is a decade, a century …, more a time of day."""

_PREDICATE: Final = re.compile(
    r"(?P<base>.*)/prop/(?P<kind>statement/|qualifier/value/|qualifier/|direct/|)(?P<id>P\d+)\Z"
)


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
    match = _PREDICATE.match(predicate)
    if match is None:
        return None
    kinds = {"": "claim", "statement/": "statement", "qualifier/": "qualifier", "qualifier/value/": "value"}
    return WikibasePredicate(kinds.get(match["kind"], "direct"), f"{match['base']}/entity/{match['id']}")


def at_precision(codes: Codes, precision: NDArray[np.integer]) -> Codes:
    """Times cut to their precision; `UNKNOWN` where that is less than a year, which no time code can say.

    >>> at_precision(np.array([encode_date(1541, 1, 1)] * 2, np.int32), np.array([YEAR, 7])).tolist() == [
    ...     encode_date(1541),
    ...     UNKNOWN,
    ... ]
    True
    """
    cut = np.where(precision == MONTH, coarsen(codes, Precision.MONTH), codes)
    cut = np.where(precision == YEAR, coarsen(codes, Precision.YEAR), cut)
    cut = np.where(precision < YEAR, UNKNOWN, cut)
    return np.where(codes == WRONG, WRONG, cut).astype(np.int32)


def without_year_zero(codes: Codes) -> Codes:
    """RDF counts a year 0, which is 1 BCE; dates here do not: -0043 is 44 BCE."""
    bce = (codes < encode_date(1)) & (codes > WRONG)
    return np.where(bce, codes - encode_date(1), codes).astype(np.int32)
