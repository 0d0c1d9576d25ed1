"""Columns of a table: which holds what, as the user says or guessed from usual names, and their values.

A table has a row for each fact (head, relation, tail, and when), or a row for each entity (an id, and what is known of
it: each other column is a relation).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.errors import InputError
from dualmatch.readers.usual_names import Guess, example_columns, in_quotes, listed

NAMES: Final = ("head", "relation", "tail")
INTERVAL: Final = ("begin", "end")
POINT: Final = "time"
FACT: Final = (*NAMES, *INTERVAL)
ROLE: Final = "role"
ROLES: Final = (*FACT, POINT, "label", ROLE)
"""Parts of a row that is a fact; ``label`` is that of its head, ``role`` says whether ``time`` is a begin or an end."""
SAID_BY: Final = "said_by"
"""The column by which a table that `merge` wrote is known."""
KINDS: Final = ("date", "tail", "text")
"""What a column of a table of entities may hold: dates of the entity, neighbours, or text that is not compared."""
ENTITY_ROLES: Final = ("id", "label", *KINDS)
_REPEATED: Final = KINDS
_PART: Final = re.compile(r'(?:[^,="]*==?\s*"(?:[^"]|"")*"\s*(?=,|\Z)|[^,]*)')
_QUOTED: Final = re.compile(r'(=?)\s*"((?:[^"]|"")*)"')
ColumnNames = Mapping[str, str | Sequence[str]]
"""Role → the column's name, or several; ``relation`` may also be ``=WORDS``, the relation of all facts."""


@dataclass(frozen=True)
class TableShape:
    """Where a table holds what."""

    places: Mapping[str, int]
    """Column of `Rows` → column number from 0: roles, and for columns with a relation of their own, their number."""
    has_header: bool
    width: int
    note: str = ""
    """What was guessed, in words; empty where the user said it all."""
    relations: Mapping[str, str] = field(default_factory=dict)
    """For columns of `places` that are no roles: the relation of their values."""
    kinds: Mapping[str, str | None] | None = None
    """For a table with a row for each entity: which of `KINDS` each column of `relations` is, None where its values
    are to decide. None for a table of facts."""
    id_is_name: bool = False
    """Whether names are the ids of a table of entities because no column's name says that it holds ids."""
    may_end_early: bool = False
    """Whether rows may end after the tail: where a column says what a time is, those without a time often do."""
    undated_width: int | None = None
    """Width of rows that end before their times, which are the last columns: undated facts, without a header only."""
    may_lack_tail: bool = False
    """Whether a row with a date and without a tail is a date of the entity itself: in tables that `merge` wrote."""


@dataclass(frozen=True)
class ColumnUse:
    """What a column of a table was taken for: `roles` as ``--columns`` has them, none where it is not read."""

    file: str
    column: str
    roles: tuple[str, ...]
    guessed: bool


def parse_columns(text: str) -> dict[str, str | tuple[str, ...]]:
    """Read ``head=subject,relation=predicate,…``; ``tail``, ``date`` and ``text`` may be repeated.

    >>> parse_columns("head=a, tail=c")
    {'head': 'a', 'tail': 'c'}
    >>> parse_columns("head=person,relation==member of,tail=area,tail=party")
    {'head': 'person', 'relation': '=member of', 'tail': ('area', 'party')}
    >>> parse_columns('id=qid,date="born, or baptised"')
    {'id': 'qid', 'date': 'born, or baptised'}
    """
    given: dict[str, list[str]] = {}
    for part in _parts(text):
        role, equals, name = (piece.strip() for piece in part.partition("="))
        if quoted := _QUOTED.fullmatch(name):
            name = quoted[1] + quoted[2].replace('""', '"')
        if not equals or not name:
            hint = (
                f"; a name with a comma goes in double quotes: date={in_quotes('born, or baptised')}" if given else ""
            )
            raise InputError(
                f"--columns {part.strip()!r}: write head=NAME,relation=NAME,tail=NAME,begin=NAME,end=NAME, or, if each "
                f"row is an entity, id=NAME,label=NAME,date=NAME,tail=NAME{hint}"
            )
        given.setdefault(role, []).append(name)
    twice = [role for role, names in given.items() if len(names) > 1 and role not in _REPEATED]
    if twice:
        raise InputError(f"--columns: {twice[0]} is given {len(given[twice[0]])} times; only {_or(_REPEATED)} may be")
    columns = {role: names[0] if len(names) == 1 else tuple(names) for role, names in given.items()}
    check_roles(columns)
    return columns


def _parts(text: str) -> Iterator[str]:
    """What stands between commas that are not within quotes."""
    at = -1
    while at < len(text):
        part = _PART.match(text, at + 1)[0]  # type: ignore[index]
        yield part
        at += 1 + len(part)


def check_roles(columns: ColumnNames) -> None:
    """Refuse roles that do not exist, or that do not go together."""
    unknown = [role for role in columns if role not in (*ROLES, *ENTITY_ROLES)]
    if unknown:
        raise InputError(
            f"columns: there is no {unknown[0]!r}; a row that is a fact has {', '.join(ROLES)} (time is a point, label "
            "that of the head, role says whether time is a begin or an end), a row that is an entity "
            f"{', '.join(ENTITY_ROLES)}"
        )
    if ROLE in columns and POINT not in columns:
        raise InputError("columns: role says whether a time is a begin or an end; give time=NAME, too")
    if POINT in columns and any(role in columns for role in INTERVAL):
        raise InputError("columns: give begin and end, or time (a point), not both")
    of_entity = [role for role in columns if role not in ROLES]
    of_fact = [role for role in columns if role not in ENTITY_ROLES]
    if of_entity and of_fact:
        raise InputError(
            f"columns: {of_entity[0]} is for a table with a row for each entity, {of_fact[0]} for one with a row for "
            "each fact; give one or the other"
        )


def _or(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def table_shape(header: Sequence[str], asked: ColumnNames | None, where: str, line: int | None = None) -> TableShape:
    """Find the columns of a table whose first row, at `line`, is `header`.

    What the user asked for goes first; roles left open are guessed from usual names. Columns given by number count
    from 1 and mean that the table has no header. It is an `InputError` where a column that was asked for does not
    exist, or where it cannot be guessed what a row is.
    """
    asked = asked or {}
    check_roles(asked)
    columns = {role: (names,) if isinstance(names, str) else tuple(names) for role, names in asked.items()}
    constant = next((name.removeprefix("=") for name in columns.get("relation", ()) if name.startswith("=")), None)
    if constant is not None:
        columns.pop("relation")
    names = [name.strip() for name in header]
    given = [name for role in columns.values() for name in role]
    if given and all(re.fullmatch("[0-9]{1,5}", name) for name in given):
        undated = _undated_width(columns)
        if ROLE in columns or len(names) == undated:  # a first row without a time may end before
            names += [""] * (max(map(int, given)) - len(names))
        places = {
            role: [_numbered_place(name, role, names, where if line is None else f"{where}:{line}") for name in of]
            for role, of in columns.items()
        }
        shape = _shape_without_header(places, constant, len(names))
        return replace(shape, undated_width=undated) if shape.width == max(map(int, given)) else shape
    places = {role: [_place(name, names, where) for name in of] for role, of in columns.items()}
    guess = Guess(names, places, where, are_facts=constant is not None)
    if guess.is_of_entities:
        return _entity_shape(names, guess)
    missing = [role for role in guess.missing if role != "relation" or (constant is None and "tail" not in asked)]
    if missing:
        known = {role: [names[place] for place in of] for role, of in guess.places.items()}
        known |= {} if constant is None else {"relation": [f"={constant}"]}
        raise InputError(
            f"{where}: cannot tell which column is the {missing[0]}; the columns are {listed(names)}: say so with "
            f"{example_columns(names, known, asked)} (facts without a header: numbers from 1, as head=1)"
        )
    return _fact_shape(names, guess.places, constant, guess.note)


def _fact_shape(
    names: Sequence[str], places: Mapping[str, Sequence[int]], constant: str | None, note: str, has_header: bool = True
) -> TableShape:
    tails = places["tail"]
    single: dict[str, int] = {role: places[role][0] for role in ROLES if role in places and role != "tail"}
    if "relation" in single and len(tails) == 1:
        single["tail"] = tails[0]
        ordered: dict[str, int] = {role: single[role] for role in ROLES if role in single}
        return TableShape(
            ordered, has_header, len(names), note, may_end_early=ROLE in places, may_lack_tail=SAID_BY in names
        )
    relations = {str(place): names[place] or f"column {place + 1}" for place in tails}
    if constant is not None:
        relations = dict.fromkeys(relations, constant)
    return TableShape(single | {name: int(name) for name in relations}, has_header, len(names), note, relations)


def _entity_shape(names: Sequence[str], guess: Guess) -> TableShape:
    places = {"head": guess.places["id"][0]}
    if "label" in guess.places:
        places["label"] = guess.places["label"][0]
    asked = {place: kind for kind in KINDS for place in guess.places.get(kind, ())}
    others = [place for place in range(len(names)) if place not in places.values() or place in asked]
    relations = {str(place): names[place] or f"column {place + 1}" for place in others}
    kinds = {str(place): asked.get(place) for place in others}
    id_is_name = "id" not in guess.asked and guess.places.get("label") == guess.places["id"]
    columns = places | {name: int(name) for name in relations}
    return TableShape(columns, True, len(names), guess.note, relations, kinds, id_is_name)


def _shape_without_header(places: Mapping[str, Sequence[int]], constant: str | None, width: int) -> TableShape:
    if any(role not in ROLES for role in places):
        raise InputError("columns: numbers for a table of entities; it needs a header, which names its relations")
    missing = [role for role in NAMES if role not in places and (role != "relation" or constant is None)]
    if missing:
        raise InputError(
            f"columns: no number for {missing[0]}; a table without a header needs head, relation (or relation==WORDS, "
            "the same for all) and tail"
        )
    return _fact_shape([""] * width, places, constant, "", has_header=False)


def _undated_width(columns: Mapping[str, Sequence[str]]) -> int | None:
    """The columns before those of times, where these are the last that are given, without a gap."""
    times = sorted(int(columns[role][0]) for role in (*INTERVAL, POINT) if role in columns)
    others = [int(name) for role, of in columns.items() if role not in (*INTERVAL, POINT) for name in of]
    follows = bool(times) and ROLE not in columns and times == [*range(times[0], times[0] + len(times))]
    return times[0] - 1 if follows and max(others, default=0) < times[0] else None


def _numbered_place(number: str, role: str, names: Sequence[str], where: str) -> int:
    if not 0 < int(number) <= len(names):
        raise InputError(f"{where}: has {len(names)} columns, there is no column {number} for {role}")
    return int(number) - 1


def _place(name: str, names: Sequence[str], where: str) -> int:
    if names.count(name) == 1:
        return names.index(name)
    if name in names:
        raise InputError(f"{where}: {names.count(name)} columns are called {name!r}; give each its own name")
    raise InputError(
        f"{where}: no column {name!r}; the columns are {listed(names)} (--columns given once holds for both sides)"
    )


def numbered(values: pl.Series, in_order: bool = True) -> tuple[pl.Series, NDArray[np.int32]]:
    """Distinct values of a text column without nulls, sorted unless that is not asked for, and the row of each value.

    Sorted, so that the numbers do not depend on the order in which a file names things. Values are looked up by a
    64-bit hash, several times faster than by their text; should two of them ever share a hash, the check at the end
    notices and they are looked up by their text.

    >>> distinct, rows = numbered(pl.Series(["b", "a", "b"]))
    >>> distinct.to_list(), rows.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    keys = values.hash()
    distinct = values.gather(keys.arg_unique())
    distinct = distinct.sort() if in_order else distinct
    rows = _rows_among(keys, distinct.hash())
    if (distinct.gather(rows) == values).all():
        return distinct, rows
    distinct = values.unique().sort()
    return distinct, _rows_among(values, distinct)


def _rows_among(keys: pl.Series, listed: pl.Series) -> NDArray[np.int32]:
    listing = pl.DataFrame({"key": listed}).with_row_index("row")
    rows = pl.DataFrame({"key": keys}).join(listing, on="key", how="left", maintain_order="left")["row"]
    return rows.to_numpy().astype(np.int32)
