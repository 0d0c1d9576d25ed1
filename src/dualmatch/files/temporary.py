"""Temporary files and folders: names nobody can predict, no link followed, and recognised once their maker is dead.

Whoever makes one holds a lock on it until it is gone or has its final name. The kernel frees the lock when the process
ends, however it ends: what matches our names and nobody holds is a leftover.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_END: Final = re.compile(r"[0-9a-f]{16}\.part")
_LONGEST: Final = 200  # bytes of a name that the temporary one repeats: a name has 255 at most


def make_beside(place: Path) -> tuple[Path, int]:
    """A new file in the folder of `place`, open for writing and locked; leftovers of the same place are removed."""
    remove_leftovers(place)
    while True:
        path = place.with_name(f"{_start(place)}{os.urandom(8).hex()}.part")
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        if _is_ours(path, handle):
            return path, handle
        os.close(handle)  # somebody took it for a leftover before it was locked


@contextmanager
def folder_beside(place: Path) -> Iterator[Path]:
    """A new folder for this user alone, removed at the end of the block; `place` as in `make_beside`."""
    remove_leftovers(place)
    while True:
        path = place.with_name(f"{_start(place)}{os.urandom(8).hex()}.part")
        path.mkdir(mode=0o700)
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:  # somebody took it for a leftover before it was locked
            continue
        try:
            if _is_ours(path, handle):
                yield path
                return
        finally:
            _remove_tree(path)
            os.close(handle)


def remove_leftovers(place: Path) -> None:
    """Remove the temporary files and folders for a place that dead processes of this user left."""
    start = _start(place)
    try:
        names = [name for name in os.listdir(place.parent) if name.startswith(start)]
    except OSError:
        return
    for name in names:
        if _END.fullmatch(name, len(start)):
            with suppress(OSError):
                _remove_if_left(place.with_name(name))


def _start(place: Path) -> str:
    return f".{os.fsdecode(os.fsencode(place.name)[:_LONGEST])}."


def _remove_if_left(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if os.fstat(handle).st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove_tree(path) if os.path.isdir(path) else os.unlink(path)
    finally:
        os.close(handle)


def _remove_tree(path: Path) -> None:
    import shutil  # here, since help and errors in options must not wait for it

    shutil.rmtree(path, ignore_errors=True)


def _is_ours(path: Path, handle: int) -> bool:
    """Lock what was just made; False where it is gone or about to be. A disk without locks has no leftovers either."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False
