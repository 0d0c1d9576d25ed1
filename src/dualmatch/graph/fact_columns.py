"""What a graph says, without its names: columns that can be moved to files or to another process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dualmatch.graph.arrays import Ints
from dualmatch.graph.entity_dates import EntityDates


@dataclass(frozen=True, eq=False)
class FactColumns:
    """The columns of a `TemporalGraph`, and a hash of each name in the place of the name."""

    head: Ints
    relation: Ints
    tail: Ints
    begin: Ints
    end: Ints
    dates: EntityDates
    entity_hashes: NDArray[np.uint64]
    relation_hashes: NDArray[np.uint64]
    opaque_times: bool

    @property
    def n_entities(self) -> int:
        return len(self.entity_hashes)

    @property
    def n_relations(self) -> int:
        return len(self.relation_hashes)

    @property
    def n_facts(self) -> int:
        return len(self.head)

    @cached_property
    def times(self) -> tuple[Ints, Ints]:
        """Begins and ends of all facts, then those of all entity dates."""
        return all_times(self.begin, self.end, self.dates)


def all_times(begin: Ints, end: Ints, dates: EntityDates) -> tuple[Ints, Ints]:
    """Begins and ends of all facts, then those of all entity dates."""
    if not len(dates):
        return begin, end
    return np.append(begin, dates.begin), np.append(end, dates.end)
