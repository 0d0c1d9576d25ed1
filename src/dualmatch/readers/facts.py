"""Rows of any file to a graph: names and times are checked, rows that fail are rejected, the rest are numbered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.errors import InputError
from dualmatch.files.text_lines import LINE
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.ordering import fact_order, without_repeats
from dualmatch.graph.times import UNKNOWN, ends_before_begin, format_date
from dualmatch.readers.interning import numbered
from dualmatch.readers.rejected_lines import Rejections
from dualmatch.readers.time_column import WRONG, Clock, Codes

NAMES: Final = ("head", "relation", "tail")
INTERVAL: Final = ("begin", "end")
POINT: Final = "time"
FACT: Final = (*NAMES, *INTERVAL)

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a file.

    Attributes
    ----------
    table:
        ``line`` (its number, null where a format has none), ``head``, ``relation``, ``tail`` as text, and ``begin``,
        ``end`` or ``time`` (a point), where there are any, as text or as time codes (int32).
    text:
        The row as the file has it, for the file of rejected lines.
    place:
        For rows without a line number: where to look for a row, in words.
    """

    path: Path
    table: pl.DataFrame
    text: Callable[[int], str]
    place: Callable[[int], str] = lambda _: "its line is not known"


class FactCollector:
    """Takes rows of one or more files of a side and makes a graph of those that pass.

    Examples
    --------
    >>> collector = FactCollector(Clock(), Rejections())
    >>> table = pl.DataFrame({"line": [1], "head": ["Ada"], "relation": ["met"], "tail": ["Charles"], "time": ["1833"]})
    >>> collector.add(Rows(Path("facts.tsv"), table, lambda row: ""))
    >>> collector.graph("facts.tsv").n_facts
    1
    """

    def __init__(self, clock: Clock, rejections: Rejections) -> None:
        self.clock, self.rejections = clock, rejections
        self.distinct = False
        """Whether a fact said twice is one fact, as in RDF; in a table each row counts."""
        self._good: list[pl.DataFrame] = []

    def add(self, rows: Rows) -> None:
        """Check rows, reject what fails, keep the rest."""
        table = rows.table
        failed = np.zeros(table.height, dtype=bool)

        def reject(wrong: Mask, why: Callable[[int], str]) -> None:
            at = np.flatnonzero(wrong & ~failed)
            if len(at):
                lines = table[LINE].gather(at).to_list()
                told = why if lines[0] is not None else lambda row: f"{rows.text(row)}: {why(row)} ({rows.place(row)})"
                self.rejections.add(rows.path, zip(at.tolist(), lines, strict=True), told, rows.text)
                failed[at] = True

        for name in NAMES:
            blank = table[name].is_null() | (table[name].str.strip_chars() == "")
            reject(blank.fill_null(True).to_numpy(), lambda _, name=name: f"no {name}; every fact needs one")  # type: ignore[misc]
        codes = {name: self._codes(table, name, reject) for name in (*INTERVAL, POINT)}
        begin, end = (codes[POINT] if codes[name] is None else codes[name] for name in INTERVAL)
        unknown = np.full(table.height, UNKNOWN, dtype=np.int32)
        begin, end = (unknown if column is None else column for column in (begin, end))
        reject(_reversed(begin, end), lambda row: _ends_early(begin[row], end[row]))
        facts = table.select(NAMES).with_columns(begin=pl.Series(begin), end=pl.Series(end))
        self._good.append(facts.filter(~failed) if failed.any() else facts)

    def graph(self, name: str) -> TemporalGraph:
        """The graph of all rows kept; entities, relations and facts are sorted, whatever order the files had."""
        if not sum(table.height for table in self._good):
            raise InputError(f"{name}: no facts; an empty graph cannot be aligned")
        facts = pl.concat(self._good, rechunk=True)
        self._good.clear()
        entities, ends = numbered(pl.concat([facts["head"], facts["tail"]]))
        relations, relation = numbered(facts["relation"])
        head, tail = ends[: facts.height], ends[facts.height :]
        begin, end = facts["begin"].to_numpy(), facts["end"].to_numpy()
        order = fact_order(head, relation, tail, begin, end, n_entities=len(entities), n_relations=len(relations))
        if self.distinct:
            order = without_repeats(order, head, relation, tail, begin, end)
        return TemporalGraph(
            head[order],
            relation[order],
            tail[order],
            begin[order],
            end[order],
            tuple(entities.to_list()),
            tuple(relations.to_list()),
            name=name,
        )

    def _codes(
        self, table: pl.DataFrame, name: str, reject: Callable[[Mask, Callable[[int], str]], None]
    ) -> Codes | None:
        if name not in table.columns:
            return None
        given = table[name]
        if given.dtype == pl.Int32:
            return given.to_numpy()
        codes = self.clock.codes(given)
        reject(codes == WRONG, lambda row: self.clock.why_wrong(given[row]))
        return codes


def _reversed(begin: Codes, end: Codes) -> Mask:
    """Where a known end lies before its begin; only rows whose codes say so are looked at closely."""
    wrong: Mask = (end < begin) & (begin != UNKNOWN) & (end != UNKNOWN)
    at = np.flatnonzero(wrong)
    wrong[at] = ends_before_begin(begin[at], end[at])
    return wrong


def _ends_early(begin: int, end: int) -> str:
    return f"ends in {format_date(int(end))}, before it begins in {format_date(int(begin))}; mend one of the two"
