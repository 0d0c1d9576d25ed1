"""How much memory the machine has and how much this process has used."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
DEFAULT_SHARE = 0.6


def machine_bytes() -> int:
    """Memory this process may use: the machine's, or its container's where that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = _CGROUP_LIMIT.read_text().strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdigit() else total


def default_limit() -> int:
    """The default memory limit in bytes: 60 % of the machine."""
    return int(machine_bytes() * DEFAULT_SHARE)


def peak_mb() -> float:
    """The highest resident memory of this process so far in MiB, its children's highest included."""
    unit = 1 if sys.platform == "darwin" else 1024
    usage = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return usage * unit / 2**20
