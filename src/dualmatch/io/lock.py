"""A lock on a folder: one process at a time, and none once it is dead."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dualmatch.errors import InputError, OutputError

LOCK: Final = "lock"


@dataclass(frozen=True)
class Holder:
    """Who holds a lock, or held it last."""

    process: int
    machine: str


@contextmanager
def locked(folder: Path) -> Iterator[Holder | None]:
    """Hold the lock of a folder, which exists; gives who held it last, None where nobody did.

    The kernel lets go of it when the process ends, however it ends: a lock that is held is held by a live process.

    Raises
    ------
    InputError
        Where another process holds it.
    OutputError
        Where the folder cannot be written into.
    """
    path = folder / LOCK
    handle = _open_lock(path)
    try:
        before = _read(handle)
        _write(handle, path)
        yield before
    finally:
        os.close(handle)


def _open_lock(path: Path) -> int:
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise OutputError(
                f"{path.parent}: cannot be written into ({error.strerror}); choose another folder"
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):  # whoever held it may have removed the file
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    return handle
            os.close(handle)
        except BlockingIOError:
            holder = _read(handle)
            os.close(handle)
            who = "" if holder is None else f" (process {holder.process} on {holder.machine})"
            raise InputError(
                f"{path.parent}: another run is at work in it{who}; wait for it to end, or choose another folder"
            ) from None
        except OSError as error:
            os.close(handle)
            raise OutputError(
                f"{path}: cannot be locked ({error.strerror}); choose a folder on a disk that has locks"
            ) from error


def _read(handle: int) -> Holder | None:
    try:
        data = json.loads(os.pread(handle, 4096, 0))
        return Holder(int(data["process"]), str(data["machine"]))
    except (ValueError, KeyError, TypeError):
        return None


def _write(handle: int, path: Path) -> None:
    text = json.dumps({"process": os.getpid(), "machine": socket.gethostname()}).encode()
    try:
        os.pwrite(handle, text.ljust(os.fstat(handle).st_size), 0)
        os.ftruncate(handle, len(text))
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be written ({error.strerror}); free some space, or choose another folder"
        ) from error
