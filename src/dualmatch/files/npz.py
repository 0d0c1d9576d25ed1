"""Arrays and plain data about them in one ``.npz`` file: no pickle, the same content gives the same bytes.

Native code trusts what it is given: an index out of range ends the process. So nothing of a file is used before its
kind, shape and range are checked, by `Stored.array` and `Stored.matrix`.
"""

from __future__ import annotations

import json
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.errors import InputError, in_brief
from dualmatch.files.atomic import Transaction, replacing
from dualmatch.files.plain_data import refuse_nul
from dualmatch.memory import machine_bytes

Arrays = dict[str, NDArray[Any]]
# What damaged files make of zipfile, json and numpy; RuntimeError is NotImplementedError and RecursionError too.
_UNREADABLE: Final = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, OSError, EOFError),
    *(MemoryError, SyntaxError, tokenize.TokenError, struct.error, zipfile.BadZipFile, zlib.error),
)
_HEADERS: Final = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
# What an array can hold: the kinds of its dtype, and the range of its values where none is given.
_KINDS: Final = {
    "whole": ("iu", 0, math.inf),
    "real": ("f", -1e12, 1e12),
    "positive": ("f", 0, 1e15),
    "chance": ("f", 0, 1),
    "flag": ("b", 0, 1),
}
_ABOUT: Final = "about"
_PARTS: Final = ("data", "indices", "indptr", "shape")


@dataclass(frozen=True, eq=False)
class Stored:
    """The content of a file: plain data, and arrays by name."""

    about: dict[str, Any]
    arrays: Arrays

    def array(
        self, name: str, kind: str, *shape: int | None, below: int | None = None, least: int | None = None
    ) -> NDArray[Any]:
        """An array of a kind (`_KINDS`) and shape (None: any length), whose values are in its kind's range.

        Of whole numbers, those from `least` (0) to less than `below`.
        """
        array, (dtypes, low, high) = self.arrays[name], _KINDS[kind]
        low, high = low if least is None else least, high if below is None else below - 1
        if array.dtype.kind not in dtypes:
            raise ValueError(f"{name} is of {array.dtype}, not {kind}")
        if array.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, array.shape, strict=True)):
            raise ValueError(f"{name} has the shape {array.shape}, not {shape}")
        if array.size and not (low <= array.min() and array.max() <= high):  # not so where one is no number
            raise ValueError(f"{name} holds a number outside {low:g}…{high:g}")
        return array

    def texts(self, name: str) -> tuple[str, ...]:
        """Texts that `texts_as_arrays` took apart."""
        whole = self.array(f"{name}.bytes", "whole", None).tobytes()
        ends = self.array(f"{name}.ends", "whole", None, below=len(whole) + 1).tolist()
        starts = [0, *ends][:-1]
        return tuple(whole[start:end].decode("utf-8", "surrogatepass") for start, end in zip(starts, ends, strict=True))

    def matrix(self, name: str, shape: tuple[int, int] | None = None) -> sp.csr_matrix:
        """A sparse matrix that `matrix_as_arrays` took apart; its own shape where none is given."""
        if shape is None:
            rows, columns = self.array(f"{name}.shape", "whole", 2).tolist()
            shape = rows, columns
        data = self.array(f"{name}.data", "positive", None)
        indices = self.array(f"{name}.indices", "whole", len(data), below=shape[1])
        indptr = self.array(f"{name}.indptr", "whole", shape[0] + 1, below=len(data) + 1)
        if indptr[0] != 0 or indptr[-1] != len(data) or (np.diff(indptr) < 0).any():
            raise ValueError(f"the rows of {name} do not follow each other")
        return sp.csr_matrix((data, indices, indptr), shape=shape)


def texts_as_arrays(name: str, texts: Sequence[str]) -> Arrays:
    """Texts as one row of bytes: a long one among short ones takes no more than its own length."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([len(each) for each in encoded], dtype=np.int64)
    return {f"{name}.bytes": np.frombuffer(b"".join(encoded), np.uint8), f"{name}.ends": ends}


def matrix_as_arrays(name: str, matrix: sp.csr_matrix | sp.csr_array) -> Arrays:
    """A csr matrix as its parts, in the order they are in."""
    parts = (matrix.data, matrix.indices, matrix.indptr, np.array(matrix.shape, np.int64))
    return {f"{name}.{part}": values for part, values in zip(_PARTS, parts, strict=True)}


def write_arrays(
    path: Path,
    about: Mapping[str, Any],
    arrays: Arrays,
    *,
    compressed: bool = False,
    together: Transaction | None = None,
) -> None:
    """Write a file atomically."""
    text = np.frombuffer(json.dumps(about, sort_keys=True, allow_nan=False).encode(), np.uint8)
    named: dict[str, Any] = {_ABOUT: text, **arrays}
    with replacing(path, together) as file:
        (np.savez_compressed if compressed else np.savez)(file, **named)


@contextmanager
def read_as(path: Path, what: str, way_out: str) -> Iterator[None]:
    """Raise an `InputError` where a file, or what the block makes of its content, is not what it should be.

    Parameters
    ----------
    what, way_out:
        What the file should be, and what to do where it is not.
    """
    try:
        yield
    except _UNREADABLE as error:
        raise InputError(f"{path}: cannot be read as {what} ({in_brief(error)}); {way_out}") from error


def load_arrays(path: Path) -> Stored:
    """The content of a file; any error of reading where it is not such a file: see `read_as`."""
    with path.open("rb") as file, zipfile.ZipFile(file) as stored:
        entries = {entry.filename.removesuffix(".npy"): entry for entry in stored.infolist()}
        unpacked = sum(entry.file_size for entry in entries.values())
        if unpacked > machine_bytes():
            raise ValueError(f"it would unpack to {unpacked:,} bytes")
        arrays = {name: _loaded(stored, entry) for name, entry in entries.items()}
    about = json.loads(arrays.pop(_ABOUT).tobytes())
    refuse_nul(about)
    return Stored(dict(about), arrays)


def _loaded(stored: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """One array, whose header must not promise more than the entry holds: numpy asks for the memory first."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{entry.filename} is packed in another way")
    with stored.open(entry) as member:
        shape, _, dtype = _HEADERS[np.lib.format.read_magic(member)](member)
        length = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or min(shape, default=0) < 0 or member.tell() + length != entry.file_size:
            raise ValueError(f"{entry.filename} is not as long as it says")
    with stored.open(entry) as member:
        array: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
    return array


def reading_stage(path: Path) -> AbstractContextManager[None]:
    """`read_as` for the stage of a run."""
    return read_as(path, "the stage of a run", "start the run again with --force")
