"""What the command line shows: tables and JSON on standard output, progress and warnings on standard error."""

from __future__ import annotations

import json
import logging
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rich.console import Console, ConsoleOptions
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table

from dualmatch.errors import InputError, on_one_screen, visible_text
from dualmatch.files.atomic import STANDARD_OUTPUT, check_outputs, check_standard_output, write_text
from dualmatch.progress import STAGES
from dualmatch.progress import Progress as ProgressCallback


class _SafeConsole(Console):
    """Shows control characters of names and paths instead of sending them to the terminal."""

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            shown = segment.text if segment.control else visible_text(segment.text)
            yield segment if shown is segment.text else Segment(shown, segment.style)


# No emoji: rich would print "triples_1:100: …" with a picture in the place of the line number.
out = _SafeConsole(highlight=False, emoji=False)
err = _SafeConsole(stderr=True, highlight=False, emoji=False)


def program() -> str:
    """How this program was called, for commands to copy: ``dualmatch`` where the shell finds this one by that name."""
    called = sys.argv[0]
    if os.path.basename(called) == "dualmatch":
        found = shutil.which("dualmatch")
        is_found = found is not None and os.path.exists(called) and os.path.samefile(found, called)
        return "dualmatch" if is_found else shlex.quote(called)
    if os.path.basename(os.path.dirname(called)) == "dualmatch":  # python -m dualmatch
        return shlex.join([sys.executable, "-m", "dualmatch"])
    return "dualmatch"


_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
_PROTOCOLS = {"paper": "among tested partners", "open": "among all targets", "open_reverse": "among all sources"}


def set_up_logging(verbosity: int) -> None:
    """Warnings by default, everything with -v."""
    logging.basicConfig(level=_LEVELS[min(verbosity, 2)], format="%(message)s", handlers=[LineHandler()], force=True)


def be_verbose(verbosity: int) -> None:
    """Print at least this much from here on."""
    root = logging.getLogger()
    root.setLevel(min(root.level, _LEVELS[min(verbosity, 2)]))


def silence() -> None:
    """Print only errors from here on."""
    logging.getLogger().setLevel(logging.ERROR)


class LineHandler(logging.Handler):
    """Prints one line a record on standard error, above the progress bar where there is one, never wrapped."""

    def emit(self, record: logging.LogRecord) -> None:
        words = on_one_screen(f"{record.levelname.lower()}: {self.format(record)}")
        err.print(words, markup=False, soft_wrap=True)


def say(text: str) -> None:
    """Print a line on standard output: as it is, never wrapped."""
    out.print(text, markup=False, soft_wrap=True)


def note(text: str) -> None:
    """Print a line on standard error, unless the user wants silence."""
    if logging.getLogger().level < logging.ERROR:
        err.print(f"note: {text}", markup=False, soft_wrap=True)


@contextmanager
def progress_shown(quiet: bool) -> Iterator[ProgressCallback | None]:
    """Show a progress bar on standard error while it is a terminal; nothing otherwise."""
    if quiet or not err.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(finished_text="✓"), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(stage: str, done: int, total: int, note: str) -> None:
            words = STAGES.get(stage, stage) + (f" ({note})" if note else "")
            if stage not in tasks:
                for task in bars.tasks:  # a stage ends where the next begins: its bar is full and its clock stands
                    bars.update(task.id, completed=task.total or 1, total=task.total or 1)
                tasks[stage] = bars.add_task(words, total=None)
            bars.update(tasks[stage], completed=done, total=total or None, description=words)

        yield show


@dataclass(frozen=True)
class JsonOutput:
    """Where ``--json`` goes: to standard output, a file, or nowhere."""

    to_stdout: bool
    file: Path | None

    @classmethod
    def checked(cls, path: str | None, force: bool, taken: Iterable[Path | None] = ()) -> Self:
        """Read the option; a file that must not be written is refused before any work is done.

        Parameters
        ----------
        taken:
            What else the run reads and writes; where standard output is among it, JSON cannot go there.
        """
        taken = tuple(taken)
        if path == "-" and STANDARD_OUTPUT in taken:
            raise InputError("standard output is asked for twice, by -o - and by --json -; give one of them a file")
        if path == "-":
            check_standard_output()
        file = Path(path) if path not in (None, "-") else None
        check_outputs([file], taken, force)
        return cls(path == "-", file)

    def write(self, report: Mapping[str, Any]) -> None:
        text = json.dumps(report, indent=1, allow_nan=False) + "\n"
        if self.to_stdout:
            print(text, end="", flush=True)
        elif self.file is not None:
            write_text(self.file, text)


def ranking_table(protocols: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Table:
    """H@1, H@10 and MRR by protocol and group."""
    table = Table(title="How often the right partner comes first")
    table.add_column("protocol")
    table.add_column("pairs of")
    for heading in ("first (H@1)", "in the first ten (H@10)", "MRR", "pairs"):
        table.add_column(heading, justify="right")
    for protocol, groups in protocols.items():
        for name, ranking in groups.items():
            figures = f"{ranking['h1']:.1f} %", f"{ranking['h10']:.1f} %", f"{ranking['mrr']:.3f}"
            words = f"{protocol}: {_PROTOCOLS[protocol]}"
            table.add_row(words, escape(name), *figures, f"{ranking['pairs']:,}")
    return table


def links_table(abstention: Mapping[str, Any], ece: float | None, everything: Mapping[str, Any] | None = None) -> Table:
    """Precision, recall and calibration of the links; `everything`: calibration of all 1-to-1 pairs."""
    rows = {
        "links given": f"{abstention['emitted']:,}",
        "of these right (precision)": percent(abstention["precision"]),
        "of all true pairs found (recall)": percent(abstention["recall"]),
        "F1": "–" if abstention["f1"] is None else f"{abstention['f1']:.3f}",
    }
    if abstention.get("no_match_recall") is not None:
        rows["of the entities without a partner left alone"] = percent(abstention["no_match_recall"])
    if (known := abstention.get("known")) and known["f1"] is not None:
        rows["F1 over links that touch a tested pair"] = f"{known['f1']:.3f}"
    rows["confidence is off by, on average (ECE)"] = "–" if ece is None else f"{ece:.3f}"
    if everything is not None and everything["ece"] is not None:
        rows["the same over all 1-to-1 pairs, however unlikely"] = f"{everything['ece']:.3f}"
    return figures_table("What the links are worth", rows)


def verdicts_table(verdicts: Mapping[str, Any]) -> Table:
    """How many sources are linked, undecided and without a match."""
    rows = {name.replace("_", " "): f"{verdicts[name]:,}" for name in ("linked", "undecided", "no_match")}
    rows["of “no match” right"] = percent(verdicts["no_match_precision"])
    rows["of the entities without a partner said to have none"] = percent(verdicts["no_match_recall"])
    return figures_table("What is said of the source entities", rows)


def figures_table(title: str, rows: Mapping[str, str]) -> Table:
    """A figure a row, after the words for it."""
    table = Table(title=title, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for words, figure in rows.items():
        table.add_row(words, figure)
    return table


def cost_line(report: Mapping[str, Any]) -> str:
    """Seconds, machine units and memory of a run."""
    seconds, unit = report["seconds"]["total"], report["unit_seconds"]
    return f"{seconds:.1f} s = {seconds / unit:.1f} machine units (unit {unit:.2f} s), peak {report['peak_mb']:,.0f} MB"


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"
