"""Two graphs and their links as one graph: one set of ids, and for every fact the side that said it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.errors import InputError
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, format_date

logger = logging.getLogger(__name__)

Keep = Literal["source", "target"]
FACT: Final = ("head", "relation", "tail", "begin", "end")


@dataclass(frozen=True, eq=False)
class MergedGraph:
    """Both graphs under one set of ids.

    Attributes
    ----------
    facts:
        ``head``, ``relation``, ``tail``, ``begin``, ``end`` (dates, null where unknown) and ``said_by``: ``source``,
        ``target`` or ``both``. Sorted; a fact both sides say in the same words is one row. A date of an entity itself
        has no tail (null).
    entities:
        ``id``, and the ``source`` and ``target`` name behind it, null where a side has none. An id that several
        source names share has a row for each of them.
    """

    facts: pl.DataFrame
    entities: pl.DataFrame


def merge(
    source: TemporalGraph, target: TemporalGraph, links: Sequence[tuple[str, str]], keep: Keep = "source"
) -> MergedGraph:
    """Put two graphs under one set of ids.

    Linked entities take the name that side `keep` has for them, all others keep their own. Sources that are linked to
    one target become one entity, under the name that sorts first where names of the source are kept. Where an entity
    that has no link has a name that is taken, its id is ``target:NAME`` (``source:NAME`` with `keep` target).
    Relations are not aligned: they keep their names.

    Parameters
    ----------
    links:
        (source name, target name); each source once. Several sources may have one target.

    Examples
    --------
    >>> yago = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833")])
    >>> wiki = TemporalGraph.from_facts([("Q7259", "P2", "Q46633", "1833")])
    >>> merge(yago, wiki, [("Ada", "Q7259")]).facts["head"].to_list()
    ['Ada', 'Ada']
    """
    _check(source, target, links)
    if keep not in get_args(Keep):
        raise InputError(f"keep: {keep!r} is not a side; write source or target")
    if keep == "source":
        first = {b: a for a, b in sorted(links, reverse=True)}
        shared = {a: first[b] for a, b in links}
        ids = {
            "source": {name: shared.get(name, name) for name in source.entities},
            "target": _ids_of(target, first, set(source.entities), "target"),
        }
    else:
        ids = {
            "source": _ids_of(source, dict(links), set(target.entities), "source"),
            "target": {name: name for name in target.entities},
        }
    tables = [_facts(graph, ids[side], side) for side, graph in (("source", source), ("target", target))]
    facts = pl.concat(tables).group_by(FACT).agg(pl.col("said_by").unique().sort())
    both = pl.when(pl.col("said_by").list.len() > 1).then(pl.lit("both")).otherwise(pl.col("said_by").list.first())
    entities = (
        _names(ids["source"], "source")
        .join(_names(ids["target"], "target"), on="id", how="full", coalesce=True)
        .select("id", "source", "target")
        .sort("id", "source")
    )
    return MergedGraph(facts.with_columns(both.alias("said_by")).sort(FACT), entities)


def _ids_of(graph: TemporalGraph, partner: Mapping[str, str], taken: set[str], side: str) -> dict[str, str]:
    """Name → id: the partner's name, the own one, or the own one with the side before it where it is taken."""
    ids = {name: partner.get(name, f"{side}:{name}" if name in taken else name) for name in graph.entities}
    renamed = sum(name not in partner and name in taken for name in graph.entities)
    if renamed:
        logger.warning(
            "%d names of the %s are taken by entities they are not linked to; ids are %s:NAME", renamed, side, side
        )
    return ids


def _facts(graph: TemporalGraph, ids: Mapping[str, str], side: str) -> pl.DataFrame:
    names = pl.Series([ids[name] for name in graph.entities], dtype=pl.String)
    relations = pl.Series(graph.relations, dtype=pl.String)
    begin, end = graph.times
    return pl.DataFrame(
        {
            "head": names.gather(np.append(graph.head, graph.dates.entity)),
            "relation": relations.gather(np.append(graph.relation, graph.dates.relation)),
            "tail": names.gather(graph.tail).extend_constant(None, len(graph.dates)),
            "begin": _dates(begin, graph.opaque_times),
            "end": _dates(end, graph.opaque_times),
        }
    ).with_columns(said_by=pl.lit(side))


def _dates(codes: NDArray[np.int32], opaque: bool) -> pl.Series:
    distinct, rows = np.unique(codes, return_inverse=True)
    show = str if opaque else format_date
    texts = pl.Series([None if code == UNKNOWN else show(code) for code in distinct.tolist()], dtype=pl.String)
    return texts.gather(rows)


def _names(ids: Mapping[str, str], side: str) -> pl.DataFrame:
    return pl.DataFrame({"id": list(ids.values()), side: list(ids)}, schema={"id": pl.String, side: pl.String})


def _check(source: TemporalGraph, target: TemporalGraph, links: Sequence[tuple[str, str]]) -> None:
    for side, graph, place in (("source", source, 0), ("target", target, 1)):
        names = [link[place] for link in links]
        unknown = [name for name in names if name not in graph.entity_rows]
        if unknown:
            raise InputError(f"links: {len(unknown):,} {side} names are not in {graph.name}, {unknown[0]!r} among them")
    name, times = max(Counter(name for name, _ in links).items(), key=itemgetter(1), default=("", 0))
    if times > 1:
        raise InputError(f"links: source {name!r} has {times} links; keep one, only targets may be shared")
