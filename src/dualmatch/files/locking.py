"""Lock a folder for one process that writes or for any number that read; the kernel frees it when they end.

By hand and not by `filelock` (4.2), whose `FileLock` is exclusive and opens its file for writing, and whose
`ReadWriteLock` needs an SQLite file: it refuses the lock files of earlier runs, which say in JSON who holds them, and
makes one in order to read. Updates read finished runs side by side, read-only archives among them, and change nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from dualmatch.errors import InputError, OutputError

LOCK: Final = "lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of an existing folder.

    An `InputError` where another process holds it, an `OutputError` where the folder cannot be written into.
    """
    path = folder / LOCK
    handle = _open_to_write(path)
    try:
        text = json.dumps({"process": os.getpid(), "machine": socket.gethostname()}).encode()
        with _as_output_error(f"{path}: cannot be written", "free some space, or choose another folder"):
            os.pwrite(handle, text.ljust(os.fstat(handle).st_size), 0)
            os.ftruncate(handle, len(text))
        yield
    finally:
        os.close(handle)


@contextmanager
def locked_for_reading(folder: Path) -> Iterator[None]:
    """Keep others from writing into a folder, not from reading it; nothing is changed in it.

    An `InputError` where a process is writing into it. Where the folder has no lock file, or one that cannot be
    locked, as on a read-only disk, this does nothing.
    """
    path = folder / LOCK
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        with suppress(OSError):  # a disk without locks
            if not _lock(handle, fcntl.LOCK_SH):
                raise _at_work(path, handle)
        yield
    finally:
        os.close(handle)


def writer_of(folder: Path) -> int | None:
    """The process that writes into a folder; None where there is none.

    0 where it is unknown: of another machine, or not one of ours, whatever the file says, which others can write.
    """
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with suppress(OSError):
            return None if _lock(handle, fcntl.LOCK_SH) else _holder(handle, socket.gethostname())
        return None
    finally:
        os.close(handle)


def _holder(handle: int, machine: str) -> int:
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        holder = json.loads(os.pread(handle, 4096, 0))
        process = holder["process"]
        if holder["machine"] == machine and type(process) is int and 1 < process < 1 << 31 and _is_ours(process):
            return process
    return 0


def _is_ours(process: int) -> bool:
    """Whether a process runs dualmatch; where there is no /proc that cannot be seen."""
    try:
        return b"dualmatch" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return not os.path.exists("/proc/self")


def _open_to_write(path: Path) -> int:
    while True:
        with _as_output_error(f"{path.parent}: cannot be written into", "choose another folder"):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        with ExitStack() as unless_locked:
            unless_locked.callback(os.close, handle)
            with _as_output_error(f"{path}: cannot be locked", "choose a folder on a disk that has locks"):
                if not _lock(handle, fcntl.LOCK_EX):
                    raise _being_read(path) if _lock(handle, fcntl.LOCK_SH) else _at_work(path, handle)
            with suppress(FileNotFoundError):  # whoever held it may have removed the file
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    unless_locked.pop_all()
                    return handle


def _lock(handle: int, kind: int) -> bool:
    """Lock an open file without waiting; False where another process holds it."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _being_read(path: Path) -> InputError:
    return InputError(f"{path.parent}: an update is reading it; wait for it to end, or choose another folder")


def _at_work(path: Path, handle: int) -> InputError:
    try:
        holder = json.loads(os.pread(handle, 4096, 0))
        who = f" (process {int(holder['process'])} on {holder['machine']})"
    except (ValueError, KeyError, TypeError, RecursionError):
        who = ""
    return InputError(f"{path.parent}: another run is at work in it{who}; wait for it to end, or choose another folder")


@contextmanager
def _as_output_error(what: str, advice: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{what} ({error.strerror}); {advice}") from error
