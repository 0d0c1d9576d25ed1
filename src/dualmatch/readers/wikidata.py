"""Wikidata's JSON, and that of any Wikibase: dumps with one entity a line, and files of any other layout."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl

from dualmatch.files.bounded import LongLineError, lines_of, skip_empty_lines
from dualmatch.files.json_values import HALF_CHARACTER, json_values
from dualmatch.files.text_lines import LINE
from dualmatch.graph.literals import ALIAS, LABEL
from dualmatch.graph.times import UNKNOWN
from dualmatch.readers.columns import FACT, POINT
from dualmatch.readers.facts import COARSE, LITERAL, NOT_A_VALUE, Collector
from dualmatch.readers.read_options import TimePredicates
from dualmatch.readers.rows import Rows
from dualmatch.readers.shown_labels import preferred
from dualmatch.readers.time_column import WRONG
from dualmatch.readers.unread_dates import NOT_A_DATE, REVERSED
from dualmatch.readers.wikibase_time import reversed_intervals, time_code, without_times

FACTS_AT_ONCE: Final = 200_000
_PIECE: Final = 1 << 20
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
        for number, value in json_values(pieces, path):
            reader.take_value(value, number)
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
    """A line of a dump without its comma; empty for what is no entity."""
    text = line.removeprefix(b"\xef\xbb\xbf").strip().removesuffix(b",")
    return b"" if text in (b"[", b"]") else text


_LETTERS: Final = {"item": "Q", "property": "P", "lexeme": "L"}


def _id_by_number(value: dict[str, Any]) -> str:
    """The id of an entity that old files give by its kind and number."""
    return f"{_LETTERS[value.get('entity-type', 'item')]}{_whole(value['numeric-id'])}"


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
        self._coarse_times = 0

    def take_line(self, text: bytes, number: int) -> None:
        """Collect what a line holds; a line that is no JSON is rejected."""
        try:
            value = json.loads(text)
            if HALF_CHARACTER.search(text):
                json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            self._reject(_in_words(error), number, text.decode("utf-8", "replace"))
        else:
            self.take_value(value, number)

    def take_value(self, value: Any, number: int) -> None:
        """Collect an entity, a list of them, or those of ``{"entities": {…}}``; what is none is rejected."""
        try:
            several = value if isinstance(value, list) else value["entities"].values() if "entities" in value else None
        except _NOT_AN_ENTITY as error:
            self._reject(_in_words(error), number)
            return
        for entity in [value] if several is None else several:
            try:
                self._take_entity(entity, number)
            except _NOT_AN_ENTITY as error:
                hint = "; if this is JSON-LD, add --format jsonld" if "@context" in str(value)[:10_000] else ""
                self._reject(_in_words(error) + hint, number)
        if len(self._facts) + len(self._dates) >= FACTS_AT_ONCE:
            self._hand_over()

    def finish(self) -> None:
        """Give what was gathered to the collector, and report what was left out."""
        self._hand_over()
        self.collector.note_unknown(self.path, COARSE, self._coarse_times)
        for kind, (count, first) in self._spoilt.items():
            self.collector.note_unknown(self.path, kind, count, f" on {first}")
        self.collector.left_out.update(self._left_out)

    def _hand_over(self) -> None:
        names = {LINE: pl.UInt32, **dict.fromkeys(FACT[:3], pl.String), **dict.fromkeys(FACT[3:], pl.Int32)}
        facts = pl.DataFrame(self._facts, schema=names, orient="row")
        wrong = reversed_intervals(facts)
        for row, why in wrong:
            self._spoil(REVERSED, facts[LINE][row], why)
        rows = [row for row, _ in wrong]
        facts = without_times(facts, rows) if self._is_lenient else facts.filter(~pl.int_range(pl.len()).is_in(rows))
        del names["tail"], names["begin"]
        dates = pl.DataFrame(self._dates, schema=names, orient="row").rename({"end": POINT})
        for table, add in ((facts, self.collector.add), (dates, self.collector.add_dates)):
            add(Rows(self.path, table, lambda row, table=table: " ".join(map(str, table.row(row)[1:]))))  # type: ignore[misc]
        if self._literals:
            texts = dict.fromkeys(("entity", "attribute", "value", "language"), pl.String)
            self.collector.keep_literals(pl.DataFrame(self._literals, schema=texts, orient="row"))
        self._facts, self._dates, self._literals = [], [], []

    def _reject(self, why: str, number: int, text: str = "") -> None:
        self.collector.rejections.add(self.path, [(0, number)], lambda _: why, lambda _: text)

    def _take_entity(self, entity: dict[str, Any], number: int) -> None:
        head = _text(entity["id"])
        for part, attribute in (("labels", LABEL), ("lemmas", LABEL), ("aliases", ALIAS)):
            self._take_labels(head, attribute, entity.get(part) or {}, number)
        claims = entity.get("claims") or entity.get("statements") or {}  # those of media files are called statements
        for relation, statements in claims.items():
            for place, statement in enumerate(statements, start=1):
                try:
                    if statement.get("rank") == "deprecated":
                        self._left_out["deprecated statements"] += 1
                    elif statement["mainsnak"]["snaktype"] == "value":
                        self._take_statement(head, relation, statement, number, place)
                    else:
                        self._left_out["unknown values"] += 1
                except _NOT_AN_ENTITY as error:
                    self._reject(f"no Wikidata entity: {_statement(place, relation, head)}: {_fault(error)}", number)

    def _take_labels(self, head: str, attribute: str, labels: dict[str, Any], number: int) -> None:
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
                    self._spoil(NOT_A_VALUE, number, f"{attribute} of {head}: {_fault(error)}")

    def _take_statement(self, head: str, relation: str, statement: dict[str, Any], number: int, place: int) -> None:
        try:
            kind, value = (statement["mainsnak"]["datavalue"][part] for part in ("type", "value"))
            if kind == "wikibase-entityid":
                tail = _text(value["id"]) if "id" in value else _id_by_number(value)
                begin, end = self._interval(statement.get("qualifiers") or {}, head, relation, number, place)
                self._facts.append((number, head, relation, tail, begin, end))
            elif kind == "time":
                if (code := self._code(value, head, relation, number, place)) != UNKNOWN:
                    self._dates.append((number, head, relation, code))
            else:  # never compared, kept or not
                self._left_out[LITERAL] += 1
                if self._keeps_literals and (text := _literal(kind, value)):
                    language = value.get("language") if isinstance(value, dict) else None
                    self._literals.append((head, relation, text, language if isinstance(language, str) else None))
        except _NOT_AN_ENTITY as error:
            self._spoil(NOT_A_VALUE, number, f"{_statement(place, relation, head)}: {_fault(error)}")

    def _interval(
        self, qualifiers: dict[str, Any], head: str, relation: str, number: int, place: int
    ) -> tuple[int, int]:
        """The first begin and the last end; `UNKNOWN` where there is none."""
        begin, end, point = (
            [
                self._code(snak["datavalue"]["value"], head, relation, number, place)
                for name in names
                if name in qualifiers
                for snak in qualifiers[name]
                if snak["snaktype"] == "value"
            ]
            for names in self._qualifiers
        )
        first = min((code for code in begin + point if code != UNKNOWN), default=UNKNOWN)
        return first, max(end + point, default=UNKNOWN)  # `UNKNOWN` is below all times

    def _code(self, value: dict[str, Any], head: str, relation: str, number: int, place: int) -> int:
        why = ""
        try:
            key = value["time"], value["precision"], value.get("calendarmodel")
            code = self._codes.get(key)
            if code is None:
                code = self._codes[key] = time_code(_text(key[0]), _whole(key[1]), key[2])
        except _NOT_AN_ENTITY as error:
            code, why = WRONG, _fault(error)
        if code == UNKNOWN:
            self._coarse_times += 1
        elif code == WRONG:
            if not self._is_lenient:  # its statement cannot be used
                raise ValueError(why)
            self._spoil(NOT_A_DATE, number, f"{_statement(place, relation, head)}: {why}")
            code = UNKNOWN
        return code

    def _spoil(self, kind: str, number: int, why: str) -> None:
        """A value that cannot be used costs itself only, unless everything is to be right."""
        if not self._is_lenient:
            self._reject(why, number)
        else:
            count, first = self._spoilt.get(kind, (0, f"line {number}: {why}"))
            self._spoilt[kind] = count + 1, first


def _properties(predicates: TimePredicates, role: str) -> list[str]:
    names = {re.split(r"[/#:]", name)[-1].upper() for name in getattr(predicates, role)}
    return sorted(name for name in names if re.fullmatch(r"P\d+", name))


def _statement(place: int, relation: str, head: str) -> str:
    return f"statement {place} of {relation} of {head}"


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
    part = {"monolingualtext": "text", "quantity": "amount"}.get(kind)
    return _text(value[part]) if part else ""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"text is missing where {json.dumps(value)} stands"[:100])
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError(f"a whole number is missing where {json.dumps(value)} stands"[:100])
    return value
