"""What the command line shows: tables on standard output, progress and warnings on standard error."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from dualmatch.progress import Progress as ProgressCallback

# No emoji: rich would print "triples_1:100: …" with a picture in the place of the line number.
out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)

STAGE_WORDS = {
    "read": "reading the graphs",
    "temporal": "encoding times",
    "relational": "training the relational encoder",
    "evidence": "weighing shared evidence",
    "decode": "matching",
}


_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


def set_up_logging(verbosity: int) -> None:
    """Warnings by default, everything with -v."""
    level = _LEVELS[min(verbosity, 2)]
    logging.basicConfig(level=level, format="%(message)s", handlers=[LineHandler()], force=True)


def tell_more(verbosity: int) -> None:
    """Tell at least this much from here on."""
    root = logging.getLogger()
    root.setLevel(min(root.level, _LEVELS[min(verbosity, 2)]))


def silence() -> None:
    """Only errors from here on."""
    logging.getLogger().setLevel(logging.ERROR)


class LineHandler(logging.Handler):
    """One line a record on standard error, above the progress bar where there is one, never wrapped."""

    def emit(self, record: logging.LogRecord) -> None:
        err.print(f"{record.levelname.lower()}: {self.format(record)}", markup=False, soft_wrap=True)


def say(text: str) -> None:
    """One line on standard output: as it is, never wrapped."""
    out.print(text, markup=False, soft_wrap=True)


def note(text: str) -> None:
    """One line on standard error: what was understood, unless the user wants silence."""
    if logging.getLogger().level < logging.ERROR:
        err.print(f"note: {text}", markup=False, soft_wrap=True)


@contextmanager
def progress_shown(quiet: bool) -> Iterator[ProgressCallback | None]:
    """A progress bar on standard error while it is a terminal; nothing otherwise."""
    if quiet or not err.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bars:
        tasks: dict[str, int] = {}

        def show(stage: str, done: int, total: int, note: str) -> None:
            words = STAGE_WORDS.get(stage, stage) + (f" ({note})" if note else "")
            if stage not in tasks:
                tasks[stage] = bars.add_task(words, total=None)
            bars.update(tasks[stage], completed=done, total=total or None, description=words)  # type: ignore[arg-type]

        yield show
