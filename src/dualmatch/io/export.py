"""Links out: CSV, Parquet, JSON lines, owl:sameAs triples and SSSOM, to a file or to standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl

from dualmatch.errors import InputError, OutputError
from dualmatch.io.atomic import replacing
from dualmatch.io.naming import Naming
from dualmatch.io.rows import LinkRow
from dualmatch.io.sssom import write_sssom

Writer = Callable[[Sequence[LinkRow], BinaryIO, Naming], None]

STANDARD_OUTPUT: Final = Path("-")
SAME_AS: Final = "http://www.w3.org/2002/07/owl#sameAs"
_COLUMNS: Final = {"source": pl.String, "target": pl.String, "confidence": pl.Float64, "method": pl.String}
_DECIMALS: Final = 6


def export_links(
    rows: Iterable[tuple[str, str | None, float | None, str]],
    path: str | Path,
    format: str | None = None,
    naming: Naming | None = None,
) -> None:
    """Write links.

    Parameters
    ----------
    rows:
        (source, target, confidence, method); target and confidence are None where a source entity has no match.
    path:
        A file, which is there whole or not at all, or ``-`` for standard output.
    format:
        One of `LINK_FORMATS`; by the extension where None.
    naming:
        How names become IRIs and CURIEs, for ``sameas`` and ``sssom``.

    Raises
    ------
    InputError, OutputError
        Where the format is not told, a name does not fit it, or the file cannot be written.
    """
    path = Path(path)
    write = LINK_FORMATS[link_format(path, format)]
    links = [LinkRow(*row) for row in rows]
    with _out(path) as file:
        write(links, file, naming or Naming())


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write any table as TSV, CSV or Parquet, by extension; ``-`` is standard output, as TSV."""
    check_table_name(path)
    with _out(path) as file:
        {".csv": _csv, ".parquet": _parquet}.get(path.suffix.lower(), _tsv)(table, file)


def check_table_name(path: Path) -> None:
    """Refuse a name that does not tell a table's format."""
    if path != STANDARD_OUTPUT and path.suffix.lower() not in (".tsv", ".csv", ".parquet"):
        raise OutputError(f"{path}: its name does not tell its format; end it with .tsv, .csv or .parquet")


@contextmanager
def _out(path: Path) -> Iterator[BinaryIO]:
    """A file that is there whole or not at all, or standard output."""
    if path == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(path) as temporary, temporary.open("wb") as file:
        yield file


def link_format(path: Path, asked: str | None = None) -> str:
    """The format a file of links has: the one asked for, or by its extension.

    >>> link_format(Path("links.sssom.tsv"))
    'sssom'
    """
    if asked is not None:
        if asked not in LINK_FORMATS:
            raise InputError(f"no format of links is called {asked!r}; there are {', '.join(LINK_FORMATS)}")
        return asked
    for extension, format in _EXTENSIONS.items():
        if path.name.lower().endswith(extension):
            return format
    raise OutputError(f"{path}: its name does not tell its format; end it with one of {', '.join(_EXTENSIONS)}")


def _tsv(table: pl.DataFrame, out: BinaryIO) -> None:
    """Names are written as they are, quotes and all; what would tear a line is refused."""
    for column in table.select(pl.col(pl.String)):
        torn = column.filter(column.str.contains(r"[\t\n\r]"))
        if len(torn):
            raise OutputError(f"the name {torn[0]!r} holds a tab or line break, which TSV cannot carry; write CSV")
    table.write_csv(out, separator="\t", quote_style="never", float_precision=_DECIMALS)


def _csv(table: pl.DataFrame, out: BinaryIO) -> None:
    table.write_csv(out, float_precision=_DECIMALS)


def _parquet(table: pl.DataFrame, out: BinaryIO) -> None:
    table.write_parquet(out)


def _of_table(write: Callable[[pl.DataFrame, BinaryIO], None]) -> Writer:
    return lambda rows, out, _: write(pl.DataFrame(rows, schema=_COLUMNS, orient="row"), out)


def _write_json_lines(rows: Sequence[LinkRow], out: BinaryIO, _: Naming) -> None:
    for row in rows:
        fields = {**row._asdict(), "confidence": None if row.confidence is None else round(row.confidence, _DECIMALS)}
        out.write(json.dumps(fields, ensure_ascii=False).encode() + b"\n")


def _write_same_as(rows: Sequence[LinkRow], out: BinaryIO, naming: Naming) -> None:
    """Entities without a match are left out: there is nothing to say of them in triples."""
    for row in rows:
        if row.target is not None:
            source, target = naming.iri(row.source, "source"), naming.iri(row.target, "target")
            out.write(f"<{source}> <{SAME_AS}> <{target}> .\n".encode())


LINK_FORMATS: Final[dict[str, Writer]] = {
    "tsv": _of_table(_tsv),
    "csv": _of_table(_csv),
    "parquet": _of_table(_parquet),
    "jsonl": _write_json_lines,
    "sameas": _write_same_as,
    "sssom": write_sssom,
}
_EXTENSIONS: Final = {
    ".sssom.tsv": "sssom",
    ".tsv": "tsv",
    ".csv": "csv",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".nt": "sameas",
}
