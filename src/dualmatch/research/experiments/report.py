"""What an experiment leaves: a page of Markdown, a CSV for each table, a PNG and an SVG for each figure.

========================  ============================================================================
``NAME.md``               tables with the paper's figures beside ours, notes, figures, how it was made
``NAME-TABLE.csv``        each table; ``NAME.csv`` where the table is the experiment itself
``NAME-FIGURE.png, svg``  the figures
``cells/``                finished cells (`dualmatch.research.experiments.cells`)
========================  ============================================================================
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dualmatch.errors import OutputError
from dualmatch.files.atomic import write_text
from dualmatch.methods.resources import quick_unit_seconds
from dualmatch.research.experiments.cells import Cells
from dualmatch.research.experiments.paper import PAPER
from dualmatch.research.experiments.plots import Figure, draw
from dualmatch.research.experiments.provenance import in_words
from dualmatch.research.experiments.tables import Table
from dualmatch.version import __version__

PROTOCOLS = (
    "`paper`: ranked among the tested partners, as published tables are; `open`: ranked among all entities of the "
    "target graph. Ties get their average rank. H@1 and H@10 in percent; ± is the standard deviation over training "
    "seeds, and methods without chance have none. Rows marked *quoted* are the paper's own "
    f"figures ({PAPER}); all others were measured."
)


@dataclass(frozen=True)
class Report:
    """The outcome of an experiment.

    Attributes
    ----------
    notes:
        Findings in words, each made from the figures.
    ranked:
        Whether its figures are rankings, so that the protocols want saying.
    """

    name: str
    title: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    ranked: bool = True
    text: str = ""

    def markdown(self, made: str) -> str:
        """The page; `made` says how the figures came about."""
        parts = [f"# {self.title}", *([PROTOCOLS] if self.ranked else []), *([self.text] if self.text else [])]
        parts += [f"{table.markdown()}\n\n[as CSV]({self.csv_name(table)})" for table in self.tables]
        parts += ["\n".join(f"- {note}" for note in self.notes)] if self.notes else []
        parts += [f"![{figure.caption}]({self.name}-{figure.slug}.png)\n\n{figure.caption}" for figure in self.figures]
        return "\n\n".join([*parts, made]) + "\n"

    def csv_name(self, table: Table) -> str:
        """The same for a table however many others there are: a rerun with more datasets replaces it."""
        return f"{self.name}.csv" if table.slug == self.name else f"{self.name}-{table.slug}.csv"

    def write(self, folder: Path, made: str) -> list[Path]:
        """Write everything into a folder, made where it is not there; what an earlier run wrote is replaced."""
        check_folder(folder)
        paths = [folder / f"{self.name}.md"]
        write_text(paths[0], self.markdown(made))
        for table in self.tables:
            paths.append(folder / self.csv_name(table))
            write_text(paths[-1], table.csv())
        for figure in self.figures:
            paths += draw(figure, folder / f"{self.name}-{figure.slug}")
        return paths


def check_folder(folder: Path) -> None:
    """Make the folder, and see that it can be written to: better before hours of work than behind them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        words = f"{folder}: cannot be written to ({error.strerror}); choose another folder with -o"
        raise OutputError(words) from None


def how_made(name: str, folders: Sequence[Path], arguments: Sequence[str], cells: Cells) -> str:
    """Version, command and machine, without any path of the machine; and how many cells are missing."""
    data = [part for folder in folders for part in ("--data", folder.resolve().name)]
    command = " ".join(["dualmatch", "experiment", name, *data, *arguments])
    units = sorted(cells.units.values()) or [quick_unit_seconds()]
    unit = f"{statistics.median(units):.2f} s"
    if len(units) > 1:
        unit = f"{unit} in the median ({units[0]:.2f} to {units[-1]:.2f} s)"
    count = len(cells.not_run)
    missing = f" {count} {'cells' if count > 1 else 'cell'} of it not run yet." if count else ""
    return (
        f"*dualmatch {__version__}, {in_words(cells.made.values())}; `{command}`; one machine unit, a 4096³ float32 "
        f"matrix product, took {unit}.{missing}*"
    )
