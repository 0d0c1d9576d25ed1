"""How much memory the machine has, how much this process has used, and whether it keeps what it frees."""

from __future__ import annotations

import ctypes
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import ByteSize, TypeAdapter

_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_DEFAULT_SHARE: Final = 0.6
_LEAST_LIMIT: Final = 2**26
# pydantic reads the beginning of a text and ignores the rest, so the form is checked first.
_AMOUNT: Final = re.compile(r"(\d+\.?\d*|\.\d+)\s*([kmgt]?i?b?|%)", re.ASCII)
_BYTES: Final = TypeAdapter(ByteSize)
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
# Larger blocks are given back at once, even where freed memory is kept; older glibc takes no more than the second.
_LARGEST_KEPT: Final = (1 << 30, 1 << 25)
_LEAST_THRESHOLD: Final = 1 << 17  # glibc's default


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


def keep_freed_memory(*, one_arena: bool = False) -> bool:
    """Let the C library keep freed blocks of up to a gibibyte for the next allocation; False where it cannot.

    By default glibc gives large blocks back to the system, and the next array of that size pays a page fault for every
    4 kB or 2 MB of it. With `one_arena`, threads that start from here on share what is kept; else each keeps blocks of
    its own, of up to 64 MB.
    """
    for largest in _LARGEST_KEPT:
        if _keep_up_to(largest):
            _kept[:] = [largest]
            if one_arena:
                _mallopt(_M_ARENA_MAX, 1)
            return True
    return False


def keep_less_freed_memory(most: int) -> None:
    """From now on keep freed blocks of up to `most` bytes only, and give back the rest.

    Nothing changes if none were kept. `keep_freed_memory_again` undoes it.
    """
    if _kept:
        _keep_up_to(min(max(most, _LEAST_THRESHOLD), _kept[0]))
        trim_freed_memory()


def keep_freed_memory_again() -> None:
    """Keep freed blocks as before `keep_less_freed_memory`."""
    if _kept:
        _keep_up_to(_kept[0])


def trim_freed_memory(every: float = 0.0) -> None:
    """Give back what the C library has kept so far, where it can; not twice within `every` seconds."""
    trim = getattr(_c_library(), "malloc_trim", None)
    if trim is not None and time.monotonic() >= _trimmed[0] + every:
        trim(0)
        _trimmed[0] = time.monotonic()


def resident_bytes() -> tuple[int, int]:
    """Memory of this process now, and how much of it is pages of files; all, where the system does not say."""
    import psutil  # here, since most commands do not need it

    memory = psutil.Process().memory_info()
    return int(memory.rss), int(getattr(memory, "shared", memory.rss))


_kept: list[int] = []  # the largest block that is kept, where freed memory is
_trimmed = [float("-inf")]  # when freed memory was last given back


def _keep_up_to(largest: int) -> bool:
    return _mallopt(_M_MMAP_THRESHOLD, largest) and _mallopt(_M_TRIM_THRESHOLD, largest)


def _mallopt(parameter: int, value: int) -> bool:
    mallopt = getattr(_c_library(), "mallopt", None)
    return mallopt is not None and bool(mallopt(parameter, value))


@cache
def _c_library() -> Any:
    return ctypes.CDLL(None)
