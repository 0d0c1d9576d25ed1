"""Two graphs and their links as one graph: one set of ids, and for every fact the side that said it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final, Literal, get_args

import polars as pl

from dualmatch.errors import InputError, counted
from dualmatch.graph.frames import ArrowFrame, fact_table, frame_of, is_frame, pairs_of
from dualmatch.graph.literals import LiteralPair, Literals
from dualmatch.graph.model import TemporalGraph
from dualmatch.methods.validation import as_reading
from dualmatch.readers.read import Reading, Source

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
        ``target`` or ``both``. Sorted; a fact both sides say is one row, with the finer dates where one side's are a
        year and the other's a day of it. A date of an entity itself has no tail (null).
    entities:
        ``id``, and the ``source`` and ``target`` name behind it, null where a side has none. An id that several
        source names share has a row for each of them. With `literals` also ``label``, null where none is known.
    """

    facts: pl.DataFrame
    entities: pl.DataFrame


def merge(
    source: TemporalGraph | Reading | Source,
    target: TemporalGraph | Reading | Source,
    links: Iterable[Sequence[object]] | ArrowFrame,
    keep: Keep = "source",
    relations: ArrowFrame | None = None,
    literals: LiteralPair | None = None,
) -> MergedGraph:
    """Put two graphs under one set of ids.

    Linked entities take the name that side `keep` has for them, all others keep their own. Sources that are linked to
    one target become one entity, under the name that sorts first where names of the source are kept. Where an entity
    that has no link has a name that is taken, its id is ``target:NAME`` (``source:NAME`` with `keep` target).
    A fact that both sides say is one row.

    Parameters
    ----------
    source, target:
        The two graphs, or what `read` returned, data frames, tuples or paths of files, as `align` takes them.
    links:
        (source name, target name), and what may follow; each source once. Several sources may have one target.
        `Alignment.links()` or `Alignment.to_polars()`, for example.
    relations:
        Which relations mean the same, as `Alignment.relations_to_polars` gives it: the other side's take the names of
        side `keep`, turned round where they are inverse. Without it, all relations keep their names.
    literals:
        Of both sides; labels are those of side `keep` where it has one.

    Examples
    --------
    >>> yago = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833")])
    >>> wiki = TemporalGraph.from_facts([("Q7259", "P2", "Q46633", "1833")])
    >>> merge(yago, wiki, [("Ada", "Q7259")]).facts["head"].to_list()
    ['Ada', 'Ada']
    """
    pairs = _pairs(links)
    source, target = as_reading(source, "source", "none").graph, as_reading(target, "target", "none").graph
    _check(source, target, pairs)
    if keep not in get_args(Keep):
        raise InputError(f"keep: {keep!r} is not a side; write source or target")
    if keep == "source":
        first = {b: a for a, b in sorted(pairs, reverse=True)}
        shared = {a: first[b] for a, b in pairs}
        ids = {
            "source": {name: shared.get(name, name) for name in source.entities},
            "target": _ids_of(target, first, set(source.entities), "target"),
        }
    else:
        ids = {
            "source": _ids_of(source, dict(pairs), set(target.entities), "source"),
            "target": {name: name for name in target.entities},
        }
    tables = {side: _facts(graph, ids[side], side) for side, graph in (("source", source), ("target", target))}
    kept, other = tables.pop(keep), *tables.values()
    same = _same_relations(relations, keep)
    facts = pl.concat([kept, _in_words_of(kept, other, same)]).group_by(FACT).agg(pl.col("said_by").unique().sort())
    both = pl.when(pl.col("said_by").list.len() > 1).then(pl.lit("both")).otherwise(pl.col("said_by").list.first())
    facts = _at_any_precision(facts.with_columns(said_by=both))
    entities = (
        _names(ids["source"], "source")
        .join(_names(ids["target"], "target"), on="id", how="full", coalesce=True)
        .select("id", "source", "target")
        .sort("id", "source")
    )
    if literals is not None:
        entities = _labelled(entities, {"source": (source, literals[0]), "target": (target, literals[1])}, keep)
    return MergedGraph(facts.sort(FACT), entities)


def _ids_of(graph: TemporalGraph, partner: Mapping[str, str], taken: set[str], side: str) -> dict[str, str]:
    """Name → id: the partner's name, the own one, or the own one with the side before it where it is taken."""
    ids = {name: partner.get(name, f"{side}:{name}" if name in taken else name) for name in graph.entities}
    renamed = sum(name not in partner and name in taken for name in graph.entities)
    if renamed:
        names = counted(renamed, f"name of the {side} is", f"names of the {side} are")
        logger.warning("%s taken on the other side, without a link; ids are %s:NAME", names, side)
    return ids


def _facts(graph: TemporalGraph, ids: Mapping[str, str], side: str) -> pl.DataFrame:
    named = pl.col("head", "tail").replace_strict(ids, return_dtype=pl.String)
    return fact_table(graph).with_columns(named, said_by=pl.lit(side))


def _in_words_of(kept: pl.DataFrame, other: pl.DataFrame, same: pl.DataFrame) -> pl.DataFrame:
    """The other side's facts under the kept side's names of relations.

    `same` has ``relation`` (of the other side), ``partner``, ``inverse`` and how many ``partners`` it has. A relation
    with one takes its name. Where it has several, each fact takes that of the partner under which the kept side says
    the same, and keeps its own where there is none: which is meant is not known.
    """
    facts = other.with_row_index("fact").join(same, on="relation", maintain_order="left")
    swapped = pl.col("inverse") & pl.col("tail").is_not_null()
    facts = facts.with_columns(
        relation=pl.col("partner"),
        head=pl.when(swapped).then("tail").otherwise("head"),
        tail=pl.when(swapped).then("head").otherwise("tail"),
    ).filter(~(pl.col("inverse") & pl.col("tail").is_null()))
    said = facts.join(kept.select(FACT), on=FACT, how="semi", nulls_equal=True)
    chosen = pl.concat([facts.filter(pl.col("partners") == 1), said.filter(pl.col("partners") > 1)])
    chosen = chosen.unique("fact", keep="first", maintain_order=True)
    rest = other.with_row_index("fact").join(chosen, on="fact", how="anti")
    return pl.concat([rest.drop("fact"), chosen.select(other.columns)])


def _at_any_precision(facts: pl.DataFrame) -> pl.DataFrame:
    """Join facts of one side with those of the other whose dates are the same as far as both go; the finer ones stay.

    Only where there is one such fact on either side: which of the days of 1833 a *1833* means is not known.
    """
    # -44 and -0044-03-15: years are compared as numbers, and what follows them as text.
    years = [pl.col(name).str.extract("^([+-]?[0-9]+)").cast(pl.Int64).alias(f"{name} year") for name in FACT[3:]]
    numbered = facts.with_row_index("row").with_columns(years)
    said = [numbered.filter(pl.col("said_by") == side) for side in ("source", "target")]
    same = [*FACT[:3], "begin year", "end year"]
    pairs = said[0].join(said[1], on=same, nulls_equal=True, maintain_order="left")
    for name in FACT[3:]:
        first, second = (pl.col(each).str.replace("^[+-]?[0-9]+", "") for each in (name, f"{name}_right"))
        is_same = first.is_null() | first.str.starts_with(second) | second.str.starts_with(first)
        finer = pl.when(first.str.len_chars() < second.str.len_chars()).then(f"{name}_right").otherwise(name)
        pairs = pairs.filter(is_same).with_columns(finer.alias(name))
    pairs = pairs.filter(pl.col("row").is_unique() & pl.col("row_right").is_unique())
    joined = pl.concat([pairs["row"], pairs["row_right"]])
    both = pairs.select(*FACT, said_by=pl.lit("both"))
    return pl.concat([numbered.filter(~pl.col("row").is_in(joined.implode())).select(facts.columns), both])


def _same_relations(relations: ArrowFrame | None, keep: Keep) -> pl.DataFrame:
    """Which relations mean the same, as `_in_words_of` takes it; the best first."""
    columns = ("source", "target", "direction", "score")
    if relations is None:
        table = pl.DataFrame(schema=dict.fromkeys(columns[:3], pl.String) | {"score": pl.Float64})
    else:
        table = frame_of(relations, "relations")
        if missing := [name for name in columns if name not in table.columns]:
            raise InputError(f"relations: no column {missing[0]}; give Alignment.relations_to_polars()")
    own, other = ("target", "source") if keep == "source" else ("source", "target")
    return table.sort("score", other, descending=[True, False]).select(
        relation=own,
        partner=other,
        inverse=pl.col("direction") == "inverse",
        partners=pl.col(other).n_unique().over(own),
    )


def _names(ids: Mapping[str, str], side: str) -> pl.DataFrame:
    return pl.DataFrame({"id": list(ids.values()), side: list(ids)}, schema={"id": pl.String, side: pl.String})


def _labelled(entities: pl.DataFrame, sides: Mapping[str, tuple[TemporalGraph, Literals]], keep: Keep) -> pl.DataFrame:
    labels = {
        side: pl.col(side).replace_strict(
            {graph.entities[row]: label for row, label in literals.labels.items()},
            default=None,
            return_dtype=pl.String,
        )
        for side, (graph, literals) in sides.items()
    }
    return entities.with_columns(label=pl.coalesce(labels.pop(keep), *labels.values()))


def _pairs(links: Iterable[Sequence[object]] | ArrowFrame) -> list[tuple[str, str]]:
    try:
        listed: list[Any] = pairs_of(links, "links") if is_frame(links) else [*links]  # type: ignore[misc]
        return [(link[0], link[1]) for link in listed]
    except (IndexError, TypeError):
        raise InputError("links: give (source name, target name) for each") from None


def _check(source: TemporalGraph, target: TemporalGraph, links: Sequence[tuple[str, str]]) -> None:
    for side, graph, place in (("source", source, 0), ("target", target, 1)):
        names = [link[place] for link in links]
        unknown = [name for name in names if name not in graph.entity_rows]
        if unknown:
            missing = counted(len(unknown), f"{side} name is", f"{side} names are")
            raise InputError(
                f"links: {missing} not in {graph.name}: {unknown[0]!r}{' among them' * (len(unknown) > 1)}"
            )
    name, times = max(Counter(name for name, _ in links).items(), key=itemgetter(1), default=("", 0))
    if times > 1:
        raise InputError(f"links: source {name!r} has {times} links; keep one, only targets may be shared")
