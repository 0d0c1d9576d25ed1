"""The two sides of an alignment, from a folder that holds both or from files of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dualmatch.errors import InputError
from dualmatch.graph.model import TemporalGraph
from dualmatch.io.folder import BenchmarkFolder, Pairs, read_folder, read_pairs_by_name
from dualmatch.io.intake import ReadOptions
from dualmatch.io.openea import is_openea, read_openea
from dualmatch.io.opening import STANDARD_INPUT
from dualmatch.io.read import Reading, read
from dualmatch.io.rejections import Rejections

FOLDER_FILES: Final = ("triples_1", "triples_2", "ent_ids_1", "ent_ids_2", "rel_ids_1", "rel_ids_2", "time_id")
OPENEA_FILES: Final = ("rel_triples_1", "rel_triples_2", "attr_triples_1", "attr_triples_2")


@dataclass(frozen=True, eq=False)
class Sides:
    """Two graphs that were read to be aligned.

    Attributes
    ----------
    files:
        What was read, for hashes and to keep outputs off it; standard input is not among them.
    folder:
        The benchmark folder both graphs come from, if they do.
    """

    readings: tuple[Reading, Reading]
    files: tuple[Path, ...]
    folder: BenchmarkFolder | None = None

    @property
    def source(self) -> TemporalGraph:
        return self.readings[0].graph

    @property
    def target(self) -> TemporalGraph:
        return self.readings[1].graph

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
        """A file of known pairs as (n, 2) rows: by name, in a benchmark folder by name or id."""
        if self.folder is not None:
            return self.folder.read_pairs(path)
        return read_pairs_by_name(path, self.source, self.target)


def read_sides(
    paths: Sequence[Path],
    options: tuple[ReadOptions, ReadOptions],
    source: Sequence[Path] = (),
    target: Sequence[Path] = (),
) -> Sides:
    """Read what is to be aligned.

    Parameters
    ----------
    paths:
        One folder of two graphs (a benchmark's or OpenEA's), or the source and the target.
    options:
        How to read the source and the target.
    source, target:
        More files of a side.
    """
    if len(paths) == 1 and not source and not target:
        return _from_folder(paths[0], options)
    if len(paths) > 2 or len(paths) == 1:
        raise InputError(
            f"{len(paths)} files given; give one folder of two graphs, or SOURCE and TARGET (more files of a side with "
            "--source FILE and --target FILE)"
        )
    sides = [*paths[:1], *source], [*paths[1:], *target]
    for side, files in zip(("source", "target"), sides, strict=True):
        if not files:
            raise InputError(f"no {side} given; give SOURCE and TARGET, or --source FILE and --target FILE")
    _refuse_sharing(*sides)
    read_from = tuple(path for path in (*sides[0], *sides[1]) if path != STANDARD_INPUT)
    return Sides((read(sides[0], options[0]), read(sides[1], options[1])), read_from)


def _from_folder(path: Path, options: tuple[ReadOptions, ReadOptions]) -> Sides:
    if os.path.isfile(path) or path == STANDARD_INPUT:
        raise InputError(f"{path}: is one file; give two, SOURCE and TARGET, or a folder that holds two graphs")
    if is_openea(path):
        return Sides(
            (read_openea(path, "1", options[0]), read_openea(path, "2", options[1])), _there(path, OPENEA_FILES)
        )
    folder = read_folder(path).sorted_by_name()
    nothing = Rejections(options[0].on_error)
    readings = Reading(folder.source, None, nothing, ()), Reading(folder.target, None, nothing, ())
    return Sides(readings, _there(path, FOLDER_FILES), folder)


def _there(folder: Path, names: Sequence[str]) -> tuple[Path, ...]:
    return tuple(folder / name for name in names if os.path.isfile(folder / name))


def _refuse_sharing(source: Sequence[Path], target: Sequence[Path]) -> None:
    if STANDARD_INPUT in source and STANDARD_INPUT in target:
        raise InputError("standard input can be read once only; give one side as a file")
