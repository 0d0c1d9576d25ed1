"""The forms that say how to read a file, as ``--columns``, ``--format`` … do, and what to compare, as ``--names``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, get_args

from dualmatch.errors import InputError
from dualmatch.readers.columns import KINDS, check_roles
from dualmatch.readers.read import FORMATS
from dualmatch.readers.read_options import Names, ReadOptions
from dualmatch.readers.rejected_lines import OnError
from dualmatch.readers.table_head import ColumnHead
from dualmatch.readers.usual_names import suggested_columns

ROLES: Final = {
    "A row is a fact": {
        "head": "head: whom the fact is about",
        "relation": "relation: what is said",
        "tail": "tail: to whom or what",
        "begin": "begin",
        "end": "end",
        "time": "time: a point in time",
    },
    "A row is an entity": {"id": "id", "date": "date of the entity", "text": "text, not compared"},
    "Either": {"label": "label: a name to compare"},
}
"""What a column may hold, in words; ``tail`` is also a neighbour of a row that is an entity."""
ON_ERROR: Final = {
    "dates": "Count what is not a date as unknown, refuse other broken lines",
    "stop": "Refuse the file",
    "skip": "Leave broken lines out",
}
NAMES: Final[dict[Names, str]] = {
    "auto": "facts, dates and names, where both files have names",
    "ids": "facts, dates and the ids themselves, which are names here",
    "none": "facts and dates only",
}
TIME_FORMATS: Final = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "epoch", "epoch-ms")
_LONGEST: Final = 200


def chosen(form: Mapping[str, str], columns: Sequence[ColumnHead] | None, before: ReadOptions) -> ReadOptions:
    """The options that a form says; an `InputError` where they cannot be meant."""
    format, on_error = form.get("format", ""), form.get("on_error", "dates")
    if format and format not in FORMATS:
        raise InputError(f"There is no format {format!r}.")
    if on_error not in get_args(OnError):
        raise InputError("There is no such choice for broken lines.")
    return replace(
        before,
        format=format or None,
        time_format=form.get("time_format", "").strip()[:_LONGEST] or None,
        on_error=on_error,  # type: ignore[arg-type]
        columns=before.columns if columns is None else _columns(form, columns),
    )


def chosen_names(form: Mapping[str, str]) -> Names:
    """What to compare besides facts."""
    given = form.get("names", "auto")
    found = next((name for name in NAMES if name == given), None)
    if found is None:
        raise InputError("There is no such choice of what to compare.")
    return found


def _columns(form: Mapping[str, str], columns: Sequence[ColumnHead]) -> dict[str, str | tuple[str, ...]] | None:
    """Role → columns; names are those of the file, whatever the form says they are."""
    has_header = "no_header" not in form
    given: dict[str, list[str]] = {}
    for place, column in enumerate(columns):
        role = form.get(f"column-{place}", "")
        if role:
            given.setdefault(role, []).append(column.name if has_header else str(place + 1))
    words = form.get("relation", "").strip()[:_LONGEST]
    if words and "relation" not in given:
        given["relation"] = [f"={words}"]
    twice = [role for role, names in given.items() if len(names) > 1 and role not in KINDS]
    if twice:
        raise InputError(f"{len(given[twice[0]])} columns are the {twice[0]}; only one can be.")
    found = {role: names[0] if len(names) == 1 else tuple(names) for role, names in given.items()}
    check_roles(found)
    return found or None


def suggested(options: ReadOptions, columns: Sequence[ColumnHead]) -> ReadOptions:
    """The options to show where it could not be guessed what the columns hold: a suggestion, if nothing was said."""
    names = [column.name for column in columns]
    pairs = [(role, name) for role, name in suggested_columns(names) if names.count(name) == 1]
    said: dict[str, str | tuple[str, ...]] = {}
    for role, name in pairs:
        said[role] = (*said[role], name) if role in said else (name,)
    return options if options.columns else replace(options, columns=said)


def role_of(options: ReadOptions, place: int, name: str) -> str:
    """What a column was said to hold; empty where that is guessed."""
    for role, names in (options.columns or {}).items():
        listed = (names,) if isinstance(names, str) else names
        if (str(place + 1) if without_header(options) else name) in listed:
            return role
    return ""


def without_header(options: ReadOptions) -> bool:
    """Whether columns are given by number."""
    names = [name for each in (options.columns or {}).values() for name in ((each,) if isinstance(each, str) else each)]
    named = [name for name in names if not name.startswith("=")]
    return bool(named) and all(name.isascii() and name.isdigit() for name in named)


def constant_relation(options: ReadOptions) -> str:
    """The relation of all rows; empty where a column holds it."""
    said = (options.columns or {}).get("relation", "")
    return said.removeprefix("=") if isinstance(said, str) and said.startswith("=") else ""
