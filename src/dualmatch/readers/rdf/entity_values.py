"""Literals of entities: dates, names, and what is left out."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

import polars as pl

from dualmatch.graph.literals import ALIAS, LABEL
from dualmatch.graph.times import UNKNOWN, UNKNOWN_WORDS
from dualmatch.readers.facts import LITERAL
from dualmatch.readers.rdf.triple_lines import RDF
from dualmatch.readers.time_column import WRONG, TimeParser
from dualmatch.readers.unread_dates import FEWEST
from dualmatch.readers.usual_names import names_a_date

_SKOS: Final = "http://www.w3.org/2004/02/skos/core#"
_SCHEMA: Final = ("http://schema.org/", "https://schema.org/")
_PURL: Final = ("http://purl.org/dc/terms/", "http://purl.org/dc/elements/1.1/")
NAMES: Final = {
    "http://www.w3.org/2000/01/rdf-schema#label": LABEL,
    f"{_SKOS}prefLabel": LABEL,
    f"{_SKOS}altLabel": ALIAS,
    "http://xmlns.com/foaf/0.1/name": LABEL,
    "http://www.w3.org/2006/vcard/ns#fn": LABEL,
    **{f"{space}title": LABEL for space in _PURL},
    **{f"{schema}{name}": kind for schema in _SCHEMA for name, kind in (("name", LABEL), ("alternateName", ALIAS))},
}
"""Predicates of names, and the attribute each becomes."""
RECORD_DATES: Final = "dates of records"

_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_DATE_TYPES: Final = [
    *(_XSD + name for name in ("date", "dateTime", "dateTimeStamp", "gYear", "gYearMonth")),
    *(space + name for space in _SCHEMA for name in ("Date", "DateTime")),
]
_EDTF: Final = "http://id.loc.gov/datatypes/edtf"
_ISO_DAY: Final = r"^-?[0-9]{4}-(?:0[1-9]|1[0-2])(?:-[0-3][0-9](?:T[0-9:.]+(?:Z|[+-][0-9:]+)?)?)?$"
_YEAR: Final = r"^-?[0-9]{4}$"
_PLAUSIBLE: Final = "^(1[0-9]|20)[0-9]{2}$"
_HAS_YEAR: Final = r"[0-9]{4}|[0-9]{3}[XxUu?]|[0-9] ?[Bb][Cc]"  # no page and no count
_MOST: Final = 1 - 1 / FEWEST
_PAV: Final = "http://purl.org/pav/"
# Dates of what was written about a thing, whatever the thing is.
_OF_RECORDS: Final = [
    *(f"{space}modified" for space in _PURL),
    *(f"{space}{name}" for space in _SCHEMA for name in ("dateModified", "sdDatePublished")),
    *(
        f"{_PAV}{name}"
        for name in ("createdOn", "lastUpdateOn", "lastRefreshedOn", "importedOn", "retrievedOn", "authoredOn")
    ),
    "http://www.w3.org/ns/prov#generatedAtTime",
    "http://www.w3.org/ns/prov#invalidatedAtTime",
    "http://wikiba.se/ontology#timestamp",
]
# Dates of a thing, or of what was written about it: that goes by what else is said.
_MAY_BE_OF_RECORDS: Final = [
    *(f"{space}{name}" for space in _PURL for name in ("created", "issued", "date", "available", "dateSubmitted")),
    *(f"{space}{name}" for space in _SCHEMA for name in ("dateCreated", "datePublished")),
]
_SAID_OF_RECORDS: Final = [
    *_OF_RECORDS,
    "http://xmlns.com/foaf/0.1/primaryTopic",
    *(f"{space}version" for space in _SCHEMA),
]
_RECORD_TYPES: Final = [
    "http://www.w3.org/2002/07/owl#Ontology",
    "http://www.w3.org/ns/dcat#CatalogRecord",
    "http://rdfs.org/ns/void#Dataset",
    "http://rdfs.org/ns/void#DatasetDescription",
]


@dataclass(frozen=True, eq=False)
class EntityValues:
    """What literals say of entities."""

    dates: pl.DataFrame
    """``node`` (the entity), ``s``, ``p``, ``text``, ``begin``, ``end``; `time_column.WRONG` where a date is invalid.

    Those that say that nothing is known, as a year 0000 does, are among them: they are counted where they are left out.
    """
    literals: pl.DataFrame
    """``s``, ``p``, ``o``, ``tag``: what is not a date."""
    left_out: Counter[str]

    @property
    def n_times(self) -> int:
        """How many dates say anything."""
        return self.dates.filter((pl.col("begin") != UNKNOWN) | (pl.col("end") != UNKNOWN)).height

    @property
    def readable_dates(self) -> pl.DataFrame:
        """``node``, ``s``, ``p``, ``begin``, ``end``."""
        return self.dates.filter(pl.col("begin") != WRONG).select("node", "s", "p", "begin", "end")

    @property
    def wrong_dates(self) -> pl.DataFrame:
        """``node``, ``text``."""
        return self.dates.filter(pl.col("begin") == WRONG).select("node", "text")


def entity_values(plain: pl.DataFrame, literals: pl.DataFrame, parser: TimeParser) -> EntityValues:
    """Sort the `literals` of a file's entities; `plain` is all that the file says."""
    if not literals.height:
        no_code = pl.lit(None, dtype=pl.Int32)
        no_dates = literals.select("s", "p", text="o", node="s", begin=no_code, end=no_code)
        return EntityValues(no_dates, literals.select("s", "p", "o", "tag"), Counter())
    named = _named_date_predicates(literals, parser)
    is_date = _is_typed_date() | (_is_plain() & pl.col("p").is_in({*_date_predicates(literals), *named}))
    is_date |= (_is_number() | _has_language()) & pl.col("p").is_in(named)
    is_record = pl.col("p").is_in(_OF_RECORDS) | (pl.col("p").is_in(_MAY_BE_OF_RECORDS) & pl.col("is_record"))
    sorted_ = literals.join(_records(plain), on="s", how="left", maintain_order="left")
    sorted_ = sorted_.with_columns(is_date=is_date.fill_null(False), is_record=is_record.fill_null(False))
    dated = sorted_.filter(pl.col("is_date") & ~pl.col("is_record"))
    dates = dated.select("s", "p", text="o", node="s")
    begin, end = parser.spans(dated["o"])
    dates = dates.with_columns(begin=pl.Series(begin, dtype=pl.Int32), end=pl.Series(end, dtype=pl.Int32))
    texts = sorted_.filter(~pl.col("is_date") & ~pl.col("is_record")).select("s", "p", "o", "tag")
    left_out = Counter({RECORD_DATES: literals.height - dated.height - texts.height})
    return EntityValues(dates, texts, left_out)


def counted(literals: pl.DataFrame, with_names: bool) -> Counter[str]:
    """How many literals are left out: names where these are not asked for, and all others, which are never compared."""
    names = literals.filter(pl.col("p").is_in([*NAMES])).height
    return Counter({"labels": names * with_names, LITERAL: literals.height - names})


def named(literals: pl.DataFrame, entity: pl.Expr, predicate: pl.Expr) -> pl.DataFrame:
    """Literals as the collector takes them: ``entity``, ``attribute``, ``value``, ``language``."""
    attribute = pl.col("p").replace_strict(NAMES, default=predicate, return_dtype=pl.String)
    language = pl.when(pl.col("tag").str.starts_with("@")).then(pl.col("tag").str.strip_prefix("@"))
    return literals.select(entity.alias("entity"), attribute.alias("attribute"), value="o", language=language)


def _is_typed_date() -> pl.Expr:
    return (pl.col("tag").is_in(_DATE_TYPES) | pl.col("tag").str.starts_with(_EDTF)).fill_null(False)


def _is_plain() -> pl.Expr:
    return pl.col("tag").is_null() | (pl.col("tag") == f"{_XSD}string")


def _is_number() -> pl.Expr:
    return (pl.col("tag") == f"{_XSD}integer").fill_null(False)


def _has_language() -> pl.Expr:
    """As all texts have where JSON-LD's context gives a language."""
    return pl.col("tag").str.starts_with("@").fill_null(False)


def _date_predicates(literals: pl.DataFrame) -> list[str]:
    """Predicates whose plain texts are dates: JSON-LD seldom gives a type.

    Four in five are days, months or years. Years alone may be any number: half are more exact, or others have a type.
    """
    known = _known(literals).filter(_is_plain())
    is_day = pl.col("o").str.contains(_ISO_DAY)
    by_predicate = known.group_by("p").agg(days=is_day.mean(), dates=(is_day | pl.col("o").str.contains(_YEAR)).mean())
    typed = literals.filter(_is_typed_date())["p"].unique()
    are_dates = (pl.col("dates") >= _MOST) & ((pl.col("days") >= 1 / 2) | pl.col("p").is_in(typed.implode()))
    return by_predicate.filter(are_dates)["p"].to_list()


def _named_date_predicates(literals: pl.DataFrame, parser: TimeParser) -> list[str]:
    """Predicates whose name says that they give dates, and four in five of whose texts and whole numbers are some."""
    known = _known(literals).filter(_is_plain() | _is_number() | _has_language())
    named = [each for each in known["p"].unique() if names_a_date(re.split("[/#:]", each.rstrip("/#:"))[-1])]
    known = known.filter(pl.col("p").is_in(named))
    has_year = (
        pl.when(_is_number()).then(pl.col("o").str.contains(_PLAUSIBLE)).otherwise(pl.col("o").str.contains(_HAS_YEAR))
    )
    known = known.with_columns(is_date=pl.Series(parser.codes(known["o"]) > WRONG) & has_year)
    return known.group_by("p").agg(pl.col("is_date").mean()).filter(pl.col("is_date") >= _MOST)["p"].to_list()


def _known(literals: pl.DataFrame) -> pl.DataFrame:
    is_unknown = pl.col("o").str.to_lowercase().is_in([*UNKNOWN_WORDS])
    return literals.filter(~pl.col("p").is_in([*NAMES]) & ~is_unknown)


def _records(plain: pl.DataFrame) -> pl.DataFrame:
    """``s`` and ``is_record`` (true): subjects that are records, by what is said of them or by their type."""
    is_record = pl.col("p").is_in(_SAID_OF_RECORDS) | ((pl.col("p") == f"{RDF}type") & pl.col("o").is_in(_RECORD_TYPES))
    graphs = plain.select(s="g").drop_nulls()
    return pl.concat([plain.filter(is_record).select("s"), graphs]).unique().with_columns(is_record=pl.lit(True))
