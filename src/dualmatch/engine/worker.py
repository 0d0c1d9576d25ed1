"""What runs on the workers of a cluster: blocks, with their operands read from files."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

import numpy as np

from dualmatch.engine.array_file import ArrayFile
from dualmatch.engine.array_trees import StoredArray, travels, with_arrays
from dualmatch.engine.operands import StoredOperand, forget_operands
from dualmatch.engine.pages import let_go, mapped_file
from dualmatch.engine.remote import LocalCopies, RemoteFolder
from dualmatch.errors import in_brief
from dualmatch.memory import keep_freed_memory, keep_less_freed_memory, resident_bytes, trim_freed_memory

T = TypeVar("T")

SMALL_BYTES: Final = 2**16
"""An array up to this size goes along with the block: a file would cost more."""
_MOST_RESIDENT: Final = 3 * 2**28  # bytes of a worker's mapped files in memory before they are let go
_MOST_UNMAPPED: Final = 2**30  # bytes of a worker's other memory before what it has freed is given back
_TRIM_SECONDS: Final = 0.25  # between two times that it is
_open_files: dict[Path, np.ndarray] = {}
_owners: dict[str, Any] = {}
_copies: dict[str, LocalCopies] = {}
_MAKING = Lock()  # while one thread makes the folder for copies


def computed(function: Callable[..., T], *arguments: Any) -> T:
    """The block, with what is stored read from its files."""
    return function(*(each.load() if isinstance(each, StoredOperand) else each for each in arguments))


def computed_in_files(
    function: Callable[..., T], exchange: Path | RemoteFolder, step: str, owner: Any, calls: list[Any]
) -> list[T]:
    """Some calls of a function of arrays in files; large arrays of the results are written to a file of the step, too.

    `owner`, if any, is the object whose method it is: for all parts of a step it is one, with what it has cached.
    """
    results: list[T] = []
    _keep_freed_memory()
    with _result_file(exchange, step) as file:

        def written(array: np.ndarray) -> Any:
            is_small = array.nbytes < SMALL_BYTES or array.dtype.hasobject
            return array if is_small else file.append(array)

        for call in calls:
            own = () if owner is None else (_owner_of(step, owner, exchange),)
            result = function(*own, *_read(call, exchange))
            results.append(with_arrays(result, written, {}, cached=travels))
            del result
            _let_go_of_much()
    return results


def joined_in_file(exchange: Path | RemoteFolder, step: str, parts: Any, shifts: list[int]) -> StoredArray:
    """Arrays in files as one, in a file of its own; a number is added to each."""
    with _result_file(exchange, step) as file:
        return file.joined(_read(parts, exchange), shifts)


def new_result_file(folder: Path, step: str) -> Path:
    """Where a worker writes what it computes in a step."""
    return folder / f"{step}-{uuid.uuid4().hex}.npy"


def result_files(folder: Path, step: str) -> list[Path]:
    """The files that workers have written in a step."""
    try:
        with os.scandir(folder) as entries:
            return [Path(each.path) for each in entries if each.name.startswith(f"{step}-")]
    except FileNotFoundError:  # someone has removed the folder, which is not what the run should end with
        return []


@contextmanager
def _result_file(exchange: Path | RemoteFolder, step: str) -> Iterator[ArrayFile]:
    """A new file for what this worker computes, where the calling process finds it."""
    folder = exchange if isinstance(exchange, Path) else _copies_of(exchange).folder
    with ArrayFile(new_result_file(folder, step)) as file:
        yield file
    if isinstance(exchange, RemoteFolder) and not file.is_empty:
        _copies_of(exchange).keep(file.path)


def _owner_of(step: str, owner: Any, exchange: Path | RemoteFolder) -> Any:
    found = _owners.get(step)
    if found is None:
        found = _read(owner, exchange)
        _owners.clear()
        _owners[step] = found
    return found


def _read(value: Any, exchange: Path | RemoteFolder) -> Any:
    def read(stored: StoredArray) -> np.ndarray:
        path = stored.path if isinstance(exchange, Path) else _copies_of(exchange).path_of(stored.path.name)
        return stored.of_file(_opened(path))

    return with_arrays(value, lambda array: array, {}, stored=read)


def _copies_of(remote: RemoteFolder) -> LocalCopies:
    with _MAKING:
        if remote.url not in _copies:
            _copies[remote.url] = LocalCopies(remote)
        return _copies[remote.url]


def _opened(path: Path) -> np.ndarray:
    """What a file holds; files that are gone are closed, and what others left resident is let go."""
    found = _open_files.get(path)
    if found is None:
        for gone in [each for each in list(_open_files) if not each.exists()]:
            _open_files.pop(gone, None)
        _let_go_of_much()
        found = _open_files[path] = mapped_file(path)
    return found


def _let_go_of_much() -> None:
    """Let go of mapped files where much of them is in memory, and of freed memory where the rest is large."""
    resident, mapped = resident_bytes()
    if mapped > _MOST_RESIDENT:
        let_go(_open_files.values())
    if resident - mapped > _MOST_UNMAPPED:
        trim_freed_memory(_TRIM_SECONDS)


@cache
def _keep_freed_memory() -> bool:
    """Keep freed memory for the next arrays, once in a process: most of a worker's arrays are as large as the last."""
    return keep_freed_memory(one_arena=True)


def forget_files(exchange: Path | RemoteFolder) -> None:
    """Close all files of a run that has ended, remove the copies of them, and keep no freed memory any more."""
    _owners.clear()
    forget_operands()
    copies = _copies.pop(exchange.url, None) if isinstance(exchange, RemoteFolder) else None
    folder = exchange if isinstance(exchange, Path) else None if copies is None else copies.folder
    for path in [each for each in list(_open_files) if folder in each.parents]:
        _open_files.pop(path, None)
    if copies is not None:
        copies.close()
    keep_less_freed_memory(0)
    _keep_freed_memory.cache_clear()


def states_of(paths: list[Path]) -> list[tuple[int, int] | None]:
    """Size and time of each file, by which two machines know that they see the same one; None where it is not theirs.

    Another machine may have a file of its own under the same path, or one that its user may not read.
    """
    states: list[tuple[int, int] | None] = []
    for path in paths:
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
            states.append((status.st_size, status.st_mtime_ns))
        except OSError:
            states.append(None)
    return states


def why_unseen(remote: RemoteFolder, name: str) -> str | None:
    """Why this process cannot read a file of the remote folder; None where it can."""
    try:
        mapped_file(_copies_of(remote).path_of(name))
    except Exception as error:  # of whatever library fsspec calls
        return in_brief(error.__cause__ if isinstance(error.__cause__, Exception) else error)
    return None
