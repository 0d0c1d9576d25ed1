"""Operands as files: arrays that one process writes and others map into memory, each array one .npy without pickle.

Any worker that sees the folder can take up any block, one that was started a moment ago too; and workers of one
machine share the memory of what they read.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy import sparse as sp

ARRAY_FILE: Final = "array.npy"
"""What an operand that is no matrix lies in."""
_CSR_PARTS: Final = ("data", "indices", "indptr")
# Operands a worker keeps open; a step has at most four, and those of the step before may go.
_KEPT: Final = 8


@dataclass(frozen=True)
class StoredOperand:
    """An operand in a folder of its own: an array, or a csr matrix of this shape."""

    folder: Path
    shape: tuple[int, int] | None = None

    def load(self) -> Any:
        return _loaded(self)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def store(operand: Any, folder: Path) -> StoredOperand:
    """Write an operand into a folder that is not there yet; nothing is left of one that cannot be written whole."""
    folder.mkdir()
    try:
        return _stored(operand, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _stored(operand: Any, folder: Path) -> StoredOperand:
    if not sp.issparse(operand):
        np.save(folder / ARRAY_FILE, operand, allow_pickle=False)
        return StoredOperand(folder)
    matrix = sp.csr_matrix(operand)
    for part in _CSR_PARTS:
        np.save(folder / f"{part}.npy", getattr(matrix, part), allow_pickle=False)
    return StoredOperand(folder, (matrix.shape[0], matrix.shape[1]))


def forget_operands() -> None:
    """Close all operands that were read."""
    _loaded.cache_clear()


@lru_cache(maxsize=_KEPT)
def _loaded(stored: StoredOperand) -> Any:
    def part(name: str) -> np.ndarray:
        path = stored.folder / name
        try:
            # Copy on write: kernels ask for arrays they may write to, and write to none.
            array: np.ndarray = np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
        except ValueError:  # an array of nothing cannot be mapped
            array = np.load(path, allow_pickle=False)
        return array

    if stored.shape is None:
        return part(ARRAY_FILE)
    matrix = sp.csr_matrix(stored.shape)
    # Set one by one: the constructor would read every index to check it.
    matrix.data, matrix.indices, matrix.indptr = (part(f"{name}.npy") for name in _CSR_PARTS)
    return matrix
