"""What a place to compute blocks must offer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Spans = list[tuple[int, int]]


class Engine(Protocol):
    """Computes functions of blocks; see the room's text.

    Attributes
    ----------
    threads:
        What one block may use.
    block_rows:
        Rows a block at most.
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


def spans_of(n_rows: int, block_rows: int) -> Spans:
    """Rows cut into blocks.

    >>> spans_of(5, 2), spans_of(0, 2)
    ([(0, 2), (2, 4), (4, 5)], [(0, 0)])
    """
    return [(first, min(first + block_rows, n_rows)) for first in range(0, max(n_rows, 1), block_rows)]
