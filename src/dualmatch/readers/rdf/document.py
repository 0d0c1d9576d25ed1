"""RDF files: N-Triples, N-Quads, Turtle, TriG and RDF/XML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl

from dualmatch.errors import SHOWN_PROBLEMS
from dualmatch.files.compressed import STANDARD_INPUT, opened, shown
from dualmatch.files.text_lines import LINE
from dualmatch.graph.literals import LABEL
from dualmatch.readers.facts import FACT, Rows
from dualmatch.readers.options import Intake
from dualmatch.readers.rdf.quads import read_quads
from dualmatch.readers.rdf.statements import LABELS, Statements, statements_of

_LOOKED_UP: Final = 50
"""Of how many wrong times the line is looked for: the parser does not tell it."""
_SEARCHES: Final = SHOWN_PROBLEMS
"""For how many wrong facts a file is searched through."""
_QUOTED: Final = re.compile(rb'"([^"]*)"')


def read_rdf(file: BinaryIO, path: Path, format: str, intake: Intake) -> None:
    """Take in the facts of an RDF file, and its literals where they are asked for."""
    number = intake.files_before + intake.files
    prefix = f"{number}/" if number else ""  # no label of a blank node can hold a slash
    quads = read_quads(file, path, format, intake.rejections, prefix)
    found = statements_of(quads, intake.options.time_predicates, intake.facts.clock)
    _reject_wrong_times(found.wrong_times, path, intake)
    facts = found.facts.rename({"s": "head", "p": "relation", "o": "tail"})
    facts = facts.with_columns(_shortened(pl.col(name), intake) for name in ("head", "relation", "tail"))
    table = facts.with_columns(pl.lit(None, dtype=pl.UInt32).alias(LINE)).select(LINE, *FACT)
    place = _Places(path, found.facts.select("s", "o")).of
    intake.facts.add(Rows(path, table, lambda row: " ".join(table.row(row)[1:4]), place))
    _take_literals(found, intake)
    if found.coarse_times:
        intake.note(f"{shown(path)}: {found.coarse_times:,} times coarser than a year are taken as unknown")
    if found.literals.height and not intake.options.literals:
        intake.note(f"{shown(path)}: {found.literals.height:,} triples with a literal are left out")


def files_named_in(names: Iterable[str]) -> int:
    """How many files were read before, as far as names of blank nodes tell: theirs are those of other nodes.

    >>> files_named_in(["Ada", "_:b0", "_:2/b0"]), files_named_in(["Ada"])
    (3, 0)
    """
    numbers = (name.removeprefix("_:").rpartition("/")[0] for name in names if name.startswith("_:"))
    return 1 + max((int(number) if number.isdecimal() else 0 for number in numbers), default=-1)


def _shortened(names: pl.Expr, intake: Intake) -> pl.Expr:
    for namespace in intake.options.namespaces:
        short = names.str.strip_prefix(namespace)
        names = pl.when(short == "").then(names).otherwise(short)
    return names


def _take_literals(found: Statements, intake: Intake) -> None:
    if not intake.options.literals:
        return
    attribute = pl.when(pl.col("p").is_in(LABELS)).then(pl.lit(LABEL)).otherwise(_shortened(pl.col("p"), intake))
    table = found.literals.select(
        _shortened(pl.col("s"), intake).alias("entity"), attribute.alias("attribute"), value="o"
    )
    intake.literal_tables.append(table)


def _reject_wrong_times(wrong: pl.DataFrame, path: Path, intake: Intake) -> None:
    if not wrong.height:
        return
    wrong = wrong.sort("node", "text")
    lines = _lines_with(set(wrong["text"].unique()), path)
    clock = intake.facts.clock
    rows = [(row, lines.get(text)) for row, text in enumerate(wrong["text"])]
    intake.rejections.add(
        path,
        sorted(rows, key=lambda row: (row[1] is None, row[1] or 0)),
        lambda row: f"{clock.why_wrong(wrong['text'][row])} (the time of {wrong['node'][row]})",
        lambda row: wrong["text"][row],
    )


def _lines_with(texts: set[str], path: Path) -> dict[str, int]:
    """The first line on which each text stands in quotes, of the first few as far as they can be found again."""
    found: dict[str, int] = {}
    if path == STANDARD_INPUT:
        return found
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not texts or len(found) >= _LOOKED_UP:
                break
            for quoted in _QUOTED.findall(line):
                text = quoted.decode("utf-8", "replace")
                if text in texts:
                    found[text] = number
                    texts.discard(text)
    return found


class _Places:
    """Where facts stand in a file: the parser does not tell, so their names are looked for."""

    def __init__(self, path: Path, facts: pl.DataFrame) -> None:
        self._path, self._facts = path, facts
        self._searches = 0

    def of(self, row: int) -> str:
        """In words: the first line that names the subject and the object, else the first that names the subject."""
        self._searches += 1
        if self._path == STANDARD_INPUT or self._searches > _SEARCHES:
            return "the parser tells no line"
        subject, object_ = (_mention(name) for name in self._facts.row(row))
        first = None
        with opened(self._path) as file:
            for number, line in enumerate(file, start=1):
                if subject.search(line):
                    if object_.search(line):
                        return f"look at line {number}"
                    first = first or number
        return "the parser tells no line" if first is None else f"the parser tells no line; look from line {first} on"


def _mention(name: str) -> re.Pattern[bytes]:
    """An IRI or a blank node as RDF writes it: whole, with a prefix or relative."""
    local = re.split("[/#:]", name.rstrip("/#:"))[-1]
    return re.compile(rb"[</#:\"']" + re.escape(local.encode()) + rb"(?![\w-])")
