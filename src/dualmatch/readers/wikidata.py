"""Wikidata's JSON, and that of any Wikibase: dumps with one entity a line, and files of any other layout."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
import polars as pl

from dualmatch.errors import InputError
from dualmatch.files.bounded import LongLineError, lines_of, skip_empty_lines
from dualmatch.files.json_values import HALF_CHARACTER, JsonPlace, json_values
from dualmatch.files.text_lines import LINE
from dualmatch.graph.literals import ALIAS, LABEL
from dualmatch.graph.times import UNKNOWN, ends_before_begin, format_date
from dualmatch.readers.columns import FACT, POINT
from dualmatch.readers.facts import COARSE, LITERAL, NOT_A_VALUE, Collector
from dualmatch.readers.read_options import TimePredicates
from dualmatch.readers.rows import Rows
from dualmatch.readers.shown_labels import preferred
from dualmatch.readers.unread_dates import NOT_A_DATE, REVERSED
from dualmatch.readers.wikibase_time import time_code

FACTS_AT_ONCE: Final = 200_000
_PIECE: Final = 1 << 20
_MOST_SEARCHED: Final = 1 << 26  # characters, for the lines of what is wrong
_Way = tuple[str | int, ...]
"""Keys and numbers that lead from a value of a file to a part of it."""
_NOT_AN_ENTITY: Final = (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError)


def read_wikidata(file: BinaryIO, path: Path, collector: Collector) -> None:
    """Collect the statements between entities, with the times of their qualifiers, and the dates of entities.

    Deprecated statements, and those whose value is unknown or none, are left out.
    """
    reader = _WikidataReader(path, collector)
    longest = collector.options.longest_line
    start, before, is_by_line = _start(file, longest)
    if is_by_line:
        for number, line in chain(start, lines_of(file, before, longest)):
            if text := _entity_text(line):
                reader.take_line(text, number)
    else:
        gaps = (number - last - 1 for (number, _), (last, _) in zip(start, [(0, b""), *start], strict=False))
        first = (b"\n" * gap + line for gap, (_, line) in zip(gaps, start, strict=True))
        pieces: Iterable[bytes] = chain(first, iter(partial(file.read, _PIECE), b""))
        for place, value in json_values(pieces, path):
            reader.take_value(value, place)
    reader.finish()


def _start(file: BinaryIO, longest: int) -> tuple[list[tuple[int, bytes]], int, bool]:
    """The first lines that are not empty, how many there are, and whether each line is an entity, as in a dump."""
    start: list[tuple[int, bytes]] = []
    number = filled = 0
    while line := file.readline(100):  # an array may be one line of gigabytes
        number += 1
        if line == b"\n":
            number += skip_empty_lines(file)
            continue
        is_array = line.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
        if is_array and not line.endswith(b"\n"):
            return [*start, (number, line)], number, False
        line = line if line.endswith(b"\n") else line + file.readline(longest)
        if len(line) > longest:
            raise LongLineError(number, longest)
        start.append((number, line))
        text = _entity_text(start[-1][1])
        if text and is_array:
            return start, number, False
        try:
            if text and isinstance(json.loads(text), dict):
                return start, number, True
        except (ValueError, RecursionError):
            pass
        filled += text != b""
        if filled == 2:
            return start, number, False
    return start, number, True


def _entity_text(line: bytes) -> bytes:
    """A line of a dump without its comma; empty for what is not an entity."""
    text = line.removeprefix(b"\xef\xbb\xbf").strip().removesuffix(b",")
    return b"" if text in (b"[", b"]") else text


_LETTERS: Final = {"item": "Q", "property": "P", "lexeme": "L"}


def _id_by_number(value: dict[str, Any]) -> str:
    """The id of an entity that old files give by its kind and number."""
    return f"{_LETTERS[value.get('entity-type', 'item')]}{_whole(value['numeric-id'])}"


class _Spot(NamedTuple):
    """A statement of an entity: the value it stands in, the way to the entity's statements, and which one it is."""

    place: JsonPlace
    way: _Way
    head: str
    relation: str
    number: int

    def __str__(self) -> str:
        return f"statement {self.number} of {self.relation} of {self.head}"


class _WikidataReader:
    def __init__(self, path: Path, collector: Collector) -> None:
        self.path, self.collector = path, collector
        self._keeps_literals = collector.options.literals
        self._is_lenient = collector.options.on_error == "dates"
        self._qualifiers = [_properties(collector.options.time_predicates, role) for role in (*FACT[3:], POINT)]
        self._facts: list[tuple[int, str, str, str, int, int]] = []
        self._dates: list[tuple[int, str, str, int]] = []
        self._literals: list[tuple[str, str, str, str | None]] = []
        self._codes: dict[tuple[str, int, str | None], int] = {}
        self._spoilt: dict[str, tuple[int, str]] = {}
        self._left_out: Counter[str] = Counter()
        self._coarse_times = self._searched = self._entities = 0

    def take_line(self, text: bytes, number: int) -> None:
        """Collect what a line holds; a line that is not JSON is rejected."""
        try:
            value = json.loads(text)
            if HALF_CHARACTER.search(text):
                json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            self._reject(_in_words(error), number, text.decode("utf-8", "replace"))
        else:
            self.take_value(value, JsonPlace(number))

    def take_value(self, value: Any, place: JsonPlace) -> None:
        """Collect an entity, a list of them, or those of ``{"entities": {…}}``; anything else is rejected."""
        entities: Iterable[tuple[_Way, Any]] = [((), value)]
        try:
            if isinstance(value, list):
                entities = (((number,), entity) for number, entity in enumerate(value))
            elif "entities" in value:
                entities = ((("entities", key), entity) for key, entity in value["entities"].items())
        except _NOT_AN_ENTITY as error:
            self._reject(_in_words(error), place.line)
            return
        for way, entity in entities:
            try:
                self._take_entity(entity, place, way)
            except _NOT_AN_ENTITY as error:
                self._reject(_in_words(error), place.line_of(*way))
        if len(self._facts) + len(self._dates) >= FACTS_AT_ONCE:
            self._hand_over()

    def finish(self) -> None:
        """Give what was gathered to the collector, and report what was left out."""
        rejected = [each for each in self.collector.rejections.kept if each.path == self.path]
        if rejected and not self._entities:
            hint = "JSON is read as that of a Wikibase: if it is JSON-LD, add --format jsonld; else make a table of it"
            raise InputError(f"{rejected[0]}; {hint}")
        self._hand_over()
        self.collector.note_unknown(self.path, COARSE, self._coarse_times)
        for kind, (count, first) in self._spoilt.items():
            self.collector.note_unknown(self.path, kind, count, f" on {first}")
        self.collector.left_out.update(self._left_out)

    def _hand_over(self) -> None:
        names = {LINE: pl.UInt32, **dict.fromkeys(FACT[:3], pl.String), **dict.fromkeys(FACT[3:], pl.Int32)}
        facts = pl.DataFrame(self._facts, schema=names, orient="row")
        del names["tail"], names["begin"]
        dates = pl.DataFrame(self._dates, schema=names, orient="row").rename({"end": POINT})
        for table, add in ((facts, self.collector.add), (dates, self.collector.add_dates)):
            add(Rows(self.path, table, lambda row, table=table: " ".join(map(str, table.row(row)[1:]))))  # type: ignore[misc]
        if self._literals:
            texts = dict.fromkeys(("entity", "attribute", "value", "language"), pl.String)
            self.collector.keep_literals(pl.DataFrame(self._literals, schema=texts, orient="row"))
        self._facts, self._dates, self._literals = [], [], []

    def _reject(self, why: str, number: int | None, text: str = "") -> None:
        self.collector.rejections.add(self.path, [(0, number)], lambda _: why, lambda _: text)

    def _take_entity(self, entity: dict[str, Any], place: JsonPlace, way: _Way) -> None:
        head = _text(entity["id"])
        self._entities += 1
        for part, attribute in (("labels", LABEL), ("lemmas", LABEL), ("aliases", ALIAS)):
            try:
                self._take_labels(head, attribute, entity.get(part) or {}, place, (*way, part))
            except _NOT_AN_ENTITY as error:
                self._spoil(NOT_A_VALUE, place, (*way, part), f"{part} of {head}", error)
        part = "claims" if entity.get("claims") else "statements"  # as those of media files are called
        claims = entity.get(part) or {}
        for relation, statements in claims.items():
            for number, statement in enumerate(statements if isinstance(statements, list) else [None], start=1):
                spot = _Spot(place, (*way, part), head, relation, number)
                try:
                    if statement.get("rank") == "deprecated":
                        self._left_out["deprecated statements"] += 1
                    elif statement["mainsnak"]["snaktype"] == "value":
                        self._take_statement(spot, statement)
                    else:
                        self._left_out["unknown values"] += 1
                except _NOT_AN_ENTITY as error:
                    self._spoil_at(spot, NOT_A_VALUE, error)

    def _take_labels(self, head: str, attribute: str, labels: dict[str, Any], place: JsonPlace, way: _Way) -> None:
        shown = None if attribute != LABEL else preferred(labels, self.collector.options.label_languages)
        for language, given in labels.items():
            for label in given if isinstance(given, list) else [given]:
                if not self._keeps_literals:
                    self._left_out["labels"] += 1
                    if language != shown:  # one is enough to show, and there may be hundreds
                        continue
                try:
                    self._literals.append((head, attribute, _text(label["value"]), language))
                except _NOT_AN_ENTITY as error:
                    self._spoil(NOT_A_VALUE, place, (*way, language), f"{attribute} of {head}", error)

    def _take_statement(self, spot: _Spot, statement: dict[str, Any]) -> None:
        main, head, relation = statement["mainsnak"], spot.head, spot.relation
        kind, value = main["datavalue"]["type"], main["datavalue"]["value"]
        if kind == "wikibase-entityid":
            tail = _text(value["id"]) if "id" in value else _id_by_number(value)
            interval = self._interval(spot, statement.get("qualifiers") or {})
            self._facts.append((spot.place.line, head, relation, tail, *interval))
        elif kind == "time":
            if (code := self._code(spot, main)) != UNKNOWN:
                self._dates.append((spot.place.line, head, relation, code))
        else:  # never compared, kept or not
            self._left_out[LITERAL] += 1
            if self._keeps_literals and (text := _literal(kind, value)):
                language = value.get("language") if isinstance(value, dict) else None
                self._literals.append((head, relation, text, language if isinstance(language, str) else None))

    def _interval(self, spot: _Spot, qualifiers: dict[str, Any]) -> tuple[int, int]:
        """The first begin and the last end; `UNKNOWN` where there is none, or where one of them is impossible."""
        if not isinstance(qualifiers, dict):
            return (self._code(spot, qualifiers),) * 2
        begin, end, point = (
            [
                self._code(spot, snak)
                for name in names
                if name in qualifiers
                for snak in (qualifiers[name] if isinstance(qualifiers[name], list) else [None])
            ]
            for names in self._qualifiers
        )
        first = min((code for code in begin + point if code != UNKNOWN), default=UNKNOWN)
        last = max(end + point, default=UNKNOWN)  # `UNKNOWN` is below all times
        if UNKNOWN < last < first and ends_before_begin(np.array([first]), np.array([last]))[0]:
            why = ValueError(f"ends in {format_date(last)}, before it begins in {format_date(first)}")
            return (self._unknown(spot, REVERSED, why),) * 2
        return first, last

    def _code(self, spot: _Spot, snak: Any) -> int:
        """The date that a snak gives; `UNKNOWN` where it gives none."""
        try:
            if snak["snaktype"] != "value":
                return UNKNOWN
            value = snak["datavalue"]["value"]
            key = value["time"], value["precision"], value.get("calendarmodel")
            code = self._codes.get(key)
            if code is None:
                code = self._codes[key] = time_code(_text(key[0]), _whole(key[1]), key[2])
        except _NOT_AN_ENTITY as error:
            return self._unknown(spot, NOT_A_DATE, error)
        self._coarse_times += code == UNKNOWN
        return code

    def _unknown(self, spot: _Spot, kind: str, error: Exception) -> int:
        """`UNKNOWN` for a time that cannot be; its statement cannot be used where everything is to be right."""
        if not self._is_lenient:
            raise error
        self._spoil_at(spot, kind, error)
        return UNKNOWN

    def _spoil_at(self, spot: _Spot, kind: str, error: Exception) -> None:
        self._spoil(kind, spot.place, (*spot.way, spot.relation, spot.number - 1), str(spot), error)

    def _spoil(self, kind: str, place: JsonPlace, way: _Way, what: str, error: Exception) -> None:
        """A value that cannot be used costs itself only, unless everything is to be right."""
        if not self._is_lenient:
            self._searched += len(place.text)
            line = place.line_of(*way) if self._searched < _MOST_SEARCHED else None
            self._reject(f"{what}: {_fault(error)}", line)
        elif kind in self._spoilt:
            count, first = self._spoilt[kind]
            self._spoilt[kind] = count + 1, first
        else:
            self._spoilt[kind] = 1, f"line {place.line_of(*way)}: {what}: {_fault(error)}"


def _properties(predicates: TimePredicates, role: str) -> list[str]:
    names = {re.split(r"[/#:]", name)[-1].upper() for name in getattr(predicates, role)}
    return sorted(name for name in names if re.fullmatch(r"P\d+", name))


def _in_words(error: Exception) -> str:
    """Why a line is not an entity."""
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON from character {error.pos + 1} on; fetch or make the file again"
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text; convert the file to UTF-8"
    if isinstance(error, UnicodeEncodeError):
        half = f"half a character, \\u{ord(error.object[error.start]):04x} (an unpaired surrogate)"
        return f"{half}; fix the program that wrote the file"
    return f"not a Wikidata entity: {_fault(error)}"


def _fault(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    if isinstance(error, RecursionError):
        return "brackets nested without end"
    if isinstance(error, ValueError):  # of a date, of `_text`, or of a statement
        return str(error)
    return "a value of the wrong kind, such as a list, a number or text in place of an object {…}"


def _literal(kind: str, value: Any) -> str:
    """A value in plain text; empty where it has none."""
    if kind == "string":
        return _text(value)
    part = {"monolingualtext": "text", "quantity": "amount"}.get(kind)
    return _text(value[part]) if part else ""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{json.dumps(value)} in place of text"[:100])
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError(f"{json.dumps(value)} in place of a whole number"[:100])
    return value
