"""Finished cells of experiments, kept on disk: a long experiment goes on where it stopped.

A cell is one measurement: a dataset, a method, a setting, a seed. Its file is named by a hash of its key, which holds
`CELL_FORMAT`, the version of dualmatch, the hash of the input files and all options; another input or version is
another cell. Files are written beside their place and renamed: a cell is there whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from dualmatch.files.atomic import replacing, write_text
from dualmatch.research.experiments.provenance import UNKNOWN, Provenance, here
from dualmatch.version import __version__

logger = logging.getLogger(__name__)

CELL_FORMAT: Final = 1
"""Raise it by hand when what a cell holds, or how it is computed, changes."""

Key = Mapping[str, Any]
Result = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
Announce = Callable[[str], None]
Found = TypeVar("Found")
Kept = TypeVar("Kept", Result, Arrays)


@dataclass
class Cells:
    """A folder of finished cells.

    Attributes
    ----------
    folder:
        Where they lie; made when the first one is written.
    redo:
        Cells of these methods are computed again, once, though they are there.
    announce:
        Told which cell is begun.
    finished_only:
        Compute nothing: a cell that is not there is None.
    not_run:
        Cells that were asked for and are not there.
    units:
        Seconds of the machine's own unit while each cell that tells it was computed.
    made:
        What computed each cell.
    """

    folder: Path
    redo: frozenset[str] = frozenset()
    finished_only: bool = False
    announce: Announce = field(default=lambda _text: None)
    not_run: set[str] = field(default_factory=set)
    units: dict[str, float] = field(default_factory=dict)
    made: dict[str, Provenance] = field(default_factory=dict)
    _redone: set[Path] = field(default_factory=set)

    def result(self, key: Key, compute: Callable[[], Result]) -> Result | None:
        """The result of a cell as plain data: read, or computed and kept."""
        path = self.path(key, ".json")
        cell = None if self._to_redo(key, path) else _read_cell(path)
        if cell is None and not self.finished_only:
            self.announce(f"{in_words(key)} …")
            made = {"key": _whole(key), "made": here()._asdict(), "result": compute()}
            text = json.dumps(made, indent=1, allow_nan=False) + "\n"
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
            self._redone.add(path)
            cell = json.loads(text)  # what a second run will read, to the last digit
        if cell is None:
            return self._told(key, None)
        told = cell.get("made") or {}
        self.made[in_words(key)] = Provenance(**told) if set(told) == set(Provenance._fields) else UNKNOWN
        return self._told(key, cell["result"])

    def arrays(self, key: Key, compute: Callable[[], Arrays]) -> Arrays | None:
        """The arrays of a cell: read, or computed and kept."""
        path = self.path(key, ".npz")
        found = None if self._to_redo(key, path) else _read_arrays(path)
        if found is None and not self.finished_only:
            self.announce(f"{in_words(key)} …")
            found = compute()
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(path) as temporary, temporary.open("wb") as file:
                np.savez(file, **found)  # type: ignore[arg-type]
            self._redone.add(path)
        return self._told(key, found)

    def path(self, key: Key, suffix: str) -> Path:
        """Where a cell lies: words for people, a hash for certainty."""
        digest = hashlib.sha256(json.dumps(_whole(key), sort_keys=True).encode()).hexdigest()[:16]
        words = re.sub(r"[^A-Za-z0-9.]+", "-", in_words(key)).strip("-").lower()[:80]
        return self.folder / f"{words}-{digest}{suffix}"

    def _told(self, key: Key, found: Kept | None) -> Kept | None:
        if found is None:
            self.not_run.add(in_words(key))
        elif "unit_seconds" in found:
            self.units[in_words(key)] = float(found["unit_seconds"])
        return found

    def _to_redo(self, key: Key, path: Path) -> bool:
        return not self.finished_only and key.get("method") in self.redo and path not in self._redone


def computed(found: Found | None) -> Found:
    """What a cell gives that was asked for while computing another: it is there, or was just made."""
    if found is None:
        raise RuntimeError("a cell was asked for that is not there, of cells that only read")
    return found


def in_words(key: Key) -> str:
    """A key for people: what, of which dataset, how.

    >>> in_words({"cell": "run", "dataset": "WY20K", "inputs": "ab12", "method": "evidence", "seed": None})
    'run: WY20K, evidence'
    """
    parts = []
    for name, value in key.items():
        if name in ("cell", "inputs", "options") or value in (None, "", {}, ()):
            continue
        parts.append(str(value) if isinstance(value, str) else f"{name} {value}")
    parts += [f"{name} {value}" for name, value in dict(key.get("options") or {}).items()]
    return f"{key['cell']}: {', '.join(parts)}"


def _whole(key: Key) -> dict[str, Any]:
    return {"format": CELL_FORMAT, "version": __version__, **key}


def _read_cell(path: Path) -> Result | None:
    try:
        cell: Result = json.loads(path.read_text(encoding="utf-8"))
        _ = cell["result"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        logger.warning("%s: no finished cell; computing it again", path)
        return None
    return cell


def _read_arrays(path: Path) -> Arrays | None:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile):
        logger.warning("%s: no finished cell; computing it again", path)
        return None
