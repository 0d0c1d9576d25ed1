"""Which stage a run is in, how far it is, and how long each stage took."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

Progress = Callable[[str, int, int, str], None]
"""Called with the stage's name, the steps done, the steps in all (0 where not known) and a note such as the loss."""


STAGES: Final = {
    "read": "reading the graphs",
    "temporal": "encoding times",
    "relational": "training the relational encoder",
    "evidence": "weighing shared evidence",
    "decode": "matching",
}
"""The stages of a run in words."""
_WIDTH: Final = 72


def show_progress(stage: str, done: int, total: int, note: str) -> None:
    """Show how far a run is in one line on standard error, in a terminal or a notebook.

    It is a `Progress` to give to `dualmatch.align`: ``align(source, target, progress=show_progress)``.
    """
    steps = f", {done} of {total}" if total else ""
    words = f"{STAGES.get(stage, stage)}{steps}{f' ({note})' if note else ''}"
    sys.stderr.write(f"\r{words[:_WIDTH]:<{_WIDTH}}")
    sys.stderr.flush()


class Stages:
    """Times named stages and reports progress; a stage entered twice adds up.

    >>> stages = Stages()
    >>> with stages("temporal"):
    ...     stages.step(1, 3)
    >>> list(stages.seconds)
    ['temporal']
    """

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self._current = ""
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        self._current = name
        self.step(0, 0)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def step(self, done: int, total: int, note: str = "") -> None:
        """Say how far the current stage is."""
        if self._progress is not None:
            self._progress(self._current, done, total, note)
