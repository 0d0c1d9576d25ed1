"""Write files atomically."""

from __future__ import annotations

import fcntl
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

from dualmatch.errors import OutputError, visible_text
from dualmatch.files.temporary import make_beside

STANDARD_OUTPUT: Final = Path("-")


def check_writable(path: Path, force: bool) -> None:
    """Refuse early what writing would refuse late: a file that exists, a folder that does not."""
    if os.path.isdir(path):
        raise OutputError(f"{path}: is a folder; give the name of a file")
    if os.path.exists(path) and not os.path.isfile(path):
        raise OutputError(f"{path}: is a device or pipe, which cannot be replaced; give the name of a file")
    if os.path.exists(path) and not force:
        raise OutputError(f"{path}: exists already; choose another name or add --force to replace it")
    if not os.path.isdir(path.parent):
        raise OutputError(f"{path.parent}: no such folder; make it first")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path.parent}: no permission to write into this folder; choose another")
    longest = os.pathconf(path.parent, "PC_NAME_MAX")
    if len(os.fsencode(path.name)) > longest:
        raise OutputError(f"{path.name[:40]}…: longer than the {longest} bytes that a name may have; choose another")


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None], force: bool) -> None:
    """`check_writable` for all outputs of a run; none of them may be an input or another output.

    None and standard output are skipped.
    """
    taken = {_identity(path) for path in inputs if path is not None}
    for path in outputs:
        if path == STANDARD_OUTPUT:
            check_standard_output()
        if path is None or path == STANDARD_OUTPUT:
            continue
        identity = _identity(path)
        if identity in taken:
            raise OutputError(f"{path}: is already read or written by this run; choose another name")
        taken.add(identity)
        check_writable(path, force)


def check_standard_output() -> None:
    """Refuse a result on standard output where that is closed."""
    with suppress(OSError, ValueError, AttributeError):
        if fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OutputError("standard output is closed; give the name of a file in place of -")


def _identity(path: Path) -> object:
    """The same for all names of one file, hard and symbolic links among them."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


class Transaction:
    """Files that take their places together at the end of a ``with`` block, or none where one cannot be written.

    Should a rename fail after others have succeeded, the error names those that were replaced.
    """

    def __init__(self) -> None:
        self._waiting: dict[Path, _Temporary] = {}  # by their final places; complete and synced

    def add(self, place: Path, temporary: _Temporary) -> None:
        self._waiting[place] = temporary

    def newest(self, path: Path) -> Path:
        """Where the newest bytes of a file are: in its temporary file, until the end of the block."""
        waiting = self._waiting.get(Path(os.path.realpath(path)))
        return path if waiting is None else waiting.path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        replaced: list[Path] = []
        try:
            for place, temporary in self._waiting.items() if kind is None else ():
                with _as_output_error(place, replaced):
                    temporary.path.replace(place)
                replaced.append(place)
            for folder in dict.fromkeys(place.parent for place in replaced):
                with _as_output_error(folder, replaced):
                    sync(folder)
        finally:
            for temporary in self._waiting.values():
                temporary.remove()
            self._waiting.clear()


@contextmanager
def open_output(path: Path, together: Transaction | None = None) -> Iterator[BinaryIO]:
    """Open a file that is replaced when it is complete, or standard output."""
    if path == STANDARD_OUTPUT:
        held = io.BytesIO()  # polars does not say that it was a pipe which broke, Python does
        yield held
        content = held.getbuffer()
        if sys.stdout.isatty():
            content = memoryview(visible_text(held.getvalue().decode("utf-8", "replace")).encode())
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    with replacing(path, together) as file:
        yield file


@contextmanager
def replacing(path: Path, together: Transaction | None = None) -> Iterator[BinaryIO]:
    """Open a temporary file in the same folder; rename it to `path` once all is written and synced.

    In a transaction it is renamed at the end of that. Whatever goes wrong in between, Ctrl-C included, `path` stays as
    it was and the temporary file is removed. A symbolic link stays one: the file it points to is replaced.
    """
    place = Path(os.path.realpath(path))
    replaced: list[Path] = []
    with ExitStack() as unless_waiting, _as_output_error(path, replaced):
        temporary = _Temporary(*make_beside(place))
        unless_waiting.callback(temporary.remove)
        with os.fdopen(temporary.handle, "wb", closefd=False) as file:
            yield file
        os.fsync(temporary.handle)
        if together is None:
            temporary.path.replace(place)
            replaced.append(path)
            sync(place.parent)
        else:
            together.add(place, temporary)
            unless_waiting.pop_all()


@dataclass(frozen=True)
class _Temporary:
    """A temporary file, locked while its handle is open."""

    path: Path
    handle: int

    def remove(self) -> None:
        """Remove it where it has not got its final name."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        os.close(self.handle)


@contextmanager
def _as_output_error(path: Path, replaced: Sequence[Path]) -> Iterator[None]:
    """Raise an `OutputError` that says which files were `replaced` until then."""
    try:
        yield
    except OSError as error:
        files = ", ".join(map(str, replaced))
        what = f"replaced before that: {files}; write all of them again" if files else "nothing was changed"
        raise OutputError(f"{path}: cannot be written ({error.strerror or error}); {what}") from error


def write_text(path: Path, text: str, together: Transaction | None = None) -> None:
    """Replace what `path` held by a text; halves of characters, as in paths that are not UTF-8, are escaped."""
    with replacing(path, together) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def sync(path: Path) -> None:
    """Flush a file's bytes or a folder's entries to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
