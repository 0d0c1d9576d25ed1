"""RDF files to facts with times: N-Triples, N-Quads, Turtle, TriG, RDF/XML and JSON-LD."""

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
from dualmatch.graph.times import UNKNOWN
from dualmatch.readers.columns import FACT
from dualmatch.readers.facts import COARSE, Collector
from dualmatch.readers.rdf.entity_values import counted, named
from dualmatch.readers.rdf.quads import read_quads
from dualmatch.readers.rdf.statements import Statements, statements_of
from dualmatch.readers.rejected_lines import OfRow
from dualmatch.readers.rows import Rows
from dualmatch.readers.unread_dates import NOT_A_DATE, REVERSED
from dualmatch.readers.wikibase_time import reversed_intervals, without_times

_LOOKED_UP: Final = 50
"""Of how many wrong times the line is looked for: the parser does not give it."""
_QUOTED: Final = re.compile(rb'"([^"]*)"')


def read_rdf(file: BinaryIO, path: Path, collector: Collector, format: str) -> None:
    """Collect the facts of an RDF file, and its literals where they are asked for."""
    options = collector.options
    number = collector.files_before + len(collector.are_sets)
    prefix = f"{number}/" if number else ""  # no label of a blank node can hold a slash
    longest = options.longest_line
    quads = read_quads(file, path, format, collector.rejections, prefix, longest, keeps_texts=collector.keeps_texts)
    collector.check_room(quads.plain, quads.reified)
    found = statements_of(quads, options.time_predicates, collector.times)
    facts, dates = found.facts, found.dates
    if found.wrong_times.height:
        _report_wrong_times(found, path, collector)
        if options.on_error != "dates":  # a statement that cannot be used is left out whole, of a thing only the date
            whole = found.wrong_times.filter("whole")
            facts, dates = (each.join(whole, on="node", how="anti") for each in (facts, dates))
    s, p, o = (_shortened(name, options.namespaces) for name in "spo")
    line = pl.lit(None, dtype=pl.UInt32).alias(LINE)
    times = pl.col("begin", "end").fill_null(UNKNOWN)
    for table, names, add in ((facts, (s, p, o), collector.add), (dates, (s, p), collector.add_dates)):
        rows = table.select(line, *names, times)
        rows.columns = [LINE, *FACT[: len(names)], *FACT[3:]]
        if found.is_wikibase and table is facts:
            rows = _without_reversed(rows, path, collector)
        ends = table.select("s", "o" if "o" in table.columns else "p")
        add(Rows(path, rows, _text_of(rows), _places(path, ends)))
    collector.keep_literals(named(found.literals, s, p))
    collector.left_out.update(found.left_out + counted(found.literals, with_names=not options.literals))
    if quads.note:
        collector.note(f"{shown(path)}: {quads.note}")
    collector.note_unknown(path, COARSE, found.coarse_times)


def _without_reversed(facts: pl.DataFrame, path: Path, collector: Collector) -> pl.DataFrame:
    """A Wikibase's facts without the times that cannot be, however many they are; reported, unless they are refused."""
    wrong = reversed_intervals(facts) if collector.options.on_error == "dates" else []
    if wrong:
        collector.note_unknown(path, REVERSED, len(wrong), f": {wrong[0][1]}")
    return without_times(facts, [row for row, _ in wrong])


def _text_of(rows: pl.DataFrame) -> OfRow:
    return lambda row: " ".join(value for value in rows.row(row) if isinstance(value, str))


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


def _report_wrong_times(found: Statements, path: Path, collector: Collector) -> None:
    """Count invalid times as unknown, or reject what they are times of, as the options say."""
    wrong = found.wrong_times.sort("node", "text")
    lines = _lines_with(set(wrong["text"].unique()), path)
    rows = [(row, lines.get(text)) for row, text in enumerate(wrong["text"])]
    rows.sort(key=lambda row: (row[1] is None, row[1] or 0))
    texts = wrong["text"].to_list()

    def why(row: int) -> str:
        return f"{collector.times.why_wrong(texts[row])} (the time of {wrong['node'][row]})"

    if collector.options.on_error == "dates" and found.is_wikibase:
        collector.note_unknown(path, NOT_A_DATE, wrong.height, f": {why(rows[0][0])}")
    elif collector.options.on_error == "dates":
        collector.unread_dates.add("times", found.n_times, rows, why, texts.__getitem__)
    else:
        collector.rejections.add(path, rows, why, texts.__getitem__)


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
