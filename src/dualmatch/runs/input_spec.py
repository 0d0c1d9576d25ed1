"""What is to be aligned and how to read it: a folder that holds both graphs, or files of each."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from pydantic import TypeAdapter

from dualmatch.engine import Engine
from dualmatch.errors import InputError
from dualmatch.files.compressed import STANDARD_INPUT
from dualmatch.files.fingerprint import sha256_of
from dualmatch.graph.model import TemporalGraph
from dualmatch.readers.benchmark_folder import is_openea, read_folder, read_openea
from dualmatch.readers.read import Reading, labelled, literals_of, read
from dualmatch.readers.read_options import ReadOptions
from dualmatch.readers.rejected_lines import Rejections
from dualmatch.readers.shown_labels import read_labels
from dualmatch.runs.graph_pair import KEPT_GRAPHS, GraphPair, keeps_graphs, read_graph_pair

logger = logging.getLogger(__name__)

FOLDER_FILES: Final = ("triples_1", "triples_2", "ent_ids_1", "ent_ids_2", "rel_ids_1", "rel_ids_2", "time_id")
OPENEA_FILES: Final = ("rel_triples_1", "rel_triples_2", "attr_triples_1", "attr_triples_2")


@dataclass(frozen=True)
class InputSpec:
    """Which graphs to align and how to read them."""

    paths: tuple[Path, ...]  # a folder of two graphs (a benchmark's, OpenEA's or a run's), or the source and the target
    options: tuple[ReadOptions, ReadOptions]  # how to read the source and the target
    source: tuple[Path, ...] = ()  # more files of a side
    target: tuple[Path, ...] = ()

    @property
    def sides(self) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """The files of the source and of the target."""
        return (*self.paths[:1], *self.source), (*self.paths[1:], *self.target)

    @property
    def files(self) -> tuple[Path, ...]:
        """What is read, or would be if it existed, in the order it was given; without standard input."""
        labels = tuple(options.labels for options in self.options if options.labels is not None)
        if self.is_folder and keeps_graphs(self.paths[0]):
            return self.paths[0] / KEPT_GRAPHS, *labels
        if self.is_folder:
            names = OPENEA_FILES if is_openea(self.paths[0]) else FOLDER_FILES
            return (*(self.paths[0] / name for name in names), *labels)
        return tuple(path for path in (*self.sides[0], *self.sides[1], *labels) if path != STANDARD_INPUT)

    @property
    def uses_standard_input(self) -> bool:
        return STANDARD_INPUT in (*self.paths, *self.source, *self.target)

    @property
    def is_folder(self) -> bool:
        """Whether one folder holds both graphs."""
        return len(self.paths) == 1 and not self.source and not self.target

    def hashes(
        self, known: Mapping[str, str | None] | None = None, also: Iterable[Path | None] = ()
    ) -> dict[str, str | None]:
        """SHA-256 of each file, and of those that the run reads `also`, by absolute path; None where there is none.

        `known` are hashes that were taken already, when the run began.
        """
        known, hashes = known or {}, {}
        for path in self.files:
            name = str(path.resolve())
            hashes[name] = known[name] if name in known else sha256_of(path) if path.is_file() else None
        return hashes | {str(path.resolve()): sha256_of(path) for path in also if path is not None}

    def read(self, engine: Engine | None = None, compares: bool = True) -> GraphPair:
        """Read both graphs; where the engine's workers see the files, each side is read by one of them.

        `compares`: whether names will be compared, which needs labels on both sides and is noted.
        """
        pair = _from_folder(self.paths[0], self.options) if self.is_folder else GraphPair(self._read_files(engine))
        _check_labels(pair, self.options)
        if not compares:
            return pair
        demanded = any(each.demands_names for each in self.options)
        return pair.with_names_noted(demanded, are_ids=any(each.names == "ids" for each in self.options))

    def _read_files(self, engine: Engine | None) -> tuple[Reading, Reading]:
        if len(self.paths) not in (0, 2):
            raise InputError(
                f"{len(self.paths)} files given; give one folder of two graphs, or SOURCE and TARGET (more files of a "
                "side with --source FILE and --target FILE)"
            )
        for side, files in zip(("source", "target"), self.sides, strict=True):
            if not files:
                raise InputError(f"no {side} given; give SOURCE and TARGET, or --source FILE and --target FILE")
        if all(STANDARD_INPUT in files for files in self.sides):
            raise InputError("standard input can be read once only; give one side as a file")
        if engine is None or self.uses_standard_input or not engine.sees(self.files):
            first, second = (read(files, each) for files, each in zip(self.sides, self.options, strict=True))
            return first, second
        seen = self.moved(Path.resolve)
        readings = []
        for reading, warnings in engine.map(_read_on_worker, list(zip(seen.sides, seen.options, strict=True))):
            for warning in warnings:
                logger.warning("%s", warning)
            readings.append(reading)
        return readings[0], readings[1]

    def moved(self, to: Callable[[Path], Path]) -> InputSpec:
        """The same with every path changed."""
        options = [each if each.labels is None else replace(each, labels=to(each.labels)) for each in self.options]
        paths, source, target = (tuple(map(to, part)) for part in (self.paths, self.source, self.target))
        return InputSpec(paths, (options[0], options[1]), source, target)

    def files_as_dict(self) -> dict[str, list[str]]:
        """Which files are read, as plain data with absolute paths."""
        parts = {"paths": self.paths, "source": self.source, "target": self.target}
        return {
            name: [str(path if path == STANDARD_INPUT else path.resolve()) for path in paths]
            for name, paths in parts.items()
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """What `files_as_dict` gave, with ``options`` of both sides; a ValueError where it is invalid."""
        return TypeAdapter(cls).validate_python(data)


def _read_on_worker(files: tuple[Path, ...], options: ReadOptions) -> tuple[Reading, list[str]]:
    """One side, and the warnings of reading it."""
    warnings: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
    ours = logging.getLogger("dualmatch")
    ours.addHandler(handler)
    try:
        return read(files, options), warnings
    finally:
        ours.removeHandler(handler)


def _check_labels(pair: GraphPair, options: tuple[ReadOptions, ReadOptions]) -> None:
    """Warn of files of labels that name no entity; an `InputError` where none of them does."""
    graphs: dict[Path, list[TemporalGraph]] = {}
    for graph, each in zip((pair.source, pair.target), options, strict=True):
        if each.labels is not None:
            graphs.setdefault(each.labels, []).append(graph)
    useless = []
    for path, named in graphs.items():
        names = set(read_labels(path)["entity"])
        if names.isdisjoint(name for graph in named for name in graph.entities):
            useless.append(
                f"{path}: none of its {len(names):,} names is an entity of "
                f"{' or '.join(graph.name for graph in named)}; "
                "check how names are written, and which side it is for (given twice, the first is the source's)"
            )
    if useless and len(useless) == len(graphs):
        raise InputError("\n".join(useless))
    for problem in useless:
        logger.warning(problem)


def _from_folder(path: Path, options: tuple[ReadOptions, ReadOptions]) -> GraphPair:
    if os.path.isfile(path) or path == STANDARD_INPUT:
        raise InputError(f"{path}: is one file; give two, SOURCE and TARGET, or a folder that holds two graphs")
    if keeps_graphs(path):
        kept = read_graph_pair(path / KEPT_GRAPHS)
        return GraphPair.of(kept.source, kept.target, kept.literals)
    if is_openea(path):
        return GraphPair((read_openea(path, "1", options[0]), read_openea(path, "2", options[1])))
    _check_layout(path)
    folder = read_folder(path, options[0].on_error, options[0].time_format).sorted_by_name()
    first, second = (
        Reading(labelled(graph, (), each), literals_of(graph, (), each), Rejections(each.on_error), ())
        for graph, each in zip((folder.source, folder.target), options, strict=True)
    )
    return GraphPair((first, second), folder)


def _check_layout(path: Path) -> None:
    """Refuse a folder of an unknown layout, with what lies in it."""
    if not os.path.isdir(path) or any(os.path.exists(path / name) for name in (*FOLDER_FILES, *OPENEA_FILES)):
        return
    names = sorted(os.listdir(path))
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
    raise InputError(
        f"{path}: holds neither triples_1 and triples_2 (a benchmark folder) nor rel_triples_1 and rel_triples_2 "
        f"(OpenEA's), but {shown or 'nothing'}; give the two files to be aligned, SOURCE and TARGET"
    )
