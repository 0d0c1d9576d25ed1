"""Arrays and what is to be said of them in one ``.npz`` file: no pickle, the same content gives the same bytes."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from dualmatch.errors import InputError
from dualmatch.files.atomic import replacing

Arrays = dict[str, NDArray[Any]]
UNREADABLE: Final = (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile, zlib.error)
"""What reading such a file may end in where it is none."""
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


def write_arrays(path: Path, about: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a file, whole or not at all."""
    text = np.frombuffer(json.dumps(about, sort_keys=True, allow_nan=False).encode(), np.uint8)
    named: dict[str, Any] = {_ABOUT: text, **arrays}
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **named)


def read_arrays(path: Path) -> Stored:
    """Read a file; an `InputError` where it is none of this kind."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            about = json.loads(stored[_ABOUT].tobytes())
            return Stored(dict(about), {name: stored[name] for name in stored.files if name != _ABOUT})
    except UNREADABLE as error:
        raise InputError(f"{path}: cannot be read ({error}); begin the run anew with --force") from error
