"""What `align` accepts: seeds as rows or names, graphs that something can be said about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dualmatch.alignment import Pairs
from dualmatch.errors import InputError
from dualmatch.graph.matrices import shared_intervals
from dualmatch.graph.model import TemporalGraph

Seeds = Pairs | Iterable[tuple[str, str]]


def check_seeds(seeds: Seeds | None, source: TemporalGraph, target: TemporalGraph) -> Pairs:
    """Seeds as (n, 2) rows; unknown entities and entities given twice are errors."""
    if seeds is None:
        return np.zeros((0, 2), np.int32)
    if isinstance(seeds, np.ndarray) and np.issubdtype(seeds.dtype, np.integer):
        pairs = seeds.reshape(-1, 2).astype(np.int32)
    else:
        pairs = _rows_of_names([(str(s), str(t)) for s, t in seeds], source, target)
    for side, graph, column in (("source", source, pairs[:, 0]), ("target", target, pairs[:, 1])):
        if len(column) and (column.min() < 0 or column.max() >= graph.n_entities):
            raise InputError(f"seeds: a {side} row lies outside 0…{graph.n_entities - 1}")
        values, counts = np.unique(column, return_counts=True)
        if (counts > 1).any():
            name = graph.entities[int(values[counts > 1][0])]
            raise InputError(f"seeds: {side} entity {name!r} stands in {int(counts.max())} pairs; seeds are 1-to-1")
    return pairs


def _rows_of_names(names: Sequence[tuple[str, str]], source: TemporalGraph, target: TemporalGraph) -> Pairs:
    for side, graph, position in (("source", source, 0), ("target", target, 1)):
        unknown = [pair[position] for pair in names if pair[position] not in graph.entity_rows]
        if unknown:
            raise InputError(
                f"seeds: {len(unknown)} {side} entities are not in {graph.name}, {unknown[0]!r} among them"
            )
    rows = [(source.entity_rows[s], target.entity_rows[t]) for s, t in names]
    return np.array(rows, dtype=np.int32).reshape(-1, 2)


def check_graphs(source: TemporalGraph, target: TemporalGraph) -> None:
    """An empty graph cannot be aligned."""
    for graph in (source, target):
        if graph.n_facts == 0:
            raise InputError(f"{graph.name}: no facts; an empty graph cannot be aligned")


def why_time_is_no_help(source: TemporalGraph, target: TemporalGraph) -> str | None:
    """What keeps time from telling entities apart, in words; None where it can."""
    for graph in (source, target):
        if not graph.has_times:
            return f"{graph.name}: no fact has a time, so time cannot tell its entities apart"
    intervals = shared_intervals(source, target)
    if not len(np.intersect1d(intervals.source[intervals.source >= 0], intervals.target[intervals.target >= 0])):
        return f"{source.name} and {target.name} have no time in common; check their date formats and spans"
    return None
