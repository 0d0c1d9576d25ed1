"""Graphs from whatever they come in: files of every format, data frames, plain tuples."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import unquote

import numpy as np
import polars as pl

from dualmatch.errors import InputError
from dualmatch.files.compressed import STANDARD_INPUT, opened, shown, unpacked_name
from dualmatch.files.text_lines import LINE
from dualmatch.graph.frames import ArrowFrame, is_frame
from dualmatch.graph.literals import ALIAS, LABEL, NAMING, Literals
from dualmatch.graph.model import TemporalGraph, is_missing
from dualmatch.readers.columns import FACT, NAMES, POINT, ColumnNames, ColumnUse
from dualmatch.readers.delimited import read_delimited
from dualmatch.readers.entity_table import collect_entity_table
from dualmatch.readers.facts import Collector
from dualmatch.readers.frame import read_frame, read_parquet
from dualmatch.readers.rdf import read_rdf
from dualmatch.readers.read_options import ReadOptions, TimePredicates
from dualmatch.readers.rejected_lines import DEFAULT_LIMIT, OnError, Rejections
from dualmatch.readers.rows import Mask, Rows
from dualmatch.readers.shown_labels import labels_to_show, read_labels
from dualmatch.readers.wikidata import read_wikidata

logger = logging.getLogger(__name__)

MOST_NAMES: Final = 8
"""Labels and aliases of an entity that are kept."""
Source = str | os.PathLike[str] | ArrowFrame | Iterable[Sequence[object]]


@dataclass(frozen=True)
class Format:
    """A kind of file a graph can come in."""

    extensions: tuple[str, ...]
    read: Callable[[BinaryIO, Path, Collector], None]
    is_set: bool = False
    """Whether repeating a fact adds nothing, as in RDF."""


def _rdf(format: str, *extensions: str) -> Format:
    return Format(extensions, partial(read_rdf, format=format), is_set=True)


FORMATS: Final[dict[str, Format]] = {
    "csv": Format((".csv",), partial(read_delimited, separator=",")),
    "tsv": Format((".tsv", ".tab"), partial(read_delimited, separator="\t")),
    "parquet": Format((".parquet", ".pq"), read_parquet),
    "ntriples": _rdf("ntriples", ".nt"),
    "nquads": _rdf("nquads", ".nq"),
    "turtle": _rdf("turtle", ".ttl", ".turtle"),
    "trig": _rdf("trig", ".trig"),
    "rdfxml": _rdf("rdfxml", ".rdf", ".owl", ".xml"),
    "jsonld": _rdf("jsonld", ".jsonld"),
    "wikidata": Format((".json", ".jsonl", ".ndjson"), read_wikidata, is_set=True),
}


@dataclass(frozen=True, eq=False)
class Reading:
    """A graph that was read, and what else reading it gave."""

    graph: TemporalGraph
    literals: Literals | None
    """Labels and other literals; None where they were not asked for."""
    rejections: Rejections
    notes: tuple[str, ...]
    """What was guessed or left out, in words for the user."""
    columns: tuple[ColumnUse, ...] = ()
    """What columns of tables were taken for."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How much was left out, by kind."""


def read_graph(
    *sources: Source,
    name: str | None = None,
    format: str | None = None,
    columns: ColumnNames | None = None,
    time_format: str | None = None,
    list_separator: str | None = None,
    time_predicates: TimePredicates | None = None,
    namespaces: Sequence[str] = (),
    on_error: OnError = "dates",
    max_errors: int = DEFAULT_LIMIT,
) -> TemporalGraph:
    """Read a graph from files, data frames or tuples.

    Parameters
    ----------
    sources:
        One or more of: the path of a file (``.gz``, ``.bz2`` and ``.zst`` are unpacked, ``-`` is standard input); a
        data frame that exports Arrow (polars, pandas, pyarrow, duckdb); tuples (head, relation, tail[, time | begin,
        end]), where a tail of None makes a date of the entity itself.
    name:
        What messages call the graph; by default the first file's name.
    format:
        A name of `FORMATS`; by extension where None.
    columns:
        For tables of facts: ``{"head": "subject", …}``, or numbers from 1 where a file has no header; ``"tail"`` may be
        several columns, and ``"relation"`` be ``"=member of"``, the same for all. For tables with a row for each
        entity: ``{"id": "qid", "label": "name", "date": ["born", "died"], "tail": "place", "text": "note"}``. Guessed
        where None.
    time_format:
        ``"epoch"``, ``"epoch-ms"`` or a `strptime` format; ISO dates, years and months where None.
    list_separator:
        For tables: what stands between several values of a cell, such as ``";"``; a cell is one value where None.
    time_predicates, namespaces:
        For RDF: whose values are times; beginnings of IRIs that names leave out.
    on_error, max_errors:
        ``"dates"`` takes what is not a date as unknown and refuses a file with other lines that cannot be used;
        ``"stop"`` refuses either; ``"skip"`` leaves out up to `max_errors` such lines.

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
        columns=columns,  # type: ignore[arg-type]  # any sequences become tuples
        time_format=time_format,
        list_separator=list_separator,
        time_predicates=time_predicates or TimePredicates(),
        namespaces=tuple(namespaces),
        on_error=on_error,
        max_errors=max_errors,
    )
    in_memory = not any(isinstance(source, str | os.PathLike) for source in sources)
    with python_words() if in_memory else nullcontext():
        return read(sources, options, name).graph


@contextmanager
def python_words() -> Iterator[None]:
    """Errors about frames and tuples name parameters (``time_format``), where those about files name options."""
    try:
        yield
    except InputError as error:
        words = re.sub(r"--([a-z]+(?:-[a-z]+)*)", lambda flag: flag[1].replace("-", "_"), str(error))
        raise InputError(words) from None


def read(
    sources: str | os.PathLike[str] | ArrowFrame | Sequence[Source],
    options: ReadOptions | None = None,
    name: str | None = None,
    files_before: int = 0,
    known: TemporalGraph | None = None,
) -> Reading:
    """Read one side from one or several files or data frames: its graph, its literals, and what there is to report.

    Without options labels are kept, as in `align`; with `ReadOptions`, where its `names` is ``"auto"``. The last two
    parameters are those of `Collector`.
    """
    options = options or ReadOptions(names="auto")
    is_one = isinstance(sources, str | os.PathLike) or is_frame(sources)
    given: Sequence[Source] = [sources] if is_one else list(sources)  # type: ignore[arg-type, list-item]
    if not given:
        raise InputError("no file given; a graph needs at least one")
    with_labels = replace(options, literals=options.literals or options.names == "auto")
    collector = Collector(with_labels, files_before, known, keeps_texts=options.literals)
    names = [_collect(source, collector) for source in given]
    graph = collector.graph(name or names[0])
    logger.info("read %r", graph)
    literals = literals_of(graph, collector.literal_tables, options)
    graph = labelled(graph, [*collector.literal_tables, *collector.label_tables], options)
    if collector.rejections.total:
        logger.warning("%s: %s", graph.name, collector.rejections.in_words)
    report = tuple(collector.notes), tuple(collector.columns), collector.counts
    return Reading(graph, literals, collector.rejections, *report)


def labelled(graph: TemporalGraph, tables: Sequence[pl.DataFrame], options: ReadOptions) -> TemporalGraph:
    """A graph with the labels to show that files and the file of labels hold, whether or not they are compared."""
    own = [] if options.labels is None else [read_labels(options.labels)]
    return graph.with_labels(labels_to_show([*tables, *own], graph, options.label_languages))


def literals_of(graph: TemporalGraph, tables: Sequence[pl.DataFrame], options: ReadOptions) -> Literals | None:
    """What files and the file of labels say of a graph's entities; None where it was not asked for."""
    if not options.demands_names and options.names != "auto":
        return None
    labels = [] if options.labels is None else [read_labels(options.labels)]
    if options.names == "ids":
        labels.append(ids_as_labels(graph))
    empty = pl.DataFrame(schema=dict.fromkeys(("entity", "attribute", "value", "language"), pl.String))
    said = pl.concat([empty, *tables, *labels], how="diagonal")
    if not options.literals:
        said = said.filter(pl.col("attribute").is_in(NAMING))
    if options.label_languages:
        asked = [each.lower() for each in options.label_languages]
        language = pl.col("language").str.to_lowercase()
        is_asked = language.is_in(asked) | language.str.split("-").list.first().is_in(asked)
        said = said.filter(~pl.col("attribute").is_in(NAMING) | language.is_null() | (language == "") | is_asked)
    return Literals.of(_few_names(said).select("entity", "attribute", "value"), graph)


def _few_names(said: pl.DataFrame) -> pl.DataFrame:
    """At most `MOST_NAMES` of each entity: labels before aliases, then languages that most names have.

    An entity of Wikidata has hundreds, and every one would be compared with every one of the other side.
    """
    is_name = pl.col("attribute").is_in(NAMING)
    names = said.filter(is_name).with_columns(frequency=pl.len().over("language"), alias=pl.col("attribute") == ALIAS)
    names = names.sort(
        "entity", "alias", "frequency", "language", "value", descending=[False, False, True, False, False]
    )
    names = names.unique(["entity", "value"], keep="first", maintain_order=True)
    few = names.group_by("entity", maintain_order=True).head(MOST_NAMES)
    return pl.concat([said.filter(~is_name), few.select(said.columns)])


def ids_as_labels(graph: TemporalGraph) -> pl.DataFrame:
    """Ids that are names, as labels: of an IRI its last part, with spaces for underscores.

    >>> ids_as_labels(TemporalGraph.from_facts([("http://e/Ada_Lovelace", "met", "Babbage")]))["value"].to_list()
    ['Ada Lovelace', 'Babbage']
    """
    ids = [name for name in graph.entities if not name.startswith("_:")]  # blank nodes have none
    last = [unquote(re.split(r"[/#]", name.rstrip("/#"))[-1]) if "://" in name else name for name in ids]
    columns = {"entity": ids, "value": [name.replace("_", " ") for name in last]}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)).with_columns(attribute=pl.lit(LABEL))


def _collect(source: Source, collector: Collector) -> str:
    """Collect what one source holds; its name."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if os.path.isdir(path):
            raise InputError(f"{path}: is a folder; give it alone if it holds two graphs, else give its files")
        format = format_of(path, collector.options.format)
        with opened(path) as file:
            format.read(file, path, collector)
        collector.are_sets.append(format.is_set)
    elif is_frame(source):
        path = Path("data frame")
        read_frame(source, path, collector)
    elif isinstance(source, Iterable):
        path = Path("facts")
        rows, is_date, is_point = _tuple_rows(source, path)
        for where, add in ((~is_date, collector.add), (is_date, collector.add_dates)):
            add(rows.part(where & ~is_point, pl.col(FACT)))
            add(rows.part(where & is_point, pl.col(NAMES), pl.col("begin").alias(POINT)))
    else:
        raise InputError(f"a graph cannot be read from {type(source).__name__}; give a path, a data frame or tuples")
    collect_entity_table(collector)
    collector.end_of_file(path)
    return shown(path)


def format_of(path: Path, asked: str | None) -> Format:
    """The format that was asked for, or that the name of a file shows."""
    if asked is not None:
        if asked not in FORMATS:
            raise InputError(f"no format is called {asked!r}; there are {', '.join(FORMATS)}")
        return FORMATS[asked]
    name = unpacked_name(path)
    for format in FORMATS.values():
        if name.endswith(format.extensions):
            return format
    if name.endswith(".txt") and (sniffed := _sniffed(path)):
        return FORMATS[sniffed]
    if name.endswith((".xlsx", ".xls", ".xlsm", ".ods")):
        kind = "a spreadsheet" if name.endswith(".ods") else "an Excel workbook"
        raise InputError(f"{shown(path)}: {kind}; save it as CSV (UTF-8)")
    why = "has no name that shows its format" if path == STANDARD_INPUT else "its name does not show its format"
    raise InputError(f"{shown(path)}: {why}; give --format ({', '.join(FORMATS)})")


def _sniffed(path: Path) -> str | None:
    """The format of a text file by its first line: tabs, or commas or semicolons."""
    with opened(path) as file:
        line = next((line for line in islice(file, 100) if line.strip()), b"")
    return "tsv" if b"\t" in line else "csv" if re.search(b"[,;]", line) else None


def _tuple_rows(facts: Iterable[Sequence[object]], path: Path) -> tuple[Rows, Mask, Mask]:
    """Rows, which are dates of an entity (a tail of None with a date), and which have a point in time.

    NaN and the like are missing names.
    """
    is_date: list[bool] = []
    is_point: list[bool] = []
    rows: list[list[str | None]] = []
    for number, fact in enumerate(facts, start=1):
        if isinstance(fact, str) or not isinstance(fact, Sequence) or not 3 <= len(fact) <= 5:
            raise InputError(f"facts: number {number} is not a fact; give (head, relation, tail[, time | begin, end])")
        parts = [None if is_missing(part) else str(part) for part in fact]
        is_date.append(fact[2] is None and any(parts[3:]))
        is_point.append(len(parts) == 4)
        rows.append(parts + [None] * (5 - len(parts)))
    table = pl.DataFrame(rows, dict.fromkeys(FACT, pl.String), orient="row").with_row_index(LINE, offset=1)
    return Rows(path, table, lambda row: repr(table.row(row)[1:])), np.array(is_date, bool), np.array(is_point, bool)
