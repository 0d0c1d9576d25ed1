"""Finished cells of experiments, kept on disk: an interrupted experiment resumes where it stopped.

A cell is one measurement: a dataset, a method, a setting, a seed. Its file is named by a hash of its key, which holds
`CELL_FORMAT`, the version of dualmatch, the hash of the input files and all options; another input or version is
another cell. A cell records the code and the machine that computed it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dualmatch.files.atomic import replacing, write_text
from dualmatch.memory import machine_bytes
from dualmatch.version import __version__

logger = logging.getLogger(__name__)

CELL_FORMAT: Final = 1  # raise it by hand when what a cell holds, or how it is computed, changes
_NO_FIGURES: Final = ("app", "charts", "cli", "report", "research", "review")  # rooms that no figure depends on
_BASELINES: Final = ("research", "baselines")  # but for these

Key = Mapping[str, Any]
Result = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
Found = TypeVar("Found")


class Provenance(NamedTuple):
    """What computed a cell: a hash over the modules of the methods, as code changes within a version; the machine."""

    code: str
    machine: str


UNKNOWN: Final = Provenance("not recorded", "not recorded")


@dataclass
class Cells:
    """A folder of finished cells, made when the first one is written."""

    folder: Path
    redo: frozenset[str] = frozenset()  # methods whose cells are computed again, once, though they are there
    finished_only: bool = False  # compute nothing: a cell that is not there is None
    announce: Callable[[str], None] = field(default=lambda _text: None)  # called with each cell that is begun
    not_run: set[str] = field(default_factory=set)  # cells that were asked for and are not there
    units: dict[str, float] = field(default_factory=dict)  # seconds of the machine's unit as each cell measured it
    made: dict[str, Provenance] = field(default_factory=dict)
    _redone: set[Path] = field(default_factory=set)

    def result(self, key: Key, compute: Callable[[], Result]) -> Result | None:
        """The result of a cell as plain data: read, or computed and kept."""
        whole = {"key": _whole(key), "made": here()._asdict()}
        cell = self._cell(key, ".json", lambda: {**whole, "result": compute()})
        if cell is None:
            return None
        made = cell.get("made") or {}
        self.made[cell_name(key)] = Provenance(**made) if set(made) == set(Provenance._fields) else UNKNOWN
        return dict(cell["result"])

    def arrays(self, key: Key, compute: Callable[[], Arrays]) -> Arrays | None:
        """The arrays of a cell: read, or computed and kept."""
        return self._cell(key, ".npz", compute)

    def path(self, key: Key, suffix: str) -> Path:
        """Where a cell lies: words for people, a hash for certainty."""
        digest = hashlib.sha256(json.dumps(_whole(key), sort_keys=True).encode()).hexdigest()[:16]
        words = re.sub(r"[^A-Za-z0-9.]+", "-", cell_name(key)).strip("-").lower()[:80]
        return self.folder / f"{words}-{digest}{suffix}"

    def _cell(self, key: Key, suffix: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
        """What the file of a cell holds, read back even if just written: the same to the last digit in every run."""
        path, name = self.path(key, suffix), cell_name(key)
        redo = key.get("method") in self.redo and path not in self._redone
        found = _read(path) if self.finished_only or not redo else None
        if found is None and not self.finished_only:
            self.announce(f"{name} …")
            made = compute()
            self.folder.mkdir(parents=True, exist_ok=True)
            _write(path, made)
            self._redone.add(path)
            found = _read(path)
        if found is None:
            self.not_run.add(name)
        elif "unit_seconds" in (result := found.get("result", found)):
            self.units[name] = float(result["unit_seconds"])
        return found


def computed(found: Found | None) -> Found:
    """A cell that another one is computed from: it is there, or was just made."""
    if found is None:
        raise RuntimeError("a cell was asked for that is not there, of cells that only read")
    return found


def cell_name(key: Key) -> str:
    """A key in words: what, of which dataset, how."""
    parts = []
    for name, value in key.items():
        if name not in ("cell", "inputs", "options") and value not in (None, "", {}, ()):
            parts.append(value if isinstance(value, str) else f"{name} {value}")
    parts += [f"{name} {value}" for name, value in dict(key.get("options") or {}).items()]
    return f"{key['cell']}: {', '.join(parts)}"


def _whole(key: Key) -> dict[str, Any]:
    return {"format": CELL_FORMAT, "version": __version__, **key}


def _write(path: Path, cell: dict[str, Any]) -> None:
    if path.suffix == ".json":
        write_text(path, json.dumps(cell, indent=1, allow_nan=False) + "\n")
    else:
        with replacing(path) as file:
            np.savez(file, **cell)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        if path.suffix == ".json":
            cell: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            _ = cell["result"]
            return cell
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile):
        logger.warning("%s: no finished cell; computing it again", path)
        return None


@cache
def here() -> Provenance:
    """This code on this machine."""
    package, digest = Path(__file__).parents[2], hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.parts[0] not in _NO_FIGURES or name.parts[:2] == _BASELINES:
            digest.update(f"{name.as_posix()}\0".encode() + path.read_bytes() + b"\0")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    system = f"{platform.system()}, Python {platform.python_version()}"
    machine = f"{cores} cores of {_processor()}, {machine_bytes() / 2**30:.0f} GB, {system}, no GPU"
    return Provenance(digest.hexdigest()[:8], machine)


def _processor() -> str:
    """The processor's name where the system has it, else its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def provenance_in_words(made: Iterable[Provenance]) -> str:
    """Code and machine of some cells; where they differ, all of them with their numbers."""
    cells = list(made) or [here()]
    codes = [each.code for each in cells]
    counts = {code: codes.count(code) for code in sorted(set(codes))}
    words = [f"{code} ({count} {'cells' if count > 1 else 'cell'})" for code, count in counts.items()]
    machines = [each for each in dict.fromkeys(cell.machine for cell in cells) if each != UNKNOWN.machine]
    code = codes[0] if len(counts) == 1 else ", ".join(words)
    return f"code {code}; on {' and '.join(machines) or here().machine}"
