"""Columns of a table of facts: which holds what, as the user says or guessed from usual names, and their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.errors import InputError

NAMES: Final = ("head", "relation", "tail")
INTERVAL: Final = ("begin", "end")
POINT: Final = "time"
FACT: Final = (*NAMES, *INTERVAL)
ROLES: Final = (*FACT, POINT)

_USUAL_NAMES: Final = {
    "head": "head subject subj h s headid subjectid headentity entity1 source sourceid",
    "relation": "relation predicate property rel pred r p relationid relationship edge",
    "tail": "tail object obj t o tailid objectid tailentity entity2 target targetid",
    "begin": "begin start since validfrom begindate startdate begintime starttime beginyear startyear fromdate "
    "datefrom timefrom beginning tbegin tstart p580",
    "end": "end until validto validuntil enddate endtime endyear todate dateto timeto stop ending tend p582",
    "time": "time date year timestamp datetime pointintime day when p585",
}
"""Lower-case letters and digits of the names tables usually have, the likeliest first."""


@dataclass(frozen=True)
class TableShape:
    """Where a table holds what."""

    places: Mapping[str, int]
    """Role → column number from 0, in the order of `ROLES`."""
    has_header: bool
    width: int
    note: str = ""
    """What was guessed, in words; empty where the user said it all."""


def parse_columns(text: str) -> dict[str, str]:
    """Read ``head=subject,relation=predicate,…``.

    >>> parse_columns("head=a, tail=c")
    {'head': 'a', 'tail': 'c'}
    """
    columns = {}
    for part in text.split(","):
        role, equals, name = part.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--columns {part.strip()!r}: write head=NAME,relation=NAME,tail=NAME,begin=NAME,end=NAME")
        columns[role.strip()] = name.strip()
    _check_roles(columns)
    return columns


def _check_roles(columns: Mapping[str, str]) -> None:
    unknown = [role for role in columns if role not in ROLES]
    if unknown:
        raise InputError(f"columns: a fact has no {unknown[0]!r}; its parts are {', '.join(ROLES)} (a point in time)")
    if POINT in columns and any(role in columns for role in INTERVAL):
        raise InputError("columns: give begin and end, or time (a point), not both")


def table_shape(header: Sequence[str], asked: Mapping[str, str] | None, where: str) -> TableShape:
    """Find the columns of a table whose first row is `header`.

    What the user asked for goes first; roles left open are guessed from usual names. Columns given by number count
    from 1 and mean that the table has no header. It is an `InputError` where a column that was asked for does not
    exist, or head, relation and tail cannot be guessed.
    """
    asked = asked or {}
    _check_roles(asked)
    if asked and all(re.fullmatch("[0-9]{1,5}", name) for name in asked.values()):
        return _shape_by_number(header, asked, where)
    names = [name.strip() for name in header]
    places = {role: _place(name, names, where) for role, name in asked.items()}
    guessed = _guess(names, places, where)
    places |= guessed
    missing = [role for role in NAMES if role not in places]
    if missing:
        raise InputError(
            f"{where}: cannot tell which column is the {missing[0]}; the columns are {_listed(names)}: "
            "say so with --columns head=NAME,relation=NAME,tail=NAME,begin=NAME,end=NAME "
            "(numbers from 1 where the file has no header)"
        )
    notes = []
    for role, place in guessed.items():
        others = [names[other] for other in _candidates(role, names, places.values())]
        instead = f" (not {_listed(others)}: to change that, --columns {role}=NAME)" if others else ""
        notes.append(f"{role} is {names[place]!r}{instead}")
    ordered: dict[str, int] = {role: places[role] for role in ROLES if role in places}
    return TableShape(ordered, True, len(header), f"{where}: guessed that {', '.join(notes)}" if notes else "")


def _shape_by_number(header: Sequence[str], asked: Mapping[str, str], where: str) -> TableShape:
    missing = [role for role in NAMES if role not in asked]
    if missing:
        raise InputError(f"columns: no number for {missing[0]}; a table without a header needs head, relation and tail")
    places = {role: int(asked[role]) - 1 for role in ROLES if role in asked}
    for role, place in places.items():
        if not 0 <= place < len(header):
            raise InputError(f"{where}: has {len(header)} columns, there is no column {place + 1} for {role}")
    return TableShape(places, False, len(header))


def _guess(names: Sequence[str], taken: Mapping[str, int], where: str) -> dict[str, int]:
    """Roles nobody asked for, by usual names; begin and end before a point in time."""
    guessed: dict[str, int] = {}
    for role in ROLES:
        timed = {*taken, *guessed}
        if role in taken or (role == POINT and timed & {*INTERVAL}) or (role in INTERVAL and POINT in taken):
            continue
        free = _candidates(role, names, {*taken.values(), *guessed.values()})
        if not free:
            continue
        same = [names[place] for place in free if _plain(names[place]) == _plain(names[free[0]])]
        if len(same) > 1:
            raise InputError(
                f"{where}: columns {_listed(same)} could each be the {role}; say which with --columns {role}=NAME"
                + (", and give each its own name" if len({*same}) < len(same) else "")
            )
        guessed[role] = free[0]
    return guessed


def _candidates(role: str, names: Sequence[str], used: Collection[int]) -> list[int]:
    """Free columns that may have the role, by usual names, the likeliest first."""
    usual = _USUAL_NAMES[role].split()
    likely = [place for place, name in enumerate(names) if _plain(name) in usual and place not in used]
    return sorted(likely, key=lambda place: usual.index(_plain(names[place])))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


def _place(name: str, names: Sequence[str], where: str) -> int:
    if names.count(name) == 1:
        return names.index(name)
    if name in names:
        raise InputError(f"{where}: {names.count(name)} columns are called {name!r}; give each its own name")
    raise InputError(
        f"{where}: no column {name!r}; the columns are {_listed(names)} (--columns given once holds for both sides)"
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def numbered(values: pl.Series) -> tuple[pl.Series, NDArray[np.int32]]:
    """Distinct values of a text column without nulls, sorted, and the row of each value among them.

    Sorted, so that the numbers do not depend on the order in which a file names things. Values are looked up by a
    64-bit hash, several times faster than by their text; should two of them ever share a hash, the check at the end
    notices and they are looked up by their text.

    >>> distinct, rows = numbered(pl.Series(["b", "a", "b"]))
    >>> distinct.to_list(), rows.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    keys = values.hash()
    distinct = values.gather(keys.arg_unique()).sort()
    rows = _rows_among(keys, distinct.hash())
    if (distinct.gather(rows) == values).all():
        return distinct, rows
    distinct = values.unique().sort()
    return distinct, _rows_among(values, distinct)


def _rows_among(keys: pl.Series, listed: pl.Series) -> NDArray[np.int32]:
    listing = pl.DataFrame({"key": listed}).with_row_index("row")
    rows = pl.DataFrame({"key": keys}).join(listing, on="key", how="left", maintain_order="left")["row"]
    return rows.to_numpy().astype(np.int32)
