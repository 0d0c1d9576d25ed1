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
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from dualmatch.engine.pages import Pages, PageWriter, pages_within
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
    column_threads:
        Threads for work on whole columns: one where memory is short, as each holds columns of its own.
    block_rows:
        Rows of a block at most.
    computes_elsewhere:
        Whether other processes compute on whole columns, so that this one need not hold them.
    least_entries:
        Products with a vector that come by the hundred, as in Sinkhorn, are worth placing from so many entries on.
    """

    @property
    def threads(self) -> int: ...

    @property
    def column_threads(self) -> int: ...

    @property
    def block_rows(self) -> int: ...

    @property
    def computes_elsewhere(self) -> bool: ...

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

    def each(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        """As `map`, one result after the other, so that no more than a few need to be held."""

    def long_blocks(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        """As `each`, for blocks that use all threads of this process by themselves."""

    def on_columns(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> list[T]:
        """As `map`, for a few calls on whole columns; results are `paged`.

        Arrays in the arguments need not be placed, nor those of the object whose method the function is.
        """

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """As `on_columns`, for one call."""

    def paged(self, value: T) -> T:
        """The same value; its large arrays are moved to files where memory is short."""

    def columns(self) -> Columns:
        """Columns to be filled part by part, in files where memory is short."""

    def within(self, limit: int, expected: float) -> AbstractContextManager[Engine]:
        """The engine for work that may not fit into so many bytes of this process's memory.

        Where it is expected to fit, nothing changes before memory is short.
        """


@dataclass(frozen=True)
class InProcess:
    """The default engine: this process, with so many threads; blocks one after the other. No result depends on them."""

    threads: int = field(default_factory=lambda: usable_cores())
    block_rows: int = 2**16
    pages: Pages | None = None  # where large arrays are kept; None: in memory
    computes_elsewhere: ClassVar[bool] = False
    least_entries: ClassVar[int] = 0

    def __post_init__(self) -> None:
        if not 1 <= self.threads <= MOST_THREADS:
            raise ConfigError(
                f"threads: {self.threads:,} is not from 1 to {MOST_THREADS:,}; give what the cores can use"
            )

    @property
    def column_threads(self) -> int:
        return self.threads if self.pages is None or not self.pages.is_open else 1

    def spans(self, n_rows: int) -> Spans:
        return spans_of(n_rows, self.block_rows)

    @contextmanager
    def placed(self, *operands: Any) -> Iterator[tuple[Any, ...]]:
        yield operands

    def sees(self, files: Iterable[Path]) -> bool:
        return False

    def map(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> list[T]:
        return [function(*item) for item in items]

    def each(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        calls = list(items)
        if min(self.threads, len(calls)) < 2:
            yield from (function(*item) for item in calls)
            return
        waiting: deque[Future[T]] = deque()
        with ThreadPoolExecutor(min(self.threads, len(calls))) as pool:
            try:
                for item in calls:
                    if len(waiting) > self.threads:
                        yield waiting.popleft().result()
                    waiting.append(pool.submit(function, *item))
                while waiting:
                    yield waiting.popleft().result()
            except BaseException:  # an error, or Ctrl-C: what has not begun is left undone
                pool.shutdown(cancel_futures=True)
                raise

    def long_blocks(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        return (function(*item) for item in items)

    def on_columns(self, function: Callable[..., T], items: Iterable[tuple[Any, ...]]) -> list[T]:
        return at_once([partial(self._paged_result, function, item) for item in items], self.column_threads)

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        return self.on_columns(function, [arguments])[0]

    def _paged_result(self, function: Callable[..., T], item: tuple[Any, ...]) -> T:
        return self.paged(function(*item))

    def paged(self, value: T) -> T:
        return value if self.pages is None else self.pages.paged(value)

    def columns(self) -> Columns:
        return Columns(self.pages)

    @contextmanager
    def within(self, limit: int, expected: float) -> Iterator[Engine]:
        with pages_within(limit, expected) as pages:
            yield replace(self, pages=pages)


class Columns:
    """Columns of a table that grow part by part.

    >>> columns = Columns()
    >>> columns.append([np.array([1, 2]), np.array([0.5, 0.25])])
    >>> columns.append([np.array([3]), np.array([1.0])])
    >>> [column.tolist() for column in columns.arrays()]
    [[1, 2, 3], [0.5, 0.25, 1.0]]
    """

    def __init__(self, pages: Pages | None = None) -> None:
        self._pages = pages if pages is not None and pages.is_open else None
        self._parts: list[list[np.ndarray]] = []
        self._writers: list[PageWriter] = []

    def append(self, part: Sequence[np.ndarray], shifts: Sequence[int] | None = None) -> None:
        """Some more rows: an array a column, and what is to be added to each."""
        if shifts is not None:
            moved = zip(part, shifts, strict=True)
            part = [column + column.dtype.type(shift) if shift else column for column, shift in moved]
        if self._pages is None:
            self._parts.append(list(part))
            return
        if not self._writers:
            self._writers = [PageWriter(self._pages) for _ in part]
        for writer, column in zip(self._writers, part, strict=True):
            writer.append(column)

    def arrays(self) -> list[np.ndarray]:
        """The whole columns; nothing can be appended any more."""
        if self._pages is not None:
            return [writer.array() for writer in self._writers]
        parts, self._parts = self._parts, []
        return parts[0] if len(parts) == 1 else [np.concatenate(column) for column in zip(*parts, strict=True)]

    @classmethod
    def arrays_of(cls, tables: Sequence[Self]) -> list[list[np.ndarray]]:
        """The whole columns of several tables."""
        return [table.arrays() for table in tables]


def arrays_of(*tables: Columns) -> list[list[np.ndarray]]:
    """The whole columns of several tables; one step where workers join them.

    >>> columns = Columns()
    >>> columns.append([np.array([1, 2])])
    >>> arrays_of(columns)
    [[array([1, 2])]]
    """
    return type(tables[0]).arrays_of(tables)


def called(function: Callable[..., T], *arguments: Any) -> T:
    """The function of its arguments: different functions as one step of an engine.

    >>> InProcess().on_columns(called, [(max, [1, 2]), (len, [1, 2, 3])])
    [2, 3]
    """
    return function(*arguments)


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
