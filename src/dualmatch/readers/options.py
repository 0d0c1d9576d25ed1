"""How files of a side are to be read, and where their readers put what they read."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
from pydantic import ConfigDict, TypeAdapter

from dualmatch.errors import InputError
from dualmatch.readers.facts import FactCollector
from dualmatch.readers.rdf.predicates import TimePredicates
from dualmatch.readers.rejected_lines import DEFAULT_LIMIT, OnError, Rejections
from dualmatch.readers.time_column import Clock

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReadOptions:
    """How to read a graph.

    Parameters
    ----------
    format:
        A name of `dualmatch.readers.formats.FORMATS`; by the file's extension where None.
    columns:
        For tables: head, relation, tail, begin, end or time → the column's name, or its number without a header.
    time_format:
        See `dualmatch.readers.time_column.Clock`.
    time_predicates:
        For RDF: whose values are times of statements.
    namespaces:
        For RDF: names leave these beginnings of IRIs out.
    literals:
        Whether to keep labels and other literals.
    labels:
        A file of names and labels, two tab-separated columns.
    on_error, max_errors:
        See `dualmatch.readers.rejected_lines.Rejections`.
    """

    format: str | None = None
    columns: Mapping[str, str] | None = None
    time_format: str | None = None
    time_predicates: TimePredicates = field(default_factory=TimePredicates)
    namespaces: tuple[str, ...] = ()
    literals: bool = False
    labels: Path | None = None
    on_error: OnError = "stop"
    max_errors: int = DEFAULT_LIMIT

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "skip"):
            raise InputError(f"on_error {self.on_error!r}: write 'stop' or 'skip'")

    def as_dict(self) -> dict[str, Any]:
        """What differs from the defaults, as plain data.

        >>> ReadOptions(format="csv", labels=Path("names.tsv")).as_dict()
        {'format': 'csv', 'labels': 'names.tsv'}
        """
        data: dict[str, Any] = TypeAdapter(ReadOptions).dump_python(self, mode="json", exclude_defaults=True)
        return data

    @classmethod
    def from_dict(cls, data: object) -> ReadOptions:
        """The options that `as_dict` gave; a `pydantic.ValidationError` where they are none."""
        return TypeAdapter(cls).validate_python(data)


class Intake:
    """What one side's files gave so far: facts, literals, rejected lines, and notes on what was understood.

    Parameters
    ----------
    files_before:
        How many files of the side were read at another time: blank nodes are named by the number of their file.
    """

    def __init__(self, options: ReadOptions, files_before: int = 0) -> None:
        self.options, self.files_before = options, files_before
        self.rejections = Rejections(options.on_error, options.max_errors)
        self.facts = FactCollector(Clock(options.time_format), self.rejections)
        self.files = 0
        self.notes: list[str] = []
        self.literal_tables: list[pl.DataFrame] = []

    def note(self, text: str) -> None:
        """Keep a word on what was understood, for the user to see."""
        logger.info(text)
        self.notes.append(text)
