"""Sparse matrices that are computed a block of rows at a time, those of both graphs in one step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from scipy import sparse as sp

from dualmatch.engine import Engine, arrays_of, spans_of
from dualmatch.engine.array_trees import csr_of
from dualmatch.graph.arrays import Floats, Ids, Ints

Block = tuple[Floats, Ints, Ids]
"""Rows of a matrix: data, column numbers and the lengths of the rows."""
Shape = tuple[int, int]

_ROWS_AT_ONCE: Final = 2**14  # of a block: there may be many threads


def side_by_side(
    matrices: tuple[list[sp.csr_matrix], list[sp.csr_matrix]], engine: Engine
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Matrices of the same rows as one, for each graph, a block of rows at a time."""
    shapes = [(each[0].shape[0], sum(matrix.shape[1] for matrix in each)) for each in matrices]
    return both_in_blocks((_SideBySide(matrices[0]), _SideBySide(matrices[1])), (shapes[0], shapes[1]), engine)


class Blocks(Protocol):
    """What computes a matrix a block at a time."""

    def block(self, begin: int, end: int) -> Block:
        """Some rows."""


def both_in_blocks(
    blocks: tuple[Blocks, Blocks], shapes: tuple[Shape, Shape], engine: Engine
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """A matrix of each graph, computed block by block in one step for both."""
    spans = [(side, *span) for side in (0, 1) for span in spans_of(shapes[side][0], _ROWS_AT_ONCE)]
    stacks = _Stack(engine), _Stack(engine)
    for (side, *_), block in zip(spans, engine.each(_BlocksOfBoth(blocks).block, spans), strict=True):
        stacks[side].append(block)
    arrays = arrays_of(*(stack.columns for stack in stacks))
    source, target = (stack.matrix(*at) for stack, at in zip(stacks, zip(arrays, shapes, strict=True), strict=True))
    return source, target


def stacked(blocks: Iterable[Block], shape: Shape, engine: Engine) -> sp.csr_matrix:
    """A matrix of blocks of rows."""
    stack = _Stack(engine)
    for block in blocks:
        stack.append(block)
    return stack.matrix(stack.columns.arrays(), shape)


class _Stack:
    """Blocks of rows, one below the other."""

    def __init__(self, engine: Engine) -> None:
        self.columns = engine.columns()
        self._first = [np.zeros(1, dtype=np.int64)]

    def append(self, block: Block) -> None:
        data, indices, sizes = block
        self.columns.append([data, indices])
        self._first.append(self._first[-1][-1] + np.cumsum(sizes))

    def matrix(self, arrays: list[np.ndarray], shape: Shape) -> sp.csr_matrix:
        """The whole, from the arrays of the columns."""
        indptr = np.concatenate(self._first)
        fits = indptr[-1] < 2**31
        parts = arrays[0], arrays[1], indptr.astype(np.int32) if fits else indptr
        matrix: sp.csr_matrix = csr_of(sp.csr_matrix, parts, shape)
        return matrix


@dataclass(frozen=True, eq=False)
class _BlocksOfBoth:
    """What computes the matrices of both graphs."""

    blocks: tuple[Blocks, Blocks]

    def block(self, side: int, begin: int, end: int) -> Block:
        return self.blocks[side].block(begin, end)


@dataclass(frozen=True, eq=False)
class _SideBySide:
    """Matrices of the same rows, of which some are joined at a time."""

    matrices: list[sp.csr_matrix]

    def block(self, begin: int, end: int) -> Block:
        rows = sp.hstack([matrix[begin:end] for matrix in self.matrices], format="csr")
        return rows.data, rows.indices, np.diff(rows.indptr).astype(np.int64)
