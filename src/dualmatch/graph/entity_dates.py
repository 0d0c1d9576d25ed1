"""Entity dates: when something happened to one entity, such as its birth; facts with a date and without a tail."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dualmatch.errors import InputError
from dualmatch.graph.arrays import Ids, Ints
from dualmatch.graph.times import UNKNOWN


@dataclass(frozen=True, eq=False)
class EntityDates:
    """Rows (entity, relation, begin, end) as int32 columns: entities and relations are rows of the graph's own names.

    A point in time has begin = end; of an interval one end may be `UNKNOWN`, but not both.

    >>> EntityDates.of_rows([(0, 0, 755072, 755072)]).entity.tolist(), len(EntityDates.none())
    ([0], 0)
    """

    entity: Ints
    relation: Ints
    begin: Ints
    end: Ints

    def __post_init__(self) -> None:
        for column in fields(self):
            object.__setattr__(self, column.name, int32_column(getattr(self, column.name), f"dates.{column.name}"))
        if len({len(getattr(self, column.name)) for column in fields(self)}) != 1:
            raise InputError("the columns of entity dates differ in length")
        if ((self.begin == UNKNOWN) & (self.end == UNKNOWN)).any():
            raise InputError("an entity date has neither begin nor end; leave it out")

    @classmethod
    def of_rows(cls, rows: list[tuple[int, int, int, int]] | NDArray[np.integer]) -> Self:
        """From rows (entity, relation, begin, end)."""
        entity, relation, begin, end = np.asarray(rows, dtype=np.int32).reshape(-1, 4).T
        return cls(entity, relation, begin, end)

    @classmethod
    def none(cls) -> Self:
        return cls.of_rows([])

    def __len__(self) -> int:
        return len(self.entity)

    @property
    def rows(self) -> Ids:
        """(n, 4) int64: entity, relation, begin, end."""
        return np.stack([self.entity, self.relation, self.begin, self.end], axis=1).astype(np.int64)

    def at(self, rows: NDArray[np.integer]) -> Self:
        """Some of the dates."""
        return type(self).of_rows(self.rows[rows])

    def renumbered(self, entity_row: NDArray[np.integer], relation_row: NDArray[np.integer]) -> Self:
        """The same dates, sorted, under other numbers of entities and relations."""
        rows = np.stack([entity_row[self.entity], relation_row[self.relation], self.begin, self.end], axis=1)
        return type(self).of_rows(rows[np.lexsort(rows.T[::-1])])


def int32_column(given: object, column: str) -> Ints:
    """A read-only int32 copy of a column: the caller's own array stays writable and apart."""
    array = np.asarray(given)
    values = array.astype(np.int32)
    if array.ndim != 1 or not np.array_equal(values, array):
        raise InputError(f"column {column} is not an array of whole numbers that fit into 32 bits")
    values.flags.writeable = False
    return values
