"""How much memory the machine has and how much this process has used."""

from __future__ import annotations

import math
import os
import re
import resource
import sys
from pathlib import Path
from typing import Final

_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
DEFAULT_SHARE = 0.6
LEAST_LIMIT: Final = 2**26
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_AMOUNT: Final = re.compile(r"(\d+\.?\d*|\.\d+)\s*(?:([kmgt]?)(i?)b?|(%))", re.ASCII)


def machine_bytes() -> int:
    """Memory this process may use: the machine's, or its container's where that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = _CGROUP_LIMIT.read_text().strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdigit() else total


def parse_bytes(text: str) -> int:
    """A number of bytes: 8GB, 500 MB (powers of 1000), 6GiB, 512MiB (powers of 1024), 50% (of the machine), or digits.

    Raises
    ------
    ValueError
        With words a user can act on.

    >>> parse_bytes("1.5 GB"), parse_bytes("64MiB")
    (1500000000, 67108864)
    """
    found = _AMOUNT.fullmatch(text.strip().lower())
    if found is None or (found[3] and not found[2]):
        raise ValueError(
            f"{text!r} is no amount of memory; write a number with its unit (8GB, 500MB, 6GiB, 512MiB) or a share of "
            "the machine (50%)"
        )
    if found[4] and float(found[1]) > 100:
        raise ValueError(f"{text!r} is more than the machine has; write at most 100%")
    unit = machine_bytes() / 100 if found[4] else (1024 if found[3] else 1000) ** _POWERS[found[2]]
    number = float(found[1]) * unit
    return int(number) if math.isfinite(number) else sys.maxsize


def checked_limit(limit: int) -> int:
    """A memory limit that is not too small to work with; a ValueError otherwise."""
    if limit < LEAST_LIMIT:
        raise ValueError(f"{limit:,} bytes are too few to work with; give at least {LEAST_LIMIT // 2**20}MiB")
    return limit


def default_limit() -> int:
    """The default memory limit in bytes: 60 % of the machine."""
    return int(machine_bytes() * DEFAULT_SHARE)


def peak_mb() -> float:
    """The highest resident memory of this process so far in MiB, its children's highest included."""
    unit = 1 if sys.platform == "darwin" else 1024
    usage = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return usage * unit / 2**20
