"""Tables as data, and as Markdown and CSV."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

NOT_RUN: Final = "not run"


@dataclass(frozen=True)
class Spread:
    """A mean over seeds with its standard deviation; of a single seed there is none.

    Attributes
    ----------
    seeds, asked:
        Seeds that were run, and those that were asked for.
    """

    mean: float
    deviation: float | None
    seeds: int
    asked: int


Value = str | int | float | Spread | None


def spread(values: Iterable[float | None]) -> Value:
    """Mean and standard deviation of what was run; "not run" where nothing was.

    >>> spread([1.0, None, 3.0])
    Spread(mean=2.0, deviation=1.4142135623730951, seeds=2, asked=3)
    """
    given = list(values)
    known = [value for value in given if value is not None]
    if not known:
        return NOT_RUN
    deviation = statistics.stdev(known) if len(known) > 1 else None
    return Spread(statistics.fmean(known), deviation, len(known), len(given))


@dataclass(frozen=True)
class Column:
    """A heading, and how many decimals its numbers have."""

    name: str
    digits: int | None = None

    def show(self, value: Value) -> str:
        """A value for people.

        >>> Column("H@1", 1).show(Spread(94.08, 0.07, 3, 3))
        '94.1 ± 0.1'
        >>> Column("H@1", 1).show(Spread(94.08, None, 1, 3))
        '94.1 (1 of 3 seeds)'
        """
        if value is None:
            return "–"
        if isinstance(value, Spread):
            mean = self.show(value.mean)
            mean = mean if value.deviation is None else f"{mean} ± {self.show(value.deviation)}"
            return mean if value.seeds == value.asked else f"{mean} ({value.seeds} of {value.asked} seeds)"
        if isinstance(value, str):
            return value
        if isinstance(value, int):
            return f"{value:,}"
        return f"{value:,.{self.digits if self.digits is not None else 2}f}"


HITS: Final = (Column("H@1", 1), Column("H@10", 1), Column("MRR", 3))


@dataclass(frozen=True)
class Table:
    """A table with a title; `slug` tells the CSV files of one experiment apart."""

    slug: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        lines = [f"**{self.title}**", "", _line([column.name for column in self.columns])]
        lines.append(_line(["---" if column.digits is None else "---:" for column in self.columns]))
        for row in self.rows:
            shown = (column.show(value) for column, value in zip(self.columns, row, strict=True))
            lines.append(_line([text.replace("|", "\\|") for text in shown]))
        return "\n".join(lines) + (f"\n\n{self.note}" if self.note else "")

    def csv(self) -> str:
        """Numbers as they are; where a column has means, a column of deviations and one of seeds stand behind it."""
        spreads = [any(isinstance(row[at], Spread) for row in self.rows) for at in range(len(self.columns))]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        heading: list[str] = []
        for column, has_spread in zip(self.columns, spreads, strict=True):
            heading += [column.name, f"{column.name} sd", f"{column.name} seeds"] if has_spread else [column.name]
        writer.writerow(heading)
        for row in self.rows:
            cells: list[object] = []
            for value, has_spread in zip(row, spreads, strict=True):
                cells += _raw(value) if has_spread else _raw(value)[:1]
            writer.writerow(cells)
        return text.getvalue()


def hits_of(figures: Sequence[dict[str, float] | None]) -> tuple[Value, Value, Value]:
    """H@1, H@10 and MRR over seeds."""
    h1, h10, mrr = (spread(None if each is None else each[name] for each in figures) for name in ("h1", "h10", "mrr"))
    return h1, h10, mrr


def _raw(value: Value) -> list[object]:
    if isinstance(value, Spread):
        return [value.mean, "" if value.deviation is None else value.deviation, value.seeds]
    return ["" if value is None else value, "", ""]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
