"""Wikidata: its JSON, a dump with one entity a line or entities one by one, and what its RDF means by predicates.

All of it holds for any Wikibase.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.files.bounded import lines_of
from dualmatch.files.compressed import shown
from dualmatch.files.text_lines import LINE
from dualmatch.graph.literals import LABEL
from dualmatch.graph.times import UNKNOWN, Precision, coarsen, encode_date, parse_date
from dualmatch.readers.columns import FACT
from dualmatch.readers.facts import Collector, Rows
from dualmatch.readers.time_column import WRONG, Codes

ONTOLOGY: Final = "http://wikiba.se/ontology#"
YEAR, MONTH, DAY = 9, 10, 11
"""``timePrecision``: 9 is a year, 10 a month, 11 a day; less is a decade, a century …, more a time of day."""
FACTS_AT_ONCE: Final = 200_000

_KINDS: Final = {
    "": "claim",
    "statement/": "statement",
    "qualifier/": "qualifier",
    "qualifier/value/": "value",
    "direct/": "direct",
}
_PREDICATE: Final = re.compile(rf"(?P<base>.*)/prop/(?P<kind>{'|'.join(_KINDS)})(?P<id>P\d+)\Z")
_HALF_CHARACTER: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_NOT_AN_ENTITY: Final = (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError)


def wikibase_predicate(predicate: str) -> tuple[str | None, str | None]:
    """Kind and property of a predicate such as ``http://www.wikidata.org/prop/direct/P39``; None where it has none.

    Kinds are ``"claim"`` (p:), ``"statement"`` (ps:), ``"qualifier"`` (pq:), ``"value"`` (pqv:), ``"direct"`` (wdt:).

    >>> wikibase_predicate("http://www.wikidata.org/prop/direct/P39")
    ('direct', 'http://www.wikidata.org/entity/P39')
    """
    match = _PREDICATE.match(predicate)
    if match is None:
        return None, None
    return _KINDS[match["kind"]], f"{match['base']}/entity/{match['id']}"


def at_precision(codes: Codes, precision: NDArray[np.integer]) -> Codes:
    """Times cut to their precision; `UNKNOWN` where that is less than a year, which no time code can express.

    >>> cut = at_precision(np.array([encode_date(1541, 1, 1)] * 2, np.int32), np.array([YEAR, 7]))
    >>> cut.tolist() == [encode_date(1541), UNKNOWN]
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


def read_wikidata(file: BinaryIO, path: Path, collector: Collector) -> None:
    """Collect the statements between entities, with the times of their qualifiers.

    Deprecated statements, and those whose value is unknown or none, are left out.
    """
    reader = _WikidataReader(path, collector)
    for number, line in enumerate(lines_of(file), start=1):
        text = line.removeprefix(b"\xef\xbb\xbf").strip().removesuffix(b",")
        if text not in (b"", b"[", b"]"):
            reader.take_line(text, number)
    reader.hand_over()
    if reader.coarse_times:
        collector.note(f"{shown(path)}: {reader.coarse_times:,} times coarser than a year are taken as unknown")


class _WikidataReader:
    def __init__(self, path: Path, collector: Collector) -> None:
        self.path, self.collector = path, collector
        self.coarse_times = 0
        self._facts: list[tuple[int, str, str, str, int, int]] = []
        self._literals: list[tuple[str, str, str]] = []
        self._codes: dict[tuple[str, int], int] = {}

    def take_line(self, text: bytes, number: int) -> None:
        """Collect the entity of a line, or those of ``{"entities": {…}}``; a line that holds none is rejected."""
        before = len(self._facts), len(self._literals)
        try:
            parsed = json.loads(text)
            if _HALF_CHARACTER.search(text):
                json.dumps(parsed, ensure_ascii=False).encode()
            for entity in parsed["entities"].values() if "entities" in parsed else [parsed]:
                self._take_entity(entity, number)
        except _NOT_AN_ENTITY as error:
            del self._facts[before[0] :], self._literals[before[1] :]
            why, line = _in_words(error), text.decode("utf-8", "replace")
            self.collector.rejections.add(self.path, [(0, number)], lambda _: why, lambda _: line)
        if len(self._facts) >= FACTS_AT_ONCE:
            self.hand_over()

    def hand_over(self) -> None:
        """Give what was gathered to the collector."""
        columns = {LINE: pl.UInt32, **dict.fromkeys(FACT[:3], pl.String), **dict.fromkeys(FACT[3:], pl.Int32)}
        table = pl.DataFrame(self._facts, schema=columns, orient="row")
        self._facts = []
        self.collector.add(Rows(self.path, table, lambda row: "\t".join(table.row(row)[1:4])))
        if self._literals:
            names = {"entity": pl.String, "attribute": pl.String, "value": pl.String}
            self.collector.literal_tables.append(pl.DataFrame(self._literals, schema=names, orient="row"))
            self._literals = []

    def _take_entity(self, entity: dict[str, Any], number: int) -> None:
        head = _text(entity["id"])
        if self.collector.options.literals:
            labels = entity.get("labels") or {}
            self._literals += [(head, LABEL, _text(label["value"])) for label in labels.values()]
        claims = entity.get("claims") or {}
        for relation, statements in claims.items():
            for place, statement in enumerate(statements, start=1):
                try:
                    if statement.get("rank") != "deprecated" and statement["mainsnak"]["snaktype"] == "value":
                        self._take_statement(head, relation, statement, number)
                except _NOT_AN_ENTITY as error:
                    raise ValueError(f"statement {place} of {relation} of {head}: {_fault(error)}") from None

    def _take_statement(self, head: str, relation: str, statement: dict[str, Any], number: int) -> None:
        kind, value = (statement["mainsnak"]["datavalue"][part] for part in ("type", "value"))
        if kind == "wikibase-entityid":
            tail = _text(value["id"]) if "id" in value else f"Q{_whole(value['numeric-id'])}"
            begin, end = self._interval(statement.get("qualifiers") or {})
            self._facts.append((number, head, relation, tail, begin, end))
        elif self.collector.options.literals and (text := _literal(kind, value)):
            self._literals.append((head, relation, text))

    def _interval(self, qualifiers: dict[str, Any]) -> tuple[int, int]:
        """The first begin and the last end; `UNKNOWN` where there is none."""
        begin, end, point = (
            [self._code(snak["datavalue"]["value"]) for snak in qualifiers.get(name, ()) if snak["snaktype"] == "value"]
            for name in ("P580", "P582", "P585")
        )
        first = min((code for code in begin + point if code != UNKNOWN), default=UNKNOWN)
        return first, max(end + point, default=UNKNOWN)  # `UNKNOWN` is below all times

    def _code(self, value: dict[str, Any]) -> int:
        key = _text(value["time"]), _whole(value["precision"])
        code = self._codes.get(key)
        if code is None:
            written = np.array([parse_date(key[0])], dtype=np.int32)
            code = self._codes[key] = int(at_precision(written, np.array([key[1]]))[0])
        self.coarse_times += key[1] < YEAR
        return code


def _in_words(error: Exception) -> str:
    """Why a line is no entity."""
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON from character {error.pos + 1} on; each line is an entity of its own, whole"
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text; convert the file to UTF-8"
    if isinstance(error, UnicodeEncodeError):
        return f"half a character, \\u{ord(error.object[error.start]):04x}, which no text has; fix what wrote the file"
    return f"no Wikidata entity: {_fault(error)}"


def _fault(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    if isinstance(error, RecursionError):
        return "brackets within brackets without end"
    if isinstance(error, ValueError):  # of a date, of `_text`, or of a statement
        return str(error)
    return "a list, a number or a text where an object {…} belongs, or the other way round"


def _literal(kind: str, value: Any) -> str:
    """A value in plain text; empty where it has none."""
    if kind == "string":
        return _text(value)
    part = {"monolingualtext": "text", "quantity": "amount", "time": "time"}.get(kind)
    return _text(value[part]) if part else ""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"text is missing where {json.dumps(value)} stands"[:100])
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError(f"a whole number is missing where {json.dumps(value)} stands"[:100])
    return value
