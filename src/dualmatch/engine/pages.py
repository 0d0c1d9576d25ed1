"""Pages: large arrays in files that are mapped into memory, so that not all of them need to fit into it at once.

The system reads what is touched and may drop it again, since it can be read once more. It does so of its own accord
only when memory is short; to stay below a limit, `Pages` lets go of everything that is mapped as soon as the process
comes near it. What is let go stays in the system's file cache for as long as there is room, where reading it again
costs next to nothing.
"""

from __future__ import annotations

import logging
import mmap
import os
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from dualmatch.engine.array_file import HEADER_BYTES, npy_header
from dualmatch.engine.array_trees import with_arrays
from dualmatch.errors import OutputError
from dualmatch.files.temporary import folder_beside
from dualmatch.memory import keep_freed_memory_again, keep_less_freed_memory, resident_bytes, trim_freed_memory

logger = logging.getLogger(__name__)
T = TypeVar("T")

LEAST_BYTES: Final = 2**20
"""Smaller arrays stay in memory."""
_NEAR: Final = 0.7  # share of the limit at which mapped pages are let go
_WORTH_IT: Final = 0.05  # share of the limit that must be mapped for that to help
# A run that is expected to fit keeps arrays in memory until the process takes more than was expected, but at least the
# first and at most the second share of the limit. What is in memory by then stays there until it is computed anew.
_SHORT: Final = 0.4
_SHORT_AT_LATEST: Final = 0.8
_SECONDS: Final = (0.02, 0.25)  # between two looks: less where the limit is near
_FASTEST_GROWTH: Final = 2e9  # bytes a second that a process can take
_TRIM_SECONDS: Final = 0.25  # between two times that freed memory is given back
_KEPT_SHARE: Final = 1 / 64  # of the limit: freed blocks that are larger are given back at once


class Pages:
    """Arrays in the files of a folder.

    Parameters
    ----------
    folder:
        Where to write; it must exist. Each array is one ``.npy`` file.
    limit:
        Bytes of memory that the process should not exceed; what it computes with besides mapped arrays counts.
    shared:
        Whether other processes read the files, which then keep their names for as long as their arrays are used here.
    least_bytes:
        Smaller arrays stay in memory (`LEAST_BYTES` by default).
    expected:
        Bytes that the process is expected to take. If they are within the limit, arrays stay in memory until it takes
        more, or memory is short; without an expectation they are moved from the start.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Pages(Path(folder), 10**9) as pages:
    ...     array = pages.paged(np.arange(10**6))
    ...     is_mapped(array), int(array.sum())
    (True, 499999500000)
    """

    def __init__(
        self,
        folder: Path,
        limit: int,
        *,
        shared: bool = False,
        least_bytes: int | None = None,
        expected: float | None = None,
    ) -> None:
        self._expected = expected
        self._is_needed = expected is None or expected > limit
        self.folder, self.limit, self.is_shared = folder, limit, shared
        if self._is_needed:
            self._keep_less_freed_memory()
        self.least_bytes = LEAST_BYTES if least_bytes is None else least_bytes
        self._maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
        self.bytes = self.most_bytes = 0  # in files now, and at most so far
        self.removed: deque[str] = deque()  # names of files that were removed, of which there may be copies
        self._number = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._keep_within_limit, name="pages", daemon=True)
        self._watch.start()

    def __enter__(self) -> Pages:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """Whether arrays are moved to files, now; what was moved stays readable."""
        return self._is_needed and not self._ended.is_set()

    def close(self) -> None:
        """Move no more arrays to files, and watch the limit no longer."""
        self._ended.set()
        self._watch.join()
        keep_freed_memory_again()

    def paged(self, value: T) -> T:
        """The same value with its large arrays in files: an array, a csr matrix, or a dataclass or tuple of these."""
        moved: T = with_arrays(value, self._moved, {}) if self.is_open else value
        return moved

    def _moved(self, array: np.ndarray) -> np.ndarray:
        if array.nbytes < self.least_bytes or self.holds(array):
            return array
        if (found := _map_of(array)) is not None and not self.is_shared:  # of an engine before this one
            with self._lock:
                self._maps.add(found)
            return array
        return self.joined([array])

    def holds(self, array: np.ndarray) -> bool:
        """Whether an array, or what it is a part of, is in one of these files."""
        with self._lock:
            return _map_of(array) in self._maps

    def joined(self, parts: Iterable[np.ndarray]) -> np.ndarray:
        """Arrays one after the other, as one array in a file; each is written as it comes."""
        writer = PageWriter(self)
        for part in parts:
            writer.append(part)
        return writer.array()

    def new_file(self) -> Path:
        """A path in the folder that nobody else uses."""
        with self._lock:
            self._number += 1
            return self.folder / f"{os.getpid()}-{self._number}.npy"

    def mapped(self, path: Path) -> np.ndarray:
        """The array of a file that others see, which is removed once nobody uses the array here any more."""
        return self._watched(mapped_file(path), path)

    def _watched(self, array: np.ndarray, path: Path) -> np.ndarray:
        found = _map_of(array)
        if found is None:  # an array of nothing is not mapped
            _remove(path)
            return array
        with self._lock:
            self._maps.add(found)
            self.bytes += len(found)
            self.most_bytes = max(self.most_bytes, self.bytes)
        weakref.finalize(found, self._forget, len(found), path)
        return array

    def _forget(self, size: int, path: Path) -> None:
        self.bytes -= size  # no lock: the collector may run while one is held
        if self.is_shared:
            _remove(path)
            self.removed.append(path.name)

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """Say what to do where a file cannot be written or mapped."""
        try:
            yield
        except OSError as error:
            other = "give --exchange another" if self.is_shared else "name another with TMPDIR"
            raise OutputError(
                f"{self.folder}: cannot be written into ({error.strerror or error}); large arrays are kept there: free "
                f"some disk, or {other}"
            ) from error

    def release(self) -> None:
        """Let go of all that is mapped and resident; it is read again when it is next touched."""
        with self._lock:
            maps = list(self._maps)
        for each in maps:
            _let_go(each)

    @contextmanager
    def limited_to(self, limit: int) -> Iterator[None]:
        """Keep to another limit in the block."""
        before, self.limit = self.limit, limit
        self._keep_less_freed_memory()
        try:
            yield
        finally:
            self.limit = before
            self._keep_less_freed_memory()

    def _keep_less_freed_memory(self) -> None:
        keep_less_freed_memory(int(self.limit * _KEPT_SHARE))

    def _short_from(self) -> float:
        """Bytes from which on memory is short, if it was not from the start."""
        return min(max(_SHORT * self.limit, self._expected or 0.0), _SHORT_AT_LATEST * self.limit)

    def _keep_within_limit(self) -> None:
        is_over, pause = False, _SECONDS[0]
        while not self._ended.wait(pause):
            resident, mapped = resident_bytes()
            if not self._is_needed and resident > self._short_from():
                self._is_needed = True
                self._keep_less_freed_memory()
                logger.info("memory runs short: large arrays are kept in files from here on")
            near = _NEAR * self.limit if self._is_needed else self._short_from()
            pause = float(np.clip((near - resident) / _FASTEST_GROWTH, *_SECONDS))
            if resident < near:
                continue
            if mapped > _WORTH_IT * self.limit:
                self.release()
            trim_freed_memory(_TRIM_SECONDS)
            if not is_over and resident_bytes()[0] > self.limit:
                is_over = True
                logger.warning(
                    "the memory limit of %.1f GB is too low even with large arrays in files: the run exceeds it",
                    self.limit / 1e9,
                )


@contextmanager
def pages_within(limit: int, expected: float) -> Iterator[Pages]:
    """Pages in a temporary folder, for a process that should not exceed a limit; nothing is left of the folder."""
    place = Path(tempfile.gettempdir()) / "dualmatch-pages"
    with folder_beside(place) as folder, Pages(folder, limit, expected=expected) as pages:
        yield pages
        if pages.most_bytes:
            logger.info("at most %.1f GB were in files", pages.most_bytes / 1e9)


class PageWriter:
    """An array that is written to a file part by part, along its first axis.

    Where no other process reads it, the file loses its name at once, so that a killed process leaves nothing behind.
    """

    def __init__(self, pages: Pages) -> None:
        self._pages, self._path = pages, pages.new_file()
        self._dtype: np.dtype[Any] = np.dtype(np.float64)
        self._shape: tuple[int, ...] = ()
        with pages.in_words():
            self._file = self._path.open("x+b")
            if not pages.is_shared:
                _remove(self._path)
            self._file.write(bytes(HEADER_BYTES))

    def append(self, part: np.ndarray) -> None:
        if not self._shape:
            self._dtype, self._shape = part.dtype, (0, *part.shape[1:])
        self._shape = (self._shape[0] + len(part), *self._shape[1:])
        try:
            with self._pages.in_words():
                np.ascontiguousarray(part, dtype=self._dtype).tofile(self._file)
        except OutputError:
            self._file.close()
            _remove(self._path)
            raise

    def array(self) -> np.ndarray:
        """The whole, mapped into memory; nothing can be appended any more."""
        shape = self._shape or (0,)
        with self._pages.in_words(), self._file as file:
            file.seek(0)
            file.write(npy_header(shape, self._dtype))
            file.flush()
            array = np.zeros((0, *shape[1:]), self._dtype)
            if np.prod(shape):
                # Copy on write: kernels ask for arrays they may write to, and write to none.
                array = np.asarray(np.memmap(file, self._dtype, "c", HEADER_BYTES, shape))
        return self._pages._watched(array, self._path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def mapped_file(path: Path) -> np.ndarray:
    """What a ``.npy`` file holds, mapped into memory."""
    try:
        # Copy on write: kernels ask for arrays they may write to, and write to none.
        return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
    except ValueError:  # an array of nothing cannot be mapped
        array: np.ndarray = np.load(path, allow_pickle=False)
        return array


def let_go(arrays: Iterable[np.ndarray]) -> None:
    """Let go of what is resident of mapped arrays; it is read again when it is next touched."""
    for array in list(arrays):
        if (found := _map_of(array)) is not None:
            _let_go(found)


def _let_go(mapped: mmap.mmap) -> None:
    if not mapped.closed and hasattr(mapped, "madvise"):  # where the system takes no advice, it decides itself
        mapped.madvise(mmap.MADV_DONTNEED)


def is_mapped(array: np.ndarray) -> bool:
    """Whether an array, or what it is a part of, is a file mapped into memory."""
    return _map_of(array) is not None


def _map_of(array: np.ndarray) -> mmap.mmap | None:
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, mmap.mmap) else None
