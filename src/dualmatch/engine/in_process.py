"""Blocks one after the other in this process; a block may use several threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from dualmatch.engine.blocks import Spans, T, spans_of


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class InProcess:
    """The default engine.

    Parameters
    ----------
    threads:
        Threads a block, by default the cores of the machine. No result depends on it.
    block_rows:
        Rows a block.
    """

    threads: int = field(default_factory=usable_cores)
    block_rows: int = 2**16
    least_entries: ClassVar[int] = 0

    def spans(self, n_rows: int) -> Spans:
        return spans_of(n_rows, self.block_rows)

    @contextmanager
    def placed(self, *operands: Any) -> Iterator[tuple[Any, ...]]:
        yield operands

    def sees(self, files: Iterable[Path]) -> bool:
        return False

    def map(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> list[T]:
        return [function(*item) for item in items]
