"""Write files whole or not at all."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

from dualmatch.errors import OutputError

STANDARD_OUTPUT: Final = Path("-")


def check_writable(path: Path, force: bool) -> None:
    """Refuse early what writing would refuse late: a file that exists, a folder that does not."""
    if os.path.isdir(path):
        raise OutputError(f"{path}: is a folder; give the name of a file")
    if os.path.exists(path) and not os.path.isfile(path):
        raise OutputError(f"{path}: is no file but a device or pipe, which cannot be replaced; give the name of a file")
    if os.path.exists(path) and not force:
        raise OutputError(f"{path}: exists already; choose another name or add --force to replace it")
    if not os.path.isdir(path.parent):
        raise OutputError(f"{path.parent}: no such folder; make it first")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path.parent}: you may not write into this folder; choose another")


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None], force: bool) -> None:
    """`check_writable` for all outputs of a run; none of them may be an input or another output.

    None and standard output are skipped.
    """
    taken = {_identity(path) for path in inputs if path is not None}
    for path in outputs:
        if path is None or path == STANDARD_OUTPUT:
            continue
        identity = _identity(path)
        if identity in taken:
            raise OutputError(f"{path}: is read or written by this very run already; choose another name")
        taken.add(identity)
        check_writable(path, force)


def _identity(path: Path) -> object:
    """The same for all names of one file, hard and symbolic links among them."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


class Transaction:
    """Files that take their places together at the end of a ``with`` block, or none where one cannot be written."""

    def __init__(self) -> None:
        self._waiting: dict[Path, Path] = {}  # the final place of each file → its temporary file, complete and synced

    def add(self, place: Path, temporary: Path) -> None:
        self._waiting[place] = temporary

    def newest(self, path: Path) -> Path:
        """Where the newest bytes of a file are: in its temporary file, until the end of the block."""
        return self._waiting.get(Path(os.path.realpath(path)), path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            for place, temporary in self._waiting.items() if kind is None else ():
                with _as_output_error(place):
                    temporary.replace(place)
            for folder in dict.fromkeys(place.parent for place in self._waiting) if kind is None else ():
                with _as_output_error(folder):
                    sync(folder)
        finally:
            for temporary in self._waiting.values():
                _remove(temporary)
            self._waiting.clear()


@contextmanager
def open_output(path: Path, together: Transaction | None = None) -> Iterator[BinaryIO]:
    """Open a file that is replaced when it is complete, or standard output."""
    if path == STANDARD_OUTPUT:
        held = io.BytesIO()  # polars does not say that it was a pipe which broke, Python does
        yield held
        sys.stdout.buffer.write(held.getbuffer())
        sys.stdout.buffer.flush()
        return
    with replacing(path, together) as temporary, temporary.open("wb") as file:
        yield file


@contextmanager
def replacing(path: Path, together: Transaction | None = None) -> Iterator[Path]:
    """Give a temporary name in the same folder; rename it to `path` once all is written and synced.

    In a transaction it is renamed at the end of that. Whatever goes wrong in between, Ctrl-C included, `path` stays as
    it was and the temporary file is removed. A symbolic link stays one: the file it points to is replaced.
    """
    place = Path(os.path.realpath(path))
    temporary = _temporary(place, os.getpid())
    is_waiting = False
    try:
        with _as_output_error(path):
            yield temporary
            sync(temporary)
            if together is None:
                temporary.replace(place)
                sync(place.parent)
            else:
                together.add(place, temporary)
                is_waiting = True
    finally:
        if not is_waiting:
            _remove(temporary)


def remove_leftover(path: Path, process: int) -> None:
    """Remove the temporary file of `path` that a killed process left."""
    _remove(_temporary(Path(os.path.realpath(path)), process))


def _temporary(place: Path, process: int) -> Path:
    return place.with_name(f".{place.name}.{process}.part")


def _remove(temporary: Path) -> None:
    with suppress(OSError):
        temporary.unlink(missing_ok=True)


@contextmanager
def _as_output_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error}); nothing was changed") from error


def write_text(path: Path, text: str, together: Transaction | None = None) -> None:
    """Replace what `path` held by a text."""
    with replacing(path, together) as temporary:
        temporary.write_text(text, encoding="utf-8")


def sync(path: Path) -> None:
    """Flush a file's bytes or a folder's entries to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
