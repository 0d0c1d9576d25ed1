"""Gold pairs by name, from a file of names or of a benchmark folder's ids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dualmatch.errors import InputError
from dualmatch.links.read import read_name_pairs
from dualmatch.readers.benchmark_folder import read_folder


def read_gold(path: Path, links: Sequence[tuple[str, str]], folder: Path | None = None) -> list[tuple[str, str]]:
    """The true pairs of a file.

    Parameters
    ----------
    links:
        What they will be compared with: pairs of which no entity occurs there are most likely ids.
    folder:
        The benchmark folder behind the file; by default the folder it lies in, if that is one. With a folder, an entity
        that is in neither graph is an error.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file; --gold takes a file of true pairs")
    if folder is None and (path.parent / "triples_1").exists():
        folder = path.parent
    pairs = read_name_pairs(path) if folder is None else _names_of_ids(path, folder)
    if not pairs:
        raise InputError(f"{path}: no pairs; there is nothing to compare with")
    known = {name for link in links for name in link}
    if folder is None and links and known.isdisjoint(name for pair in pairs for name in pair):
        raise InputError(
            f"{path}: none of its entities occurs in the alignment; if these are a folder's ids, add --data FOLDER"
        )
    return pairs


def _names_of_ids(path: Path, folder: Path) -> list[tuple[str, str]]:
    data = read_folder(folder)
    return [(data.source.entities[s], data.target.entities[t]) for s, t in data.pairs_at(path).tolist()]
