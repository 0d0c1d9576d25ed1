"""Which column of a table holds what: as the user says, or guessed from usual names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dualmatch.errors import InputError
from dualmatch.readers.facts import INTERVAL, NAMES, POINT

ROLES: Final = (*NAMES, *INTERVAL, POINT)

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
    """Where a table holds what.

    Attributes
    ----------
    places:
        Role → column number from 0, in the order of `ROLES`.
    has_header:
        Whether the first row names the columns.
    note:
        What was guessed, in words; empty where the user said it all.
    """

    places: Mapping[str, int]
    has_header: bool
    width: int
    note: str = ""


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
    check_roles(columns)
    return columns


def check_roles(columns: Mapping[str, str]) -> None:
    """Refuse roles that a fact does not have."""
    unknown = [role for role in columns if role not in ROLES]
    if unknown:
        raise InputError(f"columns: a fact has no {unknown[0]!r}; its parts are {', '.join(ROLES)} (a point in time)")
    if POINT in columns and any(role in columns for role in INTERVAL):
        raise InputError("columns: give begin and end, or time (a point), not both")


def table_shape(header: Sequence[str], asked: Mapping[str, str] | None, where: str) -> TableShape:
    """Find the columns of a table whose first row is `header`.

    What the user asked for goes first; roles left open are guessed from usual names. Columns given by number count
    from 1 and mean that the table has no header.

    Raises
    ------
    InputError
        Where a column that was asked for is not there, or head, relation and tail cannot be told.
    """
    asked = dict(asked or {})
    check_roles(asked)
    if asked and all(_is_number(name) for name in asked.values()):
        return _by_number(header, asked, where)
    names = [name.strip() for name in header]
    places = {role: _place(name, names, where) for role, name in asked.items()}
    guessed = _guess(names, places, where)
    missing = [role for role in NAMES if role not in {**places, **guessed}]
    if missing:
        raise InputError(
            f"{where}: cannot tell which column is the {missing[0]}; the columns are {_listed(names)}: "
            "say so with --columns head=NAME,relation=NAME,tail=NAME,begin=NAME,end=NAME "
            "(numbers from 1 where the file has no header)"
        )
    everything = {**places, **guessed}
    note = ", ".join(
        f"{role} is {names[place]!r}{_or_else(role, names, everything)}" for role, place in guessed.items()
    )
    ordered: dict[str, int] = {role: everything[role] for role in ROLES if role in everything}
    return TableShape(ordered, True, len(header), note and f"{where}: guessed that {note}")


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
        same = [place for place in free if _plain(names[place]) == _plain(names[free[0]])]
        if len(same) > 1:
            raise InputError(
                f"{where}: columns {_listed([names[place] for place in same])} could each be the {role}; "
                f"say which with --columns {role}=NAME"
                + (", and give each its own name" if len({names[place] for place in same}) < len(same) else "")
            )
        guessed[role] = free[0]
    return guessed


def _or_else(role: str, names: Sequence[str], places: Mapping[str, int]) -> str:
    """What else a guessed role could have been, and how to say so."""
    others = _candidates(role, names, {*places.values()})
    if not others:
        return ""
    return f" (not {_listed([names[place] for place in others])}: to change that, --columns {role}=NAME)"


def _candidates(role: str, names: Sequence[str], used: Collection[int]) -> list[int]:
    """Columns that may be the role, by usual names, the likeliest first."""
    plain = [_plain(name) for name in names]
    return [
        place
        for usual in _USUAL_NAMES[role].split()
        for place, name in enumerate(plain)
        if name == usual and place not in used
    ]


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


def _by_number(header: Sequence[str], asked: Mapping[str, str], where: str) -> TableShape:
    missing = [role for role in NAMES if role not in asked]
    if missing:
        raise InputError(f"columns: no number for {missing[0]}; a table without a header needs head, relation and tail")
    places = {role: int(asked[role]) - 1 for role in ROLES if role in asked}
    for role, place in places.items():
        if not 0 <= place < len(header):
            raise InputError(f"{where}: has {len(header)} columns, there is no column {place + 1} for {role}")
    return TableShape(places, False, len(header))


def _place(name: str, names: Sequence[str], where: str) -> int:
    found = [place for place, other in enumerate(names) if other == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{where}: {len(found)} columns are called {name!r}; give each its own name")
    raise InputError(
        f"{where}: no column {name!r}; the columns are {_listed(names)} (--columns given once holds for both sides)"
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 6
