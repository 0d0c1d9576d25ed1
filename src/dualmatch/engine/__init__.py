"""Where blocks of rows are computed: in this process, or on a Dask cluster; same functions, same bytes.

A step that grows with the graphs is written as a function of one block. Its operands are *placed* once, and the
function is mapped over the blocks:

>>> import numpy as np
>>> from scipy import sparse as sp
>>> def block_times(matrix, first, last, vector):
...     return matrix[first:last] @ vector
>>> matrix, vector, engine = sp.eye(5, format="csr"), np.arange(5.0), InProcess(block_rows=2)
>>> with engine.placed(matrix, vector) as (placed, placed_vector):
...     blocks = engine.map(block_times, [(placed, *span, placed_vector) for span in engine.spans(5)])
>>> np.concatenate(blocks)
array([0., 1., 2., 3., 4.])

No number may depend on how rows are cut into blocks: a row's result comes from that row alone, and what is added up
over blocks are whole numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from dualmatch.errors import ConfigError
from dualmatch.option_texts import MOST_THREADS

T = TypeVar("T")
Spans = list[tuple[int, int]]


class Engine(Protocol):
    """What a place to compute blocks must offer.

    Attributes
    ----------
    threads:
        Threads that one block may use.
    block_rows:
        Rows of a block at most.
    least_entries:
        Products with a vector that come by the hundred, as in Sinkhorn, are worth placing from so many entries on.
    """

    @property
    def threads(self) -> int: ...

    @property
    def block_rows(self) -> int: ...

    @property
    def least_entries(self) -> int: ...

    def spans(self, n_rows: int) -> Spans:
        """First and last + 1 row of each block; one empty block where there is no row."""

    def placed(self, *operands: Any) -> AbstractContextManager[tuple[Any, ...]]:
        """Put arrays and csr matrices where blocks are computed; what is given stands for them in `map`."""

    def sees(self, files: Iterable[Path]) -> bool:
        """Whether others than this process compute, and all of them can read these files."""

    def map(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> list[T]:
        """The function of each item, in order; placed operands among the arguments arrive as what they were."""


@dataclass(frozen=True)
class InProcess:
    """The default engine: this process, with so many threads; blocks one after the other. No result depends on them."""

    threads: int = field(default_factory=lambda: usable_cores())
    block_rows: int = 2**16
    least_entries: ClassVar[int] = 0

    def __post_init__(self) -> None:
        if not 1 <= self.threads <= MOST_THREADS:
            raise ConfigError(
                f"threads: {self.threads:,} is not from 1 to {MOST_THREADS:,}; give what the cores can use"
            )

    def spans(self, n_rows: int) -> Spans:
        return spans_of(n_rows, self.block_rows)

    @contextmanager
    def placed(self, *operands: Any) -> Iterator[tuple[Any, ...]]:
        yield operands

    def sees(self, files: Iterable[Path]) -> bool:
        return False

    def map(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> list[T]:
        return [function(*item) for item in items]


def at_once(calls: Iterable[Callable[[], T]], threads: int) -> list[T]:
    """Results of some calls, in their order; computed side by side where there are several threads.

    Worth it for work on large arrays: numpy and scipy let go of the interpreter while they compute.

    >>> at_once([lambda: 1, lambda: 2], threads=2)
    [1, 2]
    """
    calls = list(calls)
    if min(threads, len(calls)) < 2:
        return [call() for call in calls]
    with ThreadPoolExecutor(min(threads, len(calls))) as pool:
        try:
            return [each.result() for each in [pool.submit(call) for call in calls]]
        except BaseException:  # an error, or Ctrl-C: what has not begun is left undone
            pool.shutdown(cancel_futures=True)
            raise


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spans_of(n_rows: int, block_rows: int) -> Spans:
    """Rows cut into blocks.

    >>> spans_of(5, 2), spans_of(0, 2)
    ([(0, 2), (2, 4), (4, 5)], [(0, 0)])
    """
    return [(first, min(first + block_rows, n_rows)) for first in range(0, max(n_rows, 1), block_rows)]
