"""Wikidata's JSON: a dump with one entity a line, or the entities a Wikibase gives out one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import polars as pl

from dualmatch.files.compressed import shown
from dualmatch.files.text_lines import LINE
from dualmatch.graph.literals import LABEL
from dualmatch.graph.times import UNKNOWN, parse_date
from dualmatch.readers.facts import FACT, Rows
from dualmatch.readers.options import Intake
from dualmatch.readers.wikibase import YEAR, at_precision

_ROLES: Final = {"P580": ("begin",), "P582": ("end",), "P585": ("begin", "end")}
_NOT_AN_ENTITY: Final = (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError)
FACTS_AT_ONCE: Final = 200_000


def read_wikidata(file: BinaryIO, path: Path, intake: Intake) -> None:
    """Take in the statements between entities, with the times of their qualifiers.

    Deprecated statements, and those whose value is unknown or none, are left out.
    """
    reader = _WikidataReader(path, intake)
    for number, line in enumerate(file, start=1):
        text = line.removeprefix(b"\xef\xbb\xbf").strip().removesuffix(b",")
        if text not in (b"", b"[", b"]"):
            reader.take_line(text, number)
    reader.hand_over()
    if reader.coarse_times:
        intake.note(f"{shown(path)}: {reader.coarse_times:,} times coarser than a year are taken as unknown")


class _WikidataReader:
    def __init__(self, path: Path, intake: Intake) -> None:
        self.path, self.intake = path, intake
        self.coarse_times = 0
        self._facts: list[tuple[int, str, str, str, int, int]] = []
        self._literals: list[tuple[str, str, str]] = []
        self._codes: dict[tuple[str, int], int] = {}

    def take_line(self, text: bytes, number: int) -> None:
        """Take in the entity, or the entities, of a line; a line that holds none is rejected."""
        before = len(self._facts), len(self._literals)
        try:
            for entity in _entities(json.loads(text)):
                self._take_entity(entity, number)
        except _NOT_AN_ENTITY as error:
            del self._facts[before[0] :], self._literals[before[1] :]
            why, line = _in_words(error), text.decode("utf-8", "replace")
            self.intake.rejections.add(self.path, [(0, number)], lambda _: why, lambda _: line)
        if len(self._facts) >= FACTS_AT_ONCE:
            self.hand_over()

    def hand_over(self) -> None:
        """Give what was gathered to the intake."""
        columns = {LINE: pl.UInt32, **dict.fromkeys(FACT[:3], pl.String), **dict.fromkeys(FACT[3:], pl.Int32)}
        table = pl.DataFrame(self._facts, schema=columns, orient="row")
        self._facts = []
        self.intake.facts.add(Rows(self.path, table, lambda row: "\t".join(table.row(row)[1:4])))
        if self._literals:
            names = {"entity": pl.String, "attribute": pl.String, "value": pl.String}
            self.intake.literal_tables.append(pl.DataFrame(self._literals, schema=names, orient="row"))
            self._literals = []

    def _take_entity(self, entity: dict[str, Any], number: int) -> None:
        head = _text(entity["id"])
        if self.intake.options.literals:
            labels = entity.get("labels") or {}
            self._literals += [(head, LABEL, _text(label["value"])) for label in labels.values()]
        claims = entity.get("claims") or {}
        for relation, statements in claims.items():
            for place, statement in enumerate(statements, start=1):
                try:
                    if statement.get("rank") != "deprecated" and statement["mainsnak"]["snaktype"] == "value":
                        self._take_statement(head, relation, statement, number)
                except _NOT_AN_ENTITY as error:
                    raise _StatementError(f"statement {place} of {relation} of {head}: {_fault(error)}") from None

    def _take_statement(self, head: str, relation: str, statement: dict[str, Any], number: int) -> None:
        kind, value = (statement["mainsnak"]["datavalue"][part] for part in ("type", "value"))
        if kind == "wikibase-entityid":
            tail = _text(value["id"]) if "id" in value else f"Q{_whole(value['numeric-id'])}"
            begin, end = self._interval(statement.get("qualifiers") or {})
            self._facts.append((number, head, relation, tail, begin, end))
        elif self.intake.options.literals and (text := _literal(kind, value)):
            self._literals.append((head, relation, text))

    def _interval(self, qualifiers: dict[str, Any]) -> tuple[int, int]:
        """The first begin and the last end; `UNKNOWN` where there is none."""
        known: dict[str, list[int]] = {"begin": [], "end": []}
        for qualifier, ends in _ROLES.items():
            for snak in qualifiers.get(qualifier, ()):
                code = self._code(snak["datavalue"]["value"]) if snak["snaktype"] == "value" else UNKNOWN
                for end in ends if code != UNKNOWN else ():
                    known[end].append(code)
        return min(known["begin"], default=UNKNOWN), max(known["end"], default=UNKNOWN)

    def _code(self, value: dict[str, Any]) -> int:
        key = _text(value["time"]), _whole(value["precision"])
        code = self._codes.get(key)
        if code is None:
            written = np.array([parse_date(key[0])], dtype=np.int32)
            code = self._codes[key] = int(at_precision(written, np.array([key[1]]))[0])
        self.coarse_times += key[1] < YEAR
        return code


class _StatementError(ValueError):
    """A statement that is not as Wikidata's are; says which."""


def _in_words(error: Exception) -> str:
    """Why a line is no entity."""
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON from character {error.pos + 1} on; each line is an entity of its own, whole"
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text; convert the file to UTF-8"
    return f"no Wikidata entity: {error if isinstance(error, _StatementError) else _fault(error)}"


def _fault(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    if isinstance(error, RecursionError):
        return "brackets within brackets without end"
    if isinstance(error, ValueError):  # of a date, or of `_text`
        return str(error)[:100]
    return "a list, a number or a text where an object {…} belongs, or the other way round"


def _entities(parsed: Any) -> Iterator[dict[str, Any]]:
    """The entities of a line: one, or those of ``{"entities": {…}}``."""
    if not isinstance(parsed, dict):
        raise TypeError
    if "entities" in parsed:
        yield from parsed["entities"].values()
    else:
        yield parsed


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
