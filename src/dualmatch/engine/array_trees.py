"""Values that hold arrays: dataclasses, tuples, lists and csr matrices of arrays, and of each other.

What the rounds work on is made of these. So that it can be moved as a whole, to files or to another process, the arrays
in it are replaced one by one, and everything else stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy import sparse as sp

Done = dict[int, tuple[Any, Any]]
"""What was replaced by what, by the identity of the first, which must live as long as its number is used."""
_CSR_PARTS: Final = ("data", "indices", "indptr")


def with_arrays(
    value: Any,
    change: Callable[[np.ndarray], Any],
    done: Done,
    cached: bool | Callable[[Any], bool] = True,
    stored: Callable[[StoredArray], np.ndarray] | None = None,
) -> Any:
    """The same value with other arrays; what stands in two places stays one.

    Parameters
    ----------
    cached:
        Whether objects keep what they have computed besides their fields; or of what they keep that.
    stored:
        What stands in the place of a `StoredArray`.
    """
    if id(value) in done:
        return done[id(value)][1]
    found = value
    if isinstance(value, np.ndarray):
        found = change(value)
    elif isinstance(value, StoredArray):
        found = value if stored is None else stored(value)
    elif isinstance(value, sp.csr_matrix | sp.csr_array):
        parts = [with_arrays(getattr(value, name), change, done, cached, stored) for name in _CSR_PARTS]
        if any(part is not getattr(value, name) for part, name in zip(parts, _CSR_PARTS, strict=True)):
            found = csr_of(type(value), (parts[0], parts[1], parts[2]), value.shape)
    elif isinstance(value, tuple | list):
        members = [with_arrays(part, change, done, cached, stored) for part in value]
        if any(one is not other for one, other in zip(members, value, strict=True)):
            found = type(value)(*members) if hasattr(value, "_fields") else type(value)(members)
    elif is_dataclass(value) and not isinstance(value, type):
        held = {each.name: vars(value)[each.name] for each in fields(value)}
        more = {name: part for name, part in vars(value).items() if name not in held}
        held |= {name: part for name, part in more.items() if (cached(part) if callable(cached) else cached)}
        changed = {name: with_arrays(part, change, done, cached, stored) for name, part in held.items()}
        if len(changed) < len(vars(value)) or any(changed[name] is not part for name, part in held.items()):
            found = copy(value)
            vars(found).clear()
            vars(found).update(changed)
    done[id(value)] = value, found
    return found


def travels(value: Any) -> bool:
    """Whether a value can be sent with its arrays replaced: one that is made of arrays, numbers and dataclasses.

    >>> travels((np.zeros(2), 3)), travels({"a": np.zeros(2)})
    (True, False)
    """
    if isinstance(value, tuple | list):
        return all(travels(part) for part in value)
    is_plain = isinstance(value, np.ndarray | np.generic | int | float | None)
    return is_plain or (is_dataclass(value) and not isinstance(value, type))


def bytes_of(value: Any) -> int:
    """Bytes of all arrays in a value, each counted once.

    >>> column = np.zeros(4)
    >>> bytes_of((column, [column, np.zeros(2)]))
    48
    """
    sizes: list[int] = []

    def counted(array: np.ndarray) -> np.ndarray:
        sizes.append(array.nbytes)
        return array

    with_arrays(value, counted, {})
    return sum(sizes)


def stored_in(value: Any) -> list[StoredArray]:
    """All arrays of a value that lie in files, each once."""
    found: list[StoredArray] = []

    def listed(stored: StoredArray) -> np.ndarray:
        found.append(stored)
        return np.zeros(0)

    with_arrays(value, lambda array: array, {}, stored=listed)
    return found


def csr_of(kind: type, parts: tuple[Any, Any, Any], shape: Sequence[int]) -> Any:
    """A csr matrix of its data, indices and indptr, set one by one: the constructor would read every index."""
    matrix = kind(tuple(shape))
    matrix.data, matrix.indices, matrix.indptr = parts
    return matrix


@dataclass(frozen=True)
class StoredArray:
    """Where an array lies: in a ``.npy`` file, from a byte of its data on."""

    path: Path
    offset: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, array: np.ndarray) -> StoredArray | None:
        """Where a mapped array, or a part of one, lies; None for arrays in memory."""
        whole: Any = array
        while isinstance(whole, np.ndarray) and not isinstance(whole, np.memmap):
            whole = whole.base
        while isinstance(whole, np.memmap) and isinstance(whole.base, np.memmap):
            whole = whole.base
        if not isinstance(whole, np.memmap) or whole.filename is None:
            return None
        offset = array.ctypes.data - whole.ctypes.data
        return cls(Path(whole.filename), offset, array.dtype.str, array.shape, array.strides)

    def of_file(self, whole: np.ndarray) -> np.ndarray:
        """The array, as a part of what the file holds."""
        return np.ndarray(self.shape, np.dtype(self.dtype), whole, self.offset, self.strides)
