"""Labels and other literals of entities, kept beside the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.errors import InputError
from dualmatch.graph.arrays import Ints
from dualmatch.graph.frames import ArrowFrame, frame_of, is_frame
from dualmatch.graph.model import TemporalGraph

LABEL: Final = "label"
"""The attribute of labels, whatever a format calls them."""
ALIAS: Final = "alias"
"""The attribute of other names: compared like labels, never shown for one."""
NAMING: Final = (LABEL, ALIAS)


@dataclass(frozen=True, eq=False, repr=False)
class Literals:
    """Rows (entity, attribute, value), sorted."""

    entity: Ints  # (n,): rows of the graph's entities
    # (n,) text: labels have the attribute `LABEL`
    attribute: tuple[str, ...]
    value: tuple[str, ...]

    @classmethod
    def of(cls, table: pl.DataFrame, graph: TemporalGraph) -> Self:
        """From columns ``entity`` (a name), ``attribute`` and ``value``; names that are not entities are left out."""
        rows = pl.DataFrame({"entity": pl.Series(graph.entities, dtype=pl.String)}).with_row_index("row")
        found = (
            table.join(rows, on="entity").select("row", "attribute", "value").unique().sort("row", "attribute", "value")
        )
        return cls(found["row"].to_numpy().astype(np.int32), tuple(found["attribute"]), tuple(found["value"]))

    @cached_property
    def labels(self) -> dict[int, str]:
        """The first label of each entity row that has one."""
        labels: dict[int, str] = {}
        for row, attribute, value in zip(self.entity.tolist(), self.attribute, self.value, strict=True):
            if attribute == LABEL:
                labels.setdefault(row, value)
        return labels

    @classmethod
    def of_labels(cls, labels: Mapping[str, str] | ArrowFrame, graph: TemporalGraph) -> Self:
        """From the label of each entity name, or from a data frame of two columns: names and labels.

        >>> graph = TemporalGraph.from_facts([("Q7", "P2", "Q9")])
        >>> Literals.of_labels({"Q7": "Ada", "Q9": "Charles"}, graph)
        Literals(2 values, 2 entities with a label)
        """
        if not isinstance(graph, TemporalGraph):
            raise InputError(f"labels: give the TemporalGraph they belong to, not {type(graph).__name__}")
        if isinstance(labels, Mapping):
            rows = pl.DataFrame({"entity": [*labels], "value": [*labels.values()]}, strict=False)
        elif is_frame(labels):
            rows = frame_of(labels, "labels")
            if rows.width != 2:
                raise InputError(f"labels: a frame of {rows.width} columns; give two, the entity's name and its label")
            rows = rows.rename(dict(zip(rows.columns, ("entity", "value"), strict=True)))
        else:
            raise InputError(f"labels: {type(labels).__name__}; give a dict of names and labels, or a frame of both")
        try:
            rows = rows.select(pl.col("entity", "value").cast(pl.String))
        except pl.exceptions.PolarsError:
            raise InputError("labels: names and labels are texts; give them as such") from None
        return cls.of(rows.drop_nulls().with_columns(attribute=pl.lit(LABEL)), graph)

    def values_of(self, row: int) -> tuple[str, ...]:
        """All labels and other literals of an entity row."""
        first, last = np.searchsorted(self.entity, [row, row + 1]).tolist()
        return self.value[first:last]

    def moved(self, row_of: NDArray[np.integer]) -> Self:
        """The same for entities that have other rows now."""
        return self._sorted(row_of[self.entity], self.attribute, self.value)

    def joined(self, more: Literals | None) -> Self:
        """These and more of the same graph, each once."""
        if more is None or not len(more):
            return self
        entity = np.concatenate([self.entity, more.entity])
        return self._sorted(entity, self.attribute + more.attribute, self.value + more.value)

    @classmethod
    def _sorted(cls, entity: NDArray[np.integer], attribute: Sequence[str], value: Sequence[str]) -> Self:
        rows = sorted({*zip(entity.tolist(), attribute, value, strict=True)})
        columns = tuple(zip(*rows, strict=True)) or ((), (), ())
        return cls(np.array(columns[0], dtype=np.int32), columns[1], columns[2])

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"Literals({len(self):,} values, {len(self.labels):,} entities with a label)"


LiteralPair = tuple[Literals, Literals]
"""Literals of the source and of the target."""
