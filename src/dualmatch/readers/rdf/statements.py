"""What RDF says, as facts with a time, and dates of entities.

A triple has no place for its time, so files put it elsewhere. All of these are read, in one file if need be:

a. on a node that reifies the triple: RDF 1.2 (``rdf:reifies``, which is what annotations ``{| … |}`` and ``<< … >>``
   are) and plain RDF (``rdf:subject``, ``rdf:predicate``, ``rdf:object``);
b. on a Wikibase's statement nodes: qualifiers P580, P582, P585, with the precision of their values;
c. on a node in the middle (n-ary): ``s p [ q o ; begin … ]``;
d. on the named graph the triple stands in;
e. on an event that is its subject or its object: an activity of PROV, whatever has a time of its own (`time_nodes`).

In all of them the time may stand on a node of its own. Everything here is a join of text columns; nodes are the names
of `dualmatch.readers.rdf.quads`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import polars as pl

from dualmatch.graph.times import UNKNOWN
from dualmatch.readers.rdf.entity_values import RECORD_DATES, entity_values
from dualmatch.readers.rdf.time_nodes import (
    MEMBERSHIP,
    OF_EVENTS,
    VALUES,
    TimeNodes,
    find_time_nodes,
    with_whole_dates,
)
from dualmatch.readers.rdf.triple_lines import RDF, Quads
from dualmatch.readers.rdf.wikibase import (
    ONTOLOGY,
    exact_times,
    own_triples,
    statements_of_wikibase,
    wikibase_predicate,
    without_false_days,
)
from dualmatch.readers.read_options import TimePredicates
from dualmatch.readers.time_column import WRONG, Codes, TimeParser
from dualmatch.readers.wikibase_time import without_year_zero

_PARTS: Final = {f"{RDF}subject": "s", f"{RDF}predicate": "p", f"{RDF}object": "o"}
_ROLE: Final = r"^https?://schema\.org/[A-Za-z]*Role$"
_TRIPLE: Final = ["s", "p", "o"]
_INTERVAL: Final = ["begin", "end"]


@dataclass(frozen=True, eq=False)
class Statements:
    """What a file says. ``node`` is what gives a row its time, if anything does."""

    facts: pl.DataFrame
    """``node``, ``s``, ``p``, ``o`` and ``begin``, ``end`` as time codes."""
    dates: pl.DataFrame
    """``node``, ``s``, ``p`` and ``begin``, ``end``: dates of entities."""
    literals: pl.DataFrame
    """``s``, ``p``, ``o``, ``tag``: what has a literal as its object and is not a time."""
    wrong_times: pl.DataFrame
    """``node``, ``text``: invalid times; ``whole``: whether the node stands for a statement, not for a thing."""
    n_times: int
    """How many times there are, invalid ones included."""
    coarse_times: int
    """How many times are known less exactly than to the year, and so count as unknown."""
    left_out: Counter[str]
    """How much else was left out, by kind."""
    is_wikibase: bool = False


def statements_of(quads: Quads, predicates: TimePredicates, parser: TimeParser) -> Statements:
    """Find the facts of a file and the time of each."""
    meanings = _meanings(quads.plain["p"].unique().to_list(), predicates)
    plain = quads.plain.join(meanings, on="p", how="left", maintain_order="left")
    # Whatever stands for a triple, one with a literal included, is no entity, unless something leads to it.
    parts = plain.filter(pl.col("p").is_in([*_PARTS]) & ~pl.col("literal"))
    reifiers = pl.concat([quads.reified.select("node"), parts.select(node="s")]).unique()
    stated = pl.concat([quads.reified.filter(~pl.col("literal")).select("node", *_TRIPLE), _reified(parts)])
    if not plain["kind"].is_in(["statement", "direct"]).any():
        return _of_graph(plain, stated, reifiers, parser)
    # What a Wikibase says, and what a file says besides; nodes that reify triples may have qualifiers, too.
    is_own = own_triples(plain) & ~pl.col("s").is_in(reifiers["node"].implode())
    own, others = plain.filter(is_own), plain.filter(~is_own)
    return _together(_of_wikibase(own, parser), _of_graph(others, stated, reifiers, parser))


def _of_graph(plain: pl.DataFrame, stated: pl.DataFrame, reifiers: pl.DataFrame, parser: TimeParser) -> Statements:
    """What a file says by other means than a Wikibase's."""
    plain = with_whole_dates(plain)
    written = _times(plain, parser.spans)
    times = find_time_nodes(plain, plain.filter(~pl.col("literal")), written)
    links, timed = times.links, times.timed
    intervals = _intervals(timed)
    valued = plain.filter(pl.col("p") == f"{RDF}value").select(node="s")
    middle = _middle(links, intervals, reifiers, valued)
    through = _through(middle, links, valued)
    statements = pl.concat([stated, through])
    graphs = timed.join(links, left_on="node", right_on="g", how="semi").select("node")
    nodes = pl.concat([statements.select("node"), middle.select("node"), graphs, times.nodes]).unique()
    bare = _bare(links, statements, nodes, reifiers)
    members = plain.filter((pl.col("p") == f"{RDF}type") & (pl.col("o") == MEMBERSHIP))["s"]
    events = _events(plain, times, nodes, reifiers, intervals, members)
    facts = pl.concat([_dated(statements, intervals), _at_its_time(bare, intervals, events)])

    literals = _without(_without(plain.filter("literal"), "s", nodes), "s", reifiers)
    in_facts = pl.concat([bare.select(node="s"), bare.select(node="o")])
    used = events.join(in_facts, on="node", how="semi")
    is_time = pl.col("p").is_in([*OF_EVENTS]) | (pl.col("role").is_not_null() & pl.col("s").is_in(members.implode()))
    of_used = literals.filter(is_time).join(used, left_on="s", right_on="node", how="semi")
    values = entity_values(
        plain, literals.join(of_used, on=_TRIPLE, how="anti") if of_used.height else literals, parser
    )
    own = [times.led.join(used, left_on="s", right_on="node", how="anti"), middle.join(through, on="node", how="anti")]
    dates = pl.concat([_dates_of(links, intervals) for links in own])
    dates = _without(_without(dates, "s", nodes), "s", reifiers)
    of_facts = pl.concat([each.select("node") for each in (statements, middle, graphs, used)])
    wrong = timed.filter(pl.col("code") == WRONG).join(of_facts, on="node", how="semi").select("node", text="o")
    is_statement = pl.col("node").is_in(of_facts["node"].head(statements.height + middle.height).implode())
    wrong = wrong.with_columns(whole=is_statement)
    # The time of an event that has no other: nothing is dated by it.
    alone = written.filter(pl.col("code") == WRONG).join(times.nodes, on="node", how="semi").select("node", text="o")
    alone = alone.join(wrong, on="text", how="anti").with_columns(whole=pl.lit(False))
    return Statements(
        facts,
        pl.concat([values.readable_dates, dates]),
        values.literals,
        pl.concat([wrong, alone, values.wrong_dates.with_columns(whole=pl.lit(False))]).unique(maintain_order=True),
        timed.height + values.n_times,
        0,
        values.left_out,
    )


def _of_wikibase(plain: pl.DataFrame, parser: TimeParser) -> Statements:
    """What a Wikibase's own triples say; nothing but its statements is a fact in them."""
    said = statements_of_wikibase(plain, TimeParser())
    timed = _qualifiers(plain).join(said.facts, on="node", how="semi")
    intervals = _intervals(timed)
    facts = said.facts.unique().join(intervals, on="node", how="left").select("node", *_TRIPLE, *_INTERVAL)
    known = said.dates.filter(pl.col("code") != WRONG)
    wrong = timed.filter(pl.col("code") == WRONG).select("node", text="o")
    wrong = pl.concat([wrong, said.dates.filter(pl.col("code") == WRONG).select("node", "text")]).unique()
    is_about = pl.col("kind").is_null() & ~pl.col("p").str.contains("/prop/|^" + ONTOLOGY)
    values = entity_values(plain, plain.filter(is_about & pl.col("literal")), parser)
    links = plain.filter(is_about & ~pl.col("literal") & ~pl.col("o").str.starts_with(ONTOLOGY)).height
    left_out = said.left_out + values.left_out
    left_out += Counter({RECORD_DATES: values.dates.height, "links of records": links})
    return Statements(
        facts,
        known.select("node", "s", "p", begin="code", end="code"),
        pl.concat([values.literals, said.literals]),
        wrong.with_columns(whole=pl.lit(True)),
        timed.height + said.dates.height,
        int((timed["code"] == UNKNOWN).sum()) + said.coarse_times,
        left_out,
        is_wikibase=True,
    )


def _together(first: Statements, second: Statements) -> Statements:
    return Statements(
        pl.concat([first.facts, second.facts]),
        pl.concat([first.dates, second.dates]),
        pl.concat([first.literals, second.literals]),
        pl.concat([first.wrong_times, second.wrong_times]),
        first.n_times + second.n_times,
        first.coarse_times + second.coarse_times,
        first.left_out + second.left_out,
        first.is_wikibase or second.is_wikibase,
    )


def _meanings(predicates: list[str], time_predicates: TimePredicates) -> pl.DataFrame:
    """What predicates ``p`` mean: ``role`` of a time, ``kind`` and ``property`` in a Wikibase; null where nothing."""
    rows = [(name, time_predicates.role_of(name) or VALUES.get(name), *wikibase_predicate(name)) for name in predicates]
    return pl.DataFrame(rows, schema=dict.fromkeys(("p", "role", "kind", "property"), pl.String), orient="row")


def _times(plain: pl.DataFrame, spans: Callable[[pl.Series], tuple[Codes, Codes]]) -> pl.DataFrame:
    """``node``, ``role``, ``o`` (text), ``code`` of every literal that is the value of a time predicate."""
    written = plain.filter(pl.col("role").is_not_null() & pl.col("literal")).select("role", "o", node="s")
    if not written.height:
        return written.select("node", "role", "o", code=pl.lit(None, dtype=pl.Int32))
    first, last = (pl.Series(codes, dtype=pl.Int32) for codes in spans(written["o"]))
    written = written.select("node", "role", "o").with_columns(first=first, last=last)
    # A text that means a span of time is a begin and an end.
    is_span = (pl.col("role") == "time") & (pl.col("first") != pl.col("last"))
    end = pl.when(is_span).then(pl.lit("end")).otherwise("role").alias("role")
    begin = pl.when(is_span).then(pl.lit("begin")).otherwise("role").alias("role")
    firsts = written.filter(pl.col("role") != "end").select("node", begin, "o", code="first")
    lasts = written.filter(is_span | (pl.col("role") == "end")).select("node", end, "o", code="last")
    return pl.concat([firsts, lasts])


def _qualifiers(plain: pl.DataFrame) -> pl.DataFrame:
    """The times of a Wikibase's statements, as `_times` has them; those coarser than a year are `UNKNOWN`."""
    exact = exact_times(plain.filter(pl.col("role").is_not_null() | pl.col("kind").is_null()), "value", TimeParser())
    exact = exact.select("node", "role", "code", o="text").select("node", "role", "o", "code")
    written = _times(plain.filter(pl.col("kind") == "qualifier"), lambda texts: (TimeParser().codes(texts),) * 2)
    written = written.join(exact, on=["node", "role"], how="anti")
    codes = without_false_days(without_year_zero(written["code"].to_numpy()))
    written = written.with_columns(code=pl.Series(codes, dtype=pl.Int32))
    return pl.concat([written, exact])


def _intervals(timed: pl.DataFrame) -> pl.DataFrame:
    """``node``, ``begin``, ``end`` (null where unknown): the first begin and the last end a node has."""
    begin, end = (
        pl.col("code").filter((pl.col("code") != UNKNOWN) & pl.col("role").is_in([role, "time"]))
        for role in ("begin", "end")
    )
    return timed.filter(pl.col("code") != WRONG).group_by("node").agg(begin=begin.min(), end=end.max())


def _reified(links: pl.DataFrame) -> pl.DataFrame:
    """``node``, ``s``, ``p``, ``o`` of plain RDF reification."""
    if not links.height:
        return links.select("s", "p", "o", node="s").select("node", *_TRIPLE)
    parts = [
        links.filter(pl.col("p") == predicate).select(pl.col("o").alias(part), node="s")
        for predicate, part in _PARTS.items()
    ]
    return parts[0].join(parts[1], on="node").join(parts[2], on="node").select("node", *_TRIPLE)


def _middle(links: pl.DataFrame, intervals: pl.DataFrame, reifiers: pl.DataFrame, valued: pl.DataFrame) -> pl.DataFrame:
    """``s``, ``p``, ``node`` of n-ary statements ``s p [ q o ]``.

    Nodes in the middle are the blank nodes that a predicate leads to, where it leads to any that has a time; and
    whatever has an ``rdf:value`` or is a role of schema.org.
    """
    roles = links.filter((pl.col("p") == f"{RDF}type") & pl.col("o").str.contains(_ROLE)).select(node="s")
    if not intervals.height and not valued.height and not roles.height:
        return links.select("s", "p", node="o").clear()
    into = _without(_without(links.select("s", "p", node="o"), "node", reifiers), "s", reifiers)
    blank = into.filter(pl.col("node").str.starts_with("_:"))
    dated = blank.join(intervals, on="node", how="semi")
    named = into.join(pl.concat([valued, roles]), on="node", how="semi")
    return pl.concat([blank.join(dated, on="p", how="semi"), named]).unique()


def _through(middle: pl.DataFrame, links: pl.DataFrame, valued: pl.DataFrame) -> pl.DataFrame:
    """``node``, ``s``, ``p``, ``o`` of n-ary statements.

    With one ``o``, or with an ``rdf:value``, the relation is p; with several ``o`` it is each one's q.
    """
    if not middle.height:
        return middle.select("node", "s", "p", o="node")
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
    if not several.any():
        return found
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


def _bare(links: pl.DataFrame, statements: pl.DataFrame, nodes: pl.DataFrame, reifiers: pl.DataFrame) -> pl.DataFrame:
    """``s``, ``p``, ``o``, ``g`` of triples that no node says anything about.

    Links to a node that reifies a triple are among them; what is said of such a node is not a fact.
    """
    free = _without(
        _without(_without(links, "s", nodes), "s", reifiers), "o", nodes.join(reifiers, on="node", how="anti")
    )
    return free.join(statements, on=_TRIPLE, how="anti") if statements.height else free


def _events(
    plain: pl.DataFrame,
    times: TimeNodes,
    nodes: pl.DataFrame,
    reifiers: pl.DataFrame,
    intervals: pl.DataFrame,
    members: pl.Series,
) -> pl.DataFrame:
    """``node``: things with a time of their own, `members` among them, which holds for all that is said of them."""
    if not intervals.height:
        return intervals.select("node")
    acted = plain.filter(pl.col("p").is_in([*OF_EVENTS]) & pl.col("literal")).select(node="s")
    events = (
        pl.concat([acted, times.led.select(node="s"), pl.DataFrame({"node": members})])
        .unique()
        .join(intervals, on="node", how="semi")
    )
    return _without(_without(events, "node", nodes), "node", reifiers)


def _at_its_time(bare: pl.DataFrame, intervals: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Bare triples with the time of their graph, of the event that is their subject, or of the one they lead to."""
    if not intervals.height:
        unknown = pl.lit(None, dtype=pl.Int32)
        return bare.select(pl.col("g").alias("node"), *_TRIPLE, begin=unknown, end=unknown)
    found = bare.with_columns(node="g").join(intervals, on="node", how="left", maintain_order="left")
    at_events = intervals.join(events, on="node", how="semi")
    for end in ("s", "o") if at_events.height else ():
        is_open = pl.col("begin").is_null() & pl.col("end").is_null() & (pl.col("p") != f"{RDF}type")
        open_ = found.filter(is_open).drop("node", *_INTERVAL)
        dated = open_.join(at_events.with_columns(**{end: "node"}), on=end, how="left")
        found = pl.concat([found.filter(~is_open), dated.select(found.columns)])
    return found.select("node", *_TRIPLE, *_INTERVAL)


def _dates_of(links: pl.DataFrame, intervals: pl.DataFrame) -> pl.DataFrame:
    """Dates of the subjects of links ``s``, ``p``, ``node``: the time of the node."""
    if not links.height or not intervals.height:
        no_code = pl.lit(None, dtype=pl.Int32)
        return links.clear().select("node", "s", "p", begin=no_code, end=no_code)
    found = links.join(intervals, on="node").filter(pl.col("begin").is_not_null() | pl.col("end").is_not_null())
    return found.select("node", "s", "p", *_INTERVAL).unique()


def _without(table: pl.DataFrame, column: str, nodes: pl.DataFrame) -> pl.DataFrame:
    return table.join(nodes, left_on=column, right_on="node", how="anti") if nodes.height else table
