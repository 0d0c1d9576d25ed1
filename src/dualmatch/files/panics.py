"""Panics of native code, which are caught: without the pages that Rust prints of each."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import polars as pl


@contextmanager
def panics_unprinted() -> Iterator[None]:
    """Hold back what goes to standard error, and drop it if polars panics; the caller says what is wrong."""
    try:
        sys.stderr.flush()
        place, kept = tempfile.TemporaryFile(), os.dup(2)  # noqa: SIM115
    except (OSError, ValueError, AttributeError):  # no room for it, or no standard error
        yield
        return
    has_panicked = False
    os.dup2(place.fileno(), 2)
    try:
        yield
    except pl.exceptions.PanicException:
        has_panicked = True
        raise
    finally:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        with place, suppress(OSError):
            place.seek(0)
            if not has_panicked and (printed := place.read()):
                os.write(2, printed)
