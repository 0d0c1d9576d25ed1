"""One file for many arrays: all that a call returns, or what all calls of a step are given.

A step may have a thousand calls of some twenty arrays each, most of them small. A file for each array would take longer
to make, open and remove than to fill; and sent along with every call, small arrays would soon be a gigabyte.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

import numpy as np

from dualmatch.engine.array_trees import StoredArray

HEADER_BYTES: Final = 128
"""Room for the header of any array here; data begin at a multiple of 64."""
_ALIGNED: Final = 64


class ArrayFile:
    """Arrays one after the other in a new ``.npy`` file, which is an array of bytes; no file where there is none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, ArrayFile(Path(folder) / "both.npy") as file:
    ...     one, other = file.append(np.arange(3)), file.append(np.ones((2, 2)))
    ...     file.close()
    ...     one.of_file(np.load(file.path)), other.of_file(np.load(file.path)).sum()
    (array([0, 1, 2]), np.float64(4.0))
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        """Close it; remove it where it is not whole."""
        if error is None:
            self.close()
        elif self._file is not None:
            self._file.close()
            self.remove()

    @property
    def is_empty(self) -> bool:
        return self._size == 0

    def append(self, array: np.ndarray) -> StoredArray:
        """Write an array; rows or columns first, as it is."""
        by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
        stored = self.joined([array.T if by_columns else array])
        if not by_columns:
            return stored
        return StoredArray(stored.path, stored.offset, stored.dtype, stored.shape[::-1], stored.strides[::-1])

    def joined(self, parts: Sequence[np.ndarray], shifts: Sequence[int] | None = None) -> StoredArray:
        """Write arrays of one kind as one, along their first axis, each with a number added to all that it holds."""
        if self._file is None:
            self._file = self.path.open("x+b")
            self._file.write(bytes(HEADER_BYTES))
        self._file.write(bytes(-self._size % _ALIGNED))
        offset = self._size + -self._size % _ALIGNED
        dtype = parts[0].dtype
        for number, part in enumerate(parts):
            shift = 0 if shifts is None else shifts[number]
            shifted = part + dtype.type(shift) if shift else part
            np.ascontiguousarray(shifted, dtype=dtype).tofile(self._file)
        shape = parts[0].shape if len(parts) == 1 else (sum(map(len, parts)), *parts[0].shape[1:])
        self._size = offset + dtype.itemsize * int(np.prod(shape))
        strides = (int(dtype.itemsize * np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
        return StoredArray(self.path, offset, dtype.str, shape, tuple(strides))

    def close(self) -> None:
        """Write what the file is; nothing can be appended any more."""
        if self._file is not None and not self._file.closed:
            with self._file as file:
                file.seek(0)
                file.write(npy_header((self._size,), np.dtype(np.uint8)))

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def npy_header(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    """The header of a ``.npy`` file, version 1.0, padded to `HEADER_BYTES`."""
    text = repr({"descr": dtype.str, "fortran_order": False, "shape": shape}).encode("latin-1")
    return b"\x93NUMPY\x01\x00" + (HEADER_BYTES - 10).to_bytes(2, "little") + text.ljust(HEADER_BYTES - 11) + b"\n"
