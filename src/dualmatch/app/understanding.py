"""What was understood of two files, each for itself: read in a process of its own, and kept in a file.

``python -m dualmatch.app.understanding`` reads the pair whose folder it is started in.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import TypeAdapter, ValidationError

from dualmatch.app.workspace import Pair
from dualmatch.config import Config
from dualmatch.errors import DualMatchError, InputError
from dualmatch.files.atomic import write_text
from dualmatch.graph.model import TemporalGraph
from dualmatch.inspection import GraphInspection, TimeOverlap, inspect_graph, time_overlap
from dualmatch.methods.resources import Estimate, estimate, prepare_process, quick_unit_seconds
from dualmatch.readers.read import read
from dualmatch.readers.read_options import ReadOptions
from dualmatch.readers.table_head import ColumnHead, table_head

UNDERSTOOD: Final = "understood.json"
_SHOWN_FACTS: Final = 8
_LARGEST: Final = 1 << 26


@dataclass(frozen=True)
class FactShown:
    """A fact by name; `labels` are those of its head and of its tail, None where they have none."""

    head: str
    relation: str
    tail: str | None
    begin: str | None
    end: str | None
    labels: tuple[str | None, str | None]


@dataclass(frozen=True)
class SideUnderstanding:
    """What was understood of one file; `problem` says why nothing was."""

    problem: str = ""
    inspection: GraphInspection | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    labelled: int = 0  # entities with a label
    facts: tuple[FactShown, ...] = ()  # all that is said of the first entities
    columns: tuple[ColumnHead, ...] | None = None  # of a table


@dataclass(frozen=True)
class Understanding:
    """What was understood of both files, and of the two together."""

    options: tuple[dict[str, Any], dict[str, Any]]  # that they were read with: `ReadOptions.as_dict`
    sides: tuple[SideUnderstanding, SideUnderstanding]
    overlap: TimeOverlap | None = None
    estimate: Estimate | None = None  # of a run

    @property
    def is_whole(self) -> bool:
        """Whether both files could be read."""
        return not any(side.problem for side in self.sides)


_ADAPTER: Final = TypeAdapter(Understanding)


def understanding_of(pair: Pair) -> Understanding | None:
    """What was written down for a pair; None where there is nothing, or where it was read with other options.

    An `InputError` where the pair's own file cannot be read, whatever was written down.
    """
    path, options = pair.folder / UNDERSTOOD, _options(pair)
    try:
        if path.stat().st_size > _LARGEST:
            return None
        found = _ADAPTER.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return found if found.options == options else None


def _options(pair: Pair) -> tuple[dict[str, Any], dict[str, Any]]:
    """What files are read with; which names are compared changes nothing of what is understood."""
    source, target = (replace(each, names=None).as_dict() for each in pair.options.reading)
    return source, target


def understand(pair: Pair) -> Understanding:
    """Read both files; what is wrong with one does not keep the other from being read."""
    sides, graphs = [], []
    for file, options in zip(pair.files, pair.options.reading, strict=True):
        side, graph = _understand(file, options)
        sides.append(side)
        graphs += [] if graph is None else [graph]
    both = Understanding(_options(pair), (sides[0], sides[1]))
    if len(graphs) < 2:
        return both
    overlap = time_overlap(graphs[0], graphs[1])
    return replace(both, overlap=overlap, estimate=estimate(graphs[0], graphs[1], Config(), quick_unit_seconds()))


def _understand(file: Path, options: ReadOptions) -> tuple[SideUnderstanding, TemporalGraph | None]:
    with _Warnings() as warnings:
        try:
            columns = table_head(file, options)
        except DualMatchError:
            columns = None  # reading says what is wrong
        try:
            reading = read([file], replace(options, names="auto"))
        except DualMatchError as error:
            return SideUnderstanding(str(error), columns=columns), None
        except MemoryError:
            return SideUnderstanding(f"{file}: memory ran out; give a smaller file", columns=columns), None
    labels = {} if reading.literals is None else reading.literals.labels
    side = SideUnderstanding(
        inspection=inspect_graph(reading.graph),
        notes=reading.notes,
        warnings=tuple(warnings.said),
        labelled=len(labels),
        facts=tuple(_first_facts(reading.graph, labels)),
        columns=columns,
    )
    return side, reading.graph


def _first_facts(graph: TemporalGraph, labels: Mapping[int, str]) -> Iterator[FactShown]:
    """All that is said of the first entities."""
    heads = np.append(graph.head, graph.dates.entity)
    few = min(_SHOWN_FACTS, len(heads))
    if not few:
        return
    last = np.partition(heads, few - 1)[few - 1]
    facts = graph.head <= last
    columns = {name: getattr(graph, name)[facts] for name in ("head", "relation", "tail", "begin", "end")}
    part = replace(graph, **columns, dates=graph.dates.at(np.flatnonzero(graph.dates.entity <= last)))
    rows = graph.entity_rows
    for head, relation, tail, begin, end in part.to_polars().sort("head", maintain_order=True).head(few).iter_rows():
        names = labels.get(rows[head]), None if tail is None else labels.get(rows[tail])
        yield FactShown(head, relation, tail, begin, end, names)


class _Warnings(logging.Handler):
    """Gathers what readers warn of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())

    def __enter__(self) -> _Warnings:
        logging.getLogger("dualmatch").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("dualmatch").removeHandler(self)


def _main() -> None:
    prepare_process(Config())
    pair = Pair(Path(os.getcwd()))
    text = _ADAPTER.dump_json(understand(pair), ensure_ascii=True).decode()
    write_text(pair.folder / UNDERSTOOD, text)


if __name__ == "__main__":
    try:
        _main()
    except InputError as error:
        sys.exit(f"dualmatch: {error}")
