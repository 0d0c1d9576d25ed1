"""Graphs as a run keeps them: both, with their literals, among the arrays of one file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from dualmatch.files.npz import Arrays, Stored, read_arrays, texts_as_arrays
from dualmatch.graph.literals import LiteralPair, Literals
from dualmatch.graph.model import TemporalGraph

KEPT_GRAPHS: Final = Path("stages", "graphs.npz")
"""Where they lie in the folder of a run."""
_COLUMNS: Final = ("head", "relation", "tail", "begin", "end")
_SIDES: Final = ("source", "target")


class KeptGraphs(NamedTuple):
    """Two graphs, and their literals if they were asked for."""

    source: TemporalGraph
    target: TemporalGraph
    literals: LiteralPair | None

    def as_arrays(self) -> Arrays:
        arrays: Arrays = {}
        for side, graph in zip(_SIDES, (self.source, self.target), strict=True):
            arrays |= {f"{side}.{column}": getattr(graph, column) for column in _COLUMNS}
            arrays |= texts_as_arrays(f"{side}.entities", graph.entities)
            arrays |= texts_as_arrays(f"{side}.relations", graph.relations)
        for side, literals in zip(_SIDES, self.literals or (), strict=False):
            arrays[f"{side}.literals.entity"] = literals.entity
            arrays |= texts_as_arrays(f"{side}.literals.attribute", literals.attribute)
            arrays |= texts_as_arrays(f"{side}.literals.value", literals.value)
        return arrays

    def about(self) -> list[dict[str, Any]]:
        """What is to be said of each graph beside its arrays."""
        return [{"name": graph.name, "opaque_times": graph.opaque_times} for graph in (self.source, self.target)]

    @classmethod
    def of(cls, stored: Stored) -> KeptGraphs:
        source, target = (_graph(stored, number) for number in range(2))
        literals = None
        if "source.literals.entity" in stored.arrays:
            literals = _literals(stored, "source"), _literals(stored, "target")
        return cls(source, target, literals)


def keeps_graphs(folder: Path) -> bool:
    """Whether a folder is that of a run that has read its graphs."""
    return os.path.isfile(folder / KEPT_GRAPHS)


def read_kept_graphs(folder: Path) -> KeptGraphs:
    """The graphs of a run, by its folder."""
    return KeptGraphs.of(read_arrays(folder / KEPT_GRAPHS))


def _graph(stored: Stored, number: int) -> TemporalGraph:
    side, about = _SIDES[number], stored.about["graphs"][number]
    head, relation, tail, begin, end = (stored.arrays[f"{side}.{column}"] for column in _COLUMNS)
    return TemporalGraph(
        *(head, relation, tail, begin, end),
        stored.texts(f"{side}.entities"),
        stored.texts(f"{side}.relations"),
        name=about["name"],
        opaque_times=about["opaque_times"],
    )


def _literals(stored: Stored, side: str) -> Literals:
    entity = stored.arrays[f"{side}.literals.entity"].astype(np.int32)
    attribute, value = (stored.texts(f"{side}.literals.{column}") for column in ("attribute", "value"))
    return Literals(entity, attribute, value)
