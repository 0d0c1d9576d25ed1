"""Arrays and plain data about them in one ``.npz`` file: no pickle, the same content gives the same bytes."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.errors import InputError
from dualmatch.files.atomic import Transaction, replacing

Arrays = dict[str, NDArray[Any]]
_UNREADABLE: Final = (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile, zlib.error)
_ABOUT: Final = "about"
_PARTS: Final = ("data", "indices", "indptr", "shape")


@dataclass(frozen=True, eq=False)
class Stored:
    """The content of a file: plain data, and arrays by name."""

    about: dict[str, Any]
    arrays: Arrays

    def texts(self, name: str) -> tuple[str, ...]:
        """Texts that `texts_as_arrays` took apart."""
        whole, ends = self.arrays[f"{name}.bytes"].tobytes(), self.arrays[f"{name}.ends"].tolist()
        starts = [0, *ends][:-1]
        return tuple(whole[start:end].decode("utf-8", "surrogatepass") for start, end in zip(starts, ends, strict=True))

    def matrix(self, name: str) -> sp.csr_matrix:
        """A sparse matrix that `matrix_as_arrays` took apart."""
        data, indices, indptr, shape = (self.arrays[f"{name}.{part}"] for part in _PARTS)
        return sp.csr_matrix((data, indices, indptr), shape=(int(shape[0]), int(shape[1])))


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
        raise InputError(f"{path}: cannot be read as {what} ({error}); {way_out}") from error


def load_arrays(path: Path) -> Stored:
    """The content of a file; any error of reading where it is none: see `read_as`."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        about = json.loads(stored[_ABOUT].tobytes())
        return Stored(dict(about), {name: stored[name] for name in stored.files if name != _ABOUT})


def read_arrays(path: Path) -> Stored:
    """Read a stage of a run; an `InputError` where it is none."""
    with read_as(path, "the stage of a run", "start the run again with --force"):
        return load_arrays(path)
