"""Columns of a table that grow part by part where workers compute: their parts stay in files, which workers join."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Protocol, Self

import numpy as np

from dualmatch.engine import Columns


class JoinsOnWorkers(Protocol):
    """What joins columns: a cluster."""

    def joined(self, columns: list[list[np.ndarray]], shifts: list[list[int]]) -> list[np.ndarray]: ...

    def paged(self, value: list[np.ndarray]) -> list[np.ndarray]: ...


class ColumnsOnWorkers(Columns):
    """As `Columns`; workers join all that is larger than `least_bytes`, and the calling process reads none of it."""

    def __init__(self, cluster: JoinsOnWorkers, least_bytes: int) -> None:
        super().__init__()
        self._cluster, self._least_bytes = cluster, least_bytes
        self._columns: list[list[np.ndarray]] = []
        self._shifts: list[list[int]] = []

    def append(self, part: Sequence[np.ndarray], shifts: Sequence[int] | None = None) -> None:
        if not self._columns:
            self._columns, self._shifts = [[] for _ in part], [[] for _ in part]
        for number, column in enumerate(part):
            self._columns[number].append(column)
            self._shifts[number].append(0 if shifts is None else shifts[number])

    def arrays(self) -> list[np.ndarray]:
        return self.arrays_of([self])[0]

    @classmethod
    def arrays_of(cls, tables: Sequence[Self]) -> list[list[np.ndarray]]:
        """All tables that are large are joined in one step."""
        large = [table for table in tables if table._bytes >= table._least_bytes]
        columns = [column for table in large for column in table._columns]
        shifts = [shift for table in large for shift in table._shifts]
        n_columns = [len(table._columns) if table in large else None for table in tables]
        for table in large:
            table._columns, table._shifts = [], []
        joined = iter(large[0]._cluster.joined(columns, shifts) if large else [])
        return [
            table._joined_here() if size is None else list(islice(joined, size))
            for table, size in zip(tables, n_columns, strict=True)
        ]

    @property
    def _bytes(self) -> int:
        return sum(part.nbytes for parts in self._columns for part in parts)

    def _joined_here(self) -> list[np.ndarray]:
        columns, shifts, self._columns, self._shifts = self._columns, self._shifts, [], []
        for parts, of_parts in zip(zip(*columns, strict=True), zip(*shifts, strict=True), strict=True):
            super().append(parts, of_parts)
        return self._cluster.paged(super().arrays())
