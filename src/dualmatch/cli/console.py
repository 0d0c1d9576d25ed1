"""What the command line shows: tables on standard output, progress and warnings on standard error."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.logging import RichHandler
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from dualmatch.stages import Progress as ProgressCallback

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

STAGE_WORDS = {
    "read": "reading the graphs",
    "temporal": "encoding times",
    "relational": "training the relational encoder",
    "evidence": "weighing shared evidence",
    "decode": "matching",
}


def set_up_logging(verbosity: int, quiet: bool) -> None:
    """Warnings by default, everything with -v, errors only with --quiet."""
    level = logging.ERROR if quiet else (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbosity, 2)]
    handler = RichHandler(console=err, show_time=False, show_path=False, show_level=True, markup=False)
    logging.basicConfig(level=level, format="%(message)s", handlers=[handler], force=True)


@contextmanager
def progress_shown(quiet: bool) -> Iterator[ProgressCallback | None]:
    """A progress bar on standard error while it is a terminal; nothing otherwise."""
    if quiet or not err.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bars:
        tasks: dict[str, int] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(STAGE_WORDS.get(stage, stage), total=None)
            bars.update(tasks[stage], completed=done, total=total or None)  # type: ignore[arg-type]

        yield show
