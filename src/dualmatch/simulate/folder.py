"""A simulated pair as a benchmark folder (`dualmatch.simulate.folder_out`), with two files more.

==============  ======================================================================
``rel_pairs``   true relation pairs, and 1 where the target's runs the other way
``world.json``  all options, and the version of dualmatch that drew the world
==============  ======================================================================
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Final

from dualmatch.files.atomic import sync
from dualmatch.simulate.folder_out import BENCHMARK_FILES, replacing_folder, write_benchmark_files, write_table
from dualmatch.simulate.pair import SimulatedPair
from dualmatch.version import __version__

logger = logging.getLogger(__name__)

FILES: Final = (*BENCHMARK_FILES, "rel_pairs", "world.json")


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
    11
    """
    path = Path(os.path.abspath(path))
    with replacing_folder(path, FILES, force, "simulation") as draft:
        write_benchmark_files(draft, pair.source, pair.target, pair.seeds, pair.test)
        relations = pair.relation_gold
        target = relations[:, 1] + pair.source.n_relations
        write_table(draft / "rel_pairs", (relations[:, 0], target, relations[:, 2]))
        options = {"dualmatch": __version__, "world": pair.world.model_dump()}
        (draft / "world.json").write_text(json.dumps(options, indent=2) + "\n", encoding="utf-8")
        sync(draft / "world.json")
    logger.info("wrote %s", path)
    return path
