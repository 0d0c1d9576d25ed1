"""Two graphs to align with all that was read with them, and the file in which a run keeps them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from dualmatch.errors import SHOWN_PROBLEMS, InputError, counted
from dualmatch.files.npz import Arrays, Stored, load_arrays, reading_stage, texts_as_arrays, write_arrays
from dualmatch.graph.arrays import NO_PARTNER, Pairs
from dualmatch.graph.entity_dates import EntityDates
from dualmatch.graph.literals import LiteralPair, Literals
from dualmatch.graph.model import TemporalGraph
from dualmatch.links.decisions import is_decisions, read_decisions
from dualmatch.methods.validation import pairs_of_same_ids, with_more_seeds
from dualmatch.readers.benchmark_folder import BenchmarkFolder, read_forbidden_pairs, read_pairs
from dualmatch.readers.read import Reading
from dualmatch.readers.rejected_lines import Rejections

KEPT_GRAPHS: Final = Path("stages", "graphs.npz")
"""Where the graphs lie in the folder of a run."""
_COLUMNS: Final = ("head", "relation", "tail", "begin", "end")
_DATES: Final = ("entity", "relation", "begin", "end")
_SIDES: Final = ("source", "target")


@dataclass(frozen=True, eq=False)
class GraphPair:
    """All that `dualmatch.align` is given, except options; `seeds` and `forbidden` are (n, 2) rows of the graphs."""

    readings: tuple[Reading, Reading]
    folder: BenchmarkFolder | None = None  # the benchmark folder both graphs come from, if they do
    seeds: Pairs | None = None
    forbidden: Pairs | None = None

    @classmethod
    def of(
        cls,
        source: TemporalGraph,
        target: TemporalGraph,
        literals: LiteralPair | None = None,
        seeds: Pairs | None = None,
        forbidden: Pairs | None = None,
        notes: Sequence[str] = (),
        rejected: int = 0,
        left_out: Mapping[str, int] | None = None,
    ) -> Self:
        """Graphs that were read elsewhere; `notes`, the number of `rejected` lines and `left_out` are those of both."""
        rejections = Rejections("skip")
        rejections.total = rejected
        first, second = literals or (None, None)
        of_source = Reading(source, first, rejections, tuple(notes), left_out=left_out or {})
        readings = of_source, Reading(target, second, Rejections(), ())
        return cls(readings, None, seeds, forbidden)

    @property
    def source(self) -> TemporalGraph:
        return self.readings[0].graph

    @property
    def target(self) -> TemporalGraph:
        return self.readings[1].graph

    @property
    def literals(self) -> LiteralPair | None:
        """Labels and other literals of both sides; None where neither's were asked for."""
        source, target = (reading.literals for reading in self.readings)
        if source is None and target is None:
            return None
        return source or Literals.of_labels({}, self.source), target or Literals.of_labels({}, self.target)

    def with_names_noted(self, demanded: bool, are_ids: bool = False) -> Self:
        """The same with a note on the labels that are compared; without labels where one side has none.

        Those that were `demanded` stay: `align` warns of them. `are_ids`: on a side at least, ids count as labels.
        """
        labelled = [0 if each.literals is None else len(each.literals.labels) for each in self.readings]
        if all(labelled):
            counts = f"{labelled[0]:,} and {labelled[1]:,} entities"
            words = (
                f"comparing ids as names: those of {counts}" if are_ids else f"comparing names: {counts} have a label"
            )
            return self._with_note(words)
        if demanded:
            return self
        source, target = (replace(reading, literals=None) for reading in self.readings)
        found = replace(self, readings=(source, target))
        if not any(labelled):
            return found
        without = self.readings[labelled.index(0)].graph.name
        return found._with_note(f"names are not compared: no entity of {without} has a label")

    def with_same_ids(self) -> Self:
        """The same with entities of one id on both sides as seeds; blank nodes have no id."""
        rows = pairs_of_same_ids(self.source, self.target)
        words = "no entity has the same id on both sides, so ids give no seeds"
        if len(rows):
            words = f"{counted(len(rows), 'entity has', 'entities have')} the same id on both sides: taken as seeds"
        return replace(self, seeds=rows)._with_note(words)

    def _with_note(self, note: str) -> Self:
        source, target = self.readings
        return replace(self, readings=(source, replace(target, notes=(*target.notes, note))))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was guessed or left out on either side."""
        return self.readings[0].notes + self.readings[1].notes

    @property
    def rejections(self) -> Rejections:
        """The lines of both sides that were left out."""
        both = Rejections("skip")
        for reading in self.readings:
            both.kept += reading.rejections.kept
            both.total += reading.rejections.total
            both.values += reading.rejections.values
        return both

    @property
    def report(self) -> dict[str, Any]:
        """Notes, the number of rejected lines, and what else was left out by kind, for JSON."""
        return reading_report(self.readings)

    def with_pairs(self, seeds: Path | None, forbidden: Path | None) -> Self:
        """The same with the pairs of files; they win over seeds that were there."""
        known = None if seeds is None else self.read_pairs(seeds)
        apart = None if forbidden is None else self.read_forbidden(forbidden)
        if self.seeds is not None:
            none = np.zeros((0, 2), np.int32)
            known = with_more_seeds(none if known is None else known, self.seeds, none if apart is None else apart)
        return replace(self, seeds=known, forbidden=apart)

    def read_pairs(self, path: Path) -> Pairs:
        """A file of known pairs as (n, 2) rows: by name, in a benchmark folder by name or id; or accepted decisions."""
        if is_decisions(path):
            return self._rows_of(path, read_decisions(path).accepted)
        if self.folder is not None:
            return self.folder.pairs_at(path)
        return read_pairs(path, self.source, self.target)

    def read_forbidden(self, path: Path) -> Pairs:
        """A file of forbidden pairs as (n, 2) rows, or rejected decisions; -1 where a source has no partner at all."""
        if is_decisions(path):
            return self._rows_of(path, read_decisions(path).forbidden)
        return read_forbidden_pairs(path, self.source, self.target, self.folder)

    def _rows_of(self, path: Path, pairs: Sequence[tuple[str, str | None]]) -> Pairs:
        """Decisions as rows; those about entities of other graphs are an error."""
        unknown = [
            f"{path}: {name!r} is not an entity of {graph.name}; give decisions that were made on these graphs"
            for pair in pairs
            for name, graph in zip(pair, (self.source, self.target), strict=True)
            if name is not None and name not in graph.entity_rows
        ]
        if unknown:
            raise InputError("\n".join(unknown[:SHOWN_PROBLEMS]))
        rows = [(self.source.entity_rows[s], NO_PARTNER if t is None else self.target.entity_rows[t]) for s, t in pairs]
        return np.array(rows, dtype=np.int32).reshape(-1, 2)


def reading_report(readings: Sequence[Reading]) -> dict[str, Any]:
    """What there is to report of some graphs that were read, as plain data."""
    return {
        "notes": [note for reading in readings for note in reading.notes],
        "rejected": sum(reading.rejections.total for reading in readings),
        "left_out": dict(sum((Counter(reading.left_out) for reading in readings), Counter())),
    }


def keeps_graphs(folder: Path) -> bool:
    """Whether a folder is that of a run that has read its graphs."""
    return os.path.isfile(folder / KEPT_GRAPHS)


def write_graph_pair(pair: GraphPair, path: Path) -> None:
    """Keep a pair in a file."""
    arrays: Arrays = {}
    graphs = (pair.source, pair.target)
    for side, graph in zip(_SIDES, graphs, strict=True):
        arrays |= {f"{side}.{column}": getattr(graph, column) for column in _COLUMNS}
        if len(graph.dates):
            arrays |= {f"{side}.dates.{column}": getattr(graph.dates, column) for column in _DATES}
        arrays |= texts_as_arrays(f"{side}.entities", graph.entities)
        arrays |= texts_as_arrays(f"{side}.relations", graph.relations)
        if graph.labels:
            arrays |= texts_as_arrays(f"{side}.labels.name", [*graph.labels])
            arrays |= texts_as_arrays(f"{side}.labels.label", [*graph.labels.values()])
    for side, literals in zip(_SIDES, pair.literals or (), strict=False):
        arrays[f"{side}.literals.entity"] = literals.entity
        arrays |= texts_as_arrays(f"{side}.literals.attribute", literals.attribute)
        arrays |= texts_as_arrays(f"{side}.literals.value", literals.value)
    arrays |= {} if pair.seeds is None else {"seeds": pair.seeds}
    arrays |= {} if pair.forbidden is None else {"forbidden": pair.forbidden}
    about = [{"name": graph.name, "opaque_times": graph.opaque_times} for graph in graphs]
    write_arrays(path, {"graphs": about, **pair.report}, arrays)


def read_graph_pair(path: Path) -> GraphPair:
    """Read what `write_graph_pair` kept; an `InputError` where it is something else."""
    with reading_stage(path):
        stored = load_arrays(path)
        about = stored.about
        source, target = (_graph(stored, side, each) for side, each in zip(_SIDES, about["graphs"], strict=True))
        graphs = source, target
        has_literals = "source.literals.entity" in stored.arrays
        literals = (_literals(stored, "source", source), _literals(stored, "target", target)) if has_literals else None
        seeds, forbidden = (
            checked_pairs(stored, name, graphs) if name in stored.arrays else None for name in ("seeds", "forbidden")
        )
        notes, left_out = [*map(str, about["notes"])], {str(k): int(n) for k, n in about.get("left_out", {}).items()}
        return GraphPair.of(*graphs, literals, seeds, forbidden, notes, int(about["rejected"]), left_out)


def checked_pairs(stored: Stored, name: str, graphs: tuple[TemporalGraph, TemporalGraph]) -> Pairs:
    """Stored pairs of rows, each a row of its graph; forbidden ones may have `NO_PARTNER` for a target."""
    pairs: Pairs = stored.array(name, "whole", None, 2, least=NO_PARTNER)
    least = (0, NO_PARTNER if name == "forbidden" else 0)
    if len(pairs) and not all(
        low <= pairs[:, side].min() and pairs[:, side].max() < graphs[side].n_entities for side, low in enumerate(least)
    ):
        raise ValueError(f"{name} holds rows that the graphs do not have")
    return pairs


def _graph(stored: Stored, side: str, about: dict[str, Any]) -> TemporalGraph:
    head, relation, tail, begin, end = (stored.arrays[f"{side}.{column}"] for column in _COLUMNS)
    names = stored.texts(f"{side}.entities"), stored.texts(f"{side}.relations")
    kept = [stored.arrays.get(f"{side}.dates.{column}", head[:0]) for column in _DATES]
    name, opaque = str(about["name"]), bool(about["opaque_times"])
    labels: dict[str, str] = {}
    if f"{side}.labels.name.ends" in stored.arrays:  # earlier versions kept none
        labels = dict(zip(*(stored.texts(f"{side}.labels.{part}") for part in ("name", "label")), strict=True))
    columns = head, relation, tail, begin, end, *names
    return TemporalGraph(*columns, name=name, opaque_times=opaque, dates=EntityDates(*kept), labels=labels)


def _literals(stored: Stored, side: str, graph: TemporalGraph) -> Literals:
    entity = stored.array(f"{side}.literals.entity", "whole", None, below=graph.n_entities).astype(np.int32)
    attribute, value = (stored.texts(f"{side}.literals.{column}") for column in ("attribute", "value"))
    if not len(entity) == len(attribute) == len(value):
        raise ValueError("the columns of literals differ in length")
    return Literals(entity, attribute, value)
