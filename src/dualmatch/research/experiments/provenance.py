"""Where figures come from: the state of the code that computed them, and the machine it ran on."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from dualmatch.memory import machine_bytes

_SHOWS_ONLY: Final = ("cli", "report", "review", "experiments", "datasets")
"""Parts of the package that no figure of a method depends on."""
NOT_TOLD: Final = "not told"


class Provenance(NamedTuple):
    """What computed a cell.

    Attributes
    ----------
    code:
        A few digits of a hash over the modules of the methods: a version stays the same while the code changes.
    machine:
        Processor, cores, memory, system and Python.
    """

    code: str
    machine: str


UNKNOWN: Final = Provenance(NOT_TOLD, NOT_TOLD)


@cache
def here() -> Provenance:
    """This code on this machine."""
    return Provenance(_code(), _machine())


def in_words(made: Iterable[Provenance]) -> str:
    """Code and machine of some cells; where they differ, all of them with their numbers.

    >>> old, new = Provenance("aa", "2 cores"), Provenance("bb", "2 cores")
    >>> in_words([old, new, new])
    'code aa (1 cell), bb (2 cells); on 2 cores'
    """
    cells = list(made) or [here()]
    codes = _counted([each.code for each in cells])
    machines = [each for each in dict.fromkeys(cell.machine for cell in cells) if each != NOT_TOLD]
    return f"code {codes}; on {' and '.join(machines) or here().machine}"


def _counted(names: list[str]) -> str:
    if len(set(names)) == 1:
        return names[0]
    counts = {name: names.count(name) for name in dict.fromkeys(sorted(names))}
    return ", ".join(f"{name} ({count} {'cells' if count > 1 else 'cell'})" for name, count in counts.items())


def _code() -> str:
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.parts[0] not in _SHOWS_ONLY:
            digest.update(f"{name.as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:8]


def _machine() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = f"{machine_bytes() / 2**30:.0f} GB"
    return f"{cores} cores of {_processor()}, {memory}, {platform.system()}, Python {platform.python_version()}, no GPU"


def _processor() -> str:
    """The processor's name where the system tells it, else its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
