"""Graphs from whatever they come in: files, data frames, plain tuples."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dualmatch.errors import InputError
from dualmatch.files.compressed import shown
from dualmatch.files.text_lines import LINE, read_fields
from dualmatch.graph.literals import LABEL, Literals
from dualmatch.graph.model import TemporalGraph, is_missing
from dualmatch.readers.facts import FACT, Rows
from dualmatch.readers.formats import read_file
from dualmatch.readers.frame import ArrowFrame, frame_rows, is_frame
from dualmatch.readers.options import Intake, ReadOptions
from dualmatch.readers.rdf.predicates import TimePredicates
from dualmatch.readers.rejected_lines import DEFAULT_LIMIT, OnError, Rejections

logger = logging.getLogger(__name__)

Source = str | os.PathLike[str] | ArrowFrame | Iterable[Sequence[object]]


@dataclass(frozen=True, eq=False)
class Reading:
    """A graph that was read, and what else reading it gave.

    Attributes
    ----------
    literals:
        Labels and other literals; None where they were not asked for.
    rejections:
        The lines that were left out.
    notes:
        What was guessed or left out, in words for the user.
    """

    graph: TemporalGraph
    literals: Literals | None
    rejections: Rejections
    notes: tuple[str, ...]


def read_graph(
    *sources: Source,
    name: str | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    time_format: str | None = None,
    time_predicates: TimePredicates | None = None,
    namespaces: Sequence[str] = (),
    on_error: OnError = "stop",
    max_errors: int = DEFAULT_LIMIT,
) -> TemporalGraph:
    """Read a graph from files, data frames or tuples.

    Parameters
    ----------
    sources:
        One or more of: the path of a file (``.gz`` and ``.zst`` are unpacked, ``-`` is standard input); a data frame
        that exports Arrow (polars, pandas, pyarrow, duckdb); tuples (head, relation, tail[, time | begin, end]).
    name:
        What messages call the graph; by default the first file's name.
    format:
        One of `dualmatch.readers.formats.FORMATS`; by extension where None.
    columns:
        For tables: ``{"head": "subject", …}``, or numbers from 1 where a file has no header; guessed where None.
    time_format:
        ``"epoch"``, ``"epoch-ms"`` or a `strptime` format; ISO dates, years and months where None.
    time_predicates, namespaces:
        For RDF: whose values are times; beginnings of IRIs that names leave out.
    on_error, max_errors:
        ``"skip"`` leaves out up to `max_errors` lines that cannot be used; ``"stop"`` refuses the file.

    Returns
    -------
    TemporalGraph
        Entities, relations and facts are sorted: it does not depend on the order of the file.

    Raises
    ------
    InputError
        With ``file:line`` and what to do.

    Examples
    --------
    >>> read_graph([("Ada", "met", "Charles", 1833)]).entities
    ('Ada', 'Charles')
    """
    options = ReadOptions(
        format=format,
        columns=columns,
        time_format=time_format,
        time_predicates=time_predicates or TimePredicates(),
        namespaces=tuple(namespaces),
        on_error=on_error,
        max_errors=max_errors,
    )
    return read(sources, options, name).graph


def read(sources: Sequence[Source], options: ReadOptions, name: str | None = None, files_before: int = 0) -> Reading:
    """Read one side: its graph, its literals, and what there is to say about the reading.

    Parameters
    ----------
    files_before:
        How many files of the side were read at another time (`Intake`).
    """
    if not sources:
        raise InputError("no file given; a graph needs at least one")
    intake = Intake(options, files_before)
    names = [_take_in(source, intake) for source in sources]
    graph = intake.facts.graph(name or names[0])
    logger.info("read %r", graph)
    literals = literals_of(graph, intake.literal_tables, options)
    if intake.rejections.total:
        logger.warning("%s: %s", graph.name, intake.rejections.in_words)
    return Reading(graph, literals, intake.rejections, tuple(intake.notes))


def literals_of(graph: TemporalGraph, tables: Sequence[pl.DataFrame], options: ReadOptions) -> Literals | None:
    """What files and the file of labels say of a graph's entities; None where it was not asked for."""
    if not options.literals and options.labels is None:
        return None
    labels = [] if options.labels is None else [read_labels(options.labels)]
    empty = pl.DataFrame(schema=dict.fromkeys(("entity", "attribute", "value"), pl.String))
    return Literals.of(pl.concat([empty, *tables, *labels]), graph)


def _take_in(source: Source, intake: Intake) -> str:
    """Take in one source; its name."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if os.path.isdir(path):
            raise InputError(f"{path}: is a folder; give it alone if it holds two graphs, else give its files")
        read_file(path, intake)
        return shown(path)
    if is_frame(source):
        for rows in frame_rows(source, "data frame", intake.options.columns, intake.note):
            intake.facts.add(rows)
        intake.rejections.end_of_file()
        return "data frame"
    if not isinstance(source, Iterable):
        raise InputError(f"a graph cannot be read from {type(source).__name__}; give a path, a data frame or tuples")
    intake.facts.add(_tuple_rows(source))
    intake.rejections.end_of_file()
    return "facts"


def _tuple_rows(facts: Iterable[Sequence[object]]) -> Rows:
    columns: dict[str, list[str | None]] = {name: [] for name in FACT}
    for number, fact in enumerate(facts, start=1):
        if isinstance(fact, str) or not isinstance(fact, Sequence) or not 3 <= len(fact) <= 5:
            raise InputError(f"facts: number {number} is no fact; give (head, relation, tail[, time | begin, end])")
        parts = [None if is_missing(part) else str(part) for part in fact]
        parts += [None, None] if len(parts) == 3 else [parts[3]] if len(parts) == 4 else []
        for name, part in zip(FACT, parts, strict=True):
            columns[name].append(part)
    table = pl.DataFrame(columns, schema=dict.fromkeys(FACT, pl.String)).with_row_index(LINE, offset=1)
    return Rows(Path("facts"), table, lambda row: repr(table.row(row)[1:]))


def read_labels(path: Path) -> pl.DataFrame:
    """A file of names and labels as columns ``entity``, ``attribute`` and ``value``."""
    table = read_fields(path, ("entity", "value"), 2, "a label")
    return table.select("entity", pl.lit(LABEL).alias("attribute"), "value")
