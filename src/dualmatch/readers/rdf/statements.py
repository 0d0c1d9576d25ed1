"""What RDF says, as facts with a time.

A triple has no place for its time, so files put it elsewhere. All of these are read, in one file if need be:

a. on a node that reifies the triple: RDF 1.2 (``rdf:reifies``, which is what annotations ``{| … |}`` and ``<< … >>``
   are) and plain RDF (``rdf:subject``, ``rdf:predicate``, ``rdf:object``);
b. on a Wikibase's statement nodes: qualifiers P580, P582, P585, with the precision of their values;
c. on a node in the middle (n-ary): ``s p [ q o ; begin … ]``;
d. on the named graph the triple stands in.

Everything here is a join of text columns; nodes are the names of `dualmatch.readers.rdf.quads`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from dualmatch.graph.times import UNKNOWN
from dualmatch.readers.rdf.triple_lines import RDF, Quads
from dualmatch.readers.read_options import TimePredicates
from dualmatch.readers.time_column import WRONG, TimeParser
from dualmatch.readers.wikidata import DAY, ONTOLOGY, at_precision, wikibase_predicate, without_year_zero

LABELS: Final = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
)
_PARTS: Final = {f"{RDF}subject": "s", f"{RDF}predicate": "p", f"{RDF}object": "o"}
_TRIPLE: Final = ["s", "p", "o"]


@dataclass(frozen=True, eq=False)
class Statements:
    """Facts and literals of a file."""

    facts: pl.DataFrame
    """``s``, ``p``, ``o`` and ``begin``, ``end`` as time codes."""
    literals: pl.DataFrame
    """``s``, ``p``, ``o``: what has a literal as its object and is no time."""
    wrong_times: pl.DataFrame
    """``node``, ``text``: values of time predicates that are no times; facts of these nodes are left out."""
    coarse_times: int
    """How many times are known less exactly than to the year, and so count as unknown."""


def statements_of(quads: Quads, predicates: TimePredicates, parser: TimeParser) -> Statements:
    """Find the facts of a file and the time of each."""
    meanings = _meanings(quads.plain["p"].unique().to_list(), predicates)
    plain = quads.plain.join(meanings, on="p", how="left", maintain_order="left")
    timed, coarse = _times(plain, parser)
    times = _intervals(timed.filter(pl.col("code") != WRONG))
    links = plain.filter(~pl.col("literal"))

    is_wikibase = bool(links["kind"].is_in(["statement", "direct"]).any())
    # Whatever stands for a triple, one with a literal included, is no entity.
    reifiers = pl.concat([quads.reified.select("node"), links.filter(pl.col("p").is_in([*_PARTS])).select(node="s")])
    valued = plain.filter(pl.col("p") == f"{RDF}value").select(node="s")
    middle = _middle(links, times, reifiers, valued)
    stated = [quads.reified.filter(~pl.col("literal")).select("node", *_TRIPLE), _reified(links)]
    statements = pl.concat([*stated, _claims(links) if is_wikibase else _through(middle, links, valued)])
    graphs = timed.join(links, left_on="node", right_on="g", how="semi").select("node")
    nodes = pl.concat([statements.select("node"), reifiers, middle.select("node"), graphs]).unique()
    bare = _direct(links, statements) if is_wikibase else _bare(links, statements, times, nodes)
    used = pl.concat([statements.select("node"), graphs])
    wrong = timed.filter(pl.col("code") == WRONG).join(used, on="node", how="semi")
    facts = pl.concat([_dated(statements, times), bare]).join(wrong, on="node", how="anti")
    literals = plain.filter(pl.col("literal") & ~pl.col("p").str.starts_with(ONTOLOGY))
    return Statements(
        facts.select(*_TRIPLE, pl.col("begin", "end").fill_null(UNKNOWN)),
        literals.join(nodes, left_on="s", right_on="node", how="anti").select(_TRIPLE),
        wrong.select("node", pl.col("o").alias("text")),
        coarse,
    )


def _meanings(predicates: list[str], time_predicates: TimePredicates) -> pl.DataFrame:
    """What predicates ``p`` mean: ``role`` of a time, ``kind`` and ``property`` in a Wikibase; null where nothing."""
    rows = [(name, time_predicates.role_of(name), *wikibase_predicate(name)) for name in predicates]
    return pl.DataFrame(rows, schema=dict.fromkeys(("p", "role", "kind", "property"), pl.String), orient="row")


def _times(plain: pl.DataFrame, parser: TimeParser) -> tuple[pl.DataFrame, int]:
    """``node``, ``role``, ``o`` (text), ``code`` of every time, and how many are coarser than a year."""
    with_role = plain.filter(pl.col("role").is_not_null())
    written = with_role.filter("literal").select("role", "o", "kind", node="s")
    codes = parser.codes(written["o"])
    codes = np.where(written["kind"].is_not_null().to_numpy(), without_year_zero(codes), codes)
    written = written.select("node", "role", "o").with_columns(code=pl.Series(codes, dtype=pl.Int32))
    exact, coarse = _exact_times(plain, with_role.filter(pl.col("kind") == "value"), parser)
    written = written.join(exact, on=["node", "role"], how="anti")
    return pl.concat([written, exact]), coarse


def _exact_times(plain: pl.DataFrame, value_links: pl.DataFrame, parser: TimeParser) -> tuple[pl.DataFrame, int]:
    """Times of a Wikibase's value nodes, cut to their precision."""
    values, precisions = (
        plain.filter(pl.col("p") == ONTOLOGY + name).select(pl.col("o").alias(name), value="s")
        for name in ("timeValue", "timePrecision")
    )
    found = value_links.select("role", node="s", value="o").join(values, on="value")
    found = found.join(precisions, on="value", how="left")
    codes = without_year_zero(parser.codes(found["timeValue"]))
    precision = found["timePrecision"].cast(pl.Int32, strict=False).fill_null(DAY).to_numpy()
    cut = at_precision(codes, precision)
    coarse = (cut == UNKNOWN) & (codes != UNKNOWN)
    exact = found.select("node", "role", pl.col("timeValue").alias("o"))
    return exact.with_columns(code=pl.Series(cut, dtype=pl.Int32)), int(coarse.sum())


def _intervals(timed: pl.DataFrame) -> pl.DataFrame:
    """``node``, ``begin``, ``end`` (null where unknown): the first begin and the last end a node has."""
    begin, end = (
        pl.col("code").filter((pl.col("code") != UNKNOWN) & pl.col("role").is_in([role, "time"]))
        for role in ("begin", "end")
    )
    return timed.group_by("node").agg(begin=begin.min(), end=end.max())


def _reified(links: pl.DataFrame) -> pl.DataFrame:
    """``node``, ``s``, ``p``, ``o`` of plain RDF reification."""
    parts = [
        links.filter(pl.col("p") == predicate).select(pl.col("o").alias(part), node="s")
        for predicate, part in _PARTS.items()
    ]
    return parts[0].join(parts[1], on="node").join(parts[2], on="node").select("node", *_TRIPLE)


def _claims(links: pl.DataFrame) -> pl.DataFrame:
    """``node``, ``s``, ``p``, ``o`` of a Wikibase's statements, those it calls deprecated left out."""
    claims = links.filter(pl.col("kind") == "claim").select("s", "property", node="o")
    values = links.filter(pl.col("kind") == "statement").select("property", "o", node="s")
    deprecated = links.filter((pl.col("p") == f"{ONTOLOGY}rank") & (pl.col("o") == f"{ONTOLOGY}DeprecatedRank"))
    claims = claims.join(deprecated.select(node="s"), on="node", how="anti")
    found = claims.join(values, on=["node", "property"]).filter(~pl.col("o").str.starts_with("_:"))
    return found.select("node", "s", pl.col("property").alias("p"), "o")


def _middle(links: pl.DataFrame, times: pl.DataFrame, reifiers: pl.DataFrame, valued: pl.DataFrame) -> pl.DataFrame:
    """``s``, ``p``, ``node`` of n-ary statements ``s p [ q o ]``.

    Nodes in the middle are the blank nodes that a predicate leads to, where it leads to any that has a time; and
    whatever has an ``rdf:value``.
    """
    into = links.select("s", "p", node="o").join(reifiers, on="node", how="anti")
    blank = into.filter(pl.col("node").str.starts_with("_:"))
    dated = blank.join(times, on="node", how="semi")
    return pl.concat([blank.join(dated, on="p", how="semi"), into.join(valued, on="node", how="semi")]).unique()


def _through(middle: pl.DataFrame, links: pl.DataFrame, valued: pl.DataFrame) -> pl.DataFrame:
    """``node``, ``s``, ``p``, ``o`` of n-ary statements.

    With one ``o``, or with an ``rdf:value``, the relation is p; with several ``o`` it is each one's q.
    """
    out = links.filter(pl.col("p") != f"{RDF}type").select("o", node="s", q="p")
    is_value = pl.col("q") == f"{RDF}value"
    out = pl.concat([out.filter(is_value), out.join(valued, on="node", how="anti")])
    out = out.with_columns(several=pl.len().over("node") > 1)
    relation = pl.when(pl.col("several") & ~is_value).then("q").otherwise("p")
    return middle.join(out, on="node").select("node", "s", relation.alias("p"), "o")


def _dated(statements: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """``node``, ``s``, ``p``, ``o``, ``begin``, ``end`` of stated triples."""
    found = statements.unique().join(times, on="node", how="left").select("node", *_TRIPLE, "begin", "end")
    several = found.select(_TRIPLE).is_duplicated()
    return pl.concat([found.filter(~several), _dated_by_several(found.filter(several))])


def _dated_by_several(found: pl.DataFrame) -> pl.DataFrame:
    """What several nodes say of a triple: it counts once for each that dates it, or once without time.

    Begin and end on two nodes belong together where a triple has one of each: RDF-star is written so,
    ``<<s p o>> begin …`` and ``<<s p o>> end …``.
    """
    has_begin, has_end = pl.col("begin").is_not_null(), pl.col("end").is_not_null()
    halves = (
        ((has_begin & ~has_end).sum() == 1) & ((~has_begin & has_end).sum() == 1) & ~(has_begin & has_end).any()
    ).over(_TRIPLE)
    joined = found.filter(halves).group_by(_TRIPLE).agg(pl.col("node").first(), pl.col("begin", "end").max())
    others = found.filter(~halves)
    dated = others.filter(has_begin | has_end)
    undated = others.filter(~(has_begin | has_end)).unique(_TRIPLE).join(dated, on=_TRIPLE, how="anti")
    return pl.concat([joined.select(found.columns), dated, undated])


def _bare(links: pl.DataFrame, statements: pl.DataFrame, times: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """Triples no node says anything about, with the time of their graph, if that has one."""
    free = (
        links.join(nodes, left_on="s", right_on="node", how="anti")
        .join(nodes, left_on="o", right_on="node", how="anti")
        .join(statements, on=_TRIPLE, how="anti")
    )
    return free.join(times, left_on="g", right_on="node", how="left").select(
        pl.col("g").alias("node"), *_TRIPLE, "begin", "end"
    )


def _direct(links: pl.DataFrame, statements: pl.DataFrame) -> pl.DataFrame:
    """A Wikibase's direct (wdt:) triples of which it gives no statement; nothing else in it is a fact."""
    direct = links.filter((pl.col("kind") == "direct") & ~pl.col("o").str.starts_with("_:"))
    direct = direct.select("s", pl.col("property").alias("p"), "o").join(statements, on=["s", "p"], how="anti").unique()
    unknown = pl.lit(None, dtype=pl.Int32)
    return direct.select(pl.lit(None, dtype=pl.String).alias("node"), *_TRIPLE, begin=unknown, end=unknown)
