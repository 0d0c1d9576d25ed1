"""How much memory the machine has and how much this process has used."""

from __future__ import annotations

import re
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic import ByteSize, TypeAdapter

_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_DEFAULT_SHARE: Final = 0.6
_LEAST_LIMIT: Final = 2**26
# pydantic reads the beginning of a text and ignores the rest, so the form is checked first.
_AMOUNT: Final = re.compile(r"(\d+\.?\d*|\.\d+)\s*([kmgt]?i?b?|%)", re.ASCII)
_BYTES: Final = TypeAdapter(ByteSize)


def machine_bytes() -> int:
    """Memory this process may use: the machine's, or its container's where that is less."""
    import psutil  # here, since most commands do not need it

    total = int(psutil.virtual_memory().total)
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
    try:
        if found is None:
            raise ValueError
        number, unit = found.groups()
        if unit != "%":
            size = number.rstrip(".") + unit + "b" * unit.endswith("i")
            return min(int(_BYTES.validate_python(size)), sys.maxsize)
    except OverflowError:
        return sys.maxsize
    except ValueError:
        raise ValueError(
            f"{text!r} is not an amount of memory; write a number with its unit (8GB, 500MB, 6GiB, 512MiB) or a share "
            "of the machine (50%)"
        ) from None
    if float(number) > 100:
        raise ValueError(f"{text!r} is more than the machine has; write at most 100%")
    return int(float(number) * (machine_bytes() / 100))


def checked_limit(limit: int) -> int:
    """A memory limit that is not too small to work with; a ValueError otherwise."""
    if limit < _LEAST_LIMIT:
        raise ValueError(f"{limit:,} bytes are too few to work with; give at least {_LEAST_LIMIT // 2**20}MiB")
    return limit


def default_limit() -> int:
    """The default memory limit in bytes: 60 % of the machine."""
    return int(machine_bytes() * _DEFAULT_SHARE)


def peak_mb() -> float:
    """The highest resident memory of this process so far in MiB, its children's highest included."""
    unit = 1 if sys.platform == "darwin" else 1024
    usage = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return usage * unit / 2**20


@contextmanager
def peak_since() -> Iterator[Callable[[], float | None]]:
    """The highest resident memory of this process within the block in MiB; None where no system counts it afresh."""
    reached: float | None = None
    try:
        Path("/proc/self/clear_refs").write_text("5")  # Linux: begin a new high-water mark
        is_fresh = True
    except OSError:
        is_fresh = False
    yield lambda: reached
    if is_fresh and (found := re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())):
        reached = int(found[1]) / 1024
