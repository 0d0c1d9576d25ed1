"""Process-wide switches, set by the command line and never on import of the library."""

from __future__ import annotations

import ctypes
import ctypes.util
import logging

from dualmatch.config import TRAINED, Config

logger = logging.getLogger(__name__)

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEEP = 1 << 30


def prepare_process(config: Config) -> None:
    """Make training fast: keep freed memory, flush denormal numbers.

    Every step of training frees and allocates the same few hundred megabytes. By default glibc gives blocks of that
    size back to the system and the next step pays a page fault for every 4 kB of them, which costs more than the
    arithmetic. Methods that do not train are left alone.
    """
    if config.method not in TRAINED:
        return
    name = ctypes.util.find_library("c")
    mallopt = getattr(ctypes.CDLL(name), "mallopt", None) if name else None
    if mallopt is None or not (mallopt(_M_MMAP_THRESHOLD, _KEEP) and mallopt(_M_TRIM_THRESHOLD, _KEEP)):
        logger.info("this C library has no mallopt; training will be slower")
    try:
        from dualmatch.channels.relational.train import flush_denormals
    except ModuleNotFoundError:
        return  # without torch, align says what to install
    flush_denormals()
