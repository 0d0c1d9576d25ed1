"""A lock on a folder: one process that writes or any number that read, and none once it is dead."""

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


@contextmanager
def locked_for_reading(folder: Path) -> Iterator[None]:
    """Keep others from writing into a folder, not from reading it; nothing is changed in it.

    Where the folder has no lock, or one that cannot be had, as on a read-only disk, nobody is kept from anything.

    Raises
    ------
    InputError
        Where a process is writing into it.
    """
    path = folder / LOCK
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _at_work(path, handle) from None
        except OSError:  # a disk without locks
            pass
        yield
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
            in_use = _in_use(path, handle)
            os.close(handle)
            raise in_use from None
        except OSError as error:
            os.close(handle)
            raise OutputError(
                f"{path}: cannot be locked ({error.strerror}); choose a folder on a disk that has locks"
            ) from error


def _in_use(path: Path, handle: int) -> InputError:
    """Why a lock cannot be had for writing: somebody reads the folder, or writes into it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _at_work(path, handle)
    return InputError(f"{path.parent}: an update is reading it; wait for it to end, or choose another folder")


def _at_work(path: Path, handle: int) -> InputError:
    holder = _read(handle)
    who = "" if holder is None else f" (process {holder.process} on {holder.machine})"
    return InputError(f"{path.parent}: another run is at work in it{who}; wait for it to end, or choose another folder")


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
