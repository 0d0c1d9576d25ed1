"""RDF of a Wikibase, Wikidata's above all: statements with their qualifiers, as its JSON has them.

A statement node has a value of its own (ps:), which is an entity, a time or something else; times stand on value nodes
(psv:, pqv:), which say how exactly they are known. What is not an entity of the Wikibase (images, web sites,
identifiers) is not one here either.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from dualmatch.graph.times import UNKNOWN, encode_date
from dualmatch.readers.rdf.triple_lines import RDF
from dualmatch.readers.time_column import WRONG, Codes, TimeParser
from dualmatch.readers.wikibase_time import DAY, YEAR, at_precision, without_year_zero

ONTOLOGY: Final = "http://wikiba.se/ontology#"

_KINDS: Final = {
    "": "claim",
    "statement/": "statement",
    "statement/value/": "exact",
    "qualifier/": "qualifier",
    "qualifier/value/": "value",
    "direct/": "direct",
}
_PREDICATE: Final = re.compile(rf"(?P<base>.*)/prop/(?P<kind>{'|'.join(_KINDS)})(?P<id>P\d+)\Z")
_ENTITY_TYPES: Final = ("Item", "Property", "Lexeme", "Form", "Sense", "EntitySchema", "MediaInfo")
_LOCAL_ID: Final = r"^[A-Z][0-9]+(?:-[A-Z][0-9]+)?$"
_TRIPLE: Final = ["s", "p", "o"]
_OWL: Final = "http://www.w3.org/2002/07/owl#"
_OF_SCHEMA: Final = [f"{_OWL}{name}" for name in ("complementOf", "onProperty", "someValuesFrom")]
_ABOUT: Final = ["http://schema.org/about", "https://schema.org/about"]
_RECORD_TYPES: Final = ["http://schema.org/Dataset", "http://schema.org/Article"]
_DERIVED: Final = "http://www.w3.org/ns/prov#wasDerivedFrom"


def wikibase_predicate(predicate: str) -> tuple[str | None, str | None]:
    """Kind and property of a predicate such as ``http://www.wikidata.org/prop/direct/P39``; None where it has none.

    Kinds are ``"claim"`` (p:), ``"statement"`` (ps:), ``"exact"`` (psv:), ``"qualifier"`` (pq:), ``"value"`` (pqv:) and
    ``"direct"`` (wdt:).

    >>> wikibase_predicate("http://www.wikidata.org/prop/direct/P39")
    ('direct', 'http://www.wikidata.org/entity/P39')
    """
    match = _PREDICATE.match(predicate)
    if match is None:
        return None, None
    return _KINDS[match["kind"]], f"{match['base']}/entity/{match['id']}"


def own_triples(plain: pl.DataFrame) -> pl.Expr:
    """Whether a triple of `plain` is a Wikibase's own: its statements, how it describes itself, and its records.

    Labels of its entities are not among them, nor is anything that a file says besides.
    """
    record = plain.filter((pl.col("p") == f"{RDF}type") & pl.col("o").is_in(_RECORD_TYPES)).select("s")
    about = plain.filter(pl.col("p").is_in(_ABOUT)).join(record, on="s", how="semi")
    links = plain.filter(~pl.col("literal"))
    value = pl.col("p").str.contains("/prop/(?:statement|qualifier|reference)/value") | (pl.col("kind") == "claim")
    held = plain.filter(pl.col("kind").is_in(["statement", "exact", "qualifier", "value"])).select("s")
    references = links.filter(pl.col("p") == _DERIVED).join(held, on="s", how="semi")
    nodes = pl.concat([about.select("s"), held, links.filter(value).select(s="o"), references.select(s="o")])["s"]
    of_base = r"/prop/|^" + ONTOLOGY
    is_own = pl.col("kind").is_not_null() | pl.col("p").str.contains(of_base) | pl.col("s").str.contains(of_base)
    is_own |= pl.col("s").is_in(nodes.unique().implode()) | pl.col("p").is_in(_OF_SCHEMA)
    is_own |= (pl.col("p") == f"{RDF}type") & pl.col("o").str.contains(of_base + "|^" + _OWL)
    bases = plain["property"].drop_nulls().str.extract("^(.*/)").unique().to_list()
    for predicates, end in (([f"{_OWL}sameAs"], "s"), (_ABOUT, "o")):  # redirects, and pages about entities
        is_entity = pl.any_horizontal(pl.col(end).str.starts_with(base) for base in bases)
        is_own |= pl.col("p").is_in(predicates) & is_entity
    return is_own


@dataclass(frozen=True, eq=False)
class WikibaseStatements:
    """What a Wikibase's file states."""

    facts: pl.DataFrame
    """``node`` (null for direct triples), ``s``, ``p`` (the property), ``o``."""
    dates: pl.DataFrame
    """``node``, ``s``, ``p``, ``text``, ``code``: times that are a value of an entity; `WRONG` where one is invalid."""
    literals: pl.DataFrame
    """``s``, ``p``, ``o``, ``tag``: values that are neither."""
    left_out: Counter[str]
    coarse_times: int


def statements_of_wikibase(plain: pl.DataFrame, parser: TimeParser) -> WikibaseStatements:
    """Find what is stated of entities; `plain` has each predicate's ``kind`` and ``property``."""
    claims = plain.filter((pl.col("kind") == "claim") & ~pl.col("literal")).select("s", "property", node="o")
    deprecated = plain.filter((pl.col("p") == f"{ONTOLOGY}rank") & (pl.col("o") == f"{ONTOLOGY}DeprecatedRank"))
    kept = claims.join(deprecated.select(node="s"), on="node", how="anti")
    said = plain.filter(pl.col("kind") == "statement").select("property", "o", "literal", "tag", node="s")
    said = kept.join(said, on=["node", "property"])
    direct = plain.filter(pl.col("kind") == "direct").join(claims, on=["s", "property"], how="anti")
    direct = direct.select("s", "property", pl.lit(None, dtype=pl.String).alias("node"), "o", "literal", "tag")
    said = pl.concat([said, direct.unique()]).rename({"property": "p"})
    said = said.join(_types(plain), on="p", how="left")
    base = pl.col("p").str.extract("^(.*/)[^/]+$")
    is_local = pl.col("o").str.starts_with(base) & pl.col("o").str.strip_prefix(base).str.contains(_LOCAL_ID)
    is_entity = ~pl.col("literal") & is_local & pl.col("is_entity").fill_null(True)
    is_entity |= ~pl.col("literal") & pl.col("is_entity") & ~_is_unknown()
    said = said.with_columns(is_entity=is_entity.fill_null(False))
    dates = _dates(plain, said.filter("literal"), parser)
    others = said.filter(~pl.col("is_entity"))
    unknown = ~pl.col("literal") & _is_unknown()
    literals = others.filter(~unknown).join(dates, on=["s", "p", "node"], how="anti", nulls_equal=True)
    left_out = Counter(
        {"deprecated statements": claims.height - kept.height, "unknown values": others.filter(unknown).height}
    )
    facts, dated = said.filter("is_entity").select("node", *_TRIPLE), dates.filter(pl.col("code") != UNKNOWN)
    coarse = dates.height - dated.height
    return WikibaseStatements(facts, dated, literals.select(*_TRIPLE, "tag"), left_out, coarse)


def exact_times(plain: pl.DataFrame, kind: str, parser: TimeParser) -> pl.DataFrame:
    """``node``, ``role``, ``property``, ``text``, ``code`` of the times on value nodes, cut to their precision.

    `UNKNOWN` are those that are known less exactly than to the year, whatever their date.
    """
    values, precisions = (
        plain.filter(pl.col("p") == ONTOLOGY + name).select(pl.col("o").alias(name), value="s")
        for name in ("timeValue", "timePrecision")
    )
    found = plain.filter(pl.col("kind") == kind).select("role", "property", node="s", value="o")
    found = found.join(values, on="value").join(precisions, on="value", how="left")
    precision = found["timePrecision"].cast(pl.Int32, strict=False).fill_null(DAY).to_numpy()
    text = found["timeValue"].set(pl.Series(precision < YEAR), None) if found.height else found["timeValue"]
    cut = at_precision(without_year_zero(parser.codes(text)), precision)
    exact = found.select("node", "role", "property", pl.col("timeValue").alias("text"))
    return exact.with_columns(code=pl.Series(cut, dtype=pl.Int32))


def without_false_days(codes: Codes) -> Codes:
    """Times without a precision: a Wikibase writes a year as its first of January, which is read as the year."""
    rest = codes.astype(np.int64) % encode_date(1)
    return np.where((rest == encode_date(0, 1, 1)) & (codes > WRONG), codes - rest, codes).astype(np.int32)


def _dates(plain: pl.DataFrame, said: pl.DataFrame, parser: TimeParser) -> pl.DataFrame:
    """``node``, ``s``, ``p``, ``text``, ``code`` of literals that are times."""
    exact = exact_times(plain, "exact", parser).select("node", "text", "code", p="property")
    by_node = said.join(exact, on=["node", "p"])
    typed = said.filter(pl.col("tag").str.ends_with("#dateTime")).join(exact, on=["node", "p"], how="anti")
    codes = without_false_days(without_year_zero(parser.codes(typed["o"])))
    typed = typed.with_columns(text="o", code=pl.Series(codes, dtype=pl.Int32))
    return pl.concat([each.select("node", "s", "p", "text", "code") for each in (by_node, typed)]).unique()


def _types(plain: pl.DataFrame) -> pl.DataFrame:
    """``p`` (a property) and ``is_entity``, whether its values are entities, where the file says so."""
    types = plain.filter(pl.col("p") == f"{ONTOLOGY}propertyType").unique("s")
    entity_types = [f"{ONTOLOGY}Wikibase{name}" for name in _ENTITY_TYPES]
    return types.select(p="s", is_entity=pl.col("o").is_in([*entity_types, f"{ONTOLOGY}EntitySchema"]))


def _is_unknown() -> pl.Expr:
    """Whether ``o`` stands for a value that is not known, or for none."""
    return pl.col("o").str.starts_with("_:") | pl.col("o").str.contains("/.well-known/genid/", literal=True)
