"""The registry of formats: their names, their extensions and who reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

from dualmatch.errors import InputError
from dualmatch.files.compressed import STANDARD_INPUT, opened, shown, unpacked_name
from dualmatch.readers.delimited import table_rows
from dualmatch.readers.frame import parquet_rows
from dualmatch.readers.options import Intake
from dualmatch.readers.rdf.document import read_rdf
from dualmatch.readers.wikidata import read_wikidata

Reader = Callable[[BinaryIO, Path, Intake], None]


@dataclass(frozen=True)
class Format:
    """A kind of file a graph can come in.

    Attributes
    ----------
    is_set:
        Whether saying a fact twice is saying it once, as in RDF.
    """

    extensions: tuple[str, ...]
    read: Reader
    is_set: bool = False


def _read_table(file: BinaryIO, path: Path, intake: Intake, separator: str) -> None:
    for rows in table_rows(file, path, separator, intake.options.columns, intake.rejections, intake.note):
        intake.facts.add(rows)


def _read_parquet(file: BinaryIO, path: Path, intake: Intake) -> None:
    for rows in parquet_rows(file, path, intake.options.columns, intake.note):
        intake.facts.add(rows)


def _rdf(format: str, *extensions: str) -> Format:
    def read(file: BinaryIO, path: Path, intake: Intake) -> None:
        read_rdf(file, path, format, intake)

    return Format(extensions, read, is_set=True)


FORMATS: Final[dict[str, Format]] = {
    "csv": Format((".csv",), partial(_read_table, separator=",")),
    "tsv": Format((".tsv", ".tab"), partial(_read_table, separator="\t")),
    "parquet": Format((".parquet", ".pq"), _read_parquet),
    "ntriples": _rdf("ntriples", ".nt"),
    "nquads": _rdf("nquads", ".nq"),
    "turtle": _rdf("turtle", ".ttl", ".turtle"),
    "trig": _rdf("trig", ".trig"),
    "rdfxml": _rdf("rdfxml", ".rdf", ".owl", ".xml"),
    "wikidata": Format((".json", ".jsonl", ".ndjson"), read_wikidata, is_set=True),
}


def format_of(path: Path, asked: str | None) -> Format:
    """The format of a file: the one asked for, or by its extension."""
    if asked is not None:
        if asked not in FORMATS:
            raise InputError(f"no format is called {asked!r}; there are {', '.join(FORMATS)}")
        return FORMATS[asked]
    name = unpacked_name(path)
    for format in FORMATS.values():
        if name.endswith(format.extensions):
            return format
    why = "has no name to tell its format by" if path == STANDARD_INPUT else "its name does not tell its format"
    raise InputError(f"{shown(path)}: {why}; say --format ({', '.join(FORMATS)})")


def read_file(path: Path, intake: Intake) -> None:
    """Take in one file of a side."""
    format = format_of(path, intake.options.format)
    with opened(path) as file:
        format.read(file, path, intake)
    intake.facts.distinct = format.is_set and (intake.facts.distinct or not intake.files)
    intake.files += 1
    intake.rejections.end_of_file()
