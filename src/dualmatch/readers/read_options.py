"""How the files of a side are to be read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from pydantic import ConfigDict, TypeAdapter

from dualmatch.errors import InputError
from dualmatch.files.bounded import longest_line
from dualmatch.readers.rejected_lines import DEFAULT_LIMIT, OnError

Names = Literal["auto", "ids", "none"]
"""What is compared besides facts: labels in the input, the ids themselves, or nothing."""
_BEGIN = "begin start startDate startTime startYear beginDate beginTime beginYear hasBeginning validFrom from since"
_END = "end endDate endTime endYear hasEnd validTo validUntil to until till occurUntil occursUntil endedAtTime P582"


@dataclass(frozen=True)
class TimePredicates:
    """Predicates whose values are times of a statement; each is an IRI or the last part of one, in any case of letters.

    Examples
    --------
    >>> TimePredicates().role_of("http://schema.org/startDate")
    'begin'
    >>> TimePredicates(begin=("http://example.org/on",)).role_of("http://schema.org/startDate")
    """

    begin: tuple[str, ...] = (*_BEGIN.split(), "occurSince", "occursSince", "startedAtTime", "P580")
    end: tuple[str, ...] = (*_END.split(),)
    time: tuple[str, ...] = ("time", "date", "year", "pointInTime", "at", "atTime", "on", "onDate", "timestamp", "P585")

    def role_of(self, predicate: str) -> str | None:
        """``"begin"``, ``"end"``, ``"time"`` (a point), or None."""
        names = {predicate.lower(), re.split(r"[/#:]", predicate)[-1].lower()}
        for role in ("begin", "end", "time"):
            if names & {name.lower() for name in getattr(self, role)}:
                return role
        return None


@dataclass(frozen=True)
class ReadOptions:
    """How to read a graph."""

    format: str | None = None
    """A name of `dualmatch.readers.read.FORMATS`; by the file's extension where None."""
    columns: Mapping[str, str | tuple[str, ...]] | None = None
    """For tables: role → the column's name, or its number without a header; see `dualmatch.readers.columns`."""
    time_format: str | None = None
    """See `dualmatch.readers.time_column.TimeParser`."""
    list_separator: str | None = None
    """For tables: what stands between several values of a cell, in all columns but the id, the head and times; a cell
    is one value where None."""
    time_predicates: TimePredicates = field(default_factory=TimePredicates)
    """For RDF: whose values are times of statements."""
    namespaces: tuple[str, ...] = ()
    """For RDF: names leave these beginnings of IRIs out."""
    names: Names | None = None
    """``"auto"``: keep labels that the files hold (not those of a benchmark folder); ``"ids"``: take the ids themselves
    as labels; ``"none"`` or None: neither, apart from `labels`. `read` without options takes ``"auto"``."""
    label_languages: tuple[str, ...] = ()
    """Keep labels of these languages only (``"en"`` is ``"en-GB"``, too), and those that have none; all where empty."""
    literals: bool = False
    """Keep labels and other literals, those of OpenEA's attribute files among them."""
    labels: Path | None = None
    """A file of names and labels, two tab-separated columns."""
    on_error: OnError = "dates"
    """``"dates"``: what is not a date counts as unknown, unless it is too much; ``"stop"`` and ``"skip"``: its line
    cannot be used. See `dualmatch.readers.rejected_lines.Rejections`."""
    max_errors: int = DEFAULT_LIMIT
    memory_limit: int | None = field(default=None, compare=False)
    """Bytes that what is read may take; it changes no result, so it is not recorded."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    def __post_init__(self) -> None:
        if self.on_error not in get_args(OnError):
            raise InputError(f"on_error {self.on_error!r}: write 'dates', 'stop' or 'skip'")
        if self.list_separator is not None and not self.list_separator.strip():
            raise InputError("--list-separator: write what separates the values of a cell, such as ';' or '|'")
        if self.columns is not None:
            object.__setattr__(self, "columns", _columns(self.columns))
        if self.labels is not None:
            object.__setattr__(self, "labels", Path(self.labels))
        if self.names is not None and self.names not in get_args(Names):
            raise InputError(f"names {self.names!r}: write {', '.join(map(repr, get_args(Names)))}")

    @property
    def demands_names(self) -> bool:
        """Whether names are to be compared whether or not both sides have labels."""
        return self.literals or self.labels is not None or self.names == "ids"

    @property
    def longest_line(self) -> int:
        """How long a line may be, in bytes."""
        return longest_line(self.memory_limit)

    def as_dict(self) -> dict[str, Any]:
        """What differs from the defaults, as plain data.

        >>> ReadOptions(format="csv", labels=Path("names.tsv")).as_dict()
        {'format': 'csv', 'labels': 'names.tsv'}
        """
        data: dict[str, Any] = TypeAdapter(ReadOptions).dump_python(
            self, mode="json", exclude_defaults=True, exclude={"memory_limit"}
        )
        return data

    @classmethod
    def from_dict(cls, data: object) -> ReadOptions:
        """The options that `as_dict` gave; a `pydantic.ValidationError` where they are invalid."""
        return TypeAdapter(cls).validate_python(data)


def _columns(given: object) -> dict[str, str | tuple[str, ...]] | None:
    try:
        return {role: names if isinstance(names, str) else tuple(names) for role, names in given.items()} or None  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        raise InputError(f"columns: {given!r} is not a dict of columns; write {{'head': 'NAME', …}}") from None
