"""What an experiment leaves: a page of Markdown, a CSV for each table, pictures.

========================  ============================================================================
``NAME.md``               tables with the paper's figures beside ours, notes, figures, how it was made
``NAME-TABLE.csv``        each table; ``NAME.csv`` where the table is the experiment itself
``NAME-FIGURE.png, svg``  the figures; charts as SVG only
``cells/``                finished cells (`dualmatch.research.experiments.cells`)
========================  ============================================================================
"""

from __future__ import annotations

import csv
import io
import statistics
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dualmatch.charts.chart import Chart
from dualmatch.errors import OutputError
from dualmatch.files.atomic import write_text
from dualmatch.methods.resources import quick_unit_seconds
from dualmatch.research.experiments.cells import Cells, Result, provenance_in_words
from dualmatch.research.experiments.paper import PAPER
from dualmatch.research.experiments.plots import Figure, draw
from dualmatch.version import __version__

NOT_RUN: Final = "not run"
PROTOCOLS: Final = (
    "H@1, H@10: how often, in percent, the right partner is ranked first or among the first ten; MRR: the mean of "
    "1 / rank. Protocol `paper` ranks among the tested partners, as published tables do; `open` ranks among all "
    "entities of the target graph. Ties get their average rank. ± is the standard deviation over training seeds; "
    "deterministic methods have none. Rows marked *quoted* are the paper's own "
    f"figures ({PAPER}); all others were measured."
)


@dataclass(frozen=True)
class Spread:
    """Mean over the seeds that were run, of those asked for, and its standard deviation; a single seed has none."""

    mean: float
    deviation: float | None
    seeds: int
    asked: int


Value = str | int | float | Spread | None
Row = tuple[Value, ...]


def spread(values: Iterable[float | None]) -> Value:
    """Mean and standard deviation of what was run; "not run" where nothing was."""
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
        """A value for people."""
        if value is None:
            return "–"
        if isinstance(value, Spread):
            mean = self.show(value.mean)
            mean = mean if value.deviation is None else f"{mean} ± {self.show(value.deviation)}"
            return mean if value.seeds == value.asked else f"{mean} ({value.seeds} of {value.asked} seeds)"
        if isinstance(value, str):
            return value
        return f"{value:,}" if isinstance(value, int) else f"{value:,.{2 if self.digits is None else self.digits}f}"


HITS: Final = (Column("H@1", 1), Column("H@10", 1), Column("MRR", 3))


def columns(*names: str, digits: int | None = None) -> tuple[Column, ...]:
    """Columns of the same number of decimals."""
    return tuple(Column(name, digits) for name in names)


def hits_columns(*names: str) -> tuple[Column, ...]:
    """Columns of H@1, H@10 and MRR for each of some settings or groups."""
    return tuple(Column(f"{name} {hit.name}", hit.digits) for name in names for hit in HITS)


def hits_of(figures: Sequence[Result | None]) -> Row:
    """H@1, H@10 and MRR over seeds."""
    return tuple(spread(None if each is None else each[name] for each in figures) for name in ("h1", "h10", "mrr"))


@dataclass(frozen=True)
class Table:
    """A table with a title; `slug` distinguishes the CSV files of one experiment."""

    slug: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""

    def markdown(self) -> str:
        rows = [[column.name for column in self.columns]]
        rows.append(["---" if column.digits is None else "---:" for column in self.columns])
        for row in self.rows:
            shown = (column.show(value) for column, value in zip(self.columns, row, strict=True))
            rows.append([text.replace("|", "\\|") for text in shown])
        lines = [f"**{self.title}**", "", *(f"| {' | '.join(row)} |" for row in rows)]
        return "\n".join(lines) + (f"\n\n{self.note}" if self.note else "")

    def csv(self) -> str:
        """Numbers as they are; a column of means is followed by one of deviations and one of seeds."""
        spreads = [any(isinstance(row[at], Spread) for row in self.rows) for at in range(len(self.columns))]
        names = [column.name for column in self.columns]
        rows: list[list[list[object]]] = [[[name, f"{name} sd", f"{name} seeds"] for name in names]]
        rows += [[_raw(value) for value in row] for row in self.rows]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for row in rows:
            writer.writerow(
                part for three, has_spread in zip(row, spreads, strict=True) for part in three[: 3 if has_spread else 1]
            )
        return text.getvalue()


def _raw(value: Value) -> list[object]:
    if isinstance(value, Spread):
        return [value.mean, "" if value.deviation is None else value.deviation, value.seeds]
    return ["" if value is None else value, "", ""]


@dataclass(frozen=True)
class Report:
    """The outcome of an experiment; `notes` are findings made from the figures.

    `ranked` says whether its figures are rankings, so that the page explains the protocols.
    """

    name: str
    title: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    ranked: bool = True
    text: str = ""
    charts: tuple[tuple[str, Chart], ...] = ()  # by slug

    def markdown(self, made: str) -> str:
        """The page; `made` says how the figures came about."""
        parts = [f"# {self.title}", *([PROTOCOLS] if self.ranked else []), *([self.text] if self.text else [])]
        parts += [f"{table.markdown()}\n\n[as CSV]({self.csv_name(table)})" for table in self.tables]
        parts += ["\n".join(f"- {note}" for note in self.notes)] if self.notes else []
        parts += [f"![{figure.caption}]({self.name}-{figure.slug}.png)\n\n{figure.caption}" for figure in self.figures]
        parts += [f"![{chart.title}]({self.name}-{slug}.svg)\n\n{chart.title}." for slug, chart in self.charts]
        return "\n\n".join([*parts, made]) + "\n"

    def csv_name(self, table: Table) -> str:
        """The same for a table however many others there are: a rerun with more datasets replaces it."""
        return f"{self.name}.csv" if table.slug == self.name else f"{self.name}-{table.slug}.csv"

    def write(self, folder: Path, made: str) -> list[Path]:
        """Write everything into a folder; what an earlier run wrote is replaced."""
        check_folder(folder)
        texts = {f"{self.name}.md": self.markdown(made), **{self.csv_name(table): table.csv() for table in self.tables}}
        for name, text in texts.items():
            write_text(folder / name, text)
        drawn = [path for figure in self.figures for path in draw(figure, folder / f"{self.name}-{figure.slug}")]
        for slug, chart in self.charts:
            drawn.append(folder / f"{self.name}-{slug}.svg")
            chart.save(drawn[-1])
        return [*(folder / name for name in texts), *drawn]


def check_folder(folder: Path) -> None:
    """Make the folder, and check before hours of work that it can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written to ({error.strerror}); choose another folder with -o") from None


def how_made(name: str, folders: Sequence[Path], arguments: Sequence[str], cells: Cells) -> str:
    """Version, command and machine, without any path of the machine; and how many cells are missing."""
    data = [part for folder in folders for part in ("--data", folder.resolve().name)]
    command = " ".join(["dualmatch", "experiment", name, *data, *arguments])
    units = sorted(cells.units.values()) or [quick_unit_seconds()]
    unit = f"{statistics.median(units):.2f} s"
    if len(units) > 1:
        unit = f"{unit} in the median ({units[0]:.2f} to {units[-1]:.2f} s)"
    count = len(cells.not_run)
    missing = f" {count} of its cells not run yet." if count else ""
    return (
        f"*dualmatch {__version__}, {provenance_in_words(cells.made.values())}; `{command}`; one machine unit, a 4096³ "
        f"float32 matrix product, took {unit}.{missing}*"
    )
