"""RDF files to facts with times: N-Triples, N-Quads, Turtle, TriG and RDF/XML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl

from dualmatch.errors import SHOWN_PROBLEMS
from dualmatch.files.compressed import STANDARD_INPUT, opened, shown
from dualmatch.files.text_lines import LINE
from dualmatch.graph.literals import LABEL
from dualmatch.readers.columns import FACT
from dualmatch.readers.facts import Collector, Rows
from dualmatch.readers.rdf.quads import read_quads
from dualmatch.readers.rdf.statements import LABELS, statements_of
from dualmatch.readers.rejected_lines import OfRow

_LOOKED_UP: Final = 50
"""Of how many wrong times the line is looked for: the parser does not give it."""
_QUOTED: Final = re.compile(rb'"([^"]*)"')


def read_rdf(file: BinaryIO, path: Path, collector: Collector, format: str) -> None:
    """Collect the facts of an RDF file, and its literals where they are asked for."""
    options = collector.options
    number = collector.files_before + len(collector.are_sets)
    prefix = f"{number}/" if number else ""  # no label of a blank node can hold a slash
    quads = read_quads(file, path, format, collector.rejections, prefix)
    found = statements_of(quads, options.time_predicates, collector.times)
    _reject_wrong_times(found.wrong_times, path, collector)
    s, p, o = (_shortened(name, options.namespaces) for name in "spo")
    table = found.facts.select(pl.lit(None, dtype=pl.UInt32).alias(LINE), s, p, o, "begin", "end")
    table.columns = [LINE, *FACT]
    place = _places(path, found.facts.select("s", "o"))
    collector.add(Rows(path, table, lambda row: " ".join(table.row(row)[1:4]), place))
    if options.literals:
        attribute = pl.when(pl.col("p").is_in(LABELS)).then(pl.lit(LABEL)).otherwise(p)
        literals = found.literals.select(s.alias("entity"), attribute.alias("attribute"), value="o")
        collector.literal_tables.append(literals)
    if found.coarse_times:
        collector.note(f"{shown(path)}: {found.coarse_times:,} times coarser than a year are taken as unknown")
    if found.literals.height and not options.literals:
        collector.note(f"{shown(path)}: {found.literals.height:,} triples with a literal are left out")


def files_named_in(names: Iterable[str]) -> int:
    """How many files were read before, by the names of their blank nodes.

    >>> files_named_in(["Ada", "_:b0", "_:2/b0"]), files_named_in(["Ada"])
    (3, 0)
    """
    numbers = (name.removeprefix("_:").rpartition("/")[0] for name in names if name.startswith("_:"))
    return 1 + max((int(number) if number.isdecimal() else 0 for number in numbers), default=-1)


def _shortened(column: str, namespaces: Iterable[str]) -> pl.Expr:
    """Names without the beginnings that the user asked to leave out."""
    names = pl.col(column)
    for namespace in namespaces:
        short = names.str.strip_prefix(namespace)
        names = pl.when(short == "").then(names).otherwise(short)
    return names.alias(column)


def _reject_wrong_times(wrong: pl.DataFrame, path: Path, collector: Collector) -> None:
    if not wrong.height:
        return
    wrong = wrong.sort("node", "text")
    lines = _lines_with(set(wrong["text"].unique()), path)
    rows = [(row, lines.get(text)) for row, text in enumerate(wrong["text"])]
    collector.rejections.add(
        path,
        sorted(rows, key=lambda row: (row[1] is None, row[1] or 0)),
        lambda row: f"{collector.times.why_wrong(wrong['text'][row])} (the time of {wrong['node'][row]})",
        lambda row: wrong["text"][row],
    )


def _lines_with(texts: set[str], path: Path) -> dict[str, int]:
    """The first line on which each text stands in quotes, of the first few as far as they can be found again."""
    found: dict[str, int] = {}
    if path == STANDARD_INPUT:
        return found
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            if len(found) >= min(_LOOKED_UP, len(texts)):
                break
            for quoted in _QUOTED.findall(line):
                if (text := quoted.decode("utf-8", "replace")) in texts:
                    found.setdefault(text, number)
    return found


def _places(path: Path, facts: pl.DataFrame) -> OfRow:
    """Where facts stand in a file: the parser gives no line, so their names are looked for, of the first few."""
    searches = count(1)

    def place(row: int) -> str:
        """The first line that names the subject and the object, else the first that names the subject."""
        first = None
        if path != STANDARD_INPUT and next(searches) <= SHOWN_PROBLEMS:
            subject, object_ = (_mention(name) for name in facts.row(row))
            with opened(path) as file:
                for number, line in enumerate(file, start=1):
                    if subject.search(line):
                        if object_.search(line):
                            return f"look at line {number}"
                        first = first or number
        return "the parser gives no line" + (f"; look from line {first} on" if first else "")

    return place


def _mention(name: str) -> re.Pattern[bytes]:
    """An IRI or a blank node as RDF writes it: whole, with a prefix or relative."""
    local = re.split("[/#:]", name.rstrip("/#:"))[-1]
    return re.compile(rb"[</#:\"']" + re.escape(local.encode()) + rb"(?![\w-])")
