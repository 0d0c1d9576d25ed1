"""Pages: large arrays in files that are mapped into memory, so that not all of them need to fit into it at once.

The system reads what is touched and may drop it again, since it can be read once more. It does so of its own accord
only when memory is short; to stay below a limit, `Pages` lets go of everything that is mapped as soon as the process
comes near it. What is let go stays in the system's file cache for as long as there is room, where reading it again
costs next to nothing.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import logging
import mmap
import os
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import numpy as np

from dualmatch.engine.array_trees import with_arrays
from dualmatch.errors import OutputError
from dualmatch.files.temporary import folder_beside

logger = logging.getLogger(__name__)
T = TypeVar("T")

LEAST_BYTES: Final = 2**20
"""Smaller arrays stay in memory."""
_NEAR: Final = 0.7  # share of the limit at which mapped pages are let go
_WORTH_IT: Final = 0.05  # share of the limit that must be mapped for that to help
_SECONDS: Final = 0.02  # between two looks
_TRIM_SECONDS: Final = 1.0  # between two times that freed memory is given back


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

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Pages(Path(folder), 10**9) as pages:
    ...     kept = pages.kept({"large": np.arange(10**6), "small": np.arange(3)}["large"])
    ...     is_mapped(kept), int(kept.sum())
    (True, 499999500000)
    """

    def __init__(self, folder: Path, limit: int, *, shared: bool = False, least_bytes: int | None = None) -> None:
        self.folder, self.limit, self.is_shared = folder, limit, shared
        self.least_bytes = LEAST_BYTES if least_bytes is None else least_bytes
        self._maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
        self.bytes = self.most_bytes = 0  # in files now, and at most so far
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
        """Whether arrays are still moved to files; what was moved stays readable."""
        return not self._ended.is_set()

    def close(self) -> None:
        """Move no more arrays to files, and watch the limit no longer."""
        self._ended.set()
        self._watch.join()

    def kept(self, value: T) -> T:
        """The same value with its large arrays in files: an array, a csr matrix, or a dataclass or tuple of these."""
        kept: T = with_arrays(value, self._moved, {}) if self.is_open else value
        return kept

    def _moved(self, array: np.ndarray) -> np.ndarray:
        return array if array.nbytes < self.least_bytes or is_mapped(array) else self.joined([array])

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
        """The array of a file, which is removed once nobody uses the array any more."""
        array = mapped_file(path)
        found = _map_of(array)
        if found is not None:  # an array of nothing is not mapped
            with self._lock:
                self._maps.add(found)
                self.bytes += len(found)
                self.most_bytes = max(self.most_bytes, self.bytes)
            weakref.finalize(found, self._forget, len(found))
        if found is not None and self.is_shared:
            weakref.finalize(found, _remove, path)
        else:
            path.unlink()  # what is mapped stays readable without its name, and a killed process leaves nothing
        return array

    def _forget(self, size: int) -> None:
        self.bytes -= size  # no lock: the collector may run while one is held

    def release(self) -> None:
        """Let go of all that is mapped and resident; it is read again when it is next touched."""
        with self._lock:
            maps = list(self._maps)
        for each in maps:
            _let_go(each)

    def _keep_within_limit(self) -> None:
        import psutil

        process, trim, trimmed = psutil.Process(), _trim_of_the_c_library(), 0.0
        while not self._ended.wait(_SECONDS):
            memory = process.memory_info()
            if memory.rss < _NEAR * self.limit:
                continue
            mapped = getattr(memory, "shared", memory.rss)  # resident pages of files; Linux counts them apart
            if mapped > _WORTH_IT * self.limit:
                self.release()
            if trim is not None and time.monotonic() > trimmed + _TRIM_SECONDS:
                trim(0)
                trimmed = time.monotonic()


@contextmanager
def pages_within(limit: int) -> Iterator[Pages]:
    """Pages in a temporary folder, for a process that should not exceed a limit; nothing is left of the folder."""
    place = Path(tempfile.gettempdir()) / "dualmatch-pages"
    with folder_beside(place) as folder, Pages(folder, limit) as pages:
        yield pages
        logger.info("at most %.1f GB were in files", pages.most_bytes / 1e9)


class PageWriter:
    """An array that is written to a file part by part, along its first axis."""

    def __init__(self, pages: Pages) -> None:
        self._pages, self.path = pages, pages.new_file()
        self._file = self.path.open("xb")
        self._dtype: np.dtype[Any] | None = None
        self._shape: tuple[int, ...] = ()
        self._file.write(bytes(_HEADER_BYTES))

    def append(self, part: np.ndarray) -> None:
        if self._dtype is None:
            self._dtype, self._shape = part.dtype, (0, *part.shape[1:])
        self._shape = (self._shape[0] + len(part), *self._shape[1:])
        try:
            written(np.ascontiguousarray(part, dtype=self._dtype), self._file)
        except OSError as error:
            self._file.close()
            self.path.unlink(missing_ok=True)
            raise OutputError(
                f"{self._pages.folder}: cannot be written into ({error.strerror or error}); what does not fit into "
                "--memory-limit is kept there: free some disk, or name another folder with TMPDIR"
            ) from error

    def array(self) -> np.ndarray:
        """The whole, mapped into memory; nothing can be appended any more."""
        dtype = np.dtype(np.float64) if self._dtype is None else self._dtype
        self._file.seek(0)
        self._file.write(_header(self._shape or (0,), dtype))
        self._file.close()
        return self._pages.mapped(self.path)


def written(part: np.ndarray, file: BinaryIO) -> None:
    """Write an array's bytes to an open file."""
    part.tofile(file)


def _trim_of_the_c_library() -> Callable[[int], int] | None:
    """What gives freed memory back to the system, which the C library keeps for the next to ask; None: it has none."""
    name = ctypes.util.find_library("c")
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(name), "malloc_trim", None) if name else None
    return trim


_HEADER_BYTES: Final = 128  # room for the shape of any array here; data begin at a multiple of 64


def _header(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    """The header of a ``.npy`` file, version 1.0, padded to a fixed size."""
    text = repr({"descr": dtype.str, "fortran_order": False, "shape": shape}).encode("latin-1")
    return b"\x93NUMPY\x01\x00" + (_HEADER_BYTES - 10).to_bytes(2, "little") + text.ljust(_HEADER_BYTES - 11) + b"\n"


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
