"""A simulated pair as a benchmark folder: all of it, or nothing.

========================  =========================================================================================
``ent_ids_1/2``           id, name; the target's ids go on where the source's end
``rel_ids_1/2``           id, name; likewise
``time_id``               id, date (day, month or year); id 0 is ``-inf``, unknown
``triples_1/2``           head, relation, tail, begin, end
``sup_pairs, ref_pairs``  true pairs: seeds, and the rest
``rel_pairs``             true relation pairs, and 1 where the target's runs the other way
``world.json``            all options, and the version of dualmatch that drew the world
========================  =========================================================================================
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dualmatch.errors import OutputError
from dualmatch.graph.model import TemporalGraph
from dualmatch.graph.times import UNKNOWN, format_date
from dualmatch.io.atomic import sync
from dualmatch.simulate.pair import SimulatedPair
from dualmatch.version import __version__

logger = logging.getLogger(__name__)

Ints = NDArray[np.int32]

FILES: Final = (
    *("ent_ids_1", "ent_ids_2", "rel_ids_1", "rel_ids_2", "time_id", "triples_1", "triples_2"),
    *("sup_pairs", "ref_pairs", "rel_pairs", "world.json"),
)


def write_folder(pair: SimulatedPair, path: str | Path, *, force: bool = False) -> Path:
    """Write the pair as a benchmark folder that `dualmatch.io.folder.read_folder` reads back to equal graphs.

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
    11
    """
    path = Path(os.path.abspath(path))
    _refuse_what_must_stay(path, force)
    draft, old = (path.with_name(f".{path.name}.{secrets.token_hex(4)}.{kind}") for kind in ("draft", "old"))
    try:
        try:
            draft.mkdir()
            _write_files(pair, draft)
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
    logger.info("wrote %s", path)
    return path


def _refuse_what_must_stay(path: Path, force: bool) -> None:
    if not path.parent.is_dir():
        raise OutputError(f"{path.parent}: no such folder; make it first")
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise OutputError(f"{path}: is there already and is no folder; choose another name")
    if not path.exists():
        return
    if not force:
        raise OutputError(f"{path}: is there already; choose another name, or replace it with --force")
    foreign = sorted(item.name for item in path.iterdir() if item.name not in FILES or not item.is_file())
    if foreign:
        names = ", ".join(foreign[:3])
        raise OutputError(f"{path}: holds {names}, which no simulation writes; move it away or choose another name")


def _write_files(pair: SimulatedPair, folder: Path) -> None:
    source, target = pair.source, pair.target
    codes = np.unique(np.concatenate([[UNKNOWN], source.begin, source.end, target.begin, target.end]))  # UNKNOWN first
    dates = ["-inf", *(format_date(code) for code in codes[1:].tolist())]
    _write_table(folder / "time_id", (np.arange(len(codes)), dates))
    firsts = ("1", source, 0, 0), ("2", target, source.n_entities, source.n_relations)
    for suffix, graph, first_entity, first_relation in firsts:
        _write_table(folder / f"ent_ids_{suffix}", (first_entity + np.arange(graph.n_entities), graph.entities))
        _write_table(folder / f"rel_ids_{suffix}", (first_relation + np.arange(graph.n_relations), graph.relations))
        _write_table(folder / f"triples_{suffix}", _fact_ids(graph, first_entity, first_relation, codes))
    for name, pairs in (("sup_pairs", pair.seeds), ("ref_pairs", pair.test)):
        _write_table(folder / name, (pairs[:, 0], pairs[:, 1] + source.n_entities))
    relations = pair.relation_gold
    _write_table(folder / "rel_pairs", (relations[:, 0], relations[:, 1] + source.n_relations, relations[:, 2]))
    options = {"dualmatch": __version__, "world": pair.world.model_dump()}
    (folder / "world.json").write_text(json.dumps(options, indent=2) + "\n", encoding="utf-8")
    sync(folder / "world.json")


def _fact_ids(graph: TemporalGraph, first_entity: int, first_relation: int, codes: Ints) -> list[NDArray[np.int64]]:
    """Columns of ids, (n_facts,) each: head, relation, tail, begin, end."""
    shifted = ((graph.head, first_entity), (graph.relation, first_relation), (graph.tail, first_entity))
    ids = [column.astype(np.int64) + first for column, first in shifted]
    return ids + [np.searchsorted(codes, column).astype(np.int64) for column in (graph.begin, graph.end)]


def _write_table(path: Path, columns: Iterable[NDArray[np.integer] | Iterable[str]]) -> None:
    table = pl.DataFrame({str(number): column for number, column in enumerate(columns)})
    with path.open("wb") as file:
        table.write_csv(file, separator="\t", include_header=False, quote_style="never")
        file.flush()
        os.fsync(file.fileno())
