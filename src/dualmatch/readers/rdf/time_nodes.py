"""Times that stand on a node of their own: intervals and instants of OWL-Time, time-spans of CIDOC CRM, VIVO's values.

``x hasTime [ hasBeginning [ inXSDDate "1830-01-01" ] ]`` gives x a begin. Such nodes are times and no entities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from dualmatch.readers.rdf.triple_lines import RDF
from dualmatch.readers.wikibase_time import DAY, MONTH, YEAR, at_precision

_TIME: Final = "http://www.w3.org/2006/time#"
_VIVO: Final = "http://vivoweb.org/ontology/core#"
_PROV: Final = "http://www.w3.org/ns/prov#"
_CIDOC: Final = ("http://www.cidoc-crm.org/cidoc-crm/", "http://erlangen-crm.org/current/")
_SEM: Final = "http://semanticweb.cs.vu.nl/2009/11/sem/"
_CIDOC_VALUES: Final = {
    "P82a_begin_of_the_begin": "begin",
    "P81a_end_of_the_begin": "begin",
    "P82b_end_of_the_end": "end",
    "P81b_begin_of_the_end": "end",
    "P82_at_some_time_within": "time",
    "P81_ongoing_throughout": "time",
}
_STAMPS: Final = {
    f"{_SEM}hasTimeStamp": "time",
    f"{_SEM}hasBeginTimeStamp": "begin",
    f"{_SEM}hasEndTimeStamp": "end",
}
_MOMENTS: Final = (
    f"{_SEM}hasTime",
    "http://www.w3.org/ns/org#memberDuring",
    "http://linkedevents.org/ontology/atTime",
    "http://purl.org/NET/c4dm/event.owl#time",
)
VALUES: Final = {
    **{f"{_TIME}inXSD{name}": "time" for name in ("Date", "DateTime", "DateTimeStamp", "gYear", "gYearMonth")},
    **{space + name: role for space in _CIDOC for name, role in _CIDOC_VALUES.items()},
    f"{_TIME}year": "time",
    f"{_VIVO}dateTime": "time",
    **_STAMPS,
    **dict.fromkeys(_MOMENTS, "time"),
}
"""Predicates of times, and what each is of its node; names such as ``begin`` are known besides (`TimePredicates`)."""
LINKS: Final = {
    **{_TIME + name: "time" for name in ("hasTime", "hasDateTimeDescription", "inDateTime")},
    f"{_TIME}hasBeginning": "begin",
    f"{_TIME}hasEnd": "end",
    **{_VIVO + name: "time" for name in ("dateTimeInterval", "dateTimeValue")},
    f"{_VIVO}start": "begin",
    f"{_VIVO}end": "end",
    **{f"{space}P4_has_time-span": "time" for space in _CIDOC},
    **dict.fromkeys(_MOMENTS, "time"),
}
"""Predicates that lead to a time, always, and what that time is of the subject."""
OF_EVENTS: Final = frozenset({f"{_PROV}startedAtTime", f"{_PROV}endedAtTime", *_STAMPS, *_MOMENTS})
"""Predicates of events, with a literal: what is said of the event holds at its time."""
_PRECISION: Final = {
    f"{_VIVO}{name}Precision": code for name, code in (("year", YEAR), ("yearMonth", MONTH), ("yearMonthDay", DAY))
}
MEMBERSHIP: Final = "http://www.w3.org/ns/org#Membership"
"""A type of events, whose times are those of what they say."""
_STEPS: Final = 3


@dataclass(frozen=True, eq=False)
class TimeNodes:
    """Nodes that are times, and what they say of others."""

    timed: pl.DataFrame
    """``node``, ``role``, ``o``, ``code`` of all times, with those that come from other nodes."""
    links: pl.DataFrame
    """The links between entities: without those to times, and from them."""
    nodes: pl.DataFrame
    """``node``: which are times."""
    led: pl.DataFrame
    """``s``, ``p``, ``node``: links from things that are not times to times."""


def find_time_nodes(plain: pl.DataFrame, links: pl.DataFrame, timed: pl.DataFrame) -> TimeNodes:
    """Follow links to times; ``role`` of a link is that of its predicate."""
    leading = pl.coalesce(pl.col("p").replace_strict(LINKS, default=None, return_dtype=pl.String), "role")
    to_time = links.with_columns(leading=leading).filter(pl.col("leading").is_not_null())
    if not to_time.height or not timed.height:
        return TimeNodes(timed, links, links.select(node="s").clear(), links.select("s", "p", node="o").clear())
    timed = _at_precision(plain, timed)
    # A predicate that is a time's by its name alone leads to one only where that is nothing else.
    others = links.filter(
        pl.col("role").is_null() & ~pl.col("p").is_in([*LINKS, f"{RDF}type", f"{_VIVO}dateTimePrecision"])
    )
    by_name = ~pl.col("p").is_in([*LINKS])
    to_time = pl.concat(
        [to_time.filter(~by_name), to_time.filter(by_name).join(others.select(o="s"), on="o", how="anti")]
    )
    found = timed
    for _ in range(_STEPS):
        step = to_time.join(found, left_on="o", right_on="node").select(
            "leading",
            pl.col("s").alias("node"),
            pl.col("role_right").alias("role"),
            pl.col("o_right").alias("o"),
            "code",
        )
        step = step.filter(
            (pl.col("leading") == "time") | (pl.col("role") == "time") | (pl.col("role") == pl.col("leading"))
        )
        role = pl.when(pl.col("leading") == "time").then("role").otherwise("leading")
        more = pl.concat([found, step.select("node", role.alias("role"), "o", "code")]).unique(maintain_order=True)
        if more.height == found.height:
            break
        found = more
    led = to_time.join(found, left_on="o", right_on="node", how="semi")
    nodes = led.select(node="o").unique()
    kept = links.join(led, on=["s", "p", "o"], how="anti").join(nodes, left_on="s", right_on="node", how="anti")
    kept = kept.filter(~pl.col("p").is_in([*LINKS]))
    return TimeNodes(
        found, kept, nodes, led.join(nodes, left_on="s", right_on="node", how="anti").select("s", "p", node="o")
    )


def with_whole_dates(plain: pl.DataFrame) -> pl.DataFrame:
    """Year, month and day that OWL-Time gives apart, as one date in place of the year."""
    month, day = (plain.filter((pl.col("p") == _TIME + name) & pl.col("literal")) for name in ("month", "day"))
    if not month.height:
        return plain
    whole = plain
    for part, name in ((month, "month"), (day, "day")):
        number = pl.col("o").str.extract("([0-9]+)").str.zfill(2).alias(name)
        whole = whole.join(part.unique("s").select("s", number), on="s", how="left", maintain_order="left")
    parts = pl.concat_str(pl.col("o").str.extract("^(-?[0-9]+)"), "month", "day", separator="-", ignore_nulls=True)
    is_year = (pl.col("p") == f"{_TIME}year") & pl.col("literal") & pl.col("month").is_not_null()
    whole = whole.with_columns(o=pl.when(is_year).then(parts).otherwise("o"))
    return whole.select(plain.columns).filter(~pl.col("p").is_in([f"{_TIME}month", f"{_TIME}day"]))


def _at_precision(plain: pl.DataFrame, timed: pl.DataFrame) -> pl.DataFrame:
    """VIVO writes a year as its first of January, and says so beside it."""
    said = plain.filter(pl.col("p") == f"{_VIVO}dateTimePrecision").select(
        node="s", precision=pl.col("o").replace_strict(_PRECISION, default=DAY, return_dtype=pl.Int32)
    )
    if not said.height:
        return timed
    timed = timed.join(said.unique("node"), on="node", how="left", maintain_order="left")
    precision = timed["precision"].fill_null(DAY).to_numpy().astype(np.int32)
    return timed.drop("precision").with_columns(code=pl.Series(at_precision(timed["code"].to_numpy(), precision)))
