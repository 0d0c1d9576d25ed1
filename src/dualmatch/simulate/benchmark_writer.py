"""Benchmark folders: two graphs and their true pairs, written as `dualmatch.read_folder` reads them.

=======================  =========================================================================================
``ent_ids_1/2``          id, name; the target's ids continue after the source's
``rel_ids_1/2``          id, name; likewise
``time_id``              id, date (day, month or year); id 0 is ``-inf``, unknown
``triples_1/2``          head, relation, tail, begin, end
``dates_1/2``            entity, relation, begin, end: dates of entities themselves, where there are any
``sup_pairs, ref_pairs``  true pairs: seeds, and the rest; ``all_pairs``: both
``rel_pairs``            of a simulation: true relation pairs, and 1 where the target's runs the other way
``world.json``           of a simulation: all options, and the version of dualmatch that drew the world
=======================  =========================================================================================
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.errors import OutputError
from dualmatch.files.atomic import sync
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, format_date
from dualmatch.simulate.planted_pair import SimulatedPair
from dualmatch.version import __version__

logger = logging.getLogger(__name__)

Ints = NDArray[np.int32]

BENCHMARK_FILES: Final = (
    *("ent_ids_1", "ent_ids_2", "rel_ids_1", "rel_ids_2", "time_id", "triples_1", "triples_2"),
    *("sup_pairs", "ref_pairs", "all_pairs"),
)
SIMULATION_FILES: Final = (*BENCHMARK_FILES, "rel_pairs", "world.json")
DATES_FILES: Final = ("dates_1", "dates_2")


def write_folder(pair: SimulatedPair, path: str | Path, *, force: bool = False) -> Path:
    """Write the pair as a benchmark folder that `dualmatch.read_folder` reads back to equal graphs.

    The folder is written beside its place, synced, then renamed: an interrupted write leaves nothing behind.

    Parameters
    ----------
    force:
        Replace a folder of the same name, provided that it holds nothing but files this function writes.

    Raises
    ------
    OutputError
        Where the folder exists already, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from dualmatch.simulate import World, simulate
    >>> with tempfile.TemporaryDirectory() as here:
    ...     len(list(write_folder(simulate(World(entities=50)), Path(here) / "world").iterdir()))
    12
    """
    path = Path(os.path.abspath(path))
    with replacing_folder(path, SIMULATION_FILES, force, "simulation") as draft:
        write_benchmark_files(draft, pair.source, pair.target, pair.seeds, pair.test)
        relations = pair.relation_gold
        target = relations[:, 1] + pair.source.n_relations
        write_table(draft / "rel_pairs", (relations[:, 0], target, relations[:, 2]))
        write_options(draft, pair.world.model_dump())
    logger.info("wrote %s", path)
    return path


def write_options(folder: Path, world: dict[str, Any]) -> None:
    """Write the options of a simulation, and the version that drew it."""
    options = {"dualmatch": __version__, "world": world}
    (folder / "world.json").write_text(json.dumps(options, indent=2) + "\n", encoding="utf-8")
    sync(folder / "world.json")


@contextmanager
def replacing_folder(path: Path, files: Collection[str], force: bool, writer: str) -> Iterator[Path]:
    """Give an empty folder beside `path`; put it in its place once all is written and synced.

    `files`: what such a folder holds: with `force`, one that holds nothing else may be replaced. `writer`: who writes
    such folders, for messages.

    Raises OutputError where the folder exists already, or cannot be written.
    """
    _refuse_what_must_stay(path, files, force, writer)
    draft, old = (path.with_name(f".{path.name}.{secrets.token_hex(4)}.{kind}") for kind in ("draft", "old"))
    try:
        try:
            draft.mkdir()
            yield draft
            sync(draft)
            if path.exists():
                path.rename(old)
            draft.rename(path)
            sync(path.parent)
        finally:
            if old.exists() and not path.exists():
                old.rename(path)
            for leftover in (draft, old):
                shutil.rmtree(leftover, ignore_errors=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error}); nothing was changed") from error


def write_benchmark_files(folder: Path, source: TemporalGraph, target: TemporalGraph, seeds: Ints, test: Ints) -> None:
    """Write both graphs and their pairs (rows) into a folder that is there."""
    codes = np.unique(np.concatenate([[UNKNOWN], *source.times, *target.times]))  # UNKNOWN first
    dates = ["-inf", *(format_date(code) for code in codes[1:].tolist())]
    write_table(folder / "time_id", (np.arange(len(codes)), dates))
    firsts = ("1", source, 0, 0), ("2", target, source.n_entities, source.n_relations)
    for suffix, graph, first_entity, first_relation in firsts:
        write_table(folder / f"ent_ids_{suffix}", (first_entity + np.arange(graph.n_entities), graph.entities))
        write_table(folder / f"rel_ids_{suffix}", (first_relation + np.arange(graph.n_relations), graph.relations))
        write_table(folder / f"triples_{suffix}", _fact_ids(graph, first_entity, first_relation, codes))
        if len(graph.dates):
            entity, relation, *times = graph.dates.rows.T
            ids = entity + first_entity, relation + first_relation, *(np.searchsorted(codes, each) for each in times)
            write_table(folder / f"dates_{suffix}", ids)
    for name, pairs in (("sup_pairs", seeds), ("ref_pairs", test), ("all_pairs", np.concatenate([seeds, test]))):
        write_table(folder / name, (pairs[:, 0], pairs[:, 1] + source.n_entities))


def write_table(path: Path, columns: Iterable[NDArray[np.integer] | Iterable[str]]) -> None:
    """Tab-separated columns without a heading, synced."""
    table = pl.DataFrame({str(number): column for number, column in enumerate(columns)})
    with path.open("wb") as file:
        table.write_csv(file, separator="\t", include_header=False, quote_style="never")
        file.flush()
        os.fsync(file.fileno())


def _refuse_what_must_stay(path: Path, files: Collection[str], force: bool, writer: str) -> None:
    if not path.parent.is_dir():
        raise OutputError(f"{path.parent}: no such folder; make it first")
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise OutputError(f"{path}: already exists and is not a folder; choose another name")
    if not path.exists():
        return
    if not force:
        raise OutputError(f"{path}: already exists; choose another name, or replace it with --force")
    known = {*files, *DATES_FILES}
    foreign = sorted(item.name for item in path.iterdir() if item.name not in known or not item.is_file())
    if foreign:
        names = ", ".join(foreign[:3])
        raise OutputError(f"{path}: holds {names}, which no {writer} writes; move it away or choose another name")


def _fact_ids(graph: TemporalGraph, first_entity: int, first_relation: int, codes: Ints) -> list[NDArray[np.int64]]:
    """Columns of ids, (n_facts,) each: head, relation, tail, begin, end."""
    shifted = ((graph.head, first_entity), (graph.relation, first_relation), (graph.tail, first_entity))
    ids = [column.astype(np.int64) + first for column, first in shifted]
    return ids + [np.searchsorted(codes, column).astype(np.int64) for column in (graph.begin, graph.end)]
