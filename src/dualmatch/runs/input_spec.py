"""The two sides of an alignment, from a folder that holds both or from files of each."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from dualmatch.engine import Engine
from dualmatch.errors import SHOWN_PROBLEMS, InputError
from dualmatch.files.compressed import STANDARD_INPUT
from dualmatch.graph.literals import LiteralPair, Literals
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.pairs import NO_PARTNER, Pairs
from dualmatch.links.decisions import is_decisions, read_decisions
from dualmatch.readers.benchmark_folder import BenchmarkFolder, read_folder, read_forbidden_pairs, read_pairs_by_name
from dualmatch.readers.openea import is_openea, read_openea
from dualmatch.readers.options import ReadOptions
from dualmatch.readers.read import Reading, literals_of, read, read_labels
from dualmatch.readers.rejected_lines import Rejections
from dualmatch.runs.kept_graphs import KEPT_GRAPHS, keeps_graphs, read_kept_graphs

logger = logging.getLogger(__name__)

FOLDER_FILES: Final = ("triples_1", "triples_2", "ent_ids_1", "ent_ids_2", "rel_ids_1", "rel_ids_2", "time_id")
OPENEA_FILES: Final = ("rel_triples_1", "rel_triples_2", "attr_triples_1", "attr_triples_2")


@dataclass(frozen=True, eq=False)
class Sides:
    """Two graphs that were read to be aligned.

    Attributes
    ----------
    folder:
        The benchmark folder both graphs come from, if they do.
    """

    readings: tuple[Reading, Reading]
    folder: BenchmarkFolder | None = None

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
        return both

    def read_pairs(self, path: Path) -> Pairs:
        """A file of known pairs as (n, 2) rows: by name, in a benchmark folder by name or id; or accepted decisions."""
        if is_decisions(path):
            return self._rows_of(path, read_decisions(path).accepted)
        if self.folder is not None:
            return self.folder.pairs_at(path)
        return read_pairs_by_name(path, self.source, self.target)

    def read_forbidden(self, path: Path) -> Pairs:
        """A file of forbidden pairs as (n, 2) rows, or rejected decisions; -1 where a source has no partner at all."""
        if is_decisions(path):
            return self._rows_of(path, read_decisions(path).forbidden)
        return read_forbidden_pairs(path, self.source, self.target, self.folder)

    def _rows_of(self, path: Path, pairs: Sequence[tuple[str, str | None]]) -> Pairs:
        """Decisions as rows; those about entities of other graphs are an error."""
        strangers = [
            f"{path}: {name!r} is no entity of {graph.name}; give decisions that were made on these graphs"
            for pair in pairs
            for name, graph in zip(pair, (self.source, self.target), strict=True)
            if name is not None and name not in graph.entity_rows
        ]
        if strangers:
            raise InputError("\n".join(strangers[:SHOWN_PROBLEMS]))
        rows = [(self.source.entity_rows[s], NO_PARTNER if t is None else self.target.entity_rows[t]) for s, t in pairs]
        return np.array(rows, dtype=np.int32).reshape(-1, 2)


@dataclass(frozen=True)
class Recipe:
    """What is to be aligned and how to read it: enough to read it again.

    Parameters
    ----------
    paths:
        One folder of two graphs (a benchmark's, OpenEA's or a run's), or the source and the target.
    options:
        How to read the source and the target.
    source, target:
        More files of a side.
    """

    paths: tuple[Path, ...]
    options: tuple[ReadOptions, ReadOptions]
    source: tuple[Path, ...] = ()
    target: tuple[Path, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        """What is read or would be if it were there, in the order it was given; standard input is not among them."""
        labels = tuple(options.labels for options in self.options if options.labels is not None)
        if self.is_folder and keeps_graphs(self.paths[0]):
            return self.paths[0] / KEPT_GRAPHS, *labels
        if self.is_folder:
            names = OPENEA_FILES if is_openea(self.paths[0]) else FOLDER_FILES
            return (*(self.paths[0] / name for name in names), *labels)
        given = (*self.paths[:1], *self.source, *self.paths[1:], *self.target)
        return tuple(path for path in (*given, *labels) if path != STANDARD_INPUT)

    @property
    def uses_standard_input(self) -> bool:
        return STANDARD_INPUT in (*self.paths, *self.source, *self.target)

    @property
    def is_folder(self) -> bool:
        """Whether one folder holds both graphs."""
        return len(self.paths) == 1 and not self.source and not self.target

    def read(self, engine: Engine | None = None) -> Sides:
        """Read both graphs.

        Parameters
        ----------
        engine:
            Where workers see the files, they read them, each side one.
        """
        sides = self._read(engine)
        _check_labels(sides, self.options)
        return sides

    def _read(self, engine: Engine | None) -> Sides:
        if self.is_folder:
            return _from_folder(self.paths[0], self.options)
        if len(self.paths) not in (0, 2):
            raise InputError(
                f"{len(self.paths)} files given; give one folder of two graphs, or SOURCE and TARGET (more files of a "
                "side with --source FILE and --target FILE)"
            )
        sides = (*self.paths[:1], *self.source), (*self.paths[1:], *self.target)
        for side, files in zip(("source", "target"), sides, strict=True):
            if not files:
                raise InputError(f"no {side} given; give SOURCE and TARGET, or --source FILE and --target FILE")
        if all(STANDARD_INPUT in files for files in sides):
            raise InputError("standard input can be read once only; give one side as a file")
        if engine is not None and not self.uses_standard_input and engine.sees(self.files):
            return Sides(_read_by_workers(self.moved(Path.resolve), engine))
        return Sides((read(sides[0], self.options[0]), read(sides[1], self.options[1])))

    def moved(self, to: Callable[[Path], Path]) -> Recipe:
        """The same with every path changed."""
        options = [each if each.labels is None else replace(each, labels=to(each.labels)) for each in self.options]
        paths, source, target = (tuple(map(to, part)) for part in (self.paths, self.source, self.target))
        return Recipe(paths, (options[0], options[1]), source, target)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with whole paths."""
        whole = self.moved(lambda path: path if path == STANDARD_INPUT else path.resolve())
        return {
            "paths": [str(path) for path in whole.paths],
            "source": [str(path) for path in whole.source],
            "target": [str(path) for path in whole.target],
            "options": [options.as_dict() for options in whole.options],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """What `as_dict` gave; a ValueError, KeyError or TypeError where it is none."""
        paths, source, target = (tuple(Path(text) for text in data[name]) for name in ("paths", "source", "target"))
        first, second = (ReadOptions.from_dict(options) for options in data["options"])
        return cls(paths, (first, second), source, target)


def _read_by_workers(recipe: Recipe, engine: Engine) -> tuple[Reading, Reading]:
    """Each side read by one worker; what it warned of is said here."""
    sides = (*recipe.paths[:1], *recipe.source), (*recipe.paths[1:], *recipe.target)
    readings = []
    for reading, warnings in engine.map(_read_and_heard, list(zip(sides, recipe.options, strict=True))):
        for words in warnings:
            logger.warning("%s", words)
        readings.append(reading)
    return readings[0], readings[1]


def _read_and_heard(files: tuple[Path, ...], options: ReadOptions) -> tuple[Reading, list[str]]:
    """On a worker: one side, and the warnings of reading it."""
    heard: list[str] = []
    ear = logging.Handler(logging.WARNING)
    ear.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    ours = logging.getLogger("dualmatch")
    ours.addHandler(ear)
    try:
        return read(files, options), heard
    finally:
        ours.removeHandler(ear)


def _check_labels(sides: Sides, options: tuple[ReadOptions, ReadOptions]) -> None:
    """Warn of files of labels that name no entity; an `InputError` where none of them does."""
    graphs: dict[Path, list[TemporalGraph]] = {}
    for graph, each in zip((sides.source, sides.target), options, strict=True):
        if each.labels is not None:
            graphs.setdefault(each.labels, []).append(graph)
    strangers = []
    for path, both in graphs.items():
        names = set(read_labels(path)["entity"])
        if names.isdisjoint(name for graph in both for name in graph.entities):
            sides_named = " or ".join(graph.name for graph in both)
            strangers.append(
                f"{path}: none of its {len(names):,} names is an entity of {sides_named}; "
                "check how names are written, and which side it is for (given twice, the first is the source's)"
            )
    if strangers and len(strangers) == len(graphs):
        raise InputError("\n".join(strangers))
    for words in strangers:
        logger.warning(words)


def _from_folder(path: Path, options: tuple[ReadOptions, ReadOptions]) -> Sides:
    if os.path.isfile(path) or path == STANDARD_INPUT:
        raise InputError(f"{path}: is one file; give two, SOURCE and TARGET, or a folder that holds two graphs")
    if keeps_graphs(path):
        kept = read_kept_graphs(path)
        first, second = (
            Reading(graph, literals, Rejections(each.on_error), ())
            for graph, literals, each in zip(kept[:2], kept.literals or (None, None), options, strict=True)
        )
        return Sides((first, second))
    if is_openea(path):
        return Sides((read_openea(path, "1", options[0]), read_openea(path, "2", options[1])))
    _check_layout(path)
    folder = read_folder(path).sorted_by_name()
    source, target = (
        Reading(graph, literals_of(graph, (), each), Rejections(each.on_error), ())
        for graph, each in zip((folder.source, folder.target), options, strict=True)
    )
    return Sides((source, target), folder)


def _check_layout(path: Path) -> None:
    """Refuse a folder that is laid out in no way that is known, with what lies in it."""
    if not os.path.isdir(path) or any(os.path.exists(path / name) for name in (*FOLDER_FILES, *OPENEA_FILES)):
        return
    names = sorted(os.listdir(path))
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
    raise InputError(
        f"{path}: holds neither triples_1 and triples_2 (a benchmark folder) nor rel_triples_1 and rel_triples_2 "
        f"(OpenEA's), but {shown or 'nothing'}; give the two files that are to be aligned, SOURCE and TARGET"
    )
